"""psycopg 3, blocking and awaiting, and psycopg2."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from mainspring.integrations.borrowed.faces import (
    Awaiting,
    Blocking,
    cursor_rows,
    not_in_transaction,
    plain_rows,
)
from mainspring.ports.guest import Dialect, Query, Row, Style

if TYPE_CHECKING:
    import psycopg

#: What libpq says of a connection on which nothing was begun.
IDLE: Final = 0


class PsycopgConnection(Blocking):
    """A ``psycopg.Connection``."""

    dialect = Dialect.POSTGRES
    name = "this psycopg connection"
    advice = "it is in autocommit mode: submit inside: with connection.transaction()"

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self._connection = connection

    @property
    def identity(self) -> object:
        return self._connection

    def insist(self) -> None:
        # Without autocommit the first statement begins a transaction by itself.
        if self._connection.autocommit and not self.is_open():
            raise not_in_transaction(self.name, self.advice)

    def fetch(self, query: Query) -> Sequence[Row]:
        from psycopg.rows import tuple_row

        with self._connection.cursor(row_factory=tuple_row) as cursor:
            # psycopg's types want literal statements; these come from files of ours.
            cursor.execute(query.texts[Style.PYFORMAT].encode(), query.values or None)
            return cursor_rows(cursor)

    def is_open(self) -> bool:
        return int(self._connection.info.transaction_status) != IDLE

    def begin(self) -> AbstractContextManager[object]:
        return self._connection.transaction()


class AsyncPsycopgConnection(Awaiting):
    """A ``psycopg.AsyncConnection``."""

    dialect = Dialect.POSTGRES
    name = "this psycopg connection"
    advice = "it is in autocommit mode: submit inside: async with connection.transaction()"

    def __init__(self, connection: "psycopg.AsyncConnection[Any]") -> None:
        self._connection = connection

    @property
    def identity(self) -> object:
        return self._connection

    async def insist(self) -> None:
        if self._connection.autocommit and not self.is_open():
            raise not_in_transaction(self.name, self.advice)

    async def fetch(self, query: Query) -> Sequence[Row]:
        from psycopg.rows import tuple_row

        async with self._connection.cursor(row_factory=tuple_row) as cursor:
            await cursor.execute(query.texts[Style.PYFORMAT].encode(), query.values or None)
            return [] if cursor.description is None else plain_rows(await cursor.fetchall())

    def is_open(self) -> bool:
        return int(self._connection.info.transaction_status) != IDLE

    def begin(self) -> AbstractAsyncContextManager[object]:
        return self._connection.transaction()


class Psycopg2Connection(Blocking):
    """A ``psycopg2`` connection."""

    dialect = Dialect.POSTGRES
    name = "this psycopg2 connection"
    advice = "it is in autocommit mode: set connection.autocommit = False"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @property
    def identity(self) -> object:
        return self._connection

    def insist(self) -> None:
        if self._connection.autocommit and not self.is_open():
            raise not_in_transaction(self.name, self.advice)

    def fetch(self, query: Query) -> Sequence[Row]:
        from psycopg2.extensions import cursor as plain_cursor

        with self._connection.cursor(cursor_factory=plain_cursor) as cursor:
            cursor.execute(query.texts[Style.PYFORMAT], query.values or None)
            return cursor_rows(cursor)

    def is_open(self) -> bool:
        return int(self._connection.info.transaction_status) != IDLE

    @contextmanager
    def begin(self) -> Iterator[object]:
        if self._connection.autocommit:
            raise not_in_transaction(self.name, self.advice)
        with self._connection:
            yield self._connection
