"""Jobs: lists, single ones, their attempts and logs, and waiting for them."""

import hashlib
from typing import Any

import msgspec

from mainspring.domain.access import Right
from mainspring.domain.errors import (
    InvalidCursor,
    InvalidId,
    InvalidInput,
    InvalidQuery,
    NotFound,
)
from mainspring.domain.ids import parse_job, show_job
from mainspring.domain.job import Page, Trend
from mainspring.domain.limits import (
    BULK_BODY_BYTES_MAX,
    PAGE_ITEMS_MAX,
    TREND_ITEMS_MAX,
    WAIT_SECONDS_MAX,
)
from mainspring.domain.names import check_range
from mainspring.domain.states import FINAL, JobState
from mainspring.server.http.calls import Answer, Call, Cursor, job_named, jobs_named
from mainspring.server.http.routing import Routes
from mainspring.wire.documents.common import Listing
from mainspring.wire.documents.control import EndsBody, EndsDocument, JobListing
from mainspring.wire.documents.filters import FilterMembers, Instant, job_filter, states_of
from mainspring.wire.documents.jobs import (
    AttemptDocument,
    GroupDocument,
    JobDocument,
    LogDocument,
    attempt_document,
    group_document,
    job_document,
    log_document,
)

routes = Routes("Jobs")
_SECOND_MS = 1_000
_NOT_MODIFIED = 304
_PLACE = 2


class JobsQuery(FilterMembers, frozen=True, kw_only=True):
    """Which jobs a list has."""

    #: A search: ``kind:mail.send state:dead created:<1d``.
    q: str | None = None
    #: A state, or ``live``, ``final``, ``failed``, ``pending``.
    state: tuple[str, ...] = ()
    limit: int = 50
    cursor: str | None = None
    #: Go on behind this job of an earlier list.
    before: str | None = None


class GroupsQuery(FilterMembers, frozen=True, kw_only=True):
    """Which failures are grouped, and into which spans of time they are counted."""

    #: Without any: ``dead``.
    state: tuple[str, ...] = ()
    limit: int = 50
    #: Where the first span begins; all three are given, or the last 24 hours are told by the hour.
    trend_from: Instant | None = None
    trend_bucket_ms: int | None = None
    trend_buckets: int | None = None


class JobQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a job is looked at."""

    #: With ``If-None-Match``: answer when it has changed, and after this long with 304.
    wait_ms: int = 0


class LogsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which lines of a log."""

    limit: int = PAGE_ITEMS_MAX
    cursor: str | None = None
    #: Go on behind this line: ``ATTEMPT:SEQUENCE``. To follow a log, ask again with the last one.
    after: str | None = None


@routes.add("GET", "/api/v1/jobs", Right.JOBS_READ, errors=(InvalidQuery, InvalidId, InvalidCursor))
async def list_jobs(call: Call, query: JobsQuery) -> JobListing:
    """List jobs, newest first.

    With ``Accept: application/x-ndjson`` all pages come in one answer, a job a line.
    """
    page, cursor = await page_of_jobs(call, query)
    return JobListing(
        items=[job_document(job) for job in page.items],
        next_cursor=cursor.text(page.next_before),
        next_before=None if page.next_before is None else show_job(page.next_before),
    )


@routes.add("GET", "/api/v1/jobs/counts", Right.JOBS_READ)
async def count_jobs(call: Call) -> dict[JobState, int]:
    """Return how many jobs are in each state."""
    return await call.gateway.count_states()


@routes.add("GET", "/api/v1/failure-groups", Right.JOBS_READ, errors=(InvalidId,))
async def list_failure_groups(call: Call, query: GroupsQuery) -> Listing[GroupDocument]:
    """List jobs that failed in the same way as one, most jobs first, each with its trend."""
    check_range("limit", query.limit, 1, PAGE_ITEMS_MAX)
    wanted = job_filter(query, call.any_tenant(query.tenant), states_of(query.state))
    groups = await call.gateway.list_groups(wanted, limit=query.limit, trend=_trend(query))
    return Listing(items=[group_document(group) for group in groups])


@routes.add(
    "GET",
    "/api/v1/jobs/{job_id}",
    Right.JOBS_READ,
    statuses=(_NOT_MODIFIED,),
    errors=(NotFound, InvalidId),
    headers=("If-None-Match",),
    waits=True,
)
async def get_job(call: Call, job_id: str, query: JobQuery) -> Answer[JobDocument]:
    """Return a job with its payload, its state and its result.

    To wait for a change, give the ETag of the last answer as ``If-None-Match`` and ``wait_ms``.
    """
    raw = parse_job(job_id)
    wait_seconds = checked_wait(query.wait_ms)
    known = call.request.headers.get("if-none-match")
    job = await call.gateway.get_job(raw)
    document = job_document(job)
    tag = _tag(document)
    if known is not None and _names(known, tag):
        if wait_seconds and job.state not in FINAL:
            document = job_document(await call.gateway.wait_for_change(raw, job, wait_seconds))
            tag = _tag(document)
        if _names(known, tag):
            return Answer[Any](None, status=_NOT_MODIFIED, headers=[("etag", tag)])
    return Answer(document, headers=[("etag", tag)])


