"""The doors of a node: sockets, what stands behind them, and how they close.

Invariants
----------
* A door that is not for this machine alone opens only where keys are asked for.
* On the signal the doors take no new connection, end their streams, and let what was begun end.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import uvicorn

from mainspring.domain.errors import ConfigError
from mainspring.domain.ids import show
from mainspring.ports import entropy
from mainspring.ports.gateway import ClientGateway
from mainspring.server.doorkeeper import Doorkeeper
from mainspring.server.http.asgi import Application
from mainspring.server.http.routes import TABLE

_BACKLOG: Final = 1_024
_CLOSE_SECONDS: Final = 10
_KEEP_ALIVE_SECONDS: Final = 75
_REQUEST: Final = "req"


class House:
    """What stands behind the doors: a gateway, and one that is bound for each tenant."""

    def __init__(
        self,
        gateway: ClientGateway,
        doorkeeper: Doorkeeper,
        bind: Callable[[ClientGateway, str], ClientGateway],
    ) -> None:
        """Lead to ``gateway``; ``bind`` makes one that reaches no further than a tenant."""
        self._gateway = gateway
        self._bind = bind
        self._bound: dict[str, ClientGateway] = {}
        self.doorkeeper: Final = doorkeeper

    def gateway(self, tenant: str | None) -> ClientGateway:
        """Return a gateway that reaches no further than a tenant."""
        if tenant is None:
            return self._gateway
        found = self._bound.get(tenant)
        if found is None:
            found = self._bound[tenant] = self._bind(self._gateway, tenant)
        return found

    def new_request_id(self) -> str:
        """Return a name for a request that brought none."""
        return show(_REQUEST, entropy.new_job_id())


class _Server(uvicorn.Server):
    """uvicorn without its own handling of signals: the node has them already."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


def bound_socket(address: str) -> socket.socket:
    """Return a listening socket for ``HOST:PORT``, or raise saying who is in the way."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal():
        raise ConfigError(f"http: {address!r} is no address", hint="write HOST:PORT")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, int(port)))
        found.listen(_BACKLOG)
        found.setblocking(False)
    except OSError as error:
        found.close()
        raise ConfigError(
            f"http: {address} cannot be opened: {error.strerror or error}",
            hint="choose another with --http or MAINSPRING_HTTP, or stop what listens there",
        ) from None
    return found


@asynccontextmanager
async def open_http(house: House, listening: socket.socket) -> AsyncIterator[Application]:
    """Serve REST on a socket for as long as the block lasts."""
    application = Application(TABLE, house)
    server = _Server(
        uvicorn.Config(
            application,
            http="httptools",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=_CLOSE_SECONDS,
        )
    )
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(server.serve(sockets=[listening]))
        try:
            yield application
        finally:
            application.end_streams()
            server.should_exit = True
            await asyncio.shield(serving)
