"""From settings to open stores, gateways and desks. The only place that names a backend."""

import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import urlsplit

import msgspec

from mainspring.dispatcher.gateway import LocalGateway
from mainspring.dispatcher.judgement import Dice, fixed_dice
from mainspring.domain.errors import ConfigError, StoreNotMigrated
from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.ports import entropy
from mainspring.ports.blobs import BlobStore
from mainspring.ports.clock import Clock, monotonic
from mainspring.ports.gateway import ClientGateway, WorkerGateway
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.runtime.setting_table import DEV_STORE, Settings
from mainspring.runtime.settings import blob_address, reach_words, sqlite_path

if TYPE_CHECKING:
    from mainspring.remote.desk import RemoteDesk
    from mainspring.remote.http import RemoteHttp

_REST_SCHEMES: Final = frozenset({"http", "https"})
_GRPC_SCHEMES: Final = frozenset({"grpc", "grpcs"})


def dice() -> Dice:
    """Return the real dice."""
    return fixed_dice(entropy.roll, entropy.new_job_id)


async def open_store(settings: Settings, *, clock: Clock | None = None) -> Store:
    """Open the store that the settings name; its schema is not checked."""
    path = sqlite_path(settings.store_url)
    if path is not None:
        sqlite = optional("mainspring.store.sqlite", "sqlite")
        return cast("Store", await sqlite.open_sqlite(path, clock=clock))
    scheme = settings.store_url.partition("://")[0]
    if scheme in ("postgresql", "postgres"):
        postgres = optional("mainspring.store.postgres", "postgres")
        return cast("Store", await postgres.open_postgres(settings.store_url, clock=clock))
    if is_rest(settings.store_url):
        raise ConfigError(
            "store: this needs the store itself, and the address is a server's",
            hint="run it where the store is, with --store postgresql://... or sqlite:///...; "
            "workers reach a server at grpc://HOST:PORT, or grpcs:// where it is encrypted",
        )
    if is_server(settings.store_url):
        raise ConfigError(
            "store: a server of gRPC is a worker's door only",
            hint="name the store itself, or the server's REST address: http://HOST:PORT",
        )
    # An address with a slip in it may still hold a password.
    shown = "this address" if "@" in scheme else repr(scheme)
    raise ConfigError(
        f"store: {shown} is no kind of store",
        hint="use sqlite:///FILE or postgresql://USER:PASSWORD@HOST:PORT/DATABASE",
    )


def is_rest(store_url: str) -> bool:
    """Tell whether clients reach the store through a server's REST."""
    return store_url.partition("://")[0] in _REST_SCHEMES


def is_server(store_url: str) -> bool:
    """Tell whether workers reach the store through a server of gRPC."""
    return store_url.partition("://")[0] in _GRPC_SCHEMES


def is_remote(store_url: str) -> bool:
    """Tell whether a server stands before the store, by either of its doors."""
    return is_rest(store_url) or is_server(store_url)


def open_blobs(settings: Settings) -> BlobStore | None:
    """Open the object store that the settings name, if any."""
    address = blob_address(settings)
    if address is None:
        return None
    if address.startswith("file://"):
        return LocalBlobs(address.removeprefix("file://"))
    object_blobs = optional("mainspring.integrations.object_blobs", "s3")
    return cast("BlobStore", object_blobs.open_blobs(address))


@asynccontextmanager
async def open_worker_gateway(settings: Settings) -> AsyncIterator[WorkerGateway]:
    """Open a store that is ready for use, and a worker's door to it; or that of a server."""
    if is_remote(settings.store_url):
        address = await _workers_door(settings)
        async with _remote_worker_gateway(settings, address) as remote:
            yield remote
        return
    store = await open_ready_store(settings)
    try:
        gateway = LocalGateway(
            store,
            blobs=open_blobs(settings),
            dice=dice(),
            monotonic=monotonic,
            inline_bytes=settings.inline_bytes,
        )
    except BaseException:
        await store.close()
        raise
    try:
        yield gateway
    finally:
        await gateway.close()


