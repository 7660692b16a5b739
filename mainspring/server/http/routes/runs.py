"""What other schedulers call a job may be a schedule here: the routes that take the id of either.

The id says which one it is: ``sch_…`` is a schedule, ``job_…`` a job.
"""

import asyncio
from collections.abc import Iterable
from typing import Final, TypeVar, get_args

import msgspec

from mainspring.domain.access import Right
from mainspring.domain.errors import Changed, InvalidCursor, InvalidId, NotFound
from mainspring.domain.ids import SCHEDULE, parse, parse_job
from mainspring.domain.job import JobView
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.names import check_choice, check_range
from mainspring.domain.schedule import FireView, Outcome, ScheduleView
from mainspring.server.http.calls import Answer, Call, Cursor
from mainspring.server.http.routes.control import cancelled
from mainspring.server.http.routes.ledger import HistoryQuery, page_of_fires
from mainspring.server.http.routes.schedules import TenantQuery, found, removed
from mainspring.server.http.routing import Routes
from mainspring.wire.documents.common import Listing
from mainspring.wire.documents.control import CancelBody
from mainspring.wire.documents.runs import RunDocument, RunStatus, run_of_attempt, run_of_fire

routes = Routes("Runs")
T = TypeVar("T")
_SCHEDULE: Final = f"{SCHEDULE}_"
_STATUSES: Final[tuple[str, ...]] = get_args(RunStatus)
#: Other words for the same.
_WORDS: Final = {
    "succeeded": "success",
    "completed": "success",
    "done": "success",
    "started": "running",
    "claimed": "running",
    "retrying": "failed",
    "scheduled": "pending",
    "ready": "pending",
}
#: So many jobs are fetched at once.
_AT_ONCE: Final = 20


class RunsQuery(TenantQuery, frozen=True, kw_only=True):
    """Which runs, newest first."""

    #: ``success``, ``failed``, ``dead``, ``running``, ``pending``, ...
    status: tuple[str, ...] = ()
    limit: int = 50
    cursor: str | None = None


class RunsOfQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which runs, newest first."""

    #: ``success``, ``failed``, ``dead``, ``running``, ``pending``, ...
    status: tuple[str, ...] = ()
    limit: int = 50


class EndQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a schedule or a job is ended."""

    #: Of a schedule: cancel its live jobs as well.
    cancel_running: bool = False
    #: Of a job: why; kept with it.
    reason: str = ""
    #: Of a job: end it at once although it runs.
    force: bool = False


class EndedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a job that was cancelled, or of a schedule that was removed."""

    id: str
    #: The same, by the name that others give it.
    job_id: str
    #: ``deleted``, ``cancelled``, ``cancelling``; or the state in which the job had ended before.
    status: str
    #: False: it was so already.
    changed: bool


@routes.add(
    "GET",
    "/api/v1/schedules/{schedule}/runs",
    Right.SCHEDULES_READ,
    errors=(NotFound, InvalidCursor),
)
async def list_runs(call: Call, schedule: str, query: RunsQuery) -> Listing[RunDocument]:
    """List the past runs of a schedule, newest first: its fires that had a job of their own."""
    view = await found(call, schedule, query.tenant)
    statuses = _statuses(query.status)
    cursor = Cursor("runs", view.id, sorted(statuses))
    runs, further = await _runs(call, view, statuses, query.limit, cursor.read(query.cursor))
    return Listing(items=runs, next_cursor=cursor.text(further))


@routes.add(
    "GET",
    "/api/v1/jobs/{job_id}/runs",
    Right.JOBS_READ,
    errors=(NotFound, InvalidId),
)
async def list_runs_of(call: Call, job_id: str, query: RunsOfQuery) -> list[RunDocument]:
    """List runs, newest first, as a plain array: of a job its attempts, of a schedule its runs.

    ``/attempts`` and ``/schedules/{schedule}/runs`` say the same page by page.
    """
    check_range("limit", query.limit, 1, PAGE_ITEMS_MAX)
    statuses = _statuses(query.status)
    if job_id.startswith(_SCHEDULE):
        call.principal.insist(Right.SCHEDULES_READ)
        parse(SCHEDULE, job_id)
        view = await found(call, job_id, None)
        return (await _runs(call, view, statuses, query.limit, None))[0]
    raw = parse_job(job_id)
    job = await call.gateway.get_job(raw)
    attempts = await call.gateway.list_attempts(raw)
    runs = [run_of_attempt(attempt, job) for attempt in reversed(attempts)]
    return [run for run in runs if not statuses or run.status in statuses][: query.limit]


@routes.add(
    "DELETE",
    "/api/v1/jobs/{job_id}",
    Right.JOBS_CANCEL,
    statuses=(202,),
    errors=(NotFound, InvalidId, Changed),
)
async def end_job(call: Call, job_id: str, query: EndQuery) -> Answer[EndedDocument]:
    """Cancel a job; or with the id of a schedule, let it fire never again.

    A job that runs is asked to stop, which is answered by 202. What has ended before is left as it
    is. A schedule that was removed keeps its ledger, and its id still names it.
    """
    if job_id.startswith(_SCHEDULE):
        call.principal.insist(Right.SCHEDULES_WRITE)
        parse(SCHEDULE, job_id)
        view = await found(call, job_id, None)
        gone = await removed(call, view, cancel_running=query.cancel_running)
        return Answer(
            EndedDocument(id=gone.id, job_id=gone.id, status=gone.state.value, changed=gone.changed)
        )
    answer = await cancelled(call, job_id, CancelBody(reason=query.reason, force=query.force))
    ended = answer.document
    assert ended.state is not None, "what does not exist is told before"
    return Answer(
        EndedDocument(
            id=ended.id, job_id=ended.id, status=ended.state.value, changed=ended.changed
        ),
        status=answer.status,
    )


async def _runs(
    call: Call,
    view: ScheduleView,
    statuses: frozenset[str],
    limit: int,
    position: bytes | None,
) -> tuple[list[RunDocument], bytes | None]:
    """Return runs behind a position, and where the next page begins."""
    asked = HistoryQuery(
        until=await call.gateway.now(), outcome=(Outcome.JOB, Outcome.BACKFILLED), limit=limit
    )
    runs: list[RunDocument] = []
    while True:
        page = msgspec.structs.replace(asked, limit=limit - len(runs))
        rows, position = await page_of_fires(call, view, page, position)
        # What a backfill has not got to yet is no run so far.
        rows = [row for row in rows if row.job_id is not None]
        found_runs = [run_of_fire(row, job) for row, job in await _with_jobs(call, rows)]
        runs += [run for run in found_runs if not statuses or run.status in statuses]
        if position is None or len(runs) == limit:
            return runs, position


async def _with_jobs(call: Call, rows: list[FireView]) -> list[tuple[FireView, JobView | None]]:
    """Return each fire with its job, as far as it is still there."""

    async def job_of(row: FireView) -> tuple[FireView, JobView | None]:
        assert row.job_id is not None, "chosen before"
        try:
            return row, await call.gateway.get_job(row.job_id)
        except NotFound:
            return row, None

    pairs: list[tuple[FireView, JobView | None]] = []
    for some in _batches(rows):
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(job_of(row)) for row in some]
        pairs += [each.result() for each in asked]
    return pairs


def _batches(rows: list[T]) -> Iterable[list[T]]:
    return (rows[at : at + _AT_ONCE] for at in range(0, len(rows), _AT_ONCE))


def _statuses(words: Iterable[str]) -> frozenset[str]:
    known = (*_STATUSES, *_WORDS)
    plain = [check_choice("status", word.lower(), known) for word in words]
    return frozenset(_WORDS.get(word, word) for word in plain)
