"""Waiting inside the worker: for events with a timeout, and between repetitions."""

import asyncio
from typing import Final

from mainspring.ports.entropy import roll

_FIRST_SECONDS: Final = 0.1


async def wait_for(event: asyncio.Event, seconds: float) -> bool:
    """Wait until the event is set (True) or the time is over (False)."""
    if event.is_set():
        return True
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


def pause_seconds(failures: int, *, longest: float) -> float:
    """Return how long to wait after so many failures in a row: doubled, spread, bounded."""
    return min(longest, _FIRST_SECONDS * 2.0 ** min(failures - 1, 16)) * (0.75 + roll() / 2)
