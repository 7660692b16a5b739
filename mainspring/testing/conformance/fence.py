"""The fence: whatever names (job id, attempt) acts only while held under that very number."""

import asyncio

from mainspring.domain.job import Claimed, NewJob
from mainspring.domain.outcome import Cancelled, Lost, Outcome, Released, Snoozed, TimedOut
from mainspring.domain.states import AttemptState, JobState
from mainspring.policies.verdict import judge
from mainspring.ports.store import Store
from mainspring.testing.builders import new_job, settlement, verdict
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    FAILED,
    FAILED_FOR_GOOD,
    SUCCEEDED,
    Suite,
    accept,
    claim_one,
    counts,
    open_worker,
    report,
    start,
    state_of,
    view,
)

_NOT_FINAL: tuple[Outcome, ...] = (FAILED, Snoozed(1_000), TimedOut(1), Released(), Lost("child"))
_FINAL: tuple[Outcome, ...] = (SUCCEEDED, FAILED_FOR_GOOD, Cancelled())


async def _unmoved_by(store: Store, job: Claimed, outcome: Outcome, **changes: NewJob) -> None:
    """Report what must be refused as stale, and must leave no trace."""
    before = await view(store, job.job_id), await store.list_attempts(job.job_id)
    total = await counts(store)
    settled = await report(store, job, outcome, **changes)
    assert (settled.accepted, settled.repeated, settled.state) == (False, False, None)
    assert (await view(store, job.job_id), await store.list_attempts(job.job_id)) == before
    assert await counts(store) == total


async def _repeats(store: Store, job: Claimed, outcome: Outcome) -> None:
    """Report what must be known already, and must leave no trace."""
    before = await view(store, job.job_id), await store.list_attempts(job.job_id)
    settled = await report(store, job, outcome)
    assert (settled.accepted, settled.repeated) == (False, True), outcome
    assert (await view(store, job.job_id), await store.list_attempts(job.job_id)) == before


