"""How long a failed job rests before its next try."""

from typing import Final

from mainspring.domain.job import Backoff

# factor ** exponent overflows a float long before any cap is reached in practice.
_EXPONENT_MAX: Final = 64


def delay_ms(backoff: Backoff, tries: int, dice: float) -> int:
    """Return the rest after ``tries`` executions; ``dice`` is uniform in [0, 1).

    With the defaults: 1 s, 2 s, 4 s, 8 s … up to 300 s, each lengthened by 0 to 30 %.
    """
    exponent = min(max(tries - 1, 0), _EXPONENT_MAX)
    plain = min(float(backoff.cap_ms), backoff.initial_ms * backoff.factor**exponent)
    if backoff.full_jitter:
        return round(plain * dice)
    return round(plain * (1.0 + backoff.jitter * dice))
