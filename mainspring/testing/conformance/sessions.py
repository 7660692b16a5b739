"""Workers come, beat and go: ``SessionStore``."""

from contextlib import suppress
from datetime import timedelta

import pytest

from mainspring.domain.errors import SessionLost
from mainspring.domain.job import Backoff, HandlerInfo
from mainspring.ports.store import Beat, Store
from mainspring.testing.builders import new_session
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    SUCCEEDED,
    Suite,
    accept,
    claim,
    claim_one,
    open_worker,
    submit_many,
    submit_one,
    worker_state,
)

_MICROSECOND = timedelta(microseconds=1)


class SessionSuite(Suite):
    """Leases of workers."""

    async def test_a_session_lives_until_now_plus_lease(
        self, store: Store, clock: SettableClock
    ) -> None:
        session = new_session(
            name="wörker", host="hóst", queues={"a": 1, "b": 20}, kinds=("x", "y"), lease_ms=15_000
        )
        assert await store.open_session(session) == Beat(lease_ms=15_000, drain=False)
        (found,) = await store.list_workers()
        for name in set(session.__struct_fields__) & set(found.__struct_fields__):
            assert getattr(found, name) == getattr(session, name), name
        assert (found.state, found.running) == ("alive", 0)
        assert found.started_at == found.beat_at == clock.now()
        assert found.lease_until == clock.now() + timedelta(seconds=15)

    async def test_opening_again_renews(self, store: Store, clock: SettableClock) -> None:
        session = new_session(lease_ms=15_000)
        await store.open_session(session)
        clock.advance(10)
        assert await store.open_session(session) == Beat(lease_ms=15_000, drain=False)
        (found,) = await store.list_workers()
        assert found.lease_until == clock.now() + timedelta(seconds=15)

    async def test_a_beat_extends_to_now_plus_lease(
        self, store: Store, clock: SettableClock
    ) -> None:
        worker = await open_worker(store, lease_ms=15_000)
        opened_at = clock.now()
        clock.advance(timedelta(seconds=4, microseconds=3))
        for _ in range(2):
            assert await store.beat(worker) == Beat(lease_ms=15_000, drain=False)
            (found,) = await store.list_workers()
            assert (found.started_at, found.beat_at) == (opened_at, clock.now())
            assert found.lease_until == clock.now() + timedelta(seconds=15)

    async def test_a_beat_counts_until_the_last_instant_and_no_longer(
        self, store: Store, clock: SettableClock
    ) -> None:
        worker = await open_worker(store, lease_ms=1_000)
        clock.advance(1)
        await store.beat(worker)
        clock.advance(timedelta(seconds=1) + _MICROSECOND)
        # Nobody has marked it; it is too late all the same.
        with pytest.raises(SessionLost):
            await store.beat(worker)
        await store.expired(10)
        with pytest.raises(SessionLost):
            await store.beat(worker)
        assert await worker_state(store, worker) == "lost"

    async def test_a_beat_of_one_is_no_beat_of_another(
        self, store: Store, clock: SettableClock
    ) -> None:
        first, second = [await open_worker(store, lease_ms=1_000) for _ in range(2)]
        clock.advance(0.9)
        await store.beat(first)
        clock.advance(0.9)
        await store.expired(10)
        assert await worker_state(store, first) == "alive"
        assert await worker_state(store, second) == "lost"

    async def test_an_unknown_or_gone_session_cannot_beat(self, store: Store) -> None:
        with pytest.raises(SessionLost):
            await store.beat(new_session().id)
        worker = await open_worker(store)
        await store.end_session(worker, "gone")
        with pytest.raises(SessionLost):
            await store.beat(worker)

    async def test_a_lost_session_never_comes_back(
        self, store: Store, clock: SettableClock
    ) -> None:
        session = new_session(lease_ms=1_000)
        await store.open_session(session)
        clock.advance(2)
        await store.expired(10)
        for state in ("draining", "gone"):
            with suppress(SessionLost):
                await store.open_session(session)
            with suppress(SessionLost):
                await store.end_session(session.id, state)
            with pytest.raises(SessionLost):
                await store.beat(session.id)
            await submit_one(store)
            assert await claim(store, session.id) == []

    async def test_draining_beats_and_settles_but_claims_nothing(
        self, store: Store, clock: SettableClock
    ) -> None:
        await submit_many(store, 2)
        worker = await open_worker(store, lease_ms=1_000)
        claimed = await claim_one(store, worker, limit=1)
        await store.end_session(worker, "draining")
        assert await worker_state(store, worker) == "draining"
        clock.advance(1)
        assert (await store.beat(worker)).lease_ms == 1_000
        assert await claim(store, worker) == []
        assert await store.expired(10) == []
        await accept(store, claimed, SUCCEEDED)
        await store.end_session(worker, "gone")
        assert await worker_state(store, worker) == "gone"

    async def test_ending_twice_is_harmless(self, store: Store) -> None:
        worker = await open_worker(store)
        for state in ("draining", "draining", "gone", "gone"):
            await store.end_session(worker, state)
            assert await worker_state(store, worker) == state
        await store.end_session(new_session().id, "gone")

    async def test_who_is_gone_does_not_drain_back_to_life(self, store: Store) -> None:
        worker = await open_worker(store)
        await store.end_session(worker, "gone")
        with suppress(SessionLost):
            await store.end_session(worker, "draining")
        with pytest.raises(SessionLost):
            await store.beat(worker)

    async def test_a_drain_is_asked_and_learned_with_the_next_beat(self, store: Store) -> None:
        asked, other = await open_worker(store), await open_worker(store)
        assert not (await store.beat(asked)).drain
        assert await store.ask_drain(asked, actor="me") is True
        assert (await store.beat(asked)).drain
        assert (await store.beat(asked)).drain
        assert not (await store.beat(other)).drain
        assert await store.ask_drain(new_session().id, actor="me") is False

    async def test_sessions_are_listed_newest_first_with_what_they_hold(
        self, store: Store, clock: SettableClock
    ) -> None:
        workers = []
        for _ in range(4):
            workers.append(await open_worker(store))
            clock.advance(1)
        await submit_many(store, 5)
        for worker, limit in zip(workers, (2, 0, 3, 0), strict=True):
            claimed = await claim(store, worker, limit=limit)
            if claimed:
                await store.cancel([claimed[0].job_id], reason="", force=False, actor="me")
        found = [(worker.id, worker.running) for worker in await store.list_workers()]
        assert found == list(zip(workers, (2, 0, 3, 0), strict=True))[::-1]

    async def test_ended_sessions_are_listed_for_an_hour(
        self, store: Store, clock: SettableClock
    ) -> None:
        alive = await open_worker(store)
        gone = await open_worker(store)
        lost = await open_worker(store, lease_ms=1_000)
        clock.advance(2)
        await store.end_session(gone, "gone")
        await store.expired(10)
        clock.advance(timedelta(minutes=59))
        assert {worker.id for worker in await store.list_workers()} == {alive, gone, lost}
        clock.advance(timedelta(minutes=2))
        assert {worker.id for worker in await store.list_workers()} == {alive}


