"""A real S3 server (SeaweedFS), or where its wheel is missing an emulated one (moto)."""

import importlib.util
import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self, assert_never

from mainspring.testing.servers.failures import ServerFailed, ServerUnavailable
from mainspring.testing.servers.free_ports import LOOPBACK, free_ports
from mainspring.testing.servers.process import Program, ServerProcess
from mainspring.testing.servers.s3_wire import S3Access, accepts_objects
from mainspring.testing.servers.waiting import wait_until
from mainspring.testing.servers.workspace import Workspace

_READY_SECONDS = 45.0
_READY_PAUSE_SECONDS = 0.02
_START_TRIES_MAX = 5
_ADDRESS_IN_USE = ("address already in use", "Address already in use")

# Not secrets: the server lives on the loopback address for the length of a test session.
_ACCESS_KEY_ID = "mainspring-tests"
_SECRET_ACCESS_KEY = "mainspring-tests-secret"  # noqa: S105 - see above
_REGION = "us-east-1"
_BUCKET = "mainspring-tests"


class S3Kind(StrEnum):
    """Which program plays S3."""

    SEAWEEDFS = "seaweedfs"  # persistent, checks signatures, 3 s to start
    MOTO = "moto"  # in memory: empty after a restart; does not check signatures


def find_s3_kind() -> S3Kind | None:
    """The best that is installed."""
    if _weed() is not None:
        return S3Kind.SEAWEEDFS
    needed = ("moto", "flask", "flask_cors")
    return S3Kind.MOTO if all(map(importlib.util.find_spec, needed)) else None


def how_to_install_s3() -> str:
    """Why there is none, and the one command that changes it."""
    return "neither SeaweedFS nor moto is installed; to have them: uv sync --group servers"


class S3Server:
    """One S3 server with a bucket in it.

    For example:

        with S3Server() as server:
            print(server.access.endpoint, server.access.bucket)
    """

    def __init__(self, kind: S3Kind | None = None) -> None:
        chosen = kind or find_s3_kind()
        if chosen is None:
            raise ServerUnavailable(how_to_install_s3())
        self.kind = chosen
        self._workspace: Workspace | None = None
        self._process: ServerProcess | None = None
        self._ports: list[int] = []

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
        """What plays S3, for the report."""
        match self.kind:
            case S3Kind.SEAWEEDFS:
                return f"SeaweedFS ({_weed()})"
            case S3Kind.MOTO:
                return "moto, an emulation in memory"
            case _:
                assert_never(self.kind)

    @property
    def access(self) -> S3Access:
        """Endpoint, keys and bucket; the same over all restarts."""
        return S3Access(
            endpoint=f"http://{LOOPBACK}:{self._ports[0]}",
            access_key_id=_ACCESS_KEY_ID,
            secret_access_key=_SECRET_ACCESS_KEY,
            region=_REGION,
            bucket=_BUCKET,
        )

    @property
    def is_running(self) -> bool:
        """Whether the process lives; a frozen one does."""
        return self._process is not None and self._process.is_running

    def start(self) -> None:
        """Return when an object could be written."""
        if self.is_running:
            return
        is_first = self._workspace is None
        try:
            if self._workspace is None:
                self._workspace = Workspace(f"s3-{self.kind}")
            self._start_somewhere(self._workspace, may_move=is_first)
        except BaseException:
            if is_first:
                self.stop()
            raise

    def stop(self) -> None:
        """End it and remove all data."""
        if self._process is not None:
            self._process.kill9()  # asked politely, SeaweedFS takes 15 s
            self._process = None
        if self._workspace is not None:
            self._workspace.remove()
            self._workspace = None

    def kill9(self) -> None:
        """SIGKILL; `start` brings it back, SeaweedFS with its objects and moto empty."""
        self._required_process.kill9()

    def restart(self) -> None:
        """Kill if need be and start again on the same port."""
        self._required_process.kill9()
        self.start()

    def freeze(self) -> None:
        """SIGSTOP: the kernel still accepts connections and nobody answers."""
        self._required_process.freeze()

    def thaw(self) -> None:
        """End a freeze."""
        self._required_process.thaw()

    @property
    def _required_process(self) -> ServerProcess:
        if self._process is None:
            raise ServerFailed("this S3 server has not been started")
        return self._process

    def _start_somewhere(self, workspace: Workspace, *, may_move: bool) -> None:
        for _ in range(_START_TRIES_MAX):
            if may_move:
                self._ports = free_ports(8)
            workspace.log.unlink(missing_ok=True)
            self._process = process = ServerProcess(self._program(workspace))
            has_settled = self._has_settled(process)
            if wait_until(
                has_settled, seconds_max=_READY_SECONDS, pause_seconds=_READY_PAUSE_SECONDS
            ):
                if process.is_running:
                    return
                if any(words in process.log_tail() for words in _ADDRESS_IN_USE):
                    continue
            log = process.log_tail()
            process.kill9()
            raise ServerFailed(f"{self.origin} did not start:\n{log}")
        raise ServerFailed(f"the ports {self._ports} stay taken by somebody else")

    def _has_settled(self, process: ServerProcess) -> Callable[[], bool]:
        """Asks whether it serves or has given up."""
        return lambda: not process.is_running or accepts_objects(self.access)

    def _program(self, workspace: Workspace) -> Program:
        match self.kind:
            case S3Kind.SEAWEEDFS:
                command = _seaweedfs_command(workspace, self._ports)
            case S3Kind.MOTO:
                where = ["-H", LOOPBACK, "-p", str(self._ports[0])]
                command = [sys.executable, "-m", "moto.server", *where]
            case _:
                assert_never(self.kind)
        # Ours, because an emulator in Python needs the interpreter's; its scratch files go with us.
        environment = {**os.environ, "TMPDIR": str(workspace.path)}
        return Program(command=command, log_path=workspace.log, environment=environment)


def _weed() -> str | None:
    """The wheel puts it beside the interpreter, which need not be on PATH."""
    beside = Path(sysconfig.get_path("scripts")) / "weed"
    return str(beside) if beside.is_file() else shutil.which("weed")


def _seaweedfs_command(workspace: Workspace, ports: list[int]) -> list[str]:
    """Four servers in one process, each with a second port that would else lie 10,000 higher."""
    names = ["s3", "master", "volume", "filer"]
    pairs = zip(names, ports[:4], ports[4:], strict=True)
    config = workspace.path / "s3.json"
    credentials = [{"accessKey": _ACCESS_KEY_ID, "secretKey": _SECRET_ACCESS_KEY}]
    admin = {"name": "tests", "credentials": credentials, "actions": ["Admin"]}
    config.write_text(json.dumps({"identities": [admin]}), encoding="utf-8")
    options = {
        "ip": LOOPBACK,
        "ip.bind": LOOPBACK,
        "dir": str(workspace.data),
        "filer": "true",
        "filer.localSocket": str(workspace.path / "filer.sock"),
        "s3": "true",
        "s3.config": str(config),
        "s3.localSocket": str(workspace.path / "s3.sock"),
        "s3.port.iceberg": "0",
        "s3.port.lance": "0",
        # The defaults suit clusters and cost 12 to 22 s at the start.
        "master.electionTimeout": "1s",
        "master.heartbeatInterval": "100ms",
        "master.telemetry": "false",
        "master.volumeSizeLimitMB": "64",
        "volume.max": "100",
    }
    for name, port, second in pairs:
        options |= {f"{name}.port": str(port), f"{name}.port.grpc": str(second)}
    weed = _weed()
    assert weed is not None
    return [weed, "server", *(f"-{name}={text}" for name, text in options.items())]
