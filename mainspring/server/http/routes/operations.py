"""Operations: bulk actions as objects, with their set, their progress and their report.

Whoever may read jobs may look and preview. What begins, turns or ends an operation asks for the
right of its action as well, by ``ACTION_RIGHTS``: ``jobs.retry`` (retry and replay),
``jobs.cancel``, ``jobs.purge``.
"""

import msgspec

from mainspring.domain.access import Right
from mainspring.domain.errors import (
    Conflict,
    InvalidCursor,
    InvalidId,
    InvalidInput,
    InvalidPayload,
    InvalidQuery,
    NotFound,
    SubmissionKeyReused,
    UnknownOption,
)
from mainspring.domain.ids import OPERATION, parse, parse_job
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.names import check_range
from mainspring.domain.operation import OperationView
from mainspring.server.http.calls import Answer, Call, Cursor, header_key
from mainspring.server.http.editing import with_tag
from mainspring.server.http.pointing import pointing_at
from mainspring.server.http.routes.control import ACTION_RIGHTS
from mainspring.server.http.routes.jobs import checked_wait
from mainspring.server.http.routing import Routes
from mainspring.wire.documents.common import Listing
from mainspring.wire.documents.operations import (
    MemberDocument,
    OperationBody,
    OperationDocument,
    OperationPreviewDocument,
    StartBody,
    WhyBody,
    member_document,
    operation_ask,
    operation_document,
    preview_document,
)

routes = Routes("Operations")
_NOT_MODIFIED = 304
_ASK_ERRORS = (InvalidQuery, InvalidPayload)
_TURN_ERRORS = (NotFound, InvalidId, Conflict)


class OperationsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which operations a list has."""

    #: ``previewed``, ``running``, ``paused``, ``done``, ``aborted``, ``failed``.
    state: tuple[str, ...] = ()
    tenant: str | None = None
    limit: int = 50
    cursor: str | None = None
    #: In place of a cursor: behind the operation with this id.
    before: str | None = None


class OperationQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an operation is looked at."""

    tenant: str | None = None
    #: With ``If-None-Match``: answer when it has changed, and after this long with 304.
    wait_ms: int = 0


class OwnerQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose an operation is; left out: whoever's the key may reach."""

    tenant: str | None = None


class MembersQuery(OwnerQuery, frozen=True, kw_only=True):
    """Which jobs of an operation."""

    #: ``changed``, ``left_alone``, ``failed``.
    outcome: tuple[str, ...] = ()
    limit: int = 50
    cursor: str | None = None
    #: In place of a cursor: behind this job.
    after: str | None = None


@routes.add("GET", "/api/v1/operations", Right.JOBS_READ, errors=(InvalidCursor, InvalidId))
async def list_operations(call: Call, query: OperationsQuery) -> Listing[OperationDocument]:
    """List operations, newest first."""
    check_range("limit", query.limit, 1, PAGE_ITEMS_MAX)
    tenant = call.any_tenant(query.tenant)
    cursor = Cursor("operations", tenant, query.state)
    before = cursor.read_id(query.cursor)
    if before is None and query.before is not None:
        with pointing_at("?before"):
            before = parse(OPERATION, query.before)
    with pointing_at("?state", UnknownOption):
        found = await call.gateway.operations.list(
            states=query.state, tenant=tenant, limit=query.limit, before=before
        )
    more = found[-1].id if len(found) == query.limit else None
    return Listing(
        items=[operation_document(view) for view in found], next_cursor=cursor.text(more)
    )


@routes.add("POST", "/api/v1/operations/preview", Right.JOBS_READ, status=201, errors=_ASK_ERRORS)
async def preview_operation(call: Call, body: OperationBody) -> Answer[OperationPreviewDocument]:
    """Say what an operation would be about; nothing happens before it is confirmed.

    One that nobody confirms is forgotten after a day.
    """
    ask = operation_ask(body, call.any_tenant(body.tenant))
    with pointing_at("/query", InvalidQuery):
        preview = await call.gateway.operations.preview(ask, actor=call.actor)
    return Answer(preview_document(preview), headers=[("location", _path(preview.operation))])


@routes.add(
    "POST",
    "/api/v1/operations",
    Right.JOBS_READ,
    status=202,
    errors=(*_ASK_ERRORS, InvalidId, Conflict, SubmissionKeyReused),
    headers=("Idempotency-Key",),
)
async def start_operation(call: Call, body: StartBody) -> Answer[OperationDocument]:
    """Begin to do something with everything that a search finds.

    It is carried on whether or not anybody waits. To send the request again, give it an ``id`` or
    the header ``Idempotency-Key``: then it names the same operation.

    Needs the right to the action, too: ``jobs.retry`` (retry and replay), ``jobs.cancel``,
    ``jobs.purge``.
    """
    call.principal.insist(ACTION_RIGHTS[body.action])
    key = header_key(call)
    if key is not None and body.id is not None:
        raise InvalidInput("id: the header Idempotency-Key says the same", hint="give one of them")
    ask = operation_ask(body, call.any_tenant(body.tenant))
    with pointing_at("/id", InvalidId):
        named = None if body.id is None else parse(OPERATION, body.id)
    with pointing_at("/query", InvalidQuery):
        view = await call.gateway.operations.start(
            ask, operation_id=named, key=key, actor=call.actor
        )
    return _told(call, view, location=_path(view))


