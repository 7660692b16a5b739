"""Schedules are changed by people: ``ScheduleStore.judge_named``."""

import asyncio
from typing import Any

import pytest

from mainspring.agenda import changes
from mainspring.agenda.judge import resume
from mainspring.agenda.standing import Change, Pause, Ruling, Standing
from mainspring.domain.errors import NotFound, WouldOverlap
from mainspring.domain.schedule import MANUAL, SPAN, Cause, Outcome, ScheduleState
from mainspring.domain.states import JobState
from mainspring.ports.entropy import new_job_id
from mainspring.ports.schedules import CalendarChange, Judge, Judged
from mainspring.ports.store import Store
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.schedules_steps import (
    Watching,
    agrees,
    at,
    change,
    creating,
    fire,
    fire_at,
    firing,
    jobless,
    jobs_of,
    ledger,
    look,
    make_schedule,
    ruling,
    schedule_of,
    seconds,
    spec,
)
from mainspring.testing.conformance.steps import (
    FAILED_FOR_GOOD,
    SUCCEEDED,
    Suite,
    accept,
    claim_one,
    counts,
    open_worker,
)

_FIVE = spec("*/5 * * * *", overlap="allow")


def editing(text: bytes, **given: Any) -> Judge:
    """Return a judge that gives a schedule a new spec."""
    fields: dict[str, Any] = {"calendars": None, "zones": 202_607, "what": "edited", **given}
    wanted = Change(from_at=0, spec=text, **fields)
    return lambda standing: changes.edit(standing, new_job_id, wanted)


def pausing(standing: Standing) -> Ruling:
    """Pause for good."""
    return changes.pause(standing, new_job_id, Pause("repair", "ada"))


