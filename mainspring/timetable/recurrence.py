"""Recurrence rules (RFC 5545) as days and minutes: nothing is walked through from the start.

The days of a month come from bit masks, the minutes of a day too; an interval is arithmetic on the
number of the day, week, month or year. Only ``COUNT`` needs the past: it becomes the last wall
time, once, when the rule is compiled.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mainspring.domain.errors import NeverFires
from mainspring.domain.limits import SEARCH_DAYS_MAX
from mainspring.timetable.civil import (
    BEFORE,
    DAY,
    DAYS,
    MONTH_LENGTH,
    MONTH_OF_DAY,
    MONTH_START,
    MONTHS,
    NEVER,
    WALL_END,
    bits_of,
    lowest,
    weekday_of,
)
from mainspring.timetable.recurrence_choice import Chosen
from mainspring.timetable.recurrence_days import named_days, week_begin
from mainspring.timetable.recurrence_text import Parts
from mainspring.timetable.recurrence_ticks import Ticks, stride
from mainspring.timetable.refusals import Refusal
from mainspring.timetable.walls import SEARCH_DAYS, Remembering, shortest_of

_EVERY_HOUR: Final = (1 << 24) - 1
_HOUR: Final = (1 << 60) - 1
#: Frequencies whose interval goes over midnight.
_TICKING: Final = ("HOURLY", "MINUTELY")
#: Frequencies whose BYSETPOS chooses among several days.
_CHOOSING: Final = ("WEEKLY", "MONTHLY", "YEARLY")


@dataclass(frozen=True, slots=True)
class Extras:
    """RDATE and EXDATE: minutes by day, a bit each, and whole days that are left out."""

    added: Mapping[int, int] = field(default_factory=dict)
    left_out: Mapping[int, int] = field(default_factory=dict)


class Recurrence(Remembering):
    """A compiled rule that begins at a wall time, the DTSTART of the RFC."""

    __slots__ = (
        "_added",
        "_chosen",
        "_clock",
        "_days_memo",
        "_extras",
        "_start",
        "_start_day",
        "_ticks",
        "_until",
        "parts",
    )

    def __init__(self, parts: Parts, start: int, until: int | None, extras: Extras) -> None:
        """Compile the parts; ``until`` is the last wall time that may match."""
        super().__init__()
        self.parts: Final = _with_defaults(parts, start)
        self.seconds = 1
        self._start = start
        self._start_day = start // DAY
        self._until = WALL_END if until is None else until
        self._extras = extras
        self._added = sorted(extras.added)
        self._days_memo: tuple[int, int] = (-1, 0)
        hours = _bits(self.parts.by("BYHOUR")) or _EVERY_HOUR
        minutes = _bits(self.parts.by("BYMINUTE")) or _HOUR
        positions = self.parts.by("BYSETPOS")
        if self.parts.freq == "HOURLY" and positions:
            minutes = _at_positions(minutes, positions)
        self._clock = minutes * sum(1 << 60 * hour for hour in bits_of(hours))
        if self.parts.freq == "DAILY" and positions:
            self._clock = _at_positions(self._clock, positions)
        is_choice = positions and self.parts.freq in _CHOOSING
        self._chosen = Chosen(self.parts, self._clock, self._named_days) if is_choice else None
        is_ticking = self.parts.freq in _TICKING and self.parts.interval > 1
        self._ticks = Ticks(self.parts, start, hours, minutes) if is_ticking else None
        is_beat = self.parts.freq == "HOURLY" and self.parts.interval == 1
        is_beat |= self.parts.freq == "MINUTELY" and 60 % self.parts.interval == 0
        self.every_hour = self.cadence = is_beat and not parts.by("BYHOUR")
        if self._is_hopeless():
            self._until = BEFORE
        elif parts.count:
            self._until = min(self._until, self._last_of(parts.count))

    def _is_hopeless(self) -> bool:
        """Say whether the rule can never match: known without a search, however rare it is."""
        if self._chosen:
            return self._chosen.is_beyond
        return not self._clock or (self._ticks is not None and not self._ticks.density())

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

    def shortest_seconds(self) -> int:
        if self._ticks:
            shortest = self._ticks.shortest_seconds()
        else:
            shortest = shortest_of(self._clock, 1) if self._clock else NEVER
        for day, bits in self._extras.added.items():
            for minute in bits_of(bits):
                wall = day * DAY + minute * 60
                shortest = min(shortest, self.next_wall(wall + 1) - wall)
                before = self.previous_wall(wall - 1)
                shortest = min(shortest, wall - before if before > BEFORE else NEVER)
        return shortest

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
        bits = self._day_times(day)
        if day <= self._start_day:
            bits = bits >> self._start % DAY // 60 << self._start % DAY // 60
            bits = bits if day == self._start_day else 0
        if day >= self._until // DAY:
            bits &= (2 << self._until % DAY // 60) - 1
            bits = bits if day == self._until // DAY else 0
        return bits

    def _day_times(self, day: int) -> int:
        """Return the minutes of a day that the rule names, its start and end left out."""
        if self._chosen:
            return self._chosen.times(day)
        return self._ticks.times(day) if self._ticks else self._clock

    # --- days -------------------------------------------------------------------

    def month_days(self, month: int) -> int:
        """Return the days of a month by the rule, a bit each; the first day is bit 0."""
        known, bits = self._days_memo
        if known != month:
            chosen = self._chosen
            bits = chosen.month_days(month) if chosen else self._named_days(month)
            self._days_memo = (month, bits)
        return bits

    def _named_days(self, month: int) -> int:
        if not self._in_interval(month):
            return 0
        bits = named_days(self.parts, month)
        return bits & self._stepped(month) if bits and self.parts.interval > 1 else bits

    def _in_interval(self, month: int) -> bool:
        begins = MONTH_OF_DAY[self._start_day]
        if self.parts.freq == "YEARLY":
            return (month // 12 - begins // 12) % self.parts.interval == 0
        if self.parts.freq == "MONTHLY":
            return (month - begins) % self.parts.interval == 0
        return True

    def _stepped(self, month: int) -> int:
        """Return the days of a month that an interval of less than a month meets."""
        first = MONTH_START[month]
        if self._ticks:
            return self._ticks.month_days(month)
        if self.parts.freq == "DAILY":
            return stride(self._start_day - first, self.parts.interval, 31)
        if self.parts.freq != "WEEKLY":
            return (1 << 31) - 1
        week = week_begin(self._start_day, self.parts.week_start)
        cycle = 7 * self.parts.interval
        found = 0
        for shift in range(7):
            found |= stride(week + shift - first, cycle, 31)
        return found

    # --- COUNT ------------------------------------------------------------------

    def _last_of(self, count: int) -> int:
        """Return the wall time of the last fire that COUNT allows, else the end of time."""
        ticks = self._ticks
        if ticks:
            last = ticks.last_of(count, self._start)
            if last == WALL_END or (ticks.density() == 1 and not self._leaves_days_out()):
                return last
        if ticks and count > SEARCH_DAYS_MAX * ticks.fires_per_day():
            hint = "use UNTIL, or leave the other parts out"
            raise Refusal(0, "COUNT", "COUNT goes too far to be counted", hint)
        day = self._start_day
        while day < DAYS:
            month = MONTH_OF_DAY[day]
            whole = self._month_count(month) if day > self._start_day else count
            if whole >= count:
                found, count = self._last_in(day, count)
                if not count:
                    return found
            else:
                count -= whole
            day = MONTH_START[month] + MONTH_LENGTH[month]
        return WALL_END

    def _leaves_days_out(self) -> bool:
        return bool(self.parts.by_day or self.parts.by("BYMONTH") or self.parts.by("BYMONTHDAY"))

    def _month_count(self, month: int) -> int:
        """Return how many wall times a month has that lies after the start."""
        days = self.month_days(month)
        if not self._chosen and not self._ticks:
            return days.bit_count() * self._clock.bit_count()
        first = MONTH_START[month]
        return sum(self._day_times(first + at).bit_count() for at in bits_of(days))

    def _last_in(self, day: int, count: int) -> tuple[int, int]:
        """Count through the rest of a month; return the last wall time, and what is left."""
        month = MONTH_OF_DAY[day]
        for at in bits_of(self.month_days(month)):
            bits = self._rule_times(MONTH_START[month] + at)
            if bits.bit_count() >= count:
                for _ in range(count - 1):
                    bits &= bits - 1
                return (MONTH_START[month] + at) * DAY + lowest(bits) * 60, 0
            count -= bits.bit_count()
        return WALL_END, count


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


def check_fires(rule: Recurrence, text: str) -> None:
    """Refuse a rule that has no wall time at all within the search."""
    if rule.next_wall(rule.begins) == NEVER:
        raise NeverFires(
            "rrule: the rule never fires",
            hint="the parts contradict each other, or its end lies before its first fire",
            details={
                "field": "rrule",
                "position": 0,
                "token": text[:64],
                "reason": "no_such_date",
            },
        )
