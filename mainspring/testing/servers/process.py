"""One server process: started, signalled and watched by a thread of its own."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mainspring.testing.servers import process_tree
from mainspring.testing.servers.failures import ServerFailed
from mainspring.testing.servers.waiting import wait_until

_EXEC_BOUND = Path(__file__).with_name("exec_bound.py")
_NOBODY = 65534
_LOG_TAIL_BYTES = 4_000
_STOP_SECONDS = 15.0
_REAP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a server runs as, where that is not ourselves."""

    uid: int
    gid: int


def unprivileged() -> Identity | None:
    """Who to be for servers that refuse root; None when we are an ordinary user already."""
    return Identity(_NOBODY, _NOBODY) if os.geteuid() == 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to run. `death_signal` is what it gets should we die first."""

    command: Sequence[str]
    log_path: Path
    identity: Identity | None = None
    death_signal: signal.Signals = signal.SIGKILL
    environment: Mapping[str, str] | None = None


class ServerProcess:
    """A running program that ends when we do, however we end.

    The kernel sends the parent-death signal when the *thread* ends that started the process. So
    each process gets a thread that starts it and then does nothing but wait for its end: whichever
    thread of a test asked for the server may come and go.

        process = ServerProcess(Program(command=["/bin/cat"], log_path=log))
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._guard = threading.Lock()  # the pid is ours to signal only while this is held unreaped
        self._is_reaped = False
        self._popen: subprocess.Popen[bytes] | None = None
        self._start_error: OSError | None = None
        self._started = threading.Event()
        self._ended = threading.Event()
        threading.Thread(target=self._start_and_wait, name="server", daemon=True).start()
        self._started.wait()
        if self._start_error is not None:
            raise ServerFailed(f"cannot start {program.command[0]}: {self._start_error}")

    @property
    def pid(self) -> int:
        """The server's own pid; the small wrapper has replaced itself by the server."""
        assert self._popen is not None
        return self._popen.pid

    @property
    def is_running(self) -> bool:
        """False once it has ended, for whatever reason."""
        return not self._ended.is_set()

    def send(self, number: signal.Signals) -> None:
        """To this process only; nothing happens when it has ended."""
        with self._guard:
            if not self._is_reaped:
                os.kill(self.pid, number)

    def freeze(self) -> None:
        """SIGSTOP to the whole tree: connections stay open and nobody answers."""
        with self._guard:
            if not self._is_reaped:
                process_tree.freeze_tree(self.pid)

    def thaw(self) -> None:
        """SIGCONT to the whole tree."""
        with self._guard:
            if not self._is_reaped:
                process_tree.thaw_tree(self.pid)

    def kill9(self) -> None:
        """SIGKILL to the whole tree; returns when none of it is left."""
        with self._guard:
            pids = [] if self._is_reaped else process_tree.kill_tree(self.pid)
        gone = self._ended.wait(_REAP_SECONDS) and wait_until(
            lambda: not any(map(process_tree.is_alive, pids)), seconds_max=_REAP_SECONDS
        )
        if not gone:
            raise ServerFailed(f"{self._program.command[0]} survived SIGKILL")

    def stop(self, number: signal.Signals) -> None:
        """Ask it to end by its own signal, then insist."""
        self.thaw()
        self.send(number)
        if not self._ended.wait(_STOP_SECONDS):
            self.kill9()

    def log_tail(self) -> str:
        """The end of what it has written, for error messages."""
        try:
            with self._program.log_path.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - _LOG_TAIL_BYTES))
                return log.read().decode("utf-8", errors="replace")
        except OSError:
            return ""

    def _start_and_wait(self) -> None:
        try:
            self._popen = self._spawn()
        except OSError as error:
            self._start_error = error
            self._is_reaped = True
            self._ended.set()
            self._started.set()
            return
        self._started.set()
        if hasattr(os, "waitid"):  # see the end without reaping it: until then the pid stays ours
            os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._popen.wait()
        with self._guard:
            self._popen.wait()
            self._is_reaped = True
        self._ended.set()

    def _spawn(self) -> "subprocess.Popen[bytes]":
        program = self._program
        identity = program.identity or Identity(-1, -1)
        # The wrapper needs no site-packages and must not be led astray by PYTHON* variables.
        wrapper = [sys.executable, "-I", "-S", str(_EXEC_BOUND)]
        bound = [program.death_signal.value, os.getpid(), identity.uid, identity.gid]
        with program.log_path.open("ab") as log:
            return subprocess.Popen(  # noqa: S603 - commands are built here, never from outside
                [*wrapper, *map(str, bound), *program.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd="/",  # the server must be able to reach its directory as whoever it runs as
                env=program.environment,
                start_new_session=True,  # Ctrl-C at the terminal is for us; we then end the servers
            )
