"""What becomes of a schedule's fires: the ledger's judge, for whoever holds the schedule's row.

Pure: imports ``timetable``, ``policies`` and ``domain``; time and new ids arrive as arguments. A
store reads a schedule under its row's guard, hands over a ``Standing``, and carries out the
``Ruling`` that comes back in the same transaction. Scheduler, front desk and test kit all judge
here, so that a fire has one meaning whoever brings it about.

Invariants
----------
* The cursor advances from nominal instants, never from completions, and never back except over
  fires that were taken back because they were not due yet.
* Every nominal instant up to the cursor has a row of the ledger, or lies in a span of one.
* A ruling is computed from what its standing says and nothing else: the same standing and ids give
  the same ruling.
* Of a schedule that allows no overlap at most one job is live, and none is prepared beside it.
* Every ruling is bounded: so many jobs, so many rows, so many instants counted.
"""
