"""A server on this machine for tests: on the same loop, or in a thread of its own."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from mainspring.ports.gateway import ClientGateway
from mainspring.registry.bound import bound_desk
from mainspring.runtime.addresses import Address, listen
from mainspring.runtime.assemble import open_client_gateway
from mainspring.runtime.serving import House, Tls, open_http
from mainspring.runtime.setting_table import Settings
from mainspring.server.doorkeeper import Doorkeeper, OpenDoorkeeper
from mainspring.server.events import Hub


@asynccontextmanager
async def serving(
    gateway: ClientGateway,
    doorkeeper: Doorkeeper | None = None,
    *,
    hub: Hub | None = None,
    tls: Tls | None = None,
) -> AsyncIterator[str]:
    """Serve a gateway on a port that was free; yield the address."""
    listening = listen("http", Address("127.0.0.1", 0))
    port: int = listening.getsockname()[1]
    house = House(gateway, doorkeeper or OpenDoorkeeper(), bound_desk, hub=hub)
    async with open_http(house, listening, tls):
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{port}"


@contextmanager
def serving_apart(store_url: str) -> Iterator[str]:
    """Serve a store from a thread, for code that blocks; yield the address."""
    opened: list[str] = []
    stops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
    ready = threading.Event()

    async def serve() -> None:
        stop = asyncio.Event()
        stops.append((asyncio.get_running_loop(), stop))
        async with (
            open_client_gateway(Settings(store_url=store_url)) as gateway,
            serving(gateway) as url,
        ):
            opened.append(url)
            ready.set()
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        finally:
            ready.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait(30)
    try:
        yield opened[0]
    finally:
        loop, stop = stops[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
