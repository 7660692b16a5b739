"""``HOURLY`` and ``MINUTELY`` rules with an interval: ticks that go over midnight.

A day's minutes depend on nothing but where the ticks enter it, so they are computed once for each
place. How dense the rule's fires are on the ticks follows from residues: a rule whose ticks never
meet its hours is known at once, and so is one whose ``COUNT`` would take a lifetime to count.
"""

from functools import lru_cache
from itertools import pairwise
from math import gcd
from typing import Final

from mainspring.timetable.civil import MONTH_LENGTH, MONTH_START, WALL_END, bits_of
from mainspring.timetable.recurrence_text import Parts

_DAY_MINUTES: Final = 1440
_WEEK_MINUTES: Final = 7 * _DAY_MINUTES
#: The first of January 1970 was a Thursday; weekdays begin with Sunday.
_EPOCH_WEEKDAY: Final = 4
_MEMO_MAX: Final = 2048


class Ticks:
    """Ticks from a wall time on, and the minutes that a rule's hours and minutes keep of them."""

    __slots__ = ("_begin", "_hours", "_is_hourly", "_memo", "_minutes", "_parts", "_period")

    def __init__(self, parts: Parts, start: int, hours: int, minutes: int) -> None:
        """Take the hours and minutes that the rule allows as bits."""
        self._parts = parts
        self._is_hourly = parts.freq == "HOURLY"
        self._period = parts.interval * (60 if self._is_hourly else 1)
        self._begin = start // 3600 * 60 if self._is_hourly else start // 60
        self._hours = hours
        self._minutes = minutes
        self._memo: dict[int, int] = {}

    @property
    def period_seconds(self) -> int:
        """Return the time from one tick to the next."""
        return self._period * 60

    def times(self, day: int) -> int:
        """Return the minutes of a day that the rule keeps."""
        enters = (self._begin - day * _DAY_MINUTES) % self._period
        found = self._memo.get(enters)
        if found is None:
            if len(self._memo) >= _MEMO_MAX:
                self._memo.clear()
            found = self._memo[enters] = self._times(enters)
        return found

    def _times(self, enters: int) -> int:
        if self._is_hourly:
            hours = stride(enters // 60, self._parts.interval, 24) & self._hours
            return self._minutes * _spread(hours)
        return stride(enters, self._period, _DAY_MINUTES) & (self._minutes * _spread(self._hours))

    def month_days(self, month: int) -> int:
        """Return the days of a month that a tick lies in."""
        length = MONTH_LENGTH[month]
        if self._period <= _DAY_MINUTES:
            return (1 << length) - 1
        first = MONTH_START[month] * _DAY_MINUTES
        found = 0
        for tick in range((self._begin - first) % self._period, length * 1440, self._period):
            found |= 1 << tick // _DAY_MINUTES
        return found

    def density(self) -> float:
        """Return the share of the ticks that hours, minutes and weekdays let through."""
        of_day = _spread(self._hours) * (1 if self._is_hourly else self._minutes)
        weekdays = {day for day, _ in self._parts.by_day} or range(7)
        allowed = sum(of_day << day * _DAY_MINUTES for day in weekdays)
        step = gcd(self._period, _WEEK_MINUTES)
        met = stride(self._begin + _EPOCH_WEEKDAY * _DAY_MINUTES, step, _WEEK_MINUTES)
        return (allowed & met).bit_count() * step / _WEEK_MINUTES

    def fires_per_day(self) -> float:
        """Return how many fires a day has on average, days that the rule leaves out counted in."""
        per_tick = self._minutes.bit_count() if self._is_hourly else 1
        return self.density() * per_tick * _DAY_MINUTES / self._period

    def last_of(self, count: int, start: int) -> int:
        """Return the wall time of the last of so many fires, where no tick is left out."""
        minutes = bits_of(self._minutes) if self._is_hourly else [0]
        late = sum(1 for minute in minutes if self._is_hourly and minute < start // 60 % 60)
        tick, at = divmod(late + count - 1, len(minutes))
        found = (self._begin + tick * self._period + minutes[at]) * 60
        return min(found, WALL_END)

    def shortest_seconds(self) -> int:
        """Return how close two fires can be."""
        minutes = bits_of(self._minutes) if self._is_hourly else [0]
        found = [b - a for a, b in pairwise(minutes)]
        return 60 * min([*found, self._period - (minutes[-1] - minutes[0])])


@lru_cache(maxsize=1024)
def _comb(interval: int, length: int) -> int:
    """Return a bit at every multiple of the interval, over twice the length."""
    return sum(1 << at for at in range(0, 2 * length, interval))


def stride(phase: int, interval: int, length: int) -> int:
    """Return the bits below a length that lie a multiple of the interval from the phase."""
    phase %= interval
    if phase >= length:
        return 0
    return _comb(interval, length) << phase & ((1 << length) - 1)


@lru_cache(maxsize=1024)
def _spread(hours: int) -> int:
    return sum(1 << 60 * hour for hour in bits_of(hours))
