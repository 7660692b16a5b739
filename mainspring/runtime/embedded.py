"""A worker beside a server process: ``app.embedded()`` of a web application.

The worker is a process of its own (a keeper with its children), held by a pipe: it drains when the
server process closes the pipe, and just as well when that process is killed. Handlers never run
inside the server.

Invariants
----------
* Any number of server processes may do this at once: what runs once is decided by claims, not by
  counting processes.
* With ``shared``, the server processes of a machine that embed the same app on the same store have
  one worker between them. Who holds it is decided by a file lock, which the kernel gives back
  whatever happens to the holder; another one takes over within a second. It saves memory and
  decides nothing else.
* A worker that ends by itself is started again, ever later while it keeps ending.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import logging
import os
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from mainspring.domain.errors import ConfigError
from mainspring.ports.clock import monotonic
from mainspring.runtime.loop import run_role
from mainspring.runtime.setting_table import Settings
from mainspring.worker.config import WorkerConfig

_log: Final = logging.getLogger("mainspring.embedded")
_COMMAND: Final = (sys.executable, "-m", "mainspring.runtime.embedded_process")
_LOOK_SECONDS: Final = 0.5
_REST_SECONDS_MAX: Final = 30.0
#: What lived this long had begun well: its successor starts at once.
_LIVED_SECONDS: Final = 10.0
_STOP_MARGIN_SECONDS: Final = 10.0


class Orders(msgspec.Struct, frozen=True):
    """What the worker's process reads first from its pipe."""

    settings: Settings
    config: WorkerConfig


class EmbeddedWorker:
    """Starts and watches one worker process, from a thread of its own."""

    def __init__(self, settings: Settings, config: WorkerConfig, *, shared: bool) -> None:
        """Start nothing yet."""
        self._orders = Orders(settings, config)
        self._turn = _Turn(_turn_file(self._orders)) if shared else None
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0
        self._start_at = 0.0
        self._rest_seconds = 0.0
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._live()), name="mainspring-embedded", daemon=True
        )
        self._begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    def start(self) -> None:
        """Begin to watch; the worker starts as soon as it is this process's turn."""
        self._thread.start()
        self._begun.result()

    def stop(self) -> None:
        """Let the worker drain, and return when it has ended."""
        loop, stopping = self._begun.result()
        with contextlib.suppress(RuntimeError):  # the loop is closed: it has stopped before
            loop.call_soon_threadsafe(stopping.set)
        self._thread.join()

    async def _live(self) -> None:
        stopping = asyncio.Event()
        self._begun.set_result((asyncio.get_running_loop(), stopping))
        try:
            await run_role("embedded worker", self.step, stopping)
        finally:
            self._end()

    async def step(self) -> float:
        """Start the worker if it is this process's turn and none runs; look again soon."""
        now = monotonic()
        if self._turn is not None and not self._turn.is_mine():
            return _LOOK_SECONDS
        if self._process is not None:
            code = self._process.poll()
            if code is None:
                return _LOOK_SECONDS
            self._note_end(code, now)
        if now >= self._start_at:
            self._start_process(now)
        return _LOOK_SECONDS

    def _note_end(self, code: int, now: float) -> None:
        lived = now - self._started_at
        self._close_pipe()
        self._process = None
        doubled = min(_REST_SECONDS_MAX, max(1.0, self._rest_seconds * 2))
        self._rest_seconds = 0.0 if lived >= _LIVED_SECONDS else doubled
        self._start_at = now + self._rest_seconds
        _log.warning(
            "the embedded worker ended (exit status %s); the next one starts in %g s",
            code,
            self._rest_seconds,
        )

    def _start_process(self, now: float) -> None:
        path = os.pathsep.join(place for place in (str(Path.cwd()), *sys.path) if place)
        # Not this process's group: a Ctrl-C in the terminal is for the server, which tells us.
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            _COMMAND,
            stdin=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path},
            process_group=0,
        )
        self._started_at = now
        pipe = self._process.stdin
        assert pipe is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended already: the next step sees that
            pipe.write(msgspec.json.encode(self._orders) + b"\n")
            pipe.flush()

    def _close_pipe(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def _end(self) -> None:
        """Close the pipe and wait; what does not end in time is killed, and recovered by others."""
        if self._process is not None:
            self._close_pipe()
            config = self._orders.config
            patience = config.drain_seconds + config.grace_seconds + _STOP_MARGIN_SECONDS
            try:
                self._process.wait(patience)
            except subprocess.TimeoutExpired:
                _log.warning("the embedded worker did not end within %g s; killed", patience)
                self._process.kill()
                self._process.wait()
        if self._turn is not None:
            self._turn.give_up()


class _Turn:
    """Which process of this machine holds the worker: the holder of a file lock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def is_mine(self) -> bool:
        """Tell whether the turn is, or has just become, this process's."""
        if self._file is not None:
            return True
        file = self._open()
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self._file = file
        return True

    def _open(self) -> BinaryIO:
        try:
            return self._path.open("ab")
        except OSError as error:
            raise ConfigError(
                f"the file {self._path} cannot be opened: {error.strerror}",
                hint="give this user a temporary folder (TMPDIR), or embed with shared=False",
            ) from error

    def give_up(self) -> None:
        """Let another process have it."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _turn_file(orders: Orders) -> Path:
    """Return one file for each user, store and app; its name tells nothing of an address."""
    words = f"{Path.cwd()}\n{orders.settings.store_url}\n{orders.config.app}"
    digest = hashlib.sha256(words.encode()).hexdigest()[:24]
    return Path(tempfile.gettempdir()) / f"mainspring-{os.getuid()}-{digest}.lock"
