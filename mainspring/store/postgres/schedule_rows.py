"""Schedules, fires and rulings: from rows to records, and from records to the arrays of statements.

Agenda counts in seconds and milliseconds, the store keeps instants.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import asyncpg
import msgspec

from mainspring.agenda.book import instant, instant_of_ms
from mainspring.agenda.spec import read_spec
from mainspring.agenda.standing import Cursor, Live, NewFire, Ruling, Standing
from mainspring.domain.job import NewJob
from mainspring.domain.schedule import (
    BackfillView,
    CalendarView,
    Cause,
    FireOf,
    FireView,
    Missed,
    Outcome,
    ScheduleState,
    ScheduleView,
    VersionView,
    Withdrawn,
)
from mainspring.domain.states import JobState
from mainspring.store.postgres.rows import as_bytes, as_text, json_text, keepable

_CURSOR: Final = msgspec.json.Decoder(Cursor)
_MISSED: Final = msgspec.json.Decoder(Missed)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
#: Before and after everything that a ledger can tell.
BEGINNING: Final = datetime.min.replace(tzinfo=UTC)
END: Final = datetime.max.replace(tzinfo=UTC)

#: What makes a row of the ledger one of its kind: schedule, nominal instant, sequence.
FireKey = tuple[bytes, datetime, int]


class Ruled(NamedTuple):
    """A schedule as its judge was shown it, and what the judge said."""

    standing: Standing
    ruling: Ruling

    @property
    def version(self) -> int:
        """Return the schedule's version when this has been carried out."""
        return self.standing.version + (self.ruling.change is not None)


class Written(NamedTuple):
    """A row of the ledger that a ruling wants, with its key."""

    key: FireKey
    version: int
    fire: NewFire


def just_before(seconds: int) -> datetime:
    """Return the last instant before a second, for ranges whose beginning is left out."""
    return instant(seconds) - timedelta(microseconds=1)


def ms_of(at: datetime) -> int:
    """Return an instant in whole milliseconds, the last that have passed."""
    return (at - _EPOCH) // _MILLISECOND


def instant_or_none(milliseconds: int | None) -> datetime | None:
    """Return the instant, if there is one."""
    return None if milliseconds is None else instant_of_ms(milliseconds)


# --- rows that are read -----------------------------------------------------------------------


def standing(
    row: asyncpg.Record,
    facts: asyncpg.Record,
    *,
    withdrawn: Sequence[Withdrawn] = (),
    rows: Sequence[FireView] = (),
) -> Standing:
    """Put together a guarded row and what was found about it."""
    live = None
    if facts["live_id"] is not None:
        state = JobState(facts["live_state"])
        live = Live(facts["live_id"], state, ms_of(facts["live_due_at"]))
    freed_at, paused_until = facts["freed_at"], row["paused_until"]
    return Standing(
        id=row["id"],
        tenant=row["tenant"],
        name=row["name"],
        state=ScheduleState(row["state"]),
        version=row["version"],
        spec=row["spec"].encode(),
        cursor=_CURSOR.decode(row["cursor"]),
        zones=row["zones"],
        now_ms=ms_of(facts["now"]),
        calendars=as_bytes(row["calendars"]),
        live=live,
        waiting=row["waiting"],
        freed_ms=None if freed_at is None else ms_of(freed_at),
        failures=facts["failures"],
        paused_until_ms=None if paused_until is None else ms_of(paused_until),
        withdrawn=tuple(withdrawn),
        rows=tuple(rows),
    )


def withdrawn(row: asyncpg.Record) -> Withdrawn:
    """Read a row of ``take_back_fires.sql`` or ``take_back_rows.sql``."""
    nominal_at = ms_of(row["nominal_at"]) // 1000
    return Withdrawn(nominal_at, row["sequence"], Outcome(row["outcome"]), row["had_job"])


def schedule_view(row: asyncpg.Record) -> ScheduleView:
    """Read a row of ``get_schedule.sql`` and its kin; columns are named like the fields."""
    fields = dict(row)
    fields["state"] = ScheduleState(fields["state"])
    for name in ("spec", "cursor", "calendars"):
        fields[name] = as_bytes(fields[name])
    return ScheduleView(**fields)


def version_view(row: asyncpg.Record) -> VersionView:
    """Read a row of ``list_versions.sql``."""
    fields = dict(row)
    fields["spec"] = as_bytes(fields["spec"])
    fields["calendars"] = as_bytes(fields["calendars"])
    return VersionView(**fields)


def calendar_view(row: asyncpg.Record) -> CalendarView:
    """Read a row of ``list_calendars.sql``."""
    return CalendarView(**dict(row) | {"definition": row["definition"].encode()})


def backfill_view(row: asyncpg.Record) -> BackfillView:
    """Read a row of ``list_backfills.sql``."""
    fields = dict(row)
    fields["order"] = fields.pop("direction")
    return BackfillView(**fields)