@routes.add(
    "GET",
    "/api/v1/operations/{operation_id}",
    Right.JOBS_READ,
    statuses=(_NOT_MODIFIED,),
    errors=(NotFound, InvalidId),
    headers=("If-None-Match",),
    waits=True,
)
async def get_operation(
    call: Call, operation_id: str, query: OperationQuery
) -> Answer[OperationDocument]:
    """Return an operation as it is now.

    To follow it, give the ETag of the last answer as ``If-None-Match`` and ``wait_ms``.
    """
    wait_seconds = checked_wait(query.wait_ms)
    view = await _found(call, operation_id, query.tenant)
    answer = _told(call, view)
    if answer.status == _NOT_MODIFIED and wait_seconds and not view.has_ended:
        view = await call.gateway.operations.wait_for_change(view.id, view, wait_seconds)
        answer = _told(call, view)
    return answer


@routes.add(
    "POST",
    "/api/v1/operations/{operation_id}/confirm",
    Right.JOBS_READ,
    status=202,
    errors=_TURN_ERRORS,
)
async def confirm_operation(
    call: Call, operation_id: str, query: OwnerQuery
) -> Answer[OperationDocument]:
    """Begin what was previewed, about the jobs as they stood then.

    Needs the right to the action, too.
    """
    view = await _turned(call, operation_id, query.tenant)
    return _told(call, await call.gateway.operations.confirm(view.id, actor=call.actor))


@routes.add("POST", "/api/v1/operations/{operation_id}/pause", Right.JOBS_READ, errors=_TURN_ERRORS)
async def pause_operation(
    call: Call, operation_id: str, body: WhyBody, query: OwnerQuery
) -> Answer[OperationDocument]:
    """Change nothing more until it is resumed.

    Needs the right to the action, too.
    """
    view = await _turned(call, operation_id, query.tenant)
    paused = await call.gateway.operations.pause(view.id, reason=body.reason, actor=call.actor)
    return _told(call, paused)


@routes.add(
    "POST", "/api/v1/operations/{operation_id}/resume", Right.JOBS_READ, errors=_TURN_ERRORS
)
async def resume_operation(
    call: Call, operation_id: str, query: OwnerQuery
) -> Answer[OperationDocument]:
    """Go on with one that is paused or failed.

    Needs the right to the action, too.
    """
    view = await _turned(call, operation_id, query.tenant)
    return _told(call, await call.gateway.operations.resume(view.id, actor=call.actor))


@routes.add("POST", "/api/v1/operations/{operation_id}/abort", Right.JOBS_READ, errors=_TURN_ERRORS)
async def abort_operation(
    call: Call, operation_id: str, body: WhyBody, query: OwnerQuery
) -> Answer[OperationDocument]:
    """Change nothing more for good; what was changed stays so.

    Needs the right to the action, too.
    """
    view = await _turned(call, operation_id, query.tenant)
    aborted = await call.gateway.operations.abort(view.id, reason=body.reason, actor=call.actor)
    return _told(call, aborted)


@routes.add(
    "GET",
    "/api/v1/operations/{operation_id}/members",
    Right.JOBS_READ,
    errors=(NotFound, InvalidId, InvalidCursor),
)
async def list_members(
    call: Call, operation_id: str, query: MembersQuery
) -> Listing[MemberDocument]:
    """List what became of the jobs of an operation so far, oldest first."""
    check_range("limit", query.limit, 1, PAGE_ITEMS_MAX)
    raw = parse(OPERATION, operation_id)
    cursor = Cursor("members", raw, query.outcome)
    after = cursor.read_id(query.cursor)
    if after is None and query.after is not None:
        with pointing_at("?after"):
            after = parse_job(query.after)
    tenant = call.any_tenant(query.tenant)
    with pointing_at("?outcome", UnknownOption):
        found = await call.gateway.operations.members(
            raw, outcomes=query.outcome, tenant=tenant, limit=query.limit, after=after
        )
    more = found[-1].job_id if len(found) == query.limit else None
    return Listing(
        items=[member_document(member) for member in found], next_cursor=cursor.text(more)
    )


async def _found(call: Call, operation_id: str, tenant: str | None) -> OperationView:
    return await call.gateway.operations.get(
        parse(OPERATION, operation_id), tenant=call.any_tenant(tenant)
    )


async def _turned(call: Call, operation_id: str, tenant: str | None) -> OperationView:
    """Return an operation that is there, for whoever may do what it does."""
    view = await _found(call, operation_id, tenant)
    call.principal.insist(ACTION_RIGHTS[view.action])
    return view


def _told(
    call: Call, view: OperationView, *, location: str | None = None
) -> Answer[OperationDocument]:
    return with_tag(call, operation_document(view), view.version, location=location)


def _path(view: OperationView) -> str:
    return f"/api/v1/operations/{view.operation_id}"
