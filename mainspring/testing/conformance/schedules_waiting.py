"""Fires that wait, and how long a scheduler may rest."""

import asyncio
from datetime import timedelta

import pytest

from mainspring.domain.job import JobFilter
from mainspring.domain.schedule import Outcome, ScheduleState
from mainspring.ports.store import Store
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.schedules_steps import (
    MANY,
    ZONES,
    Watching,
    agrees,
    at,
    change,
    creating,
    fire,
    firing,
    jobs_of,
    ledger,
    look,
    looking_at,
    make_schedule,
    ruling,
    seconds,
    spec,
)
from mainspring.testing.conformance.steps import (
    FAILED,
    FAILED_FOR_GOOD,
    SUCCEEDED,
    Suite,
    accept,
    claim,
    claim_one,
    open_worker,
)

_MILLISECOND = timedelta(milliseconds=1)
_HOUR = 3_600


class WaitingSuite(Suite):
    """A fire waits for the end of its schedule's live job."""

    async def _waits(self, store: Store, clock: SettableClock, name: str = "a") -> bytes:
        now = seconds(clock.now())
        return await make_schedule(
            store, firing(fire(now, alone=True), waiting=True, look_at_ms=None), name=name
        )

    async def test_it_is_judged_when_the_job_has_ended(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await self._waits(store, clock)
        worker = await open_worker(store)
        watching = Watching()
        assert (await look(store, watching)).schedules == 0
        assert await store.next_look_ms(zones=ZONES) is None
        held = await claim_one(store, worker)
        clock.advance(10)
        assert (await look(store, watching)).schedules == 0
        await accept(store, held, FAILED, delay_ms=0)
        assert (await look(store, watching)).schedules == 0
        held = await claim_one(store, worker)
        clock.advance(10)
        await accept(store, held, SUCCEEDED)
        freed_ms = seconds(clock.now()) * 1_000 + clock.now().microsecond // 1_000
        clock.advance(10)
        assert await store.next_look_ms(zones=ZONES) == 0
        assert (await look(store, watching)).schedules == 1
        assert watching.one.id == schedule
        assert (watching.one.live, watching.one.freed_ms) == (None, freed_ms)
        assert watching.one.waiting

    @pytest.mark.parametrize("way", ["dead", "cancel", "force", "cancelling"])
    async def test_every_end_is_the_end_of_waiting(
        self, store: Store, clock: SettableClock, way: str
    ) -> None:
        schedule = await self._waits(store, clock)
        (job,) = await jobs_of(store, schedule)
        if way == "cancel":
            await store.cancel([job.id], reason="", force=False, actor="me")
        else:
            held = await claim_one(store, await open_worker(store))
            if way in ("force", "cancelling"):
                await store.cancel([job.id], reason="", force=way == "force", actor="me")
            if way == "cancelling":
                assert (await look(store)).schedules == 0
            if way in ("dead", "cancelling"):
                await accept(store, held, FAILED_FOR_GOOD if way == "dead" else FAILED)
        assert await store.next_look_ms(zones=ZONES) == 0
        watching = Watching()
        assert (await look(store, watching)).schedules == 1
        assert watching.one.id == schedule

    async def test_other_jobs_of_the_schedule_do_not_count(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(
            store, firing(fire(seconds(clock.now())), waiting=True), name="a"
        )
        watching = Watching()
        assert (await look(store, watching)).schedules == 1
        assert watching.one.id == schedule
        assert watching.one.freed_ms is None

    async def test_those_that_waited_come_first(self, store: Store, clock: SettableClock) -> None:
        early = await make_schedule(store, looking_at(clock.now()), name="early")
        freed = await make_schedule(store, ruling(waiting=True), name="freed")
        clock.advance(1)
        watching = Watching()
        await look(store, watching, limit=1)
        await look(store, watching, limit=9)
        assert [each.id for each in watching.seen][:1] == [freed]
        assert early in [each.id for each in watching.seen]

    async def test_a_pause_ends_the_waiting(self, store: Store, clock: SettableClock) -> None:
        schedule = await self._waits(store, clock)
        await change(store, schedule, ruling(state=ScheduleState.PAUSED))
        await accept(store, await claim_one(store, await open_worker(store)), SUCCEEDED)
        assert (await look(store)).schedules == 0
        assert await store.next_look_ms(zones=ZONES) is None

    async def test_a_replayed_job_is_not_waited_for(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await self._waits(store, clock)
        worker = await open_worker(store)
        dead = await claim_one(store, worker)
        await accept(store, dead, FAILED_FOR_GOOD)
        assert await store.replay([dead.job_id], payload=None, actor="me") == [dead.job_id]
        now = seconds(clock.now())
        watching = Watching(firing(fire(now - 1, alone=True)))
        judged = await look(store, watching)
        assert (judged.schedules, judged.jobs) == (1, 1)
        assert watching.one.live is None
        # Both are live, and only one of them is the schedule's exclusive job.
        assert len(await claim(store, worker)) == 2
        await change(store, schedule, watching)
        assert watching.seen[-1].live is not None
        await agrees(store, schedule)

    async def test_a_deferred_fire_comes_after_its_hindrance(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(store, creating, spec=spec("* * * * *"))
        clock.set(at(seconds(clock.now()) // 60 * 60 + 60))
        worker = await open_worker(store)
        first = await claim_one(store, worker)
        for _ in range(3):
            clock.advance(60)
            await look(store)
            assert await claim(store, worker) == []
        await accept(store, first, SUCCEEDED)
        clock.advance(1)
        judged = await look(store)
        assert judged.jobs == 1
        second = await claim_one(store, worker)
        assert second.nominal_at == at(seconds(clock.now()) - 1)
        await agrees(store, schedule)
        kinds = [each.outcome for each in await ledger(store, schedule)]
        assert kinds.count(Outcome.JOB) == 2
        assert Outcome.COALESCED in kinds


class NextLookSuite(Suite):
    """How long a scheduler may rest."""

    async def test_until_the_earliest_look_rounded_up(
        self, store: Store, clock: SettableClock
    ) -> None:
        clock.set(at(seconds(clock.now())))
        assert await store.next_look_ms(zones=ZONES) is None
        await make_schedule(store, looking_at(clock.now() + timedelta(hours=1)), name="later")
        assert await store.next_look_ms(zones=ZONES) == 3_600_000
        await make_schedule(store, looking_at(clock.now() + timedelta(seconds=2)), name="sooner")
        clock.advance(timedelta(microseconds=1))
        assert await store.next_look_ms(zones=ZONES) == 2_000
        clock.advance(5)
        assert await store.next_look_ms(zones=ZONES) == 0
        await look(store, ruling())
        assert await store.next_look_ms(zones=ZONES) == 3_600_000 - 5_000

    async def test_a_schedule_keeps_its_beat(self, store: Store, clock: SettableClock) -> None:
        schedule = await make_schedule(
            store, creating, spec=spec("@every 1s", anchor="2027-01-01T00:00:00", overlap="allow")
        )
        begins = seconds(clock.now())
        for _ in range(200):
            rest = await store.next_look_ms(zones=ZONES)
            assert rest is not None
            clock.advance(timedelta(milliseconds=rest))
            await look(store)
            if seconds(clock.now()) > begins + 300:
                break
        until = seconds(clock.now())
        nominal = [seconds(each.nominal_at) for each in await ledger(store, schedule)]
        assert nominal[: until - begins] == list(range(begins + 1, until + 1))
        await agrees(store, schedule)

    async def test_days_of_many_schedulers_leave_neither_gap_nor_double(
        self, store: Store, clock: SettableClock
    ) -> None:
        made = {
            every: await make_schedule(
                store, creating, name=f"s{every}", spec=spec(f"*/{every} * * * *", overlap="allow")
            )
            for every in (15, 20, 30)
        }
        begins = seconds(clock.now())
        for hours in (1, 0.2, 7, 0.01, 3, 20):
            clock.advance(hours * _HOUR)
            await asyncio.gather(*(look(store) for _ in range(4)))
        now = seconds(clock.now())
        for every, schedule in made.items():
            step = every * 60
            wanted = set(range(begins // step * step + step, now + 1, step))
            found: set[int] = set()
            for each in await ledger(store, schedule):
                first = seconds(each.nominal_at)
                last = first if each.through is None else seconds(each.through)
                covered = set(range(first, last + 1, step))
                assert not covered & found
                found |= covered
            assert wanted <= found
            await agrees(store, schedule)
        page = await store.list_jobs(JobFilter(), limit=MANY, before=None)
        assert len(page.items) < MANY
