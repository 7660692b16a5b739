"""Clients from a store's address: what ``mainspring.connect`` and ``connect_sync`` are."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)

from mainspring.client import blocking, client
from mainspring.client.door import LoopDoor
from mainspring.client.portal import Portal
from mainspring.domain.names import check_key
from mainspring.runtime.assemble import open_client_gateway
from mainspring.runtime.settings import read_settings


class AsyncClient(client.AsyncClient):
    """All that an application asks of Mainspring, awaited."""

    @classmethod
    def from_env(cls, *, actor: str = "sdk") -> AbstractAsyncContextManager["AsyncClient"]:
        """Open a client on the store of the settings: ``MAINSPRING_STORE``, or the dev store.

        >>> async with AsyncClient.from_env() as client:
        ...     job = await client.jobs.get(job_id)
        """
        return connect(actor=actor)


class Client(blocking.Client):
    """``AsyncClient`` for code without an event loop: the same methods, each of which waits."""

    @classmethod
    def from_env(cls, *, actor: str = "sdk") -> AbstractContextManager["Client"]:
        """Open a client on the store of the settings: ``MAINSPRING_STORE``, or the dev store."""
        return connect_sync(actor=actor)


@asynccontextmanager
async def connect(
    url: str | None = None, *, blobs: str | None = None, actor: str = "sdk"
) -> AsyncIterator[AsyncClient]:
    """Open a client on the store at ``url`` (else ``MAINSPRING_STORE``, else the dev store).

    >>> async with connect("sqlite:///shop.db") as client:
    ...     handle = await client.submit(send_receipt.call(order_id=7))
    ...     print(await handle.aresult(timeout="1m"))
    """
    async with open_door(url, blobs=blobs, actor=actor) as door:
        yield AsyncClient(door)


@contextmanager
def connect_sync(
    url: str | None = None, *, blobs: str | None = None, actor: str = "sdk"
) -> Iterator[Client]:
    """Open a client for code without an event loop; its loop lives on a thread of its own.

    >>> with connect_sync("sqlite:///shop.db") as client:
    ...     handle = client.submit(send_receipt.call(order_id=7))
    ...     print(handle.result(timeout="1m"))
    """
    with open_portal(url, blobs=blobs, actor=actor) as portal:
        yield Client(portal.door)


@asynccontextmanager
async def open_door(
    url: str | None = None, *, blobs: str | None = None, actor: str = "sdk", is_apart: bool = False
) -> AsyncIterator[LoopDoor]:
    """Open a gateway to a store, and the door to it on this loop."""
    async with open_client_gateway(read_settings(store=url, blobs=blobs)) as gateway:
        loop = asyncio.get_running_loop()
        door = LoopDoor(gateway, loop, actor=check_key("actor", actor), is_apart=is_apart)
        try:
            yield door
        finally:
            door.close()


def open_portal(url: str | None = None, *, blobs: str | None = None, actor: str = "sdk") -> Portal:
    """Return a portal, to be entered, with a door to a store."""
    return Portal(lambda: open_door(url, blobs=blobs, actor=actor, is_apart=True))
