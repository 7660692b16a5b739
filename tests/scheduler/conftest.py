import pytest

from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk


@pytest.fixture
def desk(store: Store) -> FrontDesk:
    return FrontDesk(store, blobs=None, new_id=new_job_id)
