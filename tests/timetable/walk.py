"""The second opinion: a walk over every minute of a zone, with datetimes, sets and no cleverness.

It shares no code with ``mainspring.timetable``. ``python -m tests.timetable.walk`` compares both
around every clock change of every zone from 1970 to 2037; the tests do so for a sample.
"""

import argparse
import calendar
import math
import sys
import zoneinfo
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

MINUTE = timedelta(minutes=1)
RANGES = {"minute": (0, 59), "hour": (0, 23), "month": (1, 12)}

#: What is walked around each clock change: fixed times, cadences, and every hour.
EXPRESSIONS = (
    "30 2 * * *",
    "0 2,3 * * *",
    "0,30 0,1,23 * * *",
    "*/20 0-5 * * *",
    "7 * * * *",
    "15 0-23 * * *",
    "0 */2 * * *",
    "*/30 * * * *",
    "45 23 * * 6",
    "0 0 * * *",
    "0 12 1,15,L * MON#1",
)


class Fired(NamedTuple):
    """An instant, and the wall time that is due at it."""

    instant: int
    wall: str
    is_gap: bool


class Matcher:
    """An expression as sets of numbers; only the grammar that the walk needs."""

    def __init__(self, expression: str) -> None:
        self.texts = expression.split()
        self.minutes = numbers(self.texts[0], *RANGES["minute"])
        self.hours = numbers(self.texts[1], *RANGES["hour"])
        self.months = numbers(self.texts[3], *RANGES["month"])
        self.every_hour = self.hours == set(range(24))
        self.cadence = self.every_hour or self.texts[0].startswith("*")

    def matches(self, wall: datetime) -> bool:
        """Say whether a wall time matches, field by field."""
        if wall.second or wall.minute not in self.minutes or wall.hour not in self.hours:
            return False
        if wall.month not in self.months:
            return False
        in_month = any(is_day(item, wall) for item in self.texts[2].split(","))
        in_week = any(is_weekday(item, wall) for item in self.texts[4].split(","))
        if self.texts[2][0] in "*?" or self.texts[4][0] in "*?":
            return in_month and in_week
        return in_month or in_week


def numbers(text: str, low: int, high: int) -> set[int]:
    """Return the numbers of a list of numbers, ranges and steps."""
    found: set[int] = set()
    for item in text.split(","):
        body, _, step = item.partition("/")
        first, _, last = body.partition("-")
        begin = low if body == "*" else int(first)
        end = high if body == "*" or (step and not last) else int(last or first)
        found |= set(range(begin, end + 1, int(step or 1)))
    return found


def is_day(item: str, wall: datetime) -> bool:
    """Say whether an item of the day of month holds a date."""
    length = calendar.monthrange(wall.year, wall.month)[1]
    if item == "L" or item.startswith("L-"):
        return wall.day == length - int(item[2:] or 0)
    if item.endswith("W"):
        day = length if item == "LW" else int(item[:-1])
        if day > length:
            return False
        near = [day, day - 1, day + 1, day - 2, day + 2]
        near = [d for d in near if 1 <= d <= length and wall.replace(day=d).weekday() < 5]
        return wall.day == near[0]
    return item == "?" or wall.day in numbers(item, 1, 31)


def is_weekday(item: str, wall: datetime) -> bool:
    """Say whether an item of the day of week holds a date."""
    names = {"SUN": 0, "MON": 1, "TUE": 2, "WED": 3, "THU": 4, "FRI": 5, "SAT": 6}
    for name, number in names.items():
        item = item.replace(name, str(number))
    weekday = wall.isoweekday() % 7
    if "#" in item:
        day, which = map(int, item.split("#"))
        return weekday == day % 7 and (wall.day - 1) // 7 + 1 == which
    if item.endswith("L"):
        length = calendar.monthrange(wall.year, wall.month)[1]
        return weekday == int(item[:-1]) % 7 and wall.day + 7 > length
    return item == "?" or weekday in {number % 7 for number in numbers(item, 0, 7)}


