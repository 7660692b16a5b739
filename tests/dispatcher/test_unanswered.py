"""Claims whose answer was lost on the way: what they brought is known to nobody but the store."""

import pytest

from mainspring.dispatcher.gateway import LocalGateway
from mainspring.domain.errors import ConnectionFailed, OutcomeUnknown
from mainspring.domain.job import JobFilter
from mainspring.domain.outcome import Succeeded
from mainspring.domain.states import AttemptState, JobState
from mainspring.ports.store import Store
from mainspring.testing.builders import claim_ask, new_job
from tests.dispatcher.doors import Faulty, MakeGateway, Seconds, open_worker, report


async def test_what_an_unanswered_claim_brought_is_handed_back_at_once(
    gateway: LocalGateway, store: Store, faulty: Faulty
) -> None:
    worker = await open_worker(gateway)
    # One try and one crash: if being forgotten were charged, these jobs would die of it.
    jobs = [new_job(max_attempts=1, max_crashes=1) for _ in range(3)]
    await store.submit(jobs)
    faulty.claims.append(OutcomeUnknown())
    with pytest.raises(OutcomeUnknown):
        await gateway.claim(claim_ask(worker))
    claimed = await gateway.claim(claim_ask(worker))
    assert {job.job_id for job in claimed} == {job.id for job in jobs}
    assert {(job.attempt, job.tries, job.crashes) for job in claimed} == {(2, 1, 1)}
    for job in claimed:
        assert await report(gateway, job, Succeeded())
        states = [attempt.state for attempt in await store.list_attempts(job.job_id)]
        assert states == [AttemptState.RELEASED, AttemptState.SUCCEEDED]


async def test_what_runs_here_and_elsewhere_stays(
    make_gateway: MakeGateway, store: Store, faulty: Faulty
) -> None:
    gateway, other = make_gateway(), make_gateway()
    worker = await open_worker(gateway)
    await store.submit([new_job()])
    (running,) = await gateway.claim(claim_ask(worker))
    await store.submit([new_job()])
    (next_door,) = await other.claim(claim_ask(worker, child=2))
    await store.submit([new_job()])
    faulty.claims.append(OutcomeUnknown())
    with pytest.raises(OutcomeUnknown):
        await gateway.claim(claim_ask(worker))
    (forgotten,) = await gateway.claim(claim_ask(worker))
    assert forgotten.attempt == 2
    assert await report(gateway, running, Succeeded())
    assert await report(other, next_door, Succeeded())
    assert await report(gateway, forgotten, Succeeded())
    found = await store.list_jobs(JobFilter(), limit=9, before=None)
    assert sorted(job.attempt for job in found.items) == [1, 1, 2]
    assert {job.state for job in found.items} == {JobState.SUCCEEDED}


async def test_a_claim_that_takes_effect_late_is_found_all_the_same(
    gateway: LocalGateway, store: Store, faulty: Faulty, seconds: Seconds
) -> None:
    """The server may still have been at it when the connection broke."""
    worker = await open_worker(gateway)
    faulty.claims.append(OutcomeUnknown())
    with pytest.raises(OutcomeUnknown):
        await gateway.claim(claim_ask(worker))
    assert await gateway.claim(claim_ask(worker)) == []
    await store.submit([new_job()])
    (late,) = await store.claim(claim_ask(worker))
    seconds.now += 2
    (again,) = await gateway.claim(claim_ask(worker))
    assert (again.job_id, again.attempt) == (late.job_id, 2)


async def test_after_a_while_nobody_looks_any_more(
    gateway: LocalGateway, store: Store, faulty: Faulty, seconds: Seconds
) -> None:
    worker = await open_worker(gateway)
    faulty.claims.append(OutcomeUnknown())
    with pytest.raises(OutcomeUnknown):
        await gateway.claim(claim_ask(worker))
    seconds.now += 60
    assert await gateway.claim(claim_ask(worker)) == []
    await store.submit([new_job()])
    (job,) = await store.claim(claim_ask(worker))
    seconds.now += 60
    assert await gateway.claim(claim_ask(worker)) == []
    assert (await store.list_attempts(job.job_id))[-1].state is AttemptState.RUNNING


async def test_a_refused_claim_brought_nothing_and_costs_no_look(
    gateway: LocalGateway, store: Store, faulty: Faulty
) -> None:
    worker = await open_worker(gateway)
    faulty.claims.append(ConnectionFailed())
    with pytest.raises(ConnectionFailed):
        await gateway.claim(claim_ask(worker))
    await store.submit([new_job()])
    (job,) = await store.claim(claim_ask(worker))
    assert await gateway.claim(claim_ask(worker)) == []
    assert (await store.list_attempts(job.job_id))[-1].state is AttemptState.RUNNING
