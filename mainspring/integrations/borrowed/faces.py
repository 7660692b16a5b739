"""What all borrowed connections share: following queries, and the words of refusal."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from typing import Any, Final, TypeVar
from uuid import UUID

from mainspring.domain.errors import Conflict, InvalidInput, NotInTransaction
from mainspring.ports.guest import Dialect, Queries, Query, Row

T = TypeVar("T")

#: PostgreSQL's number for the type uuid, where a driver hands it out as text.
_UUID_TYPE: Final = 2950


class Blocking:
    """A connection whose calls block."""

    awaits: Final = False
    dialect: Dialect
    #: What messages call it, and how its owner begins a transaction.
    name: str
    advice: str

    @property
    def identity(self) -> object:
        """Return the object that stands for the physical connection."""
        raise NotImplementedError

    def insist(self) -> None:
        """Raise ``NotInTransaction`` unless what runs next belongs to a transaction."""
        raise NotImplementedError

    def fetch(self, query: Query) -> Sequence[Row]:
        """Run one query."""
        raise NotImplementedError

    def is_open(self) -> bool:
        """Tell whether a transaction is open now."""
        raise NotImplementedError

    def begin(self) -> AbstractContextManager[object]:
        """Begin a transaction as its owner would."""
        raise NotImplementedError

    def follow(self, queries: Queries[T]) -> T:
        """Run queries in the open transaction."""
        self.insist()
        rows: Sequence[Row] | None = None
        while True:
            try:
                query: Query = next(queries) if rows is None else queries.send(rows)
            except StopIteration as end:
                result: T = end.value
                return result
            rows = self.fetch(query)

    async def afollow(self, queries: Queries[T]) -> T:
        """Refuse: the loop would stand still meanwhile."""
        raise InvalidInput(
            f"{self.name} blocks, so nothing can be awaited on it",
            hint="call submit, and with ctx.transaction(...), in a function that may block",
        )

    @contextmanager
    def transaction(self) -> Iterator[object]:
        """Begin a transaction, and end it with the block."""
        if self.is_open():
            raise already_open(self.name)
        with self.begin() as begun:
            yield begun

    def atransaction(self) -> AbstractAsyncContextManager[object]:
        """Refuse: the loop would stand still meanwhile."""
        raise InvalidInput(
            f"{self.name} blocks, so nothing can be awaited on it",
            hint="write: with ctx.transaction(...), in a function that may block",
        )


class Awaiting:
    """A connection whose calls are awaited."""

    awaits: Final = True
    dialect: Dialect
    name: str
    advice: str

    @property
    def identity(self) -> object:
        """Return the object that stands for the physical connection."""
        raise NotImplementedError

    async def insist(self) -> None:
        """Raise ``NotInTransaction`` unless what runs next belongs to a transaction."""
        raise NotImplementedError

    async def fetch(self, query: Query) -> Sequence[Row]:
        """Run one query."""
        raise NotImplementedError

    def is_open(self) -> bool:
        """Tell whether a transaction is open now."""
        raise NotImplementedError

    def begin(self) -> AbstractAsyncContextManager[object]:
        """Begin a transaction as its owner would."""
        raise NotImplementedError

    def follow(self, queries: Queries[T]) -> T:
        """Refuse: an answer cannot be had without a loop."""
        raise InvalidInput(
            f"{self.name} is used with await", hint="call: await job.using(...).asubmit(...)"
        )

    async def afollow(self, queries: Queries[T]) -> T:
        """Run queries in the open transaction."""
        await self.insist()
        rows: Sequence[Row] | None = None
        while True:
            try:
                query: Query = next(queries) if rows is None else queries.send(rows)
            except StopIteration as end:
                result: T = end.value
                return result
            rows = await self.fetch(query)

    def transaction(self) -> AbstractContextManager[object]:
        """Refuse: an answer cannot be had without a loop."""
        raise InvalidInput(
            f"{self.name} is used with await", hint="write: async with ctx.transaction(...)"
        )

    @asynccontextmanager
    async def atransaction(self) -> AsyncIterator[object]:
        """Begin a transaction, and end it with the block."""
        if self.is_open():
            raise already_open(self.name)
        async with self.begin() as begun:
            yield begun


def not_in_transaction(name: str, advice: str) -> NotInTransaction:
    """Return the error for a connection that commits each statement by itself."""
    return NotInTransaction(f"no transaction is open on {name}", hint=advice)


def already_open(name: str) -> Conflict:
    """Return the error for a transaction whose end is somebody else's."""
    return Conflict(
        f"a transaction is open already on {name}, so its end is not for ctx.transaction to decide",
        hint="enter ctx.transaction before the first statement, or commit before it",
    )


def unusable(found: object, why: str) -> InvalidInput:
    """Return the error for an object in whose transaction nothing can be done."""
    kind = type(found)
    return InvalidInput(
        f"a {kind.__module__}.{kind.__qualname__} {why}",
        hint="give a connection or session of psycopg, asyncpg, sqlite3, SQLAlchemy or Django",
    )


def plain_rows(found: Iterable[Sequence[Any]], types: Sequence[object] = ()) -> list[Row]:
    """Return rows as the store expects them; ``types`` are those of the columns, where known."""
    uuids = frozenset(place for place, kind in enumerate(types) if kind == _UUID_TYPE)
    return [
        tuple(_plain(value, is_uuid=place in uuids) for place, value in enumerate(row))
        for row in found
    ]


def _plain(value: Any, *, is_uuid: bool) -> Any:
    if isinstance(value, UUID):
        return value.bytes
    if isinstance(value, memoryview):
        return bytes(value)
    if is_uuid and isinstance(value, str):
        return UUID(value).bytes
    return value


def cursor_rows(cursor: Any) -> list[Row]:
    """Return what a cursor of the usual kind (PEP 249) has found."""
    if cursor.description is None:
        return []
    return plain_rows(cursor.fetchall(), [column[1] for column in cursor.description])
