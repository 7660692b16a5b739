"""How the product decides: back-off, and what a reported outcome means for the job.

Pure: time and dice arrive as arguments. Imports ``domain`` only.

Invariants
----------
* Every chain of attempts ends: each claim is charged a try and a crash, and only a report that
  came back refunds them; ``verdict`` gives up when either budget is spent.
* A verdict never names an attempt other than the one reported.
"""
