"""A store as the workers of one tenant may use it: other sessions and other jobs are not there."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import msgspec

from mainspring.domain.declared import Declared
from mainspring.domain.errors import SessionLost
from mainspring.domain.ids import WORKER, show
from mainspring.domain.job import (
    Claimed,
    HandlerInfo,
    Held,
    NewSession,
    Settled,
    Settlement,
    WorkerView,
)
from mainspring.domain.outcome import LogLine, Progress
from mainspring.domain.schedule import FireOf
from mainspring.domain.webhooks import Listener
from mainspring.ports.store import Beat, ClaimAsk, Pulse, Wakeups

if TYPE_CHECKING:
    from mainspring.dispatcher.gateway import WorkerStore


class WalledSessions:
    """Sessions and declarations of one tenant."""

    def __init__(self, store: "WorkerStore", tenant: str) -> None:
        """Lend this store to workers of the tenant."""
        self._store = store
        self._tenant = tenant

    @property
    def wakeups(self) -> Wakeups:
        """Return the hints of the store."""
        return self._store.wakeups

    async def close(self) -> None:
        """Leave the store open: it belongs to whoever lends it."""

    async def is_session_of(self, worker_id: bytes, tenant: str) -> bool:
        return tenant == self._tenant and await self._store.is_session_of(worker_id, tenant)

    async def open_session(self, session: NewSession) -> Beat:
        bound = msgspec.structs.replace(session, tenant=self._tenant)
        return await self._store.open_session(bound)

    async def beat(self, worker_id: bytes) -> Beat:
        if not await self.is_session_of(worker_id, self._tenant):
            raise SessionLost(f"the session {show(WORKER, worker_id)} has ended or never was")
        return await self._store.beat(worker_id)

    async def end_session(self, worker_id: bytes, state: str) -> None:
        if await self.is_session_of(worker_id, self._tenant):
            await self._store.end_session(worker_id, state)

    async def ask_drain(self, worker_id: bytes, *, actor: str) -> bool:
        is_own = await self.is_session_of(worker_id, self._tenant)
        return is_own and await self._store.ask_drain(worker_id, actor=actor)

    async def declare_handlers(self, handlers: Sequence[HandlerInfo]) -> None:
        own = [msgspec.structs.replace(handler, tenant=self._tenant) for handler in handlers]
        await self._store.declare_handlers(own)

    async def list_listeners(self) -> list[Listener]:
        every = await self._store.list_listeners()
        return [listener for listener in every if listener.tenant == self._tenant]

    async def list_workers(self, tenant: str | None = None) -> list[WorkerView]:
        return await self._store.list_workers(self._tenant)

    async def list_handlers(self, tenant: str | None = None) -> list[HandlerInfo]:
        known = Declared(await self._store.list_handlers()).of(self._tenant)
        return [known[kind] for kind in sorted(known)]


class Walled(WalledSessions):
    """With the attempts of the tenant's jobs."""

    async def tenants_of(self, job_ids: Collection[bytes]) -> dict[bytes, str]:
        tenants = await self._store.tenants_of(job_ids)
        return {job_id: tenant for job_id, tenant in tenants.items() if tenant == self._tenant}

    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        claimed = await self._store.claim(msgspec.structs.replace(ask, tenant=self._tenant))
        assert all(job.tenant == self._tenant for job in claimed), "another tenant's job"
        return claimed

    async def next_due_ms(
        self, queues: Collection[str], kinds: Collection[str], tenant: str | None = None
    ) -> int | None:
        return await self._store.next_due_ms(queues, kinds, self._tenant)

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        # A gateway settles what it was handed by ``claim`` or ``held_by``: the tenant's own.
        return await self._store.settle(settlements)

    async def pulse(
        self, worker_id: bytes, held: Sequence[tuple[bytes, int]], progress: Sequence[Progress]
    ) -> Pulse:
        named = {job_id for job_id, _ in held} | {item.job_id for item in progress}
        own = await self.tenants_of(named)
        known = [fence for fence in held if fence[0] in own]
        told = [item for item in progress if item.job_id in own]
        found = await self._store.pulse(worker_id, known, told)
        foreign = tuple(job_id for job_id, _ in held if job_id not in own)
        return Pulse(found.cancelling, found.lost + foreign)

    async def append_logs(self, lines: Sequence[LogLine]) -> int:
        own = await self.tenants_of({line.job_id for line in lines})
        return await self._store.append_logs([line for line in lines if line.job_id in own])

    async def expired(self, limit: int) -> list[Held]:
        return [job for job in await self._store.expired(limit) if job.tenant == self._tenant]

    async def held_by(self, worker_id: bytes, child: int | None = None) -> list[Held]:
        if not await self.is_session_of(worker_id, self._tenant):
            return []
        return await self._store.held_by(worker_id, child)

    async def fires_of(self, claimed: Sequence[Claimed]) -> dict[bytes, FireOf]:
        return await self._store.fires_of(claimed)
