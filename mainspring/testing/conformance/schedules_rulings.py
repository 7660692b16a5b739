"""What a store does with the ruling of a judge."""

from datetime import timedelta

from mainspring.agenda.standing import Cursor, Live, Ruling, Standing
from mainspring.domain.schedule import Cause, Missed, Outcome, ScheduleState
from mainspring.domain.states import JobState
from mainspring.ports.schedules import TELL_AHEAD_MS, Judged
from mainspring.ports.store import Store
from mainspring.testing.builders import new_job
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.schedules_steps import (
    Watching,
    agrees,
    at,
    change,
    fire,
    fire_at,
    firing,
    jobless,
    jobs_of,
    ledger,
    look,
    looking_at,
    make_schedule,
    outcomes,
    rule,
    ruling,
    schedule_of,
    seconds,
)
from mainspring.testing.conformance.steps import (
    FAILED,
    SUCCEEDED,
    Suite,
    accept,
    claim,
    claim_one,
    counts,
    open_worker,
    state_of,
    submit_one,
    view,
)

_MILLISECOND = timedelta(milliseconds=1)
_HOUR = 3_600


class RulingSuite(Suite):
    """What a ruling does."""

    async def test_what_it_says_is_what_the_next_judge_sees(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(store)
        cursor = Cursor(through=7, partial=2, fired=3, skip_next=4, released_ms=5)
        await change(store, schedule, ruling(cursor=cursor, waiting=True))
        assert (await schedule_of(store, schedule)).waiting
        watching = Watching()
        await change(store, schedule, watching)
        assert (watching.one.cursor, watching.one.waiting) == (cursor, True)
        for state in ScheduleState:
            await change(store, schedule, ruling(state=state))
            assert (await schedule_of(store, schedule)).state is state

    async def test_a_fire_is_a_row_and_a_job(self, store: Store, clock: SettableClock) -> None:
        schedule = await make_schedule(store)
        now = seconds(clock.now())
        details = {"local": "02:30 €", "missed": Missed(3, now - 50, now - 10, is_least=True)}
        given = {"queue": "q", "priority": 3, "effect_key": "key", "payload": b'{"n":1}'}
        judged = await change(
            store, schedule, firing(fire(now, cause=Cause.CATCH_UP, **given, **details))
        )
        (job,) = await jobs_of(store, schedule)
        assert judged == Judged(1, 1, frozenset({"q"}), frozenset(), (job.id,))
        assert (job.state, job.queue, job.priority) == (JobState.READY, "q", 3)
        assert (job.effect_key, job.payload, job.due_at) == ("key", b'{"n":1}', at(now))
        assert (job.schedule_id, job.nominal_at) == (schedule, at(now))
        found = await fire_at(store, schedule, now)
        assert (found.schedule_id, found.sequence, found.version) == (schedule, 0, 1)
        assert (found.outcome, found.cause) == (Outcome.JOB, Cause.CATCH_UP)
        assert (found.due_at, found.decided_at, found.job_id) == (at(now), clock.now(), job.id)
        assert (found.local, found.missed) == (details["local"], details["missed"])
        assert (found.through, found.count, found.job_state, found.note) == (None, 1, None, None)

    async def test_a_claim_knows_the_fire(self, store: Store, clock: SettableClock) -> None:
        schedule = await make_schedule(store)
        now = seconds(clock.now())
        await change(store, schedule, firing(fire(now)))
        plain = await submit_one(store)
        claimed = {job.job_id: job for job in await claim(store, await open_worker(store))}
        assert claimed.pop(plain).schedule_id is None
        (job,) = claimed.values()
        assert (job.schedule_id, job.nominal_at) == (schedule, at(now))
        await accept(store, job, SUCCEEDED)
        found = await view(store, job.job_id)
        assert (found.schedule_id, found.nominal_at) == (schedule, at(now))
        assert (await view(store, plain)).nominal_at is None

    async def test_only_jobs_that_are_due_soon_are_worth_a_wake_up(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(store)
        now = seconds(clock.now())
        later = now + TELL_AHEAD_MS // 1_000 + 1
        fires = [fire(now - 1, queue="a"), fire(later, queue="b"), fire(now + 1, queue="c")]
        judged = await change(store, schedule, firing(*fires))
        assert (judged.jobs, judged.queues) == (3, frozenset({"a", "c"}))

    async def test_a_span_is_kept_as_it_was_told(self, store: Store, clock: SettableClock) -> None:
        schedule = await make_schedule(store)
        now = seconds(clock.now())
        told = {"sequence": -1, "through": now - 10, "count": None, "note": "a note €"}
        await change(
            store,
            schedule,
            firing(jobless(now - 90, **told), jobless(now - 90, sequence=-3, through=now - 20)),
        )
        left_out, span = await ledger(store, schedule)
        assert (span.sequence, span.count, span.note) == (-1, None, "a note €")
        assert (span.through, span.nominal_at) == (at(now - 10), at(now - 90))
        assert (left_out.sequence, left_out.through, left_out.count) == (-3, at(now - 20), 1)
        assert span.is_span

    async def test_a_job_comes_if_and_only_if_its_row_is_new(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(store)
        now = seconds(clock.now())
        await change(store, schedule, firing(fire(now), jobless(now - 60)))
        before = await ledger(store, schedule)
        fires = [fire(now), fire(now - 60), fire(now, sequence=1), fire(now - 30)]
        judged = await change(store, schedule, firing(*fires))
        assert judged.jobs == 2
        assert len(judged.job_ids) == 2
        after = await ledger(store, schedule)
        assert [each for each in after if each in before] == before
        assert len(after) == 4
        await agrees(store, schedule)

    async def test_the_same_instant_of_two_schedules_is_two_fires(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = seconds(clock.now())
        made = [
            await make_schedule(store, looking_at(clock.now()), name=f"s{number}")
            for number in range(3)
        ]
        clock.advance(1)
        judged = await look(store, firing(fire(now, sequence=0), fire(now, sequence=1)))
        assert (judged.schedules, judged.jobs) == (3, 6)
        for schedule in made:
            await agrees(store, schedule)

    async def test_an_exclusive_job_is_seen_while_it_is_live(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(store)
        now = seconds(clock.now())
        await change(store, schedule, firing(fire(now, alone=True), fire(now - 1)))
        (other, job) = await jobs_of(store, schedule)
        watching = Watching()
        await change(store, schedule, watching)
        assert watching.seen[-1].live == Live(job.id, JobState.READY, now * 1_000)
        worker = await open_worker(store)
        held = {each.job_id: each for each in await claim(store, worker)}
        await change(store, schedule, watching)
        assert watching.seen[-1].live == Live(job.id, JobState.RUNNING, now * 1_000)
        await accept(store, held[other.id], SUCCEEDED)
        await accept(store, held[job.id], FAILED, delay_ms=5_000)
        await change(store, schedule, watching)
        live = watching.seen[-1].live
        assert live is not None
        assert (live.id, live.state) == (job.id, JobState.RETRYING)
        clock.advance(5)
        await accept(store, await claim_one(store, worker), SUCCEEDED)
        await change(store, schedule, watching)
        assert watching.seen[-1].live is None

    async def test_two_exclusive_jobs_never_live_together(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(store, looking_at(clock.now()), name="a")
        other = await make_schedule(store, looking_at(clock.now()), name="b")
        now = seconds(clock.now())
        twice = firing(fire(now - 2, alone=True), fire(now - 1, alone=True), fire(now))
        judged = await look(store, twice)
        # Nothing else of the call suffers.
        assert (judged.schedules, judged.jobs) == (2, 4)
        for each in (schedule, other):
            assert await outcomes(store, each) == {
                now - 2: Outcome.JOB,
                now - 1: Outcome.SKIPPED_OVERLAP,
                now: Outcome.JOB,
            }
            await agrees(store, each)
        made = fire(now + 1, alone=True)

        def with_one_that_points_to_it(standing: Standing) -> Ruling:
            third = made(standing)
            told = {"outcome": Outcome.COALESCED, "job_id": third.row.job_id}
            points = jobless(now - 9, sequence=-1, through=now - 5, **told)
            return rule(standing, fires=(third, points(standing)))

        await change(store, schedule, with_one_that_points_to_it)
        found = await fire_at(store, schedule, now + 1)
        assert (found.outcome, found.job_id) == (Outcome.SKIPPED_OVERLAP, None)
        pointing = await fire_at(store, schedule, now - 9)
        assert (pointing.outcome, pointing.job_id) == (Outcome.SKIPPED_OVERLAP, None)
        await agrees(store, schedule)

    async def test_what_is_cancelled_makes_room_at_once_by_force_only(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(store)
        now = seconds(clock.now())
        await change(store, schedule, firing(fire(now - 3, alone=True)))
        worker = await open_worker(store)
        first = await claim_one(store, worker)
        asked = await change(
            store, schedule, firing(fire(now - 2, alone=True), cancel=(first.job_id,))
        )
        assert (asked.jobs, asked.workers) == (0, frozenset({worker}))
        assert await state_of(store, first.job_id) is JobState.CANCELLING
        forced = await change(
            store,
            schedule,
            firing(fire(now - 1, alone=True), cancel=(first.job_id,), cancel_by_force=True),
        )
        assert forced.jobs == 1
        assert await state_of(store, first.job_id) is JobState.CANCELLED
        assert await outcomes(store, schedule) == {
            now - 3: Outcome.JOB,
            now - 2: Outcome.SKIPPED_OVERLAP,
            now - 1: Outcome.JOB,
        }
        await agrees(store, schedule)

    async def test_it_cancels_what_waits_and_lets_the_final_be(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(store)
        now = seconds(clock.now())
        await change(store, schedule, firing(fire(now), fire(now + 60)))
        first, second = [job.id for job in await jobs_of(store, schedule)]
        await accept(store, await claim_one(store, await open_worker(store)), SUCCEEDED)
        judged = await change(store, schedule, ruling(cancel=(first, second, new_job().id)))
        assert judged.workers == frozenset()
        assert await state_of(store, first) is JobState.SUCCEEDED
        # It was not due yet, so that it had been taken back before.
        assert await store.get_job(second) is None

    async def test_thousands_of_fires_in_one_ruling(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(store)
        now = seconds(clock.now())
        judged = await change(
            store, schedule, firing(*(fire(now - number) for number in range(1_200)))
        )
        assert judged.jobs == 1_200
        assert len(await ledger(store, schedule)) == 1_200
        assert await counts(store) == {JobState.READY: 1_200}
