from collections.abc import AsyncIterator

import pytest

from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.clock import SettableClock


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
async def store(clock: SettableClock) -> AsyncIterator[Store]:
    opened = await open_sqlite(":memory:", clock=clock)
    await opened.migrate(phase="all")
    yield opened
    await opened.close()


@pytest.fixture
def desk(store: Store) -> FrontDesk:
    return FrontDesk(store, blobs=None, new_id=new_job_id)
