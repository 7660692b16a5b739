"""The role that fires, on a real store in memory and under a settable clock."""

import logging
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mainspring.agenda import judge
from mainspring.agenda.standing import Standing
from mainspring.domain.job import JobFilter, JobView
from mainspring.domain.limits import HORIZON_SECONDS
from mainspring.domain.schedule import Outcome
from mainspring.domain.states import JobState
from mainspring.ports.entropy import new_job_id
from mainspring.ports.scheduling import BackfillAsk
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.scheduler import firing
from mainspring.scheduler.firing import POLL_SECONDS, Firing
from mainspring.testing.builders import lanes
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import SUCCEEDED, accept, claim_one, open_worker
from tests.registry.drafts import ADA, draft

NOON = datetime(2027, 3, 14, 12, tzinfo=UTC)


class Spy:
    """A store that counts what a scheduler asks of it, and may be forestalled."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.asked: list[str] = []
        self.told: set[str] = set()
        #: Another scheduler is at what is due.
        self.is_held = False

    @property
    def wakeups(self) -> Any:
        return self

    def announce(self, topics: Collection[str]) -> None:
        self.told |= set(topics)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def ask(*arguments: Any, **named: Any) -> Any:
            self.asked.append(name)
            if self.is_held and name == "judge_due":
                named["limit"] = 0
            return await getattr(self._store, name)(*arguments, **named)

        return ask


@pytest.fixture
def spy(store: Store) -> Spy:
    return Spy(store)


@pytest.fixture
def scheduler(spy: Spy) -> Firing:
    return scheduler_on(spy)


def scheduler_on(store: Any, *, dice: float = 0.5, batch: int = 500) -> Firing:
    return Firing(store, new_id=new_job_id, roll=lambda: dice, batch=batch)


async def settle(scheduler: Firing) -> float:
    """Step until it wants to rest; return for how long."""
    for _ in range(100):
        rest = await scheduler.step()
        if rest:
            return rest
    raise AssertionError("it never rests")


async def made(desk: FrontDesk, name: str = "s", when: str = "0 * * * *", **policies: Any) -> bytes:
    wanted = draft(name, when, policies=policies)
    return (await desk.schedules.create(wanted, actor=ADA)).id


async def jobs(store: Store) -> list[JobView]:
    page = await store.list_jobs(JobFilter(), limit=500, before=None)
    return sorted(page.items, key=lambda job: job.due_at)


async def test_idle_it_asks_one_question_and_rests(spy: Spy, scheduler: Firing) -> None:
    assert await scheduler.step() == POLL_SECONDS
    assert spy.asked == ["next_look_ms"]


async def test_it_rests_until_the_next_look_but_never_longer_than_it_polls(
    spy: Spy, scheduler: Firing, desk: FrontDesk, clock: SettableClock, store: Store
) -> None:
    clock.set(NOON)
    await made(desk)
    assert await settle(scheduler) == POLL_SECONDS
    look_ms = await store.next_look_ms(zones=999_999)
    assert look_ms is not None
    clock.advance(timedelta(milliseconds=look_ms - 300))
    assert await settle(scheduler) == pytest.approx(0.3)


async def test_what_is_near_is_a_job_before_it_is_due(
    scheduler: Firing, desk: FrontDesk, store: Store, clock: SettableClock
) -> None:
    clock.set(NOON + timedelta(minutes=1))
    await made(desk, overlap="allow")
    await settle(scheduler)
    assert await jobs(store) == []
    clock.set(NOON + timedelta(hours=1, seconds=-HORIZON_SECONDS // 2))
    await settle(scheduler)
    (job,) = await jobs(store)
    assert (job.state, job.due_at) == (JobState.SCHEDULED, NOON + timedelta(hours=1))


async def test_workers_hear_of_it(
    spy: Spy, scheduler: Firing, desk: FrontDesk, clock: SettableClock
) -> None:
    clock.set(NOON)
    await made(desk, when="*/5 * * * *", overlap="allow")
    clock.advance(timedelta(minutes=20))
    await settle(scheduler)
    assert "queue:reports" in spy.told


async def test_a_batch_is_bounded_and_the_next_follows_at_once(
    spy: Spy, desk: FrontDesk, clock: SettableClock, store: Store
) -> None:
    clock.set(NOON - timedelta(hours=2))
    for number in range(7):
        await made(desk, f"s{number}")
    clock.set(NOON)
    scheduler = scheduler_on(spy, batch=3)
    assert [await scheduler.step() for _ in range(2)] == [0.0, 0.0]
    assert len(await jobs(store)) == 6
    await settle(scheduler)
    assert len(await jobs(store)) == 7


async def test_a_job_that_ends_lets_the_next_one_begin(
    scheduler: Firing, desk: FrontDesk, store: Store, clock: SettableClock
) -> None:
    clock.set(NOON - timedelta(minutes=1))
    await made(desk, when="* * * * *")
    await settle(scheduler)
    clock.set(NOON)
    await settle(scheduler)
    worker = await open_worker(store, lease_ms=3_600_000)
    first = await claim_one(store, worker, lanes=lanes({"reports": 1}), kinds=("report",))
    clock.set(NOON + timedelta(minutes=1))
    await settle(scheduler)
    assert len(await jobs(store)) == 1, "the second fire waits"
    await accept(store, first, SUCCEEDED)
    clock.advance(1)
    await settle(scheduler)
    due = [job.nominal_at for job in await jobs(store) if not job.finished_at]
    assert due == [NOON + timedelta(minutes=1)]


async def test_backfills_are_released(
    spy: Spy, scheduler: Firing, desk: FrontDesk, store: Store, clock: SettableClock
) -> None:
    clock.set(NOON - timedelta(hours=5))
    schedule = await made(desk, misfire="skip", overlap="allow")
    clock.set(NOON + timedelta(minutes=30))
    await settle(scheduler)
    view = await store.get_schedule(schedule)
    assert view is not None
    wanted = BackfillAsk(from_at=NOON - timedelta(hours=4), until_at=NOON, concurrency=2)
    told = await desk.schedules.backfill(view.schedule_id, wanted, actor=ADA)
    assert told.fires > 2
    await settle(scheduler)
    rows = await store.list_fires(schedule, outcomes=frozenset({Outcome.BACKFILLED}), limit=99)
    assert len([row for row in rows if row.job_id is not None]) == 2
    assert "queue:reports" in spy.told


async def test_who_comes_too_late_looks_later_each_time_and_never_spins(
    spy: Spy, scheduler: Firing, desk: FrontDesk, clock: SettableClock
) -> None:
    clock.set(NOON - timedelta(hours=2))
    await made(desk)
    clock.set(NOON)
    spy.is_held = True
    rests = [await scheduler.step() for _ in range(8)]
    assert rests == [0.05, 0.1, 0.2, 0.4, 0.8, 0.8, 0.8, 0.8]
    assert scheduler.deaf_seconds == 0.8
    # Whatever the dice say: a fire that an eager one left behind is found within two seconds.
    assert firing._LATE_SECONDS[1] * 1.25 < POLL_SECONDS


async def test_who_finds_what_others_left_is_eager_again(
    spy: Spy, scheduler: Firing, desk: FrontDesk, clock: SettableClock, store: Store
) -> None:
    clock.set(NOON - timedelta(hours=2))
    await made(desk, when="* * * * *", overlap="allow")
    clock.set(NOON)
    spy.is_held = True
    for _ in range(8):
        await scheduler.step()
    assert await store.next_look_ms(zones=999_999) == 0
    spy.is_held = False
    assert await scheduler.step() == 0.0
    assert scheduler.deaf_seconds == 0.05


async def test_the_late_ones_look_after_the_instant_at_which_the_eager_one_does(
    spy: Spy, scheduler: Firing, desk: FrontDesk, clock: SettableClock, store: Store
) -> None:
    clock.set(NOON - timedelta(hours=2))
    schedule = await made(desk)
    clock.set(NOON)
    spy.is_held = True
    await scheduler.step()
    spy.is_held = False
    await settle(scheduler_on(store))
    view = await store.get_schedule(schedule)
    assert view is not None
    assert view.look_at is not None
    clock.set(view.look_at - timedelta(seconds=1))
    assert await scheduler.step() == pytest.approx(1.05)


async def test_one_that_cannot_be_judged_hinders_no_other(
    desk: FrontDesk,
    store: Store,
    clock: SettableClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock.set(NOON - timedelta(hours=2))
    broken, well = await made(desk, "broken"), await made(desk, "well")
    real = judge.advance

    def advance(standing: Standing, *arguments: Any) -> Any:
        if standing.id == broken:
            raise ZeroDivisionError("a bug")
        return real(standing, *arguments)

    monkeypatch.setattr(firing, "advance", advance)
    clock.set(NOON)
    with caplog.at_level(logging.ERROR):
        await settle(scheduler_on(store))
    assert [job.schedule_id for job in await jobs(store)] == [well]
    assert "the schedule broken (sch_" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    # When it can be judged again, nothing was lost.
    monkeypatch.setattr(firing, "advance", real)
    clock.advance(timedelta(minutes=1))
    await settle(scheduler_on(store))
    assert {job.schedule_id for job in await jobs(store)} == {broken, well}
