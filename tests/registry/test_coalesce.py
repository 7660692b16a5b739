import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.domain.errors import ConnectionFailed, OutcomeUnknown
from mainspring.domain.job import NewJob, Receipt
from mainspring.domain.limits import SUBMIT_JOBS_MAX
from mainspring.domain.states import JobState
from mainspring.ports.store import Store
from mainspring.registry.coalesce import Coalescer
from mainspring.testing.builders import new_job
from mainspring.testing.conformance.steps import counts


@dataclass
class Slow:
    """Commits after some turns of the loop, or fails, as it was told."""

    plan: list[tuple[int, bool]]
    gate: asyncio.Event | None = None
    commits: list[list[bytes]] = field(default_factory=list)
    calls: int = 0

    async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
        turns, fails = self.plan[self.calls % len(self.plan)] if self.plan else (0, False)
        self.calls += 1
        if self.gate is not None:
            await self.gate.wait()
        for _ in range(turns):
            await asyncio.sleep(0)
        if fails:
            raise ConnectionFailed
        self.commits.append([job.id for job in jobs])
        return [Receipt(job.id, created=number % 2 == 0) for number, job in enumerate(jobs)]


@dataclass
class Caller:
    """Comes at a turn, with some jobs, and may be cancelled at a later turn."""

    comes: int
    count: int
    goes: int | None


_CALLERS = st.lists(
    st.builds(Caller, st.integers(0, 12), st.integers(1, 3), st.none() | st.integers(0, 20)),
    min_size=1,
    max_size=14,
)
_PLANS = st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=6)


async def _play(callers: list[Caller], store: Slow) -> list[object]:
    coalescer = Coalescer(store)
    outcomes: list[object] = [None] * len(callers)
    jobs = [[new_job() for _ in range(caller.count)] for caller in callers]

    async def call(number: int) -> None:
        for _ in range(callers[number].comes):
            await asyncio.sleep(0)
        try:
            outcomes[number] = await coalescer.submit(jobs[number])
        except (ConnectionFailed, OutcomeUnknown, asyncio.CancelledError) as error:
            outcomes[number] = error

    async def leave(number: int, caller: asyncio.Task[None]) -> None:
        for _ in range(callers[number].goes or 0):
            await asyncio.sleep(0)
        caller.cancel()

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        for number, caller in enumerate(callers):
            started = group.create_task(call(number))
            if caller.goes is not None:
                group.create_task(leave(number, started))
    _check(callers, jobs, outcomes, store)
    # Nobody is left behind: the next caller is served at once.
    store.plan = []
    async with asyncio.timeout(20):
        assert await coalescer.submit([last := new_job()]) == [Receipt(last.id)]
    return outcomes


def _check(
    callers: list[Caller], jobs: list[list[NewJob]], outcomes: list[object], store: Slow
) -> None:
    committed = {job_id for commit in store.commits for job_id in commit}
    for number, outcome in enumerate(outcomes):
        if isinstance(outcome, list):
            # Exactly its own receipts, in its order, and only after their commit.
            assert [receipt.job_id for receipt in outcome] == [job.id for job in jobs[number]]
            assert committed.issuperset(job.id for job in jobs[number])
        elif callers[number].goes is None:
            assert isinstance(outcome, ConnectionFailed | OutcomeUnknown)


@settings(deadline=None)
@given(_CALLERS, _PLANS)
def test_each_caller_gets_its_own_receipts_and_nobody_hangs(
    callers: list[Caller], plan: list[tuple[int, bool]]
) -> None:
    store = Slow(plan)
    outcomes = asyncio.run(_play(callers, store))
    sent = [job_id for commit in store.commits for job_id in commit]
    assert len(sent) == len(set(sent))
    if not any(fails for _, fails in plan) and all(caller.goes is None for caller in callers):
        assert all(isinstance(outcome, list) for outcome in outcomes)


async def test_a_lone_caller_waits_for_nobody() -> None:
    store = Slow([])
    coalescer = Coalescer(store)
    await coalescer.submit([new_job()])
    await coalescer.submit([new_job()])
    assert store.calls == 2


async def test_a_crowd_pays_two_commits() -> None:
    store = Slow([], gate=asyncio.Event())
    coalescer = Coalescer(store)
    async with asyncio.TaskGroup() as group:
        for _ in range(200):
            group.create_task(coalescer.submit([new_job()]))
        await asyncio.sleep(0)
        assert store.gate is not None
        store.gate.set()
    assert [len(commit) for commit in store.commits] == [1, 199]


async def test_a_round_is_no_larger_than_one_statement() -> None:
    store = Slow([], gate=asyncio.Event())
    coalescer = Coalescer(store)
    part = [new_job() for _ in range(SUBMIT_JOBS_MAX // 2 - 1)]
    async with asyncio.TaskGroup() as group:
        for jobs in ([new_job()], part, part, [new_job()] * 3, [new_job()]):
            group.create_task(coalescer.submit(jobs))
        await asyncio.sleep(0)
        assert store.gate is not None
        store.gate.set()
    assert [len(commit) for commit in store.commits] == [1, SUBMIT_JOBS_MAX - 2, 4]


class Gated:
    """Tells when a commit has begun; each but the second ends when it may."""

    def __init__(self) -> None:
        self.begun = [asyncio.Event() for _ in range(3)]
        self.may_end = asyncio.Event()
        self.calls = 0

    async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
        self.calls += 1
        self.begun[self.calls - 1].set()
        await (asyncio.Event() if self.calls == 2 else self.may_end).wait()
        return [Receipt(job.id) for job in jobs]


async def test_followers_of_a_cancelled_leader_do_not_know_the_outcome() -> None:
    store = Gated()
    coalescer = Coalescer(store)
    first = asyncio.create_task(coalescer.submit([new_job()]))
    await store.begun[0].wait()
    leader, follower = (asyncio.create_task(coalescer.submit([new_job()])) for _ in range(2))
    await asyncio.sleep(0)  # both have begun to wait for their turn
    store.may_end.set()
    await first
    await store.begun[1].wait()
    late = asyncio.create_task(coalescer.submit([new_job()]))
    await asyncio.sleep(0)
    leader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leader
    with pytest.raises(OutcomeUnknown):
        await follower
    assert len(await late) == 1


async def test_on_a_real_store_a_crowd_shares_commits(store: Store) -> None:
    calls = 0

    class Counting:
        async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
            nonlocal calls
            calls += 1
            return await store.submit(jobs, repeated=repeated)

    coalescer = Coalescer(Counting())
    jobs = [new_job() for _ in range(500)]
    async with asyncio.TaskGroup() as group:
        answers = [group.create_task(coalescer.submit([job])) for job in jobs]
    assert [answer.result() for answer in answers] == [[Receipt(job.id)] for job in jobs]
    assert calls < 50
    assert await counts(store) == {JobState.READY: 500}
