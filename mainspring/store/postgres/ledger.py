"""The ledger is looked at, by people and for handlers, and forgotten in the end."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from mainspring.domain.job import Claimed
from mainspring.domain.schedule import FireOf, FireView, Outcome
from mainspring.store.postgres import schedule_rows
from mainspring.store.postgres.part import Part
from mainspring.store.postgres.pool import load

_LIST: Final = load("list_fires")
_FIRES_OF: Final = load("fires_of")
_FORGET: Final = load("forget_fires")


class Ledger(Part):
    """Implements ``ScheduleStore``: fires."""

    async def list_fires(
        self,
        schedule_id: bytes,
        *,
        after: datetime | None = None,
        until: datetime | None = None,
        outcomes: frozenset[Outcome] = frozenset(),
        limit: int,
        newest_first: bool = True,
    ) -> list[FireView]:
        values: dict[str, object] = {
            "id": schedule_id,
            "after": schedule_rows.BEGINNING if after is None else after,
            "until": schedule_rows.END if until is None else until,
            "outcomes": [outcome.value for outcome in outcomes] or None,
            "newest_first": newest_first,
            "row_limit": limit,
        }
        found = await self._pools.general.fetch(_LIST, values, changes=False)
        return [schedule_rows.fire_view(row) for row in found]

    async def fires_of(self, claimed: Sequence[Claimed]) -> dict[bytes, FireOf]:
        fired = [job for job in claimed if job.schedule_id is not None]
        if not fired:
            return {}
        values: dict[str, object] = {
            "job_ids": [job.job_id for job in fired],
            "schedule_ids": [job.schedule_id for job in fired],
            "nominal_ats": [job.nominal_at for job in fired],
        }
        found = await self._pools.dispatch.fetch(_FIRES_OF, values, changes=False)
        return {row["job_id"]: schedule_rows.fire_of(row) for row in found}

    async def forget_fires(self, before: datetime, *, limit: int) -> int:
        values: dict[str, object] = {"before": before, "row_limit": limit}
        return len(await self._pools.general.fetch(_FORGET, values, changes=True))
