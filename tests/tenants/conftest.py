from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.store.postgres import open_postgres
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.clock import SettableClock
from tests.tenants.neighbours import Things, names

ON_POSTGRES = [
    pytest.param(version, marks=pytest.mark.postgres, id=f"postgres-{version}")
    for version in ("15", "18")
]


@pytest.fixture(params=["sqlite", *ON_POSTGRES])
def address(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return ":memory:"
    make: Callable[[str], str] = request.getfixturevalue("migrated_database")
    return make(request.param)


@pytest.fixture
async def store(address: str, clock: SettableClock) -> AsyncIterator[Store]:
    opened: Store
    if address == ":memory:":
        opened = await open_sqlite(address, clock=clock)
        await opened.migrate(phase="all")
    else:
        opened = await open_postgres(address, clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    return LocalBlobs(str(tmp_path / "blobs"))


@pytest.fixture
def desk(store: Store, blobs: LocalBlobs) -> FrontDesk:
    return FrontDesk(store, blobs=blobs, new_id=new_job_id)


@pytest.fixture
def things() -> Things:
    return names()
