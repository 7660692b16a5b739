"""Jobs, their attempts and their log lines."""

from datetime import datetime, timedelta
from typing import Final, Literal

import msgspec

from mainspring.domain.ids import JOB, SCHEDULE, WORKER, parse, parse_job, show, show_attempt
from mainspring.domain.job import AttemptView, Backoff, FailureGroup, JobView, Priority
from mainspring.domain.names import priority_of
from mainspring.domain.outcome import LogLine
from mainspring.domain.states import AttemptState, JobState
from mainspring.wire.documents.common import (
    ErrorDocument,
    ObjectText,
    empty_object,
    error_document,
    error_text,
    nothing,
    raw_json,
    raw_text,
)

PriorityName = Literal["critical", "high", "normal", "low"]
_NAMES: Final[dict[int, PriorityName]] = {
    Priority.CRITICAL: "critical",
    Priority.HIGH: "high",
    Priority.NORMAL: "normal",
    Priority.LOW: "low",
}


class ProgressDocument(msgspec.Struct, frozen=True, kw_only=True):
    """How far a running attempt is."""

    done: float
    total: float | None = None
    note: str = ""


class JobDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A job, waiting, running or ended."""

    id: str
    kind: str
    state: JobState
    tenant: str
    queue: str
    priority: PriorityName
    #: The number of the attempt that runs or ran last; 0 before the first.
    attempt: int
    #: Attempts that count against ``max_attempts``.
    tries: int
    max_attempts: int
    crashes: int
    max_crashes: int
    replays: int = 0
    schedule_id: str | None = None
    nominal_at: datetime | None = None
    reason: str | None = None
    blocked_reason: str | None = None
    created_at: datetime
    due_at: datetime
    started_at: datetime | None = None
    deadline_at: datetime | None = None
    finished_at: datetime | None = None
    timeout_ms: int
    backoff: Backoff | None = None
    on_exhausted: str | None = None
    effect_key: str | None = None
    submission_key: str | None = None
    unique_key: str | None = None
    unique_while: str | None = None
    worker_id: str | None = None
    progress: ProgressDocument | None = None
    payload: ObjectText = msgspec.field(default_factory=empty_object)
    payload_ref: str | None = None
    #: What the handler returned: any JSON.
    result: msgspec.Raw = msgspec.field(default_factory=nothing)
    result_ref: str | None = None
    error: ErrorDocument | None = None
    #: Names errors of one cause.
    group: str | None = None


def priority_name(priority: int) -> PriorityName:
    """Return the word of a level."""
    return _NAMES[priority]


def job_document(job: JobView) -> JobDocument:
    """Return a job as it is shown."""
    progress = None
    if job.progress_done is not None:
        progress = ProgressDocument(
            done=job.progress_done, total=job.progress_total, note=job.progress_note or ""
        )
    return JobDocument(
        id=show(JOB, job.id),
        kind=job.kind,
        state=job.state,
        tenant=job.tenant,
        queue=job.queue,
        priority=_NAMES[job.priority],
        attempt=job.attempt,
        tries=job.tries,
        max_attempts=job.max_attempts,
        crashes=job.crashes,
        max_crashes=job.max_crashes,
        replays=job.replays,
        schedule_id=None if job.schedule_id is None else show(SCHEDULE, job.schedule_id),
        nominal_at=job.nominal_at,
        reason=job.reason,
        blocked_reason=job.blocked_reason,
        created_at=job.created_at,
        due_at=job.due_at,
        started_at=job.started_at,
        deadline_at=job.deadline_at,
        finished_at=job.finished_at,
        timeout_ms=job.timeout_ms,
        backoff=job.backoff,
        on_exhausted=job.on_exhausted,
        effect_key=job.effect_key,
        submission_key=job.submission_key,
        unique_key=job.unique_key,
        unique_while=job.unique_while,
        worker_id=None if job.worker_id is None else show(WORKER, job.worker_id),
        progress=progress,
        payload=msgspec.Raw(job.payload),
        payload_ref=job.payload_ref,
        result=raw_json(job.result),
        result_ref=job.result_ref,
        error=error_document(job.error),
        group=job.error_group,
    )


def job_view(job: JobDocument) -> JobView:
    """Read a job back."""
    progress = job.progress
    return JobView(
        id=parse_job(job.id),
        kind=job.kind,
        tenant=job.tenant,
        queue=job.queue,
        priority=priority_of(job.priority),
        state=job.state,
        due_at=job.due_at,
        created_at=job.created_at,
        attempt=job.attempt,
        tries=job.tries,
        crashes=job.crashes,
        max_attempts=job.max_attempts,
        max_crashes=job.max_crashes,
        timeout_ms=job.timeout_ms,
        payload=bytes(job.payload),
        payload_ref=job.payload_ref,
        backoff=job.backoff,
        reason=job.reason,
        blocked_reason=job.blocked_reason,
        worker_id=None if job.worker_id is None else parse(WORKER, job.worker_id),
        started_at=job.started_at,
        deadline_at=job.deadline_at,
        finished_at=job.finished_at,
        result=raw_text(job.result),
        result_ref=job.result_ref,
        error=error_text(job.error),
        error_group=job.group,
        effect_key=job.effect_key,
        submission_key=job.submission_key,
        unique_key=job.unique_key,
        unique_while=job.unique_while,
        on_exhausted=job.on_exhausted,
        schedule_id=None if job.schedule_id is None else parse(SCHEDULE, job.schedule_id),
        nominal_at=job.nominal_at,
        replays=job.replays,
        progress_done=None if progress is None else progress.done,
        progress_total=None if progress is None else progress.total,
        progress_note=None if progress is None else progress.note,
    )


class AttemptDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt of a job, open or closed."""

    id: str
    attempt: int
    state: AttemptState
    worker_id: str | None = None
    started_at: datetime
    ended_at: datetime | None = None
    duration_ms: int | None = None
    reason: str | None = None
    error: ErrorDocument | None = None


