"""People and clients change what is under way: ``ControlStore``. Every change is in the audit."""

from collections.abc import Sequence
from typing import Final

import msgspec

from mainspring.domain.states import FINAL, HELD, AttemptState, JobState
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
from mainspring.store.sqlite.auditing import audit
from mainspring.store.sqlite.instants import from_us
from mainspring.store.sqlite.packing import chunks, pack, positions, text
from mainspring.store.sqlite.part import Part
from mainspring.store.sqlite.unit import Unit

#: Position, state, due instant, worker in hexadecimal, tenant.
states_found: Final = msgspec.json.Decoder(list[tuple[int, JobState, int, str, str]])


class Control(Part):
    """People and clients change what is under way."""

    async def cancel(
        self, job_ids: Sequence[bytes], *, reason: str, force: bool, actor: str
    ) -> list[CancelResult]:
        def work(unit: Unit) -> list[CancelResult]:
            found: list[Cancelled] = []
            for part in chunks(list(dict.fromkeys(job_ids))):
                found += cancel_jobs(unit, part, reason, force=force)
            detail = {"reason": reason, "force": force}
            audit(unit, actor, "job.cancel", under([each.line for each in found], detail))
            by_id = {each.result.job_id: each.result for each in found}
            return [by_id[job_id] for job_id in job_ids]

        return await self._engine.write(work) if job_ids else []

    async def run_now(self, job_ids: Sequence[bytes], *, actor: str) -> list[bytes]:
        def work(unit: Unit) -> list[bytes]:
            moved = run_jobs_now(unit, job_ids)
            audit(unit, actor, "job.run_now", list(moved.values()))
            return [job_id for job_id in dict.fromkeys(job_ids) if job_id in moved]

        return await self._engine.write(work) if job_ids else []

    async def replay(
        self, job_ids: Sequence[bytes], *, payload: bytes | None, actor: str
    ) -> list[bytes]:
        def work(unit: Unit) -> list[bytes]:
            revived = replay_jobs(unit, job_ids, text(payload))
            audit(unit, actor, "job.replay", list(revived.values()))
            return list(revived)

        return await self._engine.write(work) if job_ids else []

    async def purge(self, job_ids: Sequence[bytes], *, actor: str) -> list[str]:
        def work(unit: Unit) -> list[str]:
            purged = purge_jobs(unit, job_ids)
            audit(unit, actor, "job.purge", [each.line for each in purged.values()])
            return [reference for each in purged.values() for reference in each.references]

        return await self._engine.write(work) if job_ids else []

    async def pause_queue(self, queue: str, *, reason: str, actor: str) -> bool:
        def work(unit: Unit) -> bool:
            values = {"queue": queue, "reason": reason, "actor": actor, "now": unit.now_us}
            changed = unit.change("pause_queue", values) > 0
            if changed:
                after = {"is_paused": True, "reason": reason}
                line = Line(queue, before={"is_paused": False}, after=after)
                audit(unit, actor, "queue.pause", [line])
            return changed

        return await self._engine.write(work)

    async def resume_queue(self, queue: str, *, actor: str) -> bool:
        def work(unit: Unit) -> bool:
            paused = unit.row("find_paused_queue", {"queue": queue})
            if paused is None:
                return False
            paused_us, reason, paused_by = paused
            unit.change("resume_queue", {"queue": queue})
            before = {
                "is_paused": True,
                "paused_at": from_us(paused_us),
                "paused_reason": reason,
                "paused_by": paused_by,
            }
            line = Line(queue, before=before, after={"is_paused": False})
            audit(unit, actor, "queue.resume", [line])
            return True

        return await self._engine.write(work)


