from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mainspring.domain.access import Principal, Right
from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import ClientGateway
from mainspring.ports.scheduling import ScheduleGateway
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.remote.desk import RemoteDesk
from mainspring.remote.http import RemoteAccess, RemoteHttp
from mainspring.server.doorkeeper import OpenDoorkeeper
from tests.loopback import serving
from tests.registry.drafts import ADA, REPORT
from tests.registry.faults import Faulty


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    return LocalBlobs(str(tmp_path / "blobs"))


@pytest.fixture
def desk(store: Store, blobs: LocalBlobs) -> FrontDesk:
    return FrontDesk(store, blobs=blobs, new_id=new_job_id)


@pytest.fixture(params=["local", "remote"])
async def gateway(request: pytest.FixtureRequest, desk: FrontDesk) -> AsyncIterator[ClientGateway]:
    """A client's door to the store in this process, and to the same one behind a server."""
    if request.param == "local":
        yield desk
        return
    async with serving(desk, KnowsAda()) as url:
        remote = RemoteDesk(RemoteHttp(RemoteAccess(url=url)), new_id=new_job_id)
        yield remote
        await remote.close()


@pytest.fixture
async def schedules(gateway: ClientGateway, store: Store) -> ScheduleGateway:
    """The part of either door that is about schedules."""
    await store.declare_handlers([REPORT])
    return gateway.schedules


class KnowsAda(OpenDoorkeeper):
    """Takes everybody for the one whom tests act as."""

    def known(self, authorization: str) -> Principal | None:
        del authorization
        return None

    async def admit(
        self, authorization: str | None, peer: str, certificate: str | None = None
    ) -> Principal:
        del authorization, peer, certificate
        return Principal(name=ADA, rights=frozenset(Right))


@pytest.fixture
def faulty(store: Store) -> Faulty:
    return Faulty(store)


@pytest.fixture
def shaky_desk(faulty: Faulty, blobs: LocalBlobs) -> FrontDesk:
    return FrontDesk(faulty, blobs=blobs, new_id=new_job_id)