def walk(
    matchers: Iterable[Matcher], zone: str, begin: int, end: int, lead: int = 2 * 86_400
) -> dict[Matcher, list[Fired]]:
    """Return what is due from one instant to another, minute after minute.

    The lead is walked before, so that the clock's latest time is known.
    """
    found: dict[Matcher, list[Fired]] = {matcher: [] for matcher in matchers}
    there = zoneinfo.ZoneInfo(zone)
    step = step_of(there, begin - lead, end)
    mark: datetime | None = None
    for instant in range(begin - lead, end, step):
        wall = datetime.fromtimestamp(instant, there).replace(tzinfo=None)
        left_out: list[datetime] = []
        if mark is not None and wall > mark + timedelta(seconds=step):
            left_out = list(between(mark, wall, step))
        is_new = mark is None or wall > mark
        mark = wall if is_new else mark
        if instant < begin:
            continue
        for matcher, fired in found.items():
            if left_out and not matcher.every_hour:
                fired += [
                    Fired(instant, w.isoformat(), True) for w in left_out if matcher.matches(w)
                ]
            if (is_new or matcher.cadence) and matcher.matches(wall):
                fired.append(Fired(instant, wall.isoformat(), False))
    return found


def between(mark: datetime, wall: datetime, step: int) -> Iterator[datetime]:
    """Give the wall times that were left out between two that were shown."""
    wall_time = mark + timedelta(seconds=step)
    while wall_time < wall:
        yield wall_time
        wall_time += timedelta(seconds=step)


def step_of(there: zoneinfo.ZoneInfo, begin: int, end: int) -> int:
    """Return a minute, or less where the zone's offset has seconds."""
    offsets = set()
    for instant in range(begin, end, 3600):
        offset = datetime.fromtimestamp(instant, there).utcoffset()
        assert offset is not None
        offsets.add(int(offset.total_seconds()))
    return math.gcd(60, *offsets)


def clock_changes(zone: str) -> list[int]:
    """Return every instant from 1970 to 2037 at which a zone's offset changes."""
    there = zoneinfo.ZoneInfo(zone)
    first, last = 0, int(datetime(2038, 1, 1, tzinfo=UTC).timestamp())
    found = []
    stride = 5 * 86_400
    before = datetime.fromtimestamp(first, there).utcoffset()
    for instant in range(first + stride, last, stride):
        offset = datetime.fromtimestamp(instant, there).utcoffset()
        if offset != before:
            low, high = instant - stride, instant
            while high - low > 1:
                middle = (low + high) // 2
                same = datetime.fromtimestamp(middle, there).utcoffset() == before
                low, high = (middle, high) if same else (low, middle)
            found.append(high)
        before = offset
    return found


def compared(
    zone: str,
    change: int,
    expressions: Iterable[str] = EXPRESSIONS,
    *,
    reach: int = 30 * 3600,
    lead: int = 2 * 86_400,
) -> list[str]:
    """Return the differences between the walk and the product around a clock change."""
    from mainspring.timetable.civil import wall_text
    from mainspring.timetable.clocked import Clocked, FireKind
    from mainspring.timetable.cron import cron
    from mainspring.timetable.zones import zone as product_zone

    begin, end = change - reach, change + reach
    matchers = [Matcher(text) for text in expressions]
    differences = []
    for matcher, expected in walk(matchers, zone, begin, end, lead).items():
        text = " ".join(matcher.texts)
        source = Clocked(cron(text), product_zone(zone))
        got = []
        instant = source.next_at(begin - 1)
        while instant < end:
            got += [
                Fired(instant, wall_text(nominal.wall), nominal.kind is FireKind.GAP)
                for nominal in source.nominals(instant, 10_000)
            ]
            instant = source.next_at(instant)
        if got != expected:
            differences.append(f"{zone} {change} {text}: {got} instead of {expected}")
        back, instant = [], source.previous_at(end)
        while instant >= begin:
            back.append(instant)
            instant = source.previous_at(instant)
        if back[::-1] != sorted({fired.instant for fired in expected}):
            differences.append(f"{zone} {change} {text}: backwards differs")
    return differences


def main() -> int:
    """Compare around every clock change of every zone, or of some."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("zones", nargs="*", help="names; all zones when none is given")
    asked = parser.parse_args().zones
    zoneinfo.reset_tzpath(to=[])
    names = asked or sorted(name for name in zoneinfo.available_timezones() if "/" in name)
    bad = changes = 0
    for name in names:
        found = clock_changes(name)
        differences = [text for change in found for text in compared(name, change)]
        changes += len(found)
        bad += len(differences)
        print(name, len(found), *differences[:3], sep="\n  " if differences else " ", flush=True)
    print(f"{len(names)} zones, {changes} clock changes, {bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
