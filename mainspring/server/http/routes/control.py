"""Jobs: cancelling them, trying them again, and doing so with many at once."""

from mainspring.domain.access import Right
from mainspring.domain.errors import Conflict, InvalidId, InvalidPayload, InvalidQuery, NotFound
from mainspring.domain.ids import parse_job, show_job
from mainspring.domain.limits import BULK_BODY_BYTES_MAX
from mainspring.domain.states import JobState
from mainspring.server.http.calls import Answer, Call, jobs_named
from mainspring.server.http.routing import Routes
from mainspring.wire.documents.common import raw_text
from mainspring.wire.documents.control import (
    CancelBody,
    CancelManyBody,
    ChangedDocument,
    ChangedIds,
    ChangedListing,
    IdsBody,
    OperateBody,
    OperatedDocument,
    PurgedDocument,
    ReplayBody,
    ReplayManyBody,
    bulk,
    changed_document,
    operated_document,
)

routes = Routes("Jobs")
_WAITING = frozenset({JobState.SCHEDULED, JobState.RETRYING, JobState.READY})
#: What each bulk action asks for.
ACTION_RIGHTS = {
    "cancel": Right.JOBS_CANCEL,
    "retry": Right.JOBS_RETRY,
    "replay": Right.JOBS_RETRY,
    "purge": Right.JOBS_PURGE,
}


async def cancelled(call: Call, job_id: str, body: CancelBody) -> Answer[ChangedDocument]:
    """Cancel a job and say what became of it: 202 while its handler still has to stop."""
    (result,) = await call.gateway.cancel(
        [parse_job(job_id)], reason=body.reason, force=body.force, actor=call.actor
    )
    if result.state is None:
        raise NotFound(f"there is no job {job_id}")
    status = 202 if result.state is JobState.CANCELLING else 200
    return Answer(changed_document(result), status=status)


@routes.add(
    "POST",
    "/api/v1/jobs/{job_id}/cancel",
    Right.JOBS_CANCEL,
    statuses=(202,),
    errors=(NotFound, InvalidId),
)
async def cancel_job(call: Call, job_id: str, body: CancelBody) -> Answer[ChangedDocument]:
    """Cancel a job.

    One that waits ends at once; one that runs is asked to stop, which is answered by 202. A job
    that has ended is left as it is.
    """
    return await cancelled(call, job_id, body)


@routes.add(
    "POST",
    "/api/v1/jobs/{job_id}/retry",
    Right.JOBS_RETRY,
    errors=(NotFound, InvalidId, Conflict),
)
async def retry_job(call: Call, job_id: str) -> ChangedDocument:
    """Try a job again now: a waiting one is due at once, a dead one comes back."""
    raw = parse_job(job_id)
    job = await call.gateway.get_job(raw)
    if job.state is JobState.DEAD:
        changed = await call.gateway.replay([raw], actor=call.actor)
    elif job.state in _WAITING:
        changed = await call.gateway.run_now([raw], actor=call.actor)
    else:
        raise Conflict(
            f"{show_job(raw)} is {job.state.value}: it neither waits nor is it dead",
            details={"state": job.state.value},
        )
    return await _now(call, raw, changed)


@routes.add(
    "POST",
    "/api/v1/jobs/{job_id}/replay",
    Right.JOBS_RETRY,
    errors=(NotFound, InvalidId, InvalidPayload, Conflict),
)
async def replay_job(call: Call, job_id: str, body: ReplayBody) -> ChangedDocument:
    """Bring a dead letter back, with another payload if one is given."""
    return await replayed(call, job_id, body)


async def replayed(call: Call, job_id: str, body: ReplayBody) -> ChangedDocument:
    """Bring a dead letter back, or raise where it is none."""
    raw = parse_job(job_id)
    changed = await call.gateway.replay([raw], payload=raw_text(body.payload), actor=call.actor)
    found = await _now(call, raw, changed)
    if not found.changed:
        state = "" if found.state is None else found.state.value
        raise Conflict(f"{found.id} is no dead letter, it is {state}", details={"state": state})
    return found


async def _now(call: Call, raw: bytes, changed: list[bytes]) -> ChangedDocument:
    job = await call.gateway.get_job(raw)
    return ChangedDocument(id=show_job(raw), changed=bool(changed), state=job.state)


@routes.add(
    "POST",
    "/api/v1/jobs/cancel",
    Right.JOBS_CANCEL,
    errors=(InvalidId,),
    body_bytes=BULK_BODY_BYTES_MAX,
)
async def cancel_jobs(call: Call, body: CancelManyBody) -> ChangedListing:
    """Cancel jobs by their ids; the state of those that do not exist is null."""
    results = await call.gateway.cancel(
        jobs_named(body.ids), reason=body.reason, force=body.force, actor=call.actor
    )
    return ChangedListing(items=[changed_document(result) for result in results])


@routes.add(
    "POST",
    "/api/v1/jobs/run-now",
    Right.JOBS_RETRY,
    errors=(InvalidId,),
    body_bytes=BULK_BODY_BYTES_MAX,
)
async def run_jobs_now(call: Call, body: IdsBody) -> ChangedIds:
    """Make waiting jobs due now; others are left alone."""
    return _changed(await call.gateway.run_now(jobs_named(body.ids), actor=call.actor))


@routes.add(
    "POST",
    "/api/v1/jobs/retry",
    Right.JOBS_RETRY,
    errors=(InvalidId,),
    body_bytes=BULK_BODY_BYTES_MAX,
)
async def retry_jobs(call: Call, body: IdsBody) -> ChangedIds:
    """Try jobs again now: waiting ones are due at once, dead ones come back."""
    raw = jobs_named(body.ids)
    changed = set(await call.gateway.run_now(raw, actor=call.actor))
    left = [job_id for job_id in raw if job_id not in changed]
    if left:
        changed |= set(await call.gateway.replay(left, actor=call.actor))
    return _changed([job_id for job_id in raw if job_id in changed])


@routes.add(
    "POST",
    "/api/v1/jobs/replay",
    Right.JOBS_RETRY,
    errors=(InvalidId, InvalidPayload, NotFound),
    body_bytes=BULK_BODY_BYTES_MAX,
)
async def replay_jobs(call: Call, body: ReplayManyBody) -> ChangedIds:
    """Bring dead letters back by their ids; others are left alone."""
    raw = jobs_named(body.ids)
    payload = raw_text(body.payload)
    return _changed(await call.gateway.replay(raw, payload=payload, actor=call.actor))


@routes.add(
    "POST",
    "/api/v1/jobs/purge",
    Right.JOBS_PURGE,
    errors=(InvalidId,),
    body_bytes=BULK_BODY_BYTES_MAX,
)
async def purge_jobs(call: Call, body: IdsBody) -> PurgedDocument:
    """Delete dead letters for good, with their attempts and logs; others are left alone."""
    return PurgedDocument(purged=await call.gateway.purge(jobs_named(body.ids), actor=call.actor))


@routes.add("POST", "/api/v1/jobs/operate", Right.JOBS_READ, errors=(InvalidQuery,))
async def operate(call: Call, body: OperateBody) -> OperatedDocument:
    """Do something with everything that a search finds, oldest first.

    With ``dry_run`` it is only said with what; pass ``until`` of that answer to mean the same set.
    """
    if not body.dry_run:
        call.principal.insist(ACTION_RIGHTS[body.action])
    found = await call.gateway.operate(bulk(body), dry_run=body.dry_run, actor=call.actor)
    return operated_document(found)


def _changed(raw: list[bytes]) -> ChangedIds:
    return ChangedIds(changed=[show_job(job_id) for job_id in raw])
