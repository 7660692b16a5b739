"""Recurrence rules (RFC 5545) as text: the subset that is taken, and why the rest is refused."""

import difflib
from dataclasses import dataclass, field
from typing import Final

from mainspring.domain.limits import RULE_CHARACTERS_MAX, RULE_COUNT_MAX
from mainspring.timetable.civil import DAY, FIRST_YEAR, LAST_YEAR, day_of
from mainspring.timetable.refusals import Refusal, check_text, shortened

FREQUENCIES: Final = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY")
WEEKDAYS: Final = ("SU", "MO", "TU", "WE", "TH", "FR", "SA")
_INTERVAL_MAX: Final = 100_000
_DIGITS_MAX: Final = 6
#: Lists of numbers: lowest, highest, whether negative ones count from the end.
_LISTS: Final = {
    "BYMONTH": (1, 12, False),
    "BYMONTHDAY": (1, 31, True),
    "BYYEARDAY": (1, 366, True),
    "BYWEEKNO": (1, 53, True),
    "BYHOUR": (0, 23, False),
    "BYMINUTE": (0, 59, False),
    "BYSECOND": (0, 0, False),
    "BYSETPOS": (1, 366, True),
}
_PARTS: Final = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", *_LISTS)
_REFUSED: Final = {
    "BYEASTER": "write the dates as RDATE, or as a calendar",
    "EXRULE": "use EXDATE, or a calendar",
    "RRULE": "give several rules as a list; one text holds one rule",
    "DTSTART": "give the start beside the rule: anchor 2027-01-04T09:00",
    "RSCALE": "only the Gregorian calendar is known",
    "SKIP": "only the Gregorian calendar is known",
}


@dataclass(slots=True)
class Parts:
    """A rule as it was written; empty lists were not."""

    freq: str = ""
    interval: int = 1
    count: int | None = None
    #: A wall time, or an instant where ``until_is_utc``.
    until: int | None = None
    until_is_utc: bool = False
    week_start: int = 1
    #: Weekday (Sunday is 0) and its number in the month or year; 0 for every one.
    by_day: tuple[tuple[int, int], ...] = ()
    lists: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def by(self, name: str) -> tuple[int, ...]:
        """Return a list of numbers by its name in the RFC; empty when it was not given."""
        return self.lists.get(name, ())


def parse_parts(text: str) -> Parts:
    """Return the parts of ``FREQ=…;…``, or raise ``InvalidSchedule``."""
    check_text("rrule", text, RULE_CHARACTERS_MAX)
    parts = Parts()
    try:
        seen: dict[str, int] = {}
        offset = len(text) - len(text.removeprefix("RRULE:"))
        for part in text[offset:].split(";"):
            _read_part(parts, part, offset, seen)
            offset += len(part) + 1
        _check_together(parts, seen)
    except Refusal as refusal:
        raise refusal.error("rrule") from None
    return parts


def _read_part(parts: Parts, part: str, offset: int, seen: dict[str, int]) -> None:
    name, equals, value = part.partition("=")
    name = name.strip().upper()
    at = offset + len(part) - len(value)
    if name not in _PARTS:
        raise _unknown(name.partition(":")[0], part, offset)
    if not equals or not value.strip():
        raise Refusal(at, part, f"{name} has no value", f"write {name}=…, or leave it out")
    if name in seen:
        raise Refusal(offset, name, f"{name} is given twice", "write one list with commas")
    seen[name] = offset
    value = value.strip().upper()
    match name:
        case "FREQ":
            parts.freq = _frequency(value, at)
        case "INTERVAL":
            parts.interval = _number(value, 1, _INTERVAL_MAX, at)
        case "COUNT":
            parts.count = _number(value, 1, RULE_COUNT_MAX, at)
        case "UNTIL":
            parts.until, parts.until_is_utc = _until(value, at)
        case "WKST":
            parts.week_start = _weekday(value, value, at)
        case "BYDAY":
            parts.by_day = tuple(_day(item, where) for where, item in _items(value, at))
        case _:
            parts.lists[name] = _numbers(name, value, at)


def _unknown(name: str, part: str, offset: int) -> Refusal:
    shown = shortened(name) or "an empty part"
    if name in _REFUSED:
        return Refusal(offset, part, f"{shown} is not taken", _REFUSED[name])
    near = difflib.get_close_matches(name[:16], _PARTS, 1)
    hint = f"did you mean {near[0]}?" if near else f"parts are {', '.join(_PARTS)}"
    return Refusal(offset, part, f"there is no part {shown}", hint)


def _frequency(value: str, at: int) -> str:
    if value in FREQUENCIES:
        return value
    if value == "SECONDLY":
        raise Refusal(at, value, "SECONDLY is not taken", "use an interval: every 10s")
    near = difflib.get_close_matches(value[:16], FREQUENCIES, 1)
    hint = f"did you mean {near[0]}?" if near else f"use one of {', '.join(FREQUENCIES)}"
    raise Refusal(at, value, f"there is no frequency {shortened(value)}", hint)


