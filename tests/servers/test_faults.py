"""The fault proxy, before a real PostgreSQL and before small servers of our own."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import asyncpg
import pytest

from mainspring.testing.faults import FaultProxy, Protocol, Then
from mainspring.testing.servers.postgres_wire import Address

# Long against everything that happens on the loopback, short against a test's time limit.
_SILENCE_SECONDS = 0.3
_HANG_SECONDS = 10.0


@asynccontextmanager
async def echo_proxy(**options: Protocol) -> AsyncIterator[FaultProxy]:
    """A proxy before a server that sends back what it gets, and ends when its client ends."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while chunk := await reader.read(1 << 16):
                writer.write(chunk)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        async with FaultProxy("127.0.0.1", port, **options) as proxy:
            yield proxy
    finally:
        server.close()


@asynccontextmanager
async def connected(
    proxy: FaultProxy,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(proxy.host, proxy.port)
    try:
        yield reader, writer
    finally:
        writer.close()


@asynccontextmanager
async def database_proxy(dsn: str) -> AsyncIterator[FaultProxy]:
    where = Address.parse(dsn)
    async with FaultProxy(where.host, where.port, protocol=Protocol.POSTGRES) as proxy:
        yield proxy


@asynccontextmanager
async def driver(dsn: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(dsn, timeout=_HANG_SECONDS, command_timeout=_HANG_SECONDS)
    try:
        yield connection
    finally:
        connection.terminate()


async def count(dsn: str) -> int:
    async with driver(dsn) as connection:
        return int(await connection.fetchval("SELECT count(*) FROM jobs"))


async def silent(reader: asyncio.StreamReader) -> bool:
    try:
        await asyncio.wait_for(reader.read(1), _SILENCE_SECONDS)
    except TimeoutError:
        return True
    return False


@pytest.fixture(params=["15", "18"])
async def jobs(request: pytest.FixtureRequest, database: Callable[[str], str]) -> str:
    dsn = database(request.param)
    async with driver(dsn) as connection:
        await connection.execute("CREATE TABLE jobs (id int PRIMARY KEY)")
    return dsn


async def test_forwards_and_counts() -> None:
    big = bytes(range(256)) * 8_000
    async with echo_proxy() as proxy, connected(proxy) as (reader, writer):
        writer.write(big)
        assert await reader.readexactly(len(big)) == big
        writer.write_eof()
        assert await reader.read() == b""
        assert proxy.counts.connections == 1
        assert proxy.counts.bytes_up == proxy.counts.bytes_down == len(big)
        assert proxy.counts.resets == 0


async def test_delays_each_way_without_limiting_the_rate() -> None:
    async with echo_proxy() as proxy, connected(proxy) as (reader, writer):
        loop = asyncio.get_running_loop()
        proxy.delay(up_seconds=0.1, down_seconds=0.05)
        began = loop.time()
        big = b"x" * 4_000_000
        writer.write(big)
        assert await reader.readexactly(len(big)) == big
        assert 0.15 <= loop.time() - began < 2.0
        await proxy.heal()
        began = loop.time()
        writer.write(b"a")
        await reader.readexactly(1)
        assert loop.time() - began < 0.1


@pytest.mark.parametrize("up", [True, False])
async def test_black_hole_holds_one_way_and_delivers_when_it_ends(up: bool) -> None:
    async with echo_proxy() as proxy, connected(proxy) as (reader, writer):
        writer.write(b"a")
        await reader.readexactly(1)
        proxy.black_hole(up=up, down=not up)
        writer.write(b"b")
        assert await silent(reader)
        # The server has seen it only if the hole is on the way back.
        assert proxy.counts.bytes_up == (1 if up else 2)
        assert proxy.counts.bytes_down == 1
        await proxy.heal()
        assert await reader.readexactly(1) == b"b"


async def test_black_hole_hides_the_end_of_a_connection() -> None:
    arrived, ended = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        arrived.set()
        await reader.read()
        ended.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with FaultProxy("127.0.0.1", server.sockets[0].getsockname()[1]) as proxy:
        async with connected(proxy) as (_, writer):
            writer.write(b"a")
            await asyncio.wait_for(arrived.wait(), _HANG_SECONDS)
            proxy.black_hole(up=True)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ended.wait(), _SILENCE_SECONDS)
        proxy.black_hole()
        await asyncio.wait_for(ended.wait(), _HANG_SECONDS)
    server.close()


async def test_reset_breaks_all_connections_now() -> None:
    async with echo_proxy() as proxy, connected(proxy) as one, connected(proxy) as two:
        for reader, writer in (one, two):
            writer.write(b"a")
            await reader.readexactly(1)
        assert proxy.reset() == 2
        for reader, _ in (one, two):
            with pytest.raises(ConnectionResetError):
                await reader.read(1)
        async with connected(proxy) as (reader, writer):
            writer.write(b"a")
            assert await reader.readexactly(1) == b"a"
        assert proxy.counts.resets == 2


async def test_refuses_new_connections_and_keeps_the_old() -> None:
    async with echo_proxy() as proxy, connected(proxy) as (reader, writer):
        writer.write(b"a")
        await reader.readexactly(1)
        proxy.refuse()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(proxy.host, proxy.port)
        writer.write(b"b")
        assert await reader.readexactly(1) == b"b"
        await proxy.accept()
        async with connected(proxy) as (second, answer):
            answer.write(b"c")
            assert await second.readexactly(1) == b"c"


async def test_a_dead_target_shows_as_a_reset() -> None:
    async with echo_proxy() as free:
        port = free.port
    async with FaultProxy("127.0.0.1", port) as proxy, connected(proxy) as (reader, _):
        with pytest.raises(ConnectionResetError):
            await reader.read(1)
        assert proxy.counts.unreachable == 1


async def test_the_error_of_the_body_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError):
        async with echo_proxy() as proxy, connected(proxy):
            raise KeyError


