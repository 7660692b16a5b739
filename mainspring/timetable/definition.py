"""What a schedule keeps of its times: texts and numbers, from which a timetable is compiled.

Nothing compiled is ever stored, so that a correction of the semantics needs no migration.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Final, Literal

import msgspec

from mainspring.domain.errors import FiresTooOften, InvalidSchedule, NaiveDatetime, NeverFires
from mainspring.domain.limits import (
    CALENDAR_ENTRIES_MAX,
    CALENDAR_RULES_MAX,
    INTERVAL_SECONDS_MIN,
    JITTER_SECONDS_MAX,
    SCHEDULE_CALENDARS_MAX,
    SCHEDULE_RULES_MAX,
    SEARCH_YEARS,
)
from mainspring.domain.names import check_choice, suggestion
from mainspring.timetable import calendars as sets
from mainspring.timetable.calendars import Calendar, Heeded, HeededSource, Heeding, TakenAway
from mainspring.timetable.civil import DAY, NEVER
from mainspring.timetable.clocked import Clocked, Source
from mainspring.timetable.cron_fields import WEEKDAY, plain_mask
from mainspring.timetable.dates import Instants, WallDates, read_stamp
from mainspring.timetable.intervals import Every
from mainspring.timetable.refusals import Refusal, check_text
from mainspring.timetable.text import Rule, parse_rule
from mainspring.timetable.timetable import Bounds, Jitter, Timetable
from mainspring.timetable.walls import WallRule, closest
from mainspring.timetable.zones import Zone, ZoneData, zone

_ANNUAL: Final = re.compile(r"(\d{2})-(\d{2})")
#: Of the months, in a leap year.
_LENGTHS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_SAMPLE: Final = 64


class Heeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A calendar that a schedule leaves out, or keeps to."""

    calendar: str
    mode: Literal["exclude", "include"] = "exclude"


class Definition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a schedule fires, as a user wrote it."""

    #: Rules whose fires are united: cron, recurrence rules, intervals, dates (``timetable.text``).
    when: tuple[str, ...]
    zone: str = "UTC"
    #: Where intervals and recurrence rules begin: a local time or an instant.
    anchor: str | None = None
    starts_at: datetime | None = None
    #: The last instant that may fire.
    ends_at: datetime | None = None
    max_fires: int | None = None
    #: A wall time that the clock leaves out: judged by the misfire policy, moved, or dropped.
    dst_gap: Literal["policy", "shift", "skip"] = "policy"
    #: A wall time that the clock shows twice.
    dst_fold: Literal["first", "second", "both"] = "first"
    calendars: tuple[Heeds, ...] = ()
    on_excluded: Literal["skip", "next_business_day", "previous_business_day"] = "skip"
    jitter_seconds: int = 0
    jitter_mode: Literal["per_fire", "fixed"] = "per_fire"


class CalendarDefinition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A calendar as a user wrote it.

    Entries: ``2027-12-24``, ``12-25`` (every year), ``2027-12-24..2028-01-02``,
    ``2027-12-24T18:00..2027-12-27T06:00``, ``SAT,SUN``, or a rule whose days belong to it:
    ``0 0 * * MON#1``, ``FREQ=YEARLY;BYMONTH=11;BYDAY=4TH``.
    """

    name: str
    entries: tuple[str, ...]
    business_days: str = "MON-FRI"


def compile_timetable(
    definition: Definition,
    calendars: Mapping[str, Calendar] | None = None,
    *,
    zones: ZoneData | None = None,
) -> Timetable:
    """Return the timetable of a definition, or raise ``InvalidSchedule`` saying what is wrong.

    ``zones`` are those of the bundled data unless others are given.
    """
    named = check_text("zone", definition.zone, 256)
    there = zone(named) if zones is None else zones.zone(named)
    count = len(definition.when)
    if not 1 <= count <= SCHEDULE_RULES_MAX:
        raise InvalidSchedule(f"when: {count} rules; give 1 to {SCHEDULE_RULES_MAX}")
    check_choice("dst_gap", definition.dst_gap, ("policy", "shift", "skip"))
    check_choice("dst_fold", definition.dst_fold, ("first", "second", "both"))
    heeding = _heeding(definition, calendars or {})
    kept: list[Source] = []
    dropped: list[Source] = []
    for text in definition.when:
        rule = parse_rule(text, there, definition.anchor)
        _add(kept, dropped, rule, _Laying(definition, there, heeding))
    return Timetable(kept, dropped=dropped, bounds=_bounds(definition), jitter=_jitter(definition))


