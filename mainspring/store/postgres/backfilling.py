"""Backfills: fires of the past that are taken up, and their jobs, so many at a time."""

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

import asyncpg

from mainspring.agenda.book import instant, instant_of_ms
from mainspring.agenda.standing import NewFire, Standing
from mainspring.domain.errors import NotFound
from mainspring.domain.ids import SCHEDULE, show
from mainspring.domain.job import NewJob
from mainspring.domain.schedule import BackfillView, Cause, FireRow, Outcome
from mainspring.ports.schedules import Judged, NewBackfill, Release
from mainspring.store.auditing import cancelled_backfill_line, new_backfill_line
from mainspring.store.postgres import schedule_rows
from mainspring.store.postgres.auditing import audit
from mainspring.store.postgres.judging import NOTHING, find_standings, insert_jobs, is_soon_due
from mainspring.store.postgres.part import Part
from mainspring.store.postgres.pool import follow, load
from mainspring.store.postgres.rows import keepable
from mainspring.store.postgres.schedule_rows import Written, ms_of
from mainspring.store.statements import Ask, Steps

_CREATE: Final = load("create_backfill")
_COUNT: Final = load("count_backfill")
_TAKE_UP: Final = load("take_up_fires")
_INSERT: Final = load("insert_fires")
_GUARD: Final = load("guard_backfills")
_FIND_RELEASES: Final = load("find_releases")
_FIND_SCHEDULES: Final = load("find_schedules")
_RELEASE: Final = load("release_fires")
_GIVE_BACK: Final = load("give_back_fires")
_UPDATE: Final = load("update_backfills")
_LIST: Final = load("list_backfills")
_TENANT: Final = load("tenant_of_backfill")

_MINUTE_MS: Final = 60_000
Make = Callable[[Release], NewJob]


class Backfilling(Part):
    """Implements ``ScheduleStore``: backfills."""

    async def create_backfill(self, new: NewBackfill, *, actor: str) -> int:
        at = self._at()
        return await self._pools.general.transaction(
            lambda connection: follow(connection, _create(new, actor, at))
        )

    async def release_backfills(self, make: Make, *, limit: int) -> Judged:
        at = self._at()
        return await self._pools.schedules.transaction(
            lambda connection: follow(connection, _release(make, limit, at))
        )

    async def list_backfills(self, schedule_id: bytes) -> list[BackfillView]:
        values = {"schedule_id": schedule_id}
        found = await self._pools.general.fetch(_LIST, values, changes=False)
        return [schedule_rows.backfill_view(row) for row in found]

    async def tenant_of_backfill(self, backfill_id: bytes) -> str | None:
        found = await self._pools.general.fetch(_TENANT, {"id": backfill_id}, changes=False)
        return found[0]["tenant"] if found else None

    async def cancel_backfill(self, backfill_id: bytes, *, actor: str) -> bool:
        at = self._at()
        return await self._pools.general.transaction(
            lambda connection: follow(connection, _cancel(backfill_id, actor, at))
        )


# --- taking up --------------------------------------------------------------------------------


def _create(new: NewBackfill, actor: str, at: datetime | None) -> Steps[int]:
    values: dict[str, object] = {
        "at": at,
        "id": new.id,
        "schedule_id": new.schedule_id,
        "from_at": instant(new.from_at),
        "until_at": instant(new.until_at),
        "concurrency": new.concurrency,
        "rate": new.rate,
        "direction": new.order,
        "actor": keepable(actor),
    }
    found = yield Ask(_CREATE, values)
    if not found:
        shown = show(SCHEDULE, new.schedule_id)
        raise NotFound(f"there is no schedule {shown}", details={"schedule": shown})
    version, is_new, tenant = found[0]
    if is_new:
        rows = [_row(new, *fire, version) for fire in sorted(set(new.fires))]
        keys = schedule_rows.fire_columns(rows)
        taken = {"at": at, "schedule_id": new.schedule_id, "id": new.id, "version": version}
        yield Ask(_TAKE_UP, keys | taken)
        yield Ask(_INSERT, keys | {"at": at})
    found = yield Ask(_COUNT, {"id": new.id, "is_new": is_new})
    fires: int = found[0]["fires"]
    if is_new:
        yield audit(at, actor, "backfill.create", [new_backfill_line(new, tenant, fires)])
    return fires


def _row(new: NewBackfill, nominal_at: int, sequence: int, version: int) -> Written:
    row = FireRow(
        nominal_at=nominal_at,
        sequence=sequence,
        outcome=Outcome.BACKFILLED,
        cause=Cause.BACKFILL,
        due_ms=nominal_at * 1000,
        backfill_id=new.id,
    )
    return Written((new.schedule_id, instant(nominal_at), sequence), version, NewFire(row))


