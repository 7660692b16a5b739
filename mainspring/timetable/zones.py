"""Time zones of the bundled ``tzdata``: tables of offsets, with every gap and every fold in them.

A zone is a row of segments, each with one offset. A *gap* is what the wall clock leaves out where
a segment begins; a *fold* what it shows twice. The clock has a high-water mark, the latest wall
time that it has shown: what lies between the mark and a segment's first wall time is its gap.
"""

import pkgutil
import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

import tzdata

from mainspring.domain.errors import UnknownZone
from mainspring.timetable.civil import NEVER
from mainspring.timetable.tzif import Changes, changes_of

#: How a wall time that a fold shows twice is understood.
FIRST: Final = "first"
SECOND: Final = "second"
BOTH: Final = "both"

_NAME_CHARACTERS_MAX: Final = 64
_OFFSET: Final = re.compile(r"([+-])(\d{2}):?(\d{2})")
_HOURS_MAX: Final = 18
# Abbreviations mean different zones to different people, and most of them forget summer time.
_ABBREVIATION: Final = re.compile(r"(?!UTC$)[A-Z]{1,4}(?:\d[A-Z]{3})?|Factory")
_MEANT: Final = {
    "EST": "America/New_York",
    "EDT": "America/New_York",
    "ET": "America/New_York",
    "EST5EDT": "America/New_York",
    "CST": "America/Chicago",
    "CDT": "America/Chicago",
    "CST6CDT": "America/Chicago",
    "MST": "America/Denver",
    "MDT": "America/Denver",
    "MST7MDT": "America/Denver",
    "PST": "America/Los_Angeles",
    "PDT": "America/Los_Angeles",
    "PST8PDT": "America/Los_Angeles",
    "HST": "Pacific/Honolulu",
    "GMT": "UTC",
    "UCT": "UTC",
    "Z": "UTC",
    "CET": "Europe/Berlin",
    "CEST": "Europe/Berlin",
    "MET": "Europe/Berlin",
    "EET": "Europe/Helsinki",
    "WET": "Europe/Lisbon",
    "BST": "Europe/London",
    "GB": "Europe/London",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "PRC": "Asia/Shanghai",
    "ROC": "Asia/Taipei",
    "ROK": "Asia/Seoul",
    "NZ": "Pacific/Auckland",
}


class Segment(NamedTuple):
    """A stretch of time with one offset, as a reading of folds sees it."""

    offset: int
    #: First wall time that is regular here, and the first that is not any more.
    wall_from: int
    wall_to: int
    #: The gap in front of it: from here to ``wall_start``; the two are equal where there is none.
    gap_from: int
    wall_start: int


class View(NamedTuple):
    """The segments of a zone under one reading of folds; ``starts`` are their first instants."""

    starts: list[int]
    segments: list[Segment]

    def at(self, instant: int) -> int:
        """Return the number of the segment that holds an instant."""
        return bisect_right(self.starts, instant) - 1


class Zone:
    """One zone; ask ``zone(name)`` for it."""

    def __init__(self, name: str, offset: int, changes: Changes) -> None:
        """Take the offset at 1970 and every change after it."""
        self.name: Final = name
        self._starts: Final = [-NEVER, *(instant for instant, _ in changes)]
        self._offsets: Final = [offset, *(following for _, following in changes)]

    def __repr__(self) -> str:
        return f"Zone({self.name!r})"

    def offset_at(self, instant: int) -> int:
        """Return the seconds that the wall clock is ahead of UTC at an instant."""
        return self._offsets[bisect_right(self._starts, instant) - 1]

    def changes(self) -> list[tuple[int, int, int]]:
        """Return every change: its instant, the offset before it and the one after."""
        return list(zip(self._starts[1:], self._offsets, self._offsets[1:], strict=False))

    def next_change(self, after: int) -> tuple[int, int, int] | None:
        """Return the first change after an instant."""
        number = bisect_right(self._starts, after)
        if number == len(self._starts):
            return None
        return self._starts[number], self._offsets[number - 1], self._offsets[number]

    def last_change(self, instant: int) -> tuple[int, int, int] | None:
        """Return the last change up to an instant."""
        number = bisect_right(self._starts, instant) - 1
        if not number:
            return None
        return self._starts[number], self._offsets[number - 1], self._offsets[number]

    def view(self, fold: str) -> View:
        """Return the segments under one reading of folds."""
        if fold == FIRST:
            return self._first
        return self._both if fold == BOTH else self._second

    @cached_property
    def _first(self) -> View:
        return View(self._starts, self._segments(FIRST))

    @cached_property
    def _second(self) -> View:
        return View(self._starts, self._segments(SECOND))

    @cached_property
    def _both(self) -> View:
        return View(self._starts, self._segments(BOTH))

    def _segments(self, fold: str) -> list[Segment]:
        ends = [*self._starts[1:], NEVER]
        lows = self._low_water(fold)
        mark = -NEVER
        found = []
        for start, end, offset, low in zip(self._starts, ends, self._offsets, lows, strict=True):
            wall_start = start + offset
            # East of Greenwich as well, what is never found lies behind every segment.
            wall_end = min(end + offset, NEVER)
            gap_from = min(mark, wall_start) if mark > -NEVER else wall_start
            wall_from = max(mark, wall_start) if fold == FIRST else wall_start
            mark = max(mark, wall_end)
            wall_to = mark if fold == FIRST else min(wall_end, low)
            found.append(Segment(offset, wall_from, wall_to, gap_from, wall_start))
        return found

    def _low_water(self, fold: str) -> list[int]:
        """Return for each segment the earliest wall time that is still to come after it."""
        lows, low = [], NEVER << 1
        for start, offset in zip(reversed(self._starts), reversed(self._offsets), strict=True):
            lows.append(low)
            low = min(low, start + offset) if fold == SECOND else low
        return lows[::-1]


