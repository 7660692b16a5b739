"""Which days of a month a recurrence rule names: masks, a bit a day, the first day is bit 0.

What is counted in the year is computed once for each kind of year: there are fourteen.
"""

from functools import lru_cache
from typing import Final

from mainspring.timetable.civil import (
    MONTH_KIND,
    MONTH_LENGTH,
    MONTH_START,
    MONTHS,
    weekday_of,
)
from mainspring.timetable.recurrence_text import Parts

_YEAR_KINDS: Final = 1024


def named_days(parts: Parts, month: int) -> int:
    """Return the days of a month that the rule names; its interval is left out of account."""
    months = parts.by("BYMONTH")
    if months and month % 12 + 1 not in months:
        return 0
    length = MONTH_LENGTH[month]
    bits = (1 << length) - 1
    if parts.by("BYMONTHDAY"):
        bits &= _counted(parts.by("BYMONTHDAY"), length)
    if bits and parts.by("BYYEARDAY"):
        bits &= _of_year(_counted(parts.by("BYYEARDAY"), _year_length(month)), month)
    if bits and parts.by_day:
        bits &= _weekdays(parts, month)
    if bits and parts.by("BYWEEKNO"):
        bits &= _numbered_weeks(parts, month)
    return bits


@lru_cache(maxsize=1024)
def _counted(numbers: tuple[int, ...], length: int) -> int:
    """Return days of a month or year by number, negative ones from its end."""
    found = 0
    for number in numbers:
        at = number - 1 if number > 0 else length + number
        if 0 <= at < length:
            found |= 1 << at
    return found


def _of_year(days: int, month: int) -> int:
    """Return the part of a year's days that lies in a month."""
    before = MONTH_START[month] - MONTH_START[month // 12 * 12]
    return days >> before & ((1 << MONTH_LENGTH[month]) - 1)


def _weekdays(parts: Parts, month: int) -> int:
    """Return the days of a month that BYDAY names; numbers count in the month, or in the year."""
    if parts.freq == "YEARLY" and not parts.by("BYMONTH"):
        january = weekday_of(MONTH_START[month // 12 * 12])
        return _of_year(_weekdays_in(parts.by_day, january, _year_length(month)), month)
    return _weekdays_in(parts.by_day, MONTH_KIND[month] % 7, MONTH_LENGTH[month])


@lru_cache(maxsize=_YEAR_KINDS)
def _weekdays_in(by_day: tuple[tuple[int, int], ...], first: int, length: int) -> int:
    """Return the days of a period that BYDAY names; the period begins with a weekday."""
    found = 0
    for weekday, number in by_day:
        days = range((weekday - first) % 7, length, 7)
        if not number:
            found |= sum(1 << day for day in days)
            continue
        at = number - 1 if number > 0 else len(days) + number
        found |= 1 << days[at] if 0 <= at < len(days) else 0
    return found


def _year_length(month: int) -> int:
    """Return the days of the year of a month; what lies outside the table has no leap day."""
    january = month // 12 * 12
    if not 0 <= january < MONTHS:
        return 365
    return sum(MONTH_LENGTH[january : january + 12])


def _numbered_weeks(parts: Parts, month: int) -> int:
    """Return the days of a month in weeks of BYWEEKNO."""
    lengths = tuple(_year_length(month + months) for months in (-12, 0, 12))
    january = weekday_of(MONTH_START[month // 12 * 12])
    # A weekday that is counted from the first day of weeks makes every week begin with 0.
    first = (january - parts.week_start) % 7
    return _of_year(_weeks_in(parts.by("BYWEEKNO"), first, lengths), month)


@lru_cache(maxsize=_YEAR_KINDS)
def _weeks_in(numbers: tuple[int, ...], first: int, lengths: tuple[int, ...]) -> int:
    """Return the days of a year in these weeks; ``lengths`` are those of the years around it."""
    before, length, after = lengths
    found = 0
    for week in range(-first, length, 7):
        # The fourth day decides to which year a week belongs.
        if week + 3 < 0:
            number = weeks = _weeks_of(first - before, before)
        elif week + 3 >= length:
            number, weeks = 1, _weeks_of(first + length, after)
        else:
            number, weeks = (week + first) // 7 + (first <= 3), _weeks_of(first, length)
        if number in numbers or number - weeks - 1 in numbers:
            found |= 127 << week if week >= 0 else 127 >> -week
    return found & ((1 << length) - 1)


def _weeks_of(first: int, length: int) -> int:
    """Return how many weeks a year has, 52 or 53: that of its first days, and of its length."""
    first %= 7
    begins = -first if first <= 3 else 7 - first
    return (length - 1 - (begins + 3)) // 7 + 1


def week_begin(day: int, week_start: int) -> int:
    """Return the first day of the week around a day."""
    return day - (weekday_of(day) - week_start) % 7
