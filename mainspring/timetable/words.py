"""Pieces of sentences: lists, ordinals, times of day, weekdays, months, zones."""

from collections.abc import Sequence
from typing import Final

from mainspring.timetable.civil import bits_of

WEEKDAYS: Final = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
MONTHS: Final = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_ORDINALS: Final = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}
_WORKDAYS: Final = 0b0111110
_WEEKEND: Final = 0b1000001
_LISTED_MAX: Final = 6


def joined(words: Sequence[str], last: str = "and") -> str:
    """Return ``a``, ``a and b`` or ``a, b and c``."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def ordinal(number: int) -> str:
    """Return ``first`` … ``fifth``, then ``6th``; negative numbers count from the end."""
    if number == -1:
        return "last"
    if number < 0:
        return f"{ordinal(-number)} last"
    if number in _ORDINALS:
        return _ORDINALS[number]
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number % 100 // 10 != 1 else 0, "th")
    return f"{number}{ending}"


def numbers(values: Sequence[int]) -> str:
    """Return numbers as ranges where they follow each other: ``1 to 5, 9 and 20``."""
    parts: list[str] = []
    at = 0
    while at < len(values):
        end = at
        while end + 1 < len(values) and values[end + 1] == values[end] + 1:
            end += 1
        if end - at >= 2:
            parts.append(f"{values[at]} to {values[end]}")
        else:
            parts += [str(value) for value in values[at : end + 1]]
        at = end + 1
    return joined(parts)


def every(number: int, unit: str) -> str:
    """Return ``every hour`` or ``every 2 hours``."""
    return f"every {unit}" if number == 1 else f"every {number} {unit}s"


def clock(minute: int, second: int = 0) -> str:
    """Return a time of day; seconds only where they are not 0."""
    text = f"{minute // 60:02}:{minute % 60:02}"
    return f"{text}:{second:02}" if second else text


def clock_list(mask: int, second: int = 0) -> str | None:
    """Return ``at 09:00 and 17:30``; nothing where the times are too many to list."""
    minutes = bits_of(mask) if mask.bit_count() <= _LISTED_MAX else []
    return f"at {joined([clock(minute, second) for minute in minutes])}" if minutes else None


def weekdays(mask: int) -> str:
    """Return ``on weekdays``, ``at weekends`` or ``on Monday and Friday``."""
    if mask == _WORKDAYS:
        return "on weekdays"
    if mask == _WEEKEND:
        return "at weekends"
    order = [day for day in (1, 2, 3, 4, 5, 6, 0) if mask >> day & 1]
    if len(order) >= 3 and order == list(range(order[0], order[-1] + 1)):
        return f"from {WEEKDAYS[order[0]]} to {WEEKDAYS[order[-1]]}"
    return f"on {joined([WEEKDAYS[day] for day in order])}"


def months(mask: int) -> str:
    """Return ``in March and June`` or ``from November to February``; January is bit 0."""
    order = bits_of(mask)
    breaks = [month for month in order if not mask >> (month - 1) % 12 & 1]
    if len(order) >= 3 and len(breaks) == 1:
        first = breaks[0]
        return f"from {MONTHS[first]} to {MONTHS[(first + len(order) - 1) % 12]}"
    return f"in {joined([MONTHS[month] for month in order])}"


def zone_words(name: str) -> str:
    """Return ``New York time``, ``UTC`` or ``UTC+05:30``."""
    if name[0] in "+-":
        return f"UTC{name}"
    if "/" not in name or name.startswith("Etc/"):
        return name.removeprefix("Etc/")
    return f"{name.rpartition('/')[2].replace('_', ' ')} time"


def duration(seconds: int) -> str:
    """Return ``every 90 seconds`` in the largest unit that fits, without the zone."""
    for unit, size in (("week", 604_800), ("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds % size == 0:
            return every(seconds // size, unit)
    return every(seconds, "second")
