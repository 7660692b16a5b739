"""``mainspring cron explain``: what a rule means, with neither store nor network."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from cyclopts import App, Parameter

from mainspring.cli.asking import instant_of
from mainspring.cli.options import COMMANDS, FLAG, VALUE, Given, Options
from mainspring.cli.output import out, show_one
from mainspring.cli.pointing import pointing_at
from mainspring.cli.records import Record
from mainspring.cli.schedule_tables import out_upcoming, preview_record
from mainspring.cli.tables import terminal_width
from mainspring.cli.text import printable, styled
from mainspring.domain.errors import InvalidSchedule
from mainspring.domain.job import DEFAULT_TENANT
from mainspring.domain.limits import PAGE_ITEMS_MAX, SCHEDULE_CHARACTERS_MAX
from mainspring.domain.names import check_name, check_range
from mainspring.ports.clock import utc_now
from mainspring.ports.scheduling import Preview

if TYPE_CHECKING:
    from mainspring.timetable.clock_notes import ClockNote

app: Final = App(name="cron", help="Explain rules of schedules, offline.", group_commands=COMMANDS)
_YEAR: Final = timedelta(days=366)
_RECURRENCE: Final = "RRULE:"
_IS_RECURRENCE: Final = re.compile(r"\s*(?:RRULE:|RDATE|EXDATE)", re.IGNORECASE)
_POSITION: Final = re.compile(r"\(position (\d+)\)$")


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule means."""

    rule: str
    zone: str
    preview: Preview
    #: What each clock change of the year to come does to it.
    changes: Sequence["ClockNote"]
    until: datetime


@app.command
def explain(  # noqa: PLR0913 - a command's options are its arguments
    *expr: Annotated[str, Parameter(name="EXPR", required=True)],
    tz: Annotated[str, VALUE] = "UTC",
    count: Annotated[int, Parameter(name=["--count", "-n"])] = 5,
    after: Annotated[str | None, VALUE] = None,
    anchor: Annotated[str | None, VALUE] = None,
    rrule: Annotated[bool, FLAG] = False,
    name: Annotated[str | None, VALUE] = None,
    options: Given,
) -> None:
    """Say what a rule means: a sentence, its next fires, clock changes, and what to beware of.

    Parameters
    ----------
    expr
        A rule: '0 9 * * MON-FRI', @daily, FREQ=MONTHLY;BYDAY=-1FR, every 90m, 2027-01-31T09:00.
    tz
        The zone of its wall clock: Europe/Berlin, UTC, +05:30.
    count
        So many fires.
    after
        From this instant on, or from a duration ago (2h); else from now on.
    anchor
        Where intervals and recurrence rules begin: 2027-01-04T09:00.
    rrule
        Read it as a recurrence rule, even where it does not look like one.
    name
        The schedule's name, from which H gets its number.
    """
    check_range("count", count, 1, PAGE_ITEMS_MAX)
    now = utc_now()
    begin = now if after is None else instant_of(after, name="after")
    rule, is_prefixed = _rule(" ".join(expr), is_recurrence=rrule, name=name)
    with pointing_at(" ".join(expr), others={"anchor": anchor or ""}):
        try:
            found = _explained(rule, tz, anchor=anchor, begin=begin, count=count)
        except InvalidSchedule as error:
            if is_prefixed:
                _without_prefix(error)
            raise
    show_one(
        options,
        _record(found),
        name=found.preview.sentence,
        people=lambda: _people(options, found, now),
    )


def _rule(text: str, *, is_recurrence: bool, name: str | None) -> tuple[str, bool]:
    """Return the rule as the timetable takes it, and whether a prefix stands before it now."""
    from mainspring.timetable.cron_hash import has_hashes, resolve_hashes

    if is_recurrence:
        is_prefixed = not _IS_RECURRENCE.match(text)
        return (_RECURRENCE if is_prefixed else "") + text, is_prefixed
    if name is None:
        if has_hashes(text):
            raise InvalidSchedule(
                "cron: H stands for a number that comes from the schedule's name",
                hint="say which: --name nightly",
                details={"field": "cron"},
            )
        return text, False
    bearer = check_name("name", name, SCHEDULE_CHARACTERS_MAX)
    with pointing_at(text):
        return resolve_hashes(text, f"{DEFAULT_TENANT}/{bearer}"), False


def _without_prefix(error: InvalidSchedule) -> None:
    """Let an error speak of the text as it was typed."""
    position = error.details.get("position")
    if isinstance(position, int):
        place = max(0, position - len(_RECURRENCE))
        error.details["position"] = place
        error.message = _POSITION.sub(f"(position {place})", error.message)


def _explained(
    rule: str, zone_name: str, *, anchor: str | None, begin: datetime, count: int
) -> Explained:
    """Return what a rule means, or raise saying what is wrong with it."""
    from mainspring.registry.ledger import floor_seconds, foreseen
    from mainspring.timetable.clock_notes import clock_notes
    from mainspring.timetable.definition import Definition, check_definition
    from mainspring.timetable.explain import rule_warnings
    from mainspring.timetable.zones import zone

    times = Definition(when=(rule,), zone=zone_name, anchor=anchor)
    after, until = floor_seconds(begin), begin + _YEAR
    timetable = check_definition(times, after)
    preview = foreseen(times, timetable, after, count)
    warnings = tuple(rule_warnings(times, timetable, after))
    return Explained(
        rule=rule,
        zone=zone_name,
        preview=msgspec.structs.replace(preview, warnings=warnings),
        changes=clock_notes(timetable, zone(zone_name), after, floor_seconds(until)),
        until=until,
    )


def _record(found: Explained) -> Record:
    return {
        "rule": found.rule,
        "zone": found.zone,
        **preview_record(found.preview),
        "clock_changes": [
            msgspec.structs.asdict(note) | {"at": datetime.fromtimestamp(note.at, UTC)}
            for note in found.changes
        ],
    }


def _people(options: Options, found: Explained, now: datetime) -> None:
    color = options.colors_data
    out(styled(printable(found.rule), "dim", color=color))
    width = terminal_width()
    for line in wrap(printable(found.preview.sentence), width):
        out(styled(line, "bold", color=color))
    out("")
    notes = out_upcoming(options, found.preview.upcoming, now)
    # A fire that a clock change touches is told of below.
    told = {change.date for change in found.changes if change.effect != "none"}
    notes = [note for note in notes if note[:10] not in told]
    for note in [*notes, *found.preview.warnings]:
        for line in wrap(f"note: {printable(note)}", width - 2, subsequent_indent="      "):
            out(styled(f"  {line}", "yellow", color=color))
    if found.changes:
        out(f"\nclock changes until {found.until:%Y-%m-%d}")
    for (date, change), group in groupby(found.changes, lambda note: (note.date, note.change)):
        out(f"  {datetime.fromisoformat(date):%a} {date}  {change}")
        for each in group:
            style = "dim" if each.effect == "none" else "yellow"
            for line in wrap(each.text, width - 4):
                out(styled(f"    {line}", style, color=color))
