"""Hints: at once inside this process, and by looking at the file for changes of other processes.

``PRAGMA data_version`` moves when *another* connection has committed; on the writer's connection
it therefore tells what other processes did, and nothing of what this store did. What they changed
is not told, so every listener is told all of its topics. Nobody listening, nobody looks.
"""

import asyncio
import contextlib
import math
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable
from typing import Final

from mainspring.store.sqlite.connection import Settings

#: After so many looks in vain the poll gets slower, and stays so until something changes: looking
#: is cheap beside the work that a change brings, and dear where nothing happens.
_PACES: Final = ((25, 0.2), (400, 1.0), (math.inf, 4.0))


class SqliteSubscription:
    """A place to wait for hints; satisfies ``Subscription``. Belongs to one event loop."""

    def __init__(self, owner: "SqliteWakeups", topics: Iterable[str]) -> None:
        self._owner = owner
        self.topics: Final = frozenset(topics)
        self._guard = threading.Lock()
        self._pending: set[str] = set()
        self._waiting: asyncio.Future[None] | None = None
        self._closed = False

    async def wait(self, timeout_seconds: float) -> frozenset[str]:
        loop = asyncio.get_running_loop()
        with self._guard:
            if self._pending or self._closed or timeout_seconds <= 0:
                return self._take()
            waiting = self._waiting = loop.create_future()
        timer = loop.call_later(timeout_seconds, _release, waiting)
        self._owner.begin_waiting()
        try:
            await waiting
        finally:
            timer.cancel()
            self._owner.end_waiting()
        with self._guard:
            self._waiting = None
            return self._take()

    def close(self) -> None:
        self._owner.forget(self)
        with self._guard:
            self._closed = True
        self._wake()

    def offer(self, topics: frozenset[str]) -> None:
        """Keep those that are listened for, and wake who waits. From any thread."""
        with self._guard:
            self._pending |= topics & self.topics
            if not self._pending:
                return
        self._wake()

    def _take(self) -> frozenset[str]:
        taken = frozenset(self._pending)
        self._pending.clear()
        return taken

    def _wake(self) -> None:
        with self._guard:
            waiting, self._waiting = self._waiting, None
        if waiting is not None:
            with contextlib.suppress(RuntimeError):  # its loop was closed
                waiting.get_loop().call_soon_threadsafe(_release, waiting)


def _release(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


class SqliteWakeups:
    """The hints of one store; satisfies ``Wakeups``, and is what its writer does when idle."""

    def __init__(self, settings: Settings, nudge: Callable[[], None]) -> None:
        self._shared = not settings.in_memory
        self._poll_seconds = settings.poll_ms / 1_000
        self._nudge = nudge
        self._guard = threading.Lock()
        self._subscriptions: set[SqliteSubscription] = set()
        self._waiting_count = 0
        self._version: int | None = None
        self._looks_in_vain = 0

    def announce(self, topics: Collection[str]) -> None:
        self._offer(frozenset(topics))

    def subscribe(self, topics: Collection[str]) -> SqliteSubscription:
        subscription = SqliteSubscription(self, topics)
        with self._guard:
            if not self._subscriptions:
                # Nobody looked until now: the next look only takes note of where things stand.
                self._version = None
            self._subscriptions.add(subscription)
        if self._shared:
            self._nudge()
        return subscription

    def forget(self, subscription: SqliteSubscription) -> None:
        """Stop telling a subscription that was closed."""
        with self._guard:
            self._subscriptions.discard(subscription)

    def close(self) -> None:
        """Release everyone who still waits."""
        with self._guard:
            subscriptions = list(self._subscriptions)
        for subscription in subscriptions:
            subscription.close()

    def begin_waiting(self) -> None:
        """Count one more who waits; the first one starts the looking."""
        with self._guard:
            self._waiting_count += 1
            first = self._waiting_count == 1
        if first and self._shared:
            self._nudge()

    def end_waiting(self) -> None:
        """Count one less who waits; without any, nobody looks."""
        with self._guard:
            self._waiting_count -= 1

    def poll_seconds(self) -> float | None:
        """Return how long the writer may wait before it looks at the file again."""
        if not self._shared or not self._waiting_count:
            return None
        return self._poll_seconds * next(
            factor for looks, factor in _PACES if self._looks_in_vain < looks
        )

    def look(self, connection: sqlite3.Connection) -> None:
        """Tell everyone when another process has changed something since the last look."""
        if not self._shared or not self._subscriptions:
            return
        try:
            version = int(connection.execute("PRAGMA data_version").fetchone()[0])
        except sqlite3.Error:
            return  # A hint may be lost; a disk that fails is told by the calls.
        changed = version != self._version and self._version is not None
        self._version = version
        self._looks_in_vain = 0 if changed else self._looks_in_vain + 1
        if changed:
            self._offer(None)

    def _offer(self, topics: frozenset[str] | None) -> None:
        with self._guard:
            subscriptions = list(self._subscriptions)
        for subscription in subscriptions:
            subscription.offer(subscription.topics if topics is None else topics)
