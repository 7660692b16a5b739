"""A server that is away, slow, or comes back; and what may be printed about it."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import urlsplit

import asyncpg
import pytest

from mainspring.domain.errors import (
    ConfigError,
    ConnectionFailed,
    OutcomeUnknown,
    StoreNotWritable,
)
from mainspring.domain.job import Receipt
from mainspring.store.postgres import PostgresStore, open_postgres
from mainspring.store.postgres.failures import Sent, shown_address, translate
from mainspring.testing.builders import new_job
from mainspring.testing.servers import PostgresServer

pytestmark = pytest.mark.postgres


class Connect(Protocol):
    async def __call__(self, dsn: str | None = None) -> "asyncpg.Connection[asyncpg.Record]": ...


class OpenStore(Protocol):
    async def __call__(self, dsn: str, **options: Any) -> PostgresStore: ...


def _nobody() -> str:
    """Return the address of a port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return f"postgresql://me:geheim@127.0.0.1:{port}/work"


async def test_nobody_there(open_store: OpenStore) -> None:
    dsn = _nobody()
    store = await open_store(dsn)
    for call in (store.now(), store.submit([new_job()]), store.migrate(phase="all")):
        with pytest.raises(ConnectionFailed) as failed:
            await call
        assert shown_address(dsn) in str(failed.value)
        assert "geheim" not in f"{failed.value!r}{failed.value.details}{store!r}"


@pytest.mark.parametrize(
    ("dsn", "shown"),
    [
        (
            "postgresql://me:geheim@db.example.org:6000/work?sslmode=require",
            "db.example.org:6000/work",
        ),
        ("postgresql://db.example.org", "db.example.org:5432/postgres"),
        ("postgresql:///work?host=/run/postgresql&password=geheim", "/run/postgresql:5432/work"),
        ("postgresql:///work?password=geheim", "local socket:5432/work"),
        ("postgresql://me:geheim@[fe80::1/work", "PostgreSQL"),
        ("postgresql://me:geheim@host:port/work", "PostgreSQL"),
    ],
)
def test_addresses_are_shown_without_secrets(dsn: str, shown: str) -> None:
    assert shown_address(dsn) == shown


async def test_another_kind_of_address_is_refused() -> None:
    with pytest.raises(ConfigError, match="postgresql://") as failed:
        await open_postgres("mysql://me:geheim@host/db")
    assert "geheim" not in str(failed.value)


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://me:geheim@host:port/db",
        "postgresql://me:geheim/@host/db",
        "postgresql://me:geheim@[fe80::1/db",
    ],
)
async def test_an_address_that_is_no_url_is_told_without_showing_it(
    open_store: OpenStore, dsn: str
) -> None:
    with pytest.raises(ConfigError, match="cannot be read") as failed:
        await (await open_store(dsn)).now()
    assert "%40 for @" in failed.value.hint
    assert "geheim" not in f"{failed.value!r}{failed.value.__cause__!r}"


@pytest.mark.parametrize("parameter", ["sslmode=sometimes", "nonsense=1"])
async def test_a_parameter_that_no_server_knows_is_told(
    empty_dsn: str, open_store: OpenStore, parameter: str
) -> None:
    with pytest.raises(ConfigError, match=parameter.partition("=")[0]):
        await (await open_store(f"{empty_dsn}?{parameter}")).now()


async def test_each_refusal_says_what_helps(
    store: PostgresStore, dsn: str, open_store: OpenStore, connect: Connect
) -> None:
    address = urlsplit(dsn)
    port, name = address.port, address.path
    for refused, hint in (
        (f"postgresql://postgres@127.0.0.1:{port}/nowhere", "create the database first"),
        (f"postgresql://nobody@127.0.0.1:{port}{name}", "correct the user"),
    ):
        with pytest.raises(ConnectionFailed) as failed:
            await (await open_store(refused)).now()
        assert hint in failed.value.hint
    read_only = f"{dsn}?options=-c%20default_transaction_read_only%3Don"
    with pytest.raises(StoreNotWritable) as denied:
        await (await open_store(read_only)).submit([new_job()])
    assert "name the primary" in denied.value.hint
    # A role that may not write, chosen for the session: roles belong to the whole server.
    weak = f"{dsn}?options=-c%20role%3Dpg_monitor"
    with pytest.raises(StoreNotWritable) as denied:
        await (await open_store(weak)).submit([new_job()])
    assert "owns the schema" in denied.value.hint
    assert await store.count_states() == {}


