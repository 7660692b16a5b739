"""Both kinds of stores, with a clock that tests set."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mainspring.ports.store import Store
from mainspring.store.postgres import open_postgres
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.clock import SettableClock
from tests.conftest import MakeDatabase


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def store(request: pytest.FixtureRequest, clock: SettableClock) -> AsyncIterator[Store]:
    opened: Store
    if request.param == "sqlite":
        opened = await open_sqlite(":memory:", clock=clock)
    else:
        database: MakeDatabase = request.getfixturevalue("database")
        opened = await open_postgres(database(), clock=clock)
    await opened.migrate(phase="all")
    yield opened
    await opened.close()


def files_below(folder: Path) -> list[str]:
    """Names of everything that lies in a folder of objects."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())
