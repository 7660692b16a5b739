"""Calendars: named sets of days that schedules leave out, or keep to."""

from datetime import datetime

import msgspec

from mainspring.domain.schedule import CalendarView
from mainspring.ports.scheduling import CalendarDraft
from mainspring.timetable.definition import CalendarDefinition


class CalendarBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A calendar as somebody wants it."""

    #: Where the path names it, it may be left out.
    name: str | None = None
    #: For keys of the whole installation.
    tenant: str | None = None
    #: ``2027-12-24``, ``12-25``, ``2027-12-24..2028-01-02``, ``SAT,SUN``, ``0 0 * * MON#1``.
    entries: list[str]
    business_days: str = "MON-FRI"


class CalendarDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A calendar."""

    name: str
    tenant: str
    entries: list[str]
    business_days: str
    version: int
    updated_at: datetime
    updated_by: str
    #: Names of the schedules that heed it, where one calendar was asked for.
    schedules: list[str] | None = None


class WrittenCalendar(msgspec.Struct, frozen=True, kw_only=True):
    """What writing a calendar did."""

    name: str
    tenant: str
    #: How many schedules heed it, and were judged anew.
    schedules: int


def calendar_draft(body: CalendarBody, name: str, tenant: str | None) -> CalendarDraft:
    """Return the draft that a body is, by the name and for the tenant that it is meant for."""
    return CalendarDraft(
        name=name, entries=tuple(body.entries), business_days=body.business_days, tenant=tenant
    )


def calendar_body(draft: CalendarDraft) -> CalendarBody:
    """Return the body of a draft."""
    return CalendarBody(
        name=draft.name,
        tenant=draft.tenant,
        entries=list(draft.entries),
        business_days=draft.business_days,
    )


def calendar_document(
    calendar: CalendarView, schedules: list[str] | None = None
) -> CalendarDocument:
    """Return a calendar as it is shown."""
    definition = msgspec.json.decode(calendar.definition, type=CalendarDefinition)
    return CalendarDocument(
        name=calendar.name,
        tenant=calendar.tenant,
        entries=list(definition.entries),
        business_days=definition.business_days,
        version=calendar.version,
        updated_at=calendar.updated_at,
        updated_by=calendar.updated_by,
        schedules=schedules,
    )


def calendar_view(calendar: CalendarDocument) -> CalendarView:
    """Read a calendar back."""
    definition = CalendarDefinition(
        name=calendar.name,
        entries=tuple(calendar.entries),
        business_days=calendar.business_days,
    )
    return CalendarView(
        tenant=calendar.tenant,
        name=calendar.name,
        definition=msgspec.json.encode(definition, order="deterministic"),
        version=calendar.version,
        updated_at=calendar.updated_at,
        updated_by=calendar.updated_by,
    )
