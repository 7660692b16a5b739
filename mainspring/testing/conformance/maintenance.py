"""Keep the house clean: ``MaintenanceStore``."""

import hashlib
from collections.abc import Mapping
from datetime import timedelta

import msgspec

from mainspring.domain.limits import SUBMISSION_KEY_HOURS
from mainspring.domain.states import JobState
from mainspring.ports.store import Retained, Store
from mainspring.testing.builders import settlement
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    FAILED,
    SUCCEEDED,
    Suite,
    accept,
    claim_one,
    counts,
    finish,
    make_dead,
    open_worker,
    start,
    state_of,
    submit_one,
    view,
)

_BODY = hashlib.sha256(b"body").digest()
#: Whole partitions go: a week's may outlive its oldest row by a week.
_SLACK_DAYS = 8


async def _retain(store: Store, keep_days: Mapping[JobState, int], limit: int = 1_000) -> set[str]:
    """Apply a retention until there is nothing left to drop; return the blob references."""
    references: set[str] = set()
    for _ in range(100):
        step = await store.apply_retention(keep_days, limit=limit)
        references |= set(step.references)
        if not step.dropped:
            assert not step.is_partial
            return references
    raise AssertionError("a retention that never comes to its end")


class MaintenanceSuite(Suite):
    """Partitions, retention and forgetting."""

    async def test_preparing_twice_prepares_once(self, store: Store) -> None:
        await store.prepare_partitions(3)
        assert await store.prepare_partitions(3) == []

    async def test_partitions_may_be_prepared_late(
        self, store: Store, clock: SettableClock
    ) -> None:
        # Rows that ended before anybody had prepared a place for them.
        clock.advance(timedelta(days=400))
        early = await finish(store)
        await make_dead(store)
        await store.prepare_partitions(7)
        later = await finish(store)
        for job in (early, later):
            assert await state_of(store, job.job_id) is JobState.SUCCEEDED
        assert await store.prepare_partitions(7) == []
        assert await counts(store) == {JobState.SUCCEEDED: 2, JobState.DEAD: 1}

    async def test_work_goes_on_for_a_year_with_and_without_preparation(
        self, store: Store, clock: SettableClock
    ) -> None:
        done = []
        for month in range(13):
            if month % 2:
                await store.prepare_partitions(2)
            claimed = await start(store)
            await accept(store, claimed, FAILED, delay_ms=0)
            worker = await open_worker(store)
            await accept(store, await claim_one(store, worker), SUCCEEDED)
            done.append(claimed.job_id)
            clock.advance(timedelta(days=29))
        for job_id in done:
            assert [one.attempt for one in await store.list_attempts(job_id)] == [1, 2]

    async def test_retention_is_counted_by_state(self, store: Store, clock: SettableClock) -> None:
        await store.prepare_partitions(2)
        done, dead = await finish(store), await make_dead(store)
        cancelled = await submit_one(store)
        await store.cancel([cancelled], reason="", force=False, actor="me")
        waiting = await submit_one(store, queue="other", delay_ms=3_600_000)
        clock.advance(timedelta(days=30 + _SLACK_DAYS))
        await store.prepare_partitions(2)
        young = await finish(store)
        await _retain(store, {JobState.SUCCEEDED: 30, JobState.DEAD: 90})
        assert await store.get_job(done.job_id) is None
        assert await state_of(store, dead.job_id) is JobState.DEAD
        # A state that is not named is kept.
        assert await state_of(store, cancelled) is JobState.CANCELLED
        assert await state_of(store, young.job_id) is JobState.SUCCEEDED
        assert await state_of(store, waiting) is JobState.READY
        await _retain(store, {JobState.DEAD: 30, JobState.CANCELLED: 30})
        assert await counts(store) == {JobState.SUCCEEDED: 1, JobState.READY: 1}

    async def test_nothing_younger_than_kept_is_dropped(
        self, store: Store, clock: SettableClock
    ) -> None:
        await store.prepare_partitions(40)
        done = [(await finish(store)).job_id]
        for _ in range(20):
            clock.advance(timedelta(days=1))
            done.append((await finish(store)).job_id)
            await _retain(store, {JobState.SUCCEEDED: 3})
            for job_id in done[-3:]:
                assert await state_of(store, job_id) is JobState.SUCCEEDED
        assert len(done) - (await counts(store))[JobState.SUCCEEDED] >= 20 - 3 - _SLACK_DAYS

    async def test_retention_also_takes_what_missed_its_partition(
        self, store: Store, clock: SettableClock
    ) -> None:
        clock.advance(timedelta(days=500))
        job = await finish(store)
        clock.advance(timedelta(days=60))
        await store.prepare_partitions(2)
        await _retain(store, {JobState.SUCCEEDED: 30})
        assert await store.get_job(job.job_id) is None

    async def test_retention_names_the_blobs_to_delete(
        self, store: Store, clock: SettableClock
    ) -> None:
        await store.prepare_partitions(2)
        claimed = await start(store, payload_ref="blob/payload")
        given = msgspec.structs.replace(settlement(claimed), result_ref="blob/result")
        assert (await store.settle([given]))[0].accepted
        await finish(store)
        kept = await make_dead(store, payload_ref="blob/kept")
        clock.advance(timedelta(days=60))
        references = await _retain(store, {JobState.SUCCEEDED: 1})
        assert references == {"blob/payload", "blob/result"}
        assert (await view(store, kept.job_id)).payload_ref == "blob/kept"

    async def test_retention_goes_in_steps(self, store: Store, clock: SettableClock) -> None:
        await store.prepare_partitions(2)
        for _ in range(5):
            await finish(store)
        clock.advance(timedelta(days=60))
        await _retain(store, {JobState.SUCCEEDED: 1}, limit=1)
        assert await counts(store) == {}
        nothing = Retained([], [])
        assert await store.apply_retention({JobState.SUCCEEDED: 1}, limit=10) == nothing
        assert await store.apply_retention({}, limit=10) == nothing

    async def test_expired_keys_are_forgotten_in_steps(
        self, store: Store, clock: SettableClock
    ) -> None:
        for number in range(5):
            await submit_one(store, submission_key=f"k{number}", body_hash=_BODY)
        clock.advance(timedelta(hours=SUBMISSION_KEY_HOURS) - timedelta(seconds=1))
        assert await store.forget_expired(10) == 0
        await submit_one(store, submission_key="young", body_hash=_BODY)
        clock.advance(2)
        assert [await store.forget_expired(2) for _ in range(4)] == [2, 2, 1, 0]
        assert (await counts(store))[JobState.READY] == 6

    async def test_sessions_long_ended_are_forgotten(
        self, store: Store, clock: SettableClock
    ) -> None:
        alive = await open_worker(store, lease_ms=2_000_000_000)
        gone = await open_worker(store)
        await open_worker(store, lease_ms=1)
        await store.end_session(gone, "gone")
        clock.advance(1)
        await store.expired(10)
        assert await store.forget_expired(10) == 0
        for _ in range(400):
            clock.advance(timedelta(days=1))
            await store.beat(alive)
        assert await store.forget_expired(10) == 2
        assert await store.forget_expired(10) == 0
        assert [worker.id for worker in await store.list_workers()] == [alive]
