"""What was prepared gives way to a change: taking back in ``judge_named``."""

from collections.abc import Callable

import pytest

from mainspring.agenda.standing import NewFire, Ruling, Standing
from mainspring.domain.schedule import SPAN, Cause, Outcome, Withdrawn
from mainspring.domain.states import JobState
from mainspring.ports.store import Store
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.schedules_steps import (
    Watching,
    agrees,
    at,
    change,
    creating,
    fire,
    firing,
    jobless,
    jobs_of,
    ledger,
    look,
    make_schedule,
    outcomes,
    ruling,
    seconds,
    spec,
)
from mainspring.testing.conformance.steps import (
    FAILED,
    FAILED_FOR_GOOD,
    Suite,
    accept,
    claim,
    counts,
    open_worker,
    submit_one,
)

_FIVE = spec("*/5 * * * *", overlap="allow")


class TakingBackSuite(Suite):
    """What was prepared gives way to a change."""

    async def test_prepared_fires_go_with_their_jobs(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(store, creating, spec=_FIVE)
        prepared = await jobs_of(store, schedule)
        rows = await ledger(store, schedule)
        assert len(prepared) == len(rows) == 3
        watching = Watching()
        assert (await change(store, schedule, watching)).schedules == 1
        assert watching.one.withdrawn == tuple(
            Withdrawn(seconds(each.nominal_at), 0, Outcome.JOB, had_job=True) for each in rows
        )
        assert await ledger(store, schedule) == []
        assert await counts(store) == {}
        for job in prepared:
            assert await store.get_job(job.id) is None

    @pytest.mark.parametrize("cause", list(Cause))
    async def test_only_what_the_timetable_prepared(
        self, store: Store, clock: SettableClock, cause: Cause
    ) -> None:
        now = seconds(clock.now())
        schedule = await make_schedule(store, firing(fire(now + 60, cause=cause)))
        await change(store, schedule, ruling())
        goes = cause in (Cause.SCHEDULE, Cause.DST_GAP)
        assert await counts(store) == ({} if goes else {JobState.SCHEDULED: 1})
        await agrees(store, schedule)

    async def test_what_is_due_or_begun_or_ended_stays(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        ahead = {number: fire(now + number) for number in (10, 20, 30, 40, 50, 60)}
        schedule = await make_schedule(store, firing(fire(now), *ahead.values()))
        due, early, dead, cancelled, retried, replayed, prepared = [
            job.id for job in await jobs_of(store, schedule)
        ]
        worker = await open_worker(store)
        for job_id, outcome in ((dead, FAILED_FOR_GOOD), (retried, FAILED)):
            await store.run_now([job_id], actor="me")
            held = {each.job_id: each for each in await claim(store, worker)}
            later = {"delay_ms": 900_000} if outcome is FAILED else {}
            await accept(store, held[job_id], outcome, **later)
            for other, each in held.items():
                if other != job_id:
                    await accept(store, each, FAILED, delay_ms=0)
        await store.run_now([early, replayed], actor="me")
        await store.cancel([cancelled], reason="", force=False, actor="me")
        watching = Watching()
        await change(store, schedule, watching)
        assert watching.one.withdrawn == (Withdrawn(now + 60, 0, Outcome.JOB, had_job=True),)
        kept = [job.id for job in await jobs_of(store, schedule)]
        assert sorted(kept) == sorted([due, early, dead, cancelled, retried, replayed])
        assert await store.get_job(prepared) is None
        await agrees(store, schedule)

    async def test_rows_without_a_job_that_lie_ahead_go_too(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        kept = [jobless(now - 60), jobless(now, outcome=Outcome.SKIPPED_OVERLAP)]
        ahead = [
            jobless(now + 1, outcome=Outcome.SKIPPED_ON_REQUEST),
            jobless(now + 60, outcome=Outcome.DST_SKIPPED, sequence=1),
            jobless(now + 60, sequence=-3, through=now + 90, count=None),
        ]
        schedule = await make_schedule(store, firing(*kept, *ahead))
        watching = Watching()
        await change(store, schedule, watching)
        assert watching.one.withdrawn == (
            Withdrawn(now + 1, 0, Outcome.SKIPPED_ON_REQUEST, had_job=False),
            Withdrawn(now + 60, -3, Outcome.SKIPPED_MISFIRE, had_job=False),
            Withdrawn(now + 60, 1, Outcome.DST_SKIPPED, had_job=False),
        )
        assert set(await outcomes(store, schedule)) == {now - 60, now}

    async def test_a_span_that_reaches_beyond_now_ends_at_now(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        told = {"sequence": -3, "outcome": Outcome.EXCLUDED_BY_CALENDAR, "count": 9}
        spans = [
            jobless(now - 100, through=now, **told),
            jobless(now - 90, through=now + 9, **told),
        ]
        schedule = await make_schedule(store, firing(*spans))
        watching = Watching()
        await change(store, schedule, watching)
        assert watching.one.withdrawn == ()
        whole, cut = await ledger(store, schedule)
        assert (whole.through, whole.count) == (at(now), 9)
        assert (cut.through, cut.count) == (at(now), None)

    async def test_rows_that_point_to_what_is_taken_back_go_with_it(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        prepared = fire(now + 60)

        def with_those_that_point_to_it(standing: Standing) -> Ruling:
            made = prepared(standing)
            told = {"outcome": Outcome.COALESCED, "job_id": made.row.job_id}
            points = [
                jobless(now + 60, sequence=1, **told)(standing),
                jobless(now - 60, sequence=SPAN, through=now - 30, **told)(standing),
            ]
            return firing(lambda _: made, *(_as_it_is(each) for each in points))(standing)

        schedule = await make_schedule(store, with_those_that_point_to_it)
        watching = Watching()
        await change(store, schedule, watching)
        assert watching.one.withdrawn == (
            Withdrawn(now - 60, SPAN, Outcome.COALESCED, had_job=False),
            Withdrawn(now + 60, 0, Outcome.JOB, had_job=True),
            Withdrawn(now + 60, 1, Outcome.COALESCED, had_job=False),
        )
        assert await ledger(store, schedule) == []

    async def test_a_fire_whose_delay_is_not_over_is_taken_back_with_all_after_it(
        self, store: Store, clock: SettableClock
    ) -> None:
        # Jitter: its instant has passed, and it is not due yet.
        now = seconds(clock.now())
        told = {"sequence": -3, "outcome": Outcome.EXCLUDED_BY_CALENDAR}
        schedule = await make_schedule(
            store,
            firing(
                jobless(now - 90, through=now + 5, **told),
                fire(now - 20, due_at=at(now + 30)),
                jobless(now - 10, through=now + 5, **told),
            ),
        )
        watching = Watching()
        await change(store, schedule, watching)
        assert watching.one.withdrawn == (
            Withdrawn(now - 20, 0, Outcome.JOB, had_job=True),
            Withdrawn(now - 10, -3, Outcome.EXCLUDED_BY_CALENDAR, had_job=False),
        )
        (cut,) = await ledger(store, schedule)
        assert (cut.nominal_at, cut.through) == (at(now - 90), at(now - 21))

    async def test_others_keep_what_they_have(self, store: Store, clock: SettableClock) -> None:
        first = await make_schedule(store, creating, spec=_FIVE, name="a")
        other = await make_schedule(store, creating, spec=_FIVE, name="b")
        before = await ledger(store, other)
        plain = await submit_one(store, delay_ms=60_000)
        await change(store, first, ruling())
        assert await ledger(store, other) == before
        assert await store.get_job(plain) is not None
        await agrees(store, other)

    async def test_what_a_scheduler_judges_it_does_not_take_back(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(store, creating, spec=_FIVE)
        before = await ledger(store, schedule)
        clock.advance(2)
        await look(store)
        assert (await ledger(store, schedule))[:3] == before


def _as_it_is(made: NewFire) -> Callable[[Standing], NewFire]:
    return lambda _standing: made
