"""Intervals: elapsed time from an anchor (``every 90s``), or steps of the calendar (``P1M``).

Elapsed time never notices a clock change. A calendar step is a wall time: the anchor's time of day,
so many days or months after it, at the last day of a month that is too short. It is always counted
from the anchor, never from the step before: 31 January, 28 February, 31 March.
"""

import re
from typing import Final

from mainspring.domain.limits import INTERVAL_SECONDS_MIN
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
)
from mainspring.timetable.clocked import FireKind, Nominal
from mainspring.timetable.refusals import Refusal, shortened
from mainspring.timetable.walls import WallRule
from mainspring.timetable.zones import Zone

_SECONDS_MAX: Final = 10 * 366 * DAY
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": DAY, "w": 7 * DAY}
_PART: Final = re.compile(r"(\d{1,9})(ms|[smhdw])")
_ISO: Final = re.compile(
    r"P(?:(\d{1,4})Y)?(?:(\d{1,4})M)?(?:(\d{1,5})W)?(?:(\d{1,5})D)?"
    r"(?:T(?:(\d{1,6})H)?(?:(\d{1,7})M)?(?:(\d{1,9})S)?)?"
)
_HINT: Final = "write a duration such as 90s, 5m, 2h, 1h30m or 1d"


def read_seconds(text: str, offset: int = 0) -> int:
    """Return ``90s``, ``5m`` or ``1h30m`` in seconds, or raise ``Refusal``."""
    compact = text.replace(" ", "").lower()
    parts = _PART.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise Refusal(offset, text, f"{shortened(text) or 'nothing'} is no duration", _HINT)
    if any(unit == "ms" for _, unit in parts):
        raise Refusal(offset, text, "milliseconds are not taken", "use whole seconds")
    return checked_seconds(sum(int(number) * _UNITS[unit] for number, unit in parts), text, offset)


def checked_seconds(seconds: int, text: str, offset: int) -> int:
    """Return an interval within its bounds, or raise ``Refusal``."""
    if seconds < INTERVAL_SECONDS_MIN:
        hint = f"give at least {INTERVAL_SECONDS_MIN} s"
        raise Refusal(offset, text, f"{shortened(text)} is under the minimum", hint)
    if seconds > _SECONDS_MAX:
        raise Refusal(offset, text, f"{shortened(text)} is longer than ten years", _HINT)
    return seconds


class Step:
    """A duration of ISO 8601: elapsed seconds, or days, or months; exactly one is not 0."""

    __slots__ = ("days", "months", "seconds")

    def __init__(self, text: str, offset: int = 0) -> None:
        """Read ``PT90M``, ``P1D``, ``P2W``, ``P1M`` or ``P1Y``, or raise ``Refusal``."""
        match = _ISO.fullmatch(text)
        hint = "write PT90M, P1D, P2W, P1M or P1Y"
        if match is None or not any(match.groups()):
            raise Refusal(offset, text, f"{shortened(text) or 'nothing'} is no ISO duration", hint)
        years, months, weeks, days, hours, minutes, seconds = (
            int(part or 0) for part in match.groups()
        )
        self.months: Final = years * 12 + months
        self.days: Final = weeks * 7 + days
        self.seconds: Final = hours * 3600 + minutes * 60 + seconds
        if sum(part > 0 for part in (self.months, self.days, self.seconds)) != 1:
            reason = f"{shortened(text)} mixes months, days and hours, or is nothing"
            raise Refusal(offset, text, reason, hint)
        if self.months > 12 * 100 or self.days > 36_600:
            raise Refusal(offset, text, f"{shortened(text)} is longer than a century", hint)
        if self.seconds:
            checked_seconds(self.seconds, text, offset)


class Every:
    """Elapsed seconds from an anchor."""

    __slots__ = ("anchor", "seconds", "zone")

    def __init__(self, seconds: int, anchor: int, zone: Zone) -> None:
        """Begin at the anchor, an instant; the zone is only for showing times."""
        self.seconds: Final = seconds
        self.anchor: Final = anchor
        self.zone: Final = zone

    def __repr__(self) -> str:
        return f"Every({self.seconds}, {self.anchor})"

    def next_at(self, after: int) -> int:
        if after < self.anchor:
            return self.anchor
        found = after + self.seconds - (after - self.anchor) % self.seconds
        return found if found < WALL_END else NEVER

    def previous_at(self, before: int) -> int:
        if before <= self.anchor:
            return BEFORE
        return before - 1 - (before - 1 - self.anchor) % self.seconds

    def nominals(self, instant: int, limit: int) -> list[Nominal]:
        if instant < self.anchor or (instant - self.anchor) % self.seconds:
            return []
        return [Nominal(instant + self.zone.offset_at(instant), FireKind.REGULAR)]

    def next_lost(self, after: int) -> int:
        return NEVER

    def lost(self, instant: int, limit: int) -> list[int]:
        return []


class CalendarSteps(WallRule):
    """Every so many days or months from an anchor, at the anchor's time of day."""

    __slots__ = ("_day", "_minute", "anchor", "step")

    def __init__(self, step: Step, anchor: int) -> None:
        """Begin at the anchor, a wall time."""
        self.step: Final = step
        self.anchor: Final = anchor
        self._day = anchor // DAY
        self._minute = 1 << anchor % DAY // 60
        self.seconds = 1 << anchor % 60
        self.every_hour = self.cadence = False

    def __repr__(self) -> str:
        return f"CalendarSteps({self.step.months}, {self.step.days}, {self.anchor})"

    def clock(self) -> int:
        return self._minute

    def times(self, day: int) -> int:
        return self._minute if self.day_from(day) == day else 0

    def day_from(self, day: int) -> int:
        if day <= self._day:
            return self._day
        if self.step.days:
            found = day + (self._day - day) % self.step.days
            return found if found < DAYS else NEVER
        number = -((MONTH_OF_DAY[self._day] - MONTH_OF_DAY[day]) // self.step.months)
        found = self._in_month(number)
        return found if found >= day else self._in_month(number + 1)

    def day_until(self, day: int) -> int:
        if day < self._day:
            return BEFORE
        if self.step.days:
            return day - (day - self._day) % self.step.days
        number = (MONTH_OF_DAY[min(day, DAYS - 1)] - MONTH_OF_DAY[self._day]) // self.step.months
        found = self._in_month(number)
        return found if found <= day else self._in_month(number - 1)

    def _in_month(self, number: int) -> int:
        """Return the day of a step, the last of its month where the anchor's day is missing."""
        begins = MONTH_OF_DAY[self._day]
        month = begins + number * self.step.months
        if month >= MONTHS:
            return NEVER
        return MONTH_START[month] + min(self._day - MONTH_START[begins], MONTH_LENGTH[month] - 1)
