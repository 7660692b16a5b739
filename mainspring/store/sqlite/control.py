"""People and clients change what is under way: ``ControlStore``. Every change is in the audit."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from mainspring.domain.ids import show_job
from mainspring.domain.states import FINAL, HELD, AttemptState, JobState
from mainspring.ports.store import CancelResult
from mainspring.store.sqlite.packing import as_json, chunks, pack, positions, text
from mainspring.store.sqlite.part import Part
from mainspring.store.sqlite.unit import Row, Unit

#: Position, state, due instant, worker in hexadecimal.
states_found: Final = msgspec.json.Decoder(list[tuple[int, JobState, int, str]])


class Control(Part):
    """People and clients change what is under way."""

    async def cancel(
        self, job_ids: Sequence[bytes], *, reason: str, force: bool, actor: str
    ) -> list[CancelResult]:
        def work(unit: Unit) -> list[CancelResult]:
            results: list[CancelResult] = []
            for part in chunks(list(dict.fromkeys(job_ids))):
                results += cancel_jobs(unit, part, reason, force=force)
            detail = {"reason": reason, "force": force}
            changed = [result.job_id for result in results if result.changed]
            audit_jobs(unit, actor, "cancel", dict.fromkeys(changed, detail))
            by_id = {result.job_id: result for result in results}
            return [by_id[job_id] for job_id in job_ids]

        return await self._engine.write(work) if job_ids else []

    async def run_now(self, job_ids: Sequence[bytes], *, actor: str) -> list[bytes]:
        def work(unit: Unit) -> list[bytes]:
            changed = run_jobs_now(unit, job_ids)
            found = [job_id for job_id in dict.fromkeys(job_ids) if job_id in changed]
            audit_jobs(unit, actor, "run_now", {job_id: {} for job_id in found})
            return found

        return await self._engine.write(work) if job_ids else []

    async def replay(
        self, job_ids: Sequence[bytes], *, payload: bytes | None, actor: str
    ) -> list[bytes]:
        def work(unit: Unit) -> list[bytes]:
            details = replay_jobs(unit, job_ids, text(payload))
            audit_jobs(unit, actor, "replay", details)
            return list(details)

        return await self._engine.write(work) if job_ids else []

    async def purge(self, job_ids: Sequence[bytes], *, actor: str) -> list[str]:
        def work(unit: Unit) -> list[str]:
            purged = purge_jobs(unit, job_ids)
            audit_jobs(unit, actor, "purge", {job_id: {} for job_id in purged})
            return [reference for references in purged.values() for reference in references]

        return await self._engine.write(work) if job_ids else []

    async def pause_queue(self, queue: str, *, reason: str, actor: str) -> bool:
        def work(unit: Unit) -> bool:
            values = {"queue": queue, "reason": reason, "actor": actor, "now": unit.now_us}
            changed = unit.change("pause_queue", values) > 0
            if changed:
                audit(unit, actor, "pause_queue", [(queue, {"reason": reason} if reason else {})])
            return changed

        return await self._engine.write(work)

    async def resume_queue(self, queue: str, *, actor: str) -> bool:
        def work(unit: Unit) -> bool:
            changed = unit.change("resume_queue", {"queue": queue}) > 0
            if changed:
                audit(unit, actor, "resume_queue", [(queue, {})])
            return changed

        return await self._engine.write(work)


def cancel_jobs(
    unit: Unit, job_ids: Sequence[bytes], reason: str, *, force: bool
) -> list[CancelResult]:
    """Cancel jobs that are not final; by force they are final at once."""
    values = {"ids": pack(job_ids), "positions": positions(len(job_ids))}
    found = {
        job_ids[position]: (state, worker)
        for position, state, _, worker in unit.decoded("find_states", states_found, values)
    }
    ends: dict[AttemptState | None, list[bytes]] = {None: [], AttemptState.CANCELLED: []}
    stops: list[bytes] = []
    results: list[CancelResult] = []
    for job_id in job_ids:
        state, worker = found.get(job_id, (None, ""))
        if state is None or state in FINAL:
            results.append(CancelResult(job_id, state, changed=False))
        elif state not in HELD or force:
            ends[AttemptState.CANCELLED if state in HELD else None].append(job_id)
            results.append(CancelResult(job_id, JobState.CANCELLED, changed=True))
        else:
            if state is JobState.RUNNING:
                stops.append(job_id)
            results.append(
                CancelResult(
                    job_id,
                    JobState.CANCELLING,
                    changed=state is JobState.RUNNING,
                    worker_id=bytes.fromhex(worker),
                )
            )
    for attempt_state, ids in ends.items():
        _end(unit, ids, attempt_state, reason)
    if stops:
        unit.change_ids("ask_cancel", stops, reason=reason)
    return results


def run_jobs_now(unit: Unit, job_ids: Sequence[bytes]) -> set[bytes]:
    """Make waiting jobs due; return those that were not."""
    values = {"ids": pack(job_ids), "positions": positions(len(job_ids)), "now": unit.now_us}
    return {row[0] for row in unit.rows("run_now", values)}


def replay_jobs(
    unit: Unit, job_ids: Sequence[bytes], payload: str | None
) -> dict[bytes, dict[str, object]]:
    """Bring dead jobs back; return what the audit is to say of each."""
    found = _find_dead(unit, job_ids)
    ids = list(found)
    if not ids:
        return {}
    unit.change_ids("keep_last_attempts", ids)
    unit.change_ids("revive_jobs", ids, payload=payload, now=unit.now_us)
    unit.change_ids("delete_history", ids)
    unit.change_ids("reopen_fires", ids)
    if payload is None:
        return {job_id: {} for job_id in ids}
    return {
        job_id: {"replaced": dict(zip(("payload", "payload_ref"), row[1:3], strict=True))}
        for job_id, row in found.items()
    }


def purge_jobs(unit: Unit, job_ids: Sequence[bytes]) -> dict[bytes, list[str]]:
    """Delete dead jobs; return the references of each that no row names any more."""
    found = _find_dead(unit, job_ids)
    if found:
        forget_jobs(unit, list(found))
    return {
        job_id: [reference for reference in row[2:4] if reference is not None]
        for job_id, row in found.items()
    }


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


def _find_dead(unit: Unit, job_ids: Sequence[bytes]) -> dict[bytes, Row]:
    values = {"ids": pack(job_ids), "positions": positions(len(job_ids))}
    found = {row[0]: row for row in unit.rows("list_dead", values)}
    return {job_id: found[job_id] for job_id in dict.fromkeys(job_ids) if job_id in found}


def forget_jobs(unit: Unit, ids: Sequence[bytes]) -> None:
    """Delete final jobs with everything that is kept of them."""
    for name in ("delete_logs", "delete_attempts", "delete_history"):
        unit.change_ids(name, ids)


def audit_jobs(unit: Unit, actor: str, action: str, details: Mapping[bytes, object]) -> None:
    """Write down what was done with each job."""
    audit(unit, actor, action, [(show_job(job_id), told) for job_id, told in details.items()])


def audit(unit: Unit, actor: str, action: str, entries: Sequence[tuple[str, object]]) -> None:
    """Write down who did what: an entry a subject, with its detail."""
    if entries:
        told = [(subject, as_json(detail)) for subject, detail in entries]
        values = {"actor": actor, "action": action, "entries": as_json(told), "now": unit.now_us}
        unit.change("add_audit", values)
