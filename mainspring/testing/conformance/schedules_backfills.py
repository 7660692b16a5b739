"""Fires of the past are taken up: backfills."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from mainspring.agenda.changes import backfilled_job
from mainspring.domain.errors import NotFound
from mainspring.domain.job import Claimed, NewJob
from mainspring.domain.outcome import Outcome as Ending
from mainspring.domain.schedule import SPAN, BackfillView, Cause, Outcome, ScheduleState
from mainspring.domain.states import JobState
from mainspring.ports.entropy import new_job_id
from mainspring.ports.schedules import Judged, NewBackfill, Release
from mainspring.ports.store import Store
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.schedules_steps import (
    MANY,
    ZONES,
    agrees,
    at,
    change,
    fire,
    fire_at,
    firing,
    jobless,
    jobs_of,
    ledger,
    make_schedule,
    outcomes,
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
    claim,
    claim_one,
    counts,
    open_worker,
)

#: Far more than these tests release in a minute.
_AT_ONCE = 60_000


def new_backfill(schedule_id: bytes, *nominal: int, **changes: Any) -> NewBackfill:
    """Return a backfill of regular fires."""
    given: dict[str, Any] = {
        "id": new_job_id(),
        "schedule_id": schedule_id,
        "from_at": min(nominal, default=0),
        "until_at": max(nominal, default=0),
        "order": "oldest",
        "concurrency": 2,
        "rate": _AT_ONCE,
        "fires": tuple((each, 0) for each in nominal),
    }
    return NewBackfill(**given | changes)


def make(release: Release) -> NewJob:
    """Make the job of a release as the scheduler does."""
    return backfilled_job(
        release.standing,
        new_job_id,
        nominal_at=release.nominal_at,
        sequence=release.sequence,
        due_ms=release.due_ms,
    )


async def let_go(
    store: Store, making: Callable[[Release], NewJob] = make, *, limit: int = MANY
) -> Judged:
    """Let backfills go on."""
    return await store.release_backfills(making, limit=limit)


async def progress_of(store: Store, backfill: NewBackfill) -> BackfillView:
    """Return how far a backfill is."""
    (found,) = [
        each for each in await store.list_backfills(backfill.schedule_id) if each.id == backfill.id
    ]
    return found


async def _due(store: Store) -> list[Claimed]:
    held = await claim(store, await open_worker(store))
    return sorted(held, key=lambda each: each.nominal_at or at(0))


class TakingUpSuite(Suite):
    """Which rows a backfill takes up."""

    async def test_rows_are_written_or_taken_up(self, store: Store, clock: SettableClock) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(
            store,
            firing(
                jobless(now - 400, sequence=SPAN, through=now - 200),
                jobless(now - 100, note="why €"),
                fire(now - 60),
            ),
        )
        await accept(store, await claim_one(store, await open_worker(store)), FAILED_FOR_GOOD)
        clock.advance(5)
        wanted = new_backfill(schedule, now - 300, now - 100, now - 60)
        assert await store.create_backfill(wanted, actor="ada") == 3
        span, fresh, skipped, dead = await ledger(store, schedule)
        assert span.outcome is Outcome.SKIPPED_MISFIRE
        for each in (fresh, skipped, dead):
            assert (each.outcome, each.cause) == (Outcome.BACKFILLED, Cause.BACKFILL)
            assert (each.backfill_id, each.job_id, each.job_state) == (wanted.id, None, None)
            assert each.decided_at == clock.now()
        assert Outcome.SKIPPED_MISFIRE in (skipped.note or "")
        assert Outcome.JOB in (dead.note or "")
        assert await progress_of(store, wanted) == BackfillView(
            id=wanted.id,
            schedule_id=schedule,
            from_at=at(now - 300),
            until_at=at(now - 60),
            order="oldest",
            concurrency=2,
            state="active",
            created_at=clock.now(),
            created_by="ada",
            fires=3,
            waiting=3,
        )

    async def test_the_living_and_those_of_others_are_left_alone(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(store, firing(fire(now), fire(now - 10)))
        first = new_backfill(schedule, now - 20)
        assert await store.create_backfill(first, actor="me") == 1
        held = (await _due(store))[0]
        before = await ledger(store, schedule)
        second = new_backfill(schedule, now, now - 10, now - 20, now - 30)
        assert await store.create_backfill(second, actor="me") == 1
        assert [each for each in await ledger(store, schedule) if each in before] == before
        await accept(store, held, SUCCEEDED)
        third = new_backfill(schedule, now - 10)
        assert await store.create_backfill(third, actor="me") == 1
        assert (await fire_at(store, schedule, now - 10)).backfill_id == third.id

    async def test_repeated_it_changes_nothing(self, store: Store, clock: SettableClock) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(store, firing(jobless(now - 60)))
        wanted = new_backfill(schedule, now - 60, now - 30)
        assert await store.create_backfill(wanted, actor="me") == 2
        await let_go(store, limit=1)
        before = await ledger(store, schedule)
        clock.advance(1)
        assert await store.create_backfill(wanted, actor="me") == 2
        assert await ledger(store, schedule) == before
        assert len(await store.list_backfills(schedule)) == 1

    async def test_an_unknown_schedule_is_refused(self, store: Store) -> None:
        with pytest.raises(NotFound):
            await store.create_backfill(new_backfill(new_job_id(), 60), actor="me")

    async def test_thousands_of_fires(self, store: Store, clock: SettableClock) -> None:
        now = seconds(clock.now()) // 60 * 60
        schedule = await make_schedule(store)
        nominal = [now - 60 * number for number in range(1, 2_001)]
        wanted = new_backfill(schedule, *nominal, concurrency=100)
        assert await store.create_backfill(wanted, actor="me") == 2_000
        assert (await let_go(store)).jobs == 100
        found = await progress_of(store, wanted)
        assert (found.fires, found.waiting, found.live) == (2_000, 1_900, 100)

    async def test_the_newest_backfill_is_listed_first(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(store)
        made = [new_backfill(schedule, 60 * number) for number in range(1, 4)]
        for each in made:
            clock.advance(1)
            await store.create_backfill(each, actor="me")
        found = await store.list_backfills(schedule)
        assert [each.id for each in found] == [each.id for each in made][::-1]


class ReleaseSuite(Suite):
    """Jobs come as earlier ones end."""

    async def test_as_many_as_may_live_and_no_more(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(store, spec=spec(queue="q", priority=1))
        nominal = [now - 60 * number for number in range(5, 0, -1)]
        wanted = new_backfill(schedule, *nominal)
        await store.create_backfill(wanted, actor="me")
        assert await store.next_look_ms(zones=ZONES) == 0
        judged = await let_go(store)
        assert (judged.schedules, judged.jobs, judged.queues) == (1, 2, frozenset({"q"}))
        for _ in range(3):
            assert (await let_go(store)).jobs == 0
        assert await store.next_look_ms(zones=ZONES) is None
        jobs = await jobs_of(store, schedule)
        assert [job.nominal_at for job in jobs] == [at(each) for each in nominal[:2]]
        assert [job.priority for job in jobs] == [2, 2]
        await agrees(store, schedule)
        await store.cancel([jobs[0].id], reason="", force=False, actor="me")
        assert await store.next_look_ms(zones=ZONES) == 0
        assert (await let_go(store)).jobs == 1
        found = await progress_of(store, wanted)
        assert (found.fires, found.waiting, found.live, found.succeeded) == (5, 2, 2, 0)
        await agrees(store, schedule)

    async def test_until_it_is_done(self, store: Store, clock: SettableClock) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(store)
        wanted = new_backfill(schedule, now - 30, now - 20, now - 10)
        await store.create_backfill(wanted, actor="me")
        endings: list[Ending] = [SUCCEEDED, FAILED_FOR_GOOD, SUCCEEDED]
        order = []
        while endings:
            await let_go(store)
            clock.advance(1)
            for held in await _due(store):
                order.append(held.nominal_at)
                await accept(store, held, endings.pop())
        assert order == [at(now - 30), at(now - 20), at(now - 10)]
        assert (await progress_of(store, wanted)).state == "active"
        assert await store.next_look_ms(zones=ZONES) == 0
        assert (await let_go(store)).jobs == 0
        found = await progress_of(store, wanted)
        assert (found.state, found.fires, found.succeeded) == ("done", 3, 2)
        assert (found.waiting, found.live) == (0, 0)
        assert await store.next_look_ms(zones=ZONES) is None
        assert (await let_go(store)).schedules == 0
        assert await store.cancel_backfill(wanted.id, actor="me") is False
        await agrees(store, schedule)

    async def test_the_newest_first_where_that_is_asked(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(store)
        nominal = [now - 30, now - 20, now - 10]
        fires = (*((each, 0) for each in nominal), (now - 10, 1))
        wanted = new_backfill(schedule, *nominal, order="newest", fires=fires)
        await store.create_backfill(wanted, actor="me")
        await let_go(store)
        found = [each for each in await ledger(store, schedule) if each.job_id is not None]
        assert [(seconds(each.nominal_at), each.sequence) for each in found] == list(fires[2:])

    async def test_no_faster_than_its_rate(self, store: Store, clock: SettableClock) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(store)
        nominal = [now - 60 * number for number in range(4, 0, -1)]
        wanted = new_backfill(schedule, *nominal, rate=6, concurrency=3)
        await store.create_backfill(wanted, actor="me")
        judged = await let_go(store)
        jobs = await jobs_of(store, schedule)
        begins = jobs[0].due_at
        assert timedelta(0) <= clock.now() - begins < timedelta(milliseconds=1)
        assert [job.due_at - begins for job in jobs] == [
            timedelta(seconds=10 * number) for number in range(3)
        ]
        assert judged.queues == frozenset({"default"})
        await store.cancel([jobs[0].id], reason="", force=False, actor="me")
        clock.advance(1)
        assert (await let_go(store)).queues == frozenset()
        last = (await jobs_of(store, schedule))[-1]
        assert last.due_at - begins == timedelta(seconds=30)
        assert (await fire_at(store, schedule, nominal[-1])).due_at == last.due_at

    async def test_the_limit_is_one_for_all_and_older_ones_go_first(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        made = []
        for name in ("a", "b"):
            schedule = await make_schedule(store, name=name)
            made.append(new_backfill(schedule, now - 30, now - 20, now - 10, concurrency=9))
            clock.advance(1)
        for each in made[::-1]:
            clock.advance(1)
            await store.create_backfill(each, actor="me")
        assert (await let_go(store, limit=4)).jobs == 4
        live = [(await progress_of(store, each)).live for each in made]
        assert sorted(live) == [1, 3]
        assert (await let_go(store, limit=4)).jobs == 2

    async def test_what_is_asked_for_is_told_in_full(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(store, firing(fire(now, alone=True)))
        await store.create_backfill(
            new_backfill(schedule, now - 9, fires=((now - 9, 1),)), actor="me"
        )
        seen: list[Release] = []

        def watch(asked: Release) -> NewJob:
            seen.append(asked)
            return make(asked)

        await let_go(store, watch)
        (asked,) = seen
        now_ms = now * 1_000 + clock.now().microsecond // 1_000
        assert (asked.nominal_at, asked.sequence, asked.due_ms) == (now - 9, 1, now_ms)
        assert (asked.standing.id, asked.standing.now_ms) == (schedule, now_ms)
        assert asked.standing.spec == (await schedule_of(store, schedule)).spec
        # It lives beside the exclusive one.
        assert await counts(store) == {JobState.READY: 2}
        held = [each for each in await _due(store) if each.nominal_at == at(now - 9)]
        told = (await store.fires_of(held))[held[0].job_id]
        assert (told.cause, told.sequence) == (Cause.BACKFILL, 1)

    async def test_a_success_counts_as_one(self, store: Store, clock: SettableClock) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(store)
        wanted = new_backfill(schedule, now - 60)
        await store.create_backfill(wanted, actor="me")
        await let_go(store)
        await accept(store, (await _due(store))[0], SUCCEEDED)
        found = await fire_at(store, schedule, now - 60)
        assert (found.outcome, found.job_state) == (Outcome.BACKFILLED, JobState.SUCCEEDED)
        await change(store, schedule, firing(fire(now)))
        held = await claim_one(store, await open_worker(store))
        told = (await store.fires_of([held]))[held.job_id]
        assert told.previous_success_at == at(now - 60)

    async def test_a_maker_that_fails_releases_nothing(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(store)
        await store.create_backfill(new_backfill(schedule, now - 60), actor="me")
        before = await ledger(store, schedule)

        def refuse(_asked: Release) -> NewJob:
            raise NotFound("no")

        with pytest.raises(NotFound):
            await let_go(store, refuse)
        assert await ledger(store, schedule) == before
        assert (await let_go(store)).jobs == 1

    async def test_waiting_rows_are_never_forgotten(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(store)
        await store.create_backfill(new_backfill(schedule, now - 60, now - 30), actor="me")
        clock.advance(timedelta(days=3))
        assert await store.forget_fires(clock.now(), limit=9) == 0
        await change(store, schedule, ruling())
        assert (await let_go(store)).jobs == 2
        assert await store.forget_fires(clock.now(), limit=9) == 0


class CancelBackfillSuite(Suite):
    """A backfill ends before its end."""

    async def test_what_waits_is_what_it_was(self, store: Store, clock: SettableClock) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(
            store, firing(fire(now - 60), jobless(now - 50, note="why"), jobless(now - 40))
        )
        await accept(store, await claim_one(store, await open_worker(store)), FAILED_FOR_GOOD)
        before = await ledger(store, schedule)
        nominal = (now - 70, now - 60, now - 50, now - 40, now - 30)
        wanted = new_backfill(schedule, *nominal, concurrency=1)
        clock.advance(1)
        assert await store.create_backfill(wanted, actor="me") == 5
        await let_go(store)
        (held,) = await _due(store)
        assert await store.cancel_backfill(wanted.id, actor="me") is True
        assert await store.cancel_backfill(wanted.id, actor="me") is False
        first, *rest = await ledger(store, schedule)
        assert rest == before
        assert (first.nominal_at, first.job_id) == (at(now - 70), held.job_id)
        assert (await let_go(store)).jobs == 0
        assert await store.next_look_ms(zones=ZONES) is None
        found = await progress_of(store, wanted)
        assert (found.state, found.fires, found.waiting, found.live) == ("cancelled", 5, 0, 1)
        await accept(store, held, SUCCEEDED)
        found = await progress_of(store, wanted)
        assert (found.state, found.live, found.succeeded) == ("cancelled", 0, 1)

    async def test_one_of_a_removed_schedule_is_cancelled(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(store, firing(jobless(now - 60)))
        before = await outcomes(store, schedule)
        wanted = new_backfill(schedule, now - 60, now - 30)
        await store.create_backfill(wanted, actor="me")
        await change(store, schedule, ruling(state=ScheduleState.DELETED))
        assert await store.next_look_ms(zones=ZONES) == 0
        assert (await let_go(store)).jobs == 0
        found = await progress_of(store, wanted)
        assert (found.state, found.waiting) == ("cancelled", 0)
        assert await outcomes(store, schedule) == before
        assert await store.next_look_ms(zones=ZONES) is None

    async def test_a_paused_schedule_is_backfilled_all_the_same(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(store, ruling(state=ScheduleState.PAUSED))
        await store.create_backfill(new_backfill(schedule, now - 60), actor="me")
        assert (await let_go(store)).jobs == 1

    async def test_an_unknown_one_is_none(self, store: Store) -> None:
        assert await store.cancel_backfill(new_job_id(), actor="me") is False
