"""The clocks of this machine: for waiting and measuring, never for deciding what is due.

What is due and which lease has run out is decided by the store's clock (law 4). This module and
``runtime.loop`` are the only ones that may touch the machine's.
"""

import asyncio
import threading
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """A settable clock: what a store reads instead of its server's when tests control time."""

    def now(self) -> datetime:
        """Return the present instant, aware, in UTC."""
        ...


def monotonic() -> float:
    """Return seconds that never go back; the same for every process of this machine."""
    return time.monotonic()


def utc_now() -> datetime:
    """Return this machine's wall clock: for log lines and for SQLite, which has no server."""
    return datetime.now(UTC)


def wait_seconds(seconds: float) -> None:
    """Block this thread. Not ``time.sleep``, which fails under a faked clock."""
    threading.Event().wait(seconds)


async def pause_seconds(seconds: float) -> None:
    """Let the event loop go on for this long."""
    await asyncio.sleep(seconds)
