"""The truth on PostgreSQL 14 and later, over asyncpg.

Invariants
----------
* Each method is one transaction. The common ones are one statement, without BEGIN and COMMIT.
* Ids are 16 bytes in Python and ``uuid`` in SQL; JSON is bytes in Python and ``text`` in SQL.
* Every statement reads one instant: the server's ``statement_timestamp()``, or the clock that a
  test brought along.
* Rows are taken in the order of their ids, or skipped, and schedules before jobs before rows of the
  ledger; deadlocks and serialization failures are retried here, a few times.
* Whatever ends a job closes its row of the ledger in the same statement, and takes no schedule.
* What fails before it was sent, or is certain to be rolled back, is ``ConnectionFailed``; a change
  that broke before its answer is ``OutcomeUnknown``.
* Claims and settlements have connections of their own, with pinned plans; so has the judging of
  what is due.
* History, attempts, log lines and audit lie in partitions by time; a default partition catches
  what nobody has prepared a place for.
"""

from mainspring.store.postgres.pool import Options
from mainspring.store.postgres.store import PostgresStore, open_postgres

__all__ = ["Options", "PostgresStore", "open_postgres"]
