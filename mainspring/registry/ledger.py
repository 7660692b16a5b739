"""Questions about a schedule's fires: those that come, and those that the ledger has."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from mainspring.agenda.audit import audit
from mainspring.agenda.spec import read_spec, timetable_of
from mainspring.agenda.standing import Cursor
from mainspring.domain.errors import InvalidInput
from mainspring.domain.limits import (
    AUDIT_FIRES_MAX,
    COUNT_FIRES_MAX,
    LEDGER_DAYS,
    PAGE_ITEMS_MAX,
)
from mainspring.domain.names import check_range
from mainspring.domain.schedule import Cause, FireView, Outcome, ScheduleState, ScheduleView
from mainspring.ports.schedules import ScheduleRecords
from mainspring.ports.scheduling import SKIPPED, Preview, ScheduleAudit, Upcoming
from mainspring.timetable import explain
from mainspring.timetable.civil import moment
from mainspring.timetable.definition import Definition
from mainspring.timetable.timetable import Timetable

_SECOND: Final = timedelta(seconds=1)
_DAY: Final = timedelta(days=1)
_EPOCH: Final = moment(0)


def floor_seconds(instant: datetime) -> int:
    """Return the last whole second up to an instant."""
    return (instant - _EPOCH) // _SECOND


def before_seconds(instant: datetime) -> int:
    """Return the last whole second before an instant."""
    return -((_EPOCH - instant) // _SECOND) - 1


def cursor_of(view: ScheduleView) -> Cursor:
    """Return how far a schedule has been decided."""
    return msgspec.json.decode(view.cursor, type=Cursor)


# --- what comes -------------------------------------------------------------------------------


def foreseen(times: Definition, timetable: Timetable, now: int, count: int) -> Preview:
    """Return what a definition means that is not stored yet."""
    check_range("count", count, 1, PAGE_ITEMS_MAX)
    most = min(count, timetable.bounds.max_fires or count)
    return Preview(
        sentence=explain.sentence(times),
        upcoming=tuple(_upcoming(times, timetable, now, most)),
        warnings=tuple(explain.warnings(times, timetable, now)),
    )


async def coming(store: ScheduleRecords, view: ScheduleView, now: datetime, count: int) -> Preview:
    """Return what comes next of a schedule: prepared already, or to be decided yet."""
    check_range("count", count, 1, PAGE_ITEMS_MAX)
    times = read_spec(view.spec).times
    timetable = timetable_of(view.spec, view.calendars)
    cursor, here = cursor_of(view), floor_seconds(now)
    found: list[Upcoming] = []
    if cursor.through > here:
        rows, _ = await rows_between(store, view.id, here, cursor.through)
        skipped = {row.nominal_at for row in rows if row.outcome is Outcome.SKIPPED_ON_REQUEST}
        ahead = _upcoming(times, timetable, here, count, view.id, until=cursor.through)
        found = [
            msgspec.structs.replace(each, note=SKIPPED) if each.nominal_at in skipped else each
            for each in ahead
        ]
    if view.state is not ScheduleState.DELETED:
        most = count - len(found)
        if timetable.bounds.max_fires is not None:
            most = min(most, timetable.bounds.max_fires - cursor.fired + cursor.skip_next)
        after = max(cursor.through, here)
        later = _upcoming(times, timetable, after, most, view.id)
        for place, each in enumerate(later):
            is_skipped = place < cursor.skip_next
            found.append(msgspec.structs.replace(each, note=SKIPPED) if is_skipped else each)
    return Preview(
        sentence=explain.sentence(times),
        upcoming=tuple(found),
        warnings=tuple(explain.warnings(times, timetable, here)),
    )


def _upcoming(
    times: Definition,
    timetable: Timetable,
    after: int,
    count: int,
    schedule: bytes | None = None,
    *,
    until: int | None = None,
) -> list[Upcoming]:
    found: list[Upcoming] = []
    for each in explain.preview(timetable, after, count) if count > 0 else ():
        nominal = datetime.fromisoformat(each.utc)
        at = floor_seconds(nominal)
        if until is not None and at > until:
            break
        due = nominal
        if schedule is not None:
            due = _EPOCH + timedelta(milliseconds=timetable.due_ms(schedule.hex(), at))
        found.append(
            Upcoming(
                nominal_at=nominal, due_at=due, local=each.local, zone=times.zone, note=each.note
            )
        )
    return found


# --- what was ---------------------------------------------------------------------------------


class Rows(NamedTuple):
    """Rows of a ledger, oldest first, and up to where they are all there."""

    rows: list[FireView]
    through: int


async def rows_between(
    store: ScheduleRecords,
    schedule_id: bytes,
    after: int,
    until: int,
    *,
    rows_max: int = AUDIT_FIRES_MAX,
) -> Rows:
    """Return the rows after one second and up to another, page by page, and spans that reach in."""
    found: dict[tuple[datetime, int], FireView] = {}
    cursor, size = moment(after), PAGE_ITEMS_MAX
    while True:
        page = await store.list_fires(
            schedule_id, after=cursor, until=moment(until), limit=size, newest_first=False
        )
        if len(page) < size:
            found |= _by_key(page)
            return Rows(list(found.values()), until)
        # The last instant may go on beyond the page.
        whole = [row for row in page if row.nominal_at < page[-1].nominal_at]
        if not whole or whole[-1].nominal_at <= cursor:
            size *= 2
            continue
        found |= _by_key(whole)
        cursor = whole[-1].nominal_at
        if len(found) >= rows_max:
            return Rows(list(found.values()), floor_seconds(cursor))


def _by_key(rows: Sequence[FireView]) -> dict[tuple[datetime, int], FireView]:
    return {(row.nominal_at, row.sequence): row for row in rows}


async def audited(
    store: ScheduleRecords,
    view: ScheduleView,
    now: datetime,
    asked: tuple[datetime | None, datetime | None],
) -> ScheduleAudit:
    """Compute a schedule's fires anew, and compare them with its ledger."""
    versions = await store.list_versions(view.id)
    cursor, here = cursor_of(view), floor_seconds(now)
    from_at, until_at = asked
    if from_at is not None and until_at is not None and from_at > until_at:
        raise InvalidInput("until: it lies before from", hint="give the earlier instant first")
    # What is older than the retention is gone, and no gap.
    oldest = floor_seconds(now - (LEDGER_DAYS - 1) * _DAY)
    after = max(versions[0].from_at, oldest) if from_at is None else before_seconds(from_at)
    until = here if until_at is None else floor_seconds(until_at)
    until = max(min(until, cursor.through), after)
    counts = any(read_spec(each.spec).times.max_fires for each in versions)
    last = max(cursor.through, until) if counts else until
    rows, through = await rows_between(store, view.id, after, last)
    begin = moment(after)
    made = sum(
        row.nominal_at > begin and row.outcome is Outcome.JOB and row.cause is not Cause.MANUAL
        for row in rows
    )
    found = audit(versions, rows, after, min(until, through), fired=max(0, cursor.fired - made))
    if through < until:
        found = msgspec.structs.replace(found, is_complete=False)
    undecided, since = 0, None
    if until_at is None and view.state in (ScheduleState.ACTIVE, ScheduleState.PAUSED):
        undecided, since = _undecided(view, cursor, here)
    return ScheduleAudit(schedule=view, audited=found, undecided=undecided, undecided_since=since)


def _undecided(view: ScheduleView, cursor: Cursor, now: int) -> tuple[int, datetime | None]:
    """Return how many fires are due and have no outcome yet, and since when."""
    timetable = timetable_of(view.spec, view.calendars)
    if timetable.next_at(cursor.through, fired=cursor.fired) is None:
        return 0, None
    due = [
        instant
        for instant in islice(timetable.instants(cursor.through, now), COUNT_FIRES_MAX)
        if timetable.due_ms(view.id.hex(), instant) <= now * 1000
    ]
    return len(due), moment(due[0]) if due else None
