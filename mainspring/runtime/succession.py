"""Workers that follow each other in one process: the new one starts, the old one drains.

What ``mainspring dev`` reloads by. Jobs that run keep their old code until they end or the drain
runs out, which hands them back; the new worker claims meanwhile. Nothing is lost in between.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from mainspring.worker.config import WorkerConfig

_DONE: Final = 0


class Runs(Protocol):
    """A worker, as far as it is started and stopped."""

    async def run(self) -> int:
        """Be a worker; return the exit status."""
        ...

    def ask_stop(self) -> None:
        """First: drain. Second: stop the handlers now. Third: kill."""
        ...


class Succession:
    """The present worker and those that still drain, as one that can be run and stopped."""

    def __init__(self) -> None:
        """Begin without any; ``begin`` says how one is made."""
        self._make: Callable[[WorkerConfig], Runs]
        self._group: asyncio.TaskGroup
        self._present: Runs | None = None
        self._alive: list[Runs] = []
        self._stopping = asyncio.Event()
        self._stops = 0
        self._code = _DONE

    def begin(self, config: WorkerConfig, make: Callable[[WorkerConfig], Runs]) -> None:
        """Say with what the first one starts."""
        self._make = make
        self._first = config

    async def run(self) -> int:
        """Run until told to stop and until all have ended; return the worst exit status."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            self._start(self._first)
            await self._stopping.wait()
        return self._code

    def replace(self, config: WorkerConfig) -> None:
        """Start another worker, and let the present one drain."""
        if self._stopping.is_set():
            return
        old = self._present
        self._start(config)
        if old is not None:
            old.ask_stop()

    def ask_stop(self) -> None:
        """Pass it on to everyone, each time as urgently."""
        self._stops += 1
        for worker in list(self._alive):
            worker.ask_stop()
        self._stopping.set()

    def _start(self, config: WorkerConfig) -> None:
        worker = self._make(config)
        self._present = worker
        self._alive.append(worker)
        self._group.create_task(self._live(worker))

    async def _live(self, worker: Runs) -> None:
        try:
            code = await worker.run()
        finally:
            self._alive.remove(worker)
            if self._present is worker:
                self._present = None
        if self._stopping.is_set():
            self._code = max(self._code, code)
