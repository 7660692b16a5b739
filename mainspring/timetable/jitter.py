"""Spreading fires over a window: the same schedule and nominal instant give the same delay."""

from hashlib import blake2b

_SCALE = 1 << 64


def delay_ms(schedule: str, nominal_at: int | None, window_ms: int) -> int:
    """Return a delay from 0 to below the window, by a hash.

    Without a nominal instant the delay is the same for every fire of the schedule.
    """
    if window_ms <= 0:
        return 0
    text = f"{schedule}/{'' if nominal_at is None else nominal_at}"
    dice = int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
    return dice * window_ms // _SCALE
