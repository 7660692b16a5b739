"""The zone files of ``tzdata`` (RFC 9636): instants at which an offset begins, until 2200.

The files list changes until 2037 and end with a rule for the years after; the rule is applied
here, so that a table answers for every instant that a timetable knows.
"""

import re
import struct
from typing import Final, NamedTuple

from mainspring.timetable.civil import DAY, LAST_YEAR, day_of, moment, weekday_of

Changes = list[tuple[int, int]]

_HEADER: Final = struct.Struct(">4sc15x6L")
_NAME: Final = r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]+>)"
_CLOCK: Final = r"[+-]?\d{1,3}(?::\d{2}){0,2}"
_RULE: Final = r"(?:M\d+\.\d\.\d|J\d+|\d+)"
_FOOTER: Final = re.compile(
    rf"{_NAME}({_CLOCK})(?:{_NAME}({_CLOCK})?,({_RULE})(?:/({_CLOCK}))?,({_RULE})(?:/({_CLOCK}))?)?"
)


class _Yearly(NamedTuple):
    """What a footer says: two offsets, and when in a year the summer one begins and ends."""

    plain: int
    summer: int
    begins: tuple[str, int]
    ends: tuple[str, int]


def changes_of(data: bytes) -> tuple[int, Changes]:
    """Return the offset at 1970 and every change of offset after it, in order."""
    at, sizes = _second_block(data)
    utc_count, standard_count, leap_count, time_count, type_count, name_bytes = sizes
    times = struct.unpack_from(f">{time_count}q", data, at)
    at += 8 * time_count
    kinds = data[at : at + time_count]
    at += time_count
    offsets = [
        int(struct.unpack_from(">l", data, at + 6 * number)[0]) for number in range(type_count)
    ]
    at += 6 * type_count + name_bytes + 12 * leap_count + standard_count + utc_count
    footer = data[at:].strip(b"\n").decode("ascii")
    listed = [(instant, offsets[kind]) for instant, kind in zip(times, kinds, strict=True)]
    return _tidied(offsets[0], listed + _by_rule(footer, listed))


def _second_block(data: bytes) -> tuple[int, tuple[int, ...]]:
    """Return where the block with 64-bit instants begins behind its header, and its sizes."""
    magic, version, *sizes = _HEADER.unpack_from(data)
    if magic != b"TZif" or version < b"2":
        raise ValueError("no zone file with 64-bit instants")
    utc_count, standard_count, leap_count, time_count, type_count, name_bytes = sizes
    first = 5 * time_count + 6 * type_count + name_bytes + 8 * leap_count
    at = _HEADER.size + first + standard_count + utc_count
    _, _, *sizes = _HEADER.unpack_from(data, at)
    return at + _HEADER.size, tuple(sizes)


def _tidied(first: int, listed: Changes) -> tuple[int, Changes]:
    """Leave out what lies before 1970 and what changes the name only."""
    offset, kept = first, []
    for instant, following in listed:
        if following != offset and instant > 0:
            kept.append((instant, following))
        offset = following
        if instant <= 0:
            first = following
    return first, kept


def _by_rule(footer: str, listed: Changes) -> Changes:
    """Return the changes that the rule in the footer makes after the last one listed."""
    yearly = _read(footer)
    last = listed[-1][0] if listed else 0
    if yearly is None:
        return []
    year = max(moment(max(last, 0)).year, 1970)
    found = []
    for number in range(year, LAST_YEAR + 1):
        begins = _wall(number, *yearly.begins) - yearly.plain
        ends = _wall(number, *yearly.ends) - yearly.summer
        found += [(begins, yearly.summer), (ends, yearly.plain)]
    return sorted(change for change in found if change[0] > last)


def _read(footer: str) -> _Yearly | None:
    """Return what a footer says of each year; nothing where the offset stays."""
    match = _FOOTER.fullmatch(footer)
    if match is None or match[3] is None:
        return None
    plain = -_seconds(match[1])
    summer = -_seconds(match[2]) if match[2] else plain + 3600
    begins, ends = match[4] or "2", match[6] or "2"
    return _Yearly(plain, summer, (match[3], _seconds(begins)), (match[5], _seconds(ends)))


def _seconds(clock: str) -> int:
    """Return ``5``, ``-10:30`` or ``50`` hours as seconds."""
    hours, *rest = clock.lstrip("+-").split(":")
    minutes, seconds = [*map(int, rest), 0, 0][:2]
    total = int(hours) * 3600 + minutes * 60 + seconds
    return -total if clock.startswith("-") else total


def _wall(year: int, rule: str, clock: int) -> int:
    """Return the wall time at which a rule takes effect in a year."""
    if rule.startswith("M"):
        month, week, weekday = map(int, rule[1:].split("."))
        first = day_of(year, month, 1)
        following = day_of(year + month // 12, month % 12 + 1, 1)
        day = first + (weekday - weekday_of(first)) % 7 + 7 * (week - 1)
        return (day if day < following else day - 7) * DAY + clock
    first = day_of(year, 1, 1)
    if not rule.startswith("J"):
        return (first + int(rule)) * DAY + clock
    number = int(rule[1:])
    is_leap = day_of(year, 3, 1) - first == 60
    return (first + number - 1 + (is_leap and number > 59)) * DAY + clock
