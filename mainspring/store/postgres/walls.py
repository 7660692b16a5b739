"""The second wall between tenants: the server itself keeps a transaction to the rows of one.

The transaction acts as the role ``mainspring_tenant``, and policies on the tables compare
each row with the setting ``mainspring.tenant``; both end with it. The main path does not come here.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NoReturn, TypeVar

import asyncpg

from mainspring.domain.errors import Forbidden, StoreNotWritable
from mainspring.ports.clock import monotonic
from mainspring.store.postgres.pool import Connection, Pool, bind, load
from mainspring.store.statements import Statement

_Result = TypeVar("_Result")
_FIND: Final = load("find_wall")
_ENTER: Final = load("enter_tenant")
#: A wall that was missing is looked for again after so long; it is raised by an administrator.
_LOOK_SECONDS: Final = 60.0


class Wall:
    """Knows whether the server has the role, and this user may act as it."""

    def __init__(self) -> None:
        self._stands = False
        self._look_at = float("-inf")

    async def enter(self, connection: Connection, tenant: str) -> None:
        """Go behind the wall, if it stands, for the rest of the transaction."""
        if not self._stands and monotonic() >= self._look_at:
            self._stands = bool(await connection.fetchval(_FIND.text))
            self._look_at = monotonic() + _LOOK_SECONDS
        if self._stands:
            await connection.fetch(_ENTER.text, *bind(_ENTER, {"tenant": tenant}))


class WalledPool(Pool):
    """A pool of which every transaction goes behind the wall of one tenant first."""

    def __init__(self, pool: Pool, wall: Wall, tenant: str) -> None:
        self._behind = pool
        self._wall = wall
        self._tenant = tenant

    async def fetch(
        self, statement: Statement, values: Mapping[str, object], *, changes: bool
    ) -> list[asyncpg.Record]:
        async def alone(connection: Connection) -> list[asyncpg.Record]:
            return await connection.fetch(statement.text, *bind(statement, values))

        return await self.transaction(alone, changes=changes)

    async def script(self, text: str) -> NoReturn:
        raise _kept_from(self._tenant)

    async def transaction(
        self, work: Callable[[Connection], Awaitable[_Result]], *, changes: bool = True
    ) -> _Result:
        async def walled(connection: Connection) -> _Result:
            await self._wall.enter(connection, self._tenant)
            return await work(connection)

        try:
            return await self._behind.transaction(walled, changes=changes)
        except StoreNotWritable as error:
            if isinstance(error.__cause__, asyncpg.InsufficientPrivilegeError):
                raise _kept_from(self._tenant) from error
            raise

    async def close(self) -> None:
        """Leave the connections to the pool that they belong to."""


def _kept_from(tenant: str) -> Forbidden:
    return Forbidden(f"the store keeps this from the tenant {tenant}")
