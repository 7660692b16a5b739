import asyncio

import pytest

from mainspring.dispatcher.gateway import LocalGateway
from mainspring.domain.errors import OutcomeUnknown, SessionLost
from mainspring.domain.job import Claimed, HandlerInfo, JobFilter
from mainspring.domain.outcome import UNRESPONSIVE, Succeeded
from mainspring.domain.states import AttemptState, JobState
from mainspring.ports.store import Store
from mainspring.testing.builders import claim_ask, log_line, new_job, progress
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import counts, ids, state_of, view
from tests.dispatcher.doors import (
    Faulty,
    MakeGateway,
    Seconds,
    claim_new,
    open_worker,
    report,
)


async def last_attempt(store: Store, claimed: Claimed) -> tuple[AttemptState, str | None]:
    found = (await store.list_attempts(claimed.job_id))[-1]
    return found.state, found.reason


async def test_a_dead_child_loses_its_attempts_at_once(gateway: LocalGateway, store: Store) -> None:
    worker = await open_worker(gateway)
    await store.submit([new_job(), new_job()])
    [first] = await gateway.claim(claim_ask(worker, child=1, limit=1))
    [second] = await gateway.claim(claim_ask(worker, child=2, limit=1))
    assert await gateway.child_died(worker, 1, "killed_by_signal_9") == 1
    assert await state_of(store, first.job_id) is JobState.READY
    assert await state_of(store, second.job_id) is JobState.RUNNING
    assert await last_attempt(store, first) == (AttemptState.LOST, "killed_by_signal_9")
    assert await gateway.child_died(worker, 1, "killed_by_signal_9") == 0
    assert not await report(gateway, first, Succeeded())
    assert (await view(store, first.job_id)).crashes == 1


async def test_who_blocked_its_process_has_timed_out_and_its_neighbours_are_lost(
    gateway: LocalGateway, store: Store, clock: SettableClock
) -> None:
    worker = await open_worker(gateway)
    await store.submit([new_job(timeout_ms=1_000), new_job(timeout_ms=60_000)])
    claimed = await gateway.claim(claim_ask(worker, child=1))
    clock.advance(3)
    assert await gateway.child_died(worker, 1, UNRESPONSIVE) == 2
    guilty, neighbour = sorted(claimed, key=lambda job: job.timeout_ms)
    assert await last_attempt(store, guilty) == (AttemptState.TIMED_OUT, "timed_out")
    assert await last_attempt(store, neighbour) == (AttemptState.LOST, UNRESPONSIVE)
    # Both are charged a crash: whoever it was, the next try runs alone.
    for job in claimed:
        assert (await view(store, job.job_id)).crashes == 1
    again = (await view(store, guilty.job_id)).error or b""
    assert b"longer than 1000 ms, and its process had to be killed" in again


async def test_blocking_its_process_again_and_again_ends(
    gateway: LocalGateway, store: Store, clock: SettableClock
) -> None:
    worker = await open_worker(gateway)
    job = new_job(timeout_ms=1_000, max_crashes=2)
    await store.submit([job])
    for child in (1, 2):
        await gateway.claim(claim_ask(worker, child=child))
        clock.advance(3)
        await gateway.child_died(worker, child, UNRESPONSIVE)
        clock.advance(10)
        await gateway.beat(worker)
    dead = await view(store, job.id)
    assert (dead.state, dead.reason, dead.crashes) == (JobState.DEAD, "crashes_exhausted", 2)
    attempts = await store.list_attempts(job.id)
    assert [attempt.state for attempt in attempts] == [AttemptState.TIMED_OUT] * 2


async def test_a_closed_session_gives_back_what_it_holds(
    gateway: LocalGateway, store: Store
) -> None:
    worker = await open_worker(gateway)
    claimed = await claim_new(gateway, store, worker)
    await gateway.close_session(worker)
    assert await last_attempt(store, claimed) == (AttemptState.LOST, "session_closed")
    with pytest.raises(SessionLost):
        await gateway.beat(worker)
    assert await gateway.claim(claim_ask(worker)) == []
    again = await gateway.claim(claim_ask(await open_worker(gateway)))
    assert [(job.job_id, job.attempt) for job in again] == [(claimed.job_id, 2)]


async def test_a_draining_session_beats_but_claims_nothing(
    gateway: LocalGateway, store: Store
) -> None:
    worker = await open_worker(gateway)
    claimed = await claim_new(gateway, store, worker)
    await gateway.drain_session(worker)
    await store.submit([new_job()])
    assert await gateway.claim(claim_ask(worker)) == []
    await gateway.beat(worker)
    assert await report(gateway, claimed, Succeeded())


async def test_a_session_that_ran_out_is_recovered_by_whoever_claims(
    make_gateway: MakeGateway, store: Store, clock: SettableClock, seconds: Seconds
) -> None:
    gone, other = make_gateway(), make_gateway()
    worker = await open_worker(gone, lease_ms=15_000)
    claimed = await claim_new(gone, store, worker)
    rescuer = await open_worker(other)
    assert await other.claim(claim_ask(rescuer)) == []
    clock.advance(15)
    seconds.now += 5
    assert await other.claim(claim_ask(rescuer)) == []
    clock.advance(0.001)
    seconds.now += 5
    rescued = await other.claim(claim_ask(rescuer))
    assert [(job.job_id, job.attempt) for job in rescued] == [(claimed.job_id, 2)]
    assert (await store.list_attempts(claimed.job_id))[0].reason == "lease_expired"
    assert not await report(gone, claimed, Succeeded())
    with pytest.raises(SessionLost):
        await gone.beat(worker)
    assert await report(other, rescued[0], Succeeded())


