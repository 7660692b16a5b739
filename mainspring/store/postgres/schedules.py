"""Schedules are made, judged and changed. What is due goes over connections of its own."""

from collections.abc import Sequence
from typing import Final

from mainspring.domain.schedule import CalendarView, ScheduleView, VersionView
from mainspring.ports.schedules import (
    CalendarChange,
    Judge,
    Judged,
    NewSchedule,
    ScheduleFilter,
)
from mainspring.store.postgres import judging, schedule_rows
from mainspring.store.postgres.judging import SCHEDULER, Occasion
from mainspring.store.postgres.part import Part
from mainspring.store.postgres.pool import follow, load

_NEXT_LOOK: Final = load("next_look")
_GET: Final = load("get_schedule")
_FIND: Final = load("find_schedule")
_LIST: Final = load("list_schedules")
_LIST_VERSIONS: Final = load("list_versions")
_LIST_CALENDARS: Final = load("list_calendars")


class Schedules(Part):
    """Implements ``ScheduleStore``: schedules and calendars."""

    async def create_schedule(self, new: NewSchedule, judge: Judge, *, actor: str) -> Judged:
        occasion = Occasion(judge, actor, self._at())
        return await self._pools.general.transaction(
            lambda connection: follow(connection, judging.create(new, occasion))
        )

    async def judge_due(self, judge: Judge, *, zones: int, limit: int) -> Judged:
        occasion = Occasion(judge, SCHEDULER, self._at())
        return await self._pools.schedules.transaction(
            lambda connection: follow(
                connection, judging.judge_due(occasion, zones=zones, limit=limit)
            )
        )

    async def judge_named(
        self,
        schedule_ids: Sequence[bytes],
        judge: Judge,
        *,
        actor: str,
        rows: tuple[int, int] | None = None,
        calendar: CalendarChange | None = None,
    ) -> Judged:
        occasion = Occasion(judge, actor, self._at())
        return await self._pools.general.transaction(
            lambda connection: follow(
                connection,
                judging.judge_named(schedule_ids, occasion, rows=rows, calendar=calendar),
            )
        )

    async def next_look_ms(self, *, zones: int) -> int | None:
        values: dict[str, object] = {"at": self._at(), "zones": zones}
        found = await self._pools.schedules.fetch(_NEXT_LOOK, values, changes=False)
        wait_ms: int | None = found[0]["wait_ms"]
        return wait_ms

    async def get_schedule(self, schedule_id: bytes) -> ScheduleView | None:
        found = await self._pools.general.fetch(_GET, {"id": schedule_id}, changes=False)
        return schedule_rows.schedule_view(found[0]) if found else None

    async def find_schedule(self, tenant: str, name: str) -> ScheduleView | None:
        values = {"tenant": tenant, "name": name}
        found = await self._pools.general.fetch(_FIND, values, changes=False)
        return schedule_rows.schedule_view(found[0]) if found else None

    async def list_schedules(
        self, wanted: ScheduleFilter, *, limit: int, after: bytes | None = None
    ) -> list[ScheduleView]:
        values: dict[str, object] = {
            "after": after,
            "row_limit": limit,
            "tenant": wanted.tenant,
            "states": [state.value for state in wanted.states] or None,
            "owner": wanted.owner,
            "name_has": wanted.name_has,
            "calendar": wanted.calendar,
            "zones_before": wanted.zones_before,
            "zones_after": wanted.zones_after,
            "with_deleted": wanted.with_deleted,
        }
        found = await self._pools.general.fetch(_LIST, values, changes=False)
        return [schedule_rows.schedule_view(row) for row in found]

    async def list_versions(self, schedule_id: bytes) -> list[VersionView]:
        values = {"id": schedule_id}
        found = await self._pools.general.fetch(_LIST_VERSIONS, values, changes=False)
        return [schedule_rows.version_view(row) for row in found]

    async def list_calendars(self, tenant: str) -> list[CalendarView]:
        found = await self._pools.general.fetch(_LIST_CALENDARS, {"tenant": tenant}, changes=False)
        return [schedule_rows.calendar_view(row) for row in found]
