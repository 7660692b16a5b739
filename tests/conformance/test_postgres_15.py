"""The whole suite on PostgreSQL 15."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Protocol

import pytest

from mainspring.ports.store import Store
from mainspring.store.postgres import open_postgres
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.binding import bound
from mainspring.testing.servers import Databases

pytestmark = pytest.mark.postgres


class MakeDatabase(Protocol):
    def __call__(self, version: str, *, template: str | None = None) -> str: ...


async def _migrate(dsn: str) -> None:
    opened = await open_postgres(dsn)
    await opened.migrate(phase="all")
    await opened.close()


@pytest.fixture(scope="session")
def template(postgres_15: Databases) -> Iterator[str]:
    """A migrated database to copy: several times faster than to migrate for every test."""
    dsn = postgres_15.create()
    asyncio.run(_migrate(dsn))
    yield dsn
    postgres_15.drop(dsn)


@pytest.fixture
async def empty_store(clock: SettableClock, database: MakeDatabase) -> AsyncIterator[Store]:
    opened = await open_postgres(database("15"), clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
async def store(
    clock: SettableClock, database: MakeDatabase, template: str
) -> AsyncIterator[Store]:
    opened = await open_postgres(database("15", template=template), clock=clock)
    yield opened
    await opened.close()


globals().update(bound(__name__))