@lru_cache(maxsize=65_536)
def simple_timetable(when: str, zone_name: str = "UTC") -> Timetable:
    """Return the timetable of one rule with everything else as it is by default; kept by text."""
    return compile_timetable(Definition(when=(when,), zone=zone_name))


def check_definition(
    definition: Definition,
    now: int,
    calendars: Mapping[str, Calendar] | None = None,
    *,
    seconds_min: int = INTERVAL_SECONDS_MIN,
) -> Timetable:
    """Compile for registration: what never fires after now, or too often, is refused as well."""
    found = compile_timetable(definition, calendars)
    first = found.next_at(now)
    if first is None:
        raise NeverFires(
            f"when: no fire within {SEARCH_YEARS} years, or before the schedule's end",
            hint="check the dates, the end and the calendars",
            details={"field": "when", "reason": "never_fires"},
        )
    shortest = shortest_seconds(found, now)
    if shortest < seconds_min:
        raise FiresTooOften(
            f"when: two fires can be {shortest} s apart; the minimum is {seconds_min} s",
            details={"field": "when", "seconds": shortest, "seconds_min": seconds_min},
        )
    return found


def shortest_seconds(timetable: Timetable, now: int) -> int:
    """Return how close two fires of a timetable can be: by its rules, and by its next fires."""
    shortest = min(_shortest(source) for source in timetable.sources)
    before = timetable.next_at(now)
    for _ in range(_SAMPLE if len(timetable.sources) > 1 else 0):
        after = None if before is None else timetable.next_at(before)
        if before is None or after is None:
            break
        shortest, before = min(shortest, after - before), after
    return shortest


def _shortest(source: Source) -> int:
    match source:
        case Every():
            return source.seconds
        case Instants():
            return closest(source.instants)
        case Clocked():
            return source.rule.shortest_seconds()
        case HeededSource():
            return _shortest(source.source)
        case _:
            return 1


class _Laying(msgspec.Struct, frozen=True):
    """What a rule is laid on."""

    definition: Definition
    zone: Zone
    heeding: Heeding | None

    def clocked(self, rule: WallRule) -> Clocked:
        return Clocked(rule, self.zone, self.definition.dst_gap, self.definition.dst_fold)


def _add(kept: list[Source], dropped: list[Source], rule: Rule, laying: _Laying) -> None:
    heeding = laying.heeding
    if not isinstance(rule, WallRule):
        if heeding is None:
            kept.append(rule)
            return
        if heeding.then != sets.SKIP:
            raise InvalidSchedule(
                "on_excluded: elapsed time and instants cannot move to another day",
                hint="use on_excluded skip, or a rule on the wall clock such as cron",
                details={"field": "on_excluded"},
            )
        kept.append(HeededSource(rule, heeding))
        dropped.append(HeededSource(rule, heeding, keeps=False))
    elif heeding is None:
        kept.append(laying.clocked(rule))
    elif isinstance(rule, WallDates):
        remaining, gone = sets.heeded_dates(rule, heeding)
        kept.append(laying.clocked(remaining))
        dropped.append(laying.clocked(gone))
    else:
        heeded = Heeded(rule, heeding)
        kept.append(laying.clocked(heeded))
        dropped.append(laying.clocked(TakenAway(heeded)))


def _heeding(definition: Definition, calendars: Mapping[str, Calendar]) -> Heeding | None:
    check_choice("on_excluded", definition.on_excluded, (sets.SKIP, sets.NEXT, sets.PREVIOUS))
    if not definition.calendars:
        return None
    if len(definition.calendars) > SCHEDULE_CALENDARS_MAX:
        raise InvalidSchedule(f"calendars: at most {SCHEDULE_CALENDARS_MAX}")
    found: dict[str, list[Calendar]] = {"exclude": [], "include": []}
    for heeds in definition.calendars:
        check_choice("mode", heeds.mode, ("exclude", "include"))
        if heeds.calendar not in calendars:
            name = heeds.calendar[:64]
            first = f"create it first: mainspring calendars create {name}"
            raise InvalidSchedule(
                f"calendars: there is no calendar {name!r}",
                hint=suggestion(name, calendars) if calendars else first,
                details={"field": "calendars", "token": name},
            )
        found[heeds.mode].append(calendars[heeds.calendar])
    return Heeding(tuple(found["exclude"]), tuple(found["include"]), definition.on_excluded)


