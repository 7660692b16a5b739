"""One process that opens the doors: REST and gRPC in front of a store, and a node's duties beside.

What ``mainspring server start`` is made of. Any number of them may stand before one store.
"""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, NamedTuple

import msgspec

from mainspring.dispatcher.bound import bound_gateway
from mainspring.dispatcher.office import Office
from mainspring.domain.errors import ConfigError, Conflict
from mainspring.domain.keys import RANDOM_BYTES, NewKey, make
from mainspring.domain.limits import KEY_REQUESTS_PER_SECOND
from mainspring.ports.access import KeyStore
from mainspring.ports.blobs import BlobStore
from mainspring.ports.clock import monotonic, utc_now
from mainspring.ports.entropy import random_bytes
from mainspring.ports.store import Store
from mainspring.registry.bound import bound_desk
from mainspring.registry.desk import FrontDesk
from mainspring.runtime.addresses import Address, bound_to, listen
from mainspring.runtime.assemble import dice, front_desk, open_blobs, open_ready_store, optional
from mainspring.runtime.fetching import fetch
from mainspring.runtime.loop import run_role
from mainspring.runtime.node import ALL_DUTIES, Duties, do_duties
from mainspring.runtime.serving import House, Tls, check_exposure, check_tls, open_http
from mainspring.runtime.setting_table import Settings
from mainspring.runtime.worker_process import stopped_by_signals
from mainspring.server.doorkeeper import Doorkeeper, OpenDoorkeeper
from mainspring.server.events import Hub
from mainspring.server.keyring import Keyring, OtherKeeper

_HUB_NAME_BYTES: Final = 4
_FIRST_KEY: Final = "admin"
#: In the audit: whoever starts the first server of a store.
_FIRST_START: Final = "server:first-start"


class Doors(msgspec.Struct, frozen=True, kw_only=True):
    """Which doors are opened, and to whom."""

    http: Address
    #: ``None``: it stays closed.
    grpc: Address | None = None
    tls: Tls = Tls()
    #: False: everybody may do everything, from this machine.
    asks_keys: bool = True
    behind_proxy: bool = False
    key_rate: int = KEY_REQUESTS_PER_SECOND
    #: Scopes of whoever shows a client certificate and no key.
    certificate_scopes: tuple[str, ...] = ("work",)

    def check(self) -> None:
        """Refuse what would let strangers in, or cannot work, before anything is opened."""
        check_tls(self.tls)
        for option, address in (("http", self.http), ("grpc", self.grpc)):
            if address is not None:
                check_exposure(
                    option,
                    address,
                    asks_keys=self.asks_keys,
                    is_encrypted=self.tls.is_used,
                    behind_proxy=self.behind_proxy,
                )


class Opened(NamedTuple):
    """What whoever started the server is told."""

    #: ``https://127.0.0.1:8470``.
    http: str
    #: ``HOST:PORT``.
    grpc: str | None
    #: The administrator's key, if this start made the store's first one.
    first_key: str | None


def _openid(settings: Settings) -> OtherKeeper | None:
    """Return who knows people by their tokens, where the operator named an issuer."""
    if not settings.oidc_issuer:
        return None
    if not settings.oidc_audience:
        raise ConfigError(
            "oidc_audience: it is missing",
            hint="say for whom the issuer's tokens are: MAINSPRING_OIDC_AUDIENCE",
        )
    openid = optional("mainspring.server.openid", "oidc")
    issuer = openid.Issuer(url=settings.oidc_issuer, audience=settings.oidc_audience)
    found: OtherKeeper = openid.OpenId(issuer, fetch, monotonic)
    return found


async def first_key(store: KeyStore) -> str | None:
    """Make a store's first key and return its text; nothing where there has ever been one."""
    if await store.list_keys(limit=1, with_ended=True):
        return None
    key = make(random_bytes(RANDOM_BYTES))
    new = NewKey(id=key.id, name=_FIRST_KEY, tenant=None, scopes=("admin",), secret_hash=key.digest)
    try:
        await store.create_key(new, actor=_FIRST_START)
    except Conflict:
        # Another server was started at the same moment, and was quicker.
        return None
    return key.shown()


