"""Closes attempts whose right has run out, and gives their jobs to others.

Anyone may do it at any time, as often as they like: each step is bounded, and the fence decides
who wins. Never by elapsed run time: only a lease that ran out, a session that ended, or an
attempt past its own hard deadline.
"""

from collections.abc import Mapping, Sequence

from mainspring.dispatcher.judgement import Judge
from mainspring.domain.declared import Declared
from mainspring.domain.job import Held, Settled, Settlement
from mainspring.domain.limits import RECOVER_JOBS_MAX
from mainspring.domain.outcome import UNRESPONSIVE, Lost, Outcome, Released, TimedOut
from mainspring.domain.states import FINAL, JobState
from mainspring.ports.store import DispatchStore, Wakeups

LEASE_EXPIRED = "lease_expired"


class Recovery:
    """One step at a time: find what has run out, judge it, settle it."""

    def __init__(self, store: DispatchStore, wakeups: Wakeups, judge: Judge) -> None:
        """Work on this store."""
        self._store = store
        self._wakeups = wakeups
        self._judge = judge

    async def step(self, declared: Declared, *, limit: int = RECOVER_JOBS_MAX) -> int:
        """Close up to ``limit`` attempts; return how many were closed."""
        held = await self._store.expired(limit)
        return await self.close(held, declared, cause=LEASE_EXPIRED)

    async def close(self, held: Sequence[Held], declared: Declared, *, cause: str) -> int:
        """Judge attempts that nobody will report any more; return how many were closed."""
        return await self._settle([(job, _outcome(job, cause)) for job in held], declared)

    async def hand_back(self, held: Sequence[Held], declared: Declared) -> int:
        """Let others have attempts that nobody has begun; it costs no try."""
        return await self._settle([(job, Released()) for job in held], declared)

    async def _settle(self, ends: Sequence[tuple[Held, Outcome]], declared: Declared) -> int:
        if not ends:
            return 0
        settlements = [await self._judge.settle(job, outcome, declared) for job, outcome in ends]
        settled = await self._store.settle(settlements)
        queues = {job.job_id: job.queue for job, _ in ends}
        announce(self._wakeups, queues, settlements, settled)
        return sum(item.accepted for item in settled)


def _outcome(job: Held, cause: str) -> Outcome:
    if job.cause == "deadline":
        return TimedOut(timeout_ms=job.timeout_ms, stopped=False)
    if job.cause == "overtime" and cause == UNRESPONSIVE:
        return TimedOut(timeout_ms=job.timeout_ms, took_process=True)
    return Lost(cause=cause)


def announce(
    wakeups: Wakeups,
    queues: Mapping[bytes, str],
    settlements: Sequence[Settlement],
    settled: Sequence[Settled],
) -> None:
    """Tell workers of jobs that wait again, and whoever waits for jobs of those that ended."""
    topics: set[str] = set()
    for settlement, item in zip(settlements, settled, strict=True):
        if item.repeated and settlement.becomes in FINAL:
            # Ended earlier, perhaps in the handler's own transaction, of which nobody was told.
            topics.add("done")
        if not item.accepted or item.state is None:
            continue
        topics.update(f"queue:{notice.queue}" for notice in settlement.notices)
        if item.state in FINAL:
            topics.add("done")
            if settlement.follow_up is not None and item.state is JobState.DEAD:
                topics.add(f"queue:{settlement.follow_up.queue}")
        else:
            topics.add(f"queue:{queues[item.job_id]}")
    if topics:
        wakeups.announce(topics)
