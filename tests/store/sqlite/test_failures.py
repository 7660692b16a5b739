"""Each error of SQLite tells what is wrong, where, and what to do next."""

import sqlite3

import pytest

from mainspring.domain.errors import (
    ConfigError,
    ConnectionFailed,
    InvalidInput,
    MainspringError,
    OutcomeUnknown,
    PayloadTooLarge,
    SessionLost,
    StoreNotMigrated,
    StoreNotWritable,
)
from mainspring.store.sqlite.failures import translate


def _error(name: str, message: str = "told by SQLite") -> sqlite3.Error:
    error = sqlite3.OperationalError(message)
    error.sqlite_errorcode = getattr(sqlite3, name)
    error.sqlite_errorname = name
    return error


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SQLITE_BUSY", ConnectionFailed),
        ("SQLITE_BUSY_RECOVERY", ConnectionFailed),
        ("SQLITE_LOCKED", ConnectionFailed),
        ("SQLITE_PROTOCOL", ConnectionFailed),
        ("SQLITE_FULL", StoreNotWritable),
        ("SQLITE_IOERR_SHMSIZE", StoreNotWritable),
        ("SQLITE_READONLY", StoreNotWritable),
        ("SQLITE_READONLY_DBMOVED", StoreNotWritable),
        ("SQLITE_CANTOPEN", ConnectionFailed),
        ("SQLITE_NOTADB", ConfigError),
        ("SQLITE_CORRUPT", ConnectionFailed),
        ("SQLITE_IOERR_READ", ConnectionFailed),
        ("SQLITE_CONSTRAINT_CHECK", InvalidInput),
        ("SQLITE_TOOBIG", PayloadTooLarge),
    ],
)
def test_every_family_has_its_error(name: str, expected: type[MainspringError]) -> None:
    given = _error(name)
    found = translate(given, "/data/store.db")
    assert type(found) is expected
    assert found.__cause__ is given
    assert isinstance(found, MainspringError)
    assert found.hint
    assert "/data/store.db" in found.message or expected is InvalidInput


def test_a_disk_that_fails_in_a_commit_leaves_the_outcome_open() -> None:
    error = _error("SQLITE_IOERR_FSYNC")
    assert type(translate(error, "f", committing=True)) is OutcomeUnknown
    # A full disk is certain: the record of the commit was not written.
    assert type(translate(_error("SQLITE_FULL"), "f", committing=True)) is StoreNotWritable


def test_missing_tables_are_told_as_such() -> None:
    error = _error("SQLITE_ERROR", "no such table: jobs")
    assert type(translate(error, "f")) is StoreNotMigrated


def test_what_is_not_from_sqlite_stays_as_it_is() -> None:
    for error in (SessionLost(), ValueError("x")):
        assert translate(error, "f") is error