_UTC: Final = Zone("UTC", 0, [])


class ZoneData:
    """The zones of one release of the zone data, read when first asked for.

    Whoever holds the files says how one of them is read: nothing here opens a folder.
    """

    def __init__(self, version: str, names: Iterable[str], read: Callable[[str], bytes]) -> None:
        """Take the release's version, the names in it, and what returns the file of a name."""
        self.version: Final = version
        self._known: Final = frozenset(names)
        self._read: Final = read
        self._zones: Final[dict[str, Zone]] = {}

    @cached_property
    def names(self) -> frozenset[str]:
        """Return every name that ``zone`` takes, fixed offsets left out."""
        return frozenset(name for name in self._known if not _ABBREVIATION.fullmatch(name)) | {
            "UTC"
        }

    def zone(self, name: str) -> Zone:
        """Return a zone by its IANA name, ``UTC`` or a fixed offset as ``+05:30``."""
        if name == "UTC":
            return _UTC
        if match := _OFFSET.fullmatch(name):
            return _fixed(name, match)
        if name not in self._zones:
            self._zones[name] = self._made(name)
        return self._zones[name]

    def _made(self, name: str) -> Zone:
        if len(name) > _NAME_CHARACTERS_MAX or name not in self.names:
            raise self._unknown(name)
        try:
            return Zone(name, *changes_of(self._read(name)))
        except (ValueError, IndexError, struct.error) as error:
            raise UnknownZone(
                f"zone: the zone data {self.version} of {name} cannot be read",
                hint="install the tzdata package again",
                details={"field": "zone", "token": name},
            ) from error

    def _unknown(self, name: str) -> UnknownZone:
        shown = name if len(name) <= _NAME_CHARACTERS_MAX else name[:_NAME_CHARACTERS_MAX] + "…"
        if _ABBREVIATION.fullmatch(name):
            near = [_MEANT[name]] if name in _MEANT else []
            message = f"zone: {name} is an abbreviation, not a zone"
        else:
            near = self.nearest(name[:_NAME_CHARACTERS_MAX])
            message = f"zone: there is no zone {shown!r}"
        hint = f"did you mean {' or '.join(near)}?" if near else "use a name such as Europe/Berlin"
        return UnknownZone(message, hint=hint, details={"field": "zone", "nearest": near})

    def nearest(self, name: str) -> list[str]:
        """Return up to three names that look like this one, the nearest first.

        By pairs of letters: hundreds of names are compared within a millisecond, whatever is asked.
        """
        wanted = _pairs(re.sub(r"[^a-z0-9/]", "", name.lower()))
        scored = []
        for known, whole, city in self._letters:
            score = max(_alike(wanted, whole), _alike(wanted, city) * 0.99)
            if score >= 0.5:
                scored.append((-score, known))
        return [known for _, known in sorted(scored)[:3]]

    @cached_property
    def _letters(self) -> list[tuple[str, frozenset[str], frozenset[str]]]:
        plain = {known: known.lower().replace("_", "") for known in self.names}
        return [
            (known, _pairs(text), _pairs(text.rpartition("/")[2])) for known, text in plain.items()
        ]


@lru_cache(maxsize=1)
def bundled() -> ZoneData:
    """Return the zones of the ``tzdata`` package that is installed."""
    names = _file("zones").decode("ascii").split()
    return ZoneData(str(tzdata.IANA_VERSION), names, lambda name: _file(f"zoneinfo/{name}"))


@lru_cache(maxsize=1024)
def zone(name: str) -> Zone:
    """Return a zone of the bundled data: an IANA name, ``UTC`` or an offset as ``+05:30``."""
    return bundled().zone(name)


def zone_names() -> frozenset[str]:
    """Return every name that ``zone`` takes, fixed offsets left out."""
    return bundled().names


def zone_data_version() -> str:
    """Return the version of the zone data; it is kept with what was computed from it."""
    return bundled().version


def zone_data_number() -> int:
    """Return the version of the zone data as a number that grows: 202606 for 2026.6."""
    return version_number(str(tzdata.__version__))


def version_number(version: str) -> int:
    """Return the number of a version of the zone data."""
    year, release, *_ = version.split(".")
    return int(year) * 100 + int(release)


def _file(name: str) -> bytes:
    found = pkgutil.get_data("tzdata", name)
    assert found is not None, "tzdata is a dependency and lies in a folder or an archive"
    return found


def _fixed(name: str, match: re.Match[str]) -> Zone:
    hours, minutes = int(match[2]), int(match[3])
    if hours > _HOURS_MAX or minutes > 59:
        raise UnknownZone(
            f"zone: {name} is no offset",
            hint="an offset lies between -18:00 and +18:00",
            details={"field": "zone", "token": name},
        )
    seconds = hours * 3600 + minutes * 60
    return Zone(name, -seconds if match[1] == "-" else seconds, [])


def _pairs(text: str) -> frozenset[str]:
    return frozenset(map("".join, zip(f" {text}", f"{text} ", strict=True)))


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other))
