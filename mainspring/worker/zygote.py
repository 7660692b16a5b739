"""The zygote: one thread, the app imported once, forks isolates on request (about 1 ms each).

A process of its own, because a process with threads and a running loop cannot be forked safely.
It is the parent of its isolates, so only it can signal them without hitting a reused pid.
Run as ``python -m mainspring.worker.zygote SOCKET PARENT LOG_LEVEL APP``.
"""

import array
import contextlib
import os
import select
import signal
import socket
import sys
from typing import Final, NoReturn

from mainspring.app.declare import App
from mainspring.app.loading import load_app
from mainspring.worker import processes
from mainspring.worker.control import (
    TO_ZYGOTE,
    Exited,
    Fork,
    Forked,
    LineBuffer,
    Signal,
    ToZygote,
    line,
)
from mainspring.worker.isolate import run_isolate

_RECEIVED_BYTES: Final = 65_536
_DESCRIPTORS_MAX: Final = 64


class Zygote:
    """Answers its child process until that goes away; then everything here is killed."""

    def __init__(self, control: socket.socket, app: App, log_level: str) -> None:
        """Serve ``control``."""
        self._control = control
        self._app = app
        self._log_level = log_level
        self._words: LineBuffer[ToZygote] = LineBuffer(TO_ZYGOTE)
        self._sockets: list[int] = []
        self._token_of: dict[int, int] = {}
        self._pid_of: dict[int, int] = {}

    def serve(self) -> None:
        """Fork, signal and reap until the child process has gone."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        control = self._control.fileno()
        while True:
            ready, _, _ = select.select([control, reading], [], [])
            if reading in ready:
                os.read(reading, _RECEIVED_BYTES)
                self._reap()
            if control in ready and not self._receive():
                return

    def kill_all(self) -> None:
        """Kill every isolate."""
        for pid in self._token_of:
            processes.kill_group(pid)

    def _receive(self) -> bool:
        size = array.array("i").itemsize * _DESCRIPTORS_MAX
        received, ancillary, _, _ = self._control.recvmsg(_RECEIVED_BYTES, socket.CMSG_SPACE(size))
        for _level, _kind, raw in ancillary:
            found = array.array("i")
            found.frombytes(raw[: len(raw) - len(raw) % found.itemsize])
            self._sockets.extend(found)
        for word in self._words.feed(received):
            match word:
                case Fork(token=token):
                    self._fork(token)
                case Signal(token=token, number=number):
                    self._signal(token, number)
        return bool(received)

    def _fork(self, token: int) -> None:
        descriptor = self._sockets.pop(0)
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError:
            # No process or memory to be had: the child tries again later.
            os.close(descriptor)
            self._control.sendall(line(Exited(token, os.EX_OSERR)))
            return
        if pid == 0:
            self._become_isolate(descriptor, parent)
        os.close(descriptor)
        self._token_of[pid] = token
        self._pid_of[token] = pid
        self._control.sendall(line(Forked(token, pid)))

    def _become_isolate(self, descriptor: int, parent: int) -> NoReturn:
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            processes.die_with_parent(parent)
            os.setpgid(0, 0)
            self._control.close()
            for other in self._sockets:
                os.close(other)
            code = run_isolate(socket.socket(fileno=descriptor), self._app, self._log_level)
        finally:
            # Neither the app's exit functions nor our caller's frames belong to this process.
            os._exit(code)

    def _signal(self, token: int, number: int) -> None:
        pid = self._pid_of.get(token)
        if pid is None:
            return
        if number == signal.SIGKILL:
            processes.kill_group(pid)
        else:
            os.kill(pid, number)

    def _reap(self) -> None:
        for pid in list(self._token_of):
            found, status = os.waitpid(pid, os.WNOHANG)
            if not found:
                continue
            token = self._token_of.pop(pid)
            del self._pid_of[token]
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)  # what its handler has started and left behind
            code = os.waitstatus_to_exitcode(status)
            self._control.sendall(line(Exited(token, code)))


def main(arguments: list[str]) -> None:
    """Become a zygote."""
    descriptor, parent, log_level, app = arguments
    processes.die_with_parent(int(parent))
    processes.obey_only_the_parent()
    control = socket.socket(fileno=int(descriptor))
    zygote = Zygote(control, load_app(app), log_level)
    try:
        zygote.serve()
    except (ConnectionError, KeyboardInterrupt):
        return
    finally:
        zygote.kill_all()


if __name__ == "__main__":
    main(sys.argv[1:])
