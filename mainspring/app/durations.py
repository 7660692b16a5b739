"""Durations as people write them: ``"250ms"``, ``"30s"``, ``"5m"``, ``"1d"``, ``"1h30m"``.

Never a bare number: its unit would be a guess.
"""

import math
import re
from datetime import timedelta
from typing import Final

from mainspring.domain.errors import InvalidDuration

_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_UNIT_MS: Final = {
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}
_CHARACTERS_MAX: Final = 64


def milliseconds(value: str | timedelta, *, name: str) -> int:
    """Return the duration in milliseconds, or raise ``InvalidDuration`` naming the option."""
    if isinstance(value, timedelta):
        found = value.total_seconds() * 1_000
    elif isinstance(value, str):
        found = _parsed(value, name)
    else:
        raise InvalidDuration(
            f"{name}: {value!r} has no unit", hint='write it as "30s" or a timedelta'
        )
    if not math.isfinite(found) or found < 0:
        raise InvalidDuration(f"{name}: {value!r} is negative", hint="give zero or more")
    return round(found)


def check_duration(name: str, duration_ms: object, least_ms: int, most_ms: int) -> int:
    """Return whole milliseconds within their bounds, or raise naming them as people write them."""
    if not isinstance(duration_ms, int) or isinstance(duration_ms, bool):
        raise InvalidDuration(f"{name}: {duration_ms!r} is not a whole number of milliseconds")
    if least_ms <= duration_ms <= most_ms:
        return duration_ms
    bounds = f"{words(least_ms)} to {words(most_ms)}"
    raise InvalidDuration(f"{name}: {words(duration_ms)} is not within {bounds}")


def _parsed(text: str, name: str) -> float:
    compact = text.strip().replace(" ", "")
    if compact.startswith("-"):
        raise InvalidDuration(f"{name}: {text!r} is negative", hint="give zero or more")
    parts = _PART.findall(compact) if len(compact) <= _CHARACTERS_MAX else []
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise InvalidDuration(f"{name}: {text!r} is not a duration")
    return sum(float(number) * _UNIT_MS[unit] for number, unit in parts)


def words(duration_ms: int) -> str:
    """Return a short text for people: ``250 ms``, ``1.5 s``, ``5 m``, ``2 h``."""
    if duration_ms < 1_000:
        return f"{duration_ms} ms"
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000)):
        if duration_ms >= size and duration_ms % (size // 10 or 1) == 0:
            return f"{_plain(duration_ms / size)} {unit}"
    return f"{_plain(duration_ms / 1_000)} s"


def _plain(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
