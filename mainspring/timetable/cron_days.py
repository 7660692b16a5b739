"""The day fields of a cron expression as bit masks: a month's days, for each kind of month.

There are only 28 kinds of month, so a day specification is at most 28 masks of 31 bits, computed
when first asked for, and a string with a byte for each month from 1970 to 2199.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from mainspring.timetable.civil import (
    BEFORE,
    FIRST_YEAR,
    LAST_YEAR,
    MONTH_KIND,
    MONTH_OF_DAY,
    MONTH_START,
    NEVER,
    WEEKDAY_BITS,
)

_EVERY_DAY: Final = (1 << 31) - 1
_EVERY_WEEKDAY: Final = 127


class MonthDays(NamedTuple):
    """The field *day of month*: plain days as bits (day 1 is bit 0), then ``L`` and ``W``."""

    plain: int = _EVERY_DAY
    #: Days before the last one: ``L`` is 0, ``L-3`` is 3.
    before_last: tuple[int, ...] = ()
    #: ``15W``: the weekday nearest to a day, in the same month.
    nearest: tuple[int, ...] = ()
    last_weekday: bool = False
    #: The field begins with ``*`` or ``?``.
    starred: bool = True


class WeekDays(NamedTuple):
    """The field *day of week*: plain weekdays as bits (Sunday is bit 0), then ``#`` and ``L``."""

    plain: int = _EVERY_WEEKDAY
    #: ``MON#2``: weekday and its number in the month.
    numbered: tuple[tuple[int, int], ...] = ()
    #: ``5L``: the last one of the month.
    last: tuple[int, ...] = ()
    starred: bool = True


class DaySpec:
    """Days on which an expression matches; shared by all expressions with the same day fields."""

    __slots__ = ("_masks", "_months", "every_day", "month_days", "week_days")

    def __init__(
        self, month_days: MonthDays, week_days: WeekDays, months: int, years: int | None
    ) -> None:
        """Take the fields; ``months`` and ``years`` are bits (January, 1970 are bit 0)."""
        self.month_days = month_days
        self.week_days = week_days
        self._masks: list[int | None] = [None] * 28
        self._months = _month_bytes(months, years)
        self.every_day = (
            month_days.plain == _EVERY_DAY
            and week_days.plain == _EVERY_WEEKDAY
            and months == (1 << 12) - 1
            and years is None
        )

    def day_from(self, day: int) -> int:
        """Return the first matching day from this one on, else ``NEVER``."""
        month = MONTH_OF_DAY[day]
        if self._months[month]:
            kind = MONTH_KIND[month]
            mask = self._masks[kind]
            if mask is None:
                mask = self._mask(kind)
            mask >>= day - MONTH_START[month]
            if mask:
                return day + (mask & -mask).bit_length() - 1
        while (month := self._months.find(1, month + 1)) >= 0:
            kind = MONTH_KIND[month]
            mask = self._masks[kind]
            if mask is None:
                mask = self._mask(kind)
            if mask:
                return MONTH_START[month] + (mask & -mask).bit_length() - 1
        return NEVER

    def day_until(self, day: int) -> int:
        """Return the last matching day up to this one, else ``BEFORE``."""
        if day < 0:
            return BEFORE
        month = MONTH_OF_DAY[day]
        if self._months[month]:
            mask = self._mask(MONTH_KIND[month]) & ((2 << (day - MONTH_START[month])) - 1)
            if mask:
                return MONTH_START[month] + mask.bit_length() - 1
        while (month := self._months.rfind(1, 0, month)) >= 0:
            mask = self._mask(MONTH_KIND[month])
            if mask:
                return MONTH_START[month] + mask.bit_length() - 1
        return BEFORE

    def _mask(self, kind: int) -> int:
        found = self._masks[kind]
        if found is None:
            found = self._masks[kind] = self._computed(kind % 7, 28 + kind // 7)
        return found

    def _computed(self, first: int, length: int) -> int:
        """Return the days of a month that begins with a weekday and has a length.

        Both day fields restricted: either matches. One of them begins with a star: both must.
        """
        in_month = _in_month(self.month_days, first, length)
        in_week = _in_week(self.week_days, first, length)
        if self.month_days.starred or self.week_days.starred:
            return in_month & in_week & ((1 << length) - 1)
        return (in_month | in_week) & ((1 << length) - 1)


def _in_month(field: MonthDays, first: int, length: int) -> int:
    mask = field.plain
    for before in field.before_last:
        mask |= 1 << (length - 1 - before) if before < length else 0
    for day in field.nearest:
        if day <= length:
            mask |= 1 << _nearest_weekday(day - 1, first, length)
    if field.last_weekday:
        mask |= 1 << _nearest_weekday(length - 1, first, length)
    return mask


def _nearest_weekday(bit: int, first: int, length: int) -> int:
    weekday = (first + bit) % 7
    if weekday == 6:
        return bit - 1 if bit else bit + 2
    if weekday == 0:
        return bit + 1 if bit + 1 < length else bit - 2
    return bit


def _in_week(field: WeekDays, first: int, length: int) -> int:
    mask = 0
    for weekday in range(7):
        if field.plain >> weekday & 1:
            mask |= WEEKDAY_BITS[first][weekday]
    for weekday, number in field.numbered:
        mask |= 1 << ((weekday - first) % 7 + 7 * (number - 1))
    for weekday in field.last:
        at = (weekday - first) % 7
        mask |= 1 << (at + (length - 1 - at) // 7 * 7)
    return mask


@lru_cache(maxsize=512)
def _month_bytes(months: int, years: int | None) -> bytes:
    every = bytes(months >> month & 1 for month in range(12))
    if years is None:
        return every * (LAST_YEAR - FIRST_YEAR + 1)
    none = bytes(12)
    return b"".join(
        every if years >> year & 1 else none for year in range(LAST_YEAR - FIRST_YEAR + 1)
    )
