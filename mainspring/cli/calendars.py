"""``mainspring calendars``: named sets of days that schedules leave out, or keep to."""

from collections.abc import Sequence
from datetime import datetime
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from cyclopts import App, Parameter

from mainspring.cli.asking import actor, open_gateway
from mainspring.cli.calendar_files import Given as FileGiven
from mainspring.cli.calendar_files import read_entries
from mainspring.cli.options import COMMANDS, FLAG, VALUE, Given, Options
from mainspring.cli.output import (
    Change,
    check_change_columns,
    out,
    show_changes,
    show_list,
    show_one,
    tell,
    tell_dry_run,
)
from mainspring.cli.picking import check_columns
from mainspring.cli.pointing import ENTRY, point
from mainspring.cli.records import Record, record_of
from mainspring.cli.schedule_tables import PLAN_COLUMNS, show_plan
from mainspring.cli.tables import Cell, Column, terminal_width
from mainspring.cli.text import absolute, count_of, printable, relative, styled
from mainspring.domain.errors import Conflict, InvalidSchedule
from mainspring.domain.limits import PAGE_ITEMS_MAX, SCHEDULE_CHARACTERS_MAX, TENANT_CHARACTERS_MAX
from mainspring.domain.names import check_name
from mainspring.domain.schedule import CalendarView
from mainspring.ports.gateway import ClientGateway
from mainspring.ports.schedules import ScheduleFilter
from mainspring.ports.scheduling import Application, CalendarDraft, Planned

if TYPE_CHECKING:
    from mainspring.timetable.definition import CalendarDefinition

app: Final = App(
    name="calendars",
    help="Look at calendars; create, change and delete them.",
    group_commands=COMMANDS,
)
_WORKDAYS: Final = "MON-FRI"
_NEXT_DAYS: Final = 5
#: How far the next days are looked for.
_AHEAD_DAYS: Final = 3 * 366
_SHOWN_MAX: Final = 12
File = Annotated[str | None, Parameter(name=["--file", "-f"], allow_leading_hyphen=True)]


class _Known(msgspec.Struct, frozen=True, kw_only=True):
    """A calendar, and the schedules that heed it (one page of them)."""

    view: CalendarView
    definition: "CalendarDefinition"
    schedules: tuple[str, ...]
    next_days: tuple[str, ...] = ()

    @property
    def heeded(self) -> str:
        """Return by how many schedules it is heeded."""
        count = len(self.schedules)
        return f"{count}+" if count == PAGE_ITEMS_MAX else str(count)


@app.command
async def ls(*, tenant: Annotated[str | None, VALUE] = None, options: Given) -> None:
    """List calendars by name.

    Parameters
    ----------
    tenant
        Whose calendars.
    """
    _check_tenant(tenant)
    async with open_gateway(options) as gateway:
        views = await gateway.schedules.calendars(tenant=tenant)
        known = [await _known(gateway, view) for view in views]
        now = await gateway.now()
    show_list(
        options,
        known,
        columns=[
            Column("CALENDAR", lambda item: item.view.name, shrinks=True),
            Column("ENTRIES", lambda item: f"{len(item.definition.entries):,}", right=True),
            Column("BUSINESS DAYS", lambda item: item.definition.business_days),
            Column("SCHEDULES", lambda item: item.heeded, right=True),
            Column("CHANGED", lambda item: relative(item.view.updated_at, now), right=True),
            Column("FIRST ENTRIES", _first_entries, from_width=100, shrinks=True),
        ],
        record=_record,
        name=lambda item: item.view.name,
        empty="no calendars yet: mainspring calendars create holidays 12-25 2027-04-05",
    )


def _first_entries(item: _Known) -> Cell:
    return Cell(", ".join(item.definition.entries[:8]), "dim")


async def _known(gateway: ClientGateway, view: CalendarView) -> _Known:
    from mainspring.timetable.definition import CalendarDefinition

    definition = msgspec.json.decode(view.definition, type=CalendarDefinition)
    wanted = ScheduleFilter(tenant=view.tenant, calendar=view.name)
    heeding = await gateway.schedules.list(wanted, limit=PAGE_ITEMS_MAX)
    names = tuple(sorted(schedule.name for schedule in heeding))
    return _Known(view=view, definition=definition, schedules=names)


