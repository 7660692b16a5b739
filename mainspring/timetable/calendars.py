"""Calendars: named sets of days and hours that a schedule leaves out, or keeps to.

A calendar is judged on the nominal local date. What it takes away is dropped, or moved to the next
or the previous business day, at the same time of day. A business day is one of the calendar's
weekdays on which nothing is taken away; a move goes over 31 days at most.
"""

from bisect import bisect_right
from typing import Final, NamedTuple

from mainspring.domain.limits import SEARCH_DAYS_MAX
from mainspring.timetable.civil import (
    BEFORE,
    DAY,
    DAYS,
    FULL_CLOCK,
    MONTH_OF_DAY,
    MONTH_START,
    NEVER,
    WALL_END,
    lowest,
    weekday_of,
)
from mainspring.timetable.clocked import Nominal, Source
from mainspring.timetable.dates import WallDates
from mainspring.timetable.walls import KNOWN_SECONDS, Remembering, WallRule

SKIP: Final = "skip"
NEXT: Final = "next_business_day"
PREVIOUS: Final = "previous_business_day"
#: How far a fire is moved at most, in days.
REACH_DAYS: Final = 31
_MEMO_MAX: Final = 4096


class Calendar:
    """A compiled calendar: the minutes of a day that belong to it."""

    __slots__ = (
        "_annual",
        "_days",
        "_memo",
        "_rules",
        "_spans",
        "_weekdays",
        "business_days",
        "name",
    )

    def __init__(self, name: str, business_days: int) -> None:
        """Begin empty; ``business_days`` are weekdays as bits, Sunday is bit 0."""
        self.name: Final = name
        self.business_days: Final = business_days
        self._days: set[int] = set()
        self._annual: set[tuple[int, int]] = set()
        self._spans: list[tuple[int, int]] = []
        self._weekdays = 0
        self._rules: list[WallRule] = []
        self._memo: dict[int, int] = {}

    def add_day(self, day: int) -> None:
        """Add one day."""
        self._days.add(day)

    def add_annual(self, month: int, day: int) -> None:
        """Add a date of every year."""
        self._annual.add((month, day))

    def add_span(self, first: int, end: int) -> None:
        """Add the wall times from the first to before the end."""
        self._spans = _merged([*self._spans, (first, end)])

    def add_weekdays(self, weekdays: int) -> None:
        """Add weekdays, Sunday is bit 0."""
        self._weekdays |= weekdays

    @property
    def rules(self) -> int:
        """Return how many rules it has."""
        return len(self._rules)

    def add_rule(self, rule: WallRule) -> None:
        """Add every day on which a rule fires."""
        self._rules.append(rule)

    def minutes(self, day: int) -> int:
        """Return the minutes of a day that belong to the calendar."""
        found = self._memo.get(day)
        if found is None:
            if len(self._memo) >= _MEMO_MAX:
                self._memo.clear()
            found = self._memo[day] = self._computed(day)
        return found

    def _computed(self, day: int) -> int:
        month = MONTH_OF_DAY[day]
        if (
            day in self._days
            or self._weekdays >> weekday_of(day) & 1
            or (month % 12 + 1, day - MONTH_START[month] + 1) in self._annual
            or any(rule.times(day) for rule in self._rules)
        ):
            return FULL_CLOCK
        return self._in_spans(day * DAY)

    def _in_spans(self, midnight: int) -> int:
        found = 0
        at = bisect_right(self._spans, (midnight, midnight)) - 1
        for first, end in self._spans[max(at, 0) :]:
            if first >= midnight + DAY:
                break
            low = min(max(first - midnight, 0), DAY) // 60
            high = -(-min(max(end - midnight, 0), DAY) // 60)
            found |= (1 << high) - (1 << low) if high > low else 0
        return found


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for first, end in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((first, end))
    return found


class Heeding(NamedTuple):
    """What a schedule makes of its calendars."""

    excluded: tuple[Calendar, ...]
    included: tuple[Calendar, ...]
    then: str = SKIP

    def taken(self, day: int) -> int:
        """Return the minutes of a day that the calendars take away."""
        found = 0
        for calendar in self.excluded:
            found |= calendar.minutes(day)
        if self.included:
            kept = 0
            for calendar in self.included:
                kept |= calendar.minutes(day)
            found |= FULL_CLOCK & ~kept
        return found

    def is_business(self, day: int) -> bool:
        """Say whether fires may be moved to a day."""
        weekdays = 127
        for calendar in (*self.excluded, *self.included):
            weekdays &= calendar.business_days
        return bool(weekdays >> weekday_of(day) & 1) and not self.taken(day)

    def target(self, day: int) -> int:
        """Return the business day that a day's fires move to, else ``NEVER``."""
        if self.then == SKIP:
            return NEVER
        step = 1 if self.then == NEXT else -1
        for away in range(1, REACH_DAYS + 1):
            other = day + step * away
            if 0 <= other < DAYS and self.is_business(other):
                return other
        return NEVER


class Heeded(Remembering):
    """A rule without what calendars take away, and with what they move."""

    __slots__ = ("_last", "heeding", "rule")

    def __init__(self, rule: WallRule, heeding: Heeding) -> None:
        """Lay calendars over a rule."""
        super().__init__()
        self.rule: Final = rule
        self.heeding: Final = heeding
        # Questions come one after the other, most of them for the same day.
        self._last: tuple[int, int] = (-1, 0)
        self.seconds = rule.seconds
        self.every_hour = rule.every_hour
        self.cadence = rule.cadence

    def __repr__(self) -> str:
        return f"Heeded({self.rule!r})"

    def clock(self) -> int:
        return self.rule.clock()

    def shortest_seconds(self) -> int:
        # What is moved may meet what fires there at the rule's other times.
        is_moved = self.heeding.then != SKIP
        return super().shortest_seconds() if is_moved else self.rule.shortest_seconds()

    def day_from(self, day: int) -> int:
        if self.heeding.then == SKIP:
            return self.rule.day_from(day)
        found = self.rule.day_from(max(day - REACH_DAYS, 0))
        return found if found == NEVER else max(found - REACH_DAYS, day)

    def day_until(self, day: int) -> int:
        if self.heeding.then == SKIP or day < 0:
            return self.rule.day_until(day)
        found = self.rule.day_until(min(day + REACH_DAYS, DAYS - 1))
        return found if found == BEFORE else min(found + REACH_DAYS, day)

    def times(self, day: int) -> int:
        known, found = self._last
        if known != day:
            found = self.rule.times(day) & ~self.heeding.taken(day)
            for origin in self._origins(day):
                found |= self._taken_times(origin)
            self._last = (day, found)
        return found

    def _taken_times(self, day: int) -> int:
        times = self.rule.times(day)
        return times & self.heeding.taken(day) if times else 0

    def _origins(self, day: int) -> list[int]:
        """Return the days whose fires may move to this one."""
        if self.heeding.then == SKIP or not self.heeding.is_business(day):
            return []
        step = -1 if self.heeding.then == NEXT else 1
        found: list[int] = []
        for away in range(1, REACH_DAYS + 1):
            other = day + step * away
            if not 0 <= other < DAYS or self.heeding.is_business(other):
                break
            found.append(other)
        return found

    def origin(self, wall: int) -> int:
        """Return the wall time before the move; the same where it was not moved."""
        day, second = divmod(wall, DAY)
        if self.rule.times(day) >> second // 60 & 1:
            return wall
        for origin in self._origins(day):
            if self._taken_times(origin) >> second // 60 & 1:
                return origin * DAY + second
        return wall


class TakenAway(Remembering):
    """What calendars drop from a rule; kept in the ledger with the reason."""

    __slots__ = ("heeding", "rule")

    def __init__(self, heeded: Heeded) -> None:
        """Take the other half of a rule under calendars."""
        super().__init__()
        self.rule: Final = heeded.rule
        self.heeding: Final = heeded.heeding
        self.seconds = heeded.seconds
        self.every_hour = heeded.every_hour
        self.cadence = heeded.cadence

    def clock(self) -> int:
        return self.rule.clock()

    def day_from(self, day: int) -> int:
        return self.rule.day_from(day)

    def day_until(self, day: int) -> int:
        return self.rule.day_until(day)

    def times(self, day: int) -> int:
        found = self.rule.times(day) & self.heeding.taken(day)
        return found if found and self.heeding.target(day) == NEVER else 0


def heeded_dates(rule: WallDates, heeding: Heeding) -> tuple[WallDates, WallDates]:
    """Return the local times that calendars keep or move, and those that they drop."""
    kept, dropped = [], []
    for wall in rule.walls:
        day, second = divmod(wall, DAY)
        if not heeding.taken(day) >> second // 60 & 1:
            kept.append(wall)
        elif (target := heeding.target(day)) < NEVER:
            kept.append(target * DAY + second)
        else:
            dropped.append(wall)
    return WallDates(kept), WallDates(dropped)


class HeededSource:
    """Instants that know no wall clock (intervals, given instants) without what calendars drop.

    ``keeps`` turned around, it is what they drop.
    """

    __slots__ = ("_ahead", "_behind", "_heeding", "_keeps", "source", "zone")

    def __init__(self, source: Source, heeding: Heeding, *, keeps: bool = True) -> None:
        """Lay calendars over instants."""
        # The last questions with their answers: between the two there is nothing.
        self._ahead = (NEVER, NEVER)
        self._behind = (BEFORE, BEFORE)
        self.source: Final = source
        self._heeding = heeding
        self._keeps = keeps
        self.zone = source.zone

    def _is_out(self, wall: int) -> bool:
        return not self._kept(wall // DAY) >> wall % DAY // 60 & 1

    def _kept(self, day: int) -> int:
        """Return the minutes of a day that are not dropped."""
        taken = self._heeding.taken(day)
        return FULL_CLOCK & ~taken if self._keeps else taken

    def next_at(self, after: int) -> int:
        asked, found = self._ahead
        if not (after < found and asked <= after <= asked + KNOWN_SECONDS):
            found = self._searched(after)
            self._ahead = (after, found)
        return found

    def _searched(self, after: int) -> int:
        for _ in range(SEARCH_DAYS_MAX):
            after = self.source.next_at(after)
            if after >= WALL_END - DAY:
                return NEVER
            wall = after + self.zone.offset_at(after)
            if not self._is_out(wall):
                return after
            after = self._leap(after, wall) - 1
        return NEVER

    def _leap(self, instant: int, wall: int) -> int:
        """Return a later instant before which all is out: the next minute kept, or a new offset."""
        day, second = divmod(wall, DAY)
        left = self._kept(day) >> second // 60
        minute = second // 60 + lowest(left) if left else DAY // 60
        landing = instant + minute * 60 - second
        change = self.zone.next_change(instant)
        return landing if change is None else min(landing, change[0])

    def previous_at(self, before: int) -> int:
        asked, found = self._behind
        if not (found < before and asked - KNOWN_SECONDS <= before <= asked):
            found = self._searched_back(before)
            self._behind = (before, found)
        return found

    def _searched_back(self, before: int) -> int:
        for _ in range(SEARCH_DAYS_MAX):
            before = self.source.previous_at(before)
            if before <= DAY:
                return BEFORE
            wall = before + self.zone.offset_at(before)
            if not self._is_out(wall):
                return before
            before = self._leap_back(before, wall)
        return BEFORE

    def _leap_back(self, instant: int, wall: int) -> int:
        """Return an earlier instant from which on all is out up to this one."""
        day, second = divmod(wall, DAY)
        left = self._kept(day) & ((1 << second // 60) - 1)
        # The end of the latest minute that is kept; the day's begin where there is none.
        landing = instant - second + left.bit_length() * 60
        change = self.zone.last_change(instant)
        return landing if change is None else max(landing, change[0])

    def nominals(self, instant: int, limit: int) -> list[Nominal]:
        found = self.source.nominals(instant, limit)
        return [nominal for nominal in found if not self._is_out(nominal.wall)]

    def next_lost(self, after: int) -> int:
        return NEVER

    def lost(self, instant: int, limit: int) -> list[int]:
        return []
