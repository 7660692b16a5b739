"""One flow for every change of a schedule: guard, look, judge, carry out; one transaction.

Everybody takes rows in one order, so that nobody waits in a circle: first schedules by id (a
scheduler passes over those that are held), then jobs by id, then rows of the ledger. Whoever ends
a job takes the job and then its row of the ledger, and never a schedule. Of backfills the row is
taken before those of the ledger.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Final, NamedTuple

import asyncpg
import msgspec

from mainspring.agenda.standing import Standing
from mainspring.domain.errors import NotFound, ScheduleExists
from mainspring.domain.ids import SCHEDULE, show
from mainspring.domain.job import NewJob
from mainspring.domain.schedule import SHARDS, FireView, Withdrawn
from mainspring.ports.schedules import (
    TELL_AHEAD_MS,
    CalendarChange,
    Judge,
    Judged,
    NewSchedule,
)
from mainspring.store.auditing import Line, calendar_line, ruling_line
from mainspring.store.postgres import schedule_rows
from mainspring.store.postgres.auditing import audit
from mainspring.store.postgres.columns import columns
from mainspring.store.postgres.pool import load
from mainspring.store.postgres.rows import as_text, keepable
from mainspring.store.postgres.schedule_rows import FireKey, Ruled, Written
from mainspring.store.statements import Ask, Steps

_CREATE: Final = load("create_schedule")
_ADD_VERSION: Final = load("add_version")
_GUARD_DUE: Final = load("guard_due")
_GUARD_NAMED: Final = load("guard_named")
_GET: Final = load("get_schedule")
_FIND: Final = load("find_schedule")
_TAKE_BACK_FIRES: Final = load("take_back_fires")
_TAKE_BACK_ROWS: Final = load("take_back_rows")
_CUT_SPANS: Final = load("cut_spans")
_FIND_STANDINGS: Final = load("find_standings")
_LIST_FIRES: Final = load("list_fires")
_CANCEL: Final = load("cancel")
_INSERT_FIRES: Final = load("insert_fires")
_SUBMIT: Final = load("submit")
_OVERLAP_FIRES: Final = load("overlap_fires")
_UPDATE: Final = load("update_schedules")
_CHANGE: Final = load("change_schedules")
_FIND_CALENDAR: Final = load("find_calendar")
_PUT_CALENDAR: Final = load("put_calendar")
_DELETE_CALENDAR: Final = load("delete_calendar")

#: Who did what nobody asked for.
SCHEDULER: Final = "scheduler"
#: Why a job was cancelled by a fire of its schedule, or with its schedule.
_CANCELLED_BY: Final = "schedule"
NOTHING: Final = Judged(0, 0, frozenset(), frozenset())
_UNBOUNDED: Final = 2_147_483_647
_TELL_AHEAD: Final = timedelta(milliseconds=TELL_AHEAD_MS)


class Occasion(NamedTuple):
    """Why schedules are judged: by whom, on whose behalf, and at which instant of a test."""

    judge: Judge
    actor: str
    at: datetime | None


class _Extras(NamedTuple):
    """What judges of a named change are told beside the standing, by schedule."""

    withdrawn: Mapping[bytes, Sequence[Withdrawn]]
    rows: Mapping[bytes, Sequence[FireView]]


_NO_EXTRAS: Final = _Extras({}, {})


# --- the three ways in ------------------------------------------------------------------------


def create(new: NewSchedule, occasion: Occasion) -> Steps[Judged]:
    """Insert a schedule with its first version, and judge it."""
    values: dict[str, object] = {
        "at": occasion.at,
        "id": new.id,
        "tenant": new.tenant,
        "name": new.name,
        "owner": new.owner,
        "spec": new.spec.decode(),
        "calendars": as_text(new.calendars),
        "zones": new.zones,
        "pause_after": new.pause_after_failures,
        "is_exclusive": new.is_exclusive,
        "shard": new.id[-1] % SHARDS,
        "actor": keepable(occasion.actor),
    }
    rows = yield Ask(_CREATE, values)
    if not rows:
        if (yield Ask(_GET, {"id": new.id})):
            return NOTHING
        yield from _refuse(new)
    yield Ask(_ADD_VERSION, {"id": new.id})
    return (yield from _judge(rows, occasion))


def _refuse(new: NewSchedule) -> Steps[None]:
    holder = yield Ask(_FIND, {"tenant": new.tenant, "name": new.name})
    raise ScheduleExists(
        f"there is a schedule {new.name!r} already",
        details={"schedule": show(SCHEDULE, holder[0]["id"])} if holder else {},
    )


def judge_due(occasion: Occasion, *, zones: int, limit: int) -> Steps[Judged]:
    """Judge schedules that are worth a look."""
    values: dict[str, object] = {"at": occasion.at, "zones": zones, "row_limit": limit}
    rows = yield Ask(_GUARD_DUE, values)
    judged = yield from _judge(rows, occasion)
    return msgspec.structs.replace(judged, job_ids=())


def judge_named(
    schedule_ids: Sequence[bytes],
    occasion: Occasion,
    *,
    rows: tuple[int, int] | None,
    calendar: CalendarChange | None,
) -> Steps[Judged]:
    """Take back what is not due of these schedules, and judge them."""
    ids = sorted(set(schedule_ids))
    guarded = yield Ask(_GUARD_NAMED, {"ids": ids})
    missing = set(ids).difference(row["id"] for row in guarded)
    if missing:
        shown = show(SCHEDULE, min(missing))
        raise NotFound(f"there is no schedule {shown}", details={"schedule": shown})
    if calendar is not None:
        yield from _change_calendar(calendar, occasion)
    taken = (yield from _take_back(ids, occasion.at)) if ids else {}
    ledger: dict[bytes, list[FireView]] = {}
    for schedule_id in ids if rows is not None else ():
        assert rows is not None
        ledger[schedule_id] = yield from _ledger(schedule_id, rows)
    return (yield from _judge(guarded, occasion, _Extras(taken, ledger)))


def _take_back(ids: Sequence[bytes], at: datetime | None) -> Steps[dict[bytes, list[Withdrawn]]]:
    """Take back what is not due, and tell it by schedule in the order of the ledger."""
    rows = list((yield Ask(_TAKE_BACK_FIRES, {"at": at, "ids": ids})))
    first: dict[bytes, datetime] = {}
    for row in rows:
        if row["had_job"]:
            known = first.setdefault(row["schedule_id"], row["nominal_at"])
            first[row["schedule_id"]] = min(known, row["nominal_at"])
    edges: dict[str, object] = {
        "at": at,
        "ids": ids,
        "first_ats": [first.get(each) for each in ids],
    }
    rows += yield Ask(_TAKE_BACK_ROWS, edges)
    yield Ask(_CUT_SPANS, edges)
    taken: dict[bytes, list[Withdrawn]] = {}
    for row in sorted(rows, key=itemgetter("nominal_at", "sequence")):
        taken.setdefault(row["schedule_id"], []).append(schedule_rows.withdrawn(row))
    return taken


def _change_calendar(wanted: CalendarChange, occasion: Occasion) -> Steps[None]:
    values: dict[str, object] = {"tenant": wanted.tenant, "name": wanted.name}
    known = yield Ask(_FIND_CALENDAR, values)
    if wanted.definition is None:
        changed, action = (yield Ask(_DELETE_CALENDAR, values)), "calendar.remove"
    else:
        values |= {
            "at": occasion.at,
            "definition": wanted.definition.decode(),
            "actor": keepable(occasion.actor),
        }
        changed, action = (yield Ask(_PUT_CALENDAR, values)), "calendar.write"
    if changed:
        line = calendar_line(wanted, known[0]["definition"] if known else None)
        yield audit(occasion.at, occasion.actor, action, [line])


def _ledger(schedule_id: bytes, rows: tuple[int, int]) -> Steps[list[FireView]]:
    first, last = rows
    found = yield Ask(
        _LIST_FIRES,
        {
            "id": schedule_id,
            # Whole seconds: fires by hand lie between them.
            "after": schedule_rows.just_before(first),
            "until": schedule_rows.just_before(last + 1),
            "outcomes": None,
            "newest_first": False,
            "row_limit": _UNBOUNDED,
        },
    )
    return [schedule_rows.fire_view(row) for row in found]


# --- judging ----------------------------------------------------------------------------------


def _judge(
    guarded: Sequence[asyncpg.Record],
    occasion: Occasion,
    extras: _Extras = _NO_EXTRAS,
) -> Steps[Judged]:
    """Judge schedules whose rows are held, and carry out what is ruled."""
    if not guarded:
        return NOTHING
    standings = yield from find_standings(guarded, occasion.at, extras)
    now = standings[0][1]
    cases = [Ruled(standing, occasion.judge(standing)) for standing, _ in standings]
    return (yield from _carry_out(cases, now, occasion.actor))


def find_standings(
    rows: Sequence[asyncpg.Record], at: datetime | None, extras: _Extras = _NO_EXTRAS
) -> Steps[list[tuple[Standing, datetime]]]:
    """Return how these schedules stand, in their order, each with the store's now."""
    values: dict[str, object] = {
        "at": at,
        "ids": [row["id"] for row in rows],
        "waiting_each": [row["waiting"] for row in rows],
        "pause_afters": [row["pause_after"] for row in rows],
        "watched_from_each": [row["watched_from"] for row in rows],
    }
    found = yield Ask(_FIND_STANDINGS, values)
    facts = {row["id"]: row for row in found}
    return [
        (
            schedule_rows.standing(
                row,
                facts[row["id"]],
                withdrawn=extras.withdrawn.get(row["id"], ()),
                rows=extras.rows.get(row["id"], ()),
            ),
            facts[row["id"]]["now"],
        )
        for row in rows
    ]


