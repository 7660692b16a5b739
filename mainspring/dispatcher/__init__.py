"""Hands jobs to workers, and decides what their reports mean.

``LocalGateway`` is the worker's door to a store in the same process; ``recovery`` closes attempts
whose right has run out. Both turn outcomes into verdicts with ``policies.verdict`` and let the
store carry them out under the fence.

Invariants
----------
* A worker's report is an opinion about an attempt, never about the job's next state.
* Recovery settles through the same fence as workers do: whoever commits first wins, the other is
  stale and changes nothing.
* Whoever listens is told in the transaction that settles; nothing is settled while it is unknown
  who does.
* Watermarks only make claims cheaper. A full sweep every second finds what they left out.
"""
