"""Operations as they travel: bulk actions that outlive whoever asked for them."""

from datetime import datetime
from typing import Any

import msgspec

from mainspring.domain.ids import OPERATION, parse, parse_job, show_job
from mainspring.domain.operation import (
    MemberView,
    OperationError,
    OperationOptions,
    OperationProgress,
    OperationState,
    OperationView,
    Outcome,
)
from mainspring.domain.states import JobState
from mainspring.ports.operations import OperationAsk, OperationPreview
from mainspring.wire.documents.common import MaybeObjectText, nothing, raw_json, raw_text
from mainspring.wire.documents.control import Action
from mainspring.wire.documents.filters import Instant
from mainspring.wire.documents.jobs import JobDocument, job_document, job_view


class OperationBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be done with everything that a search finds."""

    action: Action
    #: ``state:dead kind:mail.send``.
    query: str
    #: Left out: that of the key, or all of them.
    tenant: str | None = None
    #: Jobs that came or moved later are left out; now, if not given.
    until: Instant | None = None
    #: At most so many jobs, the oldest.
    limit: int | None = None
    #: At most so many changes a second.
    rate: float | None = None
    #: After so many changes it pauses by itself.
    canary: int | None = None
    #: For ``cancel``.
    reason: str = ""
    force: bool = False
    #: For ``replay``: in place of the old payloads.
    payload: MaybeObjectText = msgspec.field(default_factory=nothing)


class StartBody(OperationBody, frozen=True, kw_only=True):
    """What is to be done, under an id that was chosen before."""

    #: ``op_…``: with the id of an earlier request that operation is answered.
    id: str | None = None


class WhyBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why an operation is paused or aborted."""

    #: Kept with the operation, and in the audit.
    reason: str = ""


class MemberErrorDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A job that could not be changed."""

    job_id: str
    message: str


class OperationDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A bulk action, and how far it is."""

    id: str
    #: Null: of the whole installation.
    tenant: str | None
    action: str
    #: The search as it was understood.
    query: str
    until: datetime
    limit: int | None
    rate: float | None
    canary: int | None
    #: Of ``cancel``: kept with the jobs.
    job_reason: str
    force: bool
    payload: MaybeObjectText = msgspec.field(default_factory=nothing)
    state: OperationState
    #: Why it is paused, was aborted or failed.
    reason: str
    #: How many match: an estimate of the preview until the set is frozen.
    matched: int | None
    #: There may be more than ``matched``.
    matched_is_least: bool
    #: Jobs that were looked at to find members.
    looked_at: int
    #: How many members it will decide, as far as that is known.
    goal: int | None
    changed: int
    left_alone: int
    failed: int
    #: How many of each state before came to each outcome.
    report: dict[str, dict[str, int]]
    #: The first jobs that could not be changed.
    errors: list[MemberErrorDocument]
    #: Every member is known.
    is_frozen: bool
    #: The job that the search for members, and after that their change, has come to.
    cursor: str | None
    #: Grows with everything that people change.
    version: int
    created_at: datetime
    created_by: str
    started_at: datetime | None
    ended_at: datetime | None
    #: When somebody last turned it, and who.
    turned_at: datetime
    turned_by: str
    #: Its rate allows no change before.
    next_at: datetime | None


class OperationPreviewDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What an operation would be about. It waits, ``previewed``, to be confirmed."""

    operation: OperationDocument
    #: How many in each state would be changed.
    states: dict[JobState, int]
    #: How many match that the action cannot change.
    refused: dict[JobState, int]
    #: The newest of them.
    sample: list[JobDocument]


class MemberDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one job of an operation."""

    job_id: str
    #: Before.
    state: JobState
    outcome: Outcome
    #: Why it was left alone, or what failed.
    reason: str | None


def operation_ask(body: OperationBody, tenant: str | None) -> OperationAsk:
    """Return what is asked for; whose jobs it may be about was decided before."""
    payload = raw_text(body.payload)
    return OperationAsk(
        action=body.action,
        query=body.query,
        tenant=tenant,
        until=body.until,
        options=OperationOptions(
            limit=body.limit,
            rate=body.rate,
            canary=body.canary,
            reason=body.reason,
            force=body.force,
            payload=None if payload is None else payload.decode(),
        ),
    )