def milliseconds_between(start: datetime | None, end: datetime | None) -> int | None:
    """Return the whole milliseconds between two instants, where both are known."""
    if start is None or end is None:
        return None
    return max(0, (end - start) // timedelta(milliseconds=1))


def attempt_document(attempt: AttemptView) -> AttemptDocument:
    """Return an attempt as it is shown."""
    return AttemptDocument(
        id=show_attempt(attempt.job_id, attempt.attempt),
        attempt=attempt.attempt,
        state=attempt.state,
        worker_id=None if attempt.worker_id is None else show(WORKER, attempt.worker_id),
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        duration_ms=milliseconds_between(attempt.started_at, attempt.ended_at),
        reason=attempt.reason,
        error=error_document(attempt.error),
    )


def attempt_view(attempt: AttemptDocument) -> AttemptView:
    """Read an attempt back."""
    return AttemptView(
        job_id=parse_job(attempt.id),
        attempt=attempt.attempt,
        state=attempt.state,
        worker_id=None if attempt.worker_id is None else parse(WORKER, attempt.worker_id),
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        reason=attempt.reason,
        error=error_text(attempt.error),
    )


class LogDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One line that a handler logged."""

    job_id: str
    attempt: int
    sequence: int
    at: datetime
    level: str
    message: str
    fields: ObjectText = msgspec.field(default_factory=empty_object)


def log_document(line: LogLine) -> LogDocument:
    """Return a line as it is shown."""
    return LogDocument(
        job_id=show(JOB, line.job_id),
        attempt=line.attempt,
        sequence=line.sequence,
        at=line.at,
        level=line.level,
        message=line.message,
        fields=msgspec.Raw(line.fields.encode()) if line.fields else empty_object(),
    )


def log_line(line: LogDocument) -> LogLine:
    """Read a line back."""
    fields = bytes(line.fields).decode()
    return LogLine(
        job_id=parse_job(line.job_id),
        attempt=line.attempt,
        sequence=line.sequence,
        at=line.at,
        level=line.level,
        message=line.message,
        fields="" if fields == "{}" else fields,
    )


class GroupDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs that failed in the same way."""

    group: str
    jobs: int
    kind: str
    first_at: datetime
    last_at: datetime
    #: The newest of them.
    sample_id: str
    error: ErrorDocument | None = None
    #: How many ended in each span of the time that was asked for.
    trend: list[int] = []


def group_document(group: FailureGroup) -> GroupDocument:
    """Return a group of failures as it is shown."""
    return GroupDocument(
        group=group.group,
        jobs=group.jobs,
        kind=group.kind,
        first_at=group.first_at,
        last_at=group.last_at,
        sample_id=show(JOB, group.sample_id),
        error=error_document(group.error),
        trend=list(group.trend),
    )


def failure_group(group: GroupDocument) -> FailureGroup:
    """Read a group back."""
    return FailureGroup(
        group=group.group,
        jobs=group.jobs,
        kind=group.kind,
        first_at=group.first_at,
        last_at=group.last_at,
        sample_id=parse_job(group.sample_id),
        error=error_text(group.error) or b"{}",
        trend=tuple(group.trend),
    )
