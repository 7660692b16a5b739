"""What SQLite's errors mean to the caller: what is wrong, where, and what to do next."""

import os
import sqlite3
from pathlib import Path
from typing import Final

from mainspring.domain.errors import (
    ConfigError,
    ConnectionFailed,
    InvalidInput,
    MainspringError,
    OutcomeUnknown,
    PayloadTooLarge,
    StoreNotMigrated,
    StoreNotWritable,
)

#: Extended result codes keep their family in the low byte.
_FAMILY: Final = 0xFF
BUSY_CODES: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
#: What to do about a file that is there but may not be written.
GIVE_ACCESS: Final = "give this user write access to the file and to its folder"
# What SQLite says when it cannot grow its index of the WAL or a temporary file.
_NO_ROOM: Final = frozenset({"SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR_GETTEMPPATH"})


def family(error: BaseException) -> int:
    """Return the primary result code, 0 for anything that is not SQLite's."""
    code = getattr(error, "sqlite_errorcode", None)
    return 0 if code is None else code & _FAMILY


def is_busy(error: BaseException) -> bool:
    """Tell whether somebody else is writing, so that waiting helps."""
    return family(error) in BUSY_CODES


def translate(error: BaseException, address: str, *, committing: bool = False) -> BaseException:
    """Return the error that the caller shall see; what is not SQLite's stays as it is."""
    if isinstance(error, UnicodeError | OverflowError):
        return InvalidInput(f"the store cannot keep a value: {error}")
    if not isinstance(error, sqlite3.Error):
        return error
    found = _by_family(error, address, committing=committing) or _by_words(error, address)
    found.__cause__ = error
    return found


def _by_family(error: sqlite3.Error, address: str, *, committing: bool) -> MainspringError | None:
    name = getattr(error, "sqlite_errorname", "")
    code = family(error)
    found: MainspringError | None = None
    if code in BUSY_CODES:
        found = ConnectionFailed(
            f"the store {address} is busy: another process has kept it from being written",
            hint="end the process that holds a transaction open on this file, then try again; "
            "nothing was changed",
        )
    elif code == sqlite3.SQLITE_FULL or name in _NO_ROOM:
        found = StoreNotWritable(
            f"no space is left for the store {address}",
            hint="free some space and try again; what was acknowledged is safe",
        )
    elif code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}:
        found = StoreNotWritable(f"the store {address} is read-only", hint=GIVE_ACCESS)
    elif code == sqlite3.SQLITE_CANTOPEN:
        found = _not_opened(address)
    elif code in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}:
        found = _not_readable(error, code, address)
    elif code == sqlite3.SQLITE_IOERR:
        found = _input_output(error, name, address, committing=committing)
    return found


def _by_words(error: sqlite3.Error, address: str) -> MainspringError:
    code = family(error)
    if str(error).startswith(("no such table", "no such column")):
        return StoreNotMigrated(f"the store {address} lacks what this version needs: {error}")
    if code == sqlite3.SQLITE_CONSTRAINT:
        return InvalidInput(f"the store refuses a value: {error}")
    if code == sqlite3.SQLITE_TOOBIG or isinstance(error, sqlite3.DataError):
        return PayloadTooLarge(f"a value is too large for the store {address}: {error}")
    return MainspringError(f"the store {address} failed: {error}")


def _not_opened(address: str) -> MainspringError:
    folder = Path(address).parent
    # By os.access alone: a folder that this user may not look into raises elsewhere.
    if os.access(folder, os.F_OK) and not os.access(folder, os.W_OK):
        return StoreNotWritable(
            f"the store {address} cannot be written: its folder is read-only",
            hint="SQLite keeps two more files beside it; give this user write access to the folder",
        )
    return ConnectionFailed(
        f"the store {address} cannot be opened",
        hint="check that the path exists, that this user may read and write it, and that the "
        "process has file descriptors left",
    )


def _not_readable(error: sqlite3.Error, code: int, address: str) -> MainspringError:
    if code == sqlite3.SQLITE_NOTADB:
        return ConfigError(
            f"{address} is not a SQLite database",
            hint="give the path of a store, or of a file that does not exist yet",
        )
    return ConnectionFailed(
        f"the store {address} is damaged: {error}",
        hint="restore it from a backup, or recover it with: sqlite3 FILE .recover",
    )


def _input_output(
    error: sqlite3.Error, name: str, address: str, *, committing: bool
) -> MainspringError:
    what = f"the disk under the store {address} failed ({name or error})"
    if committing:
        # The commit record may have reached the disk before the error did.
        return OutcomeUnknown(f"{what} while a change was being committed")
    return ConnectionFailed(
        what, hint="look into the system's log for disk errors; nothing was changed"
    )
