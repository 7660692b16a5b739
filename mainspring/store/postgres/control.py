"""People and clients change what is under way. Every change is written into the audit with it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from mainspring.domain.ids import show_job
from mainspring.domain.states import JobState
from mainspring.ports.store import CancelResult
from mainspring.store.postgres.auditing import audit
from mainspring.store.postgres.part import Part
from mainspring.store.postgres.pool import Connection, bind, load
from mainspring.store.postgres.rows import json_text, keepable
from mainspring.store.statements import Statement

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

        async def work(connection: Connection) -> dict[bytes, CancelResult]:
            found = await cancel_jobs(connection, at, job_ids, reason=reason, force=force)
            changed = [job_id for job_id, result in found.items() if result.changed]
            detail: dict[str, object] = {"reason": reason, "force": force}
            await audit_jobs(connection, at, actor, "cancel", dict.fromkeys(changed, detail))
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
            await audit_jobs(connection, at, actor, "run_now", {job_id: {} for job_id in moved})
            return moved

        return _in_order(job_ids, await self._pools.general.transaction(work))

    async def replay(
        self, job_ids: Sequence[bytes], *, payload: bytes | None, actor: str
    ) -> list[bytes]:
        if not job_ids:
            return []
        at = self._at()
        text = None if payload is None else payload.decode()

        async def work(connection: Connection) -> set[bytes]:
            details = await replay_jobs(connection, at, job_ids, text)
            await audit_jobs(connection, at, actor, "replay", details)
            return set(details)

        return _in_order(job_ids, await self._pools.general.transaction(work))

    async def purge(self, job_ids: Sequence[bytes], *, actor: str) -> list[str]:
        if not job_ids:
            return []
        at = self._at()

        async def work(connection: Connection) -> list[str]:
            purged = await purge_jobs(connection, job_ids)
            await audit_jobs(connection, at, actor, "purge", {job_id: {} for job_id in purged})
            return [reference for references in purged.values() for reference in references]

        return await self._pools.general.transaction(work)

    async def pause_queue(self, queue: str, *, reason: str, actor: str) -> bool:
        return await self._turn_queue(_PAUSE, queue, reason, actor)

    async def resume_queue(self, queue: str, *, actor: str) -> bool:
        return await self._turn_queue(_RESUME, queue, "", actor)

    async def _turn_queue(self, statement: Statement, queue: str, reason: str, actor: str) -> bool:
        at = self._at()
        values: dict[str, object] = {
            "at": at, "queue": queue, "reason": keepable(reason), "actor": actor,
        }  # fmt: skip

        async def work(connection: Connection) -> bool:
            turned = await connection.fetch(statement.text, *bind(statement, values))
            if turned:
                detail: dict[str, object] = {"reason": reason} if reason else {}
                await audit_all(connection, at, actor, statement.name, {queue: detail})
            return bool(turned)

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
) -> dict[bytes, CancelResult]:
    """Cancel live jobs; tell of each that was found."""
    ids = sorted(set(job_ids))
    values: dict[str, object] = {
        "at": at, "ids": ids, "forced_ids": ids if force else (), "reason": keepable(reason),
    }  # fmt: skip
    return {
        row["id"]: CancelResult(row["id"], JobState(row["state"]), row["changed"], row["worker_id"])
        for row in await connection.fetch(_CANCEL.text, *bind(_CANCEL, values))
    }


async def run_jobs_now(
    connection: Connection, at: datetime | None, job_ids: Sequence[bytes]
) -> set[bytes]:
    """Make waiting jobs due; return those that were not."""
    values: dict[str, object] = {"at": at, "ids": sorted(set(job_ids))}
    return {row["id"] for row in await connection.fetch(_RUN_NOW.text, *bind(_RUN_NOW, values))}


async def replay_jobs(
    connection: Connection, at: datetime | None, job_ids: Sequence[bytes], payload: str | None
) -> dict[bytes, dict[str, object]]:
    """Bring dead jobs back; return what the audit is to say of each."""
    values: dict[str, object] = {"at": at, "ids": sorted(set(job_ids)), "payload": payload}
    rows = await connection.fetch(_REPLAY.text, *bind(_REPLAY, values))
    if payload is None:
        return {row["id"]: {} for row in rows}
    return {
        row["id"]: {"replaced": {"payload": row["payload"], "payload_ref": row["payload_ref"]}}
        for row in rows
    }


async def purge_jobs(connection: Connection, job_ids: Sequence[bytes]) -> dict[bytes, list[str]]:
    """Delete dead jobs; return the references of each that no row names any more."""
    values: dict[str, object] = {"ids": sorted(set(job_ids))}
    rows = await connection.fetch(_PURGE.text, *bind(_PURGE, values))
    return {
        row["id"]: [each for each in (row["payload_ref"], row["result_ref"]) if each is not None]
        for row in rows
    }


async def audit_jobs(
    connection: Connection,
    at: datetime | None,
    actor: str,
    action: str,
    details: Mapping[bytes, Mapping[str, object]],
) -> None:
    """Write into the audit what was done with each job."""
    named = {show_job(job_id): detail for job_id, detail in details.items()}
    await audit_all(connection, at, actor, action, named)


async def audit_all(
    connection: Connection,
    at: datetime | None,
    actor: str,
    action: str,
    details: Mapping[str, Mapping[str, object]],
) -> None:
    """Write into the audit what was done with each of several things."""
    if details:
        lines = {subject: json_text(detail) for subject, detail in details.items()}
        ask = audit(at, actor, action, lines)
        await connection.execute(ask.statement.text, *bind(ask.statement, ask.values))
