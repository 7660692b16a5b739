"""A rule: a set of wall-clock times, searched day by day.

A rule says which days it may have (``day_from``, ``day_until``) and which minutes on one of them
(``times``, a bit for each of the 1,440). The searches by second are the same for all.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from mainspring.domain.limits import SEARCH_DAYS_MAX, SEARCH_YEARS
from mainspring.timetable.civil import BEFORE, DAY, DAYS, NEVER, WALL_END, bits_of, lowest

#: How far a search goes before it says never.
SEARCH_DAYS: Final = 366 * SEARCH_YEARS
#: How long an answer of a search is good for questions that lie between it and its question.
KNOWN_SECONDS: Final = 366 * DAY


class WallRule:
    """Wall-clock times that match. Subclasses say on which days and at which minutes."""

    __slots__ = ("cadence", "every_hour", "seconds")

    #: Every hour of the day matches: no real hour is missed where the clock leaves one out.
    every_hour: bool
    #: The rule is a beat: it goes on through both passes of a repeated hour.
    cadence: bool
    #: A bit for each second of a matching minute.
    seconds: int

    def day_from(self, day: int) -> int:
        """Return the first day from this one on that may match, else ``NEVER``."""
        raise NotImplementedError

    def day_until(self, day: int) -> int:
        """Return the last day up to this one that may match, else ``BEFORE``."""
        raise NotImplementedError

    def times(self, day: int) -> int:
        """Return the minutes of a day that match, a bit each; 0 where the day has none."""
        raise NotImplementedError

    def clock(self) -> int:
        """Return every minute of the day at which the rule may ever fire."""
        raise NotImplementedError

    def shortest_seconds(self) -> int:
        """Return how close two wall times of the rule can be, the days left out of account."""
        return shortest_of(self.clock(), self.seconds)

    def next_wall(self, wall: int) -> int:
        """Return the first matching wall time that is not before this one, else ``NEVER``."""
        if wall >= WALL_END:
            return NEVER
        first, second = divmod(max(wall, 0), DAY)
        minute, rest = divmod(second, 60)
        found = self.day_from(first)
        if found == first:
            bits = self.times(first) >> minute
            if bits & 1 and (left := self.seconds >> rest):
                return first * DAY + minute * 60 + rest + lowest(left)
            bits >>= 1
            if bits:
                return self._at(first, minute + 1 + lowest(bits))
            found = self.day_from(first + 1) if first + 1 < DAYS else NEVER
        last = first + SEARCH_DAYS
        for _ in range(SEARCH_DAYS_MAX):
            if found > last:
                return NEVER
            if bits := self.times(found):
                return self._at(found, lowest(bits))
            found = self.day_from(found + 1) if found + 1 < DAYS else NEVER
        return NEVER

    def _at(self, day: int, minute: int) -> int:
        return day * DAY + minute * 60 + lowest(self.seconds)

    def previous_wall(self, wall: int) -> int:
        """Return the last matching wall time that is not after this one, else ``BEFORE``."""
        if wall < 0:
            return BEFORE
        last, second = divmod(min(wall, WALL_END - 1), DAY)
        minute, rest = divmod(second, 60)
        latest = self.seconds.bit_length() - 1
        found = self.day_until(last)
        if found == last:
            bits = self.times(last) & ((2 << minute) - 1)
            if bits >> minute and (left := self.seconds & ((2 << rest) - 1)):
                return last * DAY + minute * 60 + left.bit_length() - 1
            bits &= (1 << minute) - 1
            if bits:
                return last * DAY + (bits.bit_length() - 1) * 60 + latest
            found = self.day_until(last - 1)
        first = last - SEARCH_DAYS
        for _ in range(SEARCH_DAYS_MAX):
            if found < max(first, 0):
                return BEFORE
            if bits := self.times(found):
                return found * DAY + (bits.bit_length() - 1) * 60 + latest
            found = self.day_until(found - 1)
        return BEFORE

    def matches(self, wall: int) -> bool:
        """Say whether a wall time matches."""
        return self.next_wall(wall) == wall


class Remembering(WallRule):
    """A rule whose searches may be long: what lies between a question and its answer is known.

    Whoever asks one question after the other, as most do, pays for each stretch without a fire
    once. That nothing was found holds for a year of questions, since each search has an end.
    """

    __slots__ = ("_ahead", "_behind")

    def __init__(self) -> None:
        """Begin without an answer: a question, and the wall time that answers it."""
        self._ahead = (NEVER, NEVER)
        self._behind = (BEFORE, BEFORE)

    def next_wall(self, wall: int) -> int:
        asked, found = self._ahead
        if not asked <= wall <= min(found, asked + KNOWN_SECONDS):
            found = super().next_wall(wall)
            self._ahead = (wall, found)
        return found

    def previous_wall(self, wall: int) -> int:
        asked, found = self._behind
        if not max(found, asked - KNOWN_SECONDS) <= wall <= asked:
            found = super().previous_wall(wall)
            self._behind = (wall, found)
        return found


def shortest_of(clock: int, second_bits: int) -> int:
    """Return how close two times of these minutes and seconds can be, over midnight, too."""
    seconds, minutes = bits_of(second_bits), bits_of(clock)
    span = seconds[-1] - seconds[0]
    found = [b - a for a, b in pairwise(seconds)]
    found += [(b - a) * 60 - span for a, b in pairwise(minutes)]
    return min([*found, DAY - (minutes[-1] - minutes[0]) * 60 - span])


def closest(times: Sequence[int]) -> int:
    """Return how close two of these can be, which are in order; ``NEVER`` where there is one."""
    return min((b - a for a, b in pairwise(times)), default=NEVER)
