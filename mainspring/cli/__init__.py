"""The command line: what people and scripts type.

A command reads its arguments, asks a ``ClientGateway`` (or starts a node), and shows the answer.
Command groups are loaded when they are called, so that ``--help`` and ``--version`` stay light.

Invariants
----------
* Data goes to stdout, everything else to stderr; no colour where nobody looks.
* Whatever goes wrong is told as what, why and what next, with its code; the exit status is the
  one of its class. A traceback is shown with ``--debug`` only.
* Bad input is refused before anything is changed.
* Text that came from elsewhere never reaches a terminal with its control characters.
* ``-o json`` is for machines: exact instants, whole numbers of milliseconds, stable names.
"""

import sys
from collections.abc import Sequence

from mainspring import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words == ["--version"]:
        # Asked by scripts in loops: answered without the parser.
        print(__version__)
        return 0
    from mainspring.cli.root import run

    return run(words)
