"""Two tenants with whatever data: each sees its own, all of it and nothing else."""

import asyncio
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.domain.job import JobFilter
from mainspring.domain.states import JobState
from mainspring.ports.entropy import new_job_id
from mainspring.registry.bound import bound_desk
from mainspring.registry.desk import FrontDesk
from mainspring.store.sqlite import open_direct
from mainspring.testing.builders import new_job
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    FAILED_FOR_GOOD,
    SUCCEEDED,
    accept,
    claim,
    open_worker,
)

_TENANTS = ("acme", "bits")
_JOBS = st.lists(
    st.tuples(
        st.sampled_from(_TENANTS),
        st.sampled_from(("red", "blue")),
        st.sampled_from(("waiting", "succeeded", "dead")),
    ),
    max_size=12,
)


@settings(max_examples=40)
@given(jobs=_JOBS, chosen=st.lists(st.integers(0, 11), unique=True))
def test_each_tenant_has_its_own_and_nothing_else(
    jobs: list[tuple[str, str, str]], chosen: list[int]
) -> None:
    asyncio.run(_check(jobs, chosen))


async def _check(jobs: list[tuple[str, str, str]], chosen: list[int]) -> None:
    store = await open_direct(clock=SettableClock())
    await store.migrate(phase="all")
    desk = FrontDesk(store, blobs=None, new_id=new_job_id)
    worker = await open_worker(store)
    ids: dict[bytes, tuple[str, str, str]] = {}
    for tenant, queue, end in jobs:
        job = new_job(tenant=tenant, queue=queue if end == "waiting" else "default")
        await store.submit([job])
        ids[job.id] = (tenant, queue, end)
        for claimed in await claim(store, worker) if end != "waiting" else ():
            await accept(store, claimed, SUCCEEDED if end == "succeeded" else FAILED_FOR_GOOD)
    for tenant in _TENANTS:
        mine = {job_id: each for job_id, each in ids.items() if each[0] == tenant}
        gate = bound_desk(desk, tenant)
        assert {job.id for job in await gate.find("", limit=50)} == set(mine)
        page = await gate.list_jobs(JobFilter(), limit=50, before=None)
        assert {job.id for job in page} == set(mine)
        assert sum((await gate.count_states()).values()) == len(mine)
        waiting = Counter(queue for _, queue, end in mine.values() if end == "waiting")
        assert {each.name: each.ready for each in await gate.list_queues()} == waiting
        groups = await gate.list_groups(JobFilter())
        dead = [end for _, _, end in mine.values() if end == "dead"]
        assert sum(group.jobs for group in groups) == len(dead)
    named = [list(ids)[number] for number in chosen if number < len(ids)]
    before = await store.get_states(ids)
    results = await bound_desk(desk, "acme").cancel(named, actor="eve")
    assert [result.job_id for result in results] == named
    after = await store.get_states(ids)
    for job_id, (whose, _, end) in ids.items():
        is_meant = job_id in named and (whose, end) == ("acme", "waiting")
        assert after[job_id] is (JobState.CANCELLED if is_meant else before[job_id])
    await store.close()
