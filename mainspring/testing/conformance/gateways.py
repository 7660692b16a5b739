"""What every ``WorkerGateway`` does, whatever stands between it and its store."""

import asyncio
from datetime import timedelta
from typing import Any, Protocol

import pytest

from mainspring.domain.errors import SessionLost
from mainspring.domain.ids import show_job
from mainspring.domain.job import Backoff, Claimed, HandlerInfo
from mainspring.domain.outcome import (
    Outcome,
    Report,
)
from mainspring.domain.states import AttemptState, JobState
from mainspring.ports.blobs import BlobStore
from mainspring.ports.gateway import WorkerGateway
from mainspring.ports.store import Lane, Store
from mainspring.testing.builders import (
    KIND,
    claim_ask,
    new_job,
    new_session,
)
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    SUCCEEDED,
    Suite,
    counts,
    submit_many,
    submit_one,
    view,
    worker_state,
)

#: So long that a session never ends by itself in a test that is not about sessions.
_LEASE_MS = 3_600_000
_PATIENCE_SECONDS = 30.0


class MakeGateway(Protocol):
    """Makes another gateway to the store of this test."""

    def __call__(self) -> WorkerGateway:
        """Make it; the fixture closes it."""
        ...


class GatewaySuite(Suite):
    """What the suites of gateways share. Fixtures: ``store``, ``blobs`` and ``make_gateway``."""

    @pytest.fixture
    def gateway(self, make_gateway: MakeGateway) -> WorkerGateway:
        """Return the gateway of this test."""
        return make_gateway()


async def open_session(gateway: WorkerGateway, **changes: Any) -> bytes:
    """Open a session through a gateway; return the worker's id."""
    handlers = changes.pop("handlers", ())
    session = new_session(**{"lease_ms": _LEASE_MS, **changes})
    await gateway.open_session(session, handlers)
    return session.id


async def claim_new(
    gateway: WorkerGateway, store: Store, worker_id: bytes | None = None, **changes: Any
) -> Claimed:
    """Submit a job, and claim it through the gateway."""
    job_id = await submit_one(store, **changes)
    worker = worker_id or await open_session(gateway)
    claimed = await gateway.claim(claim_ask(worker))
    assert [job.job_id for job in claimed] == [job_id]
    return claimed[0]


def told(job: Claimed, outcome: Outcome) -> Report:
    """Return what a worker hands in."""
    return Report(job.job_id, job.attempt, outcome)


async def hand_in(gateway: WorkerGateway, job: Claimed, outcome: Outcome) -> bool:
    """Hand in one outcome."""
    [accepted] = await gateway.report([told(job, outcome)])
    return accepted


