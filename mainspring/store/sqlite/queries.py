"""Look, without changing anything: ``QueryStore``."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from mainspring.domain.changes import Change, Changes
from mainspring.domain.ids import oldest_at
from mainspring.domain.job import (
    AttemptView,
    FailureGroup,
    JobFilter,
    JobView,
    Page,
    QueueView,
    Trend,
)
from mainspring.domain.limits import CHANGE_PATIENCE_SECONDS, GROUP_JOBS_MAX
from mainspring.domain.outcome import LogLine
from mainspring.domain.states import FINAL, AttemptState, JobState, effective_state
from mainspring.store.sqlite.control import states_found
from mainspring.store.sqlite.instants import from_us, from_us_or_none, to_us
from mainspring.store.sqlite.packing import as_json, chunks, pack, positions, raw
from mainspring.store.sqlite.part import Part
from mainspring.store.sqlite.records import failure_group, job_view
from mainspring.store.sqlite.unit import Row, Unit

#: After every id.
_NEWEST: Final = b"\xff" * 17
_CLOCKS_DIFFER: Final = timedelta(hours=1)
_UNSUCCESSFUL: Final = FINAL - {JobState.SUCCEEDED}


class Queries(Part):
    """Look, without changing anything."""

    async def now(self) -> datetime:
        return from_us(self._engine.now_us())

    async def get_job(self, job_id: bytes) -> JobView | None:
        def work(unit: Unit) -> JobView | None:
            values = {"id": job_id}
            row = unit.row("get_live", values) or unit.row("get_final", values)
            return None if row is None else job_view(row, unit.now_us)

        return await self._engine.read(work)

    async def get_states(self, job_ids: Collection[bytes]) -> dict[bytes, JobState]:
        def work(unit: Unit) -> dict[bytes, JobState]:
            now = from_us(unit.now_us)
            states: dict[bytes, JobState] = {}
            for part in chunks(list(job_ids)):
                values = {"ids": pack(part), "positions": positions(len(part))}
                found = unit.decoded("find_states", states_found, values)
                states |= {
                    part[position]: effective_state(state, from_us(due_us), now)
                    for position, state, due_us, *_ in found
                }
            return states

        return await self._engine.read(work) if job_ids else {}

    async def tenants_of(self, job_ids: Collection[bytes]) -> dict[bytes, str]:
        def work(unit: Unit) -> dict[bytes, str]:
            tenants: dict[bytes, str] = {}
            for part in chunks(list(job_ids)):
                values = {"ids": pack(part), "positions": positions(len(part))}
                tenants.update(unit.rows("find_tenants", values))
            return tenants

        return await self._engine.read(work) if job_ids else {}

    async def list_jobs(self, wanted: JobFilter, *, limit: int, before: bytes | None) -> Page:
        return await self._engine.read(lambda unit: find_page(unit, wanted, limit, before))

    async def list_groups(
        self, wanted: JobFilter, *, trend: Trend, limit: int
    ) -> list[FailureGroup]:
        begins_us, bucket_us = to_us(trend.begins_at), trend.bucket_ms * 1_000
        values = _filter(wanted, wanted.id_before) | {
            "states": as_json(sorted(wanted.states or _UNSUCCESSFUL)),
            "begins_at": begins_us,
            "ends_at": begins_us + trend.buckets * bucket_us,
            "bucket_ms": trend.bucket_ms,
            "scan_limit": GROUP_JOBS_MAX,
            "page_size": limit,
        }
        rows = await self._engine.read(lambda unit: unit.rows("list_groups", values))
        return [failure_group(row, trend.buckets) for row in rows]

    async def list_attempts(self, job_id: bytes) -> list[AttemptView]:
        rows = await self._engine.read(lambda unit: unit.rows("list_attempts", {"id": job_id}))
        return [
            AttemptView(
                job_id=job_id,
                attempt=attempt,
                state=AttemptState(state),
                worker_id=worker_id,
                started_at=from_us(started_us),
                ended_at=from_us_or_none(ended_us),
                reason=reason,
                error=raw(error),
            )
            for attempt, state, worker_id, started_us, ended_us, reason, error in rows
        ]

    async def list_logs(
        self, job_id: bytes, *, after: tuple[int, int] | None, limit: int
    ) -> list[LogLine]:
        attempt, sequence = after or (-1, -1)
        values = {"id": job_id, "attempt": attempt, "sequence": sequence, "page_size": limit}
        rows = await self._engine.read(lambda unit: unit.rows("list_logs", values))
        return [
            LogLine(job_id, attempt, sequence, from_us(at_us), level, message, fields)
            for attempt, sequence, at_us, level, message, fields in rows
        ]

    async def list_changes(self, since: datetime, *, limit: int) -> Changes:
        def work(unit: Unit) -> Changes:
            values = {
                "now": unit.now_us,
                "since": to_us(since),
                # Clocks of submitters differ; what is older by its id is not looked for.
                "id_from": oldest_at(since - _CLOCKS_DIFFER),
                "page_size": limit + 1,
            }
            found = unit.rows("list_changes", values)
            # A writer that took the time before this reader may commit after it.
            through = from_us(unit.now_us) - timedelta(seconds=CHANGE_PATIENCE_SECONDS)
            items = tuple(_change(row) for row in found[:limit])
            return Changes(items, through, is_cut=len(found) > limit)

        return await self._engine.read(work)

    async def list_queues(self, tenant: str | None = None) -> list[QueueView]:
        rows = await self._counted("list_queues", tenant)
        return [
            QueueView(
                name=row[0],
                paused_at=from_us_or_none(row[1]),
                paused_reason=row[2],
                ready=row[3],
                scheduled=row[4],
                retrying=row[5],
                running=row[6],
                oldest_ready_at=from_us_or_none(row[7]),
            )
            for row in rows
        ]

    async def count_states(self, tenant: str | None = None) -> dict[JobState, int]:
        rows = await self._counted("count_states", tenant)
        return {JobState(state): count for state, count in rows}

    async def _counted(self, name: str, tenant: str | None) -> list[Row]:
        def work(unit: Unit) -> list[Row]:
            return unit.rows(name, {"now": unit.now_us, "tenant": tenant})

        return await self._engine.read(work)


def _change(row: Row) -> Change:
    at_us, job_id, attempt, state, tenant, kind, queue = row
    return Change(
        at=from_us(at_us),
        job_id=job_id,
        attempt=attempt,
        state=JobState(state),
        tenant=tenant,
        kind=kind,
        queue=queue,
    )


def find_page(unit: Unit, wanted: JobFilter, limit: int, before: bytes | None) -> Page:
    """Merge live and final jobs; one row more than asked tells whether there is a next page."""
    bounds = [each for each in (before, wanted.id_before) if each is not None]
    ended_only = wanted.finished_after is not None or wanted.finished_before is not None
    values = _filter(wanted, min(bounds, default=None)) | {"page_size": limit + 1}
    rows: list[Row] = []
    if not ended_only and not (wanted.states and wanted.states <= FINAL):
        states = _json_or_none(wanted.states)
        rows += unit.rows("list_live", {**values, "states": states, "now": unit.now_us})
    rows += _final_rows(unit, wanted.states, values)
    rows.sort(key=lambda row: bytes(row[0]), reverse=True)
    items = tuple(job_view(row, unit.now_us) for row in rows[:limit])
    return Page(items, items[-1].id if items and len(rows) > limit else None)


def _final_rows(unit: Unit, states: frozenset[JobState], values: dict[str, object]) -> list[Row]:
    if not states:
        return unit.rows("list_final", {**values, "states": None})
    if JobState.SUCCEEDED in states:
        return unit.rows("list_final", {**values, "states": _json_or_none(states & FINAL)})
    # Rare among many that succeeded: each state by its own index instead of through all of them.
    return [
        row
        for state in sorted(states & _UNSUCCESSFUL)
        for row in unit.rows("list_unsuccessful", {**values, "state": state})
    ]


def _filter(wanted: JobFilter, before: bytes | None) -> dict[str, object]:
    """Return what every list takes of a filter; what is absent admits everything."""
    return {
        "before_id": _NEWEST if before is None else before,
        "id_from": wanted.id_from or b"",
        "kinds": _json_or_none(wanted.kinds),
        "queues": _json_or_none(wanted.queues),
        "tenant": wanted.tenant,
        "error_groups": _json_or_none(wanted.groups),
        "created_after": _us_or_none(wanted.created_after),
        "created_before": _us_or_none(wanted.created_before),
        "finished_after": _us_or_none(wanted.finished_after),
        "finished_before": _us_or_none(wanted.finished_before),
    }


def _json_or_none(values: Collection[str]) -> str | None:
    return as_json(sorted(values)) if values else None


def _us_or_none(instant: datetime | None) -> int | None:
    return None if instant is None else to_us(instant)
