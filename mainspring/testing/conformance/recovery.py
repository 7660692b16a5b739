"""Attempts that nobody will report: ``expired`` and ``held_by``."""

from datetime import timedelta

import pytest

from mainspring.domain.errors import SessionLost
from mainspring.domain.job import Backoff
from mainspring.domain.outcome import Lost
from mainspring.domain.states import JobState
from mainspring.policies.verdict import judge
from mainspring.ports.store import Store
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    FAILED,
    SUCCEEDED,
    Suite,
    accept,
    claim,
    claim_one,
    counts,
    ids,
    open_worker,
    state_of,
    submit_many,
    submit_one,
    view,
    worker_state,
)

_MICROSECOND = timedelta(microseconds=1)


class RecoverySuite(Suite):
    """Whose right has run out, exactly when, and what recovery is told of it."""

    async def test_nothing_held_nothing_expired(self, store: Store, clock: SettableClock) -> None:
        await submit_one(store)
        await open_worker(store, lease_ms=1)
        clock.advance(timedelta(days=10))
        assert await store.expired(10) == []

    async def test_a_lease_ends_after_its_last_instant(
        self, store: Store, clock: SettableClock
    ) -> None:
        job_id = await submit_one(store, timeout_ms=3_600_000)
        worker = await open_worker(store, lease_ms=15_000)
        await claim_one(store, worker)
        clock.advance(15)
        assert await store.expired(10) == []
        assert await worker_state(store, worker) == "alive"
        clock.advance(_MICROSECOND)
        assert [(held.job_id, held.cause) for held in await store.expired(10)] == [
            (job_id, "session")
        ]
        assert await worker_state(store, worker) == "lost"
        # It changes no job, and tells the same until somebody settles.
        assert await state_of(store, job_id) is JobState.RUNNING
        assert ids(await store.expired(10)) == [job_id]

    async def test_a_beat_keeps_the_lease(self, store: Store, clock: SettableClock) -> None:
        await submit_one(store, timeout_ms=3_600_000)
        worker = await open_worker(store, lease_ms=15_000)
        await claim_one(store, worker)
        for _ in range(5):
            clock.advance(15)
            await store.beat(worker)
            assert await store.expired(10) == []
        clock.advance(15)
        assert await store.expired(10) == []
        clock.advance(_MICROSECOND)
        assert len(await store.expired(10)) == 1

    async def test_a_session_marked_lost_never_beats_again(
        self, store: Store, clock: SettableClock
    ) -> None:
        holder = await open_worker(store, lease_ms=1_000)
        idle = await open_worker(store, lease_ms=1_000)
        await submit_many(store, 2)
        await claim(store, holder)
        clock.advance(timedelta(seconds=1) + _MICROSECOND)
        # Every session that ran out is marked, however few attempts are asked for.
        assert len(await store.expired(1)) == 1
        for worker in (holder, idle):
            assert await worker_state(store, worker) == "lost"
            with pytest.raises(SessionLost):
                await store.beat(worker)

    async def test_a_session_that_is_gone_holds_nothing(self, store: Store) -> None:
        job_id = await submit_one(store)
        worker = await open_worker(store)
        await claim_one(store, worker)
        await store.end_session(worker, "draining")
        assert await store.expired(10) == []
        await store.end_session(worker, "gone")
        assert [(held.job_id, held.cause) for held in await store.expired(10)] == [
            (job_id, "session")
        ]

    async def test_a_deadline_ends_after_its_last_instant(
        self, store: Store, clock: SettableClock
    ) -> None:
        short = await submit_one(store, timeout_ms=1_000)
        await submit_one(store, timeout_ms=60_000)
        claimed = await claim(store, await open_worker(store), grace_ms=500)
        assert len(claimed) == 2
        clock.advance(1.5)
        assert await store.expired(10) == []
        clock.advance(_MICROSECOND)
        assert [(held.job_id, held.cause) for held in await store.expired(10)] == [
            (short, "deadline")
        ]
        assert await state_of(store, short) is JobState.RUNNING

    async def test_a_lost_session_is_the_cause_even_past_the_deadline(
        self, store: Store, clock: SettableClock
    ) -> None:
        job_id = await submit_one(store, timeout_ms=1)
        await claim_one(store, await open_worker(store, lease_ms=1_000), grace_ms=0)
        clock.advance(2)
        found = await store.expired(10)
        assert [(held.job_id, held.cause) for held in found] == [(job_id, "session")]

    async def test_the_age_of_an_attempt_is_no_cause(
        self, store: Store, clock: SettableClock
    ) -> None:
        await submit_one(store, timeout_ms=604_800_000)
        worker = await open_worker(store, lease_ms=90_000_000)
        await claim_one(store, worker)
        for _ in range(6):
            clock.advance(timedelta(days=1))
            await store.beat(worker)
        assert await store.expired(10) == []

    async def test_a_young_attempt_of_a_lost_session_is_one(
        self, store: Store, clock: SettableClock
    ) -> None:
        worker = await open_worker(store, lease_ms=1_000)
        await submit_one(store)
        clock.advance(timedelta(seconds=1) - _MICROSECOND)
        claimed = await claim_one(store, worker)
        clock.advance(2 * _MICROSECOND)
        assert ids(await store.expired(10)) == [claimed.job_id]

    async def test_never_more_than_the_limit_and_worst_first(
        self, store: Store, clock: SettableClock
    ) -> None:
        timeouts = (5_000, 2_000, 4_000, 1_000, 3_000)
        job_ids = [await submit_one(store, timeout_ms=timeout) for timeout in timeouts]
        await claim(store, await open_worker(store), grace_ms=0)
        clock.advance(10)
        worst = [job_ids[number] for number in (3, 1, 4, 2, 0)]
        assert ids(await store.expired(100)) == worst
        for left in (worst, worst[2:], worst[4:]):
            found = await store.expired(2)
            assert ids(found) == left[:2]
            for held in found:
                await accept(store, held, Lost(held.cause))
        assert await store.expired(2) == []
        assert await counts(store) == {JobState.READY: 5}

    async def test_recovery_is_told_what_it_needs_to_judge(
        self, store: Store, clock: SettableClock
    ) -> None:
        job_id = await submit_one(
            store,
            payload=b'{"n":1}',
            payload_ref="blob/1",
            queue="default",
            max_attempts=9,
            max_crashes=4,
            backoff=Backoff(1, 1.0, 1, 0.0),
            timeout_ms=2_000,
            on_exhausted="test.bury",
        )
        worker = await open_worker(store, lease_ms=1_000)
        claimed = await claim_one(store, worker)
        clock.advance(2)
        held = (await store.expired(10))[0]
        for name in set(held.__struct_fields__) & set(claimed.__struct_fields__):
            assert getattr(held, name) == getattr(claimed, name), name
        assert (held.job_id, held.state, held.cause) == (job_id, JobState.RUNNING, "session")
        assert judge(held, Lost("x"), 0.0) == judge(claimed, Lost("x"), 0.0)

    async def test_a_cancelling_attempt_expires_too(
        self, store: Store, clock: SettableClock
    ) -> None:
        job_id = await submit_one(store)
        await claim_one(store, await open_worker(store, lease_ms=1_000))
        await store.cancel([job_id], reason="stop", force=False, actor="me")
        clock.advance(2)
        held = (await store.expired(10))[0]
        assert (held.job_id, held.state) == (job_id, JobState.CANCELLING)
        await accept(store, held, Lost(held.cause))
        assert await state_of(store, job_id) is JobState.CANCELLED

    async def test_only_held_attempts_expire(self, store: Store, clock: SettableClock) -> None:
        await submit_many(store, 4, timeout_ms=1)
        worker = await open_worker(store, lease_ms=1_000)
        done, retrying, forced, running = await claim(store, worker, grace_ms=0)
        await accept(store, done, SUCCEEDED)
        await accept(store, retrying, FAILED)
        await store.cancel([forced.job_id], reason="stop", force=True, actor="me")
        clock.advance(2)
        assert ids(await store.expired(10)) == [running.job_id]

    async def test_a_poison_job_ends_by_its_crashes(
        self, store: Store, clock: SettableClock
    ) -> None:
        job_id = await submit_one(store, max_crashes=3, max_attempts=100)
        for crash in (1, 2, 3):
            claimed = await claim_one(store, await open_worker(store, lease_ms=1_000))
            assert (claimed.attempt, claimed.crashes) == (crash, crash)
            clock.advance(2)
            held = (await store.expired(10))[0]
            await accept(store, held, Lost(held.cause))
        found = await view(store, job_id)
        assert (found.state, found.reason) == (JobState.DEAD, "crashes_exhausted")
        assert [one.attempt for one in await store.list_attempts(job_id)] == [1, 2, 3]