async def test_an_attempt_past_its_deadline_has_timed_out(
    gateway: LocalGateway, store: Store, clock: SettableClock, seconds: Seconds
) -> None:
    worker = await open_worker(gateway)
    claimed = await claim_new(gateway, store, worker, timeout_ms=2_000)
    clock.advance(12.001)  # the timeout and the grace of a claim
    seconds.now += 5
    await gateway.claim(claim_ask(worker))
    assert await last_attempt(store, claimed) == (AttemptState.TIMED_OUT, "timed_out")
    assert await state_of(store, claimed.job_id) is JobState.RETRYING
    found = (await store.list_attempts(claimed.job_id))[0]
    assert found.error is not None
    assert b"longer than 2000 ms" in found.error


async def test_recovery_looks_once_a_second(
    gateway: LocalGateway, store: Store, clock: SettableClock, seconds: Seconds
) -> None:
    stale = await open_worker(gateway, lease_ms=1_000)
    claimed = await claim_new(gateway, store, stale)
    rescuer = await open_worker(gateway)
    clock.advance(2)
    seconds.now += 0.999
    assert await gateway.claim(claim_ask(rescuer)) == []
    seconds.now += 0.002
    assert ids(await gateway.claim(claim_ask(rescuer))) == [claimed.job_id]


async def test_a_poisonous_job_ends_and_is_followed_up_once_by_recovery(
    make_gateway: MakeGateway, store: Store, clock: SettableClock, seconds: Seconds
) -> None:
    declared = HandlerInfo(kind="mail.lost", queue="care")
    worker = await open_worker(make_gateway(), handlers=[declared])
    job = new_job(on_exhausted="mail.lost", max_crashes=2)
    await store.submit([job])
    for _ in range(2):
        gateway = make_gateway()
        worker = await open_worker(gateway, lease_ms=1_000)
        assert ids(await gateway.claim(claim_ask(worker))) == [job.id]
        clock.advance(2)
        seconds.now += 2
    # Three find it at the same time; the fence lets one of them close it.
    rescuers = [make_gateway() for _ in range(3)]
    workers = [await open_worker(gateway) for gateway in rescuers]
    await asyncio.gather(
        *(
            gateway.claim(claim_ask(worker))
            for gateway, worker in zip(rescuers, workers, strict=True)
        )
    )
    found = await view(store, job.id)
    assert (found.state, found.reason, found.crashes) == (JobState.DEAD, "crashes_exhausted", 2)
    followed = await store.list_jobs(
        JobFilter(kinds=frozenset({"mail.lost"})), limit=9, before=None
    )
    assert [(item.queue, item.state) for item in followed.items] == [("care", JobState.READY)]
    assert b"crashes_exhausted" in followed.items[0].payload


async def test_recovery_that_does_not_know_its_outcome_is_harmless(
    gateway: LocalGateway, store: Store, faulty: Faulty
) -> None:
    worker = await open_worker(gateway)
    claimed = await claim_new(gateway, store, worker, max_crashes=1, on_exhausted="after")
    faulty.after.append(OutcomeUnknown())
    with pytest.raises(OutcomeUnknown):
        await gateway.child_died(worker, 0, "gone")
    assert await gateway.child_died(worker, 0, "gone") == 0
    assert await state_of(store, claimed.job_id) is JobState.DEAD
    assert await counts(store) == {JobState.DEAD: 1, JobState.READY: 1}


async def test_one_step_is_bounded(
    gateway: LocalGateway, store: Store, clock: SettableClock, seconds: Seconds
) -> None:
    worker = await open_worker(gateway, lease_ms=1_000)
    await store.submit([new_job() for _ in range(250)])
    assert len(await gateway.claim(claim_ask(worker, limit=250, lanes=_wide()))) == 250
    clock.advance(2)
    rescuer = await open_worker(gateway)
    got = []
    for _ in range(2):
        seconds.now += 2
        got.append(len(await gateway.claim(claim_ask(rescuer, limit=250, lanes=_wide()))))
    assert got == [200, 50]


def _wide() -> object:
    from mainspring.ports.store import Lane

    return (Lane("default", 250),)


async def test_lines_and_progress_are_kept(gateway: LocalGateway, store: Store) -> None:
    worker = await open_worker(gateway)
    claimed = await claim_new(gateway, store, worker)
    await gateway.append_logs([log_line(claimed)])
    held = [(claimed.job_id, claimed.attempt)]
    pulse = await gateway.pulse(worker, held, [progress(claimed, 3, total=4)])
    assert (pulse.lost, pulse.cancelling) == ((), ())
    assert (await view(store, claimed.job_id)).progress_done == 3
    assert len(await store.list_logs(claimed.job_id, after=None, limit=9)) == 1
