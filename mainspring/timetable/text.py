"""The written forms of a rule, told apart by how they begin.

===========================================  ==================================================
``0 9 * * MON-FRI``, ``@daily``              cron
``FREQ=MONTHLY;BYDAY=-1FR``                  a recurrence rule, also with ``RDATE:`` and ``EXDATE:``
``every 90m``, ``every 1h from 2027-01-04``  an interval of elapsed time
``R/2027-01-31T09:00/P1M``                   a repeating interval of ISO 8601
``2027-01-31T09:00``, ``at …, …``            local times or instants
===========================================  ==================================================
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from mainspring.domain.errors import InvalidSchedule
from mainspring.domain.limits import RULE_CHARACTERS_MAX, RULE_DATES_MAX
from mainspring.timetable.civil import DAY, FULL_CLOCK, NEVER
from mainspring.timetable.clocked import POLICY, Clocked
from mainspring.timetable.cron import cron
from mainspring.timetable.dates import Instants, Stamp, WallDates, read_stamp, read_stamps
from mainspring.timetable.intervals import CalendarSteps, Every, Step, read_seconds
from mainspring.timetable.recurrence import Extras, Recurrence, check_fires
from mainspring.timetable.recurrence_text import parse_parts
from mainspring.timetable.refusals import Refusal, check_text, shortened
from mainspring.timetable.walls import WallRule
from mainspring.timetable.zones import FIRST, Zone

#: A rule on a wall clock still needs a zone; instants and intervals do not.
Rule = WallRule | Every | Instants

_RECURRENCE: Final = re.compile(
    r"(?:RRULE:|RDATE|EXDATE|DTSTART|EXRULE|(?:FREQ|INTERVAL|COUNT|UNTIL|WKST|BY[A-Z]+)=)"
)
_STAMP: Final = re.compile(r"\s*(?:at\s|\d{4}-?\d\d-?\d\d)", re.IGNORECASE)
_EVERY: Final = re.compile(r"\s*@?every\b", re.IGNORECASE)
_FROM: Final = re.compile(r"\sfrom\s", re.IGNORECASE)
_NOT_BESIDE: Final = {
    "DTSTART": "give the start beside the rule: anchor 2027-01-04T09:00",
    "EXRULE": "use EXDATE, or a calendar",
}
_DATE_PARAMETERS: Final = ("", "VALUE=DATE", "VALUE=DATE-TIME")
_LIST_CHARACTERS_MAX: Final = RULE_DATES_MAX * 32


@lru_cache(maxsize=65_536)
def parse_rule(text: str, zone: Zone, anchor: str | None = None) -> Rule:
    """Return the rule that a text names, or raise ``InvalidSchedule``."""
    upper = check_text("when", text, _LIST_CHARACTERS_MAX, lines=True)[:32].lstrip().upper()
    begins = None if anchor is None else _stamp("anchor", anchor)
    if _RECURRENCE.match(upper):
        return _recurrence(text, zone, begins)
    if _EVERY.match(upper):
        return _every(text, zone, begins)
    if upper.startswith("R") and "/" in upper:
        return _repeating(text, zone, begins)
    if _STAMP.match(upper):
        return _dates(text, zone)
    return cron(text)


def _stamp(field: str, text: str) -> Stamp:
    check_text(field, text, 64)
    try:
        return read_stamp(text.strip())
    except Refusal as refusal:
        raise refusal.error(field) from None


def begin_instant(stamp: Stamp, zone: Zone) -> int:
    """Return the instant of a stamp; a local time in a gap is the gap's end."""
    if stamp.is_instant:
        return stamp.seconds
    return Clocked(WallDates([stamp.seconds]), zone, POLICY, FIRST).next_at(-NEVER >> 1)


def _every(text: str, zone: Zone, begins: Stamp | None) -> Every:
    check_text("interval", text, RULE_CHARACTERS_MAX)
    match = _EVERY.match(text)
    assert match is not None, "the caller looked"
    duration, *rest = _FROM.split(text[match.end() :], maxsplit=1)
    try:
        if rest:
            begins = read_stamp(rest[0].strip(), len(text) - len(rest[0]))
        seconds = read_seconds(duration.strip(), match.end() + 1)
    except Refusal as refusal:
        raise refusal.error("interval") from None
    return Every(seconds, begin_instant(begins, zone) if begins else 0, zone)


def _repeating(text: str, zone: Zone, begins: Stamp | None) -> Rule:
    check_text("interval", text, RULE_CHARACTERS_MAX)
    hint = "write R/2027-01-31T09:00/P1M"
    first, *rest = text.strip().split("/")
    try:
        if first.upper() != "R":
            raise Refusal(0, first, "a number of repetitions is not taken", "use max_fires")
        if len(rest) == 2:
            begins = read_stamp(rest[0], 2)
        if len(rest) not in {1, 2} or begins is None:
            raise Refusal(len(text), "", "start or duration is missing", hint)
        step = Step(rest[-1].upper(), text.rindex("/") + 1)
    except Refusal as refusal:
        raise refusal.error("interval") from None
    if step.seconds:
        return Every(step.seconds, begin_instant(begins, zone), zone)
    return CalendarSteps(step, begins.wall(zone))


