"""BYSETPOS over a week, month or year: which minutes of which days a period keeps."""

from collections.abc import Callable
from typing import Final, NamedTuple

from mainspring.timetable.civil import (
    DAYS,
    MONTH_LENGTH,
    MONTH_OF_DAY,
    MONTH_START,
    bits_of,
)
from mainspring.timetable.recurrence_days import week_begin
from mainspring.timetable.recurrence_text import Parts

_MEMO_MAX: Final = 256


class Kept(NamedTuple):
    """What a period keeps: its days as bits, and the minutes of each of them."""

    days: int
    minutes: dict[int, int]


class Chosen:
    """Chooses by position; periods with the same days in them are chosen from once."""

    __slots__ = ("_last", "_memo", "_minutes", "_named", "_parts")

    def __init__(self, parts: Parts, clock: int, named: Callable[[int], int]) -> None:
        """Choose among the minutes of a day on the days that ``named`` returns for a month."""
        self._parts = parts
        self._minutes = bits_of(clock)
        self._named = named
        self._memo: dict[int, Kept] = {}
        self._last: tuple[int, Kept] = (-1, Kept(0, {}))

    @property
    def is_beyond(self) -> bool:
        """Say whether no period can have as many members as the positions ask for."""
        weekdays = len({day for day, _ in self._parts.by_day})
        days = {"WEEKLY": weekdays, "MONTHLY": 31, "YEARLY": 366}[self._parts.freq]
        return min(map(abs, self._parts.by("BYSETPOS"))) > days * len(self._minutes)

    def times(self, day: int) -> int:
        """Return the minutes of a day that its period keeps."""
        first, length = self.period(day)
        return self.kept(first, length).minutes.get(day - first, 0)

    def month_days(self, month: int) -> int:
        """Return the days of a month on which anything is kept."""
        begin, end = MONTH_START[month], MONTH_START[month] + MONTH_LENGTH[month]
        found, day = 0, begin
        while day < end:
            first, length = self.period(day)
            days = self.kept(first, length).days
            found |= days << (first - begin) if first >= begin else days >> (begin - first)
            day = first + length
        return found & ((1 << (end - begin)) - 1)

    def period(self, day: int) -> tuple[int, int]:
        """Return the first day of the week, month or year around a day, and its length."""
        match self._parts.freq:
            case "WEEKLY":
                return week_begin(day, self._parts.week_start), 7
            case "MONTHLY":
                month = MONTH_OF_DAY[day]
                return MONTH_START[month], MONTH_LENGTH[month]
            case _:
                month = MONTH_OF_DAY[day] // 12 * 12
                return MONTH_START[month], sum(MONTH_LENGTH[month : month + 12])

    def kept(self, first: int, length: int) -> Kept:
        """Return what a period keeps."""
        known, kept = self._last
        if known != first:
            days = self._days(first, length)
            found = self._memo.get(days)
            if found is None:
                if len(self._memo) >= _MEMO_MAX:
                    self._memo.clear()
                found = self._memo[days] = self._chosen(days)
            kept = found
            self._last = (first, kept)
        return kept

    def _days(self, first: int, length: int) -> int:
        """Return the days that the rule names in a period."""
        found, day, end = 0, max(first, 0), min(first + length, DAYS)
        while day < end:
            month = MONTH_OF_DAY[day]
            begin = MONTH_START[month]
            found |= self._named(month) >> (day - begin) << (day - first)
            day = begin + MONTH_LENGTH[month]
        return found & ((1 << length) - 1)

    def _chosen(self, named: int) -> Kept:
        days, per_day = bits_of(named), len(self._minutes)
        size = len(days) * per_day
        minutes: dict[int, int] = {}
        for position in self._parts.by("BYSETPOS"):
            at = position - 1 if position > 0 else size + position
            if 0 <= at < size:
                day, minute = days[at // per_day], self._minutes[at % per_day]
                minutes[day] = minutes.get(day, 0) | 1 << minute
        return Kept(sum(1 << day for day in minutes), minutes)
