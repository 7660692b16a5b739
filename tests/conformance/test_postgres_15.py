"""The whole suite on PostgreSQL 15."""

from collections.abc import AsyncIterator

import pytest

from mainspring.ports.store import Store
from mainspring.store.postgres import open_postgres
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.binding import bound
from tests.conftest import MakeDatabase

pytestmark = pytest.mark.postgres


@pytest.fixture
async def empty_store(clock: SettableClock, database: MakeDatabase) -> AsyncIterator[Store]:
    opened = await open_postgres(database("15"), clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
def migrated_dsn(migrated_database: MakeDatabase) -> str:
    return migrated_database("15")


@pytest.fixture
async def store(clock: SettableClock, migrated_dsn: str) -> AsyncIterator[Store]:
    opened = await open_postgres(migrated_dsn, clock=clock)
    yield opened
    await opened.close()


globals().update(bound(__name__))
