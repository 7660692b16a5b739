"""The threads that own connections: they carry out queued calls, a group a transaction."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import NamedTuple, Protocol

from mainspring.store.sqlite.calls import Call, deliver, units_of
from mainspring.store.sqlite.failures import translate
from mainspring.store.sqlite.patience import insist
from mainspring.store.sqlite.unit import Unit


class Idle(Protocol):
    """What a thread does for others while it has no calls."""

    def poll_seconds(self) -> float | None:
        """Return how long it may wait for a call; ``None``: as long as it takes."""
        ...

    def look(self, connection: sqlite3.Connection) -> None:
        """Look at the database, between transactions."""
        ...


class Duty(NamedTuple):
    """How a thread works."""

    name: str
    address: str
    connect: Callable[[], sqlite3.Connection]
    now_us: Callable[[], int]
    begin: str
    #: Calls in one transaction at most.
    calls_max: int
    busy_timeout_ms: int
    idle: Idle | None = None


class _GroupUndone(Exception):
    """SQLite has rolled back the whole transaction, not one statement (disk full, I/O error)."""


class _Stop(NamedTuple):
    """The last entry of a queue."""


class Inbox:
    """Where calls wait for one or several threads."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Call | _Stop | None] = SimpleQueue()

    def put(self, call: Call) -> None:
        """Queue a call."""
        self._queue.put(call)

    def nudge(self) -> None:
        """Make a waiting thread look at how long it may wait."""
        self._queue.put(None)

    def stop(self) -> None:
        """Let one thread end after everything that was queued before."""
        self._queue.put(_Stop())

    def length(self) -> int:
        """Return how many calls wait, about."""
        return self._queue.qsize()

    def take(self, calls_max: int, timeout_seconds: float | None) -> tuple[list[Call], bool]:
        """Return what is queued, waiting for the first; and whether to stop after it."""
        taken: list[Call] = []
        try:
            entry = self._queue.get(timeout=timeout_seconds)
            while True:
                if isinstance(entry, _Stop):
                    return taken, True
                if entry is not None:
                    taken.append(entry)
                if len(taken) >= calls_max:
                    return taken, False
                entry = self._queue.get_nowait()
        except Empty:
            return taken, False


class DatabaseThread:
    """One thread with one connection. Everything it is asked goes through its inbox."""

    def __init__(self, duty: Duty, inbox: Inbox) -> None:
        self._duty = duty
        self._inbox = inbox
        self._connection: sqlite3.Connection | None = None
        self._thread = threading.Thread(target=self._live, name=duty.name, daemon=True)
        self._loop = asyncio.get_running_loop()
        self.opened: asyncio.Future[None] = self._loop.create_future()
        self._thread.start()

    @property
    def connection(self) -> sqlite3.Connection:
        """Return the connection; only this thread may use it."""
        assert self._connection is not None, "calls are taken only while it is open"
        return self._connection

    def join(self) -> None:
        """Wait until it has ended; its inbox must have been told to stop."""
        self._thread.join()

    def _tell(self, future: asyncio.Future[None], error: BaseException | None = None) -> None:
        def resolve() -> None:
            if future.done():
                return
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)

        try:
            self._loop.call_soon_threadsafe(resolve)
        except RuntimeError:
            return  # The loop was closed; nobody waits.

    def _live(self) -> None:
        try:
            self._connection = self._duty.connect()
        except Exception as error:  # noqa: BLE001 - whatever it is, the opener must be told
            self._tell(self.opened, translate(error, self._duty.address))
            return
        self._tell(self.opened)
        try:
            self._serve()
        finally:
            self._connection.close()

    def _serve(self) -> None:
        duty = self._duty
        stopping = False
        while not stopping:
            timeout = duty.idle.poll_seconds() if duty.idle else None
            calls, stopping = self._inbox.take(duty.calls_max, timeout)
            if calls:
                self._carry_out(calls)
                deliver(calls)
                calls.clear()
            if duty.idle is not None:
                duty.idle.look(self.connection)

    def _carry_out(self, calls: list[Call]) -> None:
        """Answer every call, or give every call its error; never raise."""
        units = units_of(calls)
        if not units:
            return
        duty = self._duty
        committing = False
        try:
            insist(partial(self.connection.execute, duty.begin), duty.busy_timeout_ms)
            alone = len(units) == 1 and len(units[0]) == 1
            unit_of_work = Unit(self.connection, duty.now_us())
            for unit in units:
                self._one_unit(unit, unit_of_work, alone=alone)
            if self.connection.in_transaction:
                committing = True
                self.connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - whatever it is, the callers must be told
            self._undo()
            cause = error.__cause__ if isinstance(error, _GroupUndone) else error
            for call in calls:
                call.error = self._translated(cause or error, committing=committing)

    def _one_unit(self, calls: Sequence[Call], unit: Unit, *, alone: bool) -> None:
        """Carry out one call, or several that share their work; its failure stays its own."""
        if not alone:
            self.connection.execute("SAVEPOINT unit")
        try:
            _answer(calls, unit)
        except Exception as error:
            if not self.connection.in_transaction:
                raise _GroupUndone from error
            if alone:
                self.connection.execute("ROLLBACK")
            else:
                self.connection.execute("ROLLBACK TO unit")
                self.connection.execute("RELEASE unit")
            if len(calls) == 1:
                calls[0].error = self._translated(error)
                return
            # One of them spoilt it for all: each alone, so that only that one fails.
            for call in calls:
                self._one_unit([call], unit, alone=False)
            return
        if not alone:
            self.connection.execute("RELEASE unit")

    def _translated(self, error: BaseException, *, committing: bool = False) -> BaseException:
        return translate(error, self._duty.address, committing=committing)

    def _undo(self) -> None:
        if not self.connection.in_transaction:
            return
        try:
            self.connection.execute("ROLLBACK")
        except sqlite3.Error:
            # SQLite undoes what is left open with the next BEGIN or when the connection closes.
            return


def _answer(calls: Sequence[Call], unit: Unit) -> None:
    first = calls[0]
    if first.joined is not None:
        answers = first.joined(unit, [call.given for call in calls])
        for call, answer in zip(calls, answers, strict=True):
            call.answer = answer
    else:
        assert first.work is not None, "a call has work, alone or joined"
        first.answer = first.work(unit)