async def _workers_door(settings: Settings) -> str:
    """Return where a server has its door for workers; by its other address it is asked."""
    if is_server(settings.store_url):
        return settings.store_url
    from mainspring.wire.documents.server import ServerDocument

    http = open_remote_http(settings)
    try:
        about = await http.ask("GET", "/api/v1/server", answer=ServerDocument)
    finally:
        await http.close()
    if about.grpc is None:
        raise ConfigError(
            f"store: the server at {settings.store_url} has no door for workers",
            hint="start it with --grpc HOST:PORT, or give workers another server",
        )
    found = urlsplit(settings.store_url)
    scheme = "grpcs" if found.scheme == "https" else "grpc"
    # The server knows on which port it listens; how it is reached, whoever reached it.
    host = found.hostname or ""
    port = about.grpc.rpartition(":")[2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


@asynccontextmanager
async def _remote_worker_gateway(settings: Settings, address: str) -> AsyncIterator[WorkerGateway]:
    """Connect to a server; whether it is there shows with the first call."""
    remote = optional("mainspring.remote.gateway", "grpc")
    channels = optional("mainspring.remote.channel", "grpc")
    channel = channels.Channel(
        address,
        key=settings.key,
        ca_file=settings.ca_file,
        certificate_file=settings.certificate_file,
    )
    gateway: WorkerGateway = remote.RemoteGateway(channel, monotonic=monotonic)
    try:
        yield gateway
    finally:
        await gateway.close()


@asynccontextmanager
async def open_client_gateway(settings: Settings) -> AsyncIterator[ClientGateway]:
    """Open a store that is ready for use, and a client's door to it; or that of a server."""
    if is_rest(settings.store_url):
        desk = open_remote_desk(settings)
        try:
            yield desk
        finally:
            await desk.close()
        return
    store = await open_ready_store(settings)
    try:
        local = front_desk(store, settings)
    except BaseException:
        await store.close()
        raise
    try:
        yield local
    finally:
        await local.close()


def open_remote_desk(settings: Settings) -> "RemoteDesk":
    """Return a client's door to a server; whether it is there shows with the first question."""
    # Imported late: whoever has the store itself needs no client of a server.
    from mainspring.remote.desk import RemoteDesk

    return RemoteDesk(open_remote_http(settings), new_id=entropy.new_job_id)


def open_remote_http(settings: Settings) -> "RemoteHttp":
    """Return what asks the server that the settings name."""
    from mainspring.remote.http import RemoteAccess, RemoteHttp

    access = RemoteAccess(
        url=settings.store_url,
        key=settings.key,
        ca_file=settings.ca_file,
        certificate_file=settings.certificate_file,
    )
    return RemoteHttp(access)


def front_desk(store: Store, settings: Settings) -> FrontDesk:
    """Return a client's door to an open store, which it closes."""
    return FrontDesk(
        store,
        blobs=open_blobs(settings),
        new_id=entropy.new_job_id,
        inline_bytes=settings.inline_bytes,
        payload_bytes=settings.payload_bytes,
        webhook_reach=reach_words(settings.webhook_reach),
    )


async def open_store_to_look(settings: Settings) -> Store:
    """Open a store to learn its schema; a SQLite file that is not there is not made for that."""
    if _is_missing(sqlite_path(settings.store_url)):
        # What an empty file would answer.
        settings = msgspec.structs.replace(settings, store_url="sqlite://:memory:")
    return await open_store(settings)


def refuse_missing_file(settings: Settings) -> None:
    """Raise when the settings name a SQLite file that is not there: opening would make it."""
    path = sqlite_path(settings.store_url)
    if not _is_missing(path):
        return
    hint = None
    if settings.store_url.endswith(DEV_STORE.removeprefix("sqlite:///")):
        hint = "mainspring dev makes one here; or name another: --store, MAINSPRING_STORE"
    raise StoreNotMigrated(f"there is no store at {path}", hint=hint)


def _is_missing(path: str | None) -> bool:
    if path is None or path == ":memory:":
        return False
    try:
        return not Path(path).exists()
    except OSError:
        # Who may not look into the folder cannot tell; opening it says why.
        return False


async def open_ready_store(settings: Settings) -> Store:
    """Open a store that somebody has migrated; looking for one must not make an empty file."""
    refuse_missing_file(settings)
    store = await open_store(settings)
    try:
        await store.check_ready()
    except BaseException:
        await store.close()
        raise
    return store


def optional(module: str, extra: str) -> ModuleType:
    """Import a backend; say which extra brings what it lacks."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("mainspring"):
            raise
        raise ConfigError(
            f"this store needs {error.name}, which is not installed",
            hint=f"pip install 'mainspring[{extra}]'",
        ) from error
