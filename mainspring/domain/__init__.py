"""What exists: ids, states, outcomes, jobs, errors, limits. Pure values and pure functions.

This room imports no other room, does no input or output, owns no clock and rolls no dice. Every
other room speaks its words.

Invariants
----------
* A state changes only along ``states.TRANSITIONS``; SQL constraints, the diagram in the docs and
  the property tests come from that one table.
* An attempt number only grows. ``(job id, attempt)`` names the right to finish that attempt.
* Every value here is immutable.
* Every error carries a stable code; ``errors`` is the one table from code to HTTP status, gRPC
  status and exit code.
"""
