"""The store in one SQLite file, or in memory: the laptop's truth, and the fake of every test.

One writer thread takes whatever callers have queued and carries all of it out in one transaction
(group commit); two reader threads look at the last commit meanwhile. Several processes may share
one file on a local disk. One store object serves any number of event loops and threads of its
process; it must not be carried over a fork.

Batches travel as JSON text and packed ids into single statements: a statement of SQLite gives
Python's interpreter free while it works, so that a busy event loop costs a batch one wait and not
one a row.

Invariants
----------
* Nothing is answered before its COMMIT, and the COMMIT is on disk (WAL, ``synchronous=FULL``).
* A call that fails takes back its own changes only; a COMMIT that fails fails all of its group.
* All changes run under ``BEGIN IMMEDIATE``: what a call has looked up stays true until its commit.
* The clock is read once a call, inside its transaction; no statement asks for the time.
* The database is this product's, or belongs to nobody, before anything is written
  (``application_id``).
"""

from mainspring.store.sqlite.store import SqliteStore, open_direct, open_sqlite

__all__ = ["SqliteStore", "open_direct", "open_sqlite"]
