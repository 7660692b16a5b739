"""Attempts end: ``DispatchStore.settle``, as long as they are held."""

from datetime import timedelta

import msgspec
import pytest

from mainspring.domain.outcome import (
    Cancelled,
    ErrorInfo,
    Failed,
    Lost,
    Outcome,
    Released,
    Snoozed,
    Succeeded,
    TimedOut,
)
from mainspring.domain.states import AttemptState, JobState
from mainspring.ports.store import Store
from mainspring.testing.builders import lanes, new_job, settlement, verdict
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    BOOM,
    FAILED,
    FAILED_FOR_GOOD,
    SUCCEEDED,
    Suite,
    absent,
    accept,
    claim,
    claim_one,
    counts,
    open_worker,
    report,
    start,
    state_of,
    states_of,
    submit_many,
    view,
)

_EVERY_OUTCOME: tuple[Outcome, ...] = (
    SUCCEEDED,
    FAILED,
    FAILED_FOR_GOOD,
    Failed(BOOM, retry_after_ms=5_000),
    Snoozed(7_000, "later"),
    TimedOut(300_000),
    Cancelled("asked"),
    Released(),
    Lost("session"),
)


class SettleSuite(Suite):
    """Final and not final outcomes of running jobs, in ones and in batches."""

    async def test_a_final_row_enters_history_with_its_attempt(
        self, store: Store, clock: SettableClock
    ) -> None:
        claimed = await start(store, payload=b'{"n":1}', queue="default")
        started_at = clock.now()
        worker = (await view(store, claimed.job_id)).worker_id
        clock.advance(timedelta(seconds=2, microseconds=1))
        settled = await accept(store, claimed, Succeeded(b'{"ok":true}'))
        assert settled.state is JobState.SUCCEEDED
        found = await view(store, claimed.job_id)
        assert found.state is JobState.SUCCEEDED
        assert (found.attempt, found.worker_id) == (1, worker)
        assert (found.started_at, found.finished_at) == (started_at, clock.now())
        assert (found.payload, found.result, found.error) == (b'{"n":1}', b'{"ok":true}', None)
        attempts = await store.list_attempts(claimed.job_id)
        assert [(one.attempt, one.state, one.worker_id) for one in attempts] == [
            (1, AttemptState.SUCCEEDED, worker)
        ]
        assert (attempts[0].started_at, attempts[0].ended_at) == (started_at, clock.now())
        assert [known.running for known in await store.list_workers()] == [0]

    async def test_results_come_back_byte_by_byte(self, store: Store) -> None:
        texts = (None, b'""', b"null", '"ä€😀\\u0000"'.encode(), b'"' + b"r" * 16_382 + b'"')
        for result in texts:
            claimed = await start(store)
            await accept(store, claimed, Succeeded(result))
            assert (await view(store, claimed.job_id)).result == result

    async def test_errors_come_back_byte_by_byte(self, store: Store) -> None:
        for message in ("", "ä€😀", "line\nline\ttab\x01", "e" * 16_000):
            claimed = await start(store)
            error = ErrorInfo("Boom", message)
            await accept(store, claimed, Failed(error, permanent=True))
            found = await view(store, claimed.job_id)
            assert found.error is not None
            assert msgspec.json.decode(found.error, type=ErrorInfo) == error
            closed = (await store.list_attempts(claimed.job_id))[0]
            assert closed.error == found.error
            assert closed.reason == found.reason == "failed_permanently"

    async def test_a_reference_to_a_result_is_kept(self, store: Store) -> None:
        claimed = await start(store)
        given = settlement(claimed, result_ref="blob/result")
        assert (await store.settle([given]))[0].accepted
        found = await view(store, claimed.job_id)
        assert (found.result, found.result_ref) == (None, "blob/result")

    async def test_not_final_frees_the_row(self, store: Store, clock: SettableClock) -> None:
        claimed = await start(store)
        started_at = clock.now()
        worker = (await view(store, claimed.job_id)).worker_id
        clock.advance(timedelta(seconds=5, microseconds=3))
        settled = await accept(store, claimed, FAILED)
        assert settled.state is JobState.RETRYING
        found = await view(store, claimed.job_id)
        assert found.state is JobState.RETRYING
        assert found.due_at == clock.now() + timedelta(seconds=1)
        assert absent(found.worker_id, found.deadline_at, found.started_at, found.finished_at)
        assert found.reason == "failed"
        assert (found.attempt, found.tries, found.crashes) == (1, 1, 0)
        attempts = await store.list_attempts(claimed.job_id)
        assert len(attempts) == 1
        assert attempts[0] == msgspec.structs.replace(
            attempts[0],
            attempt=1,
            state=AttemptState.FAILED,
            worker_id=worker,
            started_at=started_at,
            ended_at=clock.now(),
            reason="failed",
            error=msgspec.json.encode(BOOM),
        )
        assert [known.running for known in await store.list_workers()] == [0]

    async def test_each_outcome_leads_where_it_was_told(
        self, store: Store, clock: SettableClock
    ) -> None:
        for outcome in _EVERY_OUTCOME:
            claimed = await start(store)
            given = verdict(claimed, outcome)
            settled = (await store.settle([given]))[0]
            assert (settled.accepted, settled.state) == (True, given.becomes), outcome
            found = await view(store, claimed.job_id)
            assert found.state is given.becomes, outcome
            assert found.reason == given.reason, outcome
            assert found.tries == 1 - given.refund_try, outcome
            assert found.crashes == 1 - given.refund_crash, outcome
            closed = await store.list_attempts(claimed.job_id)
            assert [(one.attempt, one.state) for one in closed] == [(1, given.attempt_state)]
            if found.finished_at is None:
                assert found.due_at == clock.now() + timedelta(milliseconds=given.delay_ms)
                await store.cancel([claimed.job_id], reason="", force=False, actor="me")

    async def test_charges_add_up_and_refunds_take_back_one(self, store: Store) -> None:
        await accept(store, await start(store), Lost("session"))
        worker = await open_worker(store)
        claimed = await claim_one(store, worker)
        assert (claimed.attempt, claimed.tries, claimed.crashes) == (2, 2, 2)
        await accept(store, claimed, Snoozed(0))
        claimed = await claim_one(store, worker)
        assert (claimed.attempt, claimed.tries, claimed.crashes) == (3, 2, 2)
        await accept(store, claimed, Released())
        claimed = await claim_one(store, worker)
        assert (claimed.attempt, claimed.tries, claimed.crashes) == (4, 2, 2)
        await accept(store, claimed, FAILED, delay_ms=0)
        assert (await claim_one(store, worker)).tries == 3

    async def test_a_delay_of_zero_is_due_at_once(self, store: Store, clock: SettableClock) -> None:
        claimed = await start(store)
        await accept(store, claimed, FAILED, delay_ms=0)
        found = await view(store, claimed.job_id)
        assert (found.state, found.due_at) == (JobState.READY, clock.now())

    async def test_an_empty_batch_is_no_work(self, store: Store) -> None:
        assert await store.settle([]) == []

    async def test_a_mixed_batch_is_answered_in_the_order_given(self, store: Store) -> None:
        await submit_many(store, 40)
        claimed = await claim(store, await open_worker(store))
        wanted = [
            verdict(job, _EVERY_OUTCOME[number % len(_EVERY_OUTCOME)])
            for number, job in enumerate(claimed[:36])
        ]
        stale = [settlement(job, attempt=9) for job in claimed[36:38]]
        unknown = [settlement(claimed[0], job_id=new_job().id)]
        batch = [*stale[:1], *wanted[::-1], *unknown, *stale[1:]]
        answers = await store.settle(batch)
        assert [(one.job_id, one.attempt) for one in answers] == [
            (one.job_id, one.attempt) for one in batch
        ]
        for given, answer in zip(batch, answers, strict=True):
            assert answer.accepted is (given in wanted)
            assert not answer.repeated
            if answer.accepted:
                assert answer.state is given.becomes
                # Snoozed to later, retried later: the effective state says the same.
                assert await state_of(store, given.job_id) is given.becomes
        assert (await counts(store))[JobState.RUNNING] == 4

    async def test_a_thousand_successes_in_one_call(self, store: Store) -> None:
        await submit_many(store, 1_000)
        claimed = await claim(
            store, await open_worker(store), limit=1_000, lanes=lanes({"default": 1_000})
        )
        answers = await store.settle([settlement(job, result=b"1") for job in claimed])
        assert all(answer.accepted for answer in answers)
        assert await counts(store) == {JobState.SUCCEEDED: 1_000}

    async def test_the_same_settlement_twice_in_one_call(self, store: Store) -> None:
        deaths = 0
        for outcome in _EVERY_OUTCOME:
            claimed = await start(store)
            given = verdict(claimed, outcome, follow_up=new_job(kind="test.bury"))
            answers = await store.settle([given, given])
            assert all(answer.accepted or answer.repeated for answer in answers), outcome
            assert len(await store.list_attempts(claimed.job_id)) == 1
            await store.cancel([claimed.job_id], reason="", force=True, actor="me")
            deaths += given.becomes is JobState.DEAD
        assert deaths > 0
        assert (await counts(store))[JobState.READY] == deaths

    async def test_two_verdicts_on_one_attempt_in_one_call(self, store: Store) -> None:
        for outcomes in ((SUCCEEDED, FAILED_FOR_GOOD), (FAILED_FOR_GOOD, SUCCEEDED)):
            claimed = await start(store)
            answers = await store.settle([verdict(claimed, outcome) for outcome in outcomes])
            accepted = [answer for answer in answers if answer.accepted]
            assert len(accepted) == 1
            assert await state_of(store, claimed.job_id) is accepted[0].state

    async def test_only_the_jobs_named_are_touched(self, store: Store) -> None:
        await submit_many(store, 3)
        claimed = await claim(store, await open_worker(store))
        assert (await store.settle([settlement(claimed[1])]))[0].accepted
        assert await states_of(store, (job.job_id for job in claimed)) == [
            JobState.RUNNING,
            JobState.SUCCEEDED,
            JobState.RUNNING,
        ]


