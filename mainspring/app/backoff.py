"""How long a failed job rests before its next try, as users write it.

>>> exponential("2s", cap="5m", jitter="full")
Backoff(initial_ms=2000, factor=2.0, cap_ms=300000, jitter=1.0, full_jitter=True)
>>> fixed("10s")
Backoff(initial_ms=10000, factor=1.0, cap_ms=10000, jitter=0.0, full_jitter=False)
"""

from datetime import timedelta
from typing import Literal

from mainspring.app.durations import check_duration, milliseconds
from mainspring.domain.errors import InvalidInput
from mainspring.domain.job import DEFAULT_BACKOFF, Backoff
from mainspring.domain.limits import DELAY_SECONDS_MAX

_MOST_MS = DELAY_SECONDS_MAX * 1_000
_FACTOR_MAX = 100


def exponential(
    initial: str | timedelta = "1s",
    *,
    factor: float = DEFAULT_BACKOFF.factor,
    cap: str | timedelta = "5m",
    jitter: float | Literal["full"] = DEFAULT_BACKOFF.jitter,
) -> Backoff:
    """Rest ``initial``, then ``factor`` times as long after each try, at most ``cap``.

    ``jitter`` lengthens each rest by up to that share; ``"full"`` draws it between nothing and
    the whole rest, which spreads a crowd best.
    """
    if not _is_number(factor) or not 1 <= factor <= _FACTOR_MAX:
        raise InvalidInput(f"factor: {factor!r} is not between 1 and {_FACTOR_MAX}")
    is_full = jitter == "full"
    if not is_full and (not _is_number(jitter) or not 0 <= float(jitter) <= 1):
        raise InvalidInput(f"jitter: {jitter!r} is neither between 0 and 1 nor 'full'")
    return Backoff(
        initial_ms=_within("initial", initial),
        factor=float(factor),
        cap_ms=_within("cap", cap),
        jitter=1.0 if is_full else float(jitter),
        full_jitter=is_full,
    )


def fixed(rest: str | timedelta, *, jitter: float | Literal["full"] = 0.0) -> Backoff:
    """Rest equally long before every try."""
    return exponential(rest, factor=1.0, cap=rest, jitter=jitter)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _within(name: str, value: str | timedelta) -> int:
    return check_duration(name, milliseconds(value, name=name), 0, _MOST_MS)
