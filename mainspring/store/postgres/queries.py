"""Looking. Plain reads: no row is held, and nothing a claim may want is in the way."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final

import asyncpg

from mainspring.domain.changes import Changes
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
from mainspring.domain.states import FINAL, JobState
from mainspring.store.postgres import rows
from mainspring.store.postgres.part import Part
from mainspring.store.postgres.pool import load
from mainspring.store.statements import Ask, Statement

_NOW: Final = load("now")
_GET_JOB: Final = load("get_job")
_GET_STATES: Final = load("get_states")
_FIND_TENANTS: Final = load("find_tenants")
_LIST_JOBS: Final = load("list_jobs")
_LIST_GROUPS: Final = load("list_groups")
_LIST_ATTEMPTS: Final = load("list_attempts")
_LIST_LOGS: Final = load("list_logs")
_CHANGES_HORIZON: Final = load("changes_horizon")
_LIST_CHANGES: Final = load("list_changes")
_LIST_QUEUES: Final = load("list_queues")
_COUNT_STATES: Final = load("count_states")
_CLOCKS_DIFFER: Final = timedelta(hours=1)
_UNSUCCESSFUL: Final = FINAL - {JobState.SUCCEEDED}


class Queries(Part):
    """Implements ``QueryStore``."""

    async def now(self) -> datetime:
        found = await self._pools.general.fetch(_NOW, {"at": self._at()}, changes=False)
        instant: datetime = found[0]["now"]
        return instant

    async def get_job(self, job_id: bytes) -> JobView | None:
        values: dict[str, object] = {"at": self._at(), "id": job_id}
        # The bound leaves old partitions out. It rests on the id's clock, so a miss is no answer.
        for bound in (rows.oldest_finish([job_id]), None):
            values["finished_after"] = bound
            found = await self._pools.general.fetch(_GET_JOB, values, changes=False)
            if found:
                return rows.job_view(found[0])
        return None

    async def get_states(self, job_ids: Collection[bytes]) -> dict[bytes, JobState]:
        found = await self._by_id(_GET_STATES, job_ids, {"at": self._at()})
        return {row["id"]: JobState(row["state"]) for row in found}

    async def tenants_of(self, job_ids: Collection[bytes]) -> dict[bytes, str]:
        found = await self._by_id(_FIND_TENANTS, job_ids, {})
        return {row["id"]: row["tenant"] for row in found}

    async def _by_id(
        self, statement: Statement, job_ids: Collection[bytes], values: dict[str, object]
    ) -> list[asyncpg.Record]:
        """Return the rows of jobs; those that recent partitions lack are looked for in all."""
        rows_found: list[asyncpg.Record] = []
        missing = set(job_ids)
        for bound in (rows.oldest_finish(missing), None) if missing else ():
            values |= {"ids": list(missing), "finished_after": bound}
            found = await self._pools.general.fetch(statement, values, changes=False)
            rows_found += found
            missing.difference_update(row["id"] for row in found)
            if not missing:
                break
        return rows_found

    async def list_jobs(self, wanted: JobFilter, *, limit: int, before: bytes | None) -> Page:
        asked = page_ask(wanted, self._at(), limit=limit, before=before)
        found = await self._pools.general.fetch(asked.statement, asked.values, changes=False)
        return page_of(found, limit)

    async def list_groups(
        self, wanted: JobFilter, *, trend: Trend, limit: int
    ) -> list[FailureGroup]:
        values = _filter(wanted) | {
            "states": [state.value for state in wanted.states or _UNSUCCESSFUL],
            "id_before": wanted.id_before,
            "begins_at": trend.begins_at,
            "ends_at": trend.begins_at + timedelta(milliseconds=trend.bucket_ms * trend.buckets),
            "bucket_ms": trend.bucket_ms,
            "scan_limit": GROUP_JOBS_MAX,
            "row_limit": limit,
        }
        found = await self._pools.general.fetch(_LIST_GROUPS, values, changes=False)
        return [rows.failure_group(row, trend.buckets) for row in found]

    async def list_attempts(self, job_id: bytes) -> list[AttemptView]:
        found = await self._pools.general.fetch(_LIST_ATTEMPTS, {"id": job_id}, changes=False)
        return [rows.attempt_view(row) for row in found]

    async def list_logs(
        self, job_id: bytes, *, after: tuple[int, int] | None, limit: int
    ) -> list[LogLine]:
        attempt, sequence = after or (None, None)
        values: dict[str, object] = {
            "id": job_id, "after_attempt": attempt, "after_sequence": sequence, "row_limit": limit,
        }  # fmt: skip
        found = await self._pools.general.fetch(_LIST_LOGS, values, changes=False)
        return [rows.log_line(row) for row in found]

    async def list_changes(self, since: datetime, *, limit: int) -> Changes:
        # First the horizon: what ends between the two is seen by the second.
        asked: dict[str, object] = {
            "at": self._at(), "patience_seconds": CHANGE_PATIENCE_SECONDS,
        }  # fmt: skip
        horizon = await self._pools.general.fetch(_CHANGES_HORIZON, asked, changes=False)
        through: datetime = horizon[0]["through"]
        values: dict[str, object] = {
            "at": self._at(),
            "since": since,
            # Clocks of submitters differ; what is older by its id is not looked for.
            "id_from": oldest_at(since - _CLOCKS_DIFFER),
            "row_limit": limit + 1,
        }
        found = await self._pools.general.fetch(_LIST_CHANGES, values, changes=False)
        items = [rows.change(row) for row in found[:limit]]
        return Changes(tuple(items), through, is_cut=len(found) > limit)

    async def list_queues(self, tenant: str | None = None) -> list[QueueView]:
        values: dict[str, object] = {"at": self._at(), "tenant": tenant}
        found = await self._pools.general.fetch(_LIST_QUEUES, values, changes=False)
        return [rows.queue_view(row) for row in found]

    async def count_states(self, tenant: str | None = None) -> dict[JobState, int]:
        values: dict[str, object] = {"at": self._at(), "tenant": tenant}
        found = await self._pools.general.fetch(_COUNT_STATES, values, changes=False)
        return {JobState(row["state"]): row["jobs"] for row in found}


def page_ask(wanted: JobFilter, at: datetime | None, *, limit: int, before: bytes | None) -> Ask:
    """Return what lists one page of jobs."""
    bounds = [each for each in (before, wanted.id_before) if each is not None]
    by_finish = wanted.finished_after is not None or wanted.finished_before is not None
    values = _filter(wanted) | {
        "at": at,
        "live": not by_finish and not (wanted.states and wanted.states <= FINAL),
        "final": not wanted.states or bool(wanted.states & FINAL),
        "before": min(bounds, default=None),
        "states": [state.value for state in wanted.states] or None,
        "row_limit": limit + 1,
    }
    return Ask(_LIST_JOBS, values)


def page_of(found: Sequence[asyncpg.Record], limit: int) -> Page:
    """Return the page that rows make; one more than asked tells that there is another."""
    items = tuple(rows.job_view(row) for row in found[:limit])
    more = len(found) > limit and bool(items)
    return Page(items, items[-1].id if more else None)


def _filter(wanted: JobFilter) -> dict[str, object]:
    """Return what every list takes of a filter; what is absent admits everything."""
    return {
        "id_from": wanted.id_from,
        "kinds": list(wanted.kinds) or None,
        "queues": list(wanted.queues) or None,
        "tenant": wanted.tenant,
        "error_groups": list(wanted.groups) or None,
        "created_after": wanted.created_after,
        "created_before": wanted.created_before,
        "finished_after": wanted.finished_after,
        "finished_before": wanted.finished_before,
    }