# --- carrying out -----------------------------------------------------------------------------


def _carry_out(cases: Sequence[Ruled], now: datetime, actor: str) -> Steps[Judged]:
    workers = yield from _cancel(cases, now)
    fires = schedule_rows.written(cases)
    jobs = (yield from _write(fires, now)) if fires else []
    notices = [notice for case in cases for notice in case.ruling.notices]
    if notices:
        yield Ask(_SUBMIT, columns(notices, now))
    by: dict[str, object] = {"at": now, "actor": keepable(actor)}
    changed = [case for case in cases if case.ruling.change is not None]
    if changed:
        yield Ask(_CHANGE, schedule_rows.change_columns(changed) | by)
    yield Ask(_UPDATE, schedule_rows.schedule_columns(cases) | by)
    told: dict[str, list[Line]] = {}
    for standing, ruling in cases:
        if ruling.action:
            told.setdefault(ruling.action, []).append(ruling_line(standing, ruling))
    for action, lines in told.items():
        yield audit(now, actor, action, lines)
    return Judged(
        schedules=len(cases),
        jobs=len(jobs),
        queues=frozenset(job.queue for job in (*jobs, *notices) if is_soon_due(job, now)),
        workers=workers,
        job_ids=tuple(job.id for job in jobs) if len(cases) == 1 else (),
    )


