"""Mistakes that schedulers are known to make between a schedule and its store; none may come back.

What is pure about them is in ``tests/agenda/test_known_mistakes.py``.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mainspring.domain.job import JobFilter, JobView
from mainspring.domain.states import JobState
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.scheduler.firing import Firing
from mainspring.store.postgres import open_postgres
from mainspring.store.sqlite import open_direct
from mainspring.testing.builders import claim_ask, lanes
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    FAILED,
    FAILED_FOR_GOOD,
    accept,
    claim_one,
    open_worker,
)
from tests.registry.drafts import ADA, draft

NOON = datetime(2027, 3, 15, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
MANY = 1_200


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def store(request: pytest.FixtureRequest, clock: SettableClock) -> AsyncIterator[Store]:
    opened: Store
    if request.param == "sqlite":
        opened = await open_direct(clock=clock)
    else:
        opened = await open_postgres(request.getfixturevalue("database")("15"), clock=clock)
    await opened.migrate(phase="all")
    yield opened
    await opened.close()


async def fire(store: Store) -> int:
    """Step until nothing is due; return how many steps found something."""
    scheduler = Firing(store, new_id=new_job_id, roll=lambda: 0.5)
    steps = 0
    while await scheduler.step() == 0.0:
        steps += 1
        assert steps < 100, "it never rests"
    return steps


async def made(desk: FrontDesk, name: str = "s", when: str = "0 * * * *", **policies: Any) -> bytes:
    wanted = draft(name, when, policies=policies, max_attempts=2)
    return (await desk.schedules.create(wanted, actor=ADA)).id


async def jobs(store: Store) -> list[JobView]:
    found: list[JobView] = []
    before: bytes | None = None
    while page := (await store.list_jobs(JobFilter(), limit=500, before=before)).items:
        found += page
        before = page[-1].id
    return sorted(found, key=lambda job: (job.due_at, job.id))


async def claimed(store: Store, worker: bytes) -> Any:
    return await claim_one(store, worker, lanes=lanes({"reports": 9}), kinds=("report",))


async def test_a_fire_whose_job_failed_for_good_is_not_fired_again(
    store: Store, desk: FrontDesk, clock: SettableClock
) -> None:
    """The failed run advances the schedule like any other."""
    clock.set(NOON - HOUR / 2)
    await made(desk)
    clock.set(NOON)
    await fire(store)
    worker = await open_worker(store)
    await accept(store, await claimed(store, worker), FAILED_FOR_GOOD)
    for minutes in (1, 20, 59):
        clock.set(NOON + timedelta(minutes=minutes))
        await fire(store)
        dead = [job for job in await jobs(store) if job.nominal_at == NOON]
        assert [job.state for job in dead] == [JobState.DEAD]
    clock.set(NOON + HOUR)
    await fire(store)
    assert [job.nominal_at for job in await jobs(store)] == [NOON, NOON + HOUR]


@pytest.mark.slow
async def test_a_burst_is_fired_without_a_rest_and_nothing_of_it_twice(
    store: Store, desk: FrontDesk, clock: SettableClock
) -> None:
    """No pause between batches; and however long the work waits, no fire comes back."""
    clock.set(NOON - HOUR)
    ids = {await made(desk, f"s{number}", "0 12 * * *") for number in range(MANY)}
    # All of them at one instant: nobody was there to prepare them.
    clock.set(NOON)
    await fire(store)
    assert {job.schedule_id for job in await jobs(store)} == ids
    worker = await open_worker(store)
    ask = claim_ask(worker, lanes=lanes({"reports": 200}), kinds=("report",), limit=200)
    assert len(await store.claim(ask)) == 200
    for minutes in (1, 5, 60):
        clock.set(NOON + timedelta(minutes=minutes))
        await fire(store)
        assert len(await jobs(store)) == MANY


async def test_there_is_no_id_that_belongs_to_nobody(
    store: Store, desk: FrontDesk, clock: SettableClock
) -> None:
    """A remainder of a signed hash leaves half of all schedules to no shard."""
    clock.set(NOON - HOUR)
    ids = {await made(desk, f"s{number}", "0 12 * * *") for number in range(256)}
    clock.set(NOON)
    await fire(store)
    assert {job.schedule_id for job in await jobs(store)} == ids


async def test_a_retry_keeps_the_fires_key_and_moves_no_beat(
    store: Store, desk: FrontDesk, clock: SettableClock
) -> None:
    """Back-off is the job's own: the fire's instant and its key stay, and so does the cursor."""
    clock.set(NOON - HOUR / 2)
    await made(desk, overlap="allow")
    clock.set(NOON)
    await fire(store)
    worker = await open_worker(store)
    first = await claimed(store, worker)
    await accept(store, first, FAILED)
    (before,) = await jobs(store)
    assert before.state is JobState.RETRYING
    clock.set(before.due_at)
    await fire(store)
    again = await claimed(store, worker)
    assert (again.job_id, again.attempt) == (first.job_id, 2)
    assert again.effect_key == first.effect_key
    clock.set(NOON + HOUR)
    await fire(store)
    assert [job.nominal_at for job in await jobs(store)] == [NOON, NOON + HOUR]


async def test_no_second_copy_is_made_while_a_retry_waits(
    store: Store, desk: FrontDesk, clock: SettableClock
) -> None:
    clock.set(NOON - HOUR / 2)
    await made(desk, overlap="allow")
    clock.set(NOON)
    await fire(store)
    worker = await open_worker(store)
    await accept(store, await claimed(store, worker), FAILED, delay_ms=1_800_000)
    for minutes in (1, 10, 29):
        clock.set(NOON + timedelta(minutes=minutes))
        await fire(store)
        ask = claim_ask(worker, lanes=lanes({"reports": 9}), kinds=("report",), limit=9)
        assert await store.claim(ask) == []
        assert len([job for job in await jobs(store) if job.nominal_at == NOON]) == 1


@pytest.mark.parametrize("late", [timedelta(minutes=7), HOUR * 3 + timedelta(minutes=11)])
async def test_the_next_fire_is_the_rules_and_not_so_long_after_the_last_one(
    store: Store, desk: FrontDesk, clock: SettableClock, late: timedelta
) -> None:
    """Neither a late look nor a job that runs for hours moves the beat, or hides a fire."""
    clock.set(NOON - HOUR / 2)
    await made(desk, overlap="allow", misfire="fire_all")
    clock.set(NOON)
    await fire(store)
    await claimed(store, await open_worker(store))
    clock.set(NOON + late)
    await fire(store)
    clock.set(NOON + HOUR * 5)
    await fire(store)
    nominal = {job.nominal_at for job in await jobs(store)}
    assert nominal == {NOON + HOUR * number for number in range(6)}
    assert len(await jobs(store)) == 6
