"""Servers for all tests: started when first asked for, shared by all workers, reported at the end.

Where a server cannot be had, its tests are skipped with the reason and the command that helps. With
MAINSPRING_REQUIRE_SERVERS=1 they fail instead, so that no pipeline is green for want of servers.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn, Protocol, TypeVar

import pytest
from hypothesis import HealthCheck, settings

from mainspring.ports.store import Store
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.clock import SettableClock
from mainspring.testing.servers import (
    Databases,
    PostgresServer,
    S3Access,
    S3Kind,
    S3Server,
    ServerGuest,
    ServerHost,
    Servers,
    ServerUnavailable,
    Use,
    install_packages,
    wrong_by,
)

_ADDRESS = "mainspring_servers"
_REPORT = Path(".cache") / "servers-report.json"
_Server = TypeVar("_Server")
_servers = pytest.StashKey[Servers]()


# A machine that does other work, too, is slow at times; that says nothing about a test.
settings.register_profile(
    "search", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=2_000
)
# A change is judged by the change, so the examples of a test are the same in every run. To look for
# new ones is a task of its own: pytest --hypothesis-profile=search.
settings.register_profile(
    "mainspring", settings.get_profile("search"), derandomize=True, max_examples=100
)
settings.load_profile("mainspring")


class MakeDatabase(Protocol):
    def __call__(self, version: str = "18", *, template: str | None = None) -> str: ...


class StartPostgres(Protocol):
    def __call__(
        self,
        version: str = "18",
        *,
        fsync: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> PostgresServer: ...


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Whoever starts us in the background has Ctrl-C ignored, by us and by all that we start:
        # the commands that are to hear it would not.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    given: Mapping[str, str] | None = getattr(config, "workerinput", None)
    config.stash[_servers] = ServerHost() if given is None else ServerGuest(given[_ADDRESS])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that parallel workers end together; else keep the order.

    Whoever has done its share takes half of what another has left, from the end: so what is at the
    beginning stays with one worker, and storms of kills do not meet each other.
    """
    items.sort(key=lambda item: not any(item.iter_markers("slow")))
    items.sort(key=lambda item: not any(item.iter_markers("chaos")))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Tell a parallel worker where to ask; pytest-xdist calls this in the controller."""
    config: pytest.Config = node.config  # type: ignore[attr-defined]  # no types for xdist's nodes
    host = config.stash[_servers]
    assert isinstance(host, ServerHost)
    node.workerinput[_ADDRESS] = host.address()  # type: ignore[attr-defined]  # as above


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    host = config.stash[_servers]
    if isinstance(host, ServerHost):
        terminalreporter.section("servers")
        terminalreporter.line("\n".join(host.report.lines()))


def pytest_unconfigure(config: pytest.Config) -> None:
    # Absent when another plugin's configuration failed before ours.
    host = config.stash.get(_servers, None)
    if isinstance(host, ServerHost):
        host.close()
        host.report.write(config.rootpath / _REPORT)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def servers(pytestconfig: pytest.Config) -> Servers:
    """Whoever provides servers to this process."""
    return pytestconfig.stash[_servers]


@pytest.fixture(scope="session")
def postgres_15(servers: Servers) -> Databases:
    """The oldest PostgreSQL that is supported. Shared: never stop it."""
    return Databases(_use(servers, "postgres_15")["dsn"])


@pytest.fixture(scope="session")
def postgres_18(servers: Servers) -> Databases:
    """The newest PostgreSQL that is supported. Shared: never stop it."""
    return Databases(_use(servers, "postgres_18")["dsn"])


@pytest.fixture
def clock() -> SettableClock:
    """The clock of a store under test."""
    return SettableClock()


@pytest.fixture
async def store(clock: SettableClock) -> AsyncIterator[Store]:
    """A store in memory under that clock; a folder that needs another one has its own."""
    opened = await open_sqlite(":memory:", clock=clock)
    await opened.migrate(phase="all")
    yield opened
    await opened.close()


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[MakeDatabase]:
    """`database()` or `database("15")` is the DSN of a fresh database, dropped after the test."""
    made: list[tuple[Databases, str]] = []

    def make(version: str = "18", *, template: str | None = None) -> str:
        databases: Databases = request.getfixturevalue(f"postgres_{version}")
        dsn = databases.create(template)
        made.append((databases, dsn))
        return dsn

    yield make
    for databases, dsn in reversed(made):
        databases.drop(dsn)


@pytest.fixture(scope="session")
def migrated(request: pytest.FixtureRequest) -> Iterator[Callable[[str], str]]:
    """`migrated("15")` is a database with the schema, to be copied: nobody may connect to it.

    A copy costs a third of what it costs to migrate for every test.
    """
    made: dict[str, tuple[Databases, str]] = {}

    def make(version: str) -> str:
        if version not in made:
            databases: Databases = request.getfixturevalue(f"postgres_{version}")
            made[version] = databases, databases.create()
            asyncio.run(_migrate(made[version][1]))
        return made[version][1]

    yield make
    for databases, dsn in made.values():
        databases.drop(dsn)


@pytest.fixture
def migrated_database(database: MakeDatabase, migrated: Callable[[str], str]) -> MakeDatabase:
    """As `database`, with the schema in it; to be called where no event loop runs."""

    def make(version: str = "18", *, template: str | None = None) -> str:
        return database(version, template=template or migrated(version))

    return make


async def _migrate(dsn: str) -> None:
    from mainspring.store.postgres import open_postgres

    opened = await open_postgres(dsn)
    await opened.migrate(phase="all")
    await opened.close()


@pytest.fixture
def own_postgres(servers: Servers) -> Iterator[StartPostgres]:
    """`own_postgres("18", fsync=True)` starts a server to kill, freeze and restart."""
    started: list[PostgresServer] = []

    def start(
        version: str = "18",
        *,
        fsync: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> PostgresServer:
        component = f"postgres_{version}"

        def make() -> PostgresServer:
            return PostgresServer(version, fsync=fsync, settings=settings)

        server = _available(servers, component, make)
        started.append(server)
        server.start()
        servers.note(component, Use.EXERCISED, server.origin)
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def faketime(servers: Servers) -> Callable[[str], Mapping[str, str]]:
    """`faketime("+1h")` is the environment of a process whose host is an hour ahead."""
    library = _use(servers, "faketime")["library"]
    return lambda offset: wrong_by(library, offset)


@pytest.fixture(scope="session")
def node_packages(servers: Servers) -> Callable[[Path], Mapping[str, str]]:
    """`node_packages(folder)` installs what the folder's lock names; the environment of node."""

    def install(folder: Path) -> Mapping[str, str]:
        access = _use(servers, "node")
        _available(servers, "node", lambda: install_packages(access, folder))
        return access

    return install