def _dates(text: str, zone: Zone) -> Rule:
    check_text("dates", text, _LIST_CHARACTERS_MAX, lines=True)
    offset = text.lower().index("at") + 2 if text.lstrip().lower().startswith("at") else 0
    try:
        stamps = read_stamps(text[offset:], offset)
        if any(stamp.is_date for stamp in stamps):
            hint = "add a time of day: 2027-01-31T09:00"
            raise Refusal(offset, text[offset:], "a date without a time of day", hint)
        if all(stamp.is_instant for stamp in stamps):
            return Instants([stamp.seconds for stamp in stamps], zone)
        if any(stamp.is_instant for stamp in stamps):
            hint = "write all of them local, or all of them with Z or an offset"
            raise Refusal(offset, "", "local times and instants are mixed", hint)
    except Refusal as refusal:
        raise refusal.error("dates") from None
    return WallDates([stamp.seconds for stamp in stamps])


def _recurrence(text: str, zone: Zone, begins: Stamp | None) -> Recurrence:
    check_text("rrule", text, _LIST_CHARACTERS_MAX, lines=True)
    rule, added, left_out = _lines(text)
    parts = parse_parts(rule)
    start = begins.wall(zone) if begins else 0
    if start % 60:
        _refuse("anchor", 0, "a recurrence rule begins at a whole minute", "leave the seconds out")
    if parts.count and begins is None:
        _refuse("rrule", text.upper().find("COUNT"), "COUNT needs a start", "give an anchor")
    until = parts.until
    if until is not None and parts.until_is_utc:
        until += zone.offset_at(until)
    if until is not None and until < start:
        _refuse(
            "rrule", text.upper().find("UNTIL"), "UNTIL lies before the start", "give a later date"
        )
    extras = Extras(_minutes(added, zone, start), _left_out(left_out, zone))
    try:
        found = Recurrence(parts, start, until, extras)
    except Refusal as refusal:
        raise refusal.moved(max(text.upper().find(refusal.token), 0)).error("rrule") from None
    check_fires(found, rule)
    return found


def _lines(text: str) -> tuple[str, list[Stamp], list[Stamp]]:
    """Return the rule, the dates that are added, and those that are left out."""
    rules: list[tuple[int, str]] = []
    dates: dict[str, list[Stamp]] = {"RDATE": [], "EXDATE": []}
    for match in re.finditer(r"\S+", text):
        head, _, value = match[0].partition(":")
        name, _, parameters = head.upper().partition(";")
        if name in _NOT_BESIDE:
            _refuse("rrule", match.start(), f"{name} is not taken", _NOT_BESIDE[name])
        if name not in dates:
            rules.append((match.start(), match[0]))
            continue
        if parameters not in _DATE_PARAMETERS:
            reason = f"{name};{shortened(parameters)} is not taken"
            hint = "dates are in the schedule's zone; write Z behind those in UTC"
            _refuse("rrule", match.start(), reason, hint)
        try:
            dates[name] += read_stamps(value, match.end() - len(value))
        except Refusal as refusal:
            raise refusal.error("rrule") from None
    if not rules:
        hint = "write the dates alone, as a list, or a rule in front of them"
        _refuse("rrule", 0, "there are dates, and no rule", hint)
    if len(rules) > 1:
        hint = "give several rules as a list; one text holds one rule, without blanks"
        _refuse("rrule", rules[1][0], f"{len(rules)} rules in one text", hint)
    if max(map(len, dates.values())) > RULE_DATES_MAX:
        _refuse("rrule", 0, f"more than {RULE_DATES_MAX} dates", "use a calendar")
    return rules[0][1], dates["RDATE"], dates["EXDATE"]


def _minutes(stamps: Sequence[Stamp], zone: Zone, start: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for stamp in stamps:
        wall = stamp.wall(zone) + (start % DAY if stamp.is_date else 0)
        if wall % 60:
            _refuse("rrule", 0, "RDATE takes whole minutes", "leave the seconds out")
        found[wall // DAY] = found.get(wall // DAY, 0) | 1 << wall % DAY // 60
    return found


def _left_out(stamps: Sequence[Stamp], zone: Zone) -> dict[int, int]:
    found: dict[int, int] = {}
    for stamp in stamps:
        day, second = divmod(stamp.wall(zone), DAY)
        found[day] = found.get(day, 0) | (FULL_CLOCK if stamp.is_date else 1 << second // 60)
    return found


def _refuse(field: str, position: int, reason: str, hint: str) -> None:
    raise InvalidSchedule(
        f"{field}: {reason} (position {position})",
        hint=hint,
        details={"field": field, "position": position},
    )
