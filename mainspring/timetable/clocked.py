"""A rule on the clock of a zone: wall times become instants, gaps and folds included.

One rule for every wall-clock schedule. A wall time that the clock leaves out is due at the end of
the gap, unless the rule matches every hour. A wall time that the clock shows twice fires at the
first pass, unless the rule is a cadence, which keeps its beat through both.
"""

from bisect import bisect_right
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from mainspring.timetable.civil import BEFORE, NEVER
from mainspring.timetable.walls import WallRule
from mainspring.timetable.zones import BOTH, FIRST, View, Zone

#: What becomes of wall times in a gap: a missed window judged by the misfire policy, one regular
#: fire at the gap's end, or nothing.
POLICY: Final = "policy"
SHIFT: Final = "shift"
SKIP: Final = "skip"


class FireKind(StrEnum):
    """How an instant came out of the rule."""

    REGULAR = "regular"
    #: The wall time does not exist; due at the end of the gap as a missed window.
    GAP = "gap"
    #: The wall time does not exist; moved to the end of the gap as a fire like any other.
    SHIFTED = "shifted"
    #: The second pass of a wall time that the clock shows twice.
    REPEATED = "repeated"


class Nominal(NamedTuple):
    """A wall time that the rule names, and how it came to its instant."""

    wall: int
    kind: FireKind


class Source(Protocol):
    """Instants of one rule. All answers strictly increase."""

    @property
    def zone(self) -> Zone:
        """Return the zone that its wall times are shown in."""
        ...

    def next_at(self, after: int) -> int:
        """Return the first instant after this one, else ``NEVER``."""
        ...

    def previous_at(self, before: int) -> int:
        """Return the last instant before this one, else ``BEFORE``."""
        ...

    def nominals(self, instant: int, limit: int) -> list[Nominal]:
        """Return the wall times that are due at an instant, in order; none when it is not one."""
        ...

    def next_lost(self, after: int) -> int:
        """Return the first gap's end after an instant at which wall times are dropped."""
        ...

    def lost(self, instant: int, limit: int) -> list[int]:
        """Return the wall times that are dropped because of the gap that ends here."""
        ...


class Clocked:
    """A wall-clock rule in a zone."""

    __slots__ = (
        "_gap",
        "_heeds_gaps",
        "_next_wall",
        "_segments",
        "_starts",
        "_view",
        "rule",
        "zone",
    )

    def __init__(self, rule: WallRule, zone: Zone, gap: str = POLICY, fold: str = FIRST) -> None:
        """Lay the rule on the zone's clock."""
        self.rule: Final = rule
        self.zone: Final = zone
        self._gap = gap
        self._heeds_gaps = gap != SKIP and not rule.every_hour
        self._view: View = zone.view(BOTH if rule.cadence else fold)
        self._starts, self._segments = self._view
        self._next_wall = rule.next_wall

    def __repr__(self) -> str:
        return f"Clocked({self.rule!r}, {self.zone!r})"

    def next_at(self, after: int) -> int:
        number = bisect_right(self._starts, after) - 1
        offset, wall_from, wall_to, _, _ = self._segments[number]
        wall = after + offset + 1
        if wall < wall_from:  # noqa: PLR1730 - max() costs as much as the rest of the way
            wall = wall_from
        found = self._next_wall(wall)
        if found < wall_to:
            return found - offset
        return self._later(number, wall, found)

    def _later(self, number: int, asked: int, found: int) -> int:
        """Return the first instant in the segments after one; ``found`` answers ``asked``."""
        for start, (offset, wall_from, wall_to, gap_from, wall_start) in zip(
            self._starts[number + 1 :], self._segments[number + 1 :], strict=True
        ):
            if gap_from < wall_start and self._heeds_gaps:
                asked, found = self._refreshed(gap_from, asked, found)
                if found < wall_start:
                    return start
            asked, found = self._refreshed(wall_from, asked, found)
            if found < wall_to:
                return found - offset
        return NEVER

    def _refreshed(self, wall: int, asked: int, found: int) -> tuple[int, int]:
        """Return what matches from a wall time on, by an earlier answer where it still holds."""
        if asked <= wall <= found:
            return asked, found
        return wall, self._next_wall(wall)

    def previous_at(self, before: int) -> int:
        last = before - 1
        number = self._view.at(last)
        asked, found = NEVER, NEVER
        while number >= 0 and last >= 0:
            start = self._starts[number]
            offset, wall_from, wall_to, gap_from, wall_start = self._segments[number]
            wall = min(last + offset, wall_to - 1)
            if wall >= wall_from:
                asked, found = self._refreshed_back(wall, asked, found)
                if found >= wall_from and found > BEFORE:
                    return found - offset
            if self._heeds_gaps and gap_from < wall_start:
                asked, found = self._refreshed_back(wall_start - 1, asked, found)
                if found >= gap_from:
                    return start
            number, last = number - 1, start - 1
        return BEFORE

    def _refreshed_back(self, wall: int, asked: int, found: int) -> tuple[int, int]:
        """Return what matches up to a wall time, by an earlier answer where it still holds."""
        if found <= wall <= asked:
            return asked, found
        return wall, self.rule.previous_wall(wall)

    def nominals(self, instant: int, limit: int) -> list[Nominal]:
        number = self._view.at(instant)
        offset, wall_from, wall_to, _, _ = self._segments[number]
        wall = instant + offset
        regular = wall_from <= wall < wall_to and self.rule.matches(wall)
        found: list[Nominal] = []
        if self._heeds_gaps and instant == self._starts[number]:
            walls = self._swallowed(number, limit)
            if self._gap == POLICY:
                found = [Nominal(left_out, FireKind.GAP) for left_out in walls]
            elif walls and not regular:
                found = [Nominal(walls[0], FireKind.SHIFTED)]
        if regular and len(found) < limit:
            is_second = number > 0 and wall < instant_mark(self.zone, instant)
            found.append(Nominal(wall, FireKind.REPEATED if is_second else FireKind.REGULAR))
        return found

    def _swallowed(self, number: int, limit: int) -> list[int]:
        """Return the wall times in the gap in front of a segment."""
        gap_from, wall_start = self._segments[number][3:]
        walls: list[int] = []
        wall = self._next_wall(gap_from) if gap_from < wall_start else NEVER
        while wall < wall_start and len(walls) < limit:
            walls.append(wall)
            wall = self._next_wall(wall + 1)
        return walls

    def next_lost(self, after: int) -> int:
        if self._gap != SKIP or self.rule.every_hour:
            return NEVER
        asked, found = NEVER, NEVER
        for number in range(bisect_right(self._starts, after), len(self._starts)):
            gap_from, wall_start = self._segments[number][3:]
            if gap_from < wall_start:
                asked, found = self._refreshed(gap_from, asked, found)
                if found < wall_start:
                    return self._starts[number]
        return NEVER

    def lost(self, instant: int, limit: int) -> list[int]:
        number = self._view.at(instant)
        if self._gap != SKIP or self.rule.every_hour or instant != self._starts[number]:
            return []
        return self._swallowed(number, limit)


def instant_mark(zone: Zone, instant: int) -> int:
    """Return the latest wall time that the clock of a zone had shown before this segment."""
    view = zone.view(FIRST)
    number = view.at(instant)
    return view.segments[number - 1].wall_to if number else -NEVER
