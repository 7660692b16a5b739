from pathlib import Path

import pytest

from mainspring.dispatcher.gateway import LocalGateway
from mainspring.dispatcher.judgement import fixed_dice
from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from tests.dispatcher.doors import Faulty, MakeGateway, Seconds


@pytest.fixture
def faulty(store: Store) -> Faulty:
    return Faulty(store)


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    return LocalBlobs(str(tmp_path / "blobs"))


@pytest.fixture
def seconds() -> Seconds:
    """The monotonic clock of the gateways: stands still until a test moves it."""
    return Seconds()


@pytest.fixture
def make_gateway(faulty: Faulty, blobs: LocalBlobs, seconds: Seconds) -> MakeGateway:
    def make() -> LocalGateway:
        return LocalGateway(
            faulty, blobs=blobs, dice=fixed_dice(lambda: 0.0, new_job_id), monotonic=seconds
        )

    return make


@pytest.fixture
def gateway(make_gateway: MakeGateway) -> LocalGateway:
    return make_gateway()
