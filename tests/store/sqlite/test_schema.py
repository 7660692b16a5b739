"""What the tables allow is what the domain's tables say, and migrations lead to it."""

import re
import sqlite3
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from mainspring.domain.errors import Conflict, StoreNewer, StoreNotMigrated
from mainspring.domain.states import CLOSED_ATTEMPTS, FINAL, HELD, LIVE, AttemptState, JobState
from mainspring.store import migrations
from mainspring.store.sqlite import SqliteStore, open_sqlite
from mainspring.store.sqlite.connection import APPLICATION_ID
from mainspring.store.sqlite.unit import PACKAGE
from mainspring.testing.builders import new_job


@pytest.fixture
def database(store: SqliteStore, path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


def _schema(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    # A column that was added later stands behind a comma on a line of its own.
    return sorted((name, re.sub(r"\s+(?=[,)])", "", " ".join(sql.split()))) for name, sql in found)


def _application(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA application_id").fetchone()[0])


async def test_the_schema_file_is_what_the_migrations_make(database: sqlite3.Connection) -> None:
    other = sqlite3.connect(":memory:")
    other.executescript(files(PACKAGE).joinpath("schema.sql").read_text(encoding="utf-8"))
    assert _schema(other) == _schema(database)
    assert _application(other) == _application(database) == APPLICATION_ID
    other.close()


async def test_the_script_for_by_hand_does_what_migrate_does(
    store: SqliteStore, database: sqlite3.Connection, tmp_path: Path
) -> None:
    path = tmp_path / "by_hand.db"
    by_hand = sqlite3.connect(path)
    by_hand.executescript(store.migration_sql(pending=None))
    assert _schema(by_hand) == _schema(database)
    by_hand.close()
    opened = await open_sqlite(path)
    assert await opened.migrate(phase="all") == []
    await opened.check_ready()
    await opened.close()


def _insert_job(database: sqlite3.Connection, **changes: object) -> None:
    values: dict[str, object] = {
        "id": new_job().id,
        "kind": "k",
        "state": "ready",
        "due_at": 1,
        "created_at": 1,
        **changes,
    }
    names = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    database.execute(f"INSERT INTO jobs ({names}) VALUES ({marks})", values)


def _held(state: JobState) -> dict[str, object]:
    if state in HELD:
        return {"worker_id": b"w" * 16, "started_at": 1, "deadline_at": 2}
    return {"blocked_reason": "parents"} if state is JobState.BLOCKED else {}


@pytest.mark.parametrize("state", list(JobState))
async def test_live_rows_are_in_live_states(database: sqlite3.Connection, state: JobState) -> None:
    if state in LIVE:
        _insert_job(database, state=state.value, **_held(state))
        return
    with pytest.raises(sqlite3.IntegrityError):
        _insert_job(database, state=state.value)


@pytest.mark.parametrize("state", sorted(LIVE))
async def test_exactly_held_rows_name_a_worker(
    database: sqlite3.Connection, state: JobState
) -> None:
    wrong = {**_held(JobState.RUNNING), **_held(state)} if state not in HELD else {}
    with pytest.raises(sqlite3.IntegrityError):
        _insert_job(database, state=state.value, **wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"priority": 4},
        {"priority": -1},
        {"tries": -1},
        {"crashes": -1},
        {"attempt": -1},
        {"id": b"short"},
        {"blocked_reason": "but ready"},
    ],
)
async def test_what_can_never_be_is_refused(
    database: sqlite3.Connection, wrong: dict[str, object]
) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        _insert_job(database, **wrong)


async def test_history_and_attempts_know_the_states_of_the_domain(
    database: sqlite3.Connection,
) -> None:
    def allowed(table: str, column: str, values: list[str]) -> set[str]:
        (sql,) = database.execute(
            "SELECT sql FROM sqlite_master WHERE name = ?", (table,)
        ).fetchone()
        begin = sql.index(f"{column} IN (")
        listed = sql[begin : sql.index(")", begin)]
        return {value for value in values if f"'{value}'" in listed}

    every_job = [state.value for state in JobState]
    every_attempt = [state.value for state in AttemptState]
    assert allowed("jobs", "state", every_job) == LIVE
    assert allowed("jobs_history", " state", every_job) == FINAL
    assert allowed("jobs_history", "attempt_state", every_attempt) == CLOSED_ATTEMPTS
    assert allowed("attempts", "state", every_attempt) == CLOSED_ATTEMPTS


async def test_without_tables_everything_says_what_to_run(path: Path) -> None:
    store = await open_sqlite(path)
    with pytest.raises(StoreNotMigrated, match="has no Mainspring tables"):
        await store.check_ready()
    with pytest.raises(StoreNotMigrated, match=str(path)):
        await store.submit([new_job()])
    with pytest.raises(StoreNotMigrated):
        await store.get_job(new_job().id)
    await store.migrate(phase="all")
    await store.check_ready()
    await store.close()


def _write_step(database: sqlite3.Connection, name: str) -> None:
    database.execute("INSERT INTO migrations VALUES (?, 'unknown', 1, '99')", (name,))


async def test_a_newer_schema_is_left_alone(
    store: SqliteStore, database: sqlite3.Connection
) -> None:
    _write_step(database, "9998_pre_something")
    await store.check_ready()
    _write_step(database, "9999_post_something")
    with pytest.raises(StoreNewer, match="9999_post_something"):
        await store.check_ready()


async def test_an_applied_step_never_changes(
    store: SqliteStore, database: sqlite3.Connection
) -> None:
    database.execute("UPDATE migrations SET checksum = 'another'")
    with pytest.raises(Conflict, match="another text"):
        await store.check_ready()


async def test_many_migrate_at_once_and_one_does_it(path: Path) -> None:
    stores = [await open_sqlite(path) for _ in range(4)]
    done = [await store.migrate(phase="all") for store in stores]
    steps = [step.name for step in migrations.load(PACKAGE)]
    assert done == [steps, [], [], []]
    for store in stores:
        await store.close()


async def test_the_audit_is_append_only(store: SqliteStore, database: sqlite3.Connection) -> None:
    await store.pause_queue("mail", reason="", actor="ada")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        database.execute("UPDATE audit SET actor = 'eve'")


async def test_the_default_tenant_is_as_old_as_the_store(store: SqliteStore) -> None:
    found = await store.get_tenant("default")
    assert found is not None
    assert found.created_at.year > 2000