class GatewaySessionSuite(GatewaySuite):
    """Sessions begin, beat and end."""

    async def test_a_session_has_the_lease_that_it_asked_for(
        self, gateway: WorkerGateway, store: Store
    ) -> None:
        session = new_session(lease_ms=7_000, queues={"a": 1, "b": 2})
        beat = await gateway.open_session(session, [])
        assert (beat.lease_ms, beat.drain) == (7_000, False)
        [worker] = await store.list_workers()
        assert (worker.id, worker.name, worker.host, worker.pid, worker.version) == (
            session.id,
            session.name,
            session.host,
            session.pid,
            session.version,
        )
        assert (worker.queues, worker.kinds) == (session.queues, session.kinds)

    async def test_handlers_are_declared_whole(self, gateway: WorkerGateway, store: Store) -> None:
        wanted = [
            HandlerInfo(kind="a.plain"),
            HandlerInfo(
                kind="b.full",
                queue="mail",
                priority=1,
                max_attempts=3,
                max_crashes=2,
                backoff=Backoff(initial_ms=9, factor=3.0, cap_ms=99, jitter=0.1, full_jitter=True),
                timeout_ms=7,
                on_exhausted="a.plain",
                mode="thread",
                unique=("user", "day"),
                unique_while="waiting",
                on_duplicate="reject",
                delay_ms=5,
                schema='{"type": "object"}',
                doc="what it does",
            ),
        ]
        await gateway.open_session(new_session(lease_ms=_LEASE_MS), wanted)
        assert await store.list_handlers() == wanted

    async def test_a_beat_extends_the_lease(
        self, gateway: WorkerGateway, store: Store, clock: SettableClock
    ) -> None:
        worker = await open_session(gateway, lease_ms=2_000)
        for _ in range(3):
            clock.advance(1.5)
            assert (await gateway.beat(worker)).lease_ms == 2_000
        clock.advance(2.5)
        with pytest.raises(SessionLost):
            await gateway.beat(worker)

    async def test_a_session_that_never_was_is_lost(self, gateway: WorkerGateway) -> None:
        with pytest.raises(SessionLost):
            await gateway.beat(new_session().id)

    async def test_a_drain_that_was_asked_for_is_told(
        self, gateway: WorkerGateway, store: Store
    ) -> None:
        worker = await open_session(gateway)
        await store.ask_drain(worker, actor="me")
        assert (await gateway.beat(worker)).drain

    async def test_who_drains_gets_nothing_and_may_finish(
        self, gateway: WorkerGateway, store: Store
    ) -> None:
        worker = await open_session(gateway)
        job = await claim_new(gateway, store, worker)
        await submit_one(store)
        await gateway.drain_session(worker)
        assert await gateway.claim(claim_ask(worker)) == []
        await gateway.beat(worker)
        assert await hand_in(gateway, job, SUCCEEDED)

    async def test_what_a_closed_session_held_is_lost(
        self, gateway: WorkerGateway, store: Store
    ) -> None:
        worker = await open_session(gateway)
        job = await claim_new(gateway, store, worker)
        await gateway.close_session(worker)
        assert await worker_state(store, worker) == "gone"
        [attempt] = await store.list_attempts(job.job_id)
        assert attempt.state is AttemptState.LOST
        with pytest.raises(SessionLost):
            await gateway.beat(worker)

    async def test_what_a_dead_child_held_is_lost_and_nothing_else(
        self, gateway: WorkerGateway, store: Store
    ) -> None:
        await submit_many(store, 5)
        worker = await open_session(gateway)
        mine = await gateway.claim(claim_ask(worker, child=1, limit=2))
        others = await gateway.claim(claim_ask(worker, child=2))
        assert await gateway.child_died(worker, 1, "killed by SIGKILL") == 2
        for job in mine:
            [attempt] = await store.list_attempts(job.job_id)
            assert attempt.state is AttemptState.LOST
        assert all(await gateway.report([told(job, SUCCEEDED) for job in others]))


