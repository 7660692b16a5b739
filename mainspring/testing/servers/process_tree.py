"""A process and everything it has started, as the kernel knows them.

PostgreSQL puts each backend into a session of its own, so a signal to the server's process group
reaches the postmaster alone. Stopping a parent before its children are listed makes the list final:
a stopped process starts no child and reaps none, so no pid in the list can have passed to a
stranger.
"""

import os
import signal
import subprocess
from pathlib import Path

_PROC = Path("/proc")


def freeze_tree(root_pid: int) -> list[int]:
    """Stop (SIGSTOP) a process and its descendants; the pids, parents first."""
    frozen = [root_pid]
    os.kill(root_pid, signal.SIGSTOP)
    while new := [pid for pid in descendants(root_pid) if pid not in frozen]:
        for pid in new:
            send(pid, signal.SIGSTOP)
        frozen += new
    return frozen


def thaw_tree(root_pid: int) -> None:
    """Let a frozen tree go on, children first."""
    for pid in reversed([root_pid, *descendants(root_pid)]):
        send(pid, signal.SIGCONT)


def kill_tree(root_pid: int) -> list[int]:
    """SIGKILL to all at once, as when a machine loses power; the pids. Does not wait."""
    pids = freeze_tree(root_pid)
    for pid in reversed(pids):
        send(pid, signal.SIGKILL)
    return pids


def descendants(root_pid: int) -> list[int]:
    """Children, their children and so on, nearest first."""
    children: dict[int, list[int]] = {}
    for pid, parent_pid in _process_table():
        children.setdefault(parent_pid, []).append(pid)
    found: list[int] = []
    level = [root_pid]
    while level:
        level = [child for pid in level for child in children.get(pid, [])]
        found += level
    return found


def is_alive(pid: int) -> bool:
    """Whether it can still touch anything; a zombie, which may stay for ever, cannot."""
    if _PROC.is_dir():
        stat = _read_stat(pid)
        return stat is not None and stat[0] not in "ZX"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def send(pid: int, number: int) -> None:
    """Send a signal; that the process has just ended is no error."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _process_table() -> list[tuple[int, int]]:
    """Pairs of (pid, parent pid) of every process of the machine."""
    if not _PROC.is_dir():
        command = ["ps", "-A", "-o", "pid=,ppid="]
        listing = subprocess.check_output(command, text=True)  # noqa: S603 - constant
        return [(int(pid), int(parent)) for pid, parent in map(str.split, listing.splitlines())]
    pids = [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]
    return [(pid, stat[1]) for pid in pids if (stat := _read_stat(pid)) is not None]


def _read_stat(pid: int) -> tuple[str, int] | None:
    """State letter and parent pid, or None when the process is gone."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command's name stands in brackets and may itself contain any of them.
    state, parent_pid = text.rpartition(")")[2].split()[:2]
    return state, int(parent_pid)
