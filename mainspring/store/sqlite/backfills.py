"""Fires of the past are taken up: the backfills of ``ScheduleStore``."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from mainspring.agenda.standing import Standing
from mainspring.domain.errors import NotFound
from mainspring.domain.ids import SCHEDULE, show
from mainspring.domain.job import NewJob
from mainspring.domain.schedule import BackfillView, Outcome
from mainspring.ports.schedules import Judged, NewBackfill, Release
from mainspring.store.auditing import cancelled_backfill_line, new_backfill_line
from mainspring.store.sqlite.auditing import audit
from mainspring.store.sqlite.instants import due_us, from_us
from mainspring.store.sqlite.packing import as_json, chunks
from mainspring.store.sqlite.part import Part
from mainspring.store.sqlite.rulings import soon_due_queues
from mainspring.store.sqlite.standings import read_standings
from mainspring.store.sqlite.submission import insert_fresh
from mainspring.store.sqlite.unit import Row, Unit

_SECOND_US: Final = 1_000_000
_MINUTE_MS: Final = 60_000
#: Backfills that one call looks at.
_BACKFILLS_A_CALL: Final = 100


class _Former(msgspec.Struct, array_like=True, frozen=True):
    """What a row was before a backfill took it up: the array of ``find_fires_at``."""

    outcome: str
    cause: str
    due_at: int
    decided_at: int
    version: int
    #: In hexadecimal, as the next one; empty: none.
    job_id: str
    backfill_id: str
    note: str | None
    missed: str | None
    job_state: str | None
    job_ended_at: int | None
    alone: int

    def values(self) -> dict[str, object]:
        """Return the columns as they are written."""
        ids = {
            "job_id": bytes.fromhex(self.job_id) or None,
            "backfill_id": bytes.fromhex(self.backfill_id) or None,
        }
        return msgspec.structs.asdict(self) | ids


_formers: Final = msgspec.json.Decoder(_Former)


class _Ready(NamedTuple):
    """A backfill that has something to do: the row of ``pick_backfills``."""

    id: bytes
    schedule_id: bytes
    order: str
    concurrency: int
    rate: int
    #: When the newest of its jobs is due.
    released_at: int | None
    is_removed: bool
    has_more: bool
    live: int


class Backfills(Part):
    """Fires of the past are taken up."""

    async def create_backfill(self, new: NewBackfill, *, actor: str) -> int:
        return await self._engine.write(lambda unit: _create(unit, new, actor))

    async def release_backfills(self, make: Callable[[Release], NewJob], *, limit: int) -> Judged:
        def work(unit: Unit) -> Judged:
            jobs: list[NewJob] = []
            ready = find_ready(unit, _BACKFILLS_A_CALL)
            for backfill in ready:
                if backfill.is_removed:
                    _cancel(unit, backfill.id)
                elif not backfill.has_more:
                    unit.change("end_backfill", {"id": backfill.id, "state": "done"})
                elif len(jobs) < limit:
                    jobs += _release(unit, backfill, make, limit - len(jobs))
            return Judged(len(ready), len(jobs), soon_due_queues(jobs, unit.now_us), frozenset())

        return await self._engine.write(work)

    async def list_backfills(self, schedule_id: bytes) -> list[BackfillView]:
        values = {"id": schedule_id}
        rows = await self._engine.read(lambda unit: unit.rows("list_backfills", values))
        return [_view(row) for row in rows]

    async def tenant_of_backfill(self, backfill_id: bytes) -> str | None:
        values = {"id": backfill_id}
        row = await self._engine.read(lambda unit: unit.row("tenant_of_backfill", values))
        return None if row is None else row[0]

    async def cancel_backfill(self, backfill_id: bytes, *, actor: str) -> bool:
        def work(unit: Unit) -> bool:
            found = unit.row("find_backfill", {"id": backfill_id})
            if found is None or not _cancel(unit, backfill_id):
                return False
            (standing,) = read_standings(unit, [found[0]])
            line = cancelled_backfill_line(backfill_id, found[0], standing.tenant)
            audit(unit, actor, "backfill.cancel", [line])
            return True

        return await self._engine.write(work)


def find_ready(unit: Unit, most: int) -> list[_Ready]:
    """Return backfills that have something to do, the oldest first."""
    return [_Ready(*row) for row in unit.rows("pick_backfills", {"batch_size": most})]


def _create(unit: Unit, new: NewBackfill, actor: str) -> int:
    known = unit.row("find_backfill", {"id": new.id})
    if known is not None:
        count: int = known[2]
        return count
    standings = read_standings(unit, [new.schedule_id])
    if not standings:
        raise NotFound(f"there is no schedule {show(SCHEDULE, new.schedule_id)}")
    taken = sum(_take_up(unit, new, part, standings[0]) for part in chunks(new.fires))
    told = {
        "id": new.id,
        "schedule_id": new.schedule_id,
        "from_at": new.from_at * _SECOND_US,
        "until_at": new.until_at * _SECOND_US,
        "fire_order": new.order,
        "concurrency": new.concurrency,
        "rate": new.rate,
        "fire_count": taken,
        "now": unit.now_us,
        "actor": actor,
    }
    unit.change("add_backfill", told)
    line = new_backfill_line(new, standings[0].tenant, taken)
    audit(unit, actor, "backfill.create", [line])
    return taken


def _take_up(
    unit: Unit, new: NewBackfill, fires: Sequence[tuple[int, int]], standing: Standing
) -> int:
    """Write the rows that are not there, and take up those that may be; return how many."""
    keys = [(nominal * _SECOND_US, sequence) for nominal, sequence in fires]
    entries: dict[tuple[int, int], tuple[str | None, str | None]]
    entries = dict.fromkeys(keys, (None, None))
    found = unit.rows("find_fires_at", {"id": new.schedule_id, "entries": as_json(keys)})
    for position, outcome, is_jobless, job_state, note, former in found:
        waits = outcome == Outcome.BACKFILLED and is_jobless
        is_live = outcome in (Outcome.JOB, Outcome.BACKFILLED) and job_state is None
        if waits or is_live:
            entries.pop(keys[position], None)
            continue
        was = f"was {outcome}" + (f", {job_state}" if job_state else "")
        entries[keys[position]] = (f"{was}: {note}" if note else was, former)
    values = {
        "id": new.schedule_id,
        "backfill_id": new.id,
        "entries": as_json([(*key, *told) for key, told in entries.items()]),
        "version": standing.version,
        "now": unit.now_us,
    }
    return unit.change("take_up_fires", values)


def _release(
    unit: Unit, backfill: _Ready, make: Callable[[Release], NewJob], most: int
) -> list[NewJob]:
    """Insert the next jobs of a backfill, each at its distance from the one before."""
    (standing,) = read_standings(unit, [backfill.schedule_id])
    name = "pick_waiting_newest" if backfill.order == "newest" else "pick_waiting_oldest"
    room = min(most, backfill.concurrency - backfill.live)
    gap_ms = _MINUTE_MS // backfill.rate
    due_ms = None if backfill.released_at is None else backfill.released_at // 1_000
    jobs: list[NewJob] = []
    entries: list[tuple[int, int, int]] = []
    for nominal, sequence in unit.rows(name, {"id": backfill.id, "batch_size": room}):
        due_ms = standing.now_ms if due_ms is None else max(standing.now_ms, due_ms + gap_ms)
        job = make(Release(standing, nominal // _SECOND_US, sequence, due_ms))
        jobs.append(job)
        entries.append((nominal, sequence, due_us(job, unit.now_us)))
    values = {
        "id": backfill.schedule_id,
        "backfill_id": backfill.id,
        "version": standing.version,
        "now": unit.now_us,
    }
    unit.change_entries("release_fires", [job.id for job in jobs], entries, **values)
    unit.follow(insert_fresh(jobs, unit.now_us))
    unit.change("note_release", {"id": backfill.id, "released_at": entries[-1][2]})
    return jobs


def _cancel(unit: Unit, backfill_id: bytes) -> bool:
    """End a backfill and take back what waits. False: it had ended."""
    if not unit.change("end_backfill", {"id": backfill_id, "state": "cancelled"}):
        return False
    for schedule_id, nominal, sequence, former in unit.rows("list_waiting", {"id": backfill_id}):
        key = {"id": schedule_id, "nominal_at": nominal, "sequence": sequence}
        if former is None:
            unit.change("delete_fire", key)
        else:
            unit.change("restore_fire", _formers.decode(former).values() | key)
    return True


def _view(row: Row) -> BackfillView:
    return BackfillView(
        id=row[0],
        schedule_id=row[1],
        from_at=from_us(row[2]),
        until_at=from_us(row[3]),
        order=row[4],
        concurrency=row[5],
        state=row[6],
        created_at=from_us(row[7]),
        created_by=row[8],
        fires=row[9],
        waiting=row[10],
        live=row[11],
        succeeded=row[12],
    )
