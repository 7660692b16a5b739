"""The fields of a cron expression: lists of numbers, names, ranges and steps, as bit masks.

Each reader keeps what it read lately, so that a new expression with familiar fields costs a look
into a dictionary for each of them. Lists are read left to right and every item is checked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from mainspring.timetable.civil import FIRST_YEAR, LAST_YEAR
from mainspring.timetable.cron_days import MonthDays, WeekDays
from mainspring.timetable.refusals import Refusal, shortened

_DIGITS_MAX: Final = 4
MONTH_NAMES: Final = [
    "JAN",
    "FEB",
    "MAR",
    "APR",
    "MAY",
    "JUN",
    "JUL",
    "AUG",
    "SEP",
    "OCT",
    "NOV",
    "DEC",
]
WEEKDAY_NAMES: Final = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """What a field may hold. A range may go over the end where ``cycle`` is given."""

    name: str
    low: int
    high: int
    names: Mapping[str, int]
    cycle: int = 0


SECOND: Final = Field("second", 0, 59, {})
MINUTE: Final = Field("minute", 0, 59, {})
HOUR: Final = Field("hour", 0, 23, {}, 24)
DAY: Final = Field("day of month", 1, 31, {})
MONTH: Final = Field(
    "month", 1, 12, {name: number for number, name in enumerate(MONTH_NAMES, 1)}, 12
)
WEEKDAY: Final = Field(
    "day of week", 0, 7, {name: number for number, name in enumerate(WEEKDAY_NAMES)}, 7
)
YEAR: Final = Field("year", FIRST_YEAR, LAST_YEAR, {})


@lru_cache(maxsize=8192)
def plain_mask(field: Field, text: str) -> int:
    """Return a field of numbers, names, ranges and steps as bits; its lowest value is bit 0."""
    mask = 0
    for offset, item in _items(text):
        mask |= _item_mask(field, item, offset)
    return mask


@lru_cache(maxsize=8192)
def month_days(text: str) -> MonthDays:
    """Return the field *day of month*."""
    mask, before_last, nearest = 0, [], []
    last_weekday = False
    for offset, item in _items(text):
        upper = item.upper()
        if upper == "LW":
            last_weekday = True
        elif upper == "L" or upper.startswith("L-"):
            before_last.append(_before_last(upper, offset))
        elif upper.endswith("W"):
            nearest.append(_number(DAY, upper[:-1] or "W", offset))
        elif item == "?":
            mask |= _alone(text, offset, (1 << 31) - 1)
        else:
            mask |= _item_mask(DAY, item, offset)
    return MonthDays(mask, tuple(before_last), tuple(nearest), last_weekday, text[0] in "*?")


@lru_cache(maxsize=8192)
def week_days(text: str) -> WeekDays:
    """Return the field *day of week*."""
    mask, numbered, last = 0, [], []
    for offset, item in _items(text):
        day, mark, number = item.partition("#")
        if mark:
            numbered.append((_number(WEEKDAY, day, offset) % 7, _which(number, item, offset)))
        elif item.upper() == "L":
            hint = "write 5L for the last Friday, or L in the day of month"
            raise Refusal(offset, item, "L alone names no weekday", hint)
        elif item[-1] in "Ll":
            last.append(_number(WEEKDAY, item[:-1], offset) % 7)
        elif item == "?":
            mask |= _alone(text, offset, 127)
        else:
            bits = _item_mask(WEEKDAY, item, offset)
            mask |= (bits | bits >> 7) & 127
    return WeekDays(mask, tuple(numbered), tuple(last), text[0] in "*?")


def _items(text: str) -> list[tuple[int, str]]:
    """Return the items of a list with their offsets; an empty one is refused."""
    found, offset = [], 0
    for item in text.split(","):
        if not item:
            raise Refusal(offset, ",", "an item of the list is empty", "leave out the extra comma")
        found.append((offset, item))
        offset += len(item) + 1
    return found


def _alone(text: str, offset: int, mask: int) -> int:
    if text != "?":
        raise Refusal(offset, "?", "? stands alone in its field", "write * or leave the ? out")
    return mask


def _before_last(item: str, offset: int) -> int:
    if item == "L":
        return 0
    number = _digits(item[2:])
    if number is None or number > 30:
        hint = "L-1 to L-30 count back from the last day"
        raise Refusal(offset, item, f"{item} is no day", hint)
    return number


def _which(number: str, item: str, offset: int) -> int:
    found = _digits(number)
    if found is None or not 1 <= found <= 5:
        reason = f"{shortened(item)}: a month has a first to a fifth weekday"
        raise Refusal(offset, item, reason, "write a number from 1 to 5 after #, or 5L for last")
    return found


def _item_mask(field: Field, item: str, offset: int) -> int:
    body, slash, step_text = item.partition("/")
    step = _step(step_text, item, offset) if slash else 1
    first, dash, last = body.partition("-")
    if body == "*":
        low, high = field.low, (6 if field is WEEKDAY else field.high)
    elif dash:
        low, high = _range(field, first, last, item, offset)
    else:
        low = _number(field, body, offset)
        high = (max(low, 6) if field is WEEKDAY else field.high) if slash else low
    if step == 1 and high <= field.high:
        return ((2 << (high - low)) - 1) << (low - field.low)
    mask, size = 0, field.cycle or field.high + 1
    for value in range(low, high + 1, step):
        over = value > field.high
        mask |= 1 << ((value - size if over else value) - field.low)
    return mask


def _range(field: Field, first: str, last: str, item: str, offset: int) -> tuple[int, int]:
    low = _number(field, first, offset)
    high = _number(field, last, offset + len(first) + 1)
    if field is WEEKDAY and low == 7 != high:
        low = 0
    if high < low:
        if not field.cycle:
            hint = f"write {shortened(last)}-{shortened(first)}, or two ranges"
            raise Refusal(offset, item, f"{shortened(item)} runs backwards", hint)
        high += field.cycle
    return low, high


def _step(text: str, item: str, offset: int) -> int:
    step = _digits(text)
    if not step:
        reason = f"{shortened(item)} has no step" if not text else f"{shortened(text)} is no step"
        raise Refusal(offset + item.index("/") + 1, text, reason, "a step is a number from 1")
    return step


def _number(field: Field, text: str, offset: int) -> int:
    found = _digits(text)
    if found is None:
        found = field.names.get(text.upper())
    if found is None or not field.low <= found <= field.high:
        raise Refusal(offset, text, *_why_no_number(field, text, found))
    return found


def _digits(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= _DIGITS_MAX else None


def _why_no_number(field: Field, text: str, found: int | None) -> tuple[str, str]:
    """Return the reason and what to write instead."""
    shown = shortened(text)
    spoken = f"{field.low} to {field.high}"
    if field.names:
        names = list(field.names)
        spoken += f" or {names[0]} to {names[-1]}"
    if found is not None:
        return f"{shown} is out of range", f"use {spoken}"
    if not text:
        return "a number is missing", f"use {spoken}"
    if text[0] in "Hh" and not text.upper().startswith("HO"):
        return f"{shown} is not resolved", "H needs the schedule's name; resolve it first"
    meant = next((name for name in field.names if text.upper().startswith(name)), None)
    if meant:
        return f"{shown} is no {field.name}", f"did you mean {meant}?"
    elsewhere = text.upper()[:3] in {*MONTH_NAMES, *WEEKDAY_NAMES}
    if elsewhere:
        return f"the {field.name} takes no names of months or weekdays", f"use {spoken}"
    near = get_close_matches(text.upper()[:8], field.names, 1, 0.6)
    return f"{shown} is no {field.name}", f"did you mean {near[0]}?" if near else f"use {spoken}"
