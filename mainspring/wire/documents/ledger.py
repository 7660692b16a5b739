"""A schedule's ledger: what became of its fires, its backfills, and what an audit found."""

from datetime import datetime

import msgspec

from mainspring.domain.audit import Audited, Finding, FindingKind
from mainspring.domain.ids import BACKFILL, JOB, SCHEDULE, parse, parse_job, show, show_job
from mainspring.domain.schedule import (
    BackfillView,
    Cause,
    FireView,
    Missed,
    Outcome,
    ScheduleState,
    ScheduleView,
)
from mainspring.domain.states import JobState
from mainspring.ports.scheduling import Backfilled, ScheduleAudit
from mainspring.wire.documents.schedules import ScheduleDocument, instant_of, seconds_of

# --- fires ----------------------------------------------------------------------------------------


class MissedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The missed fires that one job stands for, besides its own."""

    count: int
    first_at: datetime
    last_at: datetime
    #: There were more than were counted.
    is_least: bool = False


class FireDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the ledger: one fire, or a span of fires that all came to the same end."""

    schedule_id: str
    nominal_at: datetime
    #: Of a span its last fire.
    through: datetime | None = None
    #: Of a span how many fires it has; null when nobody counted so far.
    count: int | None = 1
    #: -1: a span; -2: fired by hand.
    sequence: int
    outcome: Outcome
    cause: Cause
    #: The wall time by the rule, where it is not the obvious one.
    local: str | None = None
    due_at: datetime
    decided_at: datetime
    version: int
    #: The job, or with ``coalesced_into`` the job that stands for it.
    job_id: str | None = None
    #: How its own job ended, kept longer than the job.
    job_state: JobState | None = None
    job_ended_at: datetime | None = None
    backfill_id: str | None = None
    note: str | None = None
    missed: MissedDocument | None = None


def fire_document(fire: FireView) -> FireDocument:
    """Return a row of the ledger as it is shown."""
    missed = fire.missed
    return FireDocument(
        schedule_id=show(SCHEDULE, fire.schedule_id),
        nominal_at=fire.nominal_at,
        through=fire.through,
        count=fire.count,
        sequence=fire.sequence,
        outcome=fire.outcome,
        cause=fire.cause,
        local=fire.local,
        due_at=fire.due_at,
        decided_at=fire.decided_at,
        version=fire.version,
        job_id=None if fire.job_id is None else show_job(fire.job_id),
        job_state=fire.job_state,
        job_ended_at=fire.job_ended_at,
        backfill_id=None if fire.backfill_id is None else show(BACKFILL, fire.backfill_id),
        note=fire.note,
        missed=None
        if missed is None
        else MissedDocument(
            count=missed.count,
            first_at=instant_of(missed.first_at),
            last_at=instant_of(missed.last_at),
            is_least=missed.is_least,
        ),
    )


def fire_view(fire: FireDocument) -> FireView:
    """Read a row of the ledger back."""
    missed = fire.missed
    return FireView(
        schedule_id=parse(SCHEDULE, fire.schedule_id),
        nominal_at=fire.nominal_at,
        sequence=fire.sequence,
        outcome=fire.outcome,
        cause=fire.cause,
        due_at=fire.due_at,
        decided_at=fire.decided_at,
        version=fire.version,
        through=fire.through,
        count=fire.count,
        job_id=None if fire.job_id is None else parse_job(fire.job_id),
        backfill_id=None if fire.backfill_id is None else parse(BACKFILL, fire.backfill_id),
        local=fire.local,
        note=fire.note,
        missed=None
        if missed is None
        else Missed(
            count=missed.count,
            first_at=seconds_of(missed.first_at),
            last_at=seconds_of(missed.last_at),
            is_least=missed.is_least,
        ),
        job_state=fire.job_state,
        job_ended_at=fire.job_ended_at,
    )


class FiredDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The job of a fire by hand."""

    job_id: str


def fired_document(job_id: bytes) -> FiredDocument:
    """Return the job of a fire by hand as it is shown."""
    return FiredDocument(job_id=show(JOB, job_id))


# --- backfills ------------------------------------------------------------------------------------


class BackfillBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fires of the past that are wanted: from one instant to another, both included."""

    from_at: datetime
    until_at: datetime
    #: ``oldest`` or ``newest`` first.
    order: str = "oldest"
    #: Its jobs that are live at once.
    concurrency: int = 1
    #: Fires that had a job of their own: ``none`` of them, those that ``failed``, ``all``.
    reprocess: str = "none"


class BackfilledDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What a backfill takes up, and what it leaves alone."""

    #: Null: nothing was changed.
    id: str | None = None
    #: The schedule's name.
    schedule: str
    fires: int
    first_at: datetime | None = None
    last_at: datetime | None = None
    #: Fires of the range that are left alone, by why.
    left: dict[str, int] = {}


class BackfillDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A backfill and how far it is."""

    id: str
    schedule_id: str
    from_at: datetime
    until_at: datetime
    order: str
    concurrency: int
    state: str
    created_at: datetime
    created_by: str
    fires: int
    waiting: int = 0
    live: int = 0
    succeeded: int = 0
    failed: int = 0


class BackfillChanged(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a backfill that was to be cancelled."""

    id: str
    #: False: it had ended, or never was.
    changed: bool


def backfilled_document(schedule: str, found: Backfilled) -> BackfilledDocument:
    """Return what a backfill takes up as it is shown."""
    return BackfilledDocument(
        id=None if found.id is None else show(BACKFILL, found.id),
        schedule=schedule,
        fires=found.fires,
        first_at=found.first_at,
        last_at=found.last_at,
        left=found.left,
    )


def backfilled_of(found: BackfilledDocument) -> Backfilled:
    """Read back what a backfill takes up."""
    return Backfilled(
        id=None if found.id is None else parse(BACKFILL, found.id),
        fires=found.fires,
        left=found.left,
        first_at=found.first_at,
        last_at=found.last_at,
    )


def failed_of(backfill: BackfillView) -> int:
    """Return how many jobs of a backfill ended without success."""
    if backfill.state == "cancelled":
        return 0
    return max(0, backfill.fires - backfill.waiting - backfill.live - backfill.succeeded)


def backfill_document(backfill: BackfillView) -> BackfillDocument:
    """Return a backfill as it is shown."""
    members = msgspec.structs.asdict(backfill) | {
        "id": show(BACKFILL, backfill.id),
        "schedule_id": show(SCHEDULE, backfill.schedule_id),
    }
    return BackfillDocument(failed=failed_of(backfill), **members)


def backfill_view(backfill: BackfillDocument) -> BackfillView:
    """Read a backfill back."""
    members = msgspec.structs.asdict(backfill) | {
        "id": parse(BACKFILL, backfill.id),
        "schedule_id": parse(SCHEDULE, backfill.schedule_id),
    }
    return BackfillView(**{name: members[name] for name in BackfillView.__struct_fields__})


# --- audits ---------------------------------------------------------------------------------------


class FindingDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Where ledger and timetable disagree."""

    kind: FindingKind
    nominal_at: datetime
    sequence: int
    #: What is wrong, as a sentence.
    detail: str
    #: The wall time by the rule, where the rule names the instant.
    local: str = ""


class AuditDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What should have fired, computed anew, against the ledger."""

    name: str
    id: str
    tenant: str
    state: ScheduleState
    after: datetime
    through: datetime
    #: Nominal fires, with those that clock changes and calendars took away.
    expected: int
    #: Those of them that the ledger accounts for exactly once.
    accounted: int
    #: How many ended how.
    outcomes: dict[str, int]
    gaps: int
    doubles: int
    unexpected: int
    #: The first of them.
    findings: list[FindingDocument]
    #: False: there was more than one audit looks at; go on from ``through``.
    is_complete: bool
    is_clean: bool
    #: Fires that are due and not decided yet.
    undecided: int = 0
    undecided_since: datetime | None = None
    #: The schedule itself, where it was asked for.
    schedule: ScheduleDocument | None = None


def audit_document(audit: ScheduleAudit, schedule: ScheduleDocument | None = None) -> AuditDocument:
    """Return an audit as it is shown."""
    audited = msgspec.structs.asdict(audit.audited)
    audited["findings"] = [
        FindingDocument(**msgspec.structs.asdict(each)) for each in audit.audited.findings
    ]
    return AuditDocument(
        name=audit.schedule.name,
        id=audit.schedule.schedule_id,
        tenant=audit.schedule.tenant,
        state=audit.schedule.state,
        is_clean=audit.audited.is_clean,
        undecided=audit.undecided,
        undecided_since=audit.undecided_since,
        schedule=schedule,
        **audited,
    )


def audit_of(audit: AuditDocument, schedule: ScheduleView) -> ScheduleAudit:
    """Read an audit back; of the schedule it has a part alone."""
    members = {name: getattr(audit, name) for name in Audited.__struct_fields__}
    members["findings"] = tuple(Finding(**msgspec.structs.asdict(each)) for each in audit.findings)
    return ScheduleAudit(
        schedule=schedule,
        audited=Audited(**members),
        undecided=audit.undecided,
        undecided_since=audit.undecided_since,
    )