def cancel_jobs(
    unit: Unit, job_ids: Sequence[bytes], reason: str, *, force: bool
) -> list[Cancelled]:
    """Cancel jobs that are not final; by force they are final at once."""
    values = {"ids": pack(job_ids), "positions": positions(len(job_ids))}
    found = {
        job_ids[position]: (state, worker, tenant)
        for position, state, _, worker, tenant in unit.decoded("find_states", states_found, values)
    }
    ends: dict[AttemptState | None, list[bytes]] = {None: [], AttemptState.CANCELLED: []}
    stops: list[bytes] = []
    results: list[Cancelled] = []
    for job_id in job_ids:
        state, worker, tenant = found.get(job_id, (None, "", None))
        if state is None or state in FINAL:
            result = CancelResult(job_id, state, changed=False)
        elif state not in HELD or force:
            ends[AttemptState.CANCELLED if state in HELD else None].append(job_id)
            result = CancelResult(job_id, JobState.CANCELLED, changed=True)
        else:
            if state is JobState.RUNNING:
                stops.append(job_id)
            result = CancelResult(
                job_id,
                JobState.CANCELLING,
                changed=state is JobState.RUNNING,
                worker_id=bytes.fromhex(worker),
            )
        results.append(cancelled(result, tenant, state))
    for attempt_state, ids in ends.items():
        _end(unit, ids, attempt_state, reason)
    if stops:
        unit.change_ids("ask_cancel", stops, reason=reason)
    return results


def run_jobs_now(unit: Unit, job_ids: Sequence[bytes]) -> dict[bytes, Line]:
    """Make waiting jobs due; return those that were not, with their lines in the audit."""
    values = {"ids": pack(job_ids), "positions": positions(len(job_ids)), "now": unit.now_us}
    waiting = unit.rows("list_waiting_jobs", values)
    unit.change("run_now", values)
    return {
        job_id: run_now_line(job_id, tenant, state, from_us(due_us))
        for job_id, tenant, state, due_us in waiting
    }


def replay_jobs(unit: Unit, job_ids: Sequence[bytes], payload: str | None) -> dict[bytes, Line]:
    """Bring dead jobs back; return their lines in the audit."""
    found = _find_dead(unit, job_ids)
    ids = list(found)
    if not ids:
        return {}
    unit.change_ids("keep_last_attempts", ids)
    unit.change_ids("revive_jobs", ids, payload=payload, now=unit.now_us)
    unit.change_ids("delete_history", ids)
    unit.change_ids("reopen_fires", ids)
    is_replaced = payload is not None
    return {job_id: dead.replayed(is_replaced=is_replaced) for job_id, dead in found.items()}


def purge_jobs(unit: Unit, job_ids: Sequence[bytes]) -> dict[bytes, Purged]:
    """Delete dead jobs; return what goes with each."""
    found = _find_dead(unit, job_ids)
    if found:
        forget_jobs(unit, list(found))
    return {job_id: dead.purged() for job_id, dead in found.items()}


def _end(unit: Unit, ids: Sequence[bytes], attempt_state: AttemptState | None, reason: str) -> None:
    if not ids:
        return
    unit.change_entries(
        "finish_jobs",
        ids,
        [(None, None, None, None)] * len(ids),
        state=JobState.CANCELLED,
        attempt_state=attempt_state,
        reason=reason,
        refund_try=False,
        refund_crash=False,
        # What it failed of before it was cancelled stays to be seen.
        keep_error=True,
        now=unit.now_us,
    )
    unit.change_ids("close_fires", ids, state=JobState.CANCELLED, now=unit.now_us)
    unit.change_ids("delete_jobs", ids)


def _find_dead(unit: Unit, job_ids: Sequence[bytes]) -> dict[bytes, Dead]:
    values = {"ids": pack(job_ids), "positions": positions(len(job_ids))}
    found = {row[0]: Dead(*row) for row in unit.rows("list_dead", values)}
    return {job_id: found[job_id] for job_id in dict.fromkeys(job_ids) if job_id in found}


def forget_jobs(unit: Unit, ids: Sequence[bytes]) -> None:
    """Delete final jobs with everything that is kept of them."""
    for name in ("delete_logs", "delete_attempts", "delete_history"):
        unit.change_ids(name, ids)
