"""asyncpg: a connection, or one that a pool has lent."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from mainspring.integrations.borrowed.faces import Awaiting, not_in_transaction, plain_rows
from mainspring.ports.guest import Dialect, Query, Row, Style

if TYPE_CHECKING:
    import asyncpg


class AsyncpgConnection(Awaiting):
    """An ``asyncpg.Connection``, or a pool's proxy of one."""

    dialect = Dialect.POSTGRES
    name = "this asyncpg connection"
    advice = "submit inside: async with connection.transaction()"

    def __init__(self, connection: "asyncpg.Connection[Any]") -> None:
        self._connection = connection

    @property
    def identity(self) -> object:
        # A pool lends the same connection under a new proxy each time.
        return getattr(self._connection, "_con", None) or self._connection

    async def insist(self) -> None:
        if not self.is_open():
            raise not_in_transaction(self.name, self.advice)

    async def fetch(self, query: Query) -> Sequence[Row]:
        found = await self._connection.fetch(query.texts[Style.NUMBERED], *query.ordered())
        return plain_rows(tuple(row.values()) for row in found)

    def is_open(self) -> bool:
        return self._connection.is_in_transaction()

    def begin(self) -> AbstractAsyncContextManager[object]:
        return self._connection.transaction()