def _record(item: _Known) -> Record:
    from mainspring.wire.documents.calendars import calendar_document

    return record_of(calendar_document(item.view, list(item.schedules)))


@app.command
async def get(
    calendar: str, /, *, tenant: Annotated[str | None, VALUE] = None, options: Given
) -> None:
    """Show a calendar: its entries, the next days they name, and the schedules that heed it.

    Parameters
    ----------
    calendar
        The calendar.
    tenant
        Whose calendar.
    """
    _check_names(calendar, tenant)
    async with open_gateway(options) as gateway:
        found = await _known(gateway, await gateway.schedules.calendar(calendar, tenant=tenant))
        now = await gateway.now()
    days = tuple(_next_days(found.definition, now))
    show_one(
        options,
        _record(found) | {"next_days": list(days)},
        name=calendar,
        people=lambda: _people(options, found, days, now),
    )


def _next_days(definition: "CalendarDefinition", now: datetime) -> list[str]:
    """Return the next dates that belong to a calendar, at least in part."""
    from mainspring.timetable.civil import DAY, date_of
    from mainspring.timetable.definition import compile_calendar

    calendar = compile_calendar(definition)
    today = int(now.timestamp()) // DAY
    found: list[str] = []
    for day in range(today, today + _AHEAD_DAYS):
        if calendar.minutes(day):
            found.append(date_of(day).isoformat())
        if len(found) == _NEXT_DAYS:
            break
    return found


def _people(options: Options, found: _Known, days: Sequence[str], now: datetime) -> None:
    color = options.colors_data
    view, definition = found.view, found.definition
    out(styled(printable(view.name), "bold", color=color) + "\n")
    shown = [f"{datetime.fromisoformat(day):%a} {day}" for day in days]
    changed = f"{absolute(view.updated_at)}  ({relative(view.updated_at, now)})"
    entries = definition.entries
    most = len(entries) if options.is_wide or len(entries) <= _SHOWN_MAX else _SHOWN_MAX - 1
    more = [f"and {len(entries) - most:,} more: -o wide"] if most < len(entries) else []
    names = ", ".join(found.schedules[:_SHOWN_MAX])
    if len(found.schedules) > _SHOWN_MAX:
        names += f" and {len(found.schedules) - _SHOWN_MAX:,} more"
    facts = [
        ("business days", definition.business_days),
        ("schedules", names or "none: no schedule heeds it"),
        ("changed", f"{changed} by {view.updated_by}, version {view.version}"),
        ("next days", ", ".join(shown) or "none within three years"),
    ]
    facts += [
        ("" if place else "entries", text) for place, text in enumerate([*entries[:most], *more])
    ]
    for label, value in facts:
        for place, line in enumerate(wrap(printable(value), terminal_width() - 17)):
            title = styled(f"{'' if place else label:<15}", "dim", color=color)
            out(f"  {title}{line}")


@app.command
async def create(
    calendar: str,
    /,
    *entry: Annotated[str, Parameter(name="ENTRY")],
    file: File = None,
    business_days: Annotated[str | None, VALUE] = None,
    tenant: Annotated[str | None, VALUE] = None,
    dry_run: Annotated[bool, FLAG] = False,
    options: Given,
) -> None:
    """Make a calendar that is not there yet.

    Parameters
    ----------
    calendar
        The name of the new calendar.
    entry
        2027-12-24, 12-25 (every year), 2027-12-24..2028-01-02, SAT,SUN, or a rule: '0 0 * * MON#1'.
    file
        More entries: a line each, # begins a comment; or JSON as from calendars get. - is stdin.
    business_days
        Weekdays that a fire may be moved to: MON-FRI.
    tenant
        Whose calendar.
    dry_run
        Only say what would be done.
    """
    check_columns(options, PLAN_COLUMNS)
    _check_names(calendar, tenant)
    given = read_entries(entry, file)
    async with open_gateway(options) as gateway:
        known = await gateway.schedules.calendars(tenant=tenant)
        if any(view.name == calendar for view in known):
            raise Conflict(
                f"there is a calendar {calendar!r} already",
                hint=f"mainspring calendars apply {calendar} changes it",
            )
        draft = _draft(calendar, tenant, given, business_days or given.business_days or _WORKDAYS)
        await _write(gateway, draft, options, dry_run=dry_run)


