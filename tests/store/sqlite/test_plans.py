"""The plans of the statements on a store with 50,000 live jobs and as many final ones."""

import json
import sqlite3
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from mainspring.store.migrations import load
from mainspring.store.sqlite.unit import PACKAGE, statement

LARGE = (
    "jobs",
    "jobs_history",
    "attempts",
    "job_logs",
    "submission_keys",
    "operation_jobs",
    "member",
)
#: Statements that people ask for now and then, on a reader: why they may read everything.
MAY_SCAN = {
    "count_states": "a sum over everything",
    "list_queues": "a sum over live jobs, and live rows are few",
    "list_live": "a page in the order of the ids",
    "list_final": "a page in the order of the ids",
}
#: What they sort is few: what one worker holds, what happened within seconds, or groups that were
#: counted already.
MAY_SORT = {
    "list_changes",
    "list_groups",
    "list_held",
    "list_orphans",
    "list_overdue",
    "list_workers",
}
NAMES = sorted(
    entry.name.removesuffix(".sql")
    for entry in files(PACKAGE).joinpath("sql").iterdir()
    if entry.name.endswith(".sql")
)

_FILL = """
WITH RECURSIVE number (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n < 49999)
INSERT INTO {table} ({columns}, id, tenant, queue, kind, priority, due_at, attempt, tries, crashes,
    max_attempts, max_crashes, timeout_ms, payload, replays, created_at)
SELECT {values}, randomblob(16), 'default', 'q' || (n % 7), 'kind', n % 4, n, 1, 1, 0,
    5, 3, 1000, '{{}}', 0, n
FROM number
"""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(tmp_path_factory.mktemp("plans") / "store.db")
    # As the store's own connections have it.
    connection.executescript(
        "PRAGMA automatic_index = OFF; PRAGMA synchronous = OFF;"
        + "".join(m.sql for m in load(PACKAGE))
    )
    live = {
        "columns": "state, worker_id, started_at, deadline_at",
        "values": "CASE n % 50 WHEN 0 THEN 'running' ELSE 'ready' END, "
        "CASE n % 50 WHEN 0 THEN x'01' END, CASE n % 50 WHEN 0 THEN 1 END, "
        "CASE n % 50 WHEN 0 THEN n END",
    }
    final = {
        "columns": "state, finished_at, started_at, attempt_state",
        "values": "CASE n % 100 WHEN 0 THEN 'dead' ELSE 'succeeded' END, n, 1, 'failed'",
    }
    connection.execute(_FILL.format(table="jobs", **live))
    connection.execute(_FILL.format(table="jobs_history", **final))
    connection.commit()
    yield connection
    connection.close()


def _plan(database: sqlite3.Connection, name: str) -> list[str]:
    found = statement(name)
    values = dict.fromkeys(found.params, 1)
    explained = database.execute(f"EXPLAIN QUERY PLAN {found.text}", values)
    return [row[3] for row in explained]


