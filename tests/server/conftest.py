from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from tests.loopback import serving


class Watch:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
async def desk(store: Store, tmp_path: Path) -> FrontDesk:
    """What stands behind the door: a desk that knows no kind."""
    blobs = LocalBlobs(str(tmp_path / "blobs"))
    return FrontDesk(store, blobs=blobs, new_id=new_job_id)


@pytest.fixture
async def front(desk: FrontDesk) -> AsyncIterator[httpx.AsyncClient]:
    """The door itself, over a real socket, by a client that is not ours."""
    async with (
        serving(desk) as url,
        httpx.AsyncClient(base_url=f"{url}/api/v1", timeout=30, trust_env=False) as client,
    ):
        yield client


def problem(answer: httpx.Response) -> dict[str, Any]:
    """The problem document of an answer."""
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert found["status"] == answer.status_code
    assert found["request_id"] == answer.headers["x-request-id"]
    return found
