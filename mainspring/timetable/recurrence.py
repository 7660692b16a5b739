"""Recurrence rules (RFC 5545) as days and minutes: nothing is walked through from the start.

The days of a month come from bit masks, the minutes of a day too; an interval is arithmetic on the
number of the day, week, month or year. Only ``COUNT`` needs the past: it becomes the last wall
time, once, when the rule is compiled.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from mainspring.domain.errors import NeverFires
from mainspring.timetable.civil import (
    BEFORE,
    DAY,
    DAYS,
    MONTH_KIND,
    MONTH_LENGTH,
    MONTH_OF_DAY,
    MONTH_START,
    MONTHS,
    NEVER,
    WALL_END,
    WEEKDAY_BITS,
    bits_of,
    lowest,
    weekday_of,
)
from mainspring.timetable.recurrence_text import Parts
from mainspring.timetable.walls import SEARCH_DAYS, WallRule

_EVERY_HOUR: Final = (1 << 24) - 1
_HOUR: Final = (1 << 60) - 1


@dataclass(frozen=True, slots=True)
class Extras:
    """RDATE and EXDATE: minutes by day, a bit each, and whole days that are left out."""

    added: Mapping[int, int] = field(default_factory=dict)
    left_out: Mapping[int, int] = field(default_factory=dict)


class Recurrence(WallRule):
    """A compiled rule that begins at a wall time, the DTSTART of the RFC."""

    __slots__ = (
        "_added",
        "_chosen",
        "_clock",
        "_days_memo",
        "_extras",
        "_filter",
        "_hours",
        "_minutes",
        "_start",
        "_start_day",
        "_until",
        "parts",
    )

    def __init__(self, parts: Parts, start: int, until: int | None, extras: Extras) -> None:
        """Compile the parts; ``until`` is the last wall time that may match."""
        self.parts: Final = _with_defaults(parts, start)
        self.seconds = 1
        self._start = start
        self._start_day = start // DAY
        self._until = WALL_END if until is None else until
        self._extras = extras
        self._added = sorted(extras.added)
        self._days_memo: tuple[int, int] = (-1, 0)
        self._hours = _bits(self.parts.by("BYHOUR")) or _EVERY_HOUR
        self._minutes = _bits(self.parts.by("BYMINUTE")) or _HOUR
        if self.parts.freq == "HOURLY" and self.parts.by("BYSETPOS"):
            self._minutes = _at_positions(self._minutes, self.parts.by("BYSETPOS"))
        self._filter = self._minutes * sum(1 << 60 * hour for hour in bits_of(self._hours))
        self._clock = self._filter
        if self.parts.freq == "DAILY" and self.parts.by("BYSETPOS"):
            self._clock = _at_positions(self._filter, self.parts.by("BYSETPOS"))
        self._chosen = _Chosen(self) if self._needs_choice() else None
        is_beat = self.parts.freq == "HOURLY" and self.parts.interval == 1
        is_beat |= self.parts.freq == "MINUTELY" and 60 % self.parts.interval == 0
        self.every_hour = self.cadence = is_beat and not parts.by("BYHOUR")
        if parts.count:
            self._until = min(self._until, self._last_of(parts.count))

    def _needs_choice(self) -> bool:
        return bool(self.parts.by("BYSETPOS")) and self.parts.freq in {
            "WEEKLY",
            "MONTHLY",
            "YEARLY",
        }

    @property
    def begins(self) -> int:
        """Return a wall time that nothing of the rule lies before."""
        return min([self._start, *(day * DAY for day in self._added[:1])])

    def __repr__(self) -> str:
        return f"Recurrence({self.parts!r})"

    def clock(self) -> int:
        added = 0
        for bits in self._extras.added.values():
            added |= bits
        return self._clock | added

    # --- the searches of a rule -------------------------------------------------

    def day_from(self, day: int) -> int:
        added = next((extra for extra in self._added if extra >= day), NEVER)
        return min(self._rule_day_from(max(day, self._start_day)), added)

    def day_until(self, day: int) -> int:
        added = next((extra for extra in reversed(self._added) if extra <= day), BEFORE)
        return max(self._rule_day_until(min(day, self._until // DAY)), added)

    def times(self, day: int) -> int:
        bits = self._rule_times(day) | self._extras.added.get(day, 0)
        return bits & ~self._extras.left_out.get(day, 0)

    def _rule_day_from(self, day: int) -> int:
        last = min(self._until // DAY, day + SEARCH_DAYS)
        if day > last or day >= DAYS:
            return NEVER
        month = MONTH_OF_DAY[day]
        bits = self.month_days(month) >> (day - MONTH_START[month])
        if bits:
            found = day + lowest(bits)
            return found if found <= last else NEVER
        for later in range(month + 1, MONTHS):
            if MONTH_START[later] > last:
                return NEVER
            if bits := self.month_days(later):
                found = MONTH_START[later] + lowest(bits)
                return found if found <= last else NEVER
        return NEVER

    def _rule_day_until(self, day: int) -> int:
        first = max(self._start_day, day - SEARCH_DAYS)
        if day < first:
            return BEFORE
        month = MONTH_OF_DAY[min(day, DAYS - 1)]
        bits = self.month_days(month) & ((2 << (day - MONTH_START[month])) - 1)
        while not bits and month and MONTH_START[month] > first:
            month -= 1
            bits = self.month_days(month)
        found = MONTH_START[month] + bits.bit_length() - 1 if bits else BEFORE
        return found if found >= first else BEFORE

    def _rule_times(self, day: int) -> int:
        """Return the minutes of a day by the rule alone, within its start and end."""
        month = MONTH_OF_DAY[day]
        if not self.month_days(month) >> (day - MONTH_START[month]) & 1:
            return 0
        bits = self._chosen.times(day) if self._chosen else self.period_times(day)
        if day <= self._start_day:
            bits = bits >> self._start % DAY // 60 << self._start % DAY // 60
            bits = bits if day == self._start_day else 0
        if day >= self._until // DAY:
            bits &= (2 << self._until % DAY // 60) - 1
            bits = bits if day == self._until // DAY else 0
        return bits

    def period_times(self, day: int) -> int:
        """Return the minutes of a day by the hours and minutes of the rule, BYSETPOS left out."""
        interval = self.parts.interval
        if self.parts.freq == "HOURLY" and interval > 1:
            hours = _stride(self._start // 3600 - day * 24, interval, 24) & self._hours
            return self._minutes * sum(1 << 60 * hour for hour in bits_of(hours))
        if self.parts.freq == "MINUTELY" and interval > 1:
            return _stride(self._start // 60 - day * 1440, interval, 1440) & self._filter
        return self._clock

    # --- days -------------------------------------------------------------------

    def month_days(self, month: int) -> int:
        """Return the days of a month by the rule, a bit each; the first day is bit 0."""
        known, bits = self._days_memo
        if known != month:
            bits = self._month_days(month)
            self._days_memo = (month, bits)
        return bits

    def _month_days(self, month: int) -> int:
        parts = self.parts
        months = parts.by("BYMONTH")
        if months and month % 12 + 1 not in months:
            return 0
        if not self._in_interval(month):
            return 0
        length = MONTH_LENGTH[month]
        bits = (1 << length) - 1
        if parts.by("BYMONTHDAY"):
            bits &= _counted(parts.by("BYMONTHDAY"), length)
        if parts.by_day:
            bits &= _weekdays(parts, month)
        if bits and parts.by("BYYEARDAY"):
            bits &= _year_days(parts.by("BYYEARDAY"), month)
        if bits and parts.by("BYWEEKNO"):
            bits &= _numbered_weeks(parts, month)
        if bits and parts.interval > 1:
            bits &= self._stepped(month)
        return bits

    def _in_interval(self, month: int) -> bool:
        begins = MONTH_OF_DAY[self._start_day]
        if self.parts.freq == "YEARLY":
            return (month // 12 - begins // 12) % self.parts.interval == 0
        if self.parts.freq == "MONTHLY":
            return (month - begins) % self.parts.interval == 0
        return True

    def _stepped(self, month: int) -> int:
        """Return the days of a month that an interval of days or weeks meets."""
        first = MONTH_START[month]
        if self.parts.freq == "DAILY":
            return _stride(self._start_day - first, self.parts.interval, 31)
        if self.parts.freq != "WEEKLY":
            return (1 << 31) - 1
        week = _week_begin(self._start_day, self.parts.week_start)
        cycle = 7 * self.parts.interval
        found = 0
        for shift in range(7):
            found |= _stride(week + shift - first, cycle, 31)
        return found

    def _last_of(self, count: int) -> int:
        """Return the wall time of the last fire that COUNT allows, else the end of time."""
        day = self._rule_day_from(self._start_day)
        while day < NEVER:
            bits = self._rule_times(day)
            if bits.bit_count() >= count:
                for _ in range(count - 1):
                    bits &= bits - 1
                return day * DAY + lowest(bits) * 60
            count -= bits.bit_count()
            day = self._rule_day_from(day + 1)
        return WALL_END


class _Chosen:
    """BYSETPOS over a week, month or year: which minutes of which days a period keeps."""

    __slots__ = ("_memo", "_rule")

    def __init__(self, rule: Recurrence) -> None:
        """Choose among the days and minutes of a rule."""
        self._rule = rule
        self._memo: tuple[int, dict[int, int]] = (-1, {})

    def times(self, day: int) -> int:
        """Return the minutes of a day that its period keeps."""
        first, days = self._period(day)
        known, kept = self._memo
        if known != first:
            kept = self._kept(first, days)
            self._memo = (first, kept)
        return kept.get(day, 0)

    def _period(self, day: int) -> tuple[int, int]:
        """Return the first day of the week, month or year around a day, and its length."""
        match self._rule.parts.freq:
            case "WEEKLY":
                return _week_begin(day, self._rule.parts.week_start), 7
            case "MONTHLY":
                month = MONTH_OF_DAY[day]
                return MONTH_START[month], MONTH_LENGTH[month]
            case _:
                month = MONTH_OF_DAY[day] // 12 * 12
                return MONTH_START[month], sum(MONTH_LENGTH[month : month + 12])

    def _kept(self, first: int, length: int) -> dict[int, int]:
        days = [day for day in range(max(first, 0), min(first + length, DAYS)) if self._has(day)]
        minutes = bits_of(self._rule.period_times(first))
        size = len(days) * len(minutes)
        kept: dict[int, int] = {}
        for position in self._rule.parts.by("BYSETPOS"):
            at = position - 1 if position > 0 else size + position
            if 0 <= at < size:
                day, minute = days[at // len(minutes)], minutes[at % len(minutes)]
                kept[day] = kept.get(day, 0) | 1 << minute
        return kept

    def _has(self, day: int) -> bool:
        month = MONTH_OF_DAY[day]
        return bool(self._rule.month_days(month) >> (day - MONTH_START[month]) & 1)


def _with_defaults(parts: Parts, start: int) -> Parts:
    """Return the parts with what the RFC takes from the start where the rule is silent."""
    lists = dict(parts.lists)
    day = start // DAY
    month = MONTH_OF_DAY[day]
    names_days = any(name in lists for name in ("BYMONTHDAY", "BYYEARDAY", "BYWEEKNO"))
    by_day = parts.by_day
    if not names_days and not by_day:
        if parts.freq in {"YEARLY", "MONTHLY"}:
            lists["BYMONTHDAY"] = (day - MONTH_START[month] + 1,)
        if parts.freq == "YEARLY" and "BYMONTH" not in lists:
            lists["BYMONTH"] = (month % 12 + 1,)
        if parts.freq == "WEEKLY":
            by_day = ((weekday_of(day), 0),)
    if "BYHOUR" not in lists and parts.freq not in {"HOURLY", "MINUTELY"}:
        lists["BYHOUR"] = (start % DAY // 3600,)
    if "BYMINUTE" not in lists and parts.freq != "MINUTELY":
        lists["BYMINUTE"] = (start % 3600 // 60,)
    return Parts(
        freq=parts.freq,
        interval=parts.interval,
        count=parts.count,
        until=parts.until,
        until_is_utc=parts.until_is_utc,
        week_start=parts.week_start,
        by_day=by_day,
        lists=lists,
    )


def _bits(numbers: tuple[int, ...]) -> int:
    return sum(1 << number for number in numbers)


def _at_positions(bits: int, positions: tuple[int, ...]) -> int:
    """Return the bits at these positions of a set, from 1, negative ones from its end."""
    members = bits_of(bits)
    found = 0
    for position in positions:
        at = position - 1 if position > 0 else len(members) + position
        if 0 <= at < len(members):
            found |= 1 << members[at]
    return found


@lru_cache(maxsize=1024)
def _comb(interval: int, length: int) -> int:
    """Return a bit at every multiple of the interval, over twice the length."""
    return sum(1 << at for at in range(0, 2 * length, interval))


def _stride(phase: int, interval: int, length: int) -> int:
    """Return the bits below a length that lie a multiple of the interval from the phase."""
    phase %= interval
    if phase >= length:
        return 0
    return _comb(interval, length) << phase & ((1 << length) - 1)


def _week_begin(day: int, week_start: int) -> int:
    return day - (weekday_of(day) - week_start) % 7


def _counted(numbers: tuple[int, ...], length: int) -> int:
    """Return days of a month or year by number, negative ones from its end."""
    found = 0
    for number in numbers:
        at = number - 1 if number > 0 else length + number
        if 0 <= at < length:
            found |= 1 << at
    return found


def _weekdays(parts: Parts, month: int) -> int:
    """Return the days of a month that BYDAY names; numbers count in the month, or in the year."""
    first = MONTH_KIND[month] % 7
    in_year = parts.freq == "YEARLY" and not parts.by("BYMONTH")
    found = 0
    for weekday, number in parts.by_day:
        if not number:
            found |= WEEKDAY_BITS[first][weekday]
        elif in_year:
            found |= _numbered_in_year(weekday, number, month)
        else:
            days = bits_of(WEEKDAY_BITS[first][weekday] & ((1 << MONTH_LENGTH[month]) - 1))
            at = number - 1 if number > 0 else len(days) + number
            found |= 1 << days[at] if 0 <= at < len(days) else 0
    return found


def _numbered_in_year(weekday: int, number: int, month: int) -> int:
    january = MONTH_START[month // 12 * 12]
    end = january + _year_length(month)
    if number > 0:
        day = january + (weekday - weekday_of(january)) % 7 + 7 * (number - 1)
    else:
        day = end - 1 - (weekday_of(end - 1) - weekday) % 7 + 7 * (number + 1)
    at = day - MONTH_START[month]
    return 1 << at if january <= day < end and 0 <= at < MONTH_LENGTH[month] else 0


def _year_length(month: int) -> int:
    january = month // 12 * 12
    return sum(MONTH_LENGTH[january : january + 12])


def _year_days(numbers: tuple[int, ...], month: int) -> int:
    before = MONTH_START[month] - MONTH_START[month // 12 * 12]
    in_year = _counted(numbers, _year_length(month))
    return in_year >> before & ((1 << MONTH_LENGTH[month]) - 1)


def _numbered_weeks(parts: Parts, month: int) -> int:
    """Return the days of a month in weeks of BYWEEKNO; four days decide a week's year."""
    found = 0
    for at in range(MONTH_LENGTH[month]):
        week = _week_begin(MONTH_START[month] + at, parts.week_start)
        # The fourth day decides to which year the week belongs.
        january = MONTH_START[MONTH_OF_DAY[min(max(week + 3, 0), DAYS - 1)] // 12 * 12]
        number = (week + 3 - january) // 7 + 1
        weeks = _weeks_of(january, parts.week_start)
        if number in parts.by("BYWEEKNO") or number - weeks - 1 in parts.by("BYWEEKNO"):
            found |= 1 << at
    return found


def _weeks_of(january: int, week_start: int) -> int:
    """Return how many weeks a year has, 52 or 53."""
    length = _year_length(MONTH_OF_DAY[january])
    last_fourth = _week_begin(january + length - 1, week_start) + 3
    if last_fourth >= january + length:
        last_fourth -= 7
    return (last_fourth - january) // 7 + 1


def check_fires(rule: Recurrence, text: str) -> None:
    """Refuse a rule that has no wall time at all within the search."""
    if rule.next_wall(rule.begins) == NEVER:
        raise NeverFires(
            "rrule: the rule never fires",
            hint="the parts contradict each other, or its end lies before its first fire",
            details={"field": "rrule", "token": text[:64], "reason": "no_such_date"},
        )