def fire_view(row: asyncpg.Record) -> FireView:
    """Read a row of ``list_fires.sql``."""
    fields = dict(row)
    fields["count"] = fields.pop("fire_count")
    fields["local"] = fields.pop("wall_time")
    fields["outcome"] = Outcome(fields["outcome"])
    fields["cause"] = Cause(fields["cause"])
    fields["missed"] = _missed(fields["missed"])
    if fields["job_state"] is not None:
        fields["job_state"] = JobState(fields["job_state"])
    return FireView(**fields)


def fire_of(row: asyncpg.Record) -> FireOf:
    """Read a row of ``fires_of.sql``."""
    return FireOf(
        schedule_id=row["schedule_id"],
        schedule=row["name"],
        nominal_at=row["nominal_at"],
        due_at=row["due_at"],
        zone=read_spec(row["spec"].encode()).times.zone,
        cause=Cause(row["cause"]),
        sequence=row["sequence"],
        local=row["wall_time"],
        missed=_missed(row["missed"]),
        previous_success_at=row["previous_success_at"],
    )


def _missed(text: str | None) -> Missed | None:
    return None if text is None else _MISSED.decode(text)


# --- rulings that are written -----------------------------------------------------------------


def written(cases: Sequence[Ruled]) -> list[Written]:
    """Return the ledger rows of rulings; up to a change they are of the version before it."""
    found: list[Written] = []
    for case in cases:
        change = case.ruling.change
        for fire in case.ruling.fires:
            row = fire.row
            is_before = change is None or row.nominal_at <= change.from_at
            key = (case.standing.id, instant(row.nominal_at), row.sequence)
            version = case.standing.version if is_before else case.version
            found.append(Written(key, version, fire))
    return found


def keys(found: Sequence[FireKey]) -> dict[str, object]:
    """Return keys of the ledger as arrays."""
    return {
        "schedule_ids": [key[0] for key in found],
        "nominal_ats": [key[1] for key in found],
        "sequences": [key[2] for key in found],
    }


def fire_columns(found: Sequence[Written]) -> dict[str, object]:
    """Return ledger rows as arrays."""
    rows = [each.fire.row for each in found]
    return keys([each.key for each in found]) | {
        "versions": [each.version for each in found],
        "outcomes": [row.outcome.value for row in rows],
        "causes": [row.cause.value for row in rows],
        "due_ats": [instant_of_ms(row.due_ms) for row in rows],
        "throughs": [None if row.through is None else instant(row.through) for row in rows],
        "fire_counts": [row.count for row in rows],
        "job_ids": [row.job_id for row in rows],
        "backfill_ids": [row.backfill_id for row in rows],
        "alone_each": [_is_alone(each.fire.job) for each in found],
        "wall_times": [row.local for row in rows],
        "notes": [None if row.note is None else keepable(row.note) for row in rows],
        "missed_each": [None if row.missed is None else json_text(row.missed) for row in rows],
    }


def _is_alone(job: NewJob | None) -> bool:
    return job is not None and job.alone


def schedule_columns(cases: Sequence[Ruled]) -> dict[str, object]:
    """Return what rulings say of their schedules as arrays."""
    rulings = [case.ruling for case in cases]
    pauses = [ruling.pause for ruling in rulings]
    return {
        "ids": [case.standing.id for case in cases],
        "states": [ruling.state.value for ruling in rulings],
        "cursors": [json_text(ruling.cursor) for ruling in rulings],
        "look_ats": [instant_or_none(ruling.look_at_ms) for ruling in rulings],
        "waiting_each": [ruling.waiting for ruling in rulings],
        "versions": [case.version for case in cases],
        "counts_anew_each": [ruling.counts_anew for ruling in rulings],
        "paused_bys": [None if pause is None else keepable(pause.by) for pause in pauses],
        "paused_reasons": [None if pause is None else keepable(pause.reason) for pause in pauses],
        "pauses_until": [
            None if pause is None else instant_or_none(pause.until_ms) for pause in pauses
        ],
        "told_each": [bool(ruling.action) for ruling in rulings],
    }


def change_columns(cases: Sequence[Ruled]) -> dict[str, object]:
    """Return the new versions of schedules as arrays; none of these is without a change."""
    changes = [case.ruling.change for case in cases if case.ruling.change is not None]
    return {
        "ids": [case.standing.id for case in cases],
        "versions": [case.version for case in cases],
        "specs": [change.spec.decode() for change in changes],
        "calendars_each": [as_text(change.calendars) for change in changes],
        "zones_each": [change.zones for change in changes],
        "from_ats": [instant(change.from_at) for change in changes],
        "changes": [change.what for change in changes],
        "owners": [change.owner for change in changes],
        "exclusive_each": [change.is_exclusive for change in changes],
        "pause_afters": [change.pause_after_failures for change in changes],
    }