@pytest.fixture(scope="session")
def s3(servers: Servers) -> S3Access:
    """A bucket that is shared: choose keys of your own."""
    return S3Access(**_use(servers, "s3"))


@pytest.fixture
def own_s3(servers: Servers) -> Iterator[Callable[[S3Kind | None], S3Server]]:
    """`own_s3(None)` starts an S3 server that the test may kill and restart."""
    started: list[S3Server] = []

    def start(kind: S3Kind | None = None) -> S3Server:
        server = _available(servers, "s3", lambda: S3Server(kind))
        started.append(server)
        server.start()
        servers.note("s3", Use.EXERCISED, server.origin)
        return server

    yield start
    for server in started:
        server.stop()


def _use(servers: Servers, component: str) -> Mapping[str, str]:
    try:
        return servers.use(component)
    except ServerUnavailable as reason:
        _leave_out(str(reason))


def _available(servers: Servers, component: str, make: Callable[[], _Server]) -> _Server:
    try:
        return make()
    except ServerUnavailable as reason:
        servers.note(component, Use.LEFT_OUT, str(reason))
        _leave_out(str(reason))


def _leave_out(reason: str) -> NoReturn:
    if os.environ.get("MAINSPRING_REQUIRE_SERVERS") == "1":
        pytest.fail(f"MAINSPRING_REQUIRE_SERVERS=1, but {reason}")
    pytest.skip(reason)
