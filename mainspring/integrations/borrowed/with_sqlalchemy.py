"""SQLAlchemy 2: Session and Connection, AsyncSession and AsyncConnection, whatever the driver.

SQLAlchemy's adapters for asyncpg and psycopg begin their transaction with the first statement that
goes through them. So everything goes through SQLAlchemy's connection and nothing past it, and then
the driver is asked whether a transaction is really open.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, TypeVar

from mainspring.integrations.borrowed.faces import (
    Blocking,
    already_open,
    not_in_transaction,
    plain_rows,
    unusable,
)
from mainspring.integrations.borrowed.with_psycopg import IDLE
from mainspring.integrations.borrowed.with_sqlite import BEGIN, commits_by_itself
from mainspring.ports.guest import Dialect, Queries, Query, Row, Style

T = TypeVar("T")

_DIALECTS: Final = {"postgresql": Dialect.POSTGRES, "sqlite": Dialect.SQLITE}
_STYLES: Final = {
    "numeric_dollar": Style.NUMBERED,
    "pyformat": Style.PYFORMAT,
    "qmark": Style.NAMED,
    "named": Style.NAMED,
}
_ADVICE: Final = (
    "its isolation level is AUTOCOMMIT; submit through a session or connection without it"
)


class SqlalchemySession(Blocking):
    """A ``Session``, a ``scoped_session`` or a ``Connection``."""

    name = "this SQLAlchemy connection"
    advice = _ADVICE

    def __init__(self, given: Any) -> None:
        # A scoped_session stands for the session of this thread, coroutine or request.
        given = given.registry() if hasattr(given, "registry") else given
        self._given = given
        bind = given if hasattr(given, "exec_driver_sql") else given.get_bind()
        dialect = bind.dialect
        if dialect.name not in _DIALECTS or dialect.paramstyle not in _STYLES:
            raise unusable(given, f"speaks {dialect.name} by {dialect.driver}: that is no store")
        self.dialect = _DIALECTS[dialect.name]
        self._style = _STYLES[dialect.paramstyle]

    @property
    def identity(self) -> object:
        return self._driver()

    def insist(self) -> None:
        driver = self._driver()
        if _is_open(driver):
            return
        if self.dialect is Dialect.POSTGRES:
            # Any statement begins it; unless in autocommit, where none ever does.
            self._connection().exec_driver_sql("SELECT 1")
        elif not commits_by_itself(driver):
            self._connection().exec_driver_sql(BEGIN)
        if not _is_open(driver):
            raise not_in_transaction(self.name, self.advice)

    def fetch(self, query: Query) -> Sequence[Row]:
        values: Any = dict(query.values)
        if self._style is Style.NUMBERED:
            values = tuple(query.ordered())
        result = self._connection().exec_driver_sql(query.texts[self._style], values or None)
        if not result.returns_rows:
            return []
        types = [column[1] for column in result.cursor.description]
        return plain_rows(result.all(), types)

    def is_open(self) -> bool:
        return bool(self._given.in_transaction())

    @contextmanager
    def begin(self) -> Iterator[object]:
        with self._given.begin():
            yield self._given

    def _connection(self) -> Any:
        is_connection = hasattr(self._given, "exec_driver_sql")
        return self._given if is_connection else self._given.connection()

    def _driver(self) -> Any:
        return self._connection().connection.driver_connection


class AsyncSqlalchemySession:
    """An ``AsyncSession``, an ``async_scoped_session`` or an ``AsyncConnection``.

    SQLAlchemy itself runs blocking code over awaiting drivers, so the class above does the work.
    """

    awaits: Final = True

    def __init__(self, given: Any) -> None:
        given = given.registry() if hasattr(given, "registry") else given
        self._given = given
        inner = getattr(given, "sync_connection", None) or getattr(given, "sync_session", None)
        if inner is None:
            raise unusable(given, "is not connected yet: await connection.start() first")
        self._inner = SqlalchemySession(inner)

    @property
    def dialect(self) -> Dialect:
        return self._inner.dialect

    @property
    def identity(self) -> object:
        return self._inner.identity

    def follow(self, queries: Queries[T]) -> T:
        raise unusable(self._given, "is used with await: call asubmit, or async with")

    async def afollow(self, queries: Queries[T]) -> T:
        def run(_inner: object) -> T:
            return self._inner.follow(queries)

        result: T = await self._given.run_sync(run)
        return result

    def transaction(self) -> Any:
        raise unusable(self._given, "is used with await: call asubmit, or async with")

    @asynccontextmanager
    async def atransaction(self) -> AsyncIterator[object]:
        if self._inner.is_open():
            raise already_open(self._inner.name)
        async with self._given.begin():
            yield self._given


def _is_open(driver: Any) -> bool:
    """Ask a driver's connection whether a transaction is open on it."""
    if hasattr(driver, "is_in_transaction"):  # asyncpg
        return bool(driver.is_in_transaction())
    if hasattr(driver, "info"):  # psycopg, psycopg2
        return int(driver.info.transaction_status) != IDLE
    return bool(driver.in_transaction)  # sqlite3, aiosqlite
