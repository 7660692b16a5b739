"""What belongs to one tenant is told apart from what belongs to others."""

from datetime import timedelta

import pytest

from mainspring.domain.errors import SessionLost
from mainspring.domain.job import HandlerInfo
from mainspring.domain.states import JobState
from mainspring.ports.store import Store
from mainspring.testing.builders import claim_ask, new_job, new_session
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.schedules_backfills import new_backfill
from mainspring.testing.conformance.schedules_steps import make_schedule, seconds
from mainspring.testing.conformance.steps import (
    Suite,
    claim,
    finish,
    make_dead,
    open_worker,
    submit_one,
)

_ACME = "acme"
_BITS = "bits"


class TenantSuite(Suite):
    """Whose things these are, and what one tenant has."""

    async def test_a_job_is_its_tenants_live_and_final(self, store: Store) -> None:
        final = (await make_dead(store, tenant=_BITS)).job_id
        live = await submit_one(store, tenant=_ACME)
        assert await store.tenants_of([final, new_job().id, live, live]) == {
            live: _ACME,
            final: _BITS,
        }
        assert await store.tenants_of([]) == {}

    async def test_an_old_job_is_found_as_well(self, store: Store, clock: SettableClock) -> None:
        final = (await finish(store, tenant=_ACME)).job_id
        clock.advance(timedelta(days=400))
        assert await store.tenants_of({final}) == {final: _ACME}

    async def test_states_are_counted_for_one_tenant(self, store: Store) -> None:
        await make_dead(store, tenant=_ACME)
        await submit_one(store, tenant=_ACME, delay_ms=60_000)
        await submit_one(store, tenant=_BITS)
        counted = await store.count_states(_ACME)
        assert counted == {JobState.SCHEDULED: 1, JobState.DEAD: 1}
        assert await store.count_states(_BITS) == {JobState.READY: 1}
        assert await store.count_states("nobody") == {}
        assert sum((await store.count_states()).values()) == 3

    async def test_queues_are_counted_for_one_tenant(self, store: Store) -> None:
        await submit_one(store, tenant=_ACME, queue="shared")
        await submit_one(store, tenant=_BITS, queue="shared", delay_ms=60_000)
        await submit_one(store, tenant=_BITS, queue="own")
        for queue in ("shared", "empty"):
            await store.pause_queue(queue, reason="tidy up", actor="ada")
        (shared,) = await store.list_queues(_ACME)
        assert (shared.name, shared.ready, shared.scheduled) == ("shared", 1, 0)
        assert shared.paused_reason == "tidy up"
        assert [each.name for each in await store.list_queues(_BITS)] == ["own", "shared"]
        assert await store.list_queues("nobody") == []
        assert [each.name for each in await store.list_queues()] == ["empty", "own", "shared"]

    async def test_a_backfill_is_its_schedules_tenants(
        self, store: Store, clock: SettableClock
    ) -> None:
        schedule = await make_schedule(store, tenant=_ACME)
        new = new_backfill(schedule, seconds(clock.now()) - 3_600)
        await store.create_backfill(new, actor="ada")
        assert await store.tenant_of_backfill(new.id) == _ACME
        assert await store.tenant_of_backfill(schedule) is None


class TenantWorkerSuite(Suite):
    """Sessions that are bound to a tenant."""

    async def test_a_session_remembers_its_tenant(self, store: Store) -> None:
        own, whole = await open_worker(store, tenant=_ACME), await open_worker(store)
        assert await store.is_session_of(own, _ACME)
        for worker_id, tenant in ((own, _BITS), (whole, _ACME), (new_job().id, _ACME)):
            assert not await store.is_session_of(worker_id, tenant)
        await store.end_session(own, "gone")
        assert await store.is_session_of(own, _ACME)
        assert [(each.id, each.tenant) for each in await store.list_workers(_ACME)] == [
            (own, _ACME)
        ]
        assert await store.list_workers(_BITS) == []
        assert {each.id: each.tenant for each in await store.list_workers()} == {
            own: _ACME,
            whole: None,
        }

    @pytest.mark.parametrize(("first", "second"), [(_ACME, _BITS), (None, _ACME), (_ACME, None)])
    async def test_a_session_never_changes_its_tenant(
        self, store: Store, first: str | None, second: str | None
    ) -> None:
        worker_id = await open_worker(store, tenant=first)
        await store.open_session(new_session(id=worker_id, tenant=first))
        with pytest.raises(SessionLost):
            await store.open_session(new_session(id=worker_id, tenant=second, lease_ms=1))
        (found,) = await store.list_workers()
        assert found.tenant == first
        assert (await store.beat(worker_id)).lease_ms > 1

    async def test_it_claims_jobs_of_its_tenant_alone(self, store: Store) -> None:
        worker_id = await open_worker(store, tenant=_ACME)
        own = [await submit_one(store, tenant=tenant) for tenant in (_BITS, _ACME, "default")][1]
        assert await store.next_due_ms(["default"], ["test.work"], _ACME) == 0
        claimed = await claim(store, worker_id, tenant=_ACME)
        assert [(job.job_id, job.tenant) for job in claimed] == [(own, _ACME)]
        assert await claim(store, worker_id, tenant=_ACME) == []
        assert await store.next_due_ms(["default"], ["test.work"], _ACME) is None
        assert await store.next_due_ms(["default"], ["test.work"]) == 0

    async def test_nobody_claims_for_a_tenant_in_the_name_of_another_session(
        self, store: Store
    ) -> None:
        await submit_one(store, tenant=_ACME)
        for worker_id in (
            await open_worker(store),
            await open_worker(store, tenant=_BITS),
            new_job().id,
        ):
            assert await store.claim(claim_ask(worker_id, tenant=_ACME)) == []

    async def test_whoever_works_for_all_claims_for_all(self, store: Store) -> None:
        for tenant in (_ACME, _BITS):
            await submit_one(store, tenant=tenant)
        claimed = await claim(store, await open_worker(store))
        assert {job.tenant for job in claimed} == {_ACME, _BITS}

    async def test_each_tenant_declares_kinds_of_its_own(self, store: Store) -> None:
        declared = [
            HandlerInfo(kind="send", tenant=tenant, queue=tenant) for tenant in (_ACME, _BITS)
        ]
        await store.declare_handlers(declared)
        for each in declared:
            assert await store.list_handlers(each.tenant) == [each]
        assert sorted(each.tenant for each in await store.list_handlers()) == [_ACME, _BITS]
