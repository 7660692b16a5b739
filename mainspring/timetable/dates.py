"""Single times: instants, local times, lists of them, and how all of these are written."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Final, NamedTuple

from mainspring.domain.limits import RULE_DATES_MAX
from mainspring.timetable.civil import BEFORE, DAY, FIRST_YEAR, LAST_YEAR, NEVER, day_of
from mainspring.timetable.clocked import FireKind, Nominal
from mainspring.timetable.refusals import Refusal, shortened
from mainspring.timetable.walls import WallRule, closest
from mainspring.timetable.zones import Zone

_STAMP: Final = re.compile(
    r"(\d{4})-?(\d{2})-?(\d{2})"
    r"(?:[T ](\d{2}):?(\d{2})(?::?(\d{2})(?:[.,](\d{1,9}))?)?(Z|[+-]\d{2}:?\d{2})?)?",
    re.IGNORECASE,
)
_HINT: Final = "write 2027-01-31, 2027-01-31T09:00 (local) or 2027-01-31T09:00:00Z"


class Stamp(NamedTuple):
    """A time as it was written: a date, a local time, or an instant."""

    #: Wall time; for an instant the seconds since 1970.
    seconds: int
    is_instant: bool
    is_date: bool

    def wall(self, zone: Zone) -> int:
        """Return the wall time in a zone."""
        return self.seconds + (zone.offset_at(self.seconds) if self.is_instant else 0)


def read_stamp(text: str, offset: int = 0) -> Stamp:
    """Return a date, local time or instant of ISO 8601, or raise ``Refusal``."""
    match = _STAMP.fullmatch(text)
    if match is None:
        raise Refusal(offset, text, f"{shortened(text) or 'nothing'} is no date or time", _HINT)
    year, month, day, hour, minute, second = (int(match[group] or 0) for group in range(1, 7))
    if int(match[7] or 0):
        raise Refusal(offset, text, "fractions of a second are not taken", "use whole seconds")
    if not FIRST_YEAR <= year <= LAST_YEAR:
        hint = f"use a year from {FIRST_YEAR} to {LAST_YEAR}"
        raise Refusal(offset, text, f"the year {year} is out of range", hint)
    try:
        found = day_of(year, month, day) * DAY + hour * 3600 + minute * 60 + second
    except ValueError:
        hint = "check the day and the month"
        raise Refusal(offset, text, f"{shortened(text)} does not exist", hint) from None
    if hour > 23 or minute > 59 or second > 59:
        hint = "hours end at 23, minutes and seconds at 59"
        raise Refusal(offset, text, f"{shortened(text)} is no time of day", hint)
    if not match[8]:
        return Stamp(found, is_instant=False, is_date=match[4] is None)
    return Stamp(found - _ahead(match[8].upper()), is_instant=True, is_date=False)


def _ahead(zone: str) -> int:
    if zone == "Z":
        return 0
    seconds = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
    return -seconds if zone[0] == "-" else seconds


def read_stamps(text: str, offset: int) -> list[Stamp]:
    """Return a list of stamps that commas or blanks divide."""
    words = list(re.finditer(r"[^\s,]+", text))
    if not words:
        raise Refusal(offset, text, "a date is missing", _HINT)
    if len(words) > RULE_DATES_MAX:
        hint = "use a calendar, or several schedules"
        raise Refusal(offset, "", f"{len(words)} dates are more than {RULE_DATES_MAX}", hint)
    return [read_stamp(word[0], offset + word.start()) for word in words]


class WallDates(WallRule):
    """A list of local times."""

    __slots__ = ("walls",)

    def __init__(self, walls: Iterable[int]) -> None:
        """Take wall times in any order."""
        self.walls: Final = sorted(set(walls))
        self.seconds = 1
        self.every_hour = self.cadence = False

    def __repr__(self) -> str:
        return f"WallDates({self.walls!r})"

    def next_wall(self, wall: int) -> int:
        at = bisect_left(self.walls, wall)
        return self.walls[at] if at < len(self.walls) else NEVER

    def previous_wall(self, wall: int) -> int:
        at = bisect_right(self.walls, wall)
        return self.walls[at - 1] if at else BEFORE

    def shortest_seconds(self) -> int:
        return closest(self.walls)

    def clock(self) -> int:
        return sum({1 << wall % DAY // 60 for wall in self.walls})


class Instants:
    """A list of instants."""

    __slots__ = ("instants", "zone")

    def __init__(self, instants: Iterable[int], zone: Zone) -> None:
        """Take instants in any order; the zone is only for showing them."""
        self.instants: Final = sorted(set(instants))
        self.zone: Final = zone

    def next_at(self, after: int) -> int:
        at = bisect_right(self.instants, after)
        return self.instants[at] if at < len(self.instants) else NEVER

    def previous_at(self, before: int) -> int:
        at = bisect_left(self.instants, before)
        return self.instants[at - 1] if at else BEFORE

    def nominals(self, instant: int, limit: int) -> list[Nominal]:
        if self.next_at(instant - 1) != instant:
            return []
        return [Nominal(instant + self.zone.offset_at(instant), FireKind.REGULAR)]

    def next_lost(self, after: int) -> int:
        return NEVER

    def lost(self, instant: int, limit: int) -> list[int]:
        return []