@routes.add(
    "POST",
    "/api/v1/jobs/ends",
    Right.JOBS_READ,
    errors=(NotFound, InvalidId),
    body_bytes=BULK_BODY_BYTES_MAX,
    waits=True,
)
async def wait_for_ends(call: Call, body: EndsBody) -> EndsDocument:
    """Say which of several jobs have ended, as soon as there are any."""
    raw = jobs_named(body.ids)
    wait_seconds = checked_wait(body.wait_ms)
    ended = await call.gateway.wait_for_ends(raw, wait_seconds) if raw else []
    return EndsDocument(ended=[show_job(job_id) for job_id in ended])


@routes.add("GET", "/api/v1/jobs/{job_id}/attempts", Right.JOBS_READ, errors=(NotFound, InvalidId))
async def list_attempts(call: Call, job_id: str) -> Listing[AttemptDocument]:
    """List all attempts of a job in order."""
    raw = parse_job(job_id)
    attempts = await call.gateway.list_attempts(raw)
    if not attempts:
        await call.gateway.get_job(raw)
    return Listing(items=[attempt_document(attempt) for attempt in attempts])


@routes.add(
    "GET",
    "/api/v1/jobs/{job_id}/logs",
    Right.JOBS_READ,
    errors=(NotFound, InvalidId, InvalidCursor),
)
async def list_logs(call: Call, job_id: str, query: LogsQuery) -> Listing[LogDocument]:
    """List what a job's handler logged, attempt by attempt."""
    raw = parse_job(job_id)
    check_range("limit", query.limit, 1, PAGE_ITEMS_MAX)
    cursor = Cursor("logs", raw)
    position = cursor.read(query.cursor)
    if position is not None and query.after is not None:
        raise InvalidInput("after: cursor says the same", hint="give one of them")
    text = query.after if position is None else position.decode("ascii", "replace")
    after = None if text is None else _line_place(text)
    found = await call.gateway.list_logs(raw, after=after, limit=query.limit)
    if not found and after is None:
        await call.gateway.get_job(raw)
    further = None
    if len(found) == query.limit:
        further = cursor.text(f"{found[-1].attempt}:{found[-1].sequence}".encode())
    return Listing(items=[log_document(line) for line in found], next_cursor=further)


async def page_of_jobs(call: Call, query: JobsQuery) -> tuple[Page, Cursor]:
    """Return a page, and the cursors of its question."""
    check_range("limit", query.limit, 1, PAGE_ITEMS_MAX)
    tenant = call.any_tenant(query.tenant)
    states = states_of(query.state)
    question = msgspec.structs.replace(query, limit=0, cursor=None, before=None)
    cursor = Cursor("jobs", question, tenant)
    if query.before is not None and query.cursor is not None:
        raise InvalidInput("before: cursor says the same", hint="give one of them")
    before = cursor.read_id(query.cursor)
    if query.before is not None:
        before = job_named("before", query.before)
    wanted = job_filter(query, tenant, states)
    if query.q is None:
        return await call.gateway.list_jobs(wanted, limit=query.limit, before=before), cursor
    if wanted != job_filter(FilterMembers(), tenant):
        raise InvalidInput(
            "q: a search says all of it", hint="write state:dead kind:mail.send into q"
        )
    text = query.q if tenant is None else f"{query.q} tenant:{tenant}"
    return await call.gateway.find(text, limit=query.limit, before=before), cursor


def _trend(query: GroupsQuery) -> Trend | None:
    given = (query.trend_from, query.trend_bucket_ms, query.trend_buckets)
    begins_at, bucket_ms, buckets = given
    if given == (None, None, None):
        return None
    if begins_at is None or bucket_ms is None or buckets is None:
        raise InvalidInput(
            "trend_from: a trend needs trend_from, trend_bucket_ms and trend_buckets",
            hint="give all three, or none",
        )
    check_range("trend_buckets", buckets, 1, TREND_ITEMS_MAX)
    return Trend(begins_at, bucket_ms, buckets)


def checked_wait(wait_ms: int) -> float:
    """Return for how many seconds an answer may be held back."""
    return check_range("wait_ms", wait_ms, 0, WAIT_SECONDS_MAX * _SECOND_MS) / _SECOND_MS


def _tag(document: JobDocument) -> str:
    return f'"{hashlib.sha256(msgspec.json.encode(document)).hexdigest()[:32]}"'


def _names(header: str, tag: str) -> bool:
    """Tell whether a list of tags has this one; what was compressed on the way has a weak one."""
    named = [part.strip().removeprefix("W/") for part in header.split(",")]
    return tag in named or "*" in named


def _line_place(text: str) -> tuple[int, int]:
    parts = text.split(":")
    if len(parts) != _PLACE or not all(part.isdecimal() and len(part) < 10 for part in parts):
        raise InvalidInput(
            f"after: {text[:80]!r} is no place in a log", hint="write ATTEMPT:SEQUENCE, as 1:20"
        )
    return int(parts[0]), int(parts[1])
