"""A store in memory without threads: each call is carried out where it is made, before it returns.

For tests. Nothing that is awaited here ever waits, so the store serves code with and without an
event loop, from any thread, and what happens has one order. The statements, the transactions and
the clock are those of every other SQLite store.
"""

import sqlite3
import threading
from collections.abc import Callable
from typing import TypeVar

from mainspring.domain.errors import ConnectionFailed
from mainspring.ports.clock import Clock
from mainspring.store.sqlite.calls import Joined
from mainspring.store.sqlite.connection import MEMORY, Settings, connect
from mainspring.store.sqlite.engine import Engine
from mainspring.store.sqlite.failures import translate
from mainspring.store.sqlite.unit import Unit

T = TypeVar("T")
Given = TypeVar("Given")
Answer = TypeVar("Answer")


class DirectEngine(Engine):
    """One connection in memory; whoever calls does the work."""

    def __init__(self, clock: Clock | None) -> None:
        super().__init__(Settings(MEMORY), clock)
        self._connection: sqlite3.Connection | None = None
        # Handlers may run in threads: one transaction at a time.
        self._one_at_a_time = threading.Lock()

    async def open(self) -> None:
        """Open the connection."""
        self._connection = connect(self.settings, patient=True)

    async def write(self, work: Callable[[Unit], T]) -> T:
        """Carry out a change; it is committed when this returns."""
        with self._one_at_a_time:
            return self._carry_out(work)

    async def read(self, work: Callable[[Unit], T]) -> T:
        """Look at one consistent state: nobody else changes it meanwhile."""
        with self._one_at_a_time:
            return self._carry_out(work, in_transaction=False)

    async def write_joined(self, joined: Joined[Given, Answer], given: Given) -> Answer:
        """Carry out a change; nobody ever waits here whose change could join it."""
        return await self.write(lambda unit: joined(unit, [given])[0])

    async def close(self) -> None:
        """Let go of the connection, and with it of everything."""
        self.wakeups.close()
        with self._one_at_a_time:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _carry_out(self, work: Callable[[Unit], T], *, in_transaction: bool = True) -> T:
        connection = self._connection
        if connection is None:
            raise ConnectionFailed("this store in memory is closed", hint="open it again")
        try:
            if in_transaction:
                connection.execute("BEGIN IMMEDIATE")
            answer = work(Unit(connection, self.now_us()))
            if in_transaction:
                connection.execute("COMMIT")
        except BaseException as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            told = translate(error, self.settings.path)
            if told is error:
                raise
            raise told from error
        return answer