def _cancel(backfill_id: bytes, actor: str, at: datetime | None) -> Steps[bool]:
    rows = yield Ask(_UPDATE, _states([backfill_id], "cancelled"))
    if not rows:
        return False
    yield Ask(_GIVE_BACK, {"ids": [backfill_id]})
    row = rows[0]
    line = cancelled_backfill_line(backfill_id, row["schedule_id"], row["tenant"])
    yield audit(at, actor, "backfill.cancel", [line])
    return True


def _states(ids: Sequence[bytes], state: str) -> dict[str, object]:
    return {"ids": ids, "states": [state] * len(ids), "released_ats": [None] * len(ids)}


# --- releasing --------------------------------------------------------------------------------


class _Released(NamedTuple):
    """A job that is to be released, and the ledger's row that it is for."""

    backfill_id: bytes
    row: asyncpg.Record
    due_at: datetime
    version: int
    job: NewJob


def _release(make: Make, limit: int, at: datetime | None) -> Steps[Judged]:
    held = yield Ask(_GUARD, {"row_limit": limit})
    if not held:
        return NOTHING
    values: dict[str, object] = {"at": at, "ids": [row[0] for row in held], "row_limit": limit}
    rows = yield Ask(_FIND_RELEASES, values)
    removed = sorted({row["id"] for row in rows if row["is_removed"]})
    if removed:
        yield Ask(_GIVE_BACK, {"ids": removed})
        yield Ask(_UPDATE, _states(removed, "cancelled"))
    active = [row for row in rows if not row["is_removed"]]
    done = [row["id"] for row in active if row["nominal_at"] is None and not row["live"]]
    if done:
        yield Ask(_UPDATE, _states(done, "done"))
    waiting = [row for row in active if row["nominal_at"] is not None]
    standings = yield from _standings(waiting, at)
    released = _choose(waiting, standings, make, limit)
    jobs = (yield from _insert(released, rows[0]["now"])) if released else []
    due = frozenset(job.queue for job in jobs if is_soon_due(job, rows[0]["now"]))
    return Judged(len(held), len(jobs), due, frozenset())


def _standings(rows: Sequence[asyncpg.Record], at: datetime | None) -> Steps[dict[bytes, Standing]]:
    ids = sorted({row["schedule_id"] for row in rows})
    if not ids:
        return {}
    schedules = yield Ask(_FIND_SCHEDULES, {"ids": ids})
    standings = yield from find_standings(schedules, at)
    return {standing.id: standing for standing, _ in standings}


def _choose(
    rows: Sequence[asyncpg.Record], standings: dict[bytes, Standing], make: Make, limit: int
) -> list[_Released]:
    """Make jobs while there is room, each due a while after the one before it."""
    released: list[_Released] = []
    for backfill_id, waiting in groupby(rows, key=itemgetter("id")):
        due_ms: int | None = None
        for position, row in enumerate(waiting):
            if position >= row["room"] or len(released) >= limit:
                break
            due_ms = _due_ms(row, due_ms)
            standing = standings[row["schedule_id"]]
            nominal_at = round(row["nominal_at"].timestamp())
            job = make(Release(standing, nominal_at, row["sequence"], due_ms))
            due_at = instant_of_ms(due_ms)
            released.append(_Released(backfill_id, row, due_at, standing.version, job))
    return released


def _due_ms(row: asyncpg.Record, before_ms: int | None) -> int:
    """Return when the next job is due; the one before it may be of an earlier call."""
    if before_ms is None and row["released_at"] is not None:
        before_ms = ms_of(row["released_at"])
    now_ms = ms_of(row["now"])
    return now_ms if before_ms is None else max(now_ms, before_ms - (-_MINUTE_MS // row["rate"]))


def _insert(released: Sequence[_Released], now: datetime) -> Steps[list[NewJob]]:
    values = schedule_rows.keys(
        [
            (each.row["schedule_id"], each.row["nominal_at"], each.row["sequence"])
            for each in released
        ]
    )
    values |= {
        "at": now,
        "job_ids": [each.job.id for each in released],
        "due_ats": [each.due_at for each in released],
        "versions": [each.version for each in released],
        "backfill_ids": [each.backfill_id for each in released],
    }
    rows = yield Ask(_RELEASE, values)
    kept = {row["job_id"] for row in rows}
    last = {each.backfill_id: each.due_at for each in released}
    yield Ask(
        _UPDATE,
        {"ids": list(last), "states": ["active"] * len(last), "released_ats": list(last.values())},
    )
    return (yield from insert_jobs([each.job for each in released if each.job.id in kept], now))