async def test_raw_cut_before_finds_a_split_pattern() -> None:
    async with echo_proxy() as proxy, connected(proxy) as (reader, writer):
        cut = proxy.cut_before(b"COMMIT", skip=1)
        writer.write(b"one COMMIT two CO")
        await reader.readexactly(17)
        writer.write(b"MMIT three")
        with pytest.raises(ConnectionResetError):
            await reader.read(1)
        assert cut.happened.is_set()
        assert proxy.counts.bytes_up == len(b"one COMMIT two CO")


async def test_raw_cut_after_swallows_the_answer() -> None:
    async with echo_proxy() as proxy, connected(proxy) as (reader, writer):
        cut = proxy.cut_after(b"b")
        writer.write(b"a")
        assert await reader.readexactly(1) == b"a"
        writer.write(b"b")
        with pytest.raises(ConnectionResetError):
            await reader.read(1)
        assert cut.happened.is_set()
        assert (proxy.counts.bytes_up, proxy.counts.bytes_down, proxy.counts.cuts) == (2, 1, 1)


async def test_silence_leaves_the_connection_open() -> None:
    async with echo_proxy() as proxy, connected(proxy) as (reader, writer):
        cut = proxy.cut_after(b"a", then=Then.SILENCE)
        writer.write(b"a")
        await asyncio.wait_for(cut.happened.wait(), _HANG_SECONDS)
        writer.write(b"b")
        assert await silent(reader)
        await proxy.heal()
        assert await silent(reader)
        assert proxy.counts.resets == 0


@pytest.mark.postgres
@pytest.mark.parametrize("is_after", [False, True])
async def test_commit_with_unknown_outcome(jobs: str, is_after: bool) -> None:
    async with database_proxy(jobs) as proxy, driver(proxy.through(jobs)) as connection:
        cut = proxy.cut_after(b"COMMIT") if is_after else proxy.cut_before(b"COMMIT")
        with pytest.raises((asyncpg.PostgresConnectionError, ConnectionError)):
            async with connection.transaction():
                await connection.execute("INSERT INTO jobs VALUES (1)")
        assert cut.happened.is_set()
        assert proxy.counts.cuts == 1
    # The client saw the same both times.
    assert await count(jobs) == int(is_after)