@pytest.mark.parametrize("analyzed", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_no_statement_reads_a_whole_table(
    database: sqlite3.Connection, name: str, analyzed: bool
) -> None:
    if analyzed:
        database.execute("ANALYZE")
    steps = _plan(database, name)
    scans = [
        step
        for step in steps
        if step.startswith("SCAN ") and step.split()[1] in LARGE and "USING INDEX" not in step
    ]
    assert not scans or name in MAY_SCAN, steps
    assert not any("AUTOMATIC" in step for step in steps), steps


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "pick_jobs",
            "SEARCH jobs USING INDEX jobs_claim (queue=? AND priority=? AND due_at>? AND due_at<?)",
        ),
        (
            "find_holders",
            "SEARCH holder USING INDEX jobs_unique (tenant=? AND unique_key=? AND unique_while=?)",
        ),
        ("hold_keys", "SEARCH jobs USING COVERING INDEX sqlite_autoindex_jobs_1 (id=?)"),
        ("replace_waiting", "sqlite_autoindex_jobs_1 (id=?)"),
        ("start_jobs", "SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 (id=?)"),
        ("find_next_due", "SEARCH jobs USING INDEX jobs_claim (queue=? AND priority=?)"),
        ("find_held", "SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 (id=?)"),
        ("finish_jobs", "SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 (id=?)"),
        ("delete_jobs", "SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 (id=?)"),
        ("free_jobs", "SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 (id=?)"),
        ("list_held", "SEARCH jobs USING INDEX jobs_held (worker_id=?)"),
        ("list_orphans", "SEARCH jobs USING INDEX jobs_held (worker_id=?)"),
        ("list_overdue", "USING INDEX jobs_held"),
        ("list_workers", "SEARCH jobs USING INDEX jobs_held (worker_id=?)"),
        (
            "list_changes",
            "SEARCH jobs_history USING INDEX jobs_history_finished (state=? AND finished_at>?)",
        ),
        ("list_changes", "SCAN jobs USING INDEX jobs_held"),
        ("list_changes", "SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 (id>?)"),
        ("list_changes", "SEARCH closed USING INDEX attempts_ended (ended_at>?)"),
        (
            "list_unsuccessful",
            "SEARCH jobs_history USING INDEX jobs_history_unsuccessful (state=? AND id>? AND id<?)",
        ),
        ("list_groups", "SCAN jobs_history USING INDEX jobs_history_failures"),
        (
            "pick_old",
            "SEARCH jobs_history USING INDEX jobs_history_finished (state=? AND finished_at<?)",
        ),
        ("settle_members", "SEARCH member USING PRIMARY KEY (operation_id=? AND job_id=?)"),
        ("next_members", "SEARCH operation_jobs USING PRIMARY KEY (operation_id=? AND job_id>?)"),
        ("forget_members", "SEARCH member USING PRIMARY KEY (operation_id=?)"),
        ("find_marks", "SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 (id=?)"),
        ("find_later_attempts", "sqlite_autoindex_attempts_1 (job_id=?)"),
        ("find_key", "SEARCH api_keys USING PRIMARY KEY (id=?)"),
        ("list_api_keys", "SCAN api_keys USING INDEX api_keys_by_name"),
        ("list_audit", "SCAN audit USING INDEX audit_newest"),
        ("forget_audit", "SEARCH old USING COVERING INDEX audit_newest (at<?)"),
    ],
)
def test_the_paths_that_count_use_their_index(
    database: sqlite3.Connection, name: str, expected: str
) -> None:
    steps = _plan(database, name)
    assert any(expected in step for step in steps), steps
    sorts = [step for step in steps if "TEMP B-TREE FOR ORDER BY" in step]
    assert not sorts or name in MAY_SORT, steps


@pytest.mark.parametrize("name", ["list_orphans", "list_overdue"])
def test_recovery_reads_no_more_than_its_limit(database: sqlite3.Connection, name: str) -> None:
    """A thousand attempts have run out at once; each step takes a few of them."""
    database.execute("BEGIN")
    database.execute(
        "INSERT INTO workers (id, name, host, pid, version, queues, kinds, state, lease_ms, "
        "started_at, beat_at, lease_until, ended_at) "
        "VALUES (zeroblob(16), 'w', 'h', 1, '1', '{}', '[]', 'lost', 1, 1, 1, 1, 1)"
    )
    database.execute("UPDATE jobs SET worker_id = zeroblob(16) WHERE worker_id IS NOT NULL")
    try:
        for limit, expected in ((7, 7), (5_000, 1_000)):
            values = {"now": 10**12, "job_limit": limit}
            [found] = database.execute(statement(name).text, values).fetchone()
            assert len(json.loads(found)) == expected
    finally:
        database.execute("ROLLBACK")


def test_every_statement_is_used() -> None:
    code = "".join(
        path.read_text(encoding="utf-8")
        for folder in (PACKAGE, "mainspring.store")
        for path in Path(str(files(folder))).glob("*.py")
    )
    assert [name for name in NAMES if f'"{name}"' not in code] == []
