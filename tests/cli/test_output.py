"""Every list in every format, on a store with something in it and on one without."""

import csv
import io
import json

import pytest

from tests.cli.conftest import Commands

LISTS = ["jobs ls", "dlq ls", "queues ls", "workers ls", "handlers ls", "db status"]


@pytest.mark.parametrize("line", LISTS)
def test_machines_can_read_every_list(line: str, dev: Commands) -> None:
    rows = dev(*line.split(), "-o", "json", expect=0).json()
    assert isinstance(rows, list)
    lines = dev(*line.split(), "-o", "jsonl", expect=0).out.splitlines()
    assert len(lines) == len(rows)
    assert [json.loads(found).keys() for found in lines] == [row.keys() for row in rows]
    names = dev(*line.split(), "-o", "name", expect=0).out.splitlines()
    assert len(names) == len(rows)
    table = list(csv.reader(io.StringIO(dev(*line.split(), "-o", "csv", expect=0).out)))
    assert len(table) == (len(rows) + 1 if rows else 0)
    assert len({len(row) for row in table}) <= 1


def test_instants_are_exact_for_machines_and_relative_for_people(dev: Commands) -> None:
    dev("submit", "greet", expect=0)
    job = dev("jobs", "ls", "-o", "json", expect=0).json()[0]
    assert job["created_at"].endswith("Z")
    shown = dev("jobs", "get", job["id"], expect=0).out
    assert "UTC  (" in shown
    assert job["created_at"][:10] in shown


def test_a_job_for_machines_has_its_attempts(dev: Commands) -> None:
    name = dev("submit", "flaky", "fails:=1", "--wait", "-o", "name", expect=0).out.strip()
    job = dev("jobs", "get", name, "-o", "json", expect=0).json()
    assert [item["state"] for item in job["attempts"]] == ["failed", "succeeded"]
    failed = job["attempts"][0]
    assert failed["error"]["type"] == "ConnectionError"
    assert failed["duration_ms"] >= 0
    assert failed["error"]["where"].startswith("tour.py:")
    assert job["result"] == "paid on try 2"
    assert job["payload"] == {"fails": 1}


def test_an_empty_store_says_so_beside_the_data(mainspring: Commands) -> None:
    for line, words in {
        "jobs ls": "no jobs yet",
        "jobs ls --state dead": "no jobs match",
        "dlq ls": "no dead letters",
        "workers ls": "mainspring worker start",
    }.items():
        done = mainspring(*line.split(), expect=0)
        assert done.out == ""
        assert words in done.err
    assert mainspring("jobs", "ls", "-o", "json", expect=0).json() == []


def test_lists_have_pages(mainspring: Commands) -> None:
    ids = [mainspring("submit", "greet", expect=0).out.strip() for _ in range(3)]
    first = mainspring("jobs", "ls", "--limit", "2", "-o", "name", expect=0)
    assert first.out.split() == ids[:0:-1]
    assert f"--before {ids[1]}" in first.err
    rest = mainspring("jobs", "ls", "--limit", "2", "--before", ids[1], "-o", "name", expect=0)
    assert (rest.out.split(), rest.err) == ([ids[0]], "")


def test_colour_is_for_terminals_only(mainspring: Commands) -> None:
    mainspring("submit", "greet", expect=0)
    assert "\x1b" not in mainspring("jobs", "ls", expect=0).out
    assert "\x1b" in mainspring("jobs", "ls", "--color", "always", expect=0).out
    assert "\x1b" not in mainspring("jobs", "ls", "--color", "never", expect=0).out
    colored = mainspring("jobs", "get", "nope", "--color=always")
    assert "\x1b[31merror:" in colored.err


def test_nothing_that_came_in_reaches_the_terminal_raw(mainspring: Commands) -> None:
    mainspring("submit", "greet", "name=\x1b]0;owned\x07", expect=0)
    name = mainspring("jobs", "ls", "-o", "name", expect=0).out.strip()
    for words in (["jobs", "get", name], ["jobs", "ls", "-o", "wide"]):
        done = mainspring(*words, expect=0)
        assert "\x1b" not in done.out + done.err
    refused = mainspring("jobs", "get", "\x1b[31mnope")
    assert "\x1b" not in refused.err


def test_options_for_all_may_stand_anywhere(mainspring: Commands) -> None:
    before = mainspring("-o", "json", "jobs", "ls", expect=0)
    after = mainspring("jobs", "ls", "-o", "json", expect=0)
    assert before == after
    other = f"sqlite:///{mainspring.store}"
    assert mainspring("--store", other, "jobs", "ls", "-o=json", expect=0) == after
    assert mainspring("jobs", "ls", "-o", "json", env={"MAINSPRING_STORE": other}) == after


def test_help_explains_exit_codes_and_errors(mainspring: Commands) -> None:
    codes = mainspring("help", "exit-codes", "-o", "json", expect=0).json()
    assert {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 130} <= {row["status"] for row in codes}
    errors = mainspring("help", "errors", "-o", "json", expect=0).json()
    assert {row["exit_code"] for row in errors} <= {row["status"] for row in codes}
    assert "unknown_kind" in {row["code"] for row in errors}


def test_debug_shows_the_traceback(mainspring: Commands) -> None:
    done = mainspring("jobs", "get", "nope", "--debug")
    assert done.code == 2
    assert "Traceback" in done.err
    assert "Traceback" not in mainspring("jobs", "get", "nope").err


def test_a_reader_that_leaves_is_no_error(mainspring: Commands) -> None:
    import os
    import subprocess
    import sys

    from tests.cli.conftest import environment

    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "mainspring", "help", "errors"]
    done = subprocess.run(
        command,
        cwd=mainspring.folder,
        env=environment(),
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


def test_the_schema_of_a_kind_is_json(mainspring: Commands) -> None:
    schema = mainspring("handlers", "schema", "add", expect=0).json()
    assert "AddPayload" in schema["$defs"]
    shown = mainspring("handlers", "get", "flaky", expect=0).out
    assert "after 300 ms" in shown


def test_migrations_are_told_in_every_way(mainspring: Commands) -> None:
    mainspring.store.unlink()
    pending = mainspring("db", "status", "--check")
    assert pending.code == 8
    assert "next: mainspring db migrate" in pending.err
    sql = mainspring("db", "sql", expect=0).out
    assert "CREATE TABLE" in sql
    assert not mainspring.store.exists()
    done = mainspring("db", "migrate", expect=0)
    assert done.out.startswith("applied  0001_")
    again = mainspring("db", "migrate", expect=0)
    assert (again.out, again.err) == ("", "nothing to do\n")
    assert "nothing to do" in mainspring("db", "sql", expect=0).err
    assert mainspring("db", "sql", "--no-pending", expect=0).out == sql
    assert mainspring("db", "status", "--check", expect=0).err == "up to date\n"
    mainspring("jobs", "ls", expect=0)


def test_queues_pause_and_resume(mainspring: Commands) -> None:
    mainspring("submit", "greet", expect=0)
    assert mainspring("queues", "pause", "default", "--reason", "why", expect=0).out == (
        "default  paused\n"
    )
    row = mainspring("queues", "ls", "-o", "json", expect=0).json()[0]
    assert (row["paused"], row["paused_reason"], row["ready"]) == (True, "why", 1)
    assert "already" in mainspring("queues", "pause", "default", expect=0).out
    assert mainspring("queues", "resume", "default", expect=0).out == "default  resumed\n"
    assert mainspring("queues", "ls", "-o", "json", expect=0).json()[0]["paused"] is False
