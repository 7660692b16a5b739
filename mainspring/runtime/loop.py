"""The one loop: runs steps, waits between them, backs off when they fail, stops when told.

A role offers ``step() -> seconds until the next``; it never waits itself. Tests call the step.
One that hints may wake early says before each wait where they come in.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from mainspring.ports.entropy import roll
from mainspring.ports.store import Subscription

_log: Final = logging.getLogger("mainspring.runtime")
_BACK_OFF_MAX_SECONDS: Final = 30.0

Step = Callable[[], Awaitable[float]]


class Ear(NamedTuple):
    """Where the hints of a role come in."""

    hints: Subscription
    #: For so long none of them is heeded: they gather.
    deaf_seconds: float = 0.0


async def run_role(
    name: str, step: Step, stopping: asyncio.Event, *, ear: Callable[[], Ear] | None = None
) -> None:
    """Run a role's step again and again until ``stopping`` is set.

    A hint ends the wait after a step, but not the back-off after one that failed.
    """
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
        if ear is None or failures:
            await wait_unless(stopping, delay)
        else:
            await _wait_for_hint(stopping, delay, *ear())


async def _wait_for_hint(
    stopping: asyncio.Event, seconds: float, hints: Subscription, deaf_seconds: float
) -> None:
    deaf_seconds = max(0.0, min(seconds, deaf_seconds))
    if await wait_unless(stopping, deaf_seconds) or seconds <= deaf_seconds:
        return
    waits = [
        asyncio.ensure_future(hints.wait(seconds - deaf_seconds)),
        asyncio.ensure_future(stopping.wait()),
    ]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


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
