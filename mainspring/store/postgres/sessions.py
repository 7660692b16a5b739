"""Worker sessions: one row each, renewed by its beats."""

from collections.abc import Sequence
from typing import Final

from mainspring.domain.errors import InvalidInput, SessionLost
from mainspring.domain.ids import WORKER, show
from mainspring.domain.job import HandlerInfo, NewSession, WorkerView
from mainspring.ports.store import Beat
from mainspring.store.auditing import drain_line
from mainspring.store.postgres import rows
from mainspring.store.postgres.auditing import audit
from mainspring.store.postgres.part import Part
from mainspring.store.postgres.pool import follow, load
from mainspring.store.statements import Ask, Steps

_OPEN: Final = load("open_session")
_BEAT: Final = load("beat")
_ASK_DRAIN: Final = load("ask_drain")
_FIND_SESSION: Final = load("find_session")
_DECLARE: Final = load("declare_handlers")
_LIST_WORKERS: Final = load("list_workers")
_LIST_HANDLERS: Final = load("list_handlers")
_END: Final = {"draining": load("drain_session"), "gone": load("close_session")}


class Sessions(Part):
    """Implements ``SessionStore``."""

    async def open_session(self, session: NewSession) -> Beat:
        values: dict[str, object] = {
            "at": self._at(),
            "id": session.id,
            "lease_ms": session.lease_ms,
            "pid": session.pid,
            "name": rows.keepable(session.name),
            "host": rows.keepable(session.host),
            "version": session.version,
            "queues": rows.json_text(session.queues),
            "kinds": rows.json_text(session.kinds),
            "tenant": session.tenant,
        }
        found = await self._pools.dispatch.fetch(_OPEN, values, changes=True)
        if not found:
            raise _lost(session.id)
        return Beat(*found[0])

    async def beat(self, worker_id: bytes) -> Beat:
        values: dict[str, object] = {"at": self._at(), "worker_id": worker_id}
        found = await self._pools.dispatch.fetch(_BEAT, values, changes=True)
        if not found:
            raise _lost(worker_id)
        return Beat(*found[0])

    async def end_session(self, worker_id: bytes, state: str) -> None:
        statement = _END.get(state)
        if statement is None:
            raise InvalidInput(
                f"a session cannot be ended as {state!r}", hint="use draining or gone"
            )
        values: dict[str, object] = {"at": self._at(), "worker_id": worker_id}
        await self._pools.dispatch.fetch(statement, values, changes=True)

    async def ask_drain(self, worker_id: bytes, *, actor: str) -> bool:
        at = self._at()

        def steps() -> Steps[bool]:
            found = yield Ask(_ASK_DRAIN, {"worker_id": worker_id})
            if found and not found[0]["drain_asked"]:
                tenant, name, state, _ = found[0]
                line = drain_line(worker_id, tenant, name, state)
                yield audit(at, actor, "worker.drain", [line])
            return bool(found)

        return await self._pools.general.transaction(lambda connection: follow(connection, steps()))

    async def declare_handlers(self, handlers: Sequence[HandlerInfo]) -> None:
        last = {(each.tenant, each.kind): each for each in handlers}
        if not last:
            return
        values: dict[str, object] = {
            "at": self._at(),
            "tenants": [tenant for tenant, _ in last],
            "kinds": [kind for _, kind in last],
            "infos": [rows.keepable(rows.json_text(each)) for each in last.values()],
        }
        await self._pools.general.fetch(_DECLARE, values, changes=True)

    async def is_session_of(self, worker_id: bytes, tenant: str) -> bool:
        values: dict[str, object] = {"worker_id": worker_id, "tenant": tenant}
        return bool(await self._pools.general.fetch(_FIND_SESSION, values, changes=False))

    async def list_workers(self, tenant: str | None = None) -> list[WorkerView]:
        values: dict[str, object] = {"at": self._at(), "tenant": tenant}
        found = await self._pools.general.fetch(_LIST_WORKERS, values, changes=False)
        return [rows.worker_view(row) for row in found]

    async def list_handlers(self, tenant: str | None = None) -> list[HandlerInfo]:
        values: dict[str, object] = {"tenant": tenant}
        found = await self._pools.general.fetch(_LIST_HANDLERS, values, changes=False)
        return [rows.handler_info(row) for row in found]


def _lost(worker_id: bytes) -> SessionLost:
    return SessionLost(f"the session {show(WORKER, worker_id)} has ended")
