"""What a plan should fire, computed a day at a time with datetimes: the second opinion.

It shares no code with the product. Wall times come from the rules of a plan (cron by the sets of
``tests.timetable.walk``, recurrences by dateutil, calendar steps by hand); ``zoneinfo`` turns them
into instants; what a clock change does to them is told by going there and back.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, cached_property
from typing import NamedTuple
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr

from tests.timetable.walk import Matcher, numbers

DAY = timedelta(days=1)
_WEEKDAYS = {"MON": 0, "TUE": 1, "WED": 2, "THU": 3, "FRI": 4, "SAT": 5, "SUN": 6}


class Expected(NamedTuple):
    """What belongs into one ledger."""

    #: Fires by (instant, sequence); true: its wall time does not exist.
    fires: dict[tuple[int, int], bool]
    #: What is taken away by (instant, sequence), with the reason.
    left_out: dict[tuple[int, int], str]

    @property
    def instants(self) -> list[int]:
        """Return every instant that fires, in order."""
        return sorted({instant for instant, _ in self.fires})


# --- rules ------------------------------------------------------------------------------------


class Cron:
    """An expression of five fields, or of six with the seconds first."""

    def __init__(self, text: str) -> None:
        aliases = {"@daily": "0 0 * * *", "@hourly": "0 * * * *", "@weekly": "0 0 * * 0"}
        fields = aliases.get(text, text).split()
        seconds = {0} if len(fields) == 5 else numbers(fields.pop(0), 0, 59)
        self._matcher = Matcher(" ".join(fields))
        self.every_hour = self._matcher.every_hour
        self.cadence = self._matcher.cadence
        self._times = [
            time(hour, minute, second)
            for hour in sorted(self._matcher.hours)
            for minute in sorted(self._matcher.minutes)
            for second in sorted(seconds)
        ]

    def walls(self, day: date) -> list[datetime]:
        """Return the wall times of a day."""
        first = self._times[0].replace(second=0)
        if not self._matcher.matches(datetime.combine(day, first)):
            return []
        return [datetime.combine(day, each) for each in self._times]


class Listed:
    """Wall times that were computed beforehand: recurrences, calendar steps, lists."""

    every_hour = cadence = False

    def __init__(self, walls: Iterable[datetime]) -> None:
        self._by_day: defaultdict[date, list[datetime]] = defaultdict(list)
        for wall in walls:
            self._by_day[wall.date()].append(wall)

    def walls(self, day: date) -> list[datetime]:
        """Return the wall times of a day."""
        return self._by_day.get(day, [])


def recurrence(text: str, anchor: str, until: datetime) -> Listed:
    """Walk a recurrence rule from its anchor."""
    begin = datetime.fromisoformat(anchor)
    return Listed(rrulestr(text, dtstart=begin).between(begin, until, inc=True))


def months(anchor: str, step: int, until: datetime) -> Listed:
    """Count months from an anchor; at the last day of a month that is too short."""
    begin = datetime.fromisoformat(anchor)
    found: list[datetime] = []
    wall, number = begin, 0
    while wall <= until:
        found.append(wall)
        number += step
        year, month = divmod(begin.month - 1 + number, 12)
        first = begin.replace(year=begin.year + year, month=month + 1, day=1)
        last = (first + 31 * DAY).replace(day=1) - DAY
        wall = first.replace(day=min(begin.day, last.day))
    return Listed(found)


def days(anchor: str, step: int, until: datetime) -> Listed:
    """Count days from an anchor, on the wall clock."""
    begin = datetime.fromisoformat(anchor)
    count = (until - begin) // (step * DAY)
    return Listed(begin + number * step * DAY for number in range(count + 1))


@dataclass(frozen=True)
class Elapsed:
    """Seconds that pass, from an anchor on; no clock change is noticed."""

    seconds: int
    anchor: int

    def instants(self, after: int, until: int) -> Iterator[int]:
        """Give the instants of a range."""
        number = max(0, (after - self.anchor) // self.seconds + 1)
        while (instant := self.anchor + number * self.seconds) <= until:
            yield instant
            number += 1


@dataclass(frozen=True)
class Given:
    """Instants that were written down."""

    given: tuple[int, ...]

    def instants(self, after: int, until: int) -> Iterator[int]:
        """Give the instants of a range."""
        return (instant for instant in sorted(self.given) if after < instant <= until)


OnTheWall = Cron | Listed
OffTheWall = Elapsed | Given


# --- calendars --------------------------------------------------------------------------------


class Calendar:
    """Dates, dates of every year, spans and weekdays, as they are written."""

    def __init__(self, entries: Sequence[str]) -> None:
        self._entries = entries

    def holds(self, wall: datetime) -> bool:
        """Say whether a wall time belongs to the calendar."""
        return any(_holds(entry, wall) for entry in self._entries)

    def touches(self, day: date) -> bool:
        """Say whether some minute of a day belongs to it."""
        midnight = datetime.combine(day, time())
        return any(self.holds(midnight + timedelta(minutes=minute)) for minute in range(1440))


def _holds(entry: str, wall: datetime) -> bool:
    if ".." in entry:
        first, end = _span(entry)
        return first <= wall < end
    if entry[0].isalpha():
        return wall.weekday() in _named_weekdays(entry)
    return wall.isoformat()[:10].endswith(entry)


# Both are asked millions of times in a year, about a handful of entries.
@cache
def _span(entry: str) -> tuple[datetime, datetime]:
    first, last = map(datetime.fromisoformat, entry.split(".."))
    # A last day belongs to it as a whole.
    return first, last if "T" in entry.split("..")[1] else last + DAY


@cache
def _named_weekdays(entry: str) -> set[int]:
    return {_WEEKDAYS[name] for name in entry.split(",")}


@dataclass(frozen=True)
class Heeding:
    """The calendars of a plan."""

    excluded: tuple[Calendar, ...] = ()
    included: tuple[Calendar, ...] = ()
    then: str = "skip"
    _touched: dict[date, bool] = field(default_factory=dict)

    def is_out(self, wall: datetime) -> bool:
        """Say whether a wall time is taken away."""
        if any(calendar.holds(wall) for calendar in self.excluded):
            return True
        return bool(self.included) and not any(each.holds(wall) for each in self.included)

    def is_business(self, day: date) -> bool:
        """Say whether fires may move to a day."""
        if day.weekday() >= 5:
            return False
        if day not in self._touched:
            midnight = datetime.combine(day, time())
            minutes = (midnight + timedelta(minutes=minute) for minute in range(1440))
            self._touched[day] = any(self.is_out(wall) for wall in minutes)
        return not self._touched[day]

    def target(self, wall: datetime) -> datetime | None:
        """Return where a wall time moves to that is taken away."""
        step = {"next_business_day": DAY, "previous_business_day": -DAY}.get(self.then)
        for away in range(1, 32 if step is not None else 0):
            moved = wall + away * step  # type: ignore[operator]  # the range is empty without
            if self.is_business(moved.date()):
                return moved
        return None


# --- instants ---------------------------------------------------------------------------------


@dataclass
class Rules:
    """When a plan fires."""

    on_the_wall: Sequence[OnTheWall]
    off_the_wall: Sequence[OffTheWall]
    zone: str
    gap: str = "policy"
    fold: str = "first"
    heeding: Heeding = field(default_factory=Heeding)
    starts_at: int = 0
    ends_at: int = 1 << 40

    @cached_property
    def _there(self) -> ZoneInfo:
        return ZoneInfo(self.zone)

    def expected(self, after: int, until: int) -> Expected:
        """Return what belongs into the ledger after one instant and up to another."""
        after = max(after, self.starts_at - 1)
        until = min(until, self.ends_at)
        found = _Found()
        for rule in self.on_the_wall:
            for wall, is_out in self._walls(rule, after, until):
                self._lay(found, rule, wall, is_out=is_out)
        for source in self.off_the_wall:
            for instant in source.instants(after, until):
                wall = datetime.fromtimestamp(instant, self._there).replace(tzinfo=None)
                into = found.out if self.heeding.is_out(wall) else found.regular
                into[instant].add(wall)
        return found.numbered(after, until)

    def _walls(self, rule: OnTheWall, after: int, until: int) -> Iterator[tuple[datetime, bool]]:
        """Give wall times, moved where calendars say so, and whether they are taken away."""
        heeds = bool(self.heeding.excluded or self.heeding.included)
        reach = (40 if heeds else 3) * DAY
        begin = datetime.fromtimestamp(after, self._there).date() - reach
        end = datetime.fromtimestamp(until, self._there).date() + reach
        for number in range((end - begin).days):
            for wall in rule.walls(begin + number * DAY):
                if not heeds or not self.heeding.is_out(wall):
                    yield wall, False
                    continue
                target = self.heeding.target(wall)
                yield target or wall, target is None

    def _lay(self, found: "_Found", rule: OnTheWall, wall: datetime, *, is_out: bool) -> None:
        first = _instant(wall, self._there, 0)
        second = _instant(wall, self._there, 1)
        regular = found.out if is_out else found.regular
        if datetime.fromtimestamp(first, self._there).replace(tzinfo=None) != wall:
            if rule.every_hour:
                return
            end = _change(second, first, self._there)
            if self.gap == "skip":
                if not is_out:
                    found.lost[end].add(wall)
            elif is_out and self.gap == "shift":
                # Shifted, they would have been one.
                found.out[end] = found.out[end] or {wall}
            elif is_out:
                found.out[end].add(wall)
            elif self.gap == "shift":
                found.shifted.add(end)
            else:
                found.gaps[end].add(wall)
            return
        if rule.cadence or self.fold != "second":
            regular[first].add(wall)
        if rule.cadence or self.fold != "first":
            regular[second].add(wall)


def _instant(wall: datetime, there: ZoneInfo, fold: int) -> int:
    return int(wall.replace(tzinfo=there, fold=fold).timestamp())


def _change(low: int, high: int, there: ZoneInfo) -> int:
    """Return the first instant of the new offset, between two instants around a gap."""
    before = datetime.fromtimestamp(low, there).utcoffset()
    while high - low > 1:
        middle = (low + high) // 2
        same = datetime.fromtimestamp(middle, there).utcoffset() == before
        low, high = (middle, high) if same else (low, middle)
    return high


def _walls_by_instant() -> defaultdict[int, set[datetime]]:
    return defaultdict(set)


@dataclass
class _Found:
    """Wall times by the instant at which they are due."""

    regular: defaultdict[int, set[datetime]] = field(default_factory=_walls_by_instant)
    gaps: defaultdict[int, set[datetime]] = field(default_factory=_walls_by_instant)
    lost: defaultdict[int, set[datetime]] = field(default_factory=_walls_by_instant)
    out: defaultdict[int, set[datetime]] = field(default_factory=_walls_by_instant)
    shifted: set[int] = field(default_factory=set)

    def numbered(self, after: int, until: int) -> Expected:
        """Number the fires of each instant: the regular one, then what a gap left over."""
        fires: dict[tuple[int, int], bool] = {}
        left_out: dict[tuple[int, int], str] = {}
        instants = {*self.regular, *self.gaps, *self.lost, *self.out, *self.shifted}
        for instant in sorted(each for each in instants if after < each <= until):
            is_regular = instant in self.regular or instant in self.shifted
            number = int(is_regular)
            if is_regular:
                fires[instant, 0] = False
            for _ in self.gaps.get(instant, ()):
                fires[instant, number] = True
                number += 1
            is_fired = number > 0
            for _ in self.lost.get(instant, ()):
                left_out[instant, number] = "dst_skipped"
                number += 1
            for _ in () if is_fired else self.out.get(instant, ()):
                left_out[instant, number] = "excluded_by_calendar"
                number += 1
        return Expected(fires, left_out)


def seconds(text: str) -> int:
    """Return an instant as seconds; without an offset it is in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


RuleOf = Callable[[str, str | None, datetime], OnTheWall | OffTheWall]
_STEPS: Mapping[str, tuple[Callable[[str, int, datetime], Listed], int]] = {
    "P1M": (months, 1),
    "P3M": (months, 3),
    "P2D": (days, 2),
    "P1W": (days, 7),
}
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def rule_of(text: str, anchor: str | None, until: datetime) -> OnTheWall | OffTheWall:
    """Read a rule in the words of the plans."""
    if text.startswith("FREQ="):
        assert anchor is not None
        return recurrence(text, anchor, until)
    if text.startswith("every "):
        assert anchor is not None
        return Elapsed(int(text[6:-1]) * _UNITS[text[-1]], seconds(anchor.removesuffix("Z")))
    if text.startswith("R/"):
        _, begin, step = text.split("/")
        make, count = _STEPS[step]
        return make(begin, count, until)
    if text.startswith("at "):
        stamps = [each.strip() for each in text[3:].split(",")]
        if stamps[0].endswith("Z"):
            return Given(tuple(seconds(each.removesuffix("Z")) for each in stamps))
        return Listed(map(datetime.fromisoformat, stamps))
    return Cron(text)
