"""The doors before a store, opened together: the first key, and workers who know one address."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from mainspring.domain.errors import ConfigError, Unauthenticated
from mainspring.ports.entropy import new_worker_id
from mainspring.runtime.addresses import Address
from mainspring.runtime.assemble import (
    front_desk,
    open_blobs,
    open_client_gateway,
    open_store,
    open_worker_gateway,
)
from mainspring.runtime.server_node import Doors, Front, Opened, first_key
from mainspring.runtime.setting_table import Settings
from mainspring.testing.builders import new_session

ANY_PORT = Address("127.0.0.1", 0)


@pytest.fixture
async def settings(tmp_path: Path) -> Settings:
    found = Settings(store_url=f"sqlite:///{tmp_path}/store.db", blob_url="none")
    store = await open_store(found)
    await store.migrate(phase="all")
    await store.close()
    return found


@asynccontextmanager
async def opened(settings: Settings, doors: Doors) -> AsyncIterator[Opened]:
    """Open the doors for as long as the block lasts."""
    store = await open_store(settings)
    desk = front_desk(store, settings)
    stopping = asyncio.Event()
    told: asyncio.Queue[Opened] = asyncio.Queue()
    front = Front(store, desk, doors, settings, open_blobs(settings))
    async with asyncio.TaskGroup() as group:
        group.create_task(front.serve(stopping, told.put_nowait))
        try:
            yield await told.get()
        finally:
            stopping.set()
    await desk.close()


async def test_the_first_key_is_shown_once_and_opens_both_doors(settings: Settings) -> None:
    doors = Doors(http=ANY_PORT, grpc=ANY_PORT)
    async with opened(settings, doors) as front:
        assert front.first_key is not None
        there = msgspec.structs.replace(settings, store_url=front.http, key=front.first_key)
        async with open_client_gateway(there) as client:
            assert [key.name for key in await client.access.list_keys()] == ["admin"]
        async with open_worker_gateway(there) as worker:
            session = new_session(id=new_worker_id(), lease_ms=15_000)
            assert (await worker.open_session(session, [])).lease_ms == session.lease_ms
    async with opened(settings, doors) as front:
        assert front.first_key is None
        stranger = msgspec.structs.replace(settings, store_url=front.http)
        async with open_client_gateway(stranger) as client:
            with pytest.raises(Unauthenticated):
                await client.list_queues()


async def test_two_servers_at_the_same_moment_make_one_key(settings: Settings) -> None:
    stores = [await open_store(settings) for _ in range(2)]
    made = await asyncio.gather(*(first_key(store) for store in stores))
    assert sum(key is not None for key in made) == 1
    for store in stores:
        await store.close()


async def test_workers_are_told_of_a_server_without_a_door_for_them(settings: Settings) -> None:
    doors = Doors(http=ANY_PORT, grpc=None, asks_keys=False)
    async with opened(settings, doors) as front:
        there = msgspec.structs.replace(settings, store_url=front.http)
        with pytest.raises(ConfigError, match="has no door for workers"):
            async with open_worker_gateway(there):
                raise AssertionError
