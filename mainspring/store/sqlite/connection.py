"""Opens one connection the way this store needs it, after a look at what lies at the path."""

import os
import sqlite3
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from mainspring.domain.errors import ConfigError, ConnectionFailed, StoreNotWritable
from mainspring.store.sqlite.failures import GIVE_ACCESS
from mainspring.store.sqlite.patience import insist

MEMORY: Final = ":memory:"
#: "MSPR": tells our files from those of other applications.
APPLICATION_ID: Final = 0x4D535052
_SQLITE_NEEDED: Final = (3, 35, 0)
_STATEMENTS_KEPT: Final = 256


class Settings(NamedTuple):
    """Where the store lies and how patient it is."""

    path: str
    #: How long a change may wait for other processes that write the same file.
    busy_timeout_ms: int = 5_000
    #: The WAL is moved into the file when it has so many pages of 4 KiB.
    wal_pages: int = 1_000
    #: A WAL that has grown beyond this by a long reader is cut back.
    journal_bytes_max: int = 64 * 1024 * 1024
    #: How often other processes' changes are looked for while somebody waits.
    poll_ms: int = 5

    @property
    def in_memory(self) -> bool:
        """Tell whether the store lives in this process only."""
        return self.path == MEMORY


def prepare_path(settings: Settings) -> None:
    """Create the parent folder, and refuse what can never become a store."""
    if sqlite3.sqlite_version_info < _SQLITE_NEEDED:
        raise ConfigError(
            f"SQLite {sqlite3.sqlite_version} is too old: this store needs 3.35",
            hint="use a Python that is linked to a newer SQLite, or PostgreSQL",
        )
    if settings.in_memory:
        return
    path = Path(settings.path)
    try:
        is_folder = path.is_dir()
        path.parent.mkdir(parents=True, exist_ok=True)
        is_there = path.exists()
    except (FileExistsError, NotADirectoryError) as error:
        raise ConfigError(
            f"{path.parent} is not a folder, so {path} cannot be created",
            hint="name a path whose parent is a folder",
        ) from error
    except OSError as error:
        raise StoreNotWritable(
            f"the folder {path.parent} for the store cannot be created: {error.strerror}",
            hint="create it, or give this user write access above it",
        ) from error
    if is_folder:
        raise ConfigError(
            f"{path} is a folder, not a file", hint=f"name a file in it: {path / 'mainspring.db'}"
        )
    if is_there and not os.access(path, os.W_OK):
        raise StoreNotWritable(f"the store {path} is read-only", hint=GIVE_ACCESS)


def connect(settings: Settings, *, patient: bool) -> sqlite3.Connection:
    """Open the database, durable and shared; raises SQLite's own errors.

    A ``patient`` connection leaves waiting for others to SQLite, the writer's does it itself.
    """
    connection = sqlite3.connect(
        settings.path,
        timeout=settings.busy_timeout_ms / 1_000 if patient else 0,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=_STATEMENTS_KEPT,
    )
    try:
        insist(partial(_prepare, connection, settings), settings.busy_timeout_ms)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, settings: Settings) -> None:
    _refuse_strangers(connection, settings)
    if not settings.in_memory:
        _make_durable(connection, settings)
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA trusted_schema = OFF")
    # An index made up for one statement would read the whole table to save a few look-ups.
    connection.execute("PRAGMA automatic_index = OFF")


def _refuse_strangers(connection: sqlite3.Connection, settings: Settings) -> None:
    """Raise unless the file is ours, or belongs to nobody in particular."""
    found = int(connection.execute("PRAGMA application_id").fetchone()[0])
    if found not in {0, APPLICATION_ID}:
        raise ConfigError(
            f"{settings.path} is the database of another application "
            f"(application_id {found:#010x})",
            hint="name another file; Mainspring creates it",
        )


def _make_durable(connection: sqlite3.Connection, settings: Settings) -> None:
    mode = str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
    if mode != "wal":
        raise ConnectionFailed(
            f"the store {settings.path} cannot use a write-ahead log (mode {mode})",
            hint="put it on a local disk: network file systems lack the shared memory it needs",
        )
    # FULL waits for the disk at every commit: what was acknowledged survives a power cut.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {settings.wal_pages:d}")
    connection.execute(f"PRAGMA journal_size_limit = {settings.journal_bytes_max:d}")