@app.command
async def apply(
    calendar: str,
    /,
    *entry: Annotated[str, Parameter(name="ENTRY")],
    file: File = None,
    business_days: Annotated[str | None, VALUE] = None,
    tenant: Annotated[str | None, VALUE] = None,
    dry_run: Annotated[bool, FLAG] = False,
    options: Given,
) -> None:
    """Make a calendar have just these entries; what heeds it is judged anew at once.

    Parameters
    ----------
    calendar
        The calendar; it is made if it is not there.
    entry
        2027-12-24, 12-25 (every year), 2027-12-24..2028-01-02, SAT,SUN, or a rule: '0 0 * * MON#1'.
    file
        More entries: a line each, # begins a comment; or JSON as from calendars get. - is stdin.
    business_days
        Weekdays that a fire may be moved to; else they stay as they are.
    tenant
        Whose calendar.
    dry_run
        Only say what would be done.
    """
    from mainspring.timetable.definition import CalendarDefinition

    check_columns(options, PLAN_COLUMNS)
    _check_names(calendar, tenant)
    given = read_entries(entry, file)
    async with open_gateway(options) as gateway:
        present = _WORKDAYS
        for view in await gateway.schedules.calendars(tenant=tenant):
            if view.name == calendar:
                found = msgspec.json.decode(view.definition, type=CalendarDefinition)
                present = found.business_days
        draft = _draft(calendar, tenant, given, business_days or given.business_days or present)
        await _write(gateway, draft, options, dry_run=dry_run)


def _draft(name: str, tenant: str | None, given: FileGiven, business_days: str) -> CalendarDraft:
    return CalendarDraft(
        name=name, entries=given.entries, business_days=business_days, tenant=tenant
    )


async def _write(
    gateway: ClientGateway, draft: CalendarDraft, options: Options, *, dry_run: bool
) -> None:
    """Plan, then write what differs; say which schedules that concerns."""
    wanted = Application(calendars=(draft,))
    count = 0
    try:
        plan = await gateway.schedules.apply(wanted, dry_run=True, actor=actor())
        if not dry_run and any(step.is_change for step in plan):
            count = await gateway.schedules.put_calendar(draft, actor=actor())
    except InvalidSchedule as error:
        field = str(error.details.get("field", ""))
        if place := ENTRY.fullmatch(field):
            point(error, draft.entries[int(place[1])])
        elif field == "business_days":
            point(error, draft.business_days)
        raise
    _show(options, plan, dry_run=dry_run)
    if count:
        tell(f"{count_of(count, 'schedule')} {'heeds' if count == 1 else 'heed'} it")


def _show(options: Options, plan: Sequence[Planned], *, dry_run: bool) -> None:
    show_plan(options, plan, is_done=not dry_run)
    if dry_run:
        tell_dry_run()


@app.command
async def rm(
    calendar: str,
    /,
    *,
    tenant: Annotated[str | None, VALUE] = None,
    dry_run: Annotated[bool, FLAG] = False,
    options: Given,
) -> None:
    """Delete a calendar that no schedule heeds.

    Parameters
    ----------
    calendar
        The calendar.
    tenant
        Whose calendar.
    dry_run
        Only say what would be done.
    """
    check_change_columns(options)
    _check_names(calendar, tenant)
    async with open_gateway(options) as gateway:
        if dry_run:
            view = await gateway.schedules.calendar(calendar, tenant=tenant)
            heeding = (await _known(gateway, view)).schedules
            if heeding:
                more = f" and {len(heeding) - 3:,} more" if len(heeding) > 3 else ""
                raise Conflict(
                    f"the calendar {calendar} is heeded by {', '.join(heeding[:3])}{more}",
                    hint="edit those first, or remove them",
                )
        else:
            await gateway.schedules.remove_calendar(calendar, tenant=tenant, actor=actor())
    show_changes(options, [Change(calendar, "deleted")])
    if dry_run:
        tell_dry_run()


def _check_names(calendar: str, tenant: str | None) -> None:
    check_name("calendar", calendar, SCHEDULE_CHARACTERS_MAX)
    _check_tenant(tenant)


def _check_tenant(tenant: str | None) -> None:
    if tenant is not None:
        check_name("tenant", tenant, TENANT_CHARACTERS_MAX)
