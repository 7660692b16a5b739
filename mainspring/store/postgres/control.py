"""People and clients change what is under way. Every change is written into the audit with it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from mainspring.domain.states import JobState
from mainspring.ports.store import CancelResult
from mainspring.store.auditing import (
    Cancelled,
    Dead,
    Line,
    Purged,
    cancelled,
    run_now_line,
    under,
)
from mainspring.store.postgres.auditing import audit
from mainspring.store.postgres.part import Part
from mainspring.store.postgres.pool import Connection, bind, load
from mainspring.store.postgres.rows import keepable
from mainspring.store.statements import Ask

_CANCEL: Final = load("cancel")
_FINAL_STATES: Final = load("final_states")
_RUN_NOW: Final = load("run_now")
_REPLAY: Final = load("replay")
_PURGE: Final = load("purge")
_PAUSE: Final = load("pause_queue")
_RESUME: Final = load("resume_queue")


class Control(Part):
    """Implements ``ControlStore``."""

    async def cancel(
        self, job_ids: Sequence[bytes], *, reason: str, force: bool, actor: str
    ) -> list[CancelResult]:
        if not job_ids:
            return []
        at = self._at()

        told = {"reason": reason, "force": force}

        async def work(connection: Connection) -> dict[bytes, CancelResult]:
            acted = await cancel_jobs(connection, at, job_ids, reason=reason, force=force)
            lines = under([each.line for each in acted.values()], told)
            await tell(connection, audit(at, actor, "job.cancel", lines))
            found = {job_id: each.result for job_id, each in acted.items()}
            missing = [job_id for job_id in job_ids if job_id not in found]
            if missing:
                sought: dict[str, object] = {"ids": missing, "finished_after": None}
                bound = bind(_FINAL_STATES, sought)
                for row in await connection.fetch(_FINAL_STATES.text, *bound):
                    found[row["id"]] = CancelResult(row["id"], JobState(row["state"]), False)
            return found

        found = await self._pools.general.transaction(work)
        return [found.get(each) or CancelResult(each, None, changed=False) for each in job_ids]

    async def run_now(self, job_ids: Sequence[bytes], *, actor: str) -> list[bytes]:
        if not job_ids:
            return []
        at = self._at()

        async def work(connection: Connection) -> set[bytes]:
            moved = await run_jobs_now(connection, at, job_ids)
            await tell(connection, audit(at, actor, "job.run_now", list(moved.values())))
            return set(moved)

        return _in_order(job_ids, await self._pools.general.transaction(work))

    async def replay(
        self, job_ids: Sequence[bytes], *, payload: bytes | None, actor: str
    ) -> list[bytes]:
        if not job_ids:
            return []
        at = self._at()
        text = None if payload is None else payload.decode()

        async def work(connection: Connection) -> set[bytes]:
            revived = await replay_jobs(connection, at, job_ids, text)
            await tell(connection, audit(at, actor, "job.replay", list(revived.values())))
            return set(revived)

        return _in_order(job_ids, await self._pools.general.transaction(work))

    async def purge(self, job_ids: Sequence[bytes], *, actor: str) -> list[str]:
        if not job_ids:
            return []
        at = self._at()

        async def work(connection: Connection) -> list[str]:
            purged = await purge_jobs(connection, job_ids)
            lines = [each.line for each in purged.values()]
            await tell(connection, audit(at, actor, "job.purge", lines))
            return [reference for each in purged.values() for reference in each.references]

        return await self._pools.general.transaction(work)

    async def pause_queue(self, queue: str, *, reason: str, actor: str) -> bool:
        at = self._at()
        values: dict[str, object] = {
            "at": at, "queue": queue, "reason": keepable(reason), "actor": keepable(actor),
        }  # fmt: skip
        after = {"is_paused": True, "reason": reason}
        told = Line(queue, before={"is_paused": False}, after=after)

        async def work(connection: Connection) -> bool:
            rows = await connection.fetch(_PAUSE.text, *bind(_PAUSE, values))
            await tell(connection, audit(at, actor, "queue.pause", [told] if rows else []))
            return bool(rows)

        return await self._pools.general.transaction(work)

    async def resume_queue(self, queue: str, *, actor: str) -> bool:
        at = self._at()

        async def work(connection: Connection) -> bool:
            rows = await connection.fetch(_RESUME.text, *bind(_RESUME, {"queue": queue}))
            told = [
                Line(queue, before={"is_paused": True, **row}, after={"is_paused": False})
                for row in rows
            ]
            await tell(connection, audit(at, actor, "queue.resume", told))
            return bool(rows)

        return await self._pools.general.transaction(work)


def _in_order(asked: Sequence[bytes], done: set[bytes]) -> list[bytes]:
    return [each for each in dict.fromkeys(asked) if each in done]


async def cancel_jobs(
    connection: Connection,
    at: datetime | None,
    job_ids: Sequence[bytes],
    *,
    reason: str,
    force: bool,
) -> dict[bytes, Cancelled]:
    """Cancel live jobs; tell of each that was found."""
    ids = sorted(set(job_ids))
    values: dict[str, object] = {
        "at": at, "ids": ids, "forced_ids": ids if force else (), "reason": keepable(reason),
    }  # fmt: skip
    found: dict[bytes, Cancelled] = {}
    for row in await connection.fetch(_CANCEL.text, *bind(_CANCEL, values)):
        state = JobState(row["state"])
        result = CancelResult(row["id"], state, row["changed"], row["worker_id"])
        found[row["id"]] = cancelled(result, row["tenant"], row["former"])
    return found


async def run_jobs_now(
    connection: Connection, at: datetime | None, job_ids: Sequence[bytes]
) -> dict[bytes, Line]:
    """Make waiting jobs due; return those that were not, with their lines in the audit."""
    values: dict[str, object] = {"at": at, "ids": sorted(set(job_ids))}
    rows = await connection.fetch(_RUN_NOW.text, *bind(_RUN_NOW, values))
    return {row["id"]: run_now_line(*row) for row in rows}


async def replay_jobs(
    connection: Connection, at: datetime | None, job_ids: Sequence[bytes], payload: str | None
) -> dict[bytes, Line]:
    """Bring dead jobs back; return their lines in the audit."""
    values: dict[str, object] = {"at": at, "ids": sorted(set(job_ids)), "payload": payload}
    rows = await connection.fetch(_REPLAY.text, *bind(_REPLAY, values))
    is_replaced = payload is not None
    return {row["id"]: Dead(*row).replayed(is_replaced=is_replaced) for row in rows}


async def purge_jobs(connection: Connection, job_ids: Sequence[bytes]) -> dict[bytes, Purged]:
    """Delete dead jobs; return what goes with each."""
    values: dict[str, object] = {"ids": sorted(set(job_ids))}
    rows = await connection.fetch(_PURGE.text, *bind(_PURGE, values))
    return {row["id"]: Dead(*row).purged() for row in rows}


async def tell(connection: Connection, ask: Ask) -> None:
    """Write lines of the audit, if there are any."""
    if ask.values["subjects"]:
        await connection.execute(ask.statement.text, *bind(ask.statement, ask.values))