class CancellingSuite(Suite):
    """What becomes of a job that is being cancelled, whatever its attempt says."""

    async def test_a_cancel_wins_over_everything_but_an_end(self, store: Store) -> None:
        for outcome in _EVERY_OUTCOME:
            claimed = await start(store)
            await store.cancel([claimed.job_id], reason="stop", force=False, actor="me")
            given = verdict(claimed, outcome)
            final = given.becomes in {JobState.SUCCEEDED, JobState.DEAD, JobState.CANCELLED}
            expected = given.becomes if final else JobState.CANCELLED
            settled = (await store.settle([given]))[0]
            assert (settled.accepted, settled.state) == (True, expected), outcome
            found = await view(store, claimed.job_id)
            assert (found.state, found.attempt) == (expected, 1), outcome
            assert found.finished_at is not None, outcome
            closed = await store.list_attempts(claimed.job_id)
            assert [(one.attempt, one.state) for one in closed] == [(1, given.attempt_state)]

    async def test_repeating_what_a_cancel_turned_is_a_repetition(self, store: Store) -> None:
        for outcome in _EVERY_OUTCOME:
            claimed = await start(store)
            await store.cancel([claimed.job_id], reason="stop", force=False, actor="me")
            await accept(store, claimed, outcome)
            before = await view(store, claimed.job_id)
            again = await report(store, claimed, outcome)
            assert (again.accepted, again.repeated) == (False, True), outcome
            assert await view(store, claimed.job_id) == before

    async def test_a_cancel_that_turns_a_retry_sends_no_follow_up(self, store: Store) -> None:
        claimed = await start(store)
        await store.cancel([claimed.job_id], reason="stop", force=False, actor="me")
        await accept(store, claimed, FAILED, follow_up=new_job(kind="test.bury"))
        assert await counts(store) == {JobState.CANCELLED: 1}