class HandlerSuite(Suite):
    """What workers declare."""

    async def test_a_declaration_comes_back_whole(self, store: Store) -> None:
        handler = HandlerInfo(
            kind="email.send",
            queue="mail",
            priority=0,
            max_attempts=9,
            max_crashes=2,
            backoff=Backoff(1, 1.5, 9, 0.1),
            timeout_ms=5,
            on_exhausted="email.bounced",
            mode="process",
            schema='{"type":"object"}',
            doc="Sends an e-mail €.",
        )
        await store.declare_handlers([handler])
        assert await store.list_handlers() == [handler]

    async def test_the_last_declaration_counts(self, store: Store) -> None:
        await store.declare_handlers([HandlerInfo(kind="a", doc="1"), HandlerInfo(kind="b")])
        await store.declare_handlers([HandlerInfo(kind="a", doc="2")])
        await store.declare_handlers([])
        assert await store.list_handlers() == [
            HandlerInfo(kind="a", doc="2"),
            HandlerInfo(kind="b"),
        ]
        await store.declare_handlers(
            [HandlerInfo(kind="a", doc="3"), HandlerInfo(kind="a", doc="4")]
        )
        assert (await store.list_handlers())[0].doc == "4"

    async def test_they_are_listed_by_name_and_by_tenant(self, store: Store) -> None:
        assert await store.list_handlers() == []
        kinds = ("b", "a.b", "a", "B", "a_b")
        await store.declare_handlers([HandlerInfo(kind=kind) for kind in kinds])
        await store.declare_handlers([HandlerInfo(kind="a", tenant="other")])
        mine = await store.list_handlers("default")
        assert [handler.kind for handler in mine] == sorted(kinds)
        assert await store.list_handlers("other") == [HandlerInfo(kind="a", tenant="other")]
        assert await store.list_handlers("nobody") == []
        every = [handler.kind for handler in await store.list_handlers()]
        assert every == sorted([*kinds, "a"])
