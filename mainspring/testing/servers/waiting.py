"""Waiting for another process, by the monotonic clock only."""

from collections.abc import Callable

from mainspring.ports.clock import monotonic, wait_seconds

# Servers become ready within tens of milliseconds; a longer pause would be most of the start time.
POLL_SECONDS = 0.005


def wait_until(
    is_true: Callable[[], bool], *, seconds_max: float, pause_seconds: float = POLL_SECONDS
) -> bool:
    """Ask until the answer is yes, which is returned, or the time is up."""
    deadline = monotonic() + seconds_max
    while not is_true():
        if monotonic() >= deadline:
            return False
        wait_seconds(pause_seconds)
    return True
