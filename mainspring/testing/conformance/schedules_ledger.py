"""The ledger after the fires: how their jobs ended, and who asks for it."""

from datetime import timedelta

import pytest

from mainspring.agenda.standing import Ruling, Standing
from mainspring.domain.job import Claimed
from mainspring.domain.limits import LEDGER_DAYS
from mainspring.domain.outcome import Cancelled, Lost, Released, Snoozed
from mainspring.domain.outcome import Outcome as Ending
from mainspring.domain.schedule import (
    MANUAL,
    SPAN,
    Cause,
    FireOf,
    Missed,
    Outcome,
)
from mainspring.domain.states import JobState
from mainspring.ports.store import Store
from mainspring.testing.builders import settlement
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.schedules_named import editing
from mainspring.testing.conformance.schedules_steps import (
    MANY,
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
    seconds,
    spec,
)
from mainspring.testing.conformance.steps import (
    FAILED,
    FAILED_FOR_GOOD,
    SUCCEEDED,
    Suite,
    absent,
    accept,
    claim,
    claim_one,
    open_worker,
    start,
    view,
)

_DAY = timedelta(days=1)


async def _fired(store: Store, clock: SettableClock) -> tuple[bytes, Claimed]:
    """Return a schedule with one fire, whose job is held."""
    schedule = await make_schedule(store, firing(fire(seconds(clock.now()), alone=True)))
    return schedule, await claim_one(store, await open_worker(store))


