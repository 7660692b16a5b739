"""Fires what is due: finds schedules that are worth a look and lets ``agenda`` judge them.

Any number of nodes do this at once, embedded in workers or alone, and none of them is needed by
name: a schedule's row is its guard, the ledger's key refuses a second fire, and whoever comes first
wins. Imports the ports and what lies below them; a store is handed in.

Invariants
----------
* Nothing is remembered between two steps but how eager to be: a node that dies takes nothing along.
* The store's clock decides what is due. A step's delay comes from the store as a duration, so that
  a host whose clock is wrong by an hour fires at the right instant.
* A step is bounded: so many schedules, so many jobs of backfills; then others get their turn.
* A schedule that cannot be judged rests for a minute and hinders no other.
* Nobody spins: a look in vain makes the next one later, up to a second.
* Hints only make it early. Without them a change is seen within two seconds.

It fails like its store: a step that raises is repeated by the loop, with back-off, and repeating it
is harmless, whatever became of the first.
"""
