"""The truth: PostgreSQL and SQLite behind the protocols of ``ports.store``, with one meaning.

One SQL statement a file under ``*/sql/``, named by its verb; no ORM, no SQL text in Python. The
two backends do not know each other; what they share (loading statements, checking migrations)
lies beside them.

Invariants
----------
* Each method is one transaction and reads the store's clock once.
* Nothing is acknowledged before its commit, and the commit is durable (PostgreSQL
  ``synchronous_commit=on``, SQLite WAL with ``synchronous=FULL``).
* A held job changes only through ``settle`` or a forced cancel, both fenced by (id, attempt).
* A final job leaves the live table in the statement that finishes it.
"""
