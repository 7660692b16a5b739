from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mainspring.store.sqlite import SqliteStore, open_sqlite
from mainspring.testing.clock import SettableClock


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def store(path: Path, clock: SettableClock) -> AsyncIterator[SqliteStore]:
    opened = await open_sqlite(path, clock=clock)
    await opened.migrate(phase="all")
    yield opened
    await opened.close()
