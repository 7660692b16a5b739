"""Dead letters: jobs that failed for good, with what was to be done and every attempt."""

from mainspring.domain.access import Right
from mainspring.domain.errors import (
    Conflict,
    InvalidCursor,
    InvalidId,
    InvalidInput,
    InvalidPayload,
    InvalidQuery,
    NotFound,
)
from mainspring.domain.ids import parse_job, show_job
from mainspring.domain.job import JobView
from mainspring.domain.states import JobState
from mainspring.server.http.calls import Call
from mainspring.server.http.routes.control import replayed
from mainspring.server.http.routes.jobs import JobsQuery, page_of_jobs
from mainspring.server.http.routing import Routes
from mainspring.wire.documents.common import Listing
from mainspring.wire.documents.control import (
    ChangedDocument,
    DeadLetterDocument,
    DeadLetterPage,
    PurgedDocument,
    ReplayBody,
    ReplayedDocument,
    ReplayMatchingBody,
    dead_letter_document,
    dead_letter_page,
)
from mainspring.wire.documents.filters import FilterMembers, job_filter
from mainspring.wire.documents.jobs import attempt_document

routes = Routes("Dead letters")


class LettersQuery(FilterMembers, frozen=True, kw_only=True):
    """Which dead letters a list has."""

    #: A search among them: ``kind:mail.* error:"timed out"``.
    q: str | None = None
    limit: int = 50
    cursor: str | None = None


@routes.add(
    "GET",
    "/api/v1/dead-letters",
    Right.JOBS_READ,
    errors=(InvalidQuery, InvalidId, InvalidCursor),
)
async def list_dead_letters(call: Call, query: LettersQuery) -> Listing[DeadLetterDocument]:
    """List dead letters, newest first."""
    asked = {name: getattr(query, name) for name in query.__struct_fields__}
    if query.q is None:
        asked["state"] = (JobState.DEAD.value,)
    else:
        asked["q"] = f"state:dead {query.q}"
    page, cursor = await page_of_jobs(call, JobsQuery(**asked))
    return Listing(
        items=[dead_letter_document(job) for job in page.items],
        next_cursor=cursor.text(page.next_before),
    )


@routes.add("GET", "/api/v1/dead-letters/{job_id}", Right.JOBS_READ, errors=(NotFound, InvalidId))
async def get_dead_letter(call: Call, job_id: str) -> DeadLetterPage:
    """Return a dead letter with every attempt."""
    job = await _dead(call, job_id)
    attempts = await call.gateway.list_attempts(job.id)
    return dead_letter_page(job, [attempt_document(attempt) for attempt in attempts])


@routes.add(
    "POST",
    "/api/v1/dead-letters/{job_id}/replay",
    Right.JOBS_RETRY,
    errors=(NotFound, InvalidId, InvalidPayload, Conflict),
)
async def replay_dead_letter(call: Call, job_id: str, body: ReplayBody) -> ChangedDocument:
    """Bring a dead letter back, with another payload if one is given."""
    return await replayed(call, job_id, body)


@routes.add("POST", "/api/v1/dead-letters/replay", Right.JOBS_RETRY, errors=(InvalidId,))
async def replay_dead_letters(call: Call, body: ReplayMatchingBody) -> ReplayedDocument:
    """Bring back every dead letter that matches, oldest first."""
    wanted = job_filter(body, call.any_tenant(body.tenant))
    if body.all == (wanted != job_filter(FilterMembers(), None)):
        raise InvalidInput(
            "all: which dead letters?", hint="give members that choose some, or all, and not both"
        )
    found = await call.gateway.replay_matching(
        wanted, limit=body.limit, dry_run=body.dry_run, actor=call.actor
    )
    return ReplayedDocument(
        matched=found.matched, changed=[show_job(job_id) for job_id in found.changed]
    )


@routes.add(
    "DELETE", "/api/v1/dead-letters/{job_id}", Right.JOBS_PURGE, errors=(NotFound, InvalidId)
)
async def delete_dead_letter(call: Call, job_id: str) -> PurgedDocument:
    """Delete a dead letter for good, with its attempts and its log."""
    job = await _dead(call, job_id)
    return PurgedDocument(purged=await call.gateway.purge([job.id], actor=call.actor))


async def _dead(call: Call, job_id: str) -> JobView:
    job = await call.gateway.get_job(parse_job(job_id))
    if job.state is not JobState.DEAD:
        raise NotFound(
            f"{show_job(job.id)} is no dead letter, it is {job.state.value}",
            hint="the job itself is below /api/v1/jobs",
            details={"state": job.state.value},
        )
    return job
