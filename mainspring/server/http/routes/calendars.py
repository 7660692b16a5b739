"""Calendars: sets of days that schedules leave out, or keep to."""

from mainspring.domain.access import Right
from mainspring.domain.errors import (
    Changed,
    Conflict,
    InvalidInput,
    InvalidSchedule,
    NeverFires,
    NotFound,
)
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.ports.schedules import ScheduleFilter
from mainspring.server.http.calls import Answer, Call
from mainspring.server.http.editing import check_version, with_tag
from mainspring.server.http.routes.schedules import TenantQuery
from mainspring.server.http.routing import Routes
from mainspring.wire.documents.calendars import (
    CalendarBody,
    CalendarDocument,
    WrittenCalendar,
    calendar_document,
    calendar_draft,
)
from mainspring.wire.documents.common import Listing

routes = Routes("Calendars")


@routes.add("GET", "/api/v1/calendars", Right.SCHEDULES_READ)
async def list_calendars(call: Call, query: TenantQuery) -> Listing[CalendarDocument]:
    """List the calendars of a tenant by name."""
    views = await call.gateway.schedules.calendars(tenant=call.tenant(query.tenant))
    return Listing(items=[calendar_document(view) for view in views])


@routes.add(
    "GET",
    "/api/v1/calendars/{calendar}",
    Right.SCHEDULES_READ,
    statuses=(304,),
    errors=(NotFound,),
    headers=("If-None-Match",),
)
async def get_calendar(call: Call, calendar: str, query: TenantQuery) -> Answer[CalendarDocument]:
    """Return a calendar, with the names of schedules that heed it."""
    tenant = call.tenant(query.tenant)
    view = await call.gateway.schedules.calendar(calendar, tenant=tenant)
    heeding = await call.gateway.schedules.list(
        ScheduleFilter(tenant=tenant, calendar=calendar), limit=PAGE_ITEMS_MAX
    )
    names = sorted(schedule.name for schedule in heeding)
    return with_tag(call, calendar_document(view, names), view.version)


@routes.add(
    "PUT",
    "/api/v1/calendars/{calendar}",
    Right.SCHEDULES_WRITE,
    errors=(InvalidSchedule, NeverFires, Changed),
    headers=("If-Match",),
)
async def put_calendar(
    call: Call, calendar: str, body: CalendarBody, query: TenantQuery
) -> WrittenCalendar:
    """Write a calendar, new or not; schedules that heed it are judged anew in one transaction."""
    if body.name not in (None, calendar):
        raise InvalidInput(
            f"name: the path says {calendar!r}, and the body {body.name!r}", hint="leave it out"
        )
    draft = calendar_draft(body, calendar, call.tenant(body.tenant or query.tenant))
    await _check_version(call, calendar, draft.home)
    heeding = await call.gateway.schedules.put_calendar(draft, actor=call.actor)
    return WrittenCalendar(name=calendar, tenant=draft.home, schedules=heeding)


@routes.add(
    "DELETE",
    "/api/v1/calendars/{calendar}",
    Right.SCHEDULES_WRITE,
    status=204,
    errors=(NotFound, Conflict, Changed),
    headers=("If-Match",),
)
async def remove_calendar(call: Call, calendar: str, query: TenantQuery) -> None:
    """Delete a calendar that no schedule heeds."""
    tenant = call.tenant(query.tenant)
    await _check_version(call, calendar, tenant)
    await call.gateway.schedules.remove_calendar(calendar, tenant=tenant, actor=call.actor)


async def _check_version(call: Call, calendar: str, tenant: str) -> None:
    if "if-match" not in call.request.headers:
        return
    try:
        view = await call.gateway.schedules.calendar(calendar, tenant=tenant)
    except NotFound:
        raise Changed(f"there is no calendar {calendar[:80]} any more") from None
    check_version(call, f"the calendar {calendar}", view.version)