def first_of(error: Exception) -> Exception:
    """Return what went wrong first, of what went wrong in tasks that ran together."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


class Front:
    """The doors before one store."""

    def __init__(
        self,
        store: Store,
        desk: FrontDesk,
        doors: Doors,
        settings: Settings,
        blobs: BlobStore | None,
    ) -> None:
        """Prepare them; nothing is open yet."""
        self._store = store
        self._blobs = blobs
        self._settings = settings
        self._doors = doors
        self._desk = desk
        self._keyring = (
            Keyring(
                store,
                monotonic=monotonic,
                wall=utc_now,
                rate=doors.key_rate,
                other=_openid(settings),
                certificates=doors.certificate_scopes if doors.tls.client_authority else (),
            )
            if doors.asks_keys
            else None
        )
        doorkeeper: Doorkeeper = self._keyring or OpenDoorkeeper()
        self._hub = Hub(store, name=random_bytes(_HUB_NAME_BYTES).hex())
        self._house = House(desk, doorkeeper, bound_desk, hub=self._hub)

    async def serve(
        self,
        stopping: asyncio.Event,
        on_open: Callable[[Opened], None],
    ) -> None:
        """Open the doors, and close them when it is time."""
        doors = self._doors
        listening = listen("http", doors.http)
        async with AsyncExitStack() as stack:
            group = await stack.enter_async_context(asyncio.TaskGroup())
            # What is opened last is closed first: workers leave before clients do.
            grpc = None
            if doors.grpc is not None:
                grpc = await stack.enter_async_context(self._open_grpc(doors.grpc))
            self._house.grpc = grpc
            await stack.enter_async_context(open_http(self._house, listening, doors.tls))
            group.create_task(run_role("event stream", self._hub.step, stopping))
            if self._keyring is not None:
                group.create_task(run_role("key uses", self._keyring.step, stopping))
            # Not before the doors are open: a key that nobody is told of is lost for good.
            key = await first_key(self._store) if doors.asks_keys else None
            scheme = "https" if doors.tls.is_used else "http"
            on_open(Opened(f"{scheme}://{bound_to(listening, doors.http)}", grpc, key))
            # What is here now stays for good: a collector that looked through it with each of its
            # rounds would hold up all requests for as long.
            gc.collect()
            gc.freeze()
            await stopping.wait()
        if self._keyring is not None:
            await self._keyring.flush()

    @asynccontextmanager
    async def _open_grpc(self, address: Address) -> AsyncIterator[str]:
        """Open the door of gRPC; yield where it is."""
        serving = optional("mainspring.runtime.grpc_serving", "grpc")
        if address.port:
            # The library would say that it is taken, but not why, and in words of its own before.
            listen("grpc", address).close()
        office = Office(
            self._store,
            blobs=self._blobs,
            dice=dice(),
            monotonic=monotonic,
            inline_bytes=self._settings.inline_bytes,
        )
        backroom = serving.GrpcBackroom(
            desk=self._house.gateway,
            office=office,
            doorkeeper=self._house.doorkeeper,
            bind=bound_gateway,
        )
        credentials = serving.credentials(self._doors.tls)
        async with serving.open_grpc(backroom, str(address), credentials=credentials) as door:
            yield str(Address(address.host, door.port))


async def run_server(
    settings: Settings,
    doors: Doors,
    *,
    duties: Duties = ALL_DUTIES,
    on_open: Callable[[Opened], None],
    on_stop: Callable[[], None],
) -> None:
    """Serve until a signal ends it."""
    doors.check()
    stopping = stopped_by_signals(on_stop)
    store = await open_ready_store(settings)
    blobs = open_blobs(settings)
    desk = front_desk(store, settings)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(do_duties(duties, settings, stopping))
            try:
                await Front(store, desk, doors, settings, blobs).serve(stopping, on_open)
            finally:
                stopping.set()
    except ExceptionGroup as several:
        raise first_of(several) from None
    finally:
        if blobs is not None:
            await blobs.close()
        await desk.close()
