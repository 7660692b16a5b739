"""The fire that a job came from: its schedule, and its nominal, due and actual instants."""

from datetime import datetime, timedelta

import msgspec

from mainspring.cli.records import Record
from mainspring.cli.schedule_tables import local_time, short_instant
from mainspring.cli.text import absolute, relative, span
from mainspring.domain.errors import NotFound
from mainspring.domain.ids import SCHEDULE, show
from mainspring.domain.job import JobView
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.schedule import Cause, FireView, ScheduleView
from mainspring.ports.gateway import ClientGateway

_INSTANT = timedelta(microseconds=1)
_CAUSES = {
    Cause.SCHEDULE: "",
    Cause.DST_GAP: "its wall time did not exist: due at the end of the gap",
    Cause.CATCH_UP: "missed, and caught up",
    Cause.BACKFILL: "taken up by a backfill",
    Cause.MANUAL: "by hand",
}


class Fired(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the fire that a job came from."""

    schedule: ScheduleView
    zone: str
    #: The ledger's row; ``None`` where it was forgotten already.
    row: FireView | None


async def fire_of(gateway: ClientGateway, job: JobView) -> Fired | None:
    """Return the fire of a job, or nothing for a job that was submitted."""
    from mainspring.agenda.spec import read_spec

    if job.schedule_id is None or job.nominal_at is None:
        return None
    name = show(SCHEDULE, job.schedule_id)
    try:
        schedule = await gateway.schedules.get(name)
        rows = await gateway.schedules.history(
            name, after=job.nominal_at - _INSTANT, until=job.nominal_at, limit=PAGE_ITEMS_MAX
        )
    except NotFound:
        return None
    own = next((row for row in rows if row.job_id == job.id), None)
    return Fired(schedule=schedule, zone=read_spec(schedule.spec).times.zone, row=own)


def fire_record(fired: Fired | None, job: JobView) -> Record | None:
    """Return the fire for machines."""
    if fired is None:
        return None
    row = fired.row
    missed = None if row is None or row.missed is None else row.missed
    return {
        "schedule": fired.schedule.name,
        "schedule_id": fired.schedule.schedule_id,
        "zone": fired.zone,
        "nominal_at": job.nominal_at,
        "due_at": None if row is None else row.due_at,
        "decided_at": None if row is None else row.decided_at,
        "started_at": job.started_at,
        "cause": None if row is None else row.cause.value,
        "local": None if row is None else row.local,
        "note": None if row is None else row.note,
        "missed": None if missed is None else msgspec.structs.asdict(missed),
    }


def fire_facts(fired: Fired, job: JobView, now: datetime) -> list[tuple[str, str]]:
    """Return what there is to say of a fire, each with its name."""
    assert job.nominal_at is not None
    row = fired.row
    facts = [("schedule", f"{fired.schedule.name}  ({fired.schedule.schedule_id})")]
    if row is not None and (how := row.note or _CAUSES[row.cause]):
        facts.append(("fire", how))
    when = f"{absolute(job.nominal_at)}  ({relative(job.nominal_at, now)})"
    facts.append(("nominal", when))
    if fired.zone != "UTC":
        facts.append(("local", f"{local_time(job.nominal_at, fired.zone)}  ({fired.zone})"))
    if row is None:
        return facts
    late = row.due_at - job.nominal_at
    spread = f", {span(late)} after the nominal instant" if late > timedelta(0) else ""
    facts.append(("fire due", f"{absolute(row.due_at)}  ({relative(row.due_at, now)}){spread}"))
    if row.missed is not None:
        least = "at least " if row.missed.is_least else ""
        facts.append(("stands for", f"{least}{row.missed.count:,} missed fires, besides its own"))
    return facts


def fire_sentence(fired: Fired, job: JobView) -> str:
    """Return which fire a job is, as the end of *It is …*."""
    assert job.nominal_at is not None
    when = f"{short_instant(job.nominal_at)} UTC"
    if fired.zone != "UTC":
        when += f" ({local_time(job.nominal_at, fired.zone)}, {fired.zone})"
    text = f"the fire of the schedule {fired.schedule.name} for {when}"
    row = fired.row
    if row is None:
        return text
    if how := _CAUSES[row.cause]:
        text += f", {how}"
    if row.due_at > job.nominal_at and row.cause is not Cause.MANUAL:
        text += f", due {span(row.due_at - job.nominal_at)} later"
    if job.started_at is not None:
        text += f", started {span(max(job.started_at - row.due_at, timedelta(0)))} after it was due"
    return text