class JudgeNamedSuite(Suite):
    """What people change."""

    async def test_an_edit_replaces_what_is_not_due(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(store, creating, spec=_FIVE)
        clock.advance(240)
        before = await schedule_of(store, schedule)
        assert await counts(store) == {JobState.READY: 1, JobState.SCHEDULED: 2}
        text = spec("*/7 * * * *", overlap="allow")
        judged = await store.judge_named([schedule], editing(text), actor="ada")
        found = await schedule_of(store, schedule)
        assert (found.version, found.spec, found.zones) == (2, text, 202_607)
        assert (found.updated_by, found.updated_at) == ("ada", clock.now())
        assert (found.created_at, found.name) == (before.created_at, "hourly")
        rows = await ledger(store, schedule)
        assert [(f"{each.nominal_at:%H:%M}", each.version) for each in rows] == [
            ("09:30", 1),
            ("09:35", 2),
            ("09:42", 2),
        ]
        assert judged.job_ids == tuple(each.job_id for each in rows[1:])
        first, second = await store.list_versions(schedule)
        assert (first.version, first.spec) == (1, _FIVE)
        assert (second.version, second.spec, second.zones) == (2, text, 202_607)
        assert (second.change, second.changed_by) == ("edited", "ada")
        assert (second.changed_at, second.from_at) == (clock.now(), seconds(clock.now()))
        await agrees(store, schedule)

    async def test_a_change_may_name_an_owner_and_calendars(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(store, creating, spec=_FIVE, owner="app:a")
        await change(store, schedule, editing(_FIVE, calendars=b"[]"))
        found = await schedule_of(store, schedule)
        assert (found.owner, found.calendars) == ("app:a", b"[]")
        await change(store, schedule, editing(_FIVE, owner="app:b", what="adopted"))
        found = await schedule_of(store, schedule)
        assert (found.owner, found.calendars, found.version) == ("app:b", None, 3)
        assert [each.calendars for each in await store.list_versions(schedule)] == [
            None,
            b"[]",
            None,
        ]

    async def test_pause_and_resume(self, store: Store, clock: SettableClock) -> None:
        schedule = await make_schedule(store, creating, spec=_FIVE)
        await change(store, schedule, pausing)
        assert await counts(store) == {}
        clock.advance(3_600)
        assert (await look(store)).schedules == 0
        found = await schedule_of(store, schedule)
        assert (found.state, found.paused_by) == (ScheduleState.PAUSED, "ada")
        assert (found.paused_reason, found.paused_until) == ("repair", None)
        await change(store, schedule, ruling(state=ScheduleState.PAUSED))
        assert (await schedule_of(store, schedule)).paused_by == "ada"
        await change(store, schedule, lambda standing: resume(standing, new_job_id))
        found = await schedule_of(store, schedule)
        assert (found.state, found.paused_at) == (ScheduleState.ACTIVE, None)
        rows = await ledger(store, schedule)
        assert rows[0].outcome is Outcome.SKIPPED_PAUSED
        assert (rows[0].through, rows[0].count) == (at(seconds(clock.now()) // 300 * 300), 12)
        await agrees(store, schedule)

    async def test_a_fire_by_hand(self, store: Store, clock: SettableClock) -> None:
        schedule = await make_schedule(store, creating)

        def by_hand(standing: Standing) -> Ruling:
            return changes.fire_now(standing, new_job_id)

        judged = await store.judge_named([schedule], by_hand, actor="me")
        (manual,) = [each for each in await ledger(store, schedule) if each.sequence == MANUAL]
        assert judged.job_ids == (manual.job_id,)
        assert judged.queues == frozenset({"default"})
        # To the millisecond.
        moment = clock.now().replace(microsecond=clock.now().microsecond // 1_000 * 1_000)
        assert (manual.nominal_at, manual.cause) == (moment, Cause.MANUAL)
        with pytest.raises(WouldOverlap):
            await change(store, schedule, by_hand)
        await agrees(store, schedule)
        await accept(store, await claim_one(store, await open_worker(store)), SUCCEEDED)
        clock.advance(0.002)
        assert (await change(store, schedule, by_hand)).jobs == 1
        await agrees(store, schedule)

    async def test_all_or_none(self, store: Store, clock: SettableClock) -> None:
        made = [
            await make_schedule(store, creating, spec=_FIVE, name=f"s{number}")
            for number in range(3)
        ]
        before = [(await schedule_of(store, each), await ledger(store, each)) for each in made]
        watching = Watching(pausing)
        with pytest.raises(NotFound):
            await store.judge_named([*made, new_job_id()], watching, actor="me")

        def fails_at_last(standing: Standing) -> Ruling:
            if standing.id == made[-1]:
                raise WouldOverlap("no")
            return pausing(standing)

        with pytest.raises(WouldOverlap):
            await store.judge_named(made, fails_at_last, actor="me")
        after = [(await schedule_of(store, each), await ledger(store, each)) for each in made]
        assert after == before
        judged = await store.judge_named([*made, made[0]], Watching(pausing), actor="me")
        assert judged.schedules == 3
        assert await counts(store) == {}

    async def test_nobody_named_nothing_judged(self, store: Store) -> None:
        watching = Watching()
        judged = await store.judge_named([], watching, actor="me")
        assert (judged, watching.seen) == (Judged(0, 0, frozenset(), frozenset()), [])

    async def test_the_ledger_is_handed_over_where_it_is_asked_for(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(
            store,
            firing(
                *(jobless(now - number * 10) for number in range(10)),
                jobless(now - 300, sequence=SPAN, through=now - 60),
                jobless(now - 300, sequence=-3, through=now - 61),
                fire(now - 40.25, sequence=MANUAL),
                fire(now + 10),
            ),
        )
        watching = Watching()
        await change(store, schedule, watching, rows=(now - 60, now - 41))
        found = [(each.nominal_at, each.sequence) for each in watching.one.rows]
        assert found == [
            (at(now - 300), SPAN),
            (at(now - 60), 0),
            (at(now - 50), 0),
            (at(now - 40.25), MANUAL),
        ]
        await change(store, schedule, watching, rows=(now, now + 60))
        assert [each.nominal_at for each in watching.seen[1].rows] == [at(now)]
        await change(store, schedule, watching)
        assert watching.seen[2].rows == ()

    async def test_two_at_once_come_one_after_the_other(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(store, creating, spec=_FIVE)
        texts = [spec(f"*/{every} * * * *", overlap="allow") for every in (2, 3, 4, 6)]
        await asyncio.gather(
            *(change(store, schedule, editing(text)) for text in texts),
            *(look(store) for _ in range(3)),
        )
        found = await schedule_of(store, schedule)
        assert found.version == 5
        versions = await store.list_versions(schedule)
        assert [each.version for each in versions] == [1, 2, 3, 4, 5]
        assert {each.version for each in await ledger(store, schedule)} == {5}
        await agrees(store, schedule)

    async def test_failures_in_a_row_are_counted_and_pause(
        self, store: Store, clock: SettableClock
    ) -> None:
        text = spec("* * * * *", pause_after_failures=2)
        schedule = await make_schedule(store, creating, spec=text, pause_after_failures=2)
        worker = await open_worker(store)
        watching = Watching(_looking_now)
        counted = []
        for outcome in (FAILED_FOR_GOOD, SUCCEEDED, FAILED_FOR_GOOD, FAILED_FOR_GOOD):
            clock.advance(60)
            await look(store)
            await accept(store, await claim_one(store, worker), outcome)
            await change(store, schedule, watching)
            counted.append(watching.seen[-1].failures)
        assert counted == [1, 0, 1, 2]
        clock.advance(60)
        await look(store)
        found = await schedule_of(store, schedule)
        assert (found.state, found.paused_by) == (ScheduleState.PAUSED, "scheduler")
        assert "2 failures" in (found.paused_reason or "")
        await change(store, schedule, lambda standing: resume(standing, new_job_id))
        await change(store, schedule, watching)
        assert watching.seen[-1].failures == 0

    async def test_a_cancelled_job_begins_the_count_anew(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(store, ruling(counts_anew=True), pause_after_failures=9)
        worker = await open_worker(store)
        watching = Watching()
        for _ in range(2):
            clock.advance(1)
            await change(store, schedule, firing(fire(seconds(clock.now()))))
            await accept(store, await claim_one(store, worker), FAILED_FOR_GOOD)
        clock.advance(1)
        await change(store, schedule, firing(fire(seconds(clock.now()))))
        await change(store, schedule, watching)
        assert watching.seen[-1].failures == 2
        waiting = [job for job in await jobs_of(store, schedule) if job.finished_at is None]
        await store.cancel([waiting[0].id], reason="", force=False, actor="me")
        await change(store, schedule, watching)
        assert watching.seen[-1].failures == 0

    async def test_an_edit_says_what_counts(self, store: Store, clock: SettableClock) -> None:
        schedule = await make_schedule(store, ruling(counts_anew=True), spec=spec("* * * * *"))
        clock.advance(1)
        await change(store, schedule, firing(fire(seconds(clock.now()))))
        await accept(store, await claim_one(store, await open_worker(store)), FAILED_FOR_GOOD)
        watching = Watching()
        await change(store, schedule, watching)
        await change(store, schedule, editing(spec("* * * * *", pause_after_failures=3)))
        await change(store, schedule, watching)
        assert [each.failures for each in watching.seen] == [0, 1]

    async def test_a_row_of_a_version_says_which(self, store: Store, clock: SettableClock) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(store)
        wanted = Change(from_at=now - 30, what="edited", spec=_FIVE, calendars=None, zones=1)
        fires = [fire(now - 31), fire(now - 30), fire(now - 29), jobless(now - 5)]
        await change(store, schedule, firing(*fires, change=wanted))
        assert [each.version for each in await ledger(store, schedule)] == [1, 1, 2, 2]
        await change(store, schedule, firing(fire(now)))
        assert (await fire_at(store, schedule, now)).version == 2


def _looking_now(standing: Standing) -> Ruling:
    return ruling(look_at_ms=standing.now_ms)(standing)


class CalendarSuite(Suite):
    """Calendars change together with the schedules that heed them."""

    async def test_written_with_the_schedules(self, store: Store, clock: SettableClock) -> None:
        schedule = await make_schedule(store)
        wanted = CalendarChange(tenant="default", name="holidays €", definition=b'{"a":1}')
        watching = Watching()
        await store.judge_named([schedule], watching, actor="ada", calendar=wanted)
        (found,) = await store.list_calendars("default")
        assert (found.tenant, found.name, found.version) == ("default", "holidays €", 1)
        assert (found.definition, found.updated_by) == (b'{"a":1}', "ada")
        assert found.updated_at == clock.now()
        assert len(watching.seen) == 1
        assert await store.list_calendars("other") == []

    async def test_none_without_the_schedules(self, store: Store) -> None:
        schedule = await make_schedule(store)
        wanted = CalendarChange(tenant="default", name="holidays", definition=b"{}")

        def refuses(_standing: Standing) -> Ruling:
            raise WouldOverlap("no")

        with pytest.raises(WouldOverlap):
            await store.judge_named([schedule], refuses, actor="me", calendar=wanted)
        with pytest.raises(NotFound):
            await store.judge_named([new_job_id()], ruling(), actor="me", calendar=wanted)
        assert await store.list_calendars("default") == []

    async def test_each_new_definition_is_a_version(
        self, store: Store, clock: SettableClock
    ) -> None:
        versions = []
        for text in (b"1", b"2", b"2", b"3"):
            clock.advance(1)
            wanted = CalendarChange(tenant="default", name="c", definition=text)
            await store.judge_named([], ruling(), actor="me", calendar=wanted)
            (found,) = await store.list_calendars("default")
            assert found.definition == text
            versions.append(found.version)
        assert versions == [1, 2, 2, 3]

    async def test_deleted_where_none_is_given(self, store: Store) -> None:
        for name in ("b", "a", "c"):
            wanted = CalendarChange(tenant="default", name=name, definition=b"{}")
            await store.judge_named([], ruling(), actor="me", calendar=wanted)
        assert [each.name for each in await store.list_calendars("default")] == ["a", "b", "c"]
        gone = CalendarChange(tenant="default", name="a", definition=None)
        for _ in range(2):
            await store.judge_named([], ruling(), actor="me", calendar=gone)
        other = CalendarChange(tenant="other", name="b", definition=None)
        await store.judge_named([], ruling(), actor="me", calendar=other)
        assert [each.name for each in await store.list_calendars("default")] == ["b", "c"]
