"""Sentences, notes and warnings about a timetable, for people."""

from typing import Final

import msgspec

from mainspring.timetable.civil import DAY, bits_of, moment, wall_text
from mainspring.timetable.clocked import FireKind
from mainspring.timetable.cron import Cron, split_fields
from mainspring.timetable.cron_fields import HOUR, MINUTE, month_days, plain_mask, week_days
from mainspring.timetable.dates import Instants, WallDates
from mainspring.timetable.definition import Definition
from mainspring.timetable.explain_cron import cron_sentence
from mainspring.timetable.intervals import CalendarSteps, Every
from mainspring.timetable.recurrence import Recurrence
from mainspring.timetable.recurrence_text import Parts
from mainspring.timetable.text import Rule, parse_rule
from mainspring.timetable.timetable import Timetable
from mainspring.timetable.words import (
    WEEKDAYS,
    clock_list,
    duration,
    every,
    joined,
    months,
    numbers,
    ordinal,
    weekdays,
    zone_words,
)
from mainspring.timetable.zones import Zone, zone

_UNITS: Final = {
    "YEARLY": "year",
    "MONTHLY": "month",
    "WEEKLY": "week",
    "DAILY": "day",
    "HOURLY": "hour",
    "MINUTELY": "minute",
}
_YEAR: Final = 366 * DAY


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """One of the next fires as it is shown before a schedule is stored."""

    local: str
    utc: str
    note: str = ""


def sentence(definition: Definition) -> str:
    """Return what a definition says: ``at 09:00 on weekdays, New York time``."""
    there = zone(definition.zone)
    rules = [parse_rule(text, there, definition.anchor) for text in definition.when]
    text = "; and ".join(rule_sentence(rule) for rule in rules)
    if any(not isinstance(rule, Every) for rule in rules):
        text += f", {zone_words(definition.zone)}"
    heeds = [
        f"{'not on' if h.mode == 'exclude' else 'only on'} {h.calendar}"
        for h in definition.calendars
    ]
    if heeds:
        then = definition.on_excluded
        moved = "" if then == "skip" else f" (moved to the {then.replace('_', ' ')})"
        text += f", {joined(heeds)}{moved}"
    if definition.starts_at:
        text += f", from {definition.starts_at.isoformat()}"
    if definition.ends_at:
        text += f", until {definition.ends_at.isoformat()}"
    if definition.max_fires:
        text += f", {definition.max_fires} times at most" if definition.max_fires > 1 else ", once"
    return text


def rule_sentence(rule: Rule) -> str:
    """Return what a rule says, its zone left out."""
    match rule:
        case Cron():
            return cron_sentence(rule.text)
        case Recurrence():
            return _recurrence(rule)
        case Every():
            begins = f", counted from {moment(rule.anchor):%Y-%m-%d %H:%M:%S} UTC"
            return duration(rule.seconds) + (begins if rule.anchor else "")
        case CalendarSteps():
            return _steps(rule)
        case Instants():
            shown = [wall_text(at + rule.zone.offset_at(at)) for at in rule.instants]
        case WallDates():
            shown = [wall_text(wall) for wall in rule.walls]
        case _:
            return "by a rule"
    return _dates(shown)


def _dates(shown: list[str]) -> str:
    plain = [text.replace("T", " ").removesuffix(":00") for text in shown]
    if len(plain) == 1:
        return f"once, at {plain[0]}"
    if len(plain) <= 4:
        return f"at {joined(plain)}"
    return f"at {len(plain)} times from {plain[0]} to {plain[-1]}"


