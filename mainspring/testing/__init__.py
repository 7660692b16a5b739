"""The public test kit, for tests of applications, of handlers, and of backends.

Who writes an application takes ``Kit``, or the fixture ``mainspring`` of ``pytest_plugin``: jobs
run for real, in the process of the test, under its clock. Who writes a handler runs it alone with
a ``context``. Who writes a backend subclasses the suites of ``conformance``. Nothing here runs in
production.

Invariants
----------
* The plugin is loaded wherever Mainspring is installed: it, and this file, import nothing of it.
* The kit decides nothing: the store, the desk, the gateway and the judge are the product's own.
* No test sleeps or reads a wall clock: time is a ``SettableClock`` and moves when a test says so.
* Every sentence of a contract in ``ports`` has a test in ``conformance``, and every guard that a
  store needs has a planted bug that makes a suite fail.
* ``conformance`` talks to a store through its ports only; it knows no backend and no SQL.
"""

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mainspring.testing.clock import SettableClock
    from mainspring.testing.contexts import Line, Moved, RecordingContext, context, fire
    from mainspring.testing.kit import Kit
    from mainspring.testing.snapshots import Drained, Snapshot

__all__ = [
    "Drained",
    "Kit",
    "Line",
    "Moved",
    "RecordingContext",
    "SettableClock",
    "Snapshot",
    "context",
    "fire",
]

_HOME: Final = {
    "Drained": "snapshots",
    "Kit": "kit",
    "Line": "contexts",
    "Moved": "contexts",
    "RecordingContext": "contexts",
    "SettableClock": "clock",
    "Snapshot": "snapshots",
    "context": "contexts",
    "fire": "contexts",
}


def __getattr__(name: str) -> object:
    """Bring a name's module when the name is first used."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = found
    return found
