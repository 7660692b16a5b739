"""Days, months and years as whole numbers, from 1970 to the end of 2199, without a datetime.

``MONTH_OF_DAY`` and ``MONTH_START`` turn a day into its month and back; a month is counted from
January 1970. A month has one of 28 kinds: its first weekday and its length.
"""

from array import array
from datetime import UTC, date, datetime, timedelta
from typing import Final

DAY: Final = 86_400
FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 2199
#: Answer of a search that found nothing: later than anything that can be found.
NEVER: Final = 1 << 62
#: Answer of a search backwards that found nothing.
BEFORE: Final = -1

_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()


def day_of(year: int, month: int, day: int) -> int:
    """Return the number of a date; what is no date raises ``ValueError``."""
    return date(year, month, day).toordinal() - _EPOCH_ORDINAL


MONTH_START: Final = tuple(
    day_of(year, month, 1) for year in range(FIRST_YEAR, LAST_YEAR + 1) for month in range(1, 13)
)
MONTHS: Final = len(MONTH_START)
DAYS: Final = day_of(LAST_YEAR + 1, 1, 1)
MONTH_LENGTH: Final = bytes(
    following - first
    for first, following in zip(MONTH_START, (*MONTH_START[1:], DAYS), strict=True)
)
#: First weekday (Sunday is 0) plus seven times the days beyond 28.
MONTH_KIND: Final = bytes(
    (first + 4) % 7 + 7 * (length - 28)
    for first, length in zip(MONTH_START, MONTH_LENGTH, strict=True)
)


def _months_of_days() -> "array[int]":
    table = array("H")
    for month, length in enumerate(MONTH_LENGTH):
        table.extend(array("H", [month]) * length)
    return table


MONTH_OF_DAY: Final = _months_of_days()
WALL_END: Final = DAYS * DAY

#: For each weekday that a month may begin with: a bit for every Sunday, Monday, … of it.
WEEKDAY_BITS: Final = tuple(
    tuple(sum(1 << bit for bit in range((weekday - first) % 7, 31, 7)) for weekday in range(7))
    for first in range(7)
)
FULL_CLOCK: Final = (1 << 1440) - 1


def lowest(bits: int) -> int:
    """Return the number of the lowest bit that is set."""
    return (bits & -bits).bit_length() - 1


def bits_of(bits: int) -> list[int]:
    """Return the numbers of all bits that are set, lowest first."""
    found = []
    while bits:
        found.append(lowest(bits))
        bits &= bits - 1
    return found


def weekday_of(day: int) -> int:
    """Return the weekday of a day; Sunday is 0."""
    return (day + 4) % 7


def date_of(day: int) -> date:
    """Return a day as a date."""
    return date.fromordinal(day + _EPOCH_ORDINAL)


def moment(instant: int) -> datetime:
    """Return an instant as an aware datetime."""
    return datetime.fromtimestamp(instant, tz=UTC)


def wall_text(wall: int) -> str:
    """Return a wall time as people and ISO 8601 write it: ``2027-01-31T09:00:00``."""
    there = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=wall)
    return there.replace(tzinfo=None).isoformat()
