"""A migrated store, and every kind of caller that has a connection to it."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mainspring.client.blocking import Client
from mainspring.runtime.assemble import open_store
from mainspring.runtime.settings import Settings
from tests.transactions.shop import app
from tests.transactions.ways import TABLE, WAYS, Way, prepare_django

PATIENCE_SECONDS = 20.0


def migrate(url: str) -> None:
    async def work() -> None:
        store = await open_store(Settings(store_url=url))
        await store.migrate(phase="all")
        await store.close()

    asyncio.run(work())


@pytest.fixture
def postgres_url(database: Callable[[], str]) -> str:
    url = database()
    migrate(url)
    return url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    migrate(url)
    return url


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Iterator[Way]:
    """A caller with an open connection to a migrated store, and a table of its own there."""
    kind = WAYS[request.param]
    prepare_django()
    caller = kind(request.getfixturevalue(f"{kind.store}_url"))
    caller.open()
    _create_table(caller)
    yield caller
    caller.close()


def _create_table(caller: Way) -> None:
    caller.begin()
    caller.execute(TABLE)
    caller.commit()


@pytest.fixture
def client(way: Way) -> Iterator[Client]:
    """A client of the same store, which is the app's open door."""
    with app.connect_sync(way.url) as opened:
        yield opened
