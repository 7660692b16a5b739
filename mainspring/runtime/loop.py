"""The one loop: runs steps, waits between them, backs off when they fail, stops when told.

A role offers ``step() -> seconds until the next``; it never waits itself. Tests call the step.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from mainspring.ports.entropy import roll

_log: Final = logging.getLogger("mainspring.runtime")
_BACK_OFF_MAX_SECONDS: Final = 30.0

Step = Callable[[], Awaitable[float]]


async def run_role(name: str, step: Step, stopping: asyncio.Event) -> None:
    """Run a role's step again and again until ``stopping`` is set."""
    failures = 0
    while not stopping.is_set():
        try:
            delay = await step()
            failures = 0
        except Exception as error:
            # The one place that survives anything: a role must not end because a server did.
            failures += 1
            delay = min(_BACK_OFF_MAX_SECONDS, 0.25 * 2 ** min(failures, 10)) * (0.5 + roll())
            _log.warning("%s failed (%s times in a row): %s", name, failures, error)
        await wait_unless(stopping, delay)


async def wait_unless(stopping: asyncio.Event, seconds: float) -> bool:
    """Wait; return True at once when ``stopping`` is set."""
    if seconds <= 0:
        await asyncio.sleep(0)
        return stopping.is_set()
    try:
        async with asyncio.timeout(seconds):
            await stopping.wait()
    except TimeoutError:
        return False
    return True
