"""Rulings are carried out: cancels, rows of the ledger, their jobs, and where schedules stand.

There is one writer, so what a judge was told is still true when its ruling comes; the unique rows
of the ledger, and one exclusive job a schedule, hold whatever it believed.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from mainspring.agenda.standing import Change, NewFire, Ruling, Standing
from mainspring.domain.job import NewJob
from mainspring.domain.schedule import FireRow, Missed
from mainspring.ports.schedules import TELL_AHEAD_MS, Judged
from mainspring.store.auditing import ruling_line
from mainspring.store.sqlite.auditing import audit
from mainspring.store.sqlite.control import cancel_jobs
from mainspring.store.sqlite.instants import due_us
from mainspring.store.sqlite.packing import as_json, chunks, pack, text
from mainspring.store.sqlite.submission import insert_fresh
from mainspring.store.sqlite.unit import Unit

#: Why a job was cancelled by its schedule's overlap policy, or with its schedule.
_REASON: Final = "schedule"
_NO_JOB: Final = bytes(16)
_SECOND_US: Final = 1_000_000
#: Of a row of the ledger: schedule, nominal instant, sequence.
_Key = tuple[bytes, int, int]


class _Ruled(NamedTuple):
    """One fire of a ruling."""

    standing: Standing
    version: int
    fire: NewFire

    @property
    def key(self) -> _Key:
        row = self.fire.row
        return self.standing.id, nominal_us(row), row.sequence


def nominal_us(row: FireRow) -> int:
    """Return the nominal instant of a row as it is kept."""
    return round(row.nominal_at * _SECOND_US)


def carry_out(
    unit: Unit, standings: Sequence[Standing], rulings: Sequence[Ruling], *, actor: str
) -> Judged:
    """Carry out what was ruled on these standings, all of it."""
    ruled = list(zip(standings, rulings, strict=True))
    workers: set[bytes] = set()
    for _, ruling in ruled:
        if ruling.cancel:
            force = ruling.cancel_by_force
            results = cancel_jobs(unit, ruling.cancel, _REASON, force=force)
            told = (each.result.worker_id for each in results)
            workers |= {worker_id for worker_id in told if worker_id is not None}
    fires = [
        _Ruled(standing, _version(standing, ruling.change, fire.row), fire)
        for standing, ruling in ruled
        for fire in ruling.fires
    ]
    jobs = _add_fires(unit, fires)
    notices = [notice for _, ruling in ruled for notice in ruling.notices]
    unit.follow(insert_fresh([*jobs, *notices], unit.now_us))
    _keep(unit, ruled)
    for standing, ruling in ruled:
        _note(unit, standing, ruling, actor)
    return Judged(
        schedules=len(ruled),
        jobs=len(jobs),
        queues=soon_due_queues([*jobs, *notices], unit.now_us),
        workers=frozenset(workers),
        job_ids=tuple(job.id for job in jobs) if len(ruled) == 1 else (),
    )


def soon_due_queues(jobs: Sequence[NewJob], now_us: int) -> frozenset[str]:
    """Return the queues that have got jobs of which workers are to be told."""
    soon_us = now_us + TELL_AHEAD_MS * 1_000
    return frozenset(job.queue for job in jobs if due_us(job, now_us) <= soon_us)


def _version(standing: Standing, change: Change | None, row: FireRow) -> int:
    return standing.version + int(change is not None and row.nominal_at > change.from_at)


def _add_fires(unit: Unit, fires: Sequence[_Ruled]) -> list[NewJob]:
    """Insert the rows that are new; return the jobs that go in with them."""
    new: set[_Key] = set()
    for part in chunks(fires):
        values = {
            "ids": pack(each.standing.id for each in part),
            "jobs": pack(each.fire.row.job_id or _NO_JOB for each in part),
            "entries": as_json([_entry(each) for each in part]),
            "now": unit.now_us,
        }
        new |= {(row[0], row[1], row[2]) for row in unit.rows("add_fires", values)}
    taken = _exclusive_now(unit, fires)
    jobs: list[NewJob] = []
    for each in fires:
        job = each.fire.job
        if job is None or each.key not in new:
            continue
        # A row is new once: what comes later under its key finds it taken.
        new.discard(each.key)
        if job.alone and each.standing.id in taken:
            _refuse(unit, each.key, job.id)
            continue
        if job.alone:
            taken.add(each.standing.id)
        jobs.append(job)
    return jobs


def _exclusive_now(unit: Unit, fires: Sequence[_Ruled]) -> set[bytes]:
    """Return the schedules of these that have a live exclusive job."""
    wanted = {each.standing.id for each in fires if each.fire.job and each.fire.job.alone}
    found: set[bytes] = set()
    for part in chunks(list(wanted)):
        values = {"ids": pack(part), "positions": as_json([0] * len(part))}
        found |= {row[0] for row in unit.rows("find_alone", values)}
    return found


def _refuse(unit: Unit, key: _Key, job_id: bytes) -> None:
    schedule_id, nominal, sequence = key
    unit.change("refuse_overlap", {"id": schedule_id, "nominal_at": nominal, "sequence": sequence})
    unit.change("refuse_pointing", {"job_id": job_id})


def _entry(each: _Ruled) -> tuple[object, ...]:
    row, job = each.fire.row, each.fire.job
    return (
        nominal_us(row),
        row.sequence,
        row.outcome,
        row.cause,
        row.due_ms * 1_000,
        each.version,
        None if row.through is None else row.through * _SECOND_US,
        row.count,
        int(row.job_id is not None),
        row.local,
        row.note,
        _missed_text(row.missed),
        int(job is not None and job.alone),
    )


def _missed_text(missed: Missed | None) -> str | None:
    return None if missed is None else as_json(missed)


def _keep(unit: Unit, ruled: Sequence[tuple[Standing, Ruling]]) -> None:
    for part in chunks(ruled):
        entries = [
            (
                as_json(ruling.cursor),
                ruling.state,
                None if ruling.look_at_ms is None else ruling.look_at_ms * 1_000,
                int(ruling.waiting),
            )
            for _, ruling in part
        ]
        unit.change_entries("keep_rulings", [standing.id for standing, _ in part], entries)


def _note(unit: Unit, standing: Standing, ruling: Ruling, actor: str) -> None:
    """Write down what only some rulings say."""
    given = {"id": standing.id, "now": unit.now_us}
    pause = ruling.pause
    if ruling.change is not None:
        _change(unit, standing, ruling.change, actor)
    if pause is not None:
        until = None if pause.until_ms is None else pause.until_ms * 1_000
        told = {"paused_by": pause.by, "reason": pause.reason, "until_at": until}
        unit.change("pause_schedule", given | told)
    if ruling.counts_anew:
        unit.change("watch_schedule", given)
    if ruling.action:
        unit.change("sign_schedule", given | {"actor": actor})
        audit(unit, actor, ruling.action, [ruling_line(standing, ruling)])


def _change(unit: Unit, standing: Standing, change: Change, actor: str) -> None:
    values = {
        "id": standing.id,
        "version": standing.version + 1,
        "spec": change.spec.decode(),
        "calendars": text(change.calendars),
        "zones": change.zones,
    }
    more = {
        "owner": change.owner,
        "is_exclusive": change.is_exclusive,
        "pause_after": change.pause_after_failures,
    }
    unit.change("change_schedule", values | more)
    add_version(unit, values, from_at=change.from_at, change=change.what, actor=actor)


def add_version(
    unit: Unit, values: dict[str, object], *, from_at: int, change: str, actor: str
) -> None:
    """Write down what a schedule is from an instant (seconds) on."""
    told = {"from_at": from_at, "change": change, "actor": actor, "now": unit.now_us}
    unit.change("add_version", values | told)
