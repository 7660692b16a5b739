"""Keep the house clean, in small steps: ``MaintenanceStore``."""

from collections.abc import Mapping
from typing import Final

import msgspec

from mainspring.domain.states import FINAL, JobState
from mainspring.ports.store import Retained
from mainspring.store.sqlite.control import forget_jobs
from mainspring.store.sqlite.instants import DAY_US, HOUR_US, from_us
from mainspring.store.sqlite.packing import chunks
from mainspring.store.sqlite.part import Part
from mainspring.store.sqlite.unit import Unit

#: Id in hexadecimal, reference of the payload, reference of the result.
_old_jobs: Final = msgspec.json.Decoder(list[tuple[str, str | None, str | None]])


class Maintenance(Part):
    """Keep the house clean, in small steps."""

    async def prepare_partitions(self, days_ahead: int) -> list[str]:
        del days_ahead  # SQLite has no partitions.
        return []

    async def apply_retention(self, keep_days: Mapping[JobState, int], *, limit: int) -> Retained:
        return await self._engine.write(lambda unit: _retain(unit, keep_days, limit))

    async def retain_audit(self, keep_days: int, *, limit: int) -> Retained:
        def work(unit: Unit) -> Retained:
            before_us = unit.now_us - keep_days * DAY_US
            values = {"before_at": before_us, "batch_size": limit}
            count = unit.change("forget_audit", values)
            day = from_us(before_us).date().isoformat()
            dropped = [f"{count} lines of the audit from before {day}"] if count else []
            return Retained(dropped, [], is_partial=count >= limit)

        return await self._engine.write(work)

    async def forget_expired(self, limit: int) -> int:
        def work(unit: Unit) -> int:
            keys = unit.change("forget_keys", {"now": unit.now_us, "batch_size": limit})
            values = {"ended_before": unit.now_us - HOUR_US, "batch_size": limit - keys}
            return keys + unit.change("forget_sessions", values)

        return await self._engine.write(work)


def _retain(unit: Unit, keep_days: Mapping[JobState, int], limit: int) -> Retained:
    dropped: list[str] = []
    references: list[str] = []
    left = limit
    for state in sorted(FINAL & keep_days.keys()):
        finished_before = unit.now_us - keep_days[state] * DAY_US
        values = {"state": state, "finished_before": finished_before, "batch_size": left}
        found = unit.decoded("pick_old", _old_jobs, values)
        if not found:
            continue
        left -= len(found)
        for part in chunks([bytes.fromhex(job_id) for job_id, _, _ in found]):
            forget_jobs(unit, part)
        references += [ref for _, *both in found for ref in both if ref is not None]
        day = from_us(finished_before).date().isoformat()
        dropped.append(f"{len(found)} {state} jobs that ended before {day}")
    return Retained(dropped, references, is_partial=left <= 0)