@pytest.mark.postgres
@pytest.mark.parametrize("is_after", [False, True])
async def test_prepared_statement_with_unknown_outcome(jobs: str, is_after: bool) -> None:
    async with database_proxy(jobs) as proxy, driver(proxy.through(jobs)) as connection:
        insert = await connection.prepare("INSERT INTO jobs SELECT unnest($1::int[]) RETURNING id")
        assert len(await insert.fetch([1, 2])) == 2
        cut = proxy.cut_after(b"INTO jobs") if is_after else proxy.cut_before(b"INTO jobs")
        with pytest.raises((asyncpg.PostgresConnectionError, ConnectionError)):
            # Long enough for parts of the answer to come before the commit.
            await insert.fetch(list(range(3, 50_003)))
        assert cut.happened.is_set()
    assert await count(jobs) == (50_002 if is_after else 2)


@pytest.mark.postgres
async def test_first_use_of_a_statement_is_cut_where_it_runs_not_where_it_is_prepared(
    jobs: str,
) -> None:
    async with database_proxy(jobs) as proxy, driver(proxy.through(jobs)) as connection:
        proxy.cut_after(b"INTO jobs")
        with pytest.raises((asyncpg.PostgresConnectionError, ConnectionError)):
            await connection.fetch("INSERT INTO jobs VALUES ($1)", 1)
    assert await count(jobs) == 1


@pytest.mark.postgres
@pytest.mark.parametrize("is_after", [False, True])
async def test_copy_with_unknown_outcome(jobs: str, is_after: bool) -> None:
    async with database_proxy(jobs) as proxy, driver(proxy.through(jobs)) as connection:
        cut = proxy.cut_after(b"COPY") if is_after else proxy.cut_before(b"COPY")
        rows = [(number,) for number in range(100_000)]
        with pytest.raises((asyncpg.PostgresConnectionError, ConnectionError)):
            await connection.copy_records_to_table("jobs", records=rows)
        assert cut.happened.is_set()
    assert await count(jobs) == (100_000 if is_after else 0)


@pytest.mark.postgres
async def test_skip_lets_matches_pass_on_any_connection(jobs: str) -> None:
    async with database_proxy(jobs) as proxy:
        cut = proxy.cut_before(b"INTO jobs", skip=2)
        for number in range(2):
            async with driver(proxy.through(jobs)) as connection:
                await connection.execute("INSERT INTO jobs VALUES ($1)", number)
        assert not cut.happened.is_set()
        async with driver(proxy.through(jobs)) as connection:
            with pytest.raises((asyncpg.PostgresConnectionError, ConnectionError)):
                await connection.execute("INSERT INTO jobs VALUES (2)")
        async with driver(proxy.through(jobs)) as connection:
            await connection.execute("INSERT INTO jobs VALUES (3)")
    assert await count(jobs) == 3


@pytest.mark.postgres
async def test_tls_is_asked_for_and_declined_through_the_proxy(jobs: str) -> None:
    async with database_proxy(jobs) as proxy:
        dsn = proxy.through(jobs).replace("sslmode=disable", "sslmode=prefer")
        async with driver(dsn) as connection:
            proxy.cut_after(b"INTO jobs")
            with pytest.raises((asyncpg.PostgresConnectionError, ConnectionError)):
                await connection.execute("INSERT INTO jobs VALUES (1)")
    assert await count(jobs) == 1


@pytest.mark.postgres
async def test_silence_after_commit_leaves_the_client_waiting(jobs: str) -> None:
    async with database_proxy(jobs) as proxy, driver(proxy.through(jobs)) as connection:
        cut = proxy.cut_after(b"INTO jobs", then=Then.SILENCE)
        with pytest.raises(TimeoutError):
            await connection.execute("INSERT INTO jobs VALUES (1)", timeout=_SILENCE_SECONDS)
        assert cut.happened.is_set()
    assert await count(jobs) == 1