class FenceSuite(Suite):
    """Stale, doubled and late reports."""

    async def test_other_attempt_numbers_are_stale(self, store: Store) -> None:
        claimed = await start(store)
        for attempt in (0, 2, 1_000_000):
            given = settlement(claimed, attempt=attempt)
            settled = (await store.settle([given]))[0]
            assert not settled.accepted
            assert not settled.repeated
        assert await state_of(store, claimed.job_id) is JobState.RUNNING

    async def test_a_job_that_never_ran_or_never_was(self, store: Store) -> None:
        claimed = await start(store)
        waiting = new_job()
        await store.submit([waiting])
        for job_id in (waiting.id, new_job().id):
            for attempt in (0, 1):
                given = settlement(claimed, job_id=job_id, attempt=attempt)
                settled = (await store.settle([given]))[0]
                assert not settled.accepted
                assert not settled.repeated
        assert await state_of(store, waiting.id) is JobState.READY

    async def test_the_same_report_twice_is_a_repetition(
        self, store: Store, clock: SettableClock
    ) -> None:
        for outcome in (*_NOT_FINAL, *_FINAL):
            claimed = await start(store)
            await accept(store, claimed, outcome)
            clock.advance(0.1)
            await _repeats(store, claimed, outcome)
            await store.cancel([claimed.job_id], reason="", force=False, actor="me")

    async def test_another_report_after_the_first_is_stale(self, store: Store) -> None:
        for first, second in (
            (SUCCEEDED, FAILED_FOR_GOOD),
            (SUCCEEDED, FAILED),
            (FAILED_FOR_GOOD, SUCCEEDED),
            (Cancelled(), SUCCEEDED),
            (FAILED, SUCCEEDED),
            (Released(), SUCCEEDED),
            (Lost("session"), SUCCEEDED),
        ):
            claimed = await start(store)
            await accept(store, claimed, first)
            await _unmoved_by(store, claimed, second)
            await store.cancel([claimed.job_id], reason="", force=False, actor="me")

    async def test_a_late_report_between_retry_and_next_claim(self, store: Store) -> None:
        claimed = await start(store)
        await accept(store, claimed, FAILED, delay_ms=0)
        await _unmoved_by(store, claimed, SUCCEEDED)
        # The number of the claim to come is not a right either.
        settled = (await store.settle([settlement(claimed, attempt=2)]))[0]
        assert not settled.accepted
        assert await state_of(store, claimed.job_id) is JobState.READY

    async def test_a_late_report_while_the_next_attempt_runs(self, store: Store) -> None:
        for outcome in _NOT_FINAL:
            first = await start(store)
            await accept(store, first, outcome, delay_ms=0)
            second = await claim_one(store, await open_worker(store))
            assert (second.job_id, second.attempt) == (first.job_id, 2)
            await _unmoved_by(store, first, SUCCEEDED)
            await _repeats(store, first, outcome)
            await accept(store, second, SUCCEEDED)
            await _repeats(store, first, outcome)
            await _unmoved_by(store, first, SUCCEEDED)
            await _repeats(store, second, SUCCEEDED)

    async def test_a_report_after_recovery_is_stale(
        self, store: Store, clock: SettableClock
    ) -> None:
        await store.submit([new_job()])
        worker = await open_worker(store, lease_ms=1_000)
        claimed = await claim_one(store, worker)
        clock.advance(2)
        held = (await store.expired(10))[0]
        await store.settle([judge(held, Lost(held.cause), 0.0)])
        assert await state_of(store, claimed.job_id) is JobState.READY
        await _unmoved_by(store, claimed, SUCCEEDED)
        second = await claim_one(store, await open_worker(store))
        await _unmoved_by(store, claimed, SUCCEEDED)
        await accept(store, second, SUCCEEDED)

    async def test_recovery_of_an_attempt_that_reported_meanwhile_is_stale(
        self, store: Store, clock: SettableClock
    ) -> None:
        await store.submit([new_job()])
        claimed = await claim_one(store, await open_worker(store, lease_ms=1_000))
        clock.advance(2)
        held = (await store.expired(10))[0]
        # The session is lost, but until somebody closes the attempt its report still counts.
        await accept(store, claimed, SUCCEEDED)
        settled = (await store.settle([judge(held, Lost(held.cause), 0.0)]))[0]
        assert (settled.accepted, settled.repeated) == (False, False)
        assert await state_of(store, claimed.job_id) is JobState.SUCCEEDED

    async def test_a_report_after_a_forced_cancel_is_stale(self, store: Store) -> None:
        claimed = await start(store)
        await store.cancel([claimed.job_id], reason="stop", force=True, actor="me")
        for outcome in (SUCCEEDED, FAILED, FAILED_FOR_GOOD):
            await _unmoved_by(store, claimed, outcome, follow_up=new_job())
        assert not (await report(store, claimed, Cancelled())).accepted
        assert await state_of(store, claimed.job_id) is JobState.CANCELLED

    async def test_a_report_after_a_replay_is_stale(self, store: Store) -> None:
        claimed = await start(store)
        await accept(store, claimed, FAILED_FOR_GOOD)
        await store.replay([claimed.job_id], payload=None, actor="me")
        await _unmoved_by(store, claimed, SUCCEEDED)
        again = await report(store, claimed, FAILED_FOR_GOOD, follow_up=new_job())
        assert not again.accepted
        assert await counts(store) == {JobState.READY: 1}
        second = await claim_one(store, await open_worker(store))
        assert second.attempt == 2
        await _unmoved_by(store, claimed, SUCCEEDED)
        await accept(store, second, SUCCEEDED)

    async def test_a_report_after_a_purge_is_stale(self, store: Store) -> None:
        claimed = await start(store)
        await accept(store, claimed, FAILED_FOR_GOOD)
        await store.purge([claimed.job_id], actor="me")
        settled = await report(store, claimed, SUCCEEDED)
        assert not settled.accepted
        assert await store.get_job(claimed.job_id) is None

    async def test_of_many_reports_at_once_one_is_accepted(self, store: Store) -> None:
        outcomes = (SUCCEEDED, FAILED, FAILED_FOR_GOOD, Cancelled(), Released()) * 3
        for _ in range(5):
            claimed = await start(store)
            follow_up = new_job(kind="test.bury")
            answers = await asyncio.gather(
                *(
                    store.settle([verdict(claimed, outcome, follow_up=follow_up)])
                    for outcome in outcomes
                )
            )
            accepted = [one for settled in answers for one in settled if one.accepted]
            assert len(accepted) == 1
            assert await state_of(store, claimed.job_id) is accepted[0].state
            assert len(await store.list_attempts(claimed.job_id)) == 1
            died = accepted[0].state is JobState.DEAD
            assert (await store.get_job(follow_up.id) is not None) is died
            await store.cancel([claimed.job_id, follow_up.id], reason="", force=True, actor="me")

    async def test_a_report_and_a_cancel_at_once_agree(self, store: Store) -> None:
        for force in (False, True) * 5:
            claimed = await start(store)
            cancelled, settled = await asyncio.gather(
                store.cancel([claimed.job_id], reason="stop", force=force, actor="me"),
                report(store, claimed, SUCCEEDED),
            )
            found = await state_of(store, claimed.job_id)
            if settled.accepted:
                assert found is JobState.SUCCEEDED
                assert cancelled[0].state in {JobState.SUCCEEDED, JobState.CANCELLING}
            else:
                assert found is cancelled[0].state is JobState.CANCELLED
            closed = await store.list_attempts(claimed.job_id)
            assert len(closed) == 1
            assert closed[0].state in {AttemptState.SUCCEEDED, AttemptState.CANCELLED}
