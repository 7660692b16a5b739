"""Temporary directories of servers, which also disappear when their owner was killed.

Each holds a file on which its owner keeps an advisory file lock. The kernel gives that up when the
owner dies, so whoever makes the next workspace can tell the abandoned ones and removes them.
"""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from mainspring.testing.servers.process import Identity

_PREFIX = "mainspring-server-"
_PREFIX_UNFINISHED = "mainspring-unfinished-"
_OWNER_FILE = "owner"
_MEMORY = Path("/dev/shm")  # noqa: S108 - names in it come from mkdtemp
_MEMORY_FREE_BYTES_MIN = 4 * 1024**3


class Workspace:
    """A directory of ours with a `data` directory in it that belongs to the server."""

    def __init__(
        self, name: str, identity: Identity | None = None, *, in_memory: bool = False
    ) -> None:
        disk, memory = _temporary_base(), _memory_base()
        for possible in filter(None, (disk, memory)):
            _remove_abandoned(possible)
        base = memory if in_memory and memory else disk
        unfinished = Path(tempfile.mkdtemp(prefix=_PREFIX_UNFINISHED, dir=base))
        self._owner = (unfinished / _OWNER_FILE).open("wb")
        fcntl.flock(self._owner, fcntl.LOCK_EX)
        # Only now may others see it: before the line above it looked abandoned.
        suffix = unfinished.name.removeprefix(_PREFIX_UNFINISHED)
        self.path = unfinished.rename(base / f"{_PREFIX}{name}-{suffix}")
        self.data = self.path / "data"
        self.data.mkdir(mode=0o700)
        self.log = self.path / "server.log"
        if identity is not None:
            self.path.chmod(0o755)  # the server passes through as another user
            os.chown(self.data, identity.uid, identity.gid)

    def remove(self) -> None:
        """Delete everything; may be called twice."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._owner.close()


def reachable_by_others(path: Path) -> bool:
    """Whether any user may pass through every directory down to here and read what is there."""
    parents = path.resolve().parents
    return bool(path.stat().st_mode & 0o005 == 0o005) and all(
        parent.stat().st_mode & 0o001 for parent in parents
    )


def _temporary_base() -> Path:
    """The user's temporary directory, unless root has put it where servers cannot follow."""
    base = Path(tempfile.gettempdir())
    if os.geteuid() == 0 and not reachable_by_others(base):
        return Path("/tmp")  # noqa: S108 - names in it come from mkdtemp
    return base


def _memory_base() -> Path | None:
    """A file system in memory with room to spare; containers often have one of 64 MB only."""
    if not os.access(_MEMORY, os.W_OK | os.X_OK):
        return None
    status = os.statvfs(_MEMORY)
    return _MEMORY if status.f_bavail * status.f_frsize >= _MEMORY_FREE_BYTES_MIN else None


def _remove_abandoned(base: Path) -> None:
    for path in base.glob(f"{_PREFIX}*"):
        try:
            if path.lstat().st_uid != os.geteuid():
                continue
            with (path / _OWNER_FILE).open("rb") as owner:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        except OSError:  # in use, or another process removes it just now
            continue
