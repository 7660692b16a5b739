"""Attempts begin: ``DispatchStore.claim``."""

import asyncio
from datetime import UTC, datetime, timedelta

from mainspring.domain.job import Backoff, Priority
from mainspring.domain.states import AttemptState, JobState
from mainspring.ports.store import Lane, Store
from mainspring.testing.builders import KIND, claim_ask, ids_at, lanes, new_job, new_session
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    FAILED,
    SUCCEEDED,
    Suite,
    absent,
    accept,
    claim,
    claim_one,
    counts,
    ids,
    open_worker,
    start,
    state_of,
    submit,
    submit_many,
    submit_one,
    view,
)

_MICROSECOND = timedelta(microseconds=1)


class ClaimOrderSuite(Suite):
    """Which jobs a claim picks, and in which order."""

    async def test_strict_by_priority_then_due_then_id(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = clock.now()
        job_ids = ids_at(now, 48)
        jobs = [
            new_job(
                id=job_ids[(number * 29) % 48],
                priority=Priority(number * 7 % 4),
                due_at=now - timedelta(microseconds=number * 5 % 3),
            )
            for number in range(48)
        ]
        await submit(store, *jobs)
        expected = sorted(jobs, key=lambda job: (job.priority, job.due_at, job.id))
        worker = await open_worker(store)
        picked: list[bytes] = []
        for want in (1, 2, 3, 5, 13, 48):
            picked += ids(await claim(store, worker, lanes=lanes({"default": want})))
        assert picked == [job.id for job in expected]

    async def test_a_late_urgent_job_goes_first(self, store: Store, clock: SettableClock) -> None:
        low = await submit_many(store, 20, priority=Priority.LOW)
        clock.advance(3_600)
        urgent = await submit_one(store, priority=Priority.CRITICAL)
        worker = await open_worker(store)
        assert (await claim_one(store, worker, limit=1)).job_id == urgent
        assert set(ids(await claim(store, worker))) == set(low)

    async def test_not_yet_due_waits_to_the_microsecond(
        self, store: Store, clock: SettableClock
    ) -> None:
        job_id = await submit_one(store, due_at=clock.now() + timedelta(seconds=1))
        worker = await open_worker(store)
        clock.advance(timedelta(seconds=1) - _MICROSECOND)
        assert await claim(store, worker) == []
        clock.advance(_MICROSECOND)
        assert (await claim_one(store, worker)).job_id == job_id

    async def test_retrying_jobs_are_claimed_when_due(
        self, store: Store, clock: SettableClock
    ) -> None:
        first = await start(store)
        await accept(store, first, FAILED, delay_ms=1_000)
        worker = await open_worker(store)
        clock.advance(timedelta(seconds=1) - _MICROSECOND)
        assert await claim(store, worker) == []
        clock.advance(_MICROSECOND)
        assert (await claim_one(store, worker)).attempt == 2

    async def test_never_more_than_the_limit_of_all_lanes(self, store: Store) -> None:
        for queue in ("a", "b", "c"):
            await submit_many(store, 10, queue=queue)
        worker = await open_worker(store)
        asked = lanes({"a": 5, "b": 5, "c": 5})
        sizes = [len(await claim(store, worker, lanes=asked, limit=7)) for _ in range(6)]
        assert max(sizes) == 7
        assert sum(sizes) == 30

    async def test_never_more_than_a_lane_wants(self, store: Store) -> None:
        for queue in ("a", "b", "c"):
            await submit_many(store, 10, queue=queue)
        asked = lanes({"a": 3, "b": 0, "c": 1})
        claimed = await claim(store, await open_worker(store), lanes=asked)
        assert sorted(job.queue for job in claimed) == ["a", "a", "a", "c"]

    async def test_each_lane_is_strict_by_itself(self, store: Store) -> None:
        urgent = [
            await submit_one(store, queue=queue, priority=Priority.HIGH)
            for queue in ("a", "b")
            if await submit_many(store, 3, queue=queue, priority=Priority.LOW)
        ]
        claimed = await claim(store, await open_worker(store), lanes=lanes({"a": 1, "b": 1}))
        assert set(ids(claimed)) == set(urgent)

    async def test_asking_for_nothing_gets_nothing(self, store: Store) -> None:
        await submit_one(store)
        worker = await open_worker(store)
        assert await claim(store, worker, limit=0) == []
        assert await claim(store, worker, lanes=()) == []
        assert await claim(store, worker, lanes=lanes({"default": 0})) == []
        assert await claim(store, worker, kinds=()) == []
        assert await claim(store, worker, lanes=lanes({"empty": 10})) == []
        assert await counts(store) == {JobState.READY: 1}

    async def test_only_the_kinds_given(self, store: Store) -> None:
        other = await submit_many(store, 30, kind="other", priority=Priority.CRITICAL)
        mine = await submit_one(store, kind=KIND, priority=Priority.LOW)
        worker = await open_worker(store)
        assert ids(await claim(store, worker, lanes=lanes({"default": 5}))) == [mine]
        both = await claim(store, worker, kinds=(KIND, "other"))
        assert set(ids(both)) == set(other)

    async def test_only_the_queues_of_the_lanes(self, store: Store) -> None:
        for queue in ("a", "A", "a ", "b"):
            await submit_one(store, queue=queue)
        claimed = await claim(store, await open_worker(store), lanes=lanes({"a": 10}))
        assert [job.queue for job in claimed] == ["a"]

    async def test_a_paused_queue_gives_nothing(self, store: Store) -> None:
        await submit_many(store, 3, queue="a", priority=Priority.CRITICAL)
        await submit_many(store, 3, queue="b")
        await store.pause_queue("a", reason="repair", actor="me")
        worker = await open_worker(store)
        claimed = await claim(store, worker, lanes=lanes({"a": 10, "b": 10}))
        assert [job.queue for job in claimed] == ["b"] * 3
        await store.resume_queue("a", actor="me")
        assert len(await claim(store, worker, lanes=lanes({"a": 10}))) == 3

    async def test_a_watermark_leaves_out_what_was_due_before_it(
        self, store: Store, clock: SettableClock
    ) -> None:
        now = clock.now()
        early = await submit_one(store, due_at=now - timedelta(seconds=2))
        exact = await submit_one(store, due_at=now - timedelta(seconds=1))
        other = await submit_one(store, due_at=now - timedelta(seconds=3), priority=Priority.LOW)
        since = {Priority.NORMAL.value: now - timedelta(seconds=1)}
        worker = await open_worker(store)
        claimed = await claim(store, worker, lanes=(Lane("default", 10, since),))
        # The watermark counts for its priority only, and includes its own instant.
        assert ids(claimed) == [exact, other]
        # The sweep finds what was left out.
        assert ids(await claim(store, worker)) == [early]

    async def test_watermarks_belong_to_their_lane(
        self, store: Store, clock: SettableClock
    ) -> None:
        past = clock.now() - timedelta(seconds=10)
        job_ids = {queue: await submit_one(store, queue=queue, due_at=past) for queue in ("a", "b")}
        since = dict.fromkeys(range(4), clock.now())
        claimed = await claim(
            store, await open_worker(store), lanes=(Lane("a", 5, since), Lane("b", 5))
        )
        assert ids(claimed) == [job_ids["b"]]

    async def test_at_the_ends_of_time(self, store: Store, clock: SettableClock) -> None:
        clock.set(datetime(1970, 1, 2, tzinfo=UTC))
        old = await submit_one(store)
        clock.set(datetime(2999, 1, 1, tzinfo=UTC))
        new = await submit_one(store)
        assert ids(await claim(store, await open_worker(store))) == [old, new]


class ClaimEffectSuite(Suite):
    """What a claim does to the jobs, and to whom it gives none."""

    async def test_a_claimed_job_carries_everything(
        self, store: Store, clock: SettableClock
    ) -> None:
        job = new_job(
            payload=b'{"n":1}',
            payload_ref="blob/1",
            priority=Priority.HIGH,
            max_attempts=7,
            max_crashes=2,
            backoff=Backoff(5, 3.0, 50, 0.5),
            timeout_ms=60_000,
            on_exhausted="test.bury",
            effect_key="effect",
        )
        submitted_at = clock.now()
        await submit(store, job)
        worker = await open_worker(store)
        clock.advance(timedelta(seconds=3, microseconds=7))
        claimed = await claim_one(store, worker, grace_ms=4_000, child=2)
        for name in set(job.__struct_fields__) & set(claimed.__struct_fields__) - {"due_at"}:
            assert getattr(claimed, name) == getattr(job, name), name
        assert (claimed.job_id, claimed.attempt) == (job.id, 1)
        assert (claimed.tries, claimed.crashes) == (1, 1)
        assert claimed.due_at == claimed.created_at == submitted_at
        assert claimed.started_at == clock.now()
        assert claimed.deadline_at == clock.now() + timedelta(seconds=64)

    async def test_the_store_remembers_the_same(self, store: Store, clock: SettableClock) -> None:
        claimed = await start(store, timeout_ms=1_000)
        found = await view(store, claimed.job_id)
        assert found.state is JobState.RUNNING
        assert (found.attempt, found.tries, found.crashes) == (1, 1, 1)
        assert found.started_at == clock.now()
        assert found.deadline_at == claimed.deadline_at == clock.now() + timedelta(seconds=11)
        assert found.worker_id is not None
        assert [worker.running for worker in await store.list_workers()] == [1]
        attempts = await store.list_attempts(claimed.job_id)
        assert [(one.attempt, one.state) for one in attempts] == [(1, AttemptState.RUNNING)]
        assert attempts[0].worker_id == found.worker_id

    async def test_every_claim_raises_the_attempt_and_charges(self, store: Store) -> None:
        await submit_one(store)
        worker = await open_worker(store)
        for number in (1, 2, 3):
            claimed = await claim_one(store, worker)
            assert (claimed.attempt, claimed.tries, claimed.crashes) == (number, number, 1)
            await accept(store, claimed, FAILED, delay_ms=0)

    async def test_a_claim_clears_what_the_last_attempt_left(self, store: Store) -> None:
        first = await start(store)
        await accept(store, first, FAILED, delay_ms=0)
        await claim_one(store, await open_worker(store))
        found = await view(store, first.job_id)
        assert absent(found.reason, found.progress_done, found.progress_note)

    async def test_an_unknown_session_gets_nothing(self, store: Store) -> None:
        job_id = await submit_one(store)
        assert await claim(store, new_session().id) == []
        assert await state_of(store, job_id) is JobState.READY

    async def test_a_session_claims_until_its_lease_ends_and_no_longer(
        self, store: Store, clock: SettableClock
    ) -> None:
        await submit_many(store, 2)
        worker = await open_worker(store, lease_ms=1_000)
        clock.advance(1)
        assert len(await claim(store, worker, limit=1)) == 1
        clock.advance(_MICROSECOND)
        # Nobody has marked it lost yet; it has run out all the same.
        assert await claim(store, worker) == []
        assert (await counts(store))[JobState.READY] == 1

    async def test_a_draining_lost_or_gone_session_gets_nothing(
        self, store: Store, clock: SettableClock
    ) -> None:
        await submit_one(store)
        draining, gone, lost, alive = [
            await open_worker(store, lease_ms=lease_ms) for lease_ms in (90_000, 90_000, 1, 90_000)
        ]
        await store.end_session(draining, "draining")
        await store.end_session(gone, "gone")
        clock.advance(1)
        await store.expired(10)
        for worker in (draining, gone, lost):
            assert await claim(store, worker) == []
        assert len(await claim(store, alive)) == 1

    async def test_a_held_job_is_nobody_elses(self, store: Store, clock: SettableClock) -> None:
        running = await start(store)
        cancelling = await start(store)
        await store.cancel([cancelling.job_id], reason="stop", force=False, actor="me")
        clock.advance(timedelta(days=1))
        assert await claim(store, await open_worker(store)) == []
        await accept(store, running, SUCCEEDED)
        assert await claim(store, await open_worker(store)) == []

    async def test_two_claimers_share_two_thousand_jobs_without_overlap(self, store: Store) -> None:
        for _ in range(2):
            await submit_many(store, 1_000)
        workers = [await open_worker(store), await open_worker(store)]
        taken: dict[bytes, list[bytes]] = {worker: [] for worker in workers}

        async def work(worker: bytes) -> None:
            empty = 0
            while empty < 3:  # a claim may miss rows that the other is taking
                found = ids(await claim(store, worker, lanes=lanes({"default": 40})))
                taken[worker] += found
                empty = 0 if found else empty + 1

        await asyncio.gather(*(work(worker) for worker in workers))
        first, second = taken.values()
        assert len(first) + len(second) == 2_000
        assert len(set(first) | set(second)) == 2_000
        for worker in workers:
            assert {held.job_id for held in await store.held_by(worker)} == set(taken[worker])

    async def test_many_claimers_of_one_job(self, store: Store) -> None:
        await submit_one(store)
        workers = [await open_worker(store) for _ in range(12)]
        answers = await asyncio.gather(
            *(store.claim(claim_ask(worker, limit=1)) for worker in workers)
        )
        assert sum(len(claimed) for claimed in answers) == 1


class NextDueSuite(Suite):
    """``next_due_ms``: how long a claimer may rest."""

    async def test_nothing_waiting_is_none(self, store: Store) -> None:
        assert await store.next_due_ms(["default"], [KIND]) is None
        await start(store)
        await submit_one(store, queue="other")
        await submit_one(store, kind="other")
        assert await store.next_due_ms(["default"], [KIND]) is None
        assert await store.next_due_ms([], []) is None

    async def test_due_now_is_zero(self, store: Store, clock: SettableClock) -> None:
        await submit_one(store, due_at=clock.now() - timedelta(days=1))
        assert await store.next_due_ms(["default", "other"], [KIND, "other"]) == 0
        clock.advance(1)
        assert await store.next_due_ms(["default"], [KIND]) == 0

    async def test_the_earliest_of_all_queues_and_kinds_counts(
        self, store: Store, clock: SettableClock
    ) -> None:
        for queue, kind, delay_ms in (("a", "x", 9_000), ("b", "y", 5_000), ("c", "x", 1_000)):
            await submit_one(store, queue=queue, kind=kind, delay_ms=delay_ms, priority=3)
        assert await store.next_due_ms(["a", "b"], ["x", "y"]) == 5_000
        assert await store.next_due_ms(["a", "b"], ["x"]) == 9_000
        assert await store.next_due_ms(["a", "b", "c"], ["y"]) == 5_000
        clock.advance(4)
        assert await store.next_due_ms(["b", "a"], ["y", "x"]) == 1_000
        await submit_one(store, queue="a", kind="x", delay_ms=10, priority=0)
        assert await store.next_due_ms(["a", "b"], ["x", "y"]) == 10

    async def test_a_rest_is_never_too_short(self, store: Store, clock: SettableClock) -> None:
        await submit_one(store, due_at=clock.now() + _MICROSECOND)
        # Not due yet, so not zero: a claimer that rests as told finds something.
        assert await store.next_due_ms(["default"], [KIND]) == 1
        clock.advance(timedelta(milliseconds=1))
        assert await store.next_due_ms(["default"], [KIND]) == 0

    async def test_retries_count_and_paused_queues_do_not(self, store: Store) -> None:
        await accept(store, await start(store), FAILED, delay_ms=3_000)
        await submit_one(store, queue="other", delay_ms=1_000)
        assert await store.next_due_ms(["default", "other"], [KIND]) == 1_000
        await store.pause_queue("other", reason="", actor="me")
        assert await store.next_due_ms(["default", "other"], [KIND]) == 3_000
        await store.pause_queue("default", reason="", actor="me")
        assert await store.next_due_ms(["default", "other"], [KIND]) is None