def operation_members(ask: OperationAsk) -> dict[str, object]:
    """Return the members that say what is asked for."""
    members: dict[str, object] = {
        "action": ask.action,
        "query": ask.query,
        "tenant": ask.tenant,
        "until": ask.until,
        **msgspec.structs.asdict(ask.options),
    }
    members["payload"] = _raw(ask.options)
    return members


def operation_document(view: OperationView) -> OperationDocument:
    """Return an operation as it travels."""
    options, progress = view.options, view.progress
    return OperationDocument(
        id=view.operation_id,
        tenant=view.tenant,
        action=view.action,
        query=view.query,
        until=view.until,
        limit=options.limit,
        rate=options.rate,
        canary=options.canary,
        job_reason=options.reason,
        force=options.force,
        payload=_raw(options),
        state=view.state,
        reason=view.reason,
        matched=progress.matched,
        matched_is_least=progress.matched_is_least,
        looked_at=progress.looked_at,
        goal=view.goal,
        changed=progress.changed,
        left_alone=progress.left_alone,
        failed=progress.failed,
        report=progress.report,
        errors=[
            MemberErrorDocument(job_id=show_job(error.job_id), message=error.message)
            for error in progress.errors
        ],
        is_frozen=view.is_frozen,
        cursor=None if view.cursor is None else show_job(view.cursor),
        version=view.version,
        **_instants(view),
    )


def operation_view(found: OperationDocument) -> OperationView:
    """Read an operation back."""
    payload = raw_text(found.payload)
    return OperationView(
        id=parse(OPERATION, found.id),
        tenant=found.tenant,
        action=found.action,
        query=found.query,
        until=found.until,
        options=OperationOptions(
            limit=found.limit,
            rate=found.rate,
            canary=found.canary,
            reason=found.job_reason,
            force=found.force,
            payload=None if payload is None else payload.decode(),
        ),
        state=found.state,
        reason=found.reason,
        progress=OperationProgress(
            matched=found.matched,
            matched_is_least=found.matched_is_least,
            looked_at=found.looked_at,
            changed=found.changed,
            left_alone=found.left_alone,
            failed=found.failed,
            report=found.report,
            errors=tuple(
                OperationError(parse_job(error.job_id), error.message) for error in found.errors
            ),
        ),
        is_frozen=found.is_frozen,
        cursor=None if found.cursor is None else parse_job(found.cursor),
        version=found.version,
        **_instants(found),
    )


def preview_document(preview: OperationPreview) -> OperationPreviewDocument:
    """Return a preview as it travels."""
    return OperationPreviewDocument(
        operation=operation_document(preview.operation),
        states=preview.states,
        refused=preview.refused,
        sample=[job_document(job) for job in preview.sample],
    )


def preview_of(found: OperationPreviewDocument) -> OperationPreview:
    """Read a preview back."""
    return OperationPreview(
        operation_view(found.operation),
        found.states,
        found.refused,
        tuple(job_view(job) for job in found.sample),
    )


def member_document(member: MemberView) -> MemberDocument:
    """Return what became of a job as it travels."""
    return MemberDocument(
        job_id=show_job(member.job_id),
        state=member.state,
        outcome=member.outcome,
        reason=member.reason,
    )


def member_view(member: MemberDocument) -> MemberView:
    """Read back what became of a job."""
    return MemberView(parse_job(member.job_id), member.state, member.outcome, member.reason)


def _raw(options: OperationOptions) -> msgspec.Raw:
    return raw_json(None if options.payload is None else options.payload.encode())


def _instants(found: OperationView | OperationDocument) -> dict[str, Any]:
    names = ("created_at", "created_by", "started_at", "ended_at", "turned_at", "turned_by")
    return {name: getattr(found, name) for name in (*names, "next_at")}
