"""Schedules: making, changing and looking at them, and all that is done with them."""

from collections.abc import Collection
from typing import Any, Final, Literal

import msgspec

from mainspring.domain.access import Right
from mainspring.domain.errors import (
    Changed,
    Conflict,
    FiresTooOften,
    InvalidCursor,
    InvalidId,
    InvalidPayload,
    InvalidSchedule,
    NaiveDatetime,
    NeverFires,
    NotFound,
    ScheduleExists,
    SubmissionKeyReused,
    UnknownKind,
    UnknownZone,
    WouldOverlap,
)
from mainspring.domain.ids import SCHEDULE, parse
from mainspring.domain.limits import BULK_BODY_BYTES_MAX, PAGE_ITEMS_MAX
from mainspring.domain.names import check_choice, check_range
from mainspring.domain.schedule import ScheduleState, ScheduleView
from mainspring.ports.schedules import ScheduleFilter
from mainspring.ports.scheduling import SKIPPED, Application
from mainspring.server.http.calls import REPLAYED, Answer, Call, Cursor, header_key
from mainspring.server.http.editing import check_version, version_meant, with_tag
from mainspring.server.http.pointing import pointing, pointing_into_set
from mainspring.server.http.reading import converted
from mainspring.server.http.routing import Routes
from mainspring.wire.documents.calendars import calendar_draft
from mainspring.wire.documents.common import Listing
from mainspring.wire.documents.definitions import (
    ScheduleBody,
    SchedulePatch,
    patched_body,
    schedule_draft,
)
from mainspring.wire.documents.ledger import FiredDocument, fired_document
from mainspring.wire.documents.schedules import (
    ApplicationBody,
    FireBody,
    PauseBody,
    PlannedDocument,
    PreviewDocument,
    ResumeBody,
    ScheduleChanged,
    ScheduleDocument,
    SkipBody,
    planned_document,
    preview_document,
    schedule_document,
)

routes = Routes("Schedules")
Include = Literal["next", "last"]
_NEXT: Final[tuple[Include, ...]] = ("next",)
#: So many times a change begins anew when somebody else makes one at the same moment.
_ROUNDS: Final = 5
#: What people call the states, here and elsewhere.
_STATES: Final = {
    **{state.value: state for state in ScheduleState},
    "enabled": ScheduleState.ACTIVE,
    "disabled": ScheduleState.PAUSED,
    "cancelled": ScheduleState.DELETED,
}
_DRAFT_ERRORS = (
    UnknownKind,
    InvalidPayload,
    InvalidSchedule,
    UnknownZone,
    NeverFires,
    FiresTooOften,
    NaiveDatetime,
)


class TenantQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose it is; for keys of the whole installation."""

    tenant: str | None = None


class LookQuery(TenantQuery, frozen=True, kw_only=True):
    """How a schedule is looked at."""

    #: ``next``: its sentence, next fires and warnings; ``last``: what became of its last fire.
    include: tuple[Include, ...] = ("next",)


class SchedulesQuery(TenantQuery, frozen=True, kw_only=True):
    """Which schedules a list has."""

    #: ``active``, ``paused``, ``exhausted``, ``deleted``.
    state: tuple[str, ...] = ()
    owner: str | None = None
    #: A part of the name.
    name_has: str | None = None
    #: Heeds this calendar.
    calendar: str | None = None
    #: Computed under zone data older, or newer, than this number.
    zones_before: int | None = None
    zones_after: int | None = None
    #: Removed ones as well.
    with_deleted: bool = False
    include: tuple[Include, ...] = ()
    limit: int = 50
    cursor: str | None = None
    #: Go on behind this schedule of an earlier list.
    after: str | None = None


class CountQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many of the next fires are wanted."""

    count: int = 5


class NextQuery(TenantQuery, frozen=True, kw_only=True):
    """How many of the next fires are wanted, and whose the schedule is."""

    count: int = 5


class DryRunQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether it is only said what would be done."""

    dry_run: bool = False


class RemoveQuery(TenantQuery, frozen=True, kw_only=True):
    """What becomes of the live jobs of a schedule that is removed."""

    #: Cancel them as well.
    cancel_running: bool = False


@routes.add(
    "GET",
    "/api/v1/schedules",
    Right.SCHEDULES_READ,
    errors=(InvalidId, InvalidCursor),
)
async def list_schedules(call: Call, query: SchedulesQuery) -> Listing[ScheduleDocument]:
    """List schedules, oldest first.

    With ``Accept: application/x-ndjson`` all pages come in one answer, a schedule a line.
    """
    check_range("limit", query.limit, 1, PAGE_ITEMS_MAX)
    states = frozenset(
        _STATES[check_choice("state", word.lower(), tuple(_STATES))] for word in query.state
    )
    wanted = ScheduleFilter(
        tenant=call.any_tenant(query.tenant),
        states=states,
        owner=query.owner,
        name_has=query.name_has,
        calendar=query.calendar,
        zones_before=query.zones_before,
        zones_after=query.zones_after,
        with_deleted=query.with_deleted or bool(query.state),
    )
    cursor = Cursor("schedules", msgspec.structs.astuple(wanted))
    after = None if query.after is None else parse(SCHEDULE, query.after)
    if query.cursor is not None:
        after = cursor.read(query.cursor)
    views = await call.gateway.schedules.list(wanted, limit=query.limit, after=after)
    further = views[-1].id if len(views) == query.limit else None
    return Listing(
        items=[await looked_at(call, view, query.include) for view in views],
        next_cursor=cursor.text(further),
    )


@routes.add(
    "POST",
    "/api/v1/schedules",
    Right.SCHEDULES_WRITE,
    status=201,
    errors=(*_DRAFT_ERRORS, ScheduleExists, SubmissionKeyReused),
    headers=("Idempotency-Key",),
)
async def create_schedule(call: Call, body: ScheduleBody) -> Answer[ScheduleDocument]:
    """Make a schedule; its first fire comes after now.

    With the header ``Idempotency-Key`` the same request may be sent again for a day: it names the
    same schedule.
    """
    draft = schedule_draft(body, call.tenant(body.tenant))
    key = header_key(call)
    asked_at = None if key is None else await call.gateway.now()
    with pointing():
        view = await call.gateway.schedules.create(draft, key=key, actor=call.actor)
    answer = with_tag(
        call,
        await looked_at(call, view, _NEXT),
        view.version,
        location=f"/api/v1/schedules/{view.schedule_id}",
    )
    if asked_at is not None and view.created_at < asked_at:
        return Answer(answer.document, headers=[*answer.headers, REPLAYED])
    return answer


@routes.add("POST", "/api/v1/schedules/preview", Right.SCHEDULES_READ, errors=_DRAFT_ERRORS)
async def preview_schedule(call: Call, body: ScheduleBody, query: CountQuery) -> PreviewDocument:
    """Say what a schedule would mean, and what is wrong with it; nothing is made."""
    draft = schedule_draft(body, call.tenant(body.tenant))
    with pointing():
        preview = await call.gateway.schedules.preview(draft, count=query.count)
    return preview_document(preview)


@routes.add(
    "POST",
    "/api/v1/schedules/apply",
    Right.SCHEDULES_WRITE,
    errors=(*_DRAFT_ERRORS, Conflict),
    body_bytes=BULK_BODY_BYTES_MAX,
)
async def apply_schedules(
    call: Call, body: ApplicationBody, query: DryRunQuery
) -> Listing[PlannedDocument]:
    """Make schedules and calendars be as they are written here.

    All are checked before one is stored; a conflict stops it. With ``dry_run`` it is only said what
    would be done, and conflicts are part of the answer.
    """
    wanted = Application(
        schedules=tuple(schedule_draft(each, call.tenant(each.tenant)) for each in body.schedules),
        calendars=tuple(
            calendar_draft(each, each.name or "", call.tenant(each.tenant))
            for each in body.calendars
        ),
        owner=body.owner,
        prune=body.prune,
        adopt=body.adopt,
    )
    with pointing_into_set(body):
        plan = await call.gateway.schedules.apply(wanted, dry_run=query.dry_run, actor=call.actor)
    return Listing(items=[planned_document(step) for step in plan])


@routes.add(
    "GET",
    "/api/v1/schedules/{schedule}",
    Right.SCHEDULES_READ,
    statuses=(304,),
    errors=(NotFound,),
    headers=("If-None-Match",),
)
async def get_schedule(call: Call, schedule: str, query: LookQuery) -> Answer[ScheduleDocument]:
    """Return a schedule by its name or id; by its id also one that was removed."""
    view = await found(call, schedule, query.tenant)
    return with_tag(call, await looked_at(call, view, query.include), view.version)


@routes.add(
    "PUT",
    "/api/v1/schedules/{schedule}",
    Right.SCHEDULES_WRITE,
    errors=(*_DRAFT_ERRORS, NotFound, Changed, Conflict),
    headers=("If-Match",),
)
async def replace_schedule(
    call: Call, schedule: str, body: ScheduleBody, query: TenantQuery
) -> Answer[ScheduleDocument]:
    """Make a schedule be as it is written here; its name and a pause stay.

    What is not due yet is replaced in the same transaction.
    """
    view = await found(call, schedule, query.tenant or body.tenant)
    return await _edited(call, view, body)


@routes.add(
    "PATCH",
    "/api/v1/schedules/{schedule}",
    Right.SCHEDULES_WRITE,
    errors=(*_DRAFT_ERRORS, NotFound, Changed, Conflict),
    headers=("If-Match",),
)
async def change_schedule(
    call: Call, schedule: str, body: SchedulePatch, query: TenantQuery
) -> Answer[ScheduleDocument]:
    """Change some of a schedule by a JSON merge patch; null makes a member as it is usually."""
    for left in reversed(range(_ROUNDS)):
        view = await found(call, schedule, query.tenant)
        check_version(call, f"the schedule {view.name}", view.version)
        with converted(ScheduleBody):
            wanted = patched_body(view.name, view.spec, body)
        try:
            return await _edited(call, view, wanted, version=view.version)
        except Changed:
            # Whoever names no version means the newest one, whichever that is.
            if not left or "if-match" in call.request.headers:
                raise
    raise AssertionError("the last round returns or raises")


@routes.add(
    "DELETE",
    "/api/v1/schedules/{schedule}",
    Right.SCHEDULES_WRITE,
    errors=(NotFound, Changed),
    headers=("If-Match",),
)
async def remove_schedule(call: Call, schedule: str, query: RemoveQuery) -> ScheduleChanged:
    """Let a schedule fire never again; its ledger stays, and its id still names it."""
    view = await found(call, schedule, query.tenant)
    return await removed(call, view, cancel_running=query.cancel_running)


async def removed(call: Call, view: ScheduleView, *, cancel_running: bool) -> ScheduleChanged:
    """Remove a schedule and say what became of it."""
    check_version(call, f"the schedule {view.name}", view.version)
    changed = await call.gateway.schedules.remove(
        view.schedule_id, cancel_live=cancel_running, tenant=view.tenant, actor=call.actor
    )
    return await _now(call, view, changed=changed)


@routes.add(
    "POST",
    "/api/v1/schedules/{schedule}/pause",
    Right.SCHEDULES_OPERATE,
    errors=(NotFound, NaiveDatetime),
)
async def pause_schedule(
    call: Call, schedule: str, body: PauseBody, query: TenantQuery
) -> ScheduleChanged:
    """Let a schedule fire no more, until it is resumed or until an instant."""
    view = await found(call, schedule, query.tenant)
    changed = await call.gateway.schedules.pause(
        view.schedule_id,
        reason=body.reason,
        until=body.until,
        tenant=view.tenant,
        actor=call.actor,
    )
    return await _now(call, view, changed=changed)


@routes.add(
    "POST",
    "/api/v1/schedules/{schedule}/resume",
    Right.SCHEDULES_OPERATE,
    errors=(NotFound,),
)
async def resume_schedule(
    call: Call, schedule: str, body: ResumeBody, query: TenantQuery
) -> ScheduleChanged:
    """End a pause; with ``catch_up`` what was not fired meanwhile counts as missed."""
    view = await found(call, schedule, query.tenant)
    changed = await call.gateway.schedules.resume(
        view.schedule_id, catch_up=body.catch_up, tenant=view.tenant, actor=call.actor
    )
    return await _now(call, view, changed=changed)


@routes.add(
    "POST",
    "/api/v1/schedules/{schedule}/fire",
    Right.SCHEDULES_OPERATE,
    status=201,
    errors=(NotFound, WouldOverlap),
    headers=("Idempotency-Key",),
)
async def fire_schedule(
    call: Call, schedule: str, body: FireBody, query: TenantQuery
) -> Answer[FiredDocument]:
    """Fire a schedule once by hand; its other fires stay as they are.

    With the header ``Idempotency-Key`` the same request may be sent again for an hour: it names the
    same job.
    """
    view = await found(call, schedule, query.tenant)
    job_id = await call.gateway.schedules.fire_now(
        view.schedule_id,
        despite_overlap=body.despite_overlap,
        tenant=view.tenant,
        key=header_key(call),
        actor=call.actor,
    )
    document = fired_document(job_id)
    return Answer(document, headers=[("location", f"/api/v1/jobs/{document.job_id}")])


@routes.add(
    "POST",
    "/api/v1/schedules/{schedule}/skip-next",
    Right.SCHEDULES_OPERATE,
    errors=(NotFound,),
)
async def skip_next_fires(
    call: Call, schedule: str, body: SkipBody, query: TenantQuery
) -> Answer[ScheduleDocument]:
    """Leave out the next so many fires; none of them: take that back."""
    view = await found(call, schedule, query.tenant)
    view = await call.gateway.schedules.skip_next(
        view.schedule_id, body.count, tenant=view.tenant, actor=call.actor
    )
    return with_tag(call, await looked_at(call, view, _NEXT), view.version)


@routes.add("GET", "/api/v1/schedules/{schedule}/next", Right.SCHEDULES_READ, errors=(NotFound,))
async def list_next_fires(call: Call, schedule: str, query: NextQuery) -> PreviewDocument:
    """Say what a schedule means and when it fires next."""
    preview = await call.gateway.schedules.next(
        schedule, count=query.count, tenant=call.tenant(query.tenant)
    )
    return preview_document(preview)


async def looked_at(
    call: Call, view: ScheduleView, include: Collection[Include]
) -> ScheduleDocument:
    """Return a schedule as it is shown, with what was asked for beside."""
    document = schedule_document(view)
    more: dict[str, Any] = {}
    if "next" in include:
        preview = await call.gateway.schedules.next(view.schedule_id, tenant=view.tenant)
        shown = preview_document(preview)
        is_active = view.state is ScheduleState.ACTIVE
        coming = [each for each in shown.upcoming if each.note != SKIPPED and is_active]
        more = msgspec.structs.asdict(shown)
        more["next_at"] = coming[0].due_at if coming else None
    if "last" in include:
        rows = await call.gateway.schedules.history(
            view.schedule_id, until=await call.gateway.now(), limit=1, tenant=view.tenant
        )
        for row in rows:
            more["last_at"] = row.nominal_at
            more["last_outcome"] = row.outcome
            more["last_job_state"] = row.job_state
    return msgspec.structs.replace(document, **more)


async def found(call: Call, schedule: str, tenant: str | None) -> ScheduleView:
    """Return a schedule by its name or id."""
    return await call.gateway.schedules.get(schedule, tenant=call.tenant(tenant))


async def _edited(
    call: Call, view: ScheduleView, body: ScheduleBody, *, version: int | None = None
) -> Answer[ScheduleDocument]:
    if version is None:
        version = version_meant(call)
    if version is None:
        version = check_version(call, f"the schedule {view.name}", view.version)
    draft = schedule_draft(body, view.tenant)
    with pointing():
        edited = await call.gateway.schedules.edit(
            view.schedule_id, draft, version=version, actor=call.actor
        )
    return with_tag(call, await looked_at(call, edited, _NEXT), edited.version)


async def _now(call: Call, view: ScheduleView, *, changed: bool) -> ScheduleChanged:
    after = await call.gateway.schedules.get(view.schedule_id, tenant=view.tenant)
    return ScheduleChanged(
        id=after.schedule_id, name=after.name, changed=changed, state=after.state
    )
