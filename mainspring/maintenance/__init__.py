"""Keeps the house clean, in small steps: expired leases, partitions, retention, old keys.

Every step may be run by any number of nodes at once; they are idempotent or fenced.

Invariants
----------
* No step holds a transaction for long, and each has a bound.
* Only history past its retention is dropped, whole partitions at a time on PostgreSQL.
* Recovery needs no leader: it settles through the attempt's fence.
"""
