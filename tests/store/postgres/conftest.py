"""A migrated store of its own for each test, on the oldest and the newest server."""

from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol, cast

import asyncpg
import pytest

from mainspring.store.postgres import Options, PostgresStore, open_postgres


@pytest.fixture(params=["15", "18"])
def version(request: pytest.FixtureRequest) -> str:
    return cast("str", request.param)


@pytest.fixture
def empty_dsn(version: str, database: Callable[[str], str]) -> str:
    """The address of an empty database."""
    return database(version)


@pytest.fixture
def dsn(version: str, migrated_database: Callable[[str], str]) -> str:
    """The address of a migrated database."""
    return migrated_database(version)


class Connect(Protocol):
    async def __call__(self, dsn: str | None = None) -> "asyncpg.Connection[asyncpg.Record]": ...


@pytest.fixture
async def connect(dsn: str) -> AsyncIterator[Connect]:
    """Connect past the store; closed after the test, however it ends."""
    own = dsn
    made: list[asyncpg.Connection[asyncpg.Record]] = []

    async def make(dsn: str | None = None) -> "asyncpg.Connection[asyncpg.Record]":
        made.append(await asyncpg.connect(dsn or own))
        return made[-1]

    yield make
    for connection in made:
        await connection.close()


class OpenStore(Protocol):
    async def __call__(self, dsn: str, **options: Any) -> PostgresStore: ...


@pytest.fixture
async def open_store() -> AsyncIterator[OpenStore]:
    """Open stores with options of your own; they are closed after the test."""
    opened: list[PostgresStore] = []

    async def make(dsn: str, **options: Any) -> PostgresStore:
        opened.append(await open_postgres(dsn, options=Options(**options)))
        return opened[-1]

    yield make
    for store in opened:
        await store.close()


@pytest.fixture
async def store(dsn: str) -> AsyncIterator[PostgresStore]:
    opened = await open_postgres(dsn)
    yield opened
    await opened.close()


@pytest.fixture
async def other_store(dsn: str) -> AsyncIterator[PostgresStore]:
    """A second process, so to say."""
    opened = await open_postgres(dsn)
    yield opened
    await opened.close()


@pytest.fixture
async def raw(dsn: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(dsn)
    yield connection
    await connection.close()
