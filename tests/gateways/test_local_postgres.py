"""The local gateway on PostgreSQL."""

from collections.abc import AsyncIterator

import pytest

from mainspring.dispatcher.gateway import LocalGateway
from mainspring.dispatcher.judgement import fixed_dice
from mainspring.ports.blobs import BlobStore
from mainspring.ports.clock import monotonic
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.store.postgres import open_postgres
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.gateways import MakeGateway
from mainspring.testing.conformance.gateways_binding import bound_gateways
from tests.conftest import MakeDatabase

pytestmark = pytest.mark.postgres


@pytest.fixture
def dsn(migrated_database: MakeDatabase) -> str:
    return migrated_database()


@pytest.fixture
async def store(clock: SettableClock, dsn: str) -> AsyncIterator[Store]:
    opened = await open_postgres(dsn, clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
def make_gateway(store: Store, blobs: BlobStore) -> MakeGateway:
    def make() -> LocalGateway:
        dice = fixed_dice(lambda: 0.0, new_job_id)
        return LocalGateway(store, blobs=blobs, dice=dice, monotonic=monotonic)

    return make


globals().update(bound_gateways(__name__))
