"""Attempts begin, show progress, and are looked after."""

from collections.abc import Collection, Sequence
from typing import Final

from mainspring.domain.job import Claimed, Held, Settled, Settlement
from mainspring.domain.outcome import LogLine, Progress
from mainspring.ports.store import ClaimAsk, Lane, Pulse
from mainspring.store.postgres import rows
from mainspring.store.postgres.part import Part
from mainspring.store.postgres.pool import load
from mainspring.store.postgres.settling import settle

_CLAIM: Final = load("claim")
_NEXT_DUE: Final = load("next_due")
_PULSE: Final = load("pulse")
_APPEND_LOGS: Final = load("append_logs")
_EXPIRED: Final = load("expired")
_HELD_BY: Final = load("held_by")

_SINCE: Final = ("since_critical", "since_high", "since_normal", "since_low")


class Dispatch(Part):
    """Implements ``DispatchStore``."""

    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        if ask.limit <= 0 or not ask.lanes or not ask.kinds:
            return []
        values: dict[str, object] = {
            "at": self._at(),
            "queues": [lane.queue for lane in ask.lanes],
            "wants": [max(lane.want, 0) for lane in ask.lanes],
            "kinds": ask.kinds,
            "worker_id": ask.worker_id,
            "child": ask.child,
            "job_limit": ask.limit,
            "grace_ms": ask.grace_ms,
            "tenant": ask.tenant,
        }
        for priority, name in enumerate(_SINCE):
            values[name] = _watermarks(ask.lanes, priority)
        found = await self._pools.dispatch.fetch(_CLAIM, values, changes=True)
        jobs = [rows.claimed(row) for row in found]
        assert len(jobs) <= ask.limit, "claimed more than was asked for"
        jobs.sort(key=_urgency)
        return jobs

    async def next_due_ms(
        self, queues: Collection[str], kinds: Collection[str], tenant: str | None = None
    ) -> int | None:
        values: dict[str, object] = {
            "at": self._at(), "queues": list(queues), "kinds": list(kinds), "tenant": tenant,
        }  # fmt: skip
        found = await self._pools.dispatch.fetch(_NEXT_DUE, values, changes=False)
        wait_ms: int | None = found[0]["wait_ms"]
        return wait_ms

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        return await settle(self._pools.dispatch, settlements, self._at())

    async def pulse(
        self, worker_id: bytes, held: Sequence[tuple[bytes, int]], progress: Sequence[Progress]
    ) -> Pulse:
        if not held and not progress:
            return Pulse((), ())
        latest = {(each.job_id, each.attempt): each for each in progress}
        reported = [latest[key] for key in sorted(latest)]
        values: dict[str, object] = {
            "ids": [job_id for job_id, _ in held],
            "attempts": [attempt for _, attempt in held],
            "progress_ids": [each.job_id for each in reported],
            "progress_attempts": [each.attempt for each in reported],
            "done_each": [each.done for each in reported],
            "totals": [each.total for each in reported],
            "notes": [rows.keepable(each.note) for each in reported],
        }
        found = await self._pools.dispatch.fetch(_PULSE, values, changes=bool(progress))
        return Pulse(
            cancelling=tuple(row["id"] for row in found if not row["lost"]),
            lost=tuple(row["id"] for row in found if row["lost"]),
        )

    async def append_logs(self, lines: Sequence[LogLine]) -> int:
        if not lines:
            return 0
        values: dict[str, object] = {
            "ids": [line.job_id for line in lines],
            "attempts": [line.attempt for line in lines],
            "sequences": [line.sequence for line in lines],
            "instants": [line.at for line in lines],
            "levels": [line.level for line in lines],
            "messages": [rows.keepable(line.message) for line in lines],
            "fields_each": [rows.keepable(line.fields) for line in lines],
        }
        kept = await self._pools.submission.fetch(_APPEND_LOGS, values, changes=True)
        return len(kept)

    async def expired(self, limit: int) -> list[Held]:
        values: dict[str, object] = {"at": self._at(), "job_limit": limit}
        found = await self._pools.dispatch.fetch(_EXPIRED, values, changes=True)
        return [rows.held(row) for row in found]

    async def held_by(self, worker_id: bytes, child: int | None = None) -> list[Held]:
        values: dict[str, object] = {"at": self._at(), "worker_id": worker_id, "child": child}
        found = await self._pools.dispatch.fetch(_HELD_BY, values, changes=False)
        return [rows.held(row) for row in found]


def _urgency(job: Claimed) -> tuple[int, object, bytes]:
    """Order of work; RETURNING promises none."""
    return job.priority, job.due_at, job.job_id


def _watermarks(lanes: Sequence[Lane], priority: int) -> list[object]:
    return [lane.since.get(priority) for lane in lanes]
