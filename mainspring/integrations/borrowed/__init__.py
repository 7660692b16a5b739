"""Connections that belong to the caller: one module a driver, found by the type of the object.

Invariants
----------
* No driver is imported unless the caller has loaded it: without one there is no such object.
* A transaction is never begun, committed or rolled back behind the caller's back. SQLite's implicit
  ones are the exception that proves it: there the first statement begins what ``commit()`` ends.
* A connection that would commit each statement by itself is refused.
* What the driver raises reaches the caller as it is: who owns the transaction owns its retries.
"""

from mainspring.integrations.borrowed.finding import borrow, defer

__all__ = ["borrow", "defer"]
