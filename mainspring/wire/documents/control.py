"""What is done with jobs, one by one and many at once, and what became of it."""

from datetime import datetime
from typing import Any, Final, Literal, get_args

import msgspec

from mainspring.domain.ids import parse_job, show_job
from mainspring.domain.job import JobView
from mainspring.domain.limits import BULK_JOBS_MAX
from mainspring.domain.states import JobState
from mainspring.ports.gateway import Bulk, Operation
from mainspring.ports.store import CancelResult
from mainspring.wire.documents.common import Listing, ObjectText, error_of, nothing
from mainspring.wire.documents.filters import FilterMembers, Instant
from mainspring.wire.documents.jobs import AttemptDocument, JobDocument, job_document, job_view

Action = Literal["cancel", "retry", "replay", "purge"]
ACTIONS: Final[tuple[str, ...]] = get_args(Action)


class IdsBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Jobs by their ids."""

    ids: list[str]


class CancelBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a job is cancelled."""

    #: Kept with the job.
    reason: str = ""
    #: End it at once although it runs; what its handler still does is ignored.
    force: bool = False


class CancelManyBody(CancelBody, frozen=True, kw_only=True):
    """Which jobs are cancelled, and how."""

    ids: list[str]


class ReplayBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a dead letter is brought back."""

    #: In place of the old one.
    payload: ObjectText = msgspec.field(default_factory=nothing)


class ReplayManyBody(ReplayBody, frozen=True, kw_only=True):
    """Which dead letters are brought back, and how."""

    ids: list[str]


class ReplayMatchingBody(FilterMembers, frozen=True, kw_only=True):
    """Which dead letters are brought back, oldest first."""

    #: Without any other member: whatever there is.
    all: bool = False
    limit: int = 1_000
    #: Only count.
    dry_run: bool = False


class EndsBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which jobs are waited for, and for how long."""

    ids: list[str]
    #: Answered as soon as one has ended, and after this long all the same.
    wait_ms: int = 0


class OperateBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is done with everything that a search finds."""

    action: Action
    #: ``state:dead kind:mail.send``.
    query: str
    #: Jobs that were submitted, or ended, later are left out: ``until`` of a dry run's answer.
    until: Instant | None = None
    limit: int = BULK_JOBS_MAX
    #: At most so many jobs a second.
    rate: float | None = None
    #: For ``cancel``.
    reason: str = ""
    force: bool = False
    #: Only say what would be changed.
    dry_run: bool = False


class ChangedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a job that was to be changed."""

    id: str
    changed: bool
    #: The state it has now; null: there is no such job.
    state: JobState | None = None


class ChangedListing(msgspec.Struct, frozen=True, kw_only=True):
    """What became of jobs that were to be changed, in their order."""

    items: list[ChangedDocument]


class ChangedIds(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs were changed; the others do not wait, or are not dead."""

    changed: list[str]


class EndsDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Which of the jobs have ended."""

    ended: list[str]


class PurgedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """How many dead letters were deleted for good."""

    purged: int


class ReplayedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """How many dead letters matched, and which came back."""

    matched: int
    changed: list[str]


class OperatedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What an action on a search is about, and what it did."""

    action: str
    #: The search as it was understood.
    query: str
    until: datetime
    matched: int
    #: There may be more: the limit was reached.
    capped: bool
    #: How many are in each state.
    states: dict[JobState, int]
    #: The newest of them.
    sample: list[JobDocument]
    changed: list[str]
    dry_run: bool


class DeadLetterDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A job that failed for good: what was to be done, and why it was not."""

    original_job_id: str
    job_type: str
    failure_reason: str
    failed_at: datetime
    original_payload: ObjectText
    tenant: str
    queue: str
    tries: int
    crashes: int
    #: Names errors of one cause.
    group: str | None = None


class DeadLetterPage(DeadLetterDocument, frozen=True, kw_only=True):
    """A dead letter with every attempt."""

    attempt_history: list[AttemptDocument]


class JobListing(Listing[JobDocument], frozen=True, kw_only=True):
    """One page of jobs."""

    #: The same place as ``next_cursor``, as ``before`` takes it.
    next_before: str | None = None


def changed_document(result: CancelResult) -> ChangedDocument:
    """Return what became of a job."""
    return ChangedDocument(id=show_job(result.job_id), changed=result.changed, state=result.state)


def cancel_result(changed: ChangedDocument) -> CancelResult:
    """Read back what became of a job."""
    return CancelResult(parse_job(changed.id), changed.state, changed.changed)


def bulk(body: OperateBody) -> Bulk:
    """Return what is to be done."""
    return Bulk(
        action=body.action,
        query=body.query,
        until=body.until,
        limit=body.limit,
        rate=body.rate,
        reason=body.reason,
        force=body.force,
    )


def operated_document(found: Operation) -> OperatedDocument:
    """Return an operation as it is shown."""
    return OperatedDocument(
        action=found.action,
        query=found.query,
        until=found.until,
        matched=found.matched,
        capped=found.capped,
        states=found.states,
        sample=[job_document(job) for job in found.sample],
        changed=[show_job(job_id) for job_id in found.changed],
        dry_run=found.dry_run,
    )


def operation(found: OperatedDocument) -> Operation:
    """Read an operation back."""
    return Operation(
        action=found.action,
        query=found.query,
        until=found.until,
        matched=found.matched,
        capped=found.capped,
        states=found.states,
        sample=tuple(job_view(job) for job in found.sample),
        changed=tuple(parse_job(job_id) for job_id in found.changed),
        dry_run=found.dry_run,
    )


def dead_letter_document(job: JobView) -> DeadLetterDocument:
    """Return a dead letter as it is listed."""
    return DeadLetterDocument(**_letter(job))


def dead_letter_page(job: JobView, attempts: list[AttemptDocument]) -> DeadLetterPage:
    """Return a dead letter with its attempts."""
    return DeadLetterPage(**_letter(job), attempt_history=attempts)


def _letter(job: JobView) -> dict[str, Any]:
    error = error_of(job.error)
    return {
        "original_job_id": show_job(job.id),
        "job_type": job.kind,
        "failure_reason": job.reason or "" if error is None else error.headline,
        "failed_at": job.finished_at or job.due_at,
        "original_payload": msgspec.Raw(job.payload),
        "tenant": job.tenant,
        "queue": job.queue,
        "tries": job.tries,
        "crashes": job.crashes,
        "group": job.error_group,
    }