class HeldBySuite(Suite):
    """What a worker, or one child of it, holds."""

    async def test_the_largest_number_of_a_child(self, store: Store) -> None:
        worker = await open_worker(store)
        await submit_one(store)
        claimed = await claim_one(store, worker, child=32_767)
        assert ids(await store.held_by(worker, 32_767)) == [claimed.job_id]

    async def test_by_worker_and_by_child(self, store: Store) -> None:
        await submit_many(store, 6)
        one, two = await open_worker(store), await open_worker(store)
        first = ids(await claim(store, one, child=0, limit=1))
        second = ids(await claim(store, one, child=3, limit=2))
        third = ids(await claim(store, two, child=0, limit=3))
        assert set(ids(await store.held_by(one))) == {*first, *second}
        assert ids(await store.held_by(one, 0)) == first
        assert set(ids(await store.held_by(one, 3))) == set(second)
        assert await store.held_by(one, 1) == []
        assert set(ids(await store.held_by(two))) == set(third)
        assert {held.cause for held in await store.held_by(two)} == {"child"}

    async def test_what_is_over_is_held_by_nobody(self, store: Store) -> None:
        await submit_many(store, 4)
        worker = await open_worker(store)
        done, freed, cancelling, running = await claim(store, worker)
        await accept(store, done, SUCCEEDED)
        await accept(store, freed, FAILED)
        await store.cancel([cancelling.job_id], reason="stop", force=False, actor="me")
        held = {one.job_id: one for one in await store.held_by(worker)}
        assert set(held) == {cancelling.job_id, running.job_id}
        assert held[cancelling.job_id].state is JobState.CANCELLING
        for name in set(running.__struct_fields__) & set(held[running.job_id].__struct_fields__):
            assert getattr(held[running.job_id], name) == getattr(running, name), name
        for one in held.values():
            await accept(store, one, Lost(one.cause))
        assert await store.held_by(worker) == []

    async def test_who_has_used_up_its_timeout_is_told_apart(
        self, store: Store, clock: SettableClock
    ) -> None:
        await submit_one(store, timeout_ms=1_000)
        await submit_one(store, timeout_ms=60_000)
        worker = await open_worker(store)
        await claim(store, worker)
        clock.advance(timedelta(milliseconds=999))
        assert {held.cause for held in await store.held_by(worker)} == {"child"}
        clock.advance(timedelta(milliseconds=1))
        causes = {held.timeout_ms: held.cause for held in await store.held_by(worker)}
        assert causes == {1_000: "overtime", 60_000: "child"}

    async def test_an_unknown_worker_holds_nothing(self, store: Store) -> None:
        assert await store.held_by(b"\x00" * 16) == []
