"""Sync handlers: threads of our own, fed by a queue; completions wake the loop once a burst.

A thread cannot be stopped from outside. One that will not end is left behind: its attempt is
reported, and its process is replaced.
"""

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue

from mainspring.domain.errors import InvalidInput
from mainspring.domain.outcome import Outcome
from mainspring.worker import outcomes
from mainspring.worker.attempt import CURRENT, Attempt


class ThreadPool:
    """Runs sync handlers; threads are started when first needed, up to ``limit``, and kept."""

    def __init__(
        self, *, limit: int, deps: object, finish: Callable[[Attempt, Outcome], None]
    ) -> None:
        """Start nothing yet. ``finish`` is called on the loop that runs now."""
        self._limit = limit
        self._deps = deps
        self._finish = finish
        self._loop = asyncio.get_running_loop()
        self._waiting: SimpleQueue[Attempt | None] = SimpleQueue()
        self._finished: deque[tuple[Attempt, Outcome]] = deque()
        self._announced = False
        self._clean = contextvars.copy_context()
        self._busy = 0
        self._threads = 0

    def feed(self, attempt: Attempt) -> None:
        """Take an attempt to run."""
        self._busy += 1
        if self._threads < min(self._busy, self._limit):
            self._threads += 1
            name = f"mainspring-{self._threads}"
            # A daemon: a handler that never returns must not keep the process.
            threading.Thread(target=self._work, name=name, daemon=True).start()
        self._waiting.put(attempt)

    def close(self) -> None:
        """Let idle threads end."""
        for _ in range(self._threads):
            self._waiting.put(None)

    def _work(self) -> None:
        while (attempt := self._waiting.get()) is not None:
            outcome = self._clean.copy().run(self._outcome, attempt)
            self._finished.append((attempt, outcome))
            # Seen as announced: the collector has yet to reset it, and will find this one too.
            if not self._announced:
                self._announced = True
                try:
                    self._loop.call_soon_threadsafe(self._collect)
                except RuntimeError:
                    return  # the loop is closed: the process ends

    def _collect(self) -> None:
        self._announced = False
        while self._finished:
            attempt, outcome = self._finished.popleft()
            self._busy -= 1
            self._finish(attempt, outcome)

    def _outcome(self, attempt: Attempt) -> Outcome:
        if attempt.stop is not None:
            return outcomes.stopped(attempt)
        CURRENT.set(attempt)
        return call(attempt, self._deps)


def call(attempt: Attempt, deps: object) -> Outcome:
    """Call a sync handler here and now, and judge what it does."""
    handler = attempt.handler
    try:
        arguments = handler.decode(attempt.claimed.payload)
    except InvalidInput as error:
        return outcomes.refused(error)
    try:
        value = handler.invoke(lambda: attempt.context(deps), arguments)
    except BaseException as error:  # noqa: BLE001 - whatever user code raises ends the attempt only
        return outcomes.raised(attempt, error)
    return outcomes.returned(attempt, value)
