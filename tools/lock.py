"""Resolve the dependencies of pyproject.toml into `requirements/*.txt`, every file with its hashes.

The lock files hold for every system and Python version (environment markers) and name no index
and no path, so that they serve behind any mirror. `uv.lock` is not used: it carries addresses.
"""

from __future__ import annotations

import argparse
import filecmp
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import bootstrap

EXTRAS = ("postgres", "s3", "grpc", "oidc", "structlog", "jq")
PRODUCT = ["pyproject.toml", *(word for name in EXTRAS for word in ("--extra", name))]

# In this order: dev.txt constrains run.txt, so that one package has one version everywhere.
LOCKS = {
    "dev.txt": [*PRODUCT, "--group", "dev", "--group", "servers"],
    "run.txt": [*PRODUCT, "--constraints", "requirements/dev.txt"],
    "uv.txt": ["requirements/uv.in"],
}


def compile_locks(*, upgrade: bool) -> None:
    """Write all lock files; without `upgrade` what is locked stays where it still fits."""
    uv = (
        bootstrap.ensure_uv()
        if (bootstrap.REQUIREMENTS / "uv.txt").exists()
        else bootstrap.uv_on_path()
    )
    for name, arguments in LOCKS.items():
        command = [uv, "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
        command += ["--generate-hashes", "--no-emit-index-url", "--no-emit-find-links"]
        command += [
            "--custom-compile-command",
            "python3 tools/lock.py",
            "--output-file",
            f"requirements/{name}",
        ]
        command += [*arguments, *(["--upgrade"] if upgrade else [])]
        bootstrap.run_checked(
            f"requirements/{name} could not be resolved.",
            command,
            "change the bound that the message names in pyproject.toml",
            bootstrap.uv_environment(),
        )


def differing_locks(before: Path) -> list[str]:
    """Name the lock files that are not as they were."""
    return [
        name
        for name in LOCKS
        if not filecmp.cmp(before / name, bootstrap.REQUIREMENTS / name, shallow=False)
    ]


def check_locks() -> int:
    """Resolve again, put the old files back, and fail when they were not up to date."""
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder)
        for name in LOCKS:
            shutil.copy2(bootstrap.REQUIREMENTS / name, before / name)
        try:
            compile_locks(upgrade=False)
            stale = differing_locks(before)
        finally:
            for name in LOCKS:
                shutil.copy2(before / name, bootstrap.REQUIREMENTS / name)
    for name in stale:
        print(f"requirements/{name} does not match pyproject.toml: run python3 tools/lock.py")
    return 1 if stale else 0


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Resolve pyproject.toml into requirements/*.txt.")
    parser.add_argument(
        "--upgrade", action="store_true", help="take the newest versions instead of the locked ones"
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail when a file is not up to date"
    )
    arguments = parser.parse_args()
    try:
        with bootstrap.one_at_a_time():
            if arguments.check:
                return check_locks()
            compile_locks(upgrade=arguments.upgrade)
    except (bootstrap.BootstrapError, subprocess.SubprocessError) as error:
        print(f"lock: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
