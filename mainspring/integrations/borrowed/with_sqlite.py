"""sqlite3, and aiosqlite on top of it.

Python begins a transaction by itself before a statement that changes rows, unless the connection
was opened with ``isolation_level=None``. Ours begin by looking, so here it is begun outright, and
IMMEDIATE: between the look at a submission key and the insert nobody else may write.
"""

import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from mainspring.integrations.borrowed.faces import (
    Awaiting,
    Blocking,
    not_in_transaction,
    plain_rows,
)
from mainspring.ports.guest import Dialect, Query, Row, Style

if TYPE_CHECKING:
    import aiosqlite

BEGIN: Final = "BEGIN IMMEDIATE"
_ADVICE: Final = "execute BEGIN IMMEDIATE first, or open it without isolation_level=None"


def commits_by_itself(connection: Any) -> bool:
    """Tell whether each statement outside of an explicit transaction is one of its own."""
    mode = getattr(connection, "autocommit", None)  # since Python 3.12: True, False or legacy
    return mode is True or (mode is not False and connection.isolation_level is None)


def begins_by_itself(connection: Any) -> bool:
    """Tell whether a transaction is always open (``autocommit=False``)."""
    return getattr(connection, "autocommit", None) is False


class SqliteConnection(Blocking):
    """A ``sqlite3.Connection``."""

    dialect = Dialect.SQLITE
    name = "this sqlite3 connection"
    advice = _ADVICE

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @property
    def identity(self) -> object:
        return self._connection

    def insist(self) -> None:
        if self._connection.in_transaction:
            return
        if commits_by_itself(self._connection):
            raise not_in_transaction(self.name, self.advice)
        self._connection.execute(BEGIN)

    def fetch(self, query: Query) -> Sequence[Row]:
        cursor = self._connection.cursor()
        cursor.row_factory = None
        return plain_rows(cursor.execute(query.texts[Style.NAMED], query.values).fetchall())

    def is_open(self) -> bool:
        return self._connection.in_transaction and not begins_by_itself(self._connection)

    @contextmanager
    def begin(self) -> Iterator[object]:
        if not self._connection.in_transaction:
            self._connection.execute(BEGIN)
        try:
            yield self._connection
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise


class AiosqliteConnection(Awaiting):
    """An ``aiosqlite.Connection``."""

    dialect = Dialect.SQLITE
    name = "this aiosqlite connection"
    advice = _ADVICE

    def __init__(self, connection: "aiosqlite.Connection") -> None:
        self._connection = connection

    @property
    def identity(self) -> object:
        return self._connection

    async def insist(self) -> None:
        if self._connection.in_transaction:
            return
        if commits_by_itself(self._connection):
            raise not_in_transaction(self.name, self.advice)
        await self._connection.execute(BEGIN)

    async def fetch(self, query: Query) -> Sequence[Row]:
        async with self._connection.cursor() as cursor:
            cursor.row_factory = None
            await cursor.execute(query.texts[Style.NAMED], dict(query.values))
            return plain_rows(await cursor.fetchall())

    def is_open(self) -> bool:
        return self._connection.in_transaction

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[object]:
        await self._connection.execute(BEGIN)
        try:
            yield self._connection
            await self._connection.commit()
        except BaseException:
            await self._connection.rollback()
            raise
