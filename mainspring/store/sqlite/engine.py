"""One database with its threads and its clock: what every part of the store works through."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

from mainspring.domain.errors import ConnectionFailed, LimitReached
from mainspring.domain.limits import WAITING_CALLS_MAX
from mainspring.ports.clock import Clock, utc_now
from mainspring.store.sqlite.calls import Call, Joined, deliver
from mainspring.store.sqlite.connection import Settings, connect, prepare_path
from mainspring.store.sqlite.instants import to_us
from mainspring.store.sqlite.threads import DatabaseThread, Duty, Inbox
from mainspring.store.sqlite.unit import Unit
from mainspring.store.sqlite.wakeups import SqliteWakeups

T = TypeVar("T")
Given = TypeVar("Given")
Answer = TypeVar("Answer")

#: Calls in one commit at most: bounds how long the first of them waits.
_GROUP_CALLS_MAX: Final = 1_000
#: Calls that may wait for a thread before new ones are refused.
#: Two, so that one long list does not hold up the short look-ups.
_READERS: Final = 2


class Engine:
    """Carries calls to the writer or to a reader, and brings back their answers."""

    def __init__(self, settings: Settings, clock: Clock | None) -> None:
        self.settings: Final = settings
        self._now = utc_now if clock is None else clock.now
        self._writes = Inbox()
        # In memory there is one connection: everything goes through it.
        self._reads = self._writes if settings.in_memory else Inbox()
        self._threads: list[DatabaseThread] = []
        self._closed = False
        self.wakeups: Final = SqliteWakeups(settings, self._writes.nudge)

    async def open(self) -> None:
        """Start the threads and open their connections, or raise what is wrong."""
        await asyncio.to_thread(prepare_path, self.settings)
        try:
            await self._start(self._writes, "writer", "BEGIN IMMEDIATE", _GROUP_CALLS_MAX)
            if self._reads is not self._writes:
                for _ in range(_READERS):
                    await self._start(self._reads, "reader", "BEGIN", 1)
        except BaseException:
            await self.close()
            raise

    async def _start(self, inbox: Inbox, name: str, begin: str, calls_max: int) -> None:
        duty = Duty(
            name=f"mainspring-sqlite-{name}",
            address=self.settings.path,
            connect=partial(connect, self.settings, patient=name != "writer"),
            now_us=self.now_us,
            begin=begin,
            calls_max=calls_max,
            busy_timeout_ms=self.settings.busy_timeout_ms,
            idle=self.wakeups if name == "writer" else None,
        )
        thread = DatabaseThread(duty, inbox)
        await thread.opened
        self._threads.append(thread)

    def now_us(self) -> int:
        """Return the store's clock."""
        return to_us(self._now())

    async def write(self, work: Callable[[Unit], T]) -> T:
        """Carry out a change; the answer comes after its commit."""
        answer: T = await self._ask(self._writes, Call(work))
        return answer

    async def write_joined(self, joined: Joined[Given, Answer], given: Given) -> Answer:
        """Carry out a change together with others of its kind that wait at the same time."""
        answer: Answer = await self._ask(self._writes, Call(None, joined, given))
        return answer

    async def read(self, work: Callable[[Unit], T]) -> T:
        """Look at one consistent state, without holding up the writer."""
        answer: T = await self._ask(self._reads, Call(work))
        return answer

    def _ask(self, inbox: Inbox, call: Call) -> asyncio.Future[Any]:
        if self._closed:
            raise self._closed_error()
        if inbox.length() >= WAITING_CALLS_MAX:
            raise LimitReached(
                f"{WAITING_CALLS_MAX} calls wait for the store {self.settings.path}",
                hint="submit in batches, or less at a time",
            )
        inbox.put(call)
        return call.future

    async def close(self) -> None:
        """Finish what was accepted, then let go of threads and files. Again is harmless."""
        self._closed = True
        threads, self._threads = self._threads, []
        self.wakeups.close()
        # The writer was first and goes last: the last connection tidies the WAL away.
        await self._end(self._reads, threads[1:])
        await self._end(self._writes, threads[:1])

    async def _end(self, inbox: Inbox, threads: list[DatabaseThread]) -> None:
        for _ in threads:
            inbox.stop()
        for thread in threads:
            await asyncio.to_thread(thread.join)
        # What another event loop put in after the end was called is refused, not forgotten.
        late, _ = inbox.take(WAITING_CALLS_MAX, 0)
        for call in late:
            call.error = self._closed_error()
        deliver(late)

    def _closed_error(self) -> ConnectionFailed:
        return ConnectionFailed(f"the store {self.settings.path} is closed", hint="open it again")