def is_soon_due(job: NewJob, now: datetime) -> bool:
    """Say whether workers are to be told of a job that is inserted now."""
    return job.due_at is None or job.due_at <= now + _TELL_AHEAD


def _cancel(cases: Sequence[Ruled], now: datetime) -> Steps[frozenset[bytes]]:
    """Cancel in one statement, so that all jobs are taken in the order of their ids."""
    rulings = [case.ruling for case in cases if case.ruling.cancel]
    if not rulings:
        return frozenset()
    values: dict[str, object] = {
        "at": now,
        "ids": sorted({job_id for ruling in rulings for job_id in ruling.cancel}),
        "forced_ids": [
            job_id for ruling in rulings if ruling.cancel_by_force for job_id in ruling.cancel
        ],
        "reason": _CANCELLED_BY,
    }
    found = yield Ask(_CANCEL, values)
    return frozenset(row["worker_id"] for row in found if row["worker_id"] is not None)


def _write(fires: Sequence[Written], now: datetime) -> Steps[list[NewJob]]:
    """Insert rows of the ledger, and the jobs of those that were new; return these jobs."""
    rows = yield Ask(_INSERT_FIRES, schedule_rows.fire_columns(fires) | {"at": now})
    fresh: set[FireKey] = {(row[0], row[1], row[2]) for row in rows}
    new: list[Written] = []
    for each in fires:
        if each.key in fresh:
            fresh.remove(each.key)
            new.append(each)
    jobs = [each.fire.job for each in new if each.fire.job is not None]
    if not jobs:
        return []
    inserted = yield from insert_jobs(jobs, now)
    if len(inserted) < len(jobs):
        kept = {job.id for job in inserted}
        lost = {job.id for job in jobs} - kept
        met = [each.key for each in new if each.fire.row.job_id in lost]
        yield Ask(_OVERLAP_FIRES, schedule_rows.keys(met))
    return inserted


def insert_jobs(jobs: Sequence[NewJob], now: datetime) -> Steps[list[NewJob]]:
    """Insert jobs of fires; return those that met no other."""
    rows = yield Ask(_SUBMIT, columns(jobs, now))
    inserted = {row[0] for row in rows}
    return [job for job in jobs if job.id in inserted]
