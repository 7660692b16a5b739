"""A thread with an event loop on which a gateway lives: for code that has no loop."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self

from mainspring.client.door import LoopDoor

OpenDoor = Callable[[], AbstractAsyncContextManager[LoopDoor]]


class Portal:
    """One thread with an event loop and an open door; calls of other threads go through it."""

    def __init__(self, open_door: OpenDoor) -> None:
        """Open nothing before it is entered."""
        self._open_door = open_door
        self._opened: Future[LoopDoor] = Future()
        self._loop: asyncio.AbstractEventLoop
        self._closing: asyncio.Event
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._live()), name="mainspring-client", daemon=True
        )

    def __enter__(self) -> Self:
        """Start the thread; raise whatever opening raised."""
        self._thread.start()
        self._opened.result()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the door and end the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join()

    @property
    def door(self) -> LoopDoor:
        """Return the door to the gateway over there."""
        return self._opened.result()

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._closing = asyncio.Event()
        try:
            async with self._open_door() as door:
                self._opened.set_result(door)
                await self._closing.wait()
        except Exception as error:  # noqa: BLE001 - raised in the thread that opens
            if not self._opened.done():
                self._opened.set_exception(error)