def _items(value: str, at: int) -> list[tuple[int, str]]:
    found, offset = [], at
    for item in value.split(","):
        if not item:
            raise Refusal(offset, ",", "an item of the list is empty", "leave out the extra comma")
        found.append((offset, item))
        offset += len(item) + 1
    return found


def _numbers(name: str, value: str, at: int) -> tuple[int, ...]:
    low, high, may_be_negative = _LISTS[name]
    found = set()
    for offset, item in _items(value, at):
        sign = -1 if may_be_negative and item.startswith("-") else 1
        plain = item[1:] if sign < 0 or (may_be_negative and item.startswith("+")) else item
        found.add(sign * _number(plain, low, high, offset))
    return tuple(sorted(found))


def _number(text: str, low: int, high: int, at: int) -> int:
    number = int(text) if text.isdecimal() and len(text) <= _DIGITS_MAX else None
    if number is None or not low <= number <= high:
        reason = f"{shortened(text) or 'nothing'} is not a number from {low} to {high}"
        raise Refusal(at, text, reason, f"use {low} to {high}" if low < high else f"use {low}")
    return number


def _weekday(text: str, item: str, at: int) -> int:
    if text in WEEKDAYS:
        return WEEKDAYS.index(text)
    meant = f"did you mean {text[:2]}?" if text[:2] in WEEKDAYS else f"use {', '.join(WEEKDAYS)}"
    raise Refusal(at, item, f"{shortened(item)} is no weekday", meant)


def _day(item: str, at: int) -> tuple[int, int]:
    digits = item.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    weekday = _weekday(item[len(digits) :], item, at)
    if not digits:
        return weekday, 0
    sign = -1 if digits.startswith("-") else 1
    plain = digits[1:] if digits[0] in "+-" else digits
    return weekday, sign * _number(plain, 1, 53, at)


def _until(value: str, at: int) -> tuple[int, bool]:
    """Return the wall time (a date is its whole day), and whether it is UTC."""
    is_utc = value.endswith("Z")
    date, t, clock = value.removesuffix("Z").partition("T")
    is_clock = len(clock) == 6 and clock.isdecimal() if t else not is_utc
    try:
        if len(date) != 8 or not date.isdecimal() or not is_clock:
            raise ValueError
        year = int(date[:4])
        day = day_of(year, int(date[4:6]), int(date[6:]))
        hour, minute, second = (int(clock[i : i + 2]) for i in (0, 2, 4)) if t else (23, 59, 59)
        if not FIRST_YEAR <= year <= LAST_YEAR or hour > 23 or minute > 59 or second > 59:
            raise ValueError
    except ValueError:
        hint = "write 20271231, 20271231T235959 or 20271231T225959Z"
        raise Refusal(at, value, f"{shortened(value)} is no date", hint) from None
    return day * DAY + hour * 3600 + minute * 60 + second, is_utc


def _check_together(parts: Parts, seen: dict[str, int]) -> None:
    """Refuse parts that the RFC or this subset does not allow beside each other."""
    if not parts.freq:
        raise Refusal(0, "", "FREQ is missing", f"begin with FREQ={FREQUENCIES[3]}")
    if parts.count and parts.until is not None:
        raise Refusal(seen["UNTIL"], "UNTIL", "COUNT and UNTIL exclude each other", "keep one")
    numbered = any(number for _, number in parts.by_day)
    chooses = any(name.startswith("BY") and name != "BYSETPOS" for name in seen)
    in_months = parts.freq in {"MONTHLY", "YEARLY"}
    rules = (
        ("BYDAY", numbered and not in_months, "numbers need FREQ=MONTHLY or YEARLY"),
        ("BYDAY", numbered and "BYWEEKNO" in seen, "numbers do not go with BYWEEKNO"),
        ("BYYEARDAY", parts.freq != "YEARLY", "needs FREQ=YEARLY"),
        ("BYWEEKNO", parts.freq != "YEARLY", "needs FREQ=YEARLY"),
        ("BYWEEKNO", not parts.by_day, "needs BYDAY, the day of that week"),
        ("BYMONTHDAY", parts.freq == "WEEKLY", "does not go with FREQ=WEEKLY"),
        ("BYSETPOS", parts.freq == "MINUTELY", "does not go with FREQ=MINUTELY"),
        ("BYSETPOS", not chooses, "needs another BY part to choose from"),
    )
    for name, is_wrong, reason in rules:
        if name in seen and is_wrong:
            hint = "change FREQ, or leave the part out"
            raise Refusal(seen[name], name, f"{name} {reason}", hint)
