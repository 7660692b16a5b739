"""Workers come, beat and go: ``SessionStore``."""

from collections.abc import Sequence
from typing import Final

import msgspec

from mainspring.domain.errors import InvalidInput, SessionLost
from mainspring.domain.ids import WORKER, show
from mainspring.domain.job import HandlerInfo, NewSession, WorkerView
from mainspring.ports.store import Beat
from mainspring.store.auditing import drain_line
from mainspring.store.sqlite.auditing import audit
from mainspring.store.sqlite.instants import HOUR_US, from_us
from mainspring.store.sqlite.packing import as_json
from mainspring.store.sqlite.part import Part
from mainspring.store.sqlite.unit import Row, Unit

_ENDINGS: Final = {"draining": "drain_session", "gone": "close_session"}
_queues: Final = msgspec.json.Decoder(dict[str, int])
_kinds: Final = msgspec.json.Decoder(tuple[str, ...])
_handlers: Final = msgspec.json.Decoder(HandlerInfo)


class Sessions(Part):
    """Workers come, beat and go."""

    async def open_session(self, session: NewSession) -> Beat:
        def work(unit: Unit) -> Beat:
            values = {
                "id": session.id,
                "name": session.name,
                "host": session.host,
                "pid": session.pid,
                "version": session.version,
                "queues": as_json(session.queues),
                "kinds": as_json(session.kinds),
                "lease_ms": session.lease_ms,
                "tenant": session.tenant,
                "now": unit.now_us,
            }
            return _beat_of(unit.row("open_session", values), session.id)

        return await self._engine.write(work)

    async def beat(self, worker_id: bytes) -> Beat:
        def work(unit: Unit) -> Beat:
            row = unit.row("beat", {"worker_id": worker_id, "now": unit.now_us})
            return _beat_of(row, worker_id)

        return await self._engine.write(work)

    async def end_session(self, worker_id: bytes, state: str) -> None:
        name = _ENDINGS.get(state)
        if name is None:
            raise InvalidInput(f"a session cannot become {state!r}", hint="use draining or gone")
        await self._engine.write(
            lambda unit: unit.change(name, {"worker_id": worker_id, "now": unit.now_us})
        )

    async def ask_drain(self, worker_id: bytes, *, actor: str) -> bool:
        def work(unit: Unit) -> bool:
            known = unit.row("find_worker", {"worker_id": worker_id})
            if known is None:
                return False
            tenant, name, state, is_asked = known
            if not is_asked:
                unit.change("ask_drain", {"worker_id": worker_id})
                audit(unit, actor, "worker.drain", [drain_line(worker_id, tenant, name, state)])
            return True

        return await self._engine.write(work)

    async def declare_handlers(self, handlers: Sequence[HandlerInfo]) -> None:
        def work(unit: Unit) -> None:
            for handler in handlers:
                values = {
                    "tenant": handler.tenant,
                    "kind": handler.kind,
                    "info": as_json(handler),
                    "now": unit.now_us,
                }
                unit.change("declare_handler", values)

        if handlers:
            await self._engine.write(work)

    async def is_session_of(self, worker_id: bytes, tenant: str) -> bool:
        values = {"worker_id": worker_id, "tenant": tenant}
        return bool(await self._engine.read(lambda unit: unit.rows("find_session", values)))

    async def list_workers(self, tenant: str | None = None) -> list[WorkerView]:
        def work(unit: Unit) -> list[Row]:
            values = {"ended_after": unit.now_us - HOUR_US, "tenant": tenant}
            return unit.rows("list_workers", values)

        return [_worker_view(row) for row in await self._engine.read(work)]

    async def list_handlers(self, tenant: str | None = None) -> list[HandlerInfo]:
        rows = await self._engine.read(lambda unit: unit.rows("list_handlers", {"tenant": tenant}))
        return [_handlers.decode(info) for (info,) in rows]


def _beat_of(row: Row | None, worker_id: bytes) -> Beat:
    if row is None:
        raise SessionLost(f"the session {show(WORKER, worker_id)} has ended or never was")
    lease_ms, drain_asked = row
    return Beat(lease_ms=lease_ms, drain=bool(drain_asked))


def _worker_view(row: Row) -> WorkerView:
    (
        worker_id, name, host, pid, version, queues, kinds, state,
        started_at, beat_at, lease_until, running, tenant,
    ) = row  # fmt: skip
    return WorkerView(
        id=worker_id,
        name=name,
        host=host,
        pid=pid,
        version=version,
        queues=_queues.decode(queues),
        kinds=_kinds.decode(kinds),
        state=state,
        started_at=from_us(started_at),
        beat_at=from_us(beat_at),
        lease_until=from_us(lease_until),
        running=running,
        tenant=tenant,
    )
