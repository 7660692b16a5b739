"""Schedules come to be and are judged when due: ``create_schedule``, ``judge_due``."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from mainspring.agenda.standing import Cursor, Pause, Ruling, Standing
from mainspring.domain.errors import MainspringError, ScheduleExists
from mainspring.domain.schedule import ScheduleState
from mainspring.domain.states import JobState
from mainspring.ports.schedules import TELL_AHEAD_MS, Judged, ScheduleFilter
from mainspring.ports.store import Store
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.schedules_steps import (
    MANY,
    ZONES,
    Watching,
    advancing,
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
    new_schedule,
    ruling,
    schedule_of,
    seconds,
    spec,
)
from mainspring.testing.conformance.steps import (
    Suite,
    counts,
)

_MILLISECOND = timedelta(milliseconds=1)
_HOUR = 3_600


def refusing(_standing: Standing) -> Ruling:
    """Be a judge that cannot judge."""
    raise ScheduleExists("no")


class CreateScheduleSuite(Suite):
    """Schedules come to be."""

    async def test_it_is_kept_as_it_was_given(self, store: Store, clock: SettableClock) -> None:
        text = spec(zone="Europe/Berlin", effect_key="€-{{week}}")
        new = new_schedule(spec=text, calendars=b"[]", owner="app:shop", name="a €", tenant="t")
        judged = await store.create_schedule(new, ruling(), actor="ada")
        assert judged == Judged(1, 0, frozenset(), frozenset())
        found = await schedule_of(store, new.id)
        assert (found.id, found.tenant, found.name) == (new.id, "t", "a €")
        assert (found.spec, found.calendars, found.zones) == (text, b"[]", ZONES)
        assert (found.owner, found.updated_by, found.version) == ("app:shop", "ada", 1)
        assert found.created_at == found.updated_at == clock.now()
        assert (found.state, found.waiting, found.look_at) == (ScheduleState.ACTIVE, False, None)
        assert (found.paused_at, found.paused_by, found.paused_until) == (None, None, None)

    async def test_its_first_judge_sees_it_begin_now(
        self, store: Store, clock: SettableClock
    ) -> None:
        watching = Watching()
        new = new_schedule(calendars=b"[]")
        await store.create_schedule(new, watching, actor="me")
        now = seconds(clock.now())
        assert watching.one == Standing(
            id=new.id,
            tenant="default",
            name="hourly",
            state=ScheduleState.ACTIVE,
            version=1,
            spec=new.spec,
            cursor=Cursor(now),
            zones=ZONES,
            now_ms=now * 1_000 + clock.now().microsecond // 1_000,
            calendars=b"[]",
        )

    async def test_the_near_future_is_prepared_at_once(
        self, store: Store, clock: SettableClock
    ) -> None:
        new = new_schedule(spec=spec("*/5 * * * *", overlap="allow", queue="q", priority=1))
        judged = await store.create_schedule(new, creating, actor="me")
        jobs = await jobs_of(store, new.id)
        assert [f"{job.nominal_at:%H:%M:%S}" for job in jobs] == [
            "09:30:00",
            "09:35:00",
            "09:40:00",
        ]
        assert (judged.schedules, judged.jobs, judged.queues) == (1, 3, frozenset())
        assert judged.job_ids == tuple(job.id for job in jobs)
        for job in jobs:
            assert (job.state, job.queue, job.priority) == (JobState.SCHEDULED, "q", 1)
            assert job.due_at == job.nominal_at
        assert (await schedule_of(store, new.id)).look_at is not None
        await agrees(store, new.id)

    async def test_version_one_is_from_its_beginning(
        self, store: Store, clock: SettableClock
    ) -> None:
        new = new_schedule(calendars=b"[]")
        await store.create_schedule(new, creating, actor="ada")
        (found,) = await store.list_versions(new.id)
        assert (found.schedule_id, found.version, found.from_at) == (
            new.id,
            1,
            seconds(clock.now()),
        )
        assert (found.spec, found.calendars, found.zones) == (new.spec, b"[]", ZONES)
        assert (found.changed_at, found.changed_by) == (clock.now(), "ada")

    async def test_a_name_is_taken_once_in_a_tenant(self, store: Store) -> None:
        first = await make_schedule(store)
        watching = Watching(creating)
        with pytest.raises(ScheduleExists) as refused:
            await store.create_schedule(new_schedule(), watching, actor="me")
        assert "hourly" in str(refused.value)
        assert watching.seen == []
        await make_schedule(store, tenant="other")
        await make_schedule(store, name="Hourly")
        found = await store.find_schedule("default", "hourly")
        assert found is not None
        assert found.id == first
        assert await counts(store) == {}

    async def test_a_removed_one_frees_its_name(self, store: Store) -> None:
        first = await make_schedule(store)
        await change(store, first, ruling(state=ScheduleState.DELETED))
        assert await store.find_schedule("default", "hourly") is None
        second = await make_schedule(store)
        found = await store.find_schedule("default", "hourly")
        assert found is not None
        assert found.id == second
        assert (await schedule_of(store, first)).state is ScheduleState.DELETED

    async def test_repeated_with_its_id_it_changes_nothing(
        self, store: Store, clock: SettableClock
    ) -> None:
        new = new_schedule(spec=spec("*/5 * * * *", overlap="allow"))
        await store.create_schedule(new, creating, actor="me")
        before = await schedule_of(store, new.id)
        clock.advance(60)
        watching = Watching(creating)
        judged = await store.create_schedule(new, watching, actor="you")
        assert (judged.schedules, judged.jobs, watching.seen) == (0, 0, [])
        assert await schedule_of(store, new.id) == before
        await change(store, new.id, ruling(state=ScheduleState.DELETED))
        assert (await store.create_schedule(new, creating, actor="me")).schedules == 0
        assert (await schedule_of(store, new.id)).state is ScheduleState.DELETED

    async def test_what_its_judge_refuses_never_was(self, store: Store) -> None:
        new = new_schedule()
        with pytest.raises(MainspringError):
            await store.create_schedule(new, refusing, actor="me")
        assert await store.get_schedule(new.id) is None
        assert await store.list_versions(new.id) == []
        assert (await store.create_schedule(new, creating, actor="me")).schedules == 1

    async def test_of_many_at_once_one_gets_the_name(self, store: Store) -> None:
        many = [new_schedule() for _ in range(8)]
        answers = await asyncio.gather(
            *(store.create_schedule(new, creating, actor="me") for new in many),
            return_exceptions=True,
        )
        assert sum(isinstance(each, Judged) for each in answers) == 1
        assert sum(isinstance(each, ScheduleExists) for each in answers) == 7
        assert len(await store.list_schedules(ScheduleFilter(), limit=MANY)) == 1


class JudgeDueSuite(Suite):
    """Which schedules a scheduler judges."""

    async def test_a_look_comes_at_its_millisecond(
        self, store: Store, clock: SettableClock
    ) -> None:
        clock.set(at(seconds(clock.now())))
        schedule = await make_schedule(store, looking_at(clock.now() + timedelta(seconds=1)))
        clock.advance(timedelta(seconds=1) - timedelta(microseconds=1))
        assert await look(store) == Judged(0, 0, frozenset(), frozenset())
        clock.advance(timedelta(microseconds=1))
        watching = Watching()
        assert (await look(store, watching)).schedules == 1
        assert watching.one.id == schedule
        assert (await schedule_of(store, schedule)).look_at is None
        assert (await look(store)).schedules == 0

    async def test_the_earliest_first_and_no_more_than_asked(
        self, store: Store, clock: SettableClock
    ) -> None:
        made = {}
        for number in range(12):
            look_at = clock.now() + _MILLISECOND * (number * 5 % 12)
            made[number * 5 % 12] = await make_schedule(
                store, looking_at(look_at), name=f"s{number}"
            )
        clock.advance(1)
        watching = Watching()
        for want in (1, 4, 3, 0, 20):
            judged = await look(store, watching, limit=want)
            assert judged.schedules == min(want, 12 - len(watching.seen) + judged.schedules)
        assert [each.id for each in watching.seen] == [made[number] for number in range(12)]

    async def test_what_rests_is_not_judged(self, store: Store, clock: SettableClock) -> None:
        for state in (ScheduleState.PAUSED, ScheduleState.EXHAUSTED, ScheduleState.DELETED):
            await make_schedule(store, ruling(state=state), name=state.value)
        await make_schedule(store, name="never")
        clock.advance(timedelta(days=1_000))
        watching = Watching()
        assert (await look(store, watching)).schedules == 0
        assert watching.seen == []
        assert await store.next_look_ms(zones=ZONES) is None

    async def test_workers_are_told_of_what_falls_due_before_they_look_by_themselves(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        soon, later = now + TELL_AHEAD_MS // 2_000, now + TELL_AHEAD_MS
        for name, nominal_at in (("soon", soon), ("later", later)):
            await make_schedule(store, looking_at(clock.now()), name=name)
            judged = await look(store, firing(fire(nominal_at, queue=name), look_at_ms=None))
            assert judged.queues == (frozenset({"soon"}) if name == "soon" else frozenset())

    async def test_a_pause_that_is_over_is_judged(self, store: Store, clock: SettableClock) -> None:
        until_ms = seconds(clock.now()) * 1_000 + 60_000
        pause = Pause("repair €", "ada", until_ms)
        paused = ruling(state=ScheduleState.PAUSED, pause=pause, look_at_ms=until_ms)
        schedule = await make_schedule(store, paused)
        found = await schedule_of(store, schedule)
        assert (found.paused_at, found.paused_by) == (clock.now(), "ada")
        assert (found.paused_reason, found.paused_until) == ("repair €", at(until_ms / 1_000))
        clock.advance(30)
        assert (await look(store)).schedules == 0
        clock.advance(30)
        watching = Watching(advancing)
        await look(store, watching)
        assert watching.one.state is ScheduleState.PAUSED
        assert watching.one.paused_until_ms == until_ms
        found = await schedule_of(store, schedule)
        assert (found.state, found.paused_at, found.paused_by) == (ScheduleState.ACTIVE, None, None)
        assert (found.paused_reason, found.paused_until) == (None, None)

    async def test_newer_zone_data_is_left_to_newer_schedulers(
        self, store: Store, clock: SettableClock
    ) -> None:
        made = {
            zones: await make_schedule(
                store, looking_at(clock.now()), name=f"z{zones}", zones=zones
            )
            for zones in (ZONES - 1, ZONES, ZONES + 1)
        }
        clock.advance(1)
        watching = Watching()
        await look(store, watching)
        assert {each.id for each in watching.seen} == {made[ZONES - 1], made[ZONES]}
        assert await store.next_look_ms(zones=ZONES) is None
        assert await store.next_look_ms(zones=ZONES + 1) == 0
        assert (await store.judge_due(watching, zones=ZONES + 1, limit=9)).schedules == 1
        assert watching.seen[-1].id == made[ZONES + 1]

    async def test_two_schedulers_never_judge_the_same_at_once(
        self, store: Store, clock: SettableClock
    ) -> None:
        made = {
            await make_schedule(store, looking_at(clock.now()), name=f"s{number}")
            for number in range(60)
        }
        clock.advance(1)
        watching = Watching()
        while True:
            found = await asyncio.gather(*(look(store, watching, limit=20) for _ in range(5)))
            if not sum(each.schedules for each in found):
                break
        assert sorted(each.id for each in watching.seen) == sorted(made)

    async def test_a_judge_that_fails_leaves_all_as_it_was(
        self, store: Store, clock: SettableClock
    ) -> None:
        first = await make_schedule(store, looking_at(clock.now()), name="a")
        second = await make_schedule(store, looking_at(clock.now() + _MILLISECOND), name="b")
        clock.advance(1)
        before = [await schedule_of(store, each) for each in (first, second)]
        now = seconds(clock.now())

        def fails_at_the_second(standing: Standing) -> Ruling:
            if standing.id == second:
                raise ScheduleExists("no")
            return firing(fire(now))(standing)

        with pytest.raises(ScheduleExists):
            await look(store, fails_at_the_second)
        assert [await schedule_of(store, each) for each in (first, second)] == before
        assert await counts(store) == {}
        assert (await look(store)).schedules == 2

    async def test_judged_anew_nothing_comes_twice(
        self, store: Store, clock: SettableClock
    ) -> None:
        # Whoever repeats what was carried out already judges from where the first one began.
        begins = Cursor(seconds(clock.now()))
        minutely = {"spec": spec("* * * * *", overlap="allow", misfire="fire_all")}
        schedule = await make_schedule(store, creating, **minutely)
        clock.advance(600)

        def again(standing: Standing) -> Ruling:
            return advancing(replace(standing, cursor=begins))

        assert (await look(store, again)).jobs > 0
        before = await ledger(store, schedule)
        assert (await change(store, schedule, Watching())).jobs == 0
        due = [each for each in before if each.due_at <= clock.now()]
        assert len(due) >= 10
        await change(store, schedule, again)
        assert [each for each in await ledger(store, schedule) if each in due] == due
        await agrees(store, schedule)
