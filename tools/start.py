"""Run Mainspring on this machine: `python3 tools/start.py`.

Makes `.venv` with the product's own dependencies when it is not there yet, then becomes
`mainspring dev --tour`. Arguments are handed on: `python3 tools/start.py --help`.
"""

from __future__ import annotations

import os
import sys

import bootstrap


def main() -> None:
    """Bootstrap and hand over; this process becomes the product, so signals reach it directly."""
    try:
        python = bootstrap.bootstrap("run")
    except bootstrap.BootstrapError as error:
        sys.exit(f"start: {error}")
    command = str(python.parent / "mainspring")
    os.execv(command, [command, "dev", "--tour", *sys.argv[1:]])


if __name__ == "__main__":
    main()
