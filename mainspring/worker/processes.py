"""Processes of a worker: how they start, how they die with their parent, why they ended."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def start(command: Sequence[str], descriptors: Sequence[int]) -> subprocess.Popen[bytes]:
    """Start a process in a group of its own, without input, inheriting only ``descriptors``."""
    return subprocess.Popen(  # noqa: S603 - our own interpreter and modules
        command,
        stdin=subprocess.DEVNULL,
        pass_fds=tuple(descriptors),
        process_group=0,
    )


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends; end now if it has already.

    Linux only. Elsewhere, and for the time before this call, the end of the parent's socket does
    the same as soon as it is read.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def obey_only_the_parent() -> None:
    """Let SIGINT and SIGTERM pass: who stops, and when, is said over the socket.

    A function that does nothing instead of ``SIG_IGN``: programs started by handlers would inherit
    the latter and become deaf themselves.
    """
    signal.signal(signal.SIGINT, _pass)
    signal.signal(signal.SIGTERM, _pass)


def _pass(_number: int, _frame: object) -> None:
    return


def cause_of(code: int) -> str:
    """Return why a process ended, in words: ``exit code 3`` or ``signal 9 (SIGKILL)``."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
    return f"signal {-code} ({name})"


def kill_group(pid: int) -> None:
    """Kill a process that leads its group, and whatever its handlers started in it."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # Not yet a group of its own, or already gone: macOS answers EPERM for zombies.
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