class ClosingSuite(Suite):
    """Whatever ends a job closes its row."""

    @pytest.mark.parametrize(
        ("outcome", "state"),
        [
            (SUCCEEDED, JobState.SUCCEEDED),
            (FAILED_FOR_GOOD, JobState.DEAD),
            (Cancelled(), JobState.CANCELLED),
        ],
    )
    async def test_a_verdict_closes_the_row(
        self, store: Store, clock: SettableClock, outcome: Ending, state: JobState
    ) -> None:
        schedule, held = await _fired(store, clock)
        (before,) = await ledger(store, schedule)
        assert absent(before.job_state, before.job_ended_at)
        clock.advance(7)
        await accept(store, held, outcome)
        (found,) = await ledger(store, schedule)
        assert (found.job_state, found.job_ended_at) == (state, clock.now())
        assert (found.outcome, found.job_id) == (Outcome.JOB, held.job_id)
        assert found.decided_at == before.decided_at
        clock.advance(1)
        assert (await store.settle([settlement(held)]))[0].accepted is False
        assert (await ledger(store, schedule)) == [found]

    async def test_what_goes_on_leaves_it_open(self, store: Store, clock: SettableClock) -> None:
        schedule, held = await _fired(store, clock)
        for outcome in (FAILED, Snoozed(0), Released(), Lost("gone")):
            await accept(store, held, outcome, delay_ms=0)
            (found,) = await ledger(store, schedule)
            assert absent(found.job_state, found.job_ended_at)
            held = await claim_one(store, await open_worker(store))
        await store.cancel([held.job_id], reason="", force=False, actor="me")
        (found,) = await ledger(store, schedule)
        assert found.job_state is None
        await accept(store, held, FAILED)
        (found,) = await ledger(store, schedule)
        assert found.job_state is JobState.CANCELLED

    @pytest.mark.parametrize("held", [False, True])
    async def test_a_cancel_closes_the_row(
        self, store: Store, clock: SettableClock, *, held: bool
    ) -> None:
        schedule = await make_schedule(store, firing(fire(seconds(clock.now()))))
        (job,) = await jobs_of(store, schedule)
        if held:
            await claim_one(store, await open_worker(store))
        clock.advance(3)
        await store.cancel([job.id], reason="", force=held, actor="me")
        (found,) = await ledger(store, schedule)
        assert (found.job_state, found.job_ended_at) == (JobState.CANCELLED, clock.now())

    async def test_many_end_in_one_call(self, store: Store, clock: SettableClock) -> None:
        now = seconds(clock.now())
        first = await make_schedule(store, firing(fire(now), fire(now - 1)), name="a")
        second = await make_schedule(store, firing(fire(now), fire(now, sequence=1)), name="b")
        held = await claim(store, await open_worker(store))
        assert len(held) == 4
        clock.advance(1)
        await store.settle([settlement(each) for each in held])
        for schedule in (first, second):
            rows = await ledger(store, schedule)
            assert {each.job_state for each in rows} == {JobState.SUCCEEDED}
            await agrees(store, schedule)

    async def test_rows_that_point_to_it_are_not_its_row(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        make = fire(now)

        def pointed_to(standing: Standing) -> Ruling:
            made = make(standing)
            told = {"outcome": Outcome.COALESCED, "job_id": made.row.job_id}
            points = jobless(now, sequence=1, **told)(standing)
            span = jobless(now - 60, sequence=SPAN, through=now - 1, **told)(standing)
            return firing(lambda _: made, lambda _: points, lambda _: span)(standing)

        schedule = await make_schedule(store, pointed_to)
        await accept(store, await claim_one(store, await open_worker(store)), SUCCEEDED)
        rows = await ledger(store, schedule)
        assert [each.job_state for each in rows] == [None, JobState.SUCCEEDED, None]

    async def test_a_replay_opens_it_until_it_ends_again(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule, held = await _fired(store, clock)
        await accept(store, held, FAILED_FOR_GOOD)
        clock.advance(60)
        await store.replay([held.job_id], payload=None, actor="me")
        (found,) = await ledger(store, schedule)
        assert absent(found.job_state, found.job_ended_at)
        again = await claim_one(store, await open_worker(store))
        assert (again.schedule_id, again.nominal_at) == (schedule, held.nominal_at)
        await accept(store, again, SUCCEEDED)
        (found,) = await ledger(store, schedule)
        assert (found.job_state, found.job_ended_at) == (JobState.SUCCEEDED, clock.now())

    async def test_a_purge_leaves_the_row(self, store: Store, clock: SettableClock) -> None:
        schedule, held = await _fired(store, clock)
        await accept(store, held, FAILED_FOR_GOOD)
        before = await ledger(store, schedule)
        await store.purge([held.job_id], actor="me")
        assert await ledger(store, schedule) == before


class FiresOfSuite(Suite):
    """What handlers may know of their fires."""

    async def test_a_job_knows_its_fire(self, store: Store, clock: SettableClock) -> None:
        now = seconds(clock.now())
        missed = Missed(2, now - 20, now - 10)
        schedule = await make_schedule(
            store,
            firing(
                fire(
                    now - 1,
                    due_at=at(now),
                    cause=Cause.DST_GAP,
                    sequence=2,
                    local="02:30",
                    missed=missed,
                )
            ),
            spec=spec(zone="Europe/Berlin"),
            name="berlin €",
        )
        held = await claim_one(store, await open_worker(store))
        assert await store.fires_of([held]) == {
            held.job_id: FireOf(
                schedule_id=schedule,
                schedule="berlin €",
                nominal_at=at(now - 1),
                due_at=at(now),
                zone="Europe/Berlin",
                cause=Cause.DST_GAP,
                sequence=2,
                local="02:30",
                missed=missed,
            )
        }

    async def test_jobs_without_a_fire_are_left_out(
        self, store: Store, clock: SettableClock
    ) -> None:
        plain = await start(store)
        assert await store.fires_of([plain]) == {}
        assert await store.fires_of([]) == {}
        _, held = await _fired(store, clock)
        assert set(await store.fires_of([plain, held])) == {held.job_id}

    async def test_the_zone_is_that_of_the_version_that_fired(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(
            store, firing(fire(now)), spec=spec("0 0 1 1 *", zone="Asia/Tokyo")
        )
        first = await claim_one(store, await open_worker(store))
        await change(store, schedule, editing(spec("0 0 1 1 *", zone="Europe/Paris")))
        clock.advance(10)
        await change(store, schedule, firing(fire(now + 10)))
        second = await claim_one(store, await open_worker(store))
        found = await store.fires_of([first, second])
        assert found[first.job_id].zone == "Asia/Tokyo"
        assert found[second.job_id].zone == "Europe/Paris"

    async def test_the_previous_success_outlives_its_job(
        self, store: Store, clock: SettableClock
    ) -> None:
        await store.prepare_partitions(2)
        schedule = await make_schedule(store)
        other = await make_schedule(store, name="other")
        worker = await open_worker(store)
        succeeded: list[int] = []
        for outcome in (FAILED_FOR_GOOD, SUCCEEDED, SUCCEEDED, FAILED_FOR_GOOD):
            clock.advance(1)
            now = seconds(clock.now())
            await change(store, schedule, firing(fire(now)))
            held = await claim_one(store, worker)
            found = (await store.fires_of([held]))[held.job_id]
            assert found.previous_success_at == (at(succeeded[-1]) if succeeded else None)
            await accept(store, held, outcome)
            if outcome is SUCCEEDED:
                succeeded.append(now)
        clock.advance(timedelta(days=20))
        keep = {JobState.SUCCEEDED: 1, JobState.DEAD: 1}
        while (await store.apply_retention(keep, limit=MANY)).dropped:
            pass
        now = seconds(clock.now())
        for each in (schedule, other):
            await change(store, each, firing(fire(now)))
        told = (await store.fires_of(await claim(store, worker))).values()
        assert {each.schedule_id: each.previous_success_at for each in told} == {
            schedule: at(succeeded[-1]),
            other: None,
        }

    async def test_a_success_that_points_elsewhere_is_none_of_its_own(
        self, store: Store, clock: SettableClock
    ) -> None:
        # Of a later instant, and of the same: neither lies before.
        now = seconds(clock.now())
        await make_schedule(store, firing(fire(now), fire(now - 5), fire(now, sequence=1)))
        worker = await open_worker(store)
        early, first, second = sorted(
            await claim(store, worker), key=lambda each: (each.nominal_at or at(0), each.job_id)
        )
        await accept(store, first, SUCCEEDED)
        found = await store.fires_of([early, second])
        assert found[early.job_id].previous_success_at is None
        assert found[second.job_id].previous_success_at is None


class ForgettingSuite(Suite):
    """The ledger is kept for long, not for ever."""

    async def test_what_was_decided_before_goes_in_steps(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(store, firing(*(jobless(now - each) for each in range(5))))
        clock.advance(_DAY * LEDGER_DAYS)
        later = seconds(clock.now())
        # Of long ago, but decided today.
        span = jobless(now - 900, sequence=SPAN, through=now - 800)
        await change(store, schedule, firing(jobless(later), span))
        before = clock.now() - _DAY * LEDGER_DAYS
        assert await store.forget_fires(before, limit=9) == 0
        before += timedelta(microseconds=1)
        assert [await store.forget_fires(before, limit=2) for _ in range(4)] == [2, 2, 1, 0]
        assert [seconds(each.nominal_at) for each in await ledger(store, schedule)] == [
            now - 900,
            later,
        ]

    async def test_the_newest_success_and_the_living_stay(
        self, store: Store, clock: SettableClock
    ) -> None:
        made = []
        worker = await open_worker(store)
        for name in ("a", "b"):
            now = seconds(clock.now())
            fires = [fire(now - each) for each in range(5)]
            made.append(await make_schedule(store, firing(*fires), name=name))
            held = {each.nominal_at: each for each in await claim(store, worker)}
            # The newest has failed, the two before have succeeded, one runs, one waits again.
            await accept(store, held[at(now)], FAILED_FOR_GOOD)
            await accept(store, held[at(now - 1)], SUCCEEDED)
            await accept(store, held[at(now - 2)], SUCCEEDED)
            await accept(store, held[at(now - 4)], FAILED, delay_ms=2_000_000_000)
        clock.advance(_DAY * 2)
        assert await store.forget_fires(clock.now(), limit=99) == 4
        for schedule in made:
            rows = await ledger(store, schedule)
            assert [each.job_state for each in rows] == [None, None, JobState.SUCCEEDED]
        assert await store.forget_fires(clock.now(), limit=99) == 0

    async def test_a_forgotten_fire_leaves_its_job(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule, held = await _fired(store, clock)
        await accept(store, held, FAILED_FOR_GOOD)
        clock.advance(_DAY)
        assert await store.forget_fires(clock.now(), limit=9) == 1
        assert (await view(store, held.job_id)).schedule_id == schedule
        await store.replay([held.job_id], payload=None, actor="me")
        again = await claim_one(store, await open_worker(store))
        assert await store.fires_of([again]) == {}
        await accept(store, again, SUCCEEDED)
        assert await ledger(store, schedule) == []

    async def test_manual_fires_are_fires(self, store: Store, clock: SettableClock) -> None:
        now = seconds(clock.now())
        manual = fire(now + 0.25, sequence=MANUAL, cause=Cause.MANUAL, due_at=at(now))
        schedule = await make_schedule(store, firing(manual))
        held = await claim_one(store, await open_worker(store))
        await accept(store, held, SUCCEEDED)
        assert (await fire_at(store, schedule, now + 0.25)).job_state is JobState.SUCCEEDED
        clock.advance(_DAY)
        assert await store.forget_fires(clock.now(), limit=9) == 0
