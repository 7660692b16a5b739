"""The public test kit: a settable clock, builders, and the suites that every backend must pass.

Useful beyond this repository: who writes a backend subclasses the suites of ``conformance``, who
writes handlers or tools borrows the clock and the builders. Nothing here runs in production.

Invariants
----------
* No test sleeps or reads a wall clock: time is a ``SettableClock`` and moves when a test says so.
* Every sentence of a contract in ``ports`` has a test in ``conformance``, and every guard that a
  store needs has a planted bug that makes a suite fail.
* ``conformance`` talks to a store through its ports only; it knows no backend and no SQL.
"""

from mainspring.testing.contexts import Line, Moved, RecordingContext, context

__all__ = ["Line", "Moved", "RecordingContext", "context"]
