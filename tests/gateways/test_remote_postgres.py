"""The gateway over gRPC, to a server on PostgreSQL."""

from collections.abc import AsyncIterator

import pytest

from mainspring.ports.blobs import BlobStore
from mainspring.ports.store import Store
from mainspring.remote.gateway import RemoteGateway
from mainspring.store.postgres import open_postgres
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.gateways import MakeGateway
from mainspring.testing.conformance.gateways_binding import bound_gateways
from tests.conftest import MakeDatabase
from tests.gateways.loopback import gateway_to, serving

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
async def make_gateway(store: Store, blobs: BlobStore) -> AsyncIterator[MakeGateway]:
    made: list[RemoteGateway] = []
    async with serving(store, blobs) as door:

        def make() -> RemoteGateway:
            made.append(gateway_to(door.port))
            return made[-1]

        yield make
        for gateway in made:
            await gateway.close()


globals().update(bound_gateways(__name__))
