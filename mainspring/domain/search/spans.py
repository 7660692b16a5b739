"""Numbers, durations and instants in a search, each read as a span from its first to its last."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from mainspring.domain.search.nodes import Value
from mainspring.domain.search.reader import broken

_NUMBER: Final = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s|m|h|d|w)")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_UNITS: Final = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_LONGEST: Final = timedelta(days=36_525)
_TICK: Final = timedelta(microseconds=1)

Instants = tuple[datetime | None, datetime | None]

_UNBOUNDED: Final = float("inf")


def as_number(text: str) -> float | None:
    """Return a number, if it is one."""
    return float(text) if _NUMBER.fullmatch(text) else None


def is_number(text: str) -> bool:
    """Tell whether this is a number."""
    return as_number(text) is not None


def as_duration(text: str) -> timedelta | None:
    """Return a duration such as ``90s`` or ``1h30m``, if it is one."""
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    try:
        return sum((float(number) * _UNITS[unit] for number, unit in parts), timedelta())
    except OverflowError:
        return None


def number_span(field: str, value: Value, at: int) -> tuple[float, float, bool, bool]:
    """Return least and most, and whether each of them counts itself."""
    low, high = _ends(value)
    least, most = as_number(low), as_number(high)
    if least is None or most is None:
        raise broken(at, f"{field}: {value.text!r} is not a number", f"write {field}:>=3 or 1..5")
    return _span(value.comparison, least, most)


def duration_span(field: str, value: Value, at: int) -> tuple[float, float, bool, bool]:
    """Return least and most in seconds, and whether each of them counts itself."""
    low, high = _ends(value)
    least, most = as_duration(low), as_duration(high)
    if least is None or most is None or not (value.comparison or ".." in value.text):
        raise broken(
            at, f"{field}: {value.text!r} is not a span of time", f"write {field}:>5m or 1s..90s"
        )
    return _span(value.comparison, least.total_seconds(), most.total_seconds())


def is_within(given: float, span: tuple[float, float, bool, bool]) -> bool:
    """Tell whether a number lies in a span."""
    least, most, with_least, with_most = span
    above = given > least or (with_least and given == least)
    return above and (given < most or (with_most and given == most))


def instant_span(field: str, value: Value, at: int, now: datetime) -> Instants:
    """Return the first instant and the one after the last; a duration means so long ago."""
    low, high = _ends(value)
    ago = as_duration(low), as_duration(high)
    try:
        if ago[0] is not None and ago[1] is not None:
            if not (value.comparison or ".." in value.text):
                raise broken(at, f"{field}: before or after?", f"write {field}:<{low} or >{low}")
            return _age(value.comparison, now - _bounded(ago[1]), now - _bounded(ago[0]))
        first, _ = _instant(low)
        _, after = _instant(high)
        edges = {"<": (None, first), "<=": (None, after), ">": (after, None), ">=": (first, None)}
        return edges.get(value.comparison, (first, after))
    except (ValueError, OverflowError):
        raise broken(
            at,
            f"{field}: {value.text!r} is no instant",
            "write <1h (not an hour ago), 2026-11-01, 2026-11-01T09:00Z, or one..another",
        ) from None


def _age(comparison: str, first: datetime, last: datetime) -> Instants:
    """Return when something of this age began: younger is later."""
    edges = {
        "<": (last + _TICK, None),
        "<=": (last, None),
        ">": (None, last),
        ">=": (None, last + _TICK),
    }
    return edges.get(comparison, (first, last + _TICK))


def _ends(value: Value) -> tuple[str, str]:
    """Cut ``a..b``; a value without dots is both ends."""
    low, dots, high = value.text.partition("..")
    return (low, high) if dots and not value.comparison else (value.text, value.text)


def _span(comparison: str, least: float, most: float) -> tuple[float, float, bool, bool]:
    spans = {
        "<": (-_UNBOUNDED, most, True, False),
        "<=": (-_UNBOUNDED, most, True, True),
        ">": (least, _UNBOUNDED, False, True),
        ">=": (least, _UNBOUNDED, True, True),
    }
    return spans.get(comparison, (least, most, True, True))


def _bounded(ago: timedelta) -> timedelta:
    if ago > _LONGEST:
        raise ValueError
    return ago


def _instant(text: str) -> tuple[datetime, datetime]:
    """Return an instant and the next; a date is a whole day in UTC."""
    if _DATE.fullmatch(text):
        day = datetime.fromisoformat(text).replace(tzinfo=UTC)
        return day, day + timedelta(days=1)
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError
    return found.astimezone(UTC), found.astimezone(UTC) + _TICK