class FollowUpSuite(Suite):
    """A follow-up is inserted if and only if the job goes dead, and then once."""

    async def test_it_comes_with_death_and_once(self, store: Store, clock: SettableClock) -> None:
        claimed = await start(store)
        follow_up = new_job(kind="test.bury", payload=b'{"of":1}', queue="graves", priority=3)
        await accept(store, claimed, FAILED_FOR_GOOD, follow_up=follow_up)
        found = await view(store, follow_up.id)
        assert (found.kind, found.payload, found.queue) == ("test.bury", b'{"of":1}', "graves")
        assert (found.state, found.due_at, found.priority) == (JobState.READY, clock.now(), 3)
        for again in (follow_up, new_job(kind="test.bury")):
            assert (await report(store, claimed, FAILED_FOR_GOOD, follow_up=again)).repeated
        assert await counts(store) == {JobState.DEAD: 1, JobState.READY: 1}

    async def test_it_may_be_for_later(self, store: Store, clock: SettableClock) -> None:
        claimed = await start(store)
        follow_up = new_job(kind="test.bury", delay_ms=60_000)
        await accept(store, claimed, FAILED_FOR_GOOD, follow_up=follow_up)
        found = await view(store, follow_up.id)
        assert (found.state, found.due_at) == (
            JobState.SCHEDULED,
            clock.now() + timedelta(minutes=1),
        )

    @pytest.mark.parametrize(
        "outcome", [SUCCEEDED, FAILED, Snoozed(1_000), Cancelled(), Released()]
    )
    async def test_it_does_not_come_without_death(self, store: Store, outcome: Outcome) -> None:
        claimed = await start(store)
        follow_up = new_job(kind="test.bury")
        await accept(store, claimed, outcome, follow_up=follow_up)
        assert await store.get_job(follow_up.id) is None
        assert sum((await counts(store)).values()) == 1

    async def test_it_does_not_come_with_a_stale_death(self, store: Store) -> None:
        claimed = await start(store)
        await accept(store, claimed, SUCCEEDED)
        settled = await report(store, claimed, FAILED_FOR_GOOD, follow_up=new_job())
        assert not settled.accepted
        assert await counts(store) == {JobState.SUCCEEDED: 1}

    async def test_it_comes_with_the_death_of_a_cancelling_job(self, store: Store) -> None:
        claimed = await start(store)
        await store.cancel([claimed.job_id], reason="stop", force=False, actor="me")
        await accept(store, claimed, FAILED_FOR_GOOD, follow_up=new_job())
        assert await counts(store) == {JobState.DEAD: 1, JobState.READY: 1}

    async def test_every_death_of_a_batch_gets_its_own(self, store: Store) -> None:
        await submit_many(store, 6)
        claimed = await claim(store, await open_worker(store))
        batch = [
            verdict(job, FAILED_FOR_GOOD if number % 2 else SUCCEEDED, follow_up=new_job())
            for number, job in enumerate(claimed)
        ]
        await store.settle(batch)
        for number, given in enumerate(batch):
            assert given.follow_up is not None
            found = await store.get_job(given.follow_up.id)
            assert (found is not None) is bool(number % 2)
