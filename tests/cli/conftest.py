"""Commands as real processes, in a folder of their own, on a real SQLite file."""

import asyncio
import io
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar

import msgspec
import pytest

from mainspring.cli.root import run
from mainspring.cli.tour import app as tour
from mainspring.ports.clock import monotonic
from mainspring.runtime.assemble import open_store
from mainspring.runtime.setting_table import Settings
from tests.cli.warm import READ_AT_START, Warm

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 40.0


def environment() -> dict[str, str]:
    """The caller's environment, with nothing in it that changes what commands do."""
    kept = {name: value for name, value in os.environ.items() if "MAINSPRING" not in name}
    for name in ("NO_COLOR", "COLUMNS", "FORCE_COLOR"):
        kept.pop(name, None)
    # Settings of whoever runs the tests are none of ours.
    kept["XDG_CONFIG_HOME"] = str(ROOT / "tests" / "no-such-folder")
    return kept | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


class Done(msgspec.Struct, frozen=True):
    """A command that has ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return msgspec.json.decode(self.out)

    @property
    def error_code(self) -> str:
        """The code in brackets at the end of the error's first line."""
        found = re.search(r"^error: .* {2}\[(\w+)\]$", self.err, re.MULTILINE)
        return found[1] if found else ""

    def assert_told(self) -> None:
        """Whatever it said, it said it in our words: what, and what next."""
        assert "Traceback" not in self.err
        assert self.err.startswith("error: ")
        assert re.search(r"^ {2}next: \S", self.err, re.MULTILINE)


class Commands:
    """Runs `mainspring ...` in one folder."""

    warm: ClassVar[Warm]

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / ".mainspring" / "dev.db"

    def __call__(
        self,
        *words: str,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        expect: int | None = None,
    ) -> Done:
        if env and any(name.startswith(READ_AT_START) for name in env):
            found = self.cold(*words, stdin=stdin, env=env)
        else:
            given = environment() | dict(env or {})
            code, out, err = self.warm.run(words, self.folder, given, stdin, PATIENCE_SECONDS)
            found = Done(code, out.decode(), err.decode())
        if expect is not None:
            assert found.code == expect, found
        return found

    def cold(
        self, *words: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> Done:
        """Start a command as users do, as a child of this process."""
        done = subprocess.run(
            [sys.executable, "-m", "mainspring", *words],
            cwd=self.folder,
            env=environment() | dict(env or {}),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *words: str, env: Mapping[str, str] | None = None) -> "Running":
        return Running([sys.executable, "-m", "mainspring", *words], self.folder, env or {})


def until_declared(mainspring: Commands, kind: str, env: Mapping[str, str] | None = None) -> None:
    """Return when a worker has told what it can run; it says that it is there before that."""
    until = monotonic() + PATIENCE_SECONDS
    while monotonic() < until:
        listed = mainspring("handlers", "ls", "-o", "json", env=env).json()
        if kind in {row["kind"] for row in listed}:
            return
    pytest.fail(f"no worker has declared {kind}")


class Running:
    """A command that goes on: wait for its lines, signal it, wait for its end."""

    def __init__(self, command: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment() | dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._queue: queue.Queue[str | None] = queue.Queue()
        self._readers = [
            threading.Thread(target=self._read, args=(stream,), daemon=True)
            for stream in (self.process.stdout, self.process.stderr)
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: IO[bytes]) -> None:
        for line in stream:
            self._queue.put(line.decode().rstrip("\n"))
        self._queue.put(None)

    def wait_for(self, pattern: str) -> str:
        """The next line that matches, on stdout or stderr."""
        ended = 0
        while ended < len(self._readers):
            try:
                line = self._queue.get(timeout=PATIENCE_SECONDS)
            except queue.Empty:
                pytest.fail(f"no line like {pattern!r} in time, but:\n" + "\n".join(self.lines))
            if line is None:
                ended += 1
                continue
            self.lines.append(line)
            if re.search(pattern, line):
                return line
        code = self.process.wait(PATIENCE_SECONDS)
        lines = "\n".join(self.lines)
        pytest.fail(f"it ended with {code} without a line like {pattern!r}:\n{lines}")

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self, number: signal.Signals | None = None) -> int:
        """Send a signal if one is given; return the exit status."""
        if number is not None:
            self.send(number)
        code = self.process.wait(PATIENCE_SECONDS)
        for reader in self._readers:
            reader.join(PATIENCE_SECONDS)
        while not self._queue.empty():
            line = self._queue.get()
            if line is not None:
                self.lines.append(line)
        return code

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_SECONDS)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


async def make_store(path: Path) -> None:
    """A migrated store whose workers have declared the example app."""
    store = await open_store(Settings(store_url=f"sqlite:///{path}"))
    try:
        await store.migrate(phase="all")
        await store.declare_handlers([handler.info for handler in tour.handlers.values()])
    finally:
        await store.close()


@pytest.fixture(scope="session", autouse=True)
def warm() -> Iterator[None]:
    """What `Commands` has its commands forked from."""
    # Short: the name of a socket has at most 104 characters.
    with (
        tempfile.TemporaryDirectory(prefix="ms-") as folder,
        Warm(Path(folder), environment()) as Commands.warm,
    ):
        yield


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "store.db"
    asyncio.run(make_store(path))
    return path


@pytest.fixture
def mainspring(tmp_path: Path, template: Path) -> Commands:
    """`mainspring("jobs", "ls")`, on a store that knows the example app and has no worker."""
    commands = Commands(tmp_path)
    commands.store.parent.mkdir()
    shutil.copy(template, commands.store)
    return commands


@pytest.fixture
def here(
    mainspring: Commands, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Done]:
    """`here("jobs", "ls")` is `mainspring("jobs", "ls")` in this process: many for little."""
    for name in [name for name in os.environ if "MAINSPRING" in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(ROOT / "tests" / "no-such-folder"))
    monkeypatch.chdir(mainspring.folder)

    def call(*words: str, stdin: bytes = b"", expect: int | None = None) -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = run(list(words))
        told = capsys.readouterr()
        done = Done(code, told.out, told.err)
        if expect is not None:
            assert done.code == expect, done
        return done

    return call


@pytest.fixture
def start(mainspring: Commands) -> Iterator[Callable[..., Running]]:
    """`start("dev")` is a command that goes on; it is killed after the test."""
    running: list[Running] = []

    def begin(*words: str, env: Mapping[str, str] | None = None) -> Running:
        running.append(mainspring.start(*words, env=env))
        return running[-1]

    yield begin
    for process in running:
        process.kill()


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """Commands beside a living `mainspring dev` with the example app; shared by a module."""
    commands = Commands(tmp_path_factory.mktemp("dev"))
    running = commands.start("dev")
    try:
        running.wait_for("ready; in a second terminal")
        yield commands
        assert running.end(signal.SIGTERM) == 0
    finally:
        running.kill()


@pytest.fixture
def start_beside(dev: Commands) -> Iterator[Callable[..., Running]]:
    """`start_beside("jobs", "watch", id)` goes on beside `dev`; it is killed after the test."""
    running: list[Running] = []

    def begin(*words: str) -> Running:
        running.append(dev.start(*words))
        return running[-1]

    yield begin
    for process in running:
        process.kill()
