"""The doors of a node: sockets, what stands behind them, and how they close.

Invariants
----------
* A door beyond this machine opens only where keys are asked for, and in plain text only where
  somebody said that a proxy in front of it has the encryption.
* On the signal the doors take no new connection, end their streams, and let what was begun end.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mainspring.domain.errors import ConfigError
from mainspring.domain.ids import show
from mainspring.ports import entropy
from mainspring.ports.gateway import ClientGateway
from mainspring.runtime.addresses import Address
from mainspring.server.doorkeeper import Doorkeeper
from mainspring.server.events import Hub
from mainspring.server.http.asgi import Application
from mainspring.server.http.routes import TABLE

_CLOSE_SECONDS: Final = 10
_KEEP_ALIVE_SECONDS: Final = 75
_REQUEST: Final = "req"
_HEAD_BYTES_MAX: Final = 65_536
_HEAD_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class Tls(msgspec.Struct, frozen=True, kw_only=True):
    """Files in PEM; without a certificate the doors speak in plain text."""

    certificate: str = ""
    key: str = ""
    #: Who vouches for clients; with it everybody has to show a certificate.
    client_authority: str = ""

    @property
    def is_used(self) -> bool:
        """Say whether the doors are encrypted."""
        return bool(self.certificate)


class House:
    """What stands behind the doors: a gateway, and one that is bound for each tenant."""

    def __init__(
        self,
        gateway: ClientGateway,
        doorkeeper: Doorkeeper,
        bind: Callable[[ClientGateway, str], ClientGateway],
        *,
        hub: Hub | None = None,
    ) -> None:
        """Lead to ``gateway``; ``bind`` makes one that reaches no further than a tenant."""
        self.hub: Final = hub
        #: Where the other door is, once it is open.
        self.grpc: str | None = None
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


def check_exposure(
    option: str, address: Address, *, asks_keys: bool, is_encrypted: bool, behind_proxy: bool
) -> None:
    """Refuse a door that would let strangers in, or let keys be overheard."""
    if address.is_loopback:
        return
    if not asks_keys:
        raise ConfigError(
            f"{option}: {address} can be reached from elsewhere, and no keys are asked for",
            hint="leave out --no-keys, or listen on 127.0.0.1",
        )
    if not is_encrypted and not behind_proxy:
        raise ConfigError(
            f"{option}: {address} can be reached from elsewhere, and keys would travel in the open",
            hint="give --tls-cert and --tls-key; or --behind-proxy, where a proxy has them",
        )


def check_tls(tls: Tls) -> None:
    """Refuse files that cannot be used, saying which one."""
    if not tls.is_used:
        if tls.key or tls.client_authority:
            raise ConfigError("tls-cert: it is missing", hint="give --tls-cert and --tls-key")
        return
    for option, name in (
        ("tls-cert", tls.certificate),
        ("tls-key", tls.key),
        ("tls-client-ca", tls.client_authority),
    ):
        if name and not Path(name).is_file():
            raise ConfigError(f"{option}: there is no file {name!r}", hint="give a file in PEM")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(tls.certificate, tls.key or None)
        if tls.client_authority:
            context.load_verify_locations(tls.client_authority)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"tls-cert: certificate and key cannot be used: {error}",
            hint="both are PEM files, and the key belongs to the certificate",
        ) from None


class _Server(uvicorn.Server):
    """uvicorn without its own handling of signals: the node has them already."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


class _Protocol(HttpToolsProtocol):
    """Tells the application whose certificate was shown; takes headers of a bounded size.

    What came together with a request's first byte is not counted: so much is read at once.
    """

    _is_head = False
    _head_bytes = 0

    def on_message_begin(self) -> None:
        """Begin to count."""
        super().on_message_begin()
        self._is_head = True
        self._head_bytes = -1

    def on_headers_complete(self) -> None:
        """End to count."""
        self._is_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Refuse whoever sends headers without end."""
        super().data_received(data)
        if not self._is_head:
            return
        self._head_bytes = 0 if self._head_bytes < 0 else self._head_bytes + len(data)
        if self._head_bytes > _HEAD_BYTES_MAX and not self.transport.is_closing():
            self.transport.write(_HEAD_TOO_LARGE)
            self.transport.close()

    def connection_made(self, transport: Any) -> None:
        """Look at the certificate once a connection."""
        super().connection_made(transport)
        encrypted = transport.get_extra_info("ssl_object")
        name = None if encrypted is None else name_in(encrypted.getpeercert())
        if name is not None:
            self.app_state = {**self.app_state, "certificate": name}


def name_in(certificate: Any) -> str | None:
    """Return whom a verified certificate names: its first alternative name, else its common one."""
    if not certificate:
        return None
    for _, name in certificate.get("subjectAltName", ()):
        return str(name)
    for part in certificate.get("subject", ()):
        for kind, name in part:
            if kind == "commonName":
                return str(name)
    return None


@asynccontextmanager
async def open_http(
    house: House, listening: socket.socket, tls: Tls | None = None
) -> AsyncIterator[Application]:
    """Serve REST on a socket for as long as the block lasts."""
    application = Application(TABLE, house)
    tls = tls or Tls()
    config = uvicorn.Config(
        application,
        http=_Protocol,
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_CLOSE_SECONDS,
        ssl_certfile=tls.certificate or None,
        ssl_keyfile=tls.key or None,
        ssl_ca_certs=tls.client_authority or None,
        ssl_cert_reqs=ssl.CERT_REQUIRED if tls.client_authority else ssl.CERT_NONE,
    )
    server = _Server(config)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(server.serve(sockets=[listening]))
        try:
            yield application
        finally:
            application.end_streams()
            server.should_exit = True
            await asyncio.shield(serving)
