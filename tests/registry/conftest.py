from pathlib import Path

import pytest

from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from tests.registry.faults import Faulty


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    return LocalBlobs(str(tmp_path / "blobs"))


@pytest.fixture
def desk(store: Store, blobs: LocalBlobs) -> FrontDesk:
    return FrontDesk(store, blobs=blobs, new_id=new_job_id)


@pytest.fixture
def faulty(store: Store) -> Faulty:
    return Faulty(store)


@pytest.fixture
def shaky_desk(faulty: Faulty, blobs: LocalBlobs) -> FrontDesk:
    return FrontDesk(faulty, blobs=blobs, new_id=new_job_id)