class GatewayClaimSuite(GatewaySuite):
    """Attempts are handed out."""

    async def test_an_attempt_comes_with_all_that_is_known_of_it(
        self, gateway: WorkerGateway, store: Store
    ) -> None:
        job = new_job(
            payload=b'{"n":1,"text":"\xe2\x82\xac"}',
            priority=1,
            max_attempts=7,
            max_crashes=4,
            backoff=Backoff(initial_ms=5, factor=1.5),
            timeout_ms=12_345,
            on_exhausted="bury",
            effect_key="key-1",
            tenant="acme",
        )
        await store.submit([job])
        worker = await open_session(gateway)
        [claimed] = await gateway.claim(claim_ask(worker))
        found = await view(store, job.id)
        assert (claimed.job_id, claimed.attempt, claimed.kind) == (job.id, 1, KIND)
        assert (claimed.queue, claimed.tenant, claimed.priority) == ("default", "acme", 1)
        assert (claimed.payload, claimed.payload_ref) == (job.payload, None)
        assert (claimed.tries, claimed.crashes) == (1, 1)
        assert (claimed.max_attempts, claimed.max_crashes) == (7, 4)
        assert (claimed.backoff, claimed.timeout_ms) == (job.backoff, 12_345)
        assert (claimed.effect_key, claimed.on_exhausted) == ("key-1", "bury")
        assert (claimed.due_at, claimed.created_at) == (found.due_at, found.created_at)
        assert (claimed.started_at, claimed.deadline_at) == (found.started_at, found.deadline_at)
        assert claimed.deadline_at - claimed.started_at == timedelta(milliseconds=22_345)
        assert (claimed.schedule_id, claimed.nominal_at, claimed.fire) == (None, None, None)

    async def test_without_an_effect_key_the_job_names_its_effects(
        self, gateway: WorkerGateway, store: Store
    ) -> None:
        job = await claim_new(gateway, store)
        assert job.effect_key in (None, show_job(job.job_id))

    async def test_lanes_kinds_and_limits_are_heeded(
        self, gateway: WorkerGateway, store: Store
    ) -> None:
        await submit_many(store, 3)
        await submit_many(store, 3, queue="mail")
        await submit_many(store, 3, kind="other")
        worker = await open_session(gateway)
        lanes = (Lane("default", 2), Lane("mail", 1))
        claimed = await gateway.claim(claim_ask(worker, lanes=lanes, limit=9))
        assert sorted(job.queue for job in claimed) == ["default", "default", "mail"]
        assert {job.kind for job in claimed} == {KIND}
        assert len(await gateway.claim(claim_ask(worker, limit=1))) == 1
        found = await gateway.claim(claim_ask(worker, kinds=("other",)))
        assert [job.kind for job in found] == ["other"] * 3

    async def test_the_hard_deadline_has_the_grace_that_was_asked_for(
        self, gateway: WorkerGateway, store: Store
    ) -> None:
        await submit_one(store, timeout_ms=1_000)
        [job] = await gateway.claim(claim_ask(await open_session(gateway), grace_ms=500))
        assert job.deadline_at - job.started_at == timedelta(milliseconds=1_500)

    async def test_what_was_given_unseen_goes_back_and_costs_no_try(
        self, gateway: WorkerGateway, make_gateway: MakeGateway, store: Store
    ) -> None:
        """A claim's answer was lost; the next one says what this process knows it holds."""
        await submit_many(store, 3)
        worker = await open_session(gateway)
        [seen, *unseen] = await gateway.claim(claim_ask(worker))
        holding = ((seen.job_id, seen.attempt),)
        again = await gateway.claim(claim_ask(worker, holding=holding))
        assert {job.job_id for job in again} == {job.job_id for job in unseen}
        assert {(job.attempt, job.tries) for job in again} == {(2, 1)}
        assert await hand_in(gateway, seen, SUCCEEDED)

    async def test_large_payloads_are_fetched(
        self, gateway: WorkerGateway, store: Store, blobs: BlobStore
    ) -> None:
        reference = await blobs.put("payload/x", b'{"a":2}')
        worker = await open_session(gateway)
        large = await claim_new(gateway, store, worker, payload_ref=reference)
        assert large.payload_ref is not None
        assert await gateway.payload(large) == b'{"a":2}'
        small = await claim_new(gateway, store, worker, payload=b'{"a":1}')
        assert await gateway.payload(small) == b'{"a":1}'

    async def test_many_large_payloads_at_once(self, gateway: WorkerGateway, store: Store) -> None:
        """More than fits into a message: each comes along or can be fetched."""
        body = b'{"text":"' + b"x" * 400_000 + b'"}'
        await submit_many(store, 12, payload=body)
        claimed = await gateway.claim(claim_ask(await open_session(gateway)))
        assert [await gateway.payload(job) for job in claimed] == [body] * 12

    async def test_gateways_share_a_store_without_overlap(
        self, make_gateway: MakeGateway, store: Store
    ) -> None:
        jobs = await submit_many(store, 300)
        done: list[bytes] = []

        async def work(gateway: WorkerGateway) -> None:
            worker = await open_session(gateway)
            while claimed := await gateway.claim(claim_ask(worker, limit=40)):
                assert all(await gateway.report([told(job, SUCCEEDED) for job in claimed]))
                done.extend(job.job_id for job in claimed)

        await asyncio.gather(*(work(make_gateway()) for _ in range(3)))
        assert sorted(done) == sorted(jobs)
        assert await counts(store) == {JobState.SUCCEEDED: 300}

    async def test_who_waits_is_woken_by_work(self, gateway: WorkerGateway, store: Store) -> None:
        worker = await open_session(gateway)
        assert await gateway.claim(claim_ask(worker)) == []
        assert not await gateway.wait_for_work(worker, ["default"], 0.05)
        waiting = asyncio.ensure_future(  # noqa: TID251 - awaited below
            gateway.wait_for_work(worker, ["default"], _PATIENCE_SECONDS)
        )
        job_id = await submit_one(store)
        store.wakeups.announce({"queue:default"})
        assert await waiting
        assert [job.job_id for job in await gateway.claim(claim_ask(worker))] == [job_id]

    async def test_who_waits_is_woken_by_a_message(
        self, gateway: WorkerGateway, store: Store
    ) -> None:
        worker = await open_session(gateway)
        assert await gateway.claim(claim_ask(worker)) == []
        assert not await gateway.wait_for_work(worker, [], 0.05)
        waiting = asyncio.ensure_future(  # noqa: TID251 - awaited below
            gateway.wait_for_work(worker, [], _PATIENCE_SECONDS)
        )
        for _ in range(200):
            # A hint that comes before anybody listens is lost: that is what hints are.
            store.wakeups.announce({f"worker:{worker.hex()}"})
            done, _ = await asyncio.wait({waiting}, timeout=0.05)
            if done:
                break
        assert await waiting
