"""Schedules as judges see them, and as people do: rows become records here."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from mainspring.agenda.standing import Cursor, Live, Standing
from mainspring.domain.schedule import (
    Cause,
    FireView,
    Missed,
    Outcome,
    ScheduleState,
    ScheduleView,
    VersionView,
)
from mainspring.domain.states import JobState, effective_state
from mainspring.store.sqlite.instants import from_us, from_us_or_none
from mainspring.store.sqlite.packing import chunks, pack, positions, raw
from mainspring.store.sqlite.unit import Row, Unit

_cursors: Final = msgspec.json.Decoder(Cursor)
missed_decoder: Final = msgspec.json.Decoder(Missed)

#: The columns of ``get_schedule``, ``find_schedule`` and ``list_schedules``, in order.
_SCHEDULE_COLUMNS: Final = (
    "id",
    "tenant",
    "name",
    "state",
    "version",
    "spec",
    "cursor",
    "zones",
    "created_at",
    "updated_at",
    "updated_by",
    "owner",
    "calendars",
    "look_at",
    "waiting",
    "paused_at",
    "paused_by",
    "paused_reason",
    "paused_until",
)
#: The columns of the lists of fires, in order.
_FIRE_COLUMNS: Final = (
    "schedule_id",
    "nominal_at",
    "sequence",
    "outcome",
    "cause",
    "due_at",
    "decided_at",
    "version",
    "through",
    "count",
    "job_id",
    "backfill_id",
    "local",
    "note",
    "missed",
    "job_state",
    "job_ended_at",
)
_OPTIONAL_INSTANTS: Final = ("look_at", "paused_at", "paused_until")


def read_standings(unit: Unit, schedule_ids: Sequence[bytes]) -> list[Standing]:
    """Return how those schedules stand that exist, in the order given."""
    found: list[Standing] = []
    for part in chunks(schedule_ids):
        values = {"ids": pack(part), "positions": positions(len(part))}
        found += [_standing(row, unit.now_us) for row in unit.rows("list_standings", values)]
    return found


def _standing(row: Row, now_us: int) -> Standing:
    paused_until, live_id, live_state, live_due_us, freed_us, failures = row[10:]
    live = None
    if live_id is not None:
        state = effective_state(JobState(live_state), from_us(live_due_us), from_us(now_us))
        live = Live(live_id, state, live_due_us // 1_000)
    return Standing(
        id=row[0],
        tenant=row[1],
        name=row[2],
        state=ScheduleState(row[3]),
        version=row[4],
        spec=row[5].encode(),
        calendars=raw(row[6]),
        cursor=_cursors.decode(row[7]),
        zones=row[8],
        now_ms=now_us // 1_000,
        waiting=bool(row[9]),
        paused_until_ms=_ms_or_none(paused_until),
        live=live,
        freed_ms=_ms_or_none(freed_us),
        failures=failures,
    )


def _ms_or_none(count_us: int | None) -> int | None:
    return None if count_us is None else count_us // 1_000


def schedule_view(row: Row) -> ScheduleView:
    """Return a schedule as people see it."""
    values: dict[str, Any] = dict(zip(_SCHEDULE_COLUMNS, row, strict=True))
    instants = {name: from_us_or_none(values[name]) for name in _OPTIONAL_INSTANTS}
    return ScheduleView(
        **values
        | instants
        | {
            "state": ScheduleState(values["state"]),
            "spec": values["spec"].encode(),
            "cursor": values["cursor"].encode(),
            "calendars": raw(values["calendars"]),
            "waiting": bool(values["waiting"]),
            "created_at": from_us(values["created_at"]),
            "updated_at": from_us(values["updated_at"]),
        }
    )


def fire_view(row: Row) -> FireView:
    """Return a row of the ledger as people see it."""
    values: dict[str, Any] = dict(zip(_FIRE_COLUMNS, row, strict=True))
    missed, job_state = values["missed"], values["job_state"]
    return FireView(
        **values
        | {
            "nominal_at": from_us(values["nominal_at"]),
            "outcome": Outcome(values["outcome"]),
            "cause": Cause(values["cause"]),
            "due_at": from_us(values["due_at"]),
            "decided_at": from_us(values["decided_at"]),
            "through": from_us_or_none(values["through"]),
            "missed": None if missed is None else missed_decoder.decode(missed),
            "job_state": None if job_state is None else JobState(job_state),
            "job_ended_at": from_us_or_none(values["job_ended_at"]),
        }
    )


def version_view(schedule_id: bytes, row: Row) -> VersionView:
    """Return what a schedule was."""
    version, spec, calendars, zones, from_at, changed_us, changed_by, change = row
    return VersionView(
        schedule_id=schedule_id,
        version=version,
        spec=spec.encode(),
        calendars=raw(calendars),
        zones=zones,
        from_at=from_at,
        changed_at=from_us(changed_us),
        changed_by=changed_by,
        change=change,
    )
