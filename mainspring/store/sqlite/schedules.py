"""Schedules come, are judged and change: ``ScheduleStore`` without ledger and backfills."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from mainspring.agenda.standing import Cursor, Standing
from mainspring.domain.errors import NotFound, ScheduleExists
from mainspring.domain.ids import SCHEDULE, show
from mainspring.domain.schedule import (
    SHARDS,
    CalendarView,
    FireView,
    Outcome,
    ScheduleState,
    ScheduleView,
    VersionView,
    Withdrawn,
)
from mainspring.ports.schedules import (
    CalendarChange,
    Judge,
    Judged,
    NewSchedule,
    ScheduleFilter,
)
from mainspring.store.auditing import calendar_line
from mainspring.store.sqlite.auditing import audit
from mainspring.store.sqlite.backfills import find_ready
from mainspring.store.sqlite.instants import from_us
from mainspring.store.sqlite.ledger import list_rows
from mainspring.store.sqlite.packing import as_json, pack, positions, text
from mainspring.store.sqlite.part import Part
from mainspring.store.sqlite.rulings import add_version, carry_out
from mainspring.store.sqlite.standings import read_standings, schedule_view, version_view
from mainspring.store.sqlite.unit import Row, Unit

NOTHING: Final = Judged(0, 0, frozenset(), frozenset())
_SCHEDULER: Final = "scheduler"
_SECOND_US: Final = 1_000_000


class Schedules(Part):
    """Schedules come, are judged and change."""

    async def create_schedule(self, new: NewSchedule, judge: Judge, *, actor: str) -> Judged:
        return await self._engine.write(lambda unit: _create(unit, new, judge, actor))

    async def judge_due(self, judge: Judge, *, zones: int, limit: int) -> Judged:
        return await self._engine.write(lambda unit: _judge_due(unit, judge, zones, limit))

    async def judge_named(
        self,
        schedule_ids: Sequence[bytes],
        judge: Judge,
        *,
        actor: str,
        rows: tuple[int, int] | None = None,
        calendar: CalendarChange | None = None,
    ) -> Judged:
        def work(unit: Unit) -> Judged:
            if calendar is not None:
                _change_calendar(unit, calendar, actor)
            standings = _taken_back(unit, list(dict.fromkeys(schedule_ids)), rows)
            rulings = [judge(standing) for standing in standings]
            return carry_out(unit, standings, rulings, actor=actor)

        return await self._engine.write(work)

    async def next_look_ms(self, *, zones: int) -> int | None:
        def work(unit: Unit) -> int | None:
            wanted = {"zones": zones, "batch_size": 1}
            if unit.row("pick_freed", wanted) is not None or find_ready(unit, 1):
                return 0
            row = unit.row("find_next_look", {"zones": zones})
            # Rounded up: whoever rests so long finds it due.
            return None if row is None else max(0, -(-(row[0] - unit.now_us) // 1_000))

        return await self._engine.read(work)

    async def get_schedule(self, schedule_id: bytes) -> ScheduleView | None:
        row = await self._engine.read(lambda unit: unit.row("get_schedule", {"id": schedule_id}))
        return None if row is None else schedule_view(row)

    async def find_schedule(self, tenant: str, name: str) -> ScheduleView | None:
        values = {"tenant": tenant, "name": name}
        row = await self._engine.read(lambda unit: unit.row("find_schedule", values))
        return None if row is None else schedule_view(row)

    async def list_schedules(
        self, wanted: ScheduleFilter, *, limit: int, after: bytes | None = None
    ) -> list[ScheduleView]:
        values = {
            "after_id": after or b"",
            "tenant": wanted.tenant,
            "owner": wanted.owner,
            "name_has": wanted.name_has,
            "calendar": wanted.calendar,
            "zones_before": wanted.zones_before,
            "zones_after": wanted.zones_after,
            "with_deleted": wanted.with_deleted or ScheduleState.DELETED in wanted.states,
            "states": as_json(sorted(wanted.states)) if wanted.states else None,
            "page_size": limit,
        }
        rows = await self._engine.read(lambda unit: unit.rows("list_schedules", values))
        return [schedule_view(row) for row in rows]

    async def list_versions(self, schedule_id: bytes) -> list[VersionView]:
        values = {"id": schedule_id}
        rows = await self._engine.read(lambda unit: unit.rows("list_versions", values))
        return [version_view(schedule_id, row) for row in rows]

    async def list_calendars(self, tenant: str) -> list[CalendarView]:
        values = {"tenant": tenant}
        rows = await self._engine.read(lambda unit: unit.rows("list_calendars", values))
        return [
            CalendarView(
                tenant=tenant,
                name=name,
                definition=definition.encode(),
                version=version,
                updated_at=from_us(updated_us),
                updated_by=updated_by,
            )
            for name, definition, version, updated_us, updated_by in rows
        ]


def _create(unit: Unit, new: NewSchedule, judge: Judge, actor: str) -> Judged:
    holder = unit.row("find_name", {"tenant": new.tenant, "name": new.name})
    if holder is not None and holder[0] != new.id:
        raise ScheduleExists(
            f"there is a schedule {new.name!r} already",
            details={"schedule": show(SCHEDULE, holder[0])},
        )
    begins = Cursor(unit.now_us // _SECOND_US)
    kept: dict[str, object] = {
        "id": new.id,
        "spec": new.spec.decode(),
        "calendars": text(new.calendars),
        "zones": new.zones,
    }
    more = {
        "tenant": new.tenant,
        "name": new.name,
        "owner": new.owner,
        "shard": new.id[-1] % SHARDS,
        "position": as_json(begins),
        "is_exclusive": new.is_exclusive,
        "pause_after": new.pause_after_failures,
        "now": unit.now_us,
        "actor": actor,
    }
    if not unit.change("add_schedule", kept | more):
        return NOTHING
    version = kept | {"version": 1}
    add_version(unit, version, from_at=begins.through, change="created", actor=actor)
    standings = read_standings(unit, [new.id])
    return carry_out(unit, standings, [judge(standings[0])], actor=actor)


def _judge_due(unit: Unit, judge: Judge, zones: int, limit: int) -> Judged:
    freed = unit.rows("pick_freed", {"zones": zones, "batch_size": limit})
    wanted = {"zones": zones, "now": unit.now_us, "batch_size": limit}
    # Asked for the limit as well: some of these may have been found already.
    due = unit.rows("pick_due_schedules", wanted)
    found = list(dict.fromkeys(row[0] for row in (*freed, *due)))[:limit]
    if not found:
        return NOTHING
    standings = read_standings(unit, found)
    judged = carry_out(
        unit, standings, [judge(standing) for standing in standings], actor=_SCHEDULER
    )
    return replace(judged, job_ids=())


def _taken_back(
    unit: Unit, schedule_ids: Sequence[bytes], rows: tuple[int, int] | None
) -> list[Standing]:
    """Take back what is not due of these schedules; return how they stand then."""
    found = {standing.id for standing in read_standings(unit, schedule_ids)}
    for schedule_id in schedule_ids:
        if schedule_id not in found:
            raise NotFound(
                f"there is no schedule {show(SCHEDULE, schedule_id)}",
                details={"schedule": show(SCHEDULE, schedule_id)},
            )
    withdrawn = {each: _take_back(unit, each) for each in schedule_ids}
    return [
        replace(
            standing,
            withdrawn=withdrawn[standing.id],
            rows=() if rows is None else _rows_between(unit, standing.id, *rows),
        )
        for standing in read_standings(unit, schedule_ids)
    ]


def _rows_between(unit: Unit, schedule_id: bytes, first: int, last: int) -> tuple[FireView, ...]:
    return tuple(
        list_rows(
            unit,
            schedule_id,
            after_us=first * _SECOND_US - 1,
            until_us=(last + 1) * _SECOND_US - 1,
        )
    )


def _take_back(unit: Unit, schedule_id: bytes) -> tuple[Withdrawn, ...]:
    given = {"id": schedule_id, "now": unit.now_us}
    prepared = unit.rows("find_prepared", given)
    # What comes after a fire that is not due is not due either, whatever its nominal instant.
    after_us = unit.now_us // _SECOND_US * _SECOND_US
    after_us = min([after_us, *(nominal - _SECOND_US for nominal, _, _ in prepared)])
    gone: list[Withdrawn] = []
    if prepared:
        jobs = [job_id for _, _, job_id in prepared]
        entries = as_json([(nominal, sequence) for nominal, sequence, _ in prepared])
        own = unit.rows("take_back_prepared", {"id": schedule_id, "entries": entries})
        gone += [_withdrawn(row, had_job=True) for row in own]
        values = {"ids": pack(jobs), "positions": positions(len(jobs))}
        pointing = unit.rows("take_back_pointing", values)
        gone += [_withdrawn(row, had_job=False) for row in pointing]
        unit.change("delete_jobs", values)
    ahead = {"id": schedule_id, "after_at": after_us}
    gone += [_withdrawn(row, had_job=False) for row in unit.rows("take_back_ahead", ahead)]
    unit.change("cut_spans", ahead)
    return tuple(sorted(gone, key=lambda row: (row.nominal_at, row.sequence)))


def _withdrawn(row: Row, *, had_job: bool) -> Withdrawn:
    nominal, sequence, outcome = row
    return Withdrawn(nominal // _SECOND_US, sequence, Outcome(outcome), had_job)


def _change_calendar(unit: Unit, wanted: CalendarChange, actor: str) -> None:
    values = {"tenant": wanted.tenant, "name": wanted.name}
    known = unit.row("find_calendar", values)
    if wanted.definition is None:
        changed, action = unit.change("delete_calendar", values), "calendar.remove"
    else:
        told = {"definition": wanted.definition.decode(), "now": unit.now_us, "actor": actor}
        changed, action = unit.change("write_calendar", values | told), "calendar.write"
    if changed:
        line = calendar_line(wanted, known[0] if known else None)
        audit(unit, actor, action, [line])
