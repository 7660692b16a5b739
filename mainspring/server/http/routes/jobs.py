"""Jobs: looking at them, and changing them one by one."""

import msgspec

from mainspring.domain.access import Right
from mainspring.domain.errors import InvalidId, InvalidInput, InvalidQuery, NotFound
from mainspring.domain.ids import ID_BYTES, parse_job
from mainspring.domain.job import JobFilter, Page
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.names import check_range
from mainspring.domain.states import JobState
from mainspring.server.http.calls import Call, Cursor
from mainspring.server.http.routing import Routes
from mainspring.wire.documents.common import Listing
from mainspring.wire.documents.jobs import (
    AttemptDocument,
    JobDocument,
    attempt_document,
    job_document,
)

routes = Routes("Jobs")


class JobsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which jobs a list has."""

    #: A search: ``kind:mail.send state:dead created:<1d``.
    q: str | None = None
    state: list[JobState] = []
    kind: list[str] = []
    queue: list[str] = []
    tenant: str | None = None
    limit: int = 50
    cursor: str | None = None


@routes.add("GET", "/api/v1/jobs", Right.JOBS_READ, errors=(InvalidQuery,))
async def list_jobs(call: Call, query: JobsQuery) -> Listing[JobDocument]:
    """List jobs, newest first.

    With ``Accept: application/x-ndjson`` all pages come in one answer, a job a line.
    """
    check_range("limit", query.limit, 1, PAGE_ITEMS_MAX)
    tenant = call.any_tenant(query.tenant)
    cursor = Cursor("jobs", query.q, query.state, query.kind, query.queue, tenant)
    before = _place(cursor.read(query.cursor))
    page = await _page(call, query, tenant, before)
    return Listing(
        items=[job_document(job) for job in page.items], next_cursor=cursor.text(page.next_before)
    )


@routes.add("GET", "/api/v1/jobs/{job_id}", Right.JOBS_READ, errors=(NotFound, InvalidId))
async def get_job(call: Call, job_id: str) -> JobDocument:
    """Return a job with its payload, its state and its result."""
    return job_document(await call.gateway.get_job(parse_job(job_id)))


@routes.add("GET", "/api/v1/jobs/{job_id}/attempts", Right.JOBS_READ, errors=(NotFound, InvalidId))
async def list_attempts(call: Call, job_id: str) -> Listing[AttemptDocument]:
    """List all attempts of a job in order."""
    raw = parse_job(job_id)
    attempts = await call.gateway.list_attempts(raw)
    if not attempts:
        await call.gateway.get_job(raw)
    return Listing(items=[attempt_document(attempt) for attempt in attempts])


async def _page(call: Call, query: JobsQuery, tenant: str | None, before: bytes | None) -> Page:
    if query.q is None:
        wanted = JobFilter(
            states=frozenset(query.state),
            kinds=frozenset(query.kind),
            queues=frozenset(query.queue),
            tenant=tenant,
        )
        return await call.gateway.list_jobs(wanted, limit=query.limit, before=before)
    if query.state or query.kind or query.queue:
        raise InvalidInput(
            "q: a search says all of it", hint="write state:dead kind:mail.send into q"
        )
    text = query.q if tenant is None else f"{query.q} tenant:{tenant}"
    return await call.gateway.find(text, limit=query.limit, before=before)


def _place(position: bytes | None) -> bytes | None:
    if position is not None and len(position) != ID_BYTES:
        raise InvalidInput("cursor: it is no cursor of ours", hint="pass next_cursor unchanged")
    return position