async def test_an_answer_that_does_not_come_in_time(
    dsn: str, open_store: OpenStore, connect: Connect
) -> None:
    store = await open_store(dsn, command_timeout_seconds=0.3)
    connection = await connect()
    job = new_job()
    async with connection.transaction():
        await connection.execute("LOCK TABLE mainspring.jobs IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(OutcomeUnknown, match="no answer in time"):
            await store.submit([job])
        with pytest.raises(ConnectionFailed, match="no answer in time"):
            await store.get_job(job.id)
    assert await store.submit([job], repeated=True) == [Receipt(job.id)]


async def test_a_full_house_is_not_a_lost_change(
    dsn: str, open_store: OpenStore, connect: Connect
) -> None:
    store = await open_store(dsn, general_connections=1, acquire_timeout_seconds=0.2)
    connection = await connect()
    async with asyncio.TaskGroup() as group, connection.transaction():
        await connection.execute("LOCK TABLE mainspring.jobs IN ACCESS EXCLUSIVE MODE")
        waiting = group.create_task(store.count_states())
        await asyncio.sleep(0.05)
        with pytest.raises(ConnectionFailed):
            await store.cancel([new_job().id], reason="", force=False, actor="me")
    assert waiting.result() == {}


async def test_queries_do_not_take_the_connections_of_claims(
    dsn: str, open_store: OpenStore, connect: Connect
) -> None:
    store = await open_store(dsn, general_connections=2)
    connection = await connect()
    async with asyncio.TaskGroup() as group, connection.transaction():
        await connection.execute("LOCK TABLE mainspring.handlers IN ACCESS EXCLUSIVE MODE")
        readers = [group.create_task(store.list_handlers()) for _ in range(5)]
        await asyncio.sleep(0.05)
        assert await store.next_due_ms(["default"], ["x"]) is None
        assert await store.expired(10) == []
    assert [each.result() for each in readers] == [[]] * 5


@pytest.mark.slow
async def test_it_heals_when_the_server_comes_back(
    own_postgres: Callable[[str], PostgresServer], open_store: OpenStore
) -> None:
    server = own_postgres("15")
    store = await open_store(server.create_database())
    await store.migrate(phase="all")
    before, after = new_job(), new_job()
    listener = store.wakeups.subscribe(["done"])
    await store.submit([before])
    server.kill9()
    with pytest.raises((ConnectionFailed, OutcomeUnknown)):
        await store.submit([after])
    with pytest.raises(ConnectionFailed):
        await store.get_job(before.id)
    server.restart()
    assert await store.submit([after], repeated=True) == [Receipt(after.id)]
    assert await store.get_job(before.id) is not None
    # Hints may have been missed: the listener says so once it is back.
    async with asyncio.timeout(20):
        assert await listener.wait(20) == {"done"}


def test_a_refusal_is_never_unknown() -> None:
    for error in (
        asyncpg.QueryCanceledError("x"),
        asyncpg.LockNotAvailableError("x"),
        asyncpg.TooManyConnectionsError("x"),
    ):
        assert type(translate(error, Sent.CHANGE, "here")) is ConnectionFailed
    for broken in (ConnectionResetError(), TimeoutError(), asyncpg.AdminShutdownError("x")):
        assert type(translate(broken, Sent.CHANGE, "here")) is OutcomeUnknown
        assert type(translate(broken, Sent.HARMLESS, "here")) is ConnectionFailed
