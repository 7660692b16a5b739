"""Commands as processes of their own, forked from one that has imported the command line already.

Most of what a command costs is its imports: 0.33 s of CPU, and 0.04 s without. Here a process
imports once and runs nothing; for each command it forks, and the child becomes that command: its
own folder, environment, arguments and streams, and an interpreter that ends as interpreters do.
Commands that go on are started as users do it, and `test_warm` holds one way against the other.

``python -m tests.cli.warm SOCKET`` serves until its standard input ends.
"""

import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Self

import mainspring.cli

ROOT = Path(__file__).resolve().parents[2]
#: What is read before the first line of Python; a command for which it differs is started cold.
READ_AT_START = ("PYTHON", "LC_", "LANG", "TZ", "LD_")
_REQUEST_BYTES_MAX = 1 << 20


class Warm:
    """The process that has everything imported; `run` has it fork."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._address = str(folder / "warm")
        self._env = env

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.warm", self._address],
            cwd=ROOT,
            env=self._env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._process.communicate(timeout=10)

    def run(
        self,
        words: Sequence[str],
        folder: Path,
        env: Mapping[str, str],
        stdin: bytes | None,
        seconds_max: float,
    ) -> tuple[int, bytes, bytes]:
        """Return the exit status and what was printed on both streams."""
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
            Path(os.devnull).open("rb") as nothing,
            socket.socket(socket.AF_UNIX) as line,
        ):
            given.write(stdin or b"")
            given.seek(0)
            line.settimeout(seconds_max)
            line.connect(self._address)
            streams = [nothing if stdin is None else given, out, err]
            request = json.dumps([list(words), str(folder), dict(env)]).encode()
            assert len(request) < _REQUEST_BYTES_MAX
            socket.send_fds(line, [b"%8d" % len(request)], [each.fileno() for each in streams])
            line.sendall(request)
            code = self._code(line, words)
            return code, _read(out), _read(err)

    @staticmethod
    def _code(line: socket.socket, words: Sequence[str]) -> int:
        answers = line.makefile("rb")
        with answers:
            pid = int(answers.readline())
            try:
                return int(answers.readline())
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise AssertionError(f"{' '.join(words)} does not end") from None


def _read(stream: IO[bytes]) -> bytes:
    stream.seek(0)
    return stream.read()


# --- the process itself -------------------------------------------------------------------------


def serve(address: str) -> None:
    """Fork a command for each connection, until the tests are over."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    print("ready", flush=True)
    # Who waits for a command is a child that nobody waits for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while listener.fileno() in select.select([listener.fileno(), 0], [], [])[0]:
        line, _ = listener.accept()
        with line:
            if os.fork() == 0:
                listener.close()
                attend(line)
                return
    listener.close()


def attend(line: socket.socket) -> None:
    """Fork the command, and tell how it ended; return in the command only."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, streams, _, _ = socket.recv_fds(line, 8, 3)
    request = b""
    while len(request) < int(size):
        request += line.recv(int(size) - len(request))
    words, folder, env = json.loads(request)
    child = os.fork()
    if child == 0:
        line.close()
        become(words, folder, env, streams)
        return
    line.sendall(b"%d\n" % child)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        line.sendall(b"%d\n" % code)
    finally:
        os._exit(0)


def become(words: list[str], folder: str, env: dict[str, str], streams: list[int]) -> None:
    """Make this process what `python -m mainspring WORDS` is before its first line."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    sys.path[0] = folder
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["mainspring", *words]


def main(address: str) -> None:
    """Import what commands import, serve, and in a forked child be the command."""
    for found in pkgutil.iter_modules(mainspring.cli.__path__, "mainspring.cli."):
        importlib.import_module(found.name)
    for name in ("mainspring.runtime.assemble", "mainspring.store.sqlite"):
        importlib.import_module(name)
    # A fork copies one thread only.
    assert threading.active_count() == 1
    # Otherwise each child would copy all of the memory, just to look for garbage in it.
    gc.freeze()
    serve(address)
    if sys.argv[0] == "mainspring":
        runpy.run_module("mainspring", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1])