def _steps(rule: CalendarSteps) -> str:
    at = clock_list(1 << rule.anchor % DAY // 60, rule.anchor % 60)
    date = moment(rule.anchor)
    if rule.step.days:
        unit = (
            every(rule.step.days // 7, "week")
            if rule.step.days % 7 == 0
            else every(rule.step.days, "day")
        )
        return f"{unit} {at}, counted from {date:%Y-%m-%d}"
    count, unit = rule.step.months, "month"
    if count % 12 == 0:
        count, unit = count // 12, "year"
    day = f"day {date.day}" + (" or the last of the month" if date.day > 28 else "")
    return f"{every(count, unit)} on {day} {at}, counted from {date:%Y-%m-%d}"


def _recurrence(rule: Recurrence) -> str:
    parts = rule.parts
    words = [every(parts.interval, _UNITS[parts.freq])]
    if parts.by_day:
        words.append(_by_day(parts))
    if parts.by("BYMONTHDAY"):
        words.append(f"on {_days(parts.by('BYMONTHDAY'), 'month')}")
    if parts.by("BYYEARDAY"):
        words.append(f"on {_days(parts.by('BYYEARDAY'), 'year')}")
    if parts.by("BYWEEKNO"):
        words.append(f"in week {joined([str(number) for number in parts.by('BYWEEKNO')])}")
    if parts.by("BYMONTH"):
        words.append(months(sum(1 << number - 1 for number in parts.by("BYMONTH"))))
    words.append(_times(rule))
    if parts.by("BYSETPOS"):
        words.append(
            f"(only the {joined([ordinal(number) for number in parts.by('BYSETPOS')])} of these)"
        )
    if parts.count:
        words.append(f"{parts.count} times")
    if parts.until is not None:
        words.append(f"until {wall_text(parts.until).replace('T', ' ')}")
    text = " ".join(word for word in words if word)
    if parts.freq == "WEEKLY" and parts.interval == 1 and parts.by_day:
        text = text.removeprefix("every week ")
    return text


def _times(rule: Recurrence) -> str:
    parts = rule.parts
    if parts.freq not in {"HOURLY", "MINUTELY"}:
        bits = rule.clock()
        return clock_list(bits) or f"at {bits.bit_count()} times of the day"
    found = []
    if parts.by("BYMINUTE") not in {(), (0,)}:
        found.append(f"at minute {numbers(parts.by('BYMINUTE'))}")
    if parts.by("BYHOUR"):
        found.append(f"in the hours {numbers(parts.by('BYHOUR'))}")
    return " ".join(found)


def _by_day(parts: Parts) -> str:
    plain = sum(1 << day for day, number in parts.by_day if not number)
    period = "year" if parts.freq == "YEARLY" and not parts.by("BYMONTH") else "month"
    named = [f"the {ordinal(n)} {WEEKDAYS[day]} of the {period}" for day, n in parts.by_day if n]
    return joined(
        [*([weekdays(plain)] if plain else []), *([f"on {joined(named)}"] if named else [])]
    )


def _days(values: tuple[int, ...], period: str) -> str:
    forward = [value for value in values if value > 0]
    back = [f"the {ordinal(value)} day of the {period}" for value in sorted(values) if value < 0]
    days = (
        [f"day{'s' if len(forward) > 1 else ''} {numbers(forward)} of the {period}"]
        if forward
        else []
    )
    return joined([*days, *reversed(back)])


# --- what comes, and what to look at --------------------------------------------


def preview(timetable: Timetable, after: int, count: int = 5) -> list[Preview]:
    """Return the next fires, local and UTC, each with what a clock change makes of it."""
    found: list[Preview] = []
    instant = timetable.next_at(after)
    while instant is not None and len(found) < count:
        for fire in timetable.fires_at(instant, count - len(found)):
            note = _note(fire.kind, fire.local, zone(fire.zone), instant)
            if fire.moved_from:
                note = f"moved from {fire.moved_from.replace('T', ' ')} by a calendar"
            found.append(
                Preview(local=fire.local, utc=f"{moment(instant):%Y-%m-%dT%H:%M:%SZ}", note=note)
            )
        instant = timetable.next_at(instant)
    return found


def _note(kind: FireKind, local: str, there: Zone, instant: int) -> str:
    shown = local[11:16]
    now = wall_text(instant + there.offset_at(instant))[11:16]
    match kind:
        case FireKind.GAP:
            return f"{shown} does not exist on {local[:10]}: due at {now} as a missed fire"
        case FireKind.SHIFTED:
            return f"{shown} does not exist on {local[:10]}: moved to {now}"
        case FireKind.REPEATED:
            return f"the clock shows {shown} twice: this is the second pass"
        case FireKind.REGULAR:
            return (
                f"the clock shows {shown} twice: this is the first pass"
                if _comes_again(there, instant)
                else ""
            )


def _comes_again(there: Zone, instant: int) -> bool:
    """Say whether the wall time of an instant is shown a second time later."""
    change = there.next_change(instant)
    if change is None:
        return False
    at, before, after = change
    return instant + before >= at + after


def warnings(definition: Definition, timetable: Timetable, now: int) -> list[str]:
    """Return what is allowed but may not be meant, and what the next clock change touches."""
    there = zone(definition.zone)
    found = rule_warnings(definition, timetable, now)
    first = timetable.next_at(now)
    change = there.next_change(now)
    if change and first is not None:
        at, before, after = change
        span = abs(after - before)
        for instant in timetable.instants(at - span - 1, at + span):
            for fire in timetable.fires_at(instant, 8):
                note = _note(fire.kind, fire.local, there, instant)
                found += [f"{fire.local[:10]}: {note}"] if note and len(found) < 8 else []
    return found


def rule_warnings(definition: Definition, timetable: Timetable, now: int) -> list[str]:
    """Return what is allowed but may not be meant, whatever the clock does."""
    there = zone(definition.zone)
    found = []
    for text in definition.when:
        rule = parse_rule(text, there, definition.anchor)
        found += _cron_warnings(rule.text) if isinstance(rule, Cron) else []
    first = timetable.next_at(now)
    if first is not None and first - now > _YEAR:
        found.append(f"the first fire is more than a year away: {moment(first):%Y-%m-%d}")
    return found


def _cron_warnings(text: str) -> list[str]:
    texts = split_fields(text)
    found = []
    in_month, in_week = month_days(texts.day), week_days(texts.weekday)
    if not in_month.starred and not in_week.starred:
        found.append("either day field matches: a day of the month or a day of the week")
    if in_month.starred and texts.day not in {"*", "?"} and texts.weekday not in {"*", "?"}:
        found.append("a day field begins with *, so both day fields must match")
    for field, written, size in ((MINUTE, texts.minute, 60), (HOUR, texts.hour, 24)):
        for item in written.split(","):
            step = item.partition("/")[2]
            if not step:
                continue
            if item.startswith("*") and int(step) < size and size % int(step):
                last = bits_of(plain_mask(field, item))[-1]
                found.append(f"{field.name} {item}: the last step, after {last}, is shorter")
            elif plain_mask(field, item).bit_count() == 1:
                found.append(f"{field.name} {item}: the step is longer than the range")
    return found
