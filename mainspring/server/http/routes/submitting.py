"""Submitting: one job, many jobs, or what turns out to be a schedule."""

from datetime import UTC, datetime, timedelta, timezone

from mainspring.domain.access import Right
from mainspring.domain.errors import (
    DuplicateJob,
    InvalidSchedule,
    LimitReached,
    ScheduleExists,
    SubmissionKeyReused,
    UnknownKind,
)
from mainspring.domain.ids import show_job
from mainspring.domain.limits import BULK_BODY_BYTES_MAX
from mainspring.server.http.calls import REPLAYED, Answer, Call, header_key
from mainspring.server.http.forms import (
    cron_of,
    is_plain,
    plain_submission,
    schedule_draft,
)
from mainspring.server.http.forms import submission as submission_of
from mainspring.server.http.pointing import pointing_at_given
from mainspring.server.http.routing import Routes
from mainspring.wire.documents.submissions import (
    AcceptedBatch,
    AcceptedDocument,
    BatchBody,
    SubmissionBody,
    SubmittedDocument,
)

routes = Routes("Jobs")


@routes.add(
    "POST",
    "/api/v1/jobs",
    Right.JOBS_SUBMIT,
    status=201,
    errors=(
        UnknownKind,
        SubmissionKeyReused,
        DuplicateJob,
        ScheduleExists,
        InvalidSchedule,
        LimitReached,
    ),
    headers=("Idempotency-Key",),
)
async def submit(call: Call, body: SubmissionBody) -> Answer[SubmittedDocument]:
    """Submit a job, now or for later; or make a schedule.

    Answered after the commit that made it durable. With ``cron_expression``, or a cron in
    ``schedule``, it is a schedule that is made, and its id begins with ``sch_``. With the header
    ``Idempotency-Key`` the same request may be sent again for a day: it names the same job.
    """
    key = header_key(call)
    is_simple = body.kind is not None and is_plain(body)
    cron = None if is_simple else cron_of(body)
    if cron is not None:
        return await _make_schedule(call, body, cron)
    wanted = plain_submission(body, call, key) if is_simple else submission_of(body, call, key)
    (accepted,) = await call.gateway.submit([wanted])
    job_id = show_job(accepted.job_id)
    document = SubmittedDocument(
        id=job_id, job_id=job_id, created=accepted.created, replaced=accepted.replaced
    )
    if body.schedule_type is not None or body.schedule is not None:
        document = _as_schedule(document, wanted.due_at, body.timezone)
    headers = [("location", f"/api/v1/jobs/{job_id}")]
    if not accepted.created and not accepted.replaced:
        headers.append(REPLAYED)
    return Answer(document, headers=headers)


@routes.add(
    "POST",
    "/api/v1/jobs/batch",
    Right.JOBS_SUBMIT,
    status=201,
    errors=(UnknownKind, SubmissionKeyReused, DuplicateJob, LimitReached),
    body_bytes=BULK_BODY_BYTES_MAX,
    headers=("Idempotency-Key",),
)
async def submit_batch(call: Call, body: BatchBody) -> AcceptedBatch:
    """Submit many jobs in one transaction: all of them, or none.

    The header ``Idempotency-Key`` stands for a key of each of them, by its place.
    """
    key = header_key(call)
    wanted = [
        submission_of(item, call, None if key is None else f"{key}/{index}")
        for index, item in enumerate(body.jobs)
    ]
    accepted = await call.gateway.submit(wanted)
    return AcceptedBatch(
        items=[
            AcceptedDocument(id=show_job(one.job_id), created=one.created, replaced=one.replaced)
            for one in accepted
        ]
    )


async def _make_schedule(call: Call, body: SubmissionBody, cron: str) -> Answer[SubmittedDocument]:
    call.principal.insist(Right.SCHEDULES_WRITE)
    draft = schedule_draft(body, cron, call)
    with pointing_at_given(body):
        view = await call.gateway.schedules.create(draft, key=header_key(call), actor=call.actor)
    coming = await call.gateway.schedules.next(view.schedule_id, count=1, tenant=view.tenant)
    document = SubmittedDocument(id=view.schedule_id, job_id=view.schedule_id, created=True)
    due_at = coming.upcoming[0].nominal_at.isoformat() if coming.upcoming else None
    return Answer(
        _as_schedule(document, due_at, draft.zone),
        headers=[("location", f"/api/v1/schedules/{view.schedule_id}")],
    )


def _as_schedule(
    document: SubmittedDocument, due_at: str | None, zone: str | None
) -> SubmittedDocument:
    """Add what those expect who gave a schedule."""
    from mainspring.timetable.zones import zone as zone_named

    instant = None if due_at is None else datetime.fromisoformat(due_at).astimezone(UTC)
    local = instant
    if instant is not None and zone is not None:
        # By the zones that fire schedules: this machine may know fewer, and no fixed offsets.
        offset = zone_named(zone).offset_at(int(instant.timestamp()))
        local = instant.astimezone(timezone(timedelta(seconds=offset)))
    return SubmittedDocument(
        id=document.id,
        job_id=document.job_id,
        created=document.created,
        replaced=document.replaced,
        status="ACTIVE",
        next_scheduled_run=local,
        next_run_at=instant,
    )