def _bounds(definition: Definition) -> Bounds:
    starts_at = _instant("starts_at", definition.starts_at, 0)
    ends_at = _instant("ends_at", definition.ends_at, NEVER - 1)
    if ends_at < starts_at:
        raise InvalidSchedule(
            "ends_at: the end lies before the start",
            hint="give an end after the start, or leave it out",
            details={"field": "ends_at"},
        )
    if definition.max_fires is not None and definition.max_fires < 1:
        raise InvalidSchedule(
            f"max_fires: {definition.max_fires} leaves no fire",
            hint="give 1 or more, or leave it out",
            details={"field": "max_fires"},
        )
    return Bounds(starts_at=starts_at, ends_at=ends_at, max_fires=definition.max_fires)


def _instant(field: str, given: datetime | None, default: int) -> int:
    if given is None:
        return default
    if given.tzinfo is None:
        raise NaiveDatetime(f"{field}: {given.isoformat()} has no time zone")
    # A start within a second leaves that second's fire out; an end within a second keeps it.
    is_whole = given.microsecond == 0 or field == "ends_at"
    return int(given.timestamp()) + (0 if is_whole else 1)


def _jitter(definition: Definition) -> Jitter:
    if not 0 <= definition.jitter_seconds <= JITTER_SECONDS_MAX:
        raise InvalidSchedule(
            f"jitter_seconds: {definition.jitter_seconds} is not from 0 to {JITTER_SECONDS_MAX}",
            details={"field": "jitter_seconds"},
        )
    check_choice("jitter_mode", definition.jitter_mode, ("per_fire", "fixed"))
    is_fixed = definition.jitter_mode == "fixed"
    return Jitter(window_ms=definition.jitter_seconds * 1000, is_fixed=is_fixed)


def compile_calendar(definition: CalendarDefinition) -> Calendar:
    """Return a calendar ready to ask, or raise ``InvalidSchedule`` naming the entry."""
    if len(definition.entries) > CALENDAR_ENTRIES_MAX:
        raise InvalidSchedule(f"entries: at most {CALENDAR_ENTRIES_MAX}")
    found = Calendar(definition.name, _weekdays("business_days", definition.business_days))
    for number, entry in enumerate(definition.entries):
        field = f"entries[{number}]"
        try:
            _add_entry(found, check_text(field, entry, 512).strip())
        except Refusal as refusal:
            raise refusal.error(field) from None
        except InvalidSchedule as error:
            if error.details.get("field") != field:
                error.message = f"{field}: {error.message}"
                error.args = (error.message,)
                error.details["field"] = field
            raise
    return found


def _add_entry(calendar: Calendar, entry: str) -> None:
    first, dots, last = entry.partition("..")
    if dots:
        begins, ends = read_stamp(first.strip()), read_stamp(last.strip(), len(first) + 2)
        if begins.is_instant or ends.is_instant:
            hint = "leave Z and offsets out: a calendar is judged on the local clock"
            raise Refusal(0, entry, "a calendar takes local times", hint)
        end = ends.seconds + (DAY if ends.is_date else 0)
        if end <= begins.seconds:
            raise Refusal(0, entry, "the span runs backwards", "write the earlier time first")
        calendar.add_span(begins.seconds, end)
    elif match := _ANNUAL.fullmatch(entry):
        month, day = int(match[1]), int(match[2])
        if not 1 <= month <= 12 or not 1 <= day <= _LENGTHS[month - 1]:
            raise Refusal(0, entry, f"{entry} does not exist", "check the month and the day")
        calendar.add_annual(month, day)
    elif re.fullmatch(r"\d{4}-\d{2}-\d{2}", entry):
        calendar.add_day(read_stamp(entry).seconds // DAY)
    elif " " not in entry and "=" not in entry:
        calendar.add_weekdays(_weekday_bits(entry))
    else:
        rule = parse_rule(entry, zone("UTC"))
        if not isinstance(rule, WallRule) or isinstance(rule, WallDates):
            raise Refusal(0, entry, "this rule names no days", "use cron or a recurrence rule")
        if calendar.rules == CALENDAR_RULES_MAX:
            most = f"a calendar has at most {CALENDAR_RULES_MAX} rules"
            raise Refusal(0, entry, most, "write days as dates: 12-25, 2027-04-02")
        calendar.add_rule(rule)


def _weekdays(field: str, text: str) -> int:
    try:
        return _weekday_bits(check_text(field, text, 64))
    except Refusal as refusal:
        raise refusal.error(field) from None


def _weekday_bits(text: str) -> int:
    bits = plain_mask(WEEKDAY, text)
    return (bits | bits >> 7) & 127
