"""A real PostgreSQL server that a test may start, kill, freeze and start again."""

import signal
import subprocess
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from mainspring.testing.servers.failures import ServerFailed, ServerUnavailable
from mainspring.testing.servers.free_ports import LOOPBACK, free_ports
from mainspring.testing.servers.postgres_databases import Databases
from mainspring.testing.servers.postgres_installations import (
    find_installation,
    for_unprivileged,
    how_to_install,
)
from mainspring.testing.servers.postgres_wire import Address, QueryRefused, query
from mainspring.testing.servers.process import Program, ServerProcess, unprivileged
from mainspring.testing.servers.waiting import wait_until
from mainspring.testing.servers.workspace import Workspace

_READY_SECONDS = 30.0
_PROBE_SECONDS = 2.0
_PORT_TRIES_MAX = 20
_PORT_PAUSE_SECONDS = 0.1
_INITDB_SECONDS = 60.0
_SUPERUSER = "postgres"
_CONNECTIONS_MAX = 200
# Nothing but what servers need: locale and time zone of the machine must not decide about tests.
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C", "LC_ALL": "C", "TZ": "UTC"}


class PostgresServer:
    """One server with a directory and a port of its own. It keeps both until `stop`.

        with PostgresServer("18", fsync=True) as server:
            dsn = server.create_database()
            server.kill9()
            server.restart()

    Without `fsync` a commit survives a kill of the server but not of the machine. As nothing would
    be left then anyway, all is kept in memory where there is room, and a new database costs 35 ms
    instead of 170 on a slow virtual disk. Measure performance with `fsync` only.
    """

    def __init__(
        self,
        version: str = "18",
        *,
        fsync: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        found = find_installation(version)
        if found is None:
            raise ServerUnavailable(how_to_install(version))
        self._identity = unprivileged()
        self._installation = for_unprivileged(found) if self._identity else found
        self._is_durable = fsync
        durable = "on" if fsync else "off"
        self._settings = {
            "listen_addresses": LOOPBACK,
            "unix_socket_directories": "",
            "max_connections": str(_CONNECTIONS_MAX),
            "fsync": durable,
            "full_page_writes": durable,
            "synchronous_commit": durable,
            # In the server's directory a killed one leaves nothing behind, but a disk is slower.
            "dynamic_shared_memory_type": "posix" if fsync else "mmap",
            "timezone": "UTC",
            "log_timezone": "UTC",
            **(settings or {}),
        }
        self._workspace: Workspace | None = None
        self._process: ServerProcess | None = None
        self._made_databases: Databases | None = None
        self._port = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def origin(self) -> str:
        """Where its programs come from."""
        return self._installation.origin

    @property
    def host(self) -> str:
        """The loopback address."""
        return LOOPBACK

    @property
    def port(self) -> int:
        """The same over all restarts."""
        return self._port

    @property
    def dsn(self) -> str:
        """The maintenance database, as superuser; make databases of your own for tests."""
        return self._address.dsn

    @property
    def is_running(self) -> bool:
        """Whether the process lives; a frozen one does."""
        return self._process is not None and self._process.is_running

    @property
    def pid(self) -> int:
        """Of the postmaster."""
        return self._required_process.pid

    def start(self) -> None:
        """Make the directory if this is the first time, start, return when queries are answered."""
        if self.is_running:
            return
        is_first = self._workspace is None
        try:
            if self._workspace is None:
                self._workspace = Workspace(
                    "postgres", self._identity, in_memory=not self._is_durable
                )
                self._initialise(self._workspace)
            self._start_somewhere(self._workspace, may_move=is_first)
        except BaseException:
            if is_first:
                self.stop()
            raise

    def stop(self) -> None:
        """Fast shutdown, then remove all data. Fine to call on a dead server, and twice."""
        if self._process is not None:
            self._process.stop(signal.SIGINT)
            self._process = None
        if self._workspace is not None:
            self._workspace.remove()
            self._workspace = None
            self._made_databases = None

    def restart(self) -> None:
        """Start again on the same data and port; a server that still runs is first shut down."""
        self._required_process.stop(signal.SIGINT)
        self.start()

    def kill9(self) -> None:
        """SIGKILL to the server and all its backends at once, as when the machine loses power."""
        self._required_process.kill9()

    def freeze(self) -> None:
        """SIGSTOP to all its processes: the kernel still accepts connections, nobody answers."""
        self._required_process.freeze()

    def thaw(self) -> None:
        """End a freeze."""
        self._required_process.thaw()

    def create_database(self, template: str | None = None) -> str:
        """A new database, empty or a copy of `template` (name or DSN); its DSN."""
        return self._databases.create(template)

    def drop_database(self, database: str) -> None:
        """Remove a database (name or DSN), throwing out who is connected."""
        self._databases.drop(database)

    def log_tail(self) -> str:
        """The end of the server's log."""
        return self._required_process.log_tail()

    @property
    def _address(self) -> Address:
        return Address(host=LOOPBACK, port=self._port, user=_SUPERUSER, database="postgres")

    @property
    def _databases(self) -> Databases:
        if self._made_databases is None:  # one object for the server's life: it numbers the names
            self._made_databases = Databases(self.dsn)
        return self._made_databases

    @property
    def _required_process(self) -> ServerProcess:
        if self._process is None:
            raise ServerFailed("this PostgreSQL server has not been started")
        return self._process

    def _initialise(self, workspace: Workspace) -> None:
        # C locale: the wheel has no ICU. No sync: a machine that dies takes the tests along.
        choices = ["--username", _SUPERUSER, "--auth=trust", "--encoding=UTF8", "--no-locale"]
        initdb = [self._installation.program("initdb"), "-D", str(workspace.data), "--no-sync"]
        identity = self._identity
        run = subprocess.run(  # noqa: S603 - a command built here
            [*initdb, *choices],
            user=identity.uid if identity else None,
            group=identity.gid if identity else None,
            extra_groups=[] if identity else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=_ENVIRONMENT,
            timeout=_INITDB_SECONDS,
            check=False,
            text=True,
        )
        if run.returncode != 0:
            raise ServerFailed(f"initdb failed:\n{run.stdout}")

    def _start_somewhere(self, workspace: Workspace, *, may_move: bool) -> None:
        """Somebody may take a port between our look and the server's bind; then try again."""
        for _ in range(_PORT_TRIES_MAX):
            if may_move:
                (self._port,) = free_ports(1)
            self._process = process = self._spawn(workspace)
            data = str(workspace.data)
            if wait_until(self._has_settled(process, data), seconds_max=_READY_SECONDS):
                if process.is_running:
                    return
                if "Address already in use" in process.log_tail():
                    wait_until(lambda: False, seconds_max=_PORT_PAUSE_SECONDS)
                    continue
            log = process.log_tail()
            process.kill9()
            raise ServerFailed(f"PostgreSQL ({self.origin}) did not start:\n{log}")
        raise ServerFailed(f"port {self._port} stays taken by somebody else")

    def _spawn(self, workspace: Workspace) -> ServerProcess:
        workspace.log.unlink(missing_ok=True)  # an old complaint must not be read as a new one
        postgres = [self._installation.program("postgres"), "-D", str(workspace.data)]
        settings = [part for item in self._settings.items() for part in ("-c", "=".join(item))]
        return ServerProcess(
            Program(
                command=[*postgres, "-p", str(self._port), *settings],
                log_path=workspace.log,
                identity=self._identity,
                # Immediate shutdown: as quick as SIGKILL, but gives back the shared memory.
                death_signal=signal.SIGQUIT,
                environment=_ENVIRONMENT,
            )
        )

    def _has_settled(self, process: ServerProcess, data: str) -> Callable[[], bool]:
        """Asks whether it serves or has given up."""
        return lambda: not process.is_running or self._serves(data)

    def _serves(self, data: str) -> bool:
        """Whether the server that answers is ours: on a port just lost, another test's would."""
        try:
            answer = query(self._address, "SHOW data_directory", seconds_max=_PROBE_SECONDS)
        except (OSError, QueryRefused):
            return False
        return answer == [(data,)]
