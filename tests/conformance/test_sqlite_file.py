"""The whole suite on SQLite in a file."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mainspring.ports.store import Store
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.binding import bound


@pytest.fixture
async def empty_store(clock: SettableClock, tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_sqlite(tmp_path / "store.db", clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
async def store(empty_store: Store) -> Store:
    await empty_store.migrate(phase="all")
    return empty_store


globals().update(bound(__name__))
