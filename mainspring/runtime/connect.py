"""Clients from a store's address: what ``mainspring.connect`` and ``connect_sync`` are."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from mainspring.client.blocking import Client, Portal
from mainspring.client.client import AsyncClient
from mainspring.runtime.assemble import open_client_gateway
from mainspring.runtime.settings import read_settings


@asynccontextmanager
async def connect(
    url: str | None = None, *, blobs: str | None = None, actor: str = "sdk"
) -> AsyncIterator[AsyncClient]:
    """Open a client on the store at ``url`` (else ``MAINSPRING_STORE``, else the dev store).

    >>> async with connect("sqlite:///shop.db") as client:
    ...     handle = await client.submit(send_receipt.call(order_id=7))
    ...     print(await handle.result(timeout="1m"))
    """
    async with open_client_gateway(read_settings(store=url, blobs=blobs)) as gateway:
        yield AsyncClient(gateway, actor=actor)


@contextmanager
def connect_sync(
    url: str | None = None, *, blobs: str | None = None, actor: str = "sdk"
) -> Iterator[Client]:
    """Open a client for code without an event loop; the same client, behind one thread.

    >>> with connect_sync("sqlite:///shop.db") as client:
    ...     handle = client.submit(send_receipt.call(order_id=7))
    ...     print(handle.result(timeout="1m"))
    """
    with Portal(lambda: connect(url, blobs=blobs, actor=actor)) as portal:
        yield Client(portal)
