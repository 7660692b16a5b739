"""`mainspring doctor` and `mainspring db check`, on things that are really broken."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Commands


def found_by(commands: Commands, *words: str, **env: str) -> dict[str, Any]:
    done = commands("doctor", *words, "-o", "json", env=env)
    rows = {row["check"]: row for row in done.json()}
    is_clean = all(row["status"] in ("ok", "skip") for row in rows.values())
    assert done.code == (0 if is_clean else 8)
    return rows


def test_a_sound_place_has_no_findings(mainspring: Commands) -> None:
    rows = found_by(mainspring)
    assert {row["status"] for row in rows.values()} == {"ok", "skip"}
    done = mainspring("doctor", expect=0)
    assert "nothing found" in done.err


def test_slips_in_names_are_found(mainspring: Commands) -> None:
    rows = found_by(mainspring, MAINSPRING_STORRE="x")
    assert rows["environment"]["status"] == "warn"
    assert "did you mean MAINSPRING_STORE?" in rows["environment"]["next"]
    (mainspring.folder / "mainspring.toml").write_text('storre = "x"\n')
    rows = found_by(mainspring)
    assert rows["config"]["status"] == "fail"
    assert "did you mean store?" in rows["config"]["next"]


def test_a_store_that_does_not_answer_is_found(mainspring: Commands) -> None:
    rows = found_by(mainspring, "--store", "postgresql://me:s3cret@127.0.0.1:1/shop")
    assert rows["store"]["status"] == "fail"
    assert "127.0.0.1:1/shop" in rows["store"]["what"]
    assert "s3cret" not in str(rows)
    assert rows["queues"]["status"] == "skip"


def test_a_store_that_is_not_there_is_found_and_not_made(tmp_path: Path) -> None:
    rows = found_by(Commands(tmp_path))
    assert rows["store"]["status"] == "fail"
    assert "mainspring dev" in rows["store"]["next"]
    assert not (tmp_path / ".mainspring" / "dev.db").exists()


def test_pending_steps_are_found(mainspring: Commands) -> None:
    mainspring.store.unlink()
    mainspring.store.touch()
    rows = found_by(mainspring)
    assert rows["migrations"]["status"] == "fail"
    assert rows["migrations"]["next"] == "mainspring db migrate"


def test_work_without_workers_is_found(mainspring: Commands) -> None:
    mainspring("submit", "greet", expect=0)
    rows = found_by(mainspring)
    assert (rows["queues"]["status"], rows["handlers"]["status"]) == ("warn", "warn")
    shown = mainspring("doctor")
    assert shown.code == 8
    assert "next: mainspring worker start MODULE:APP --queues default" in shown.out
    assert "2 warnings, 0 failures" in shown.err


def test_an_object_store_that_cannot_be_written_is_found(mainspring: Commands) -> None:
    blocked = mainspring.folder / "file"
    blocked.write_text("")
    rows = found_by(mainspring, "--blobs", f"file://{blocked}")
    assert rows["objects"]["status"] == "fail"


def test_columns_can_be_picked(mainspring: Commands) -> None:
    out = mainspring("doctor", "--columns", "check,status", expect=0).out
    assert out.splitlines()[0].split() == ["CHECK", "STATUS"]


def test_a_whole_store_passes_the_check(mainspring: Commands) -> None:
    done = mainspring("db", "check", expect=0)
    assert "reached, migrated and whole" in done.out


def test_a_damaged_file_is_found(mainspring: Commands) -> None:
    for _ in range(3):
        mainspring("submit", "greet", "name=" + "x" * 3_000, expect=0)
    with sqlite3.connect(mainspring.store) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page = connection.execute("PRAGMA page_size").fetchone()[0]
        root = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name='job_logs'"
        ).fetchone()
    connection.close()
    with mainspring.store.open("r+b") as file:
        file.seek((root[0] - 1) * page + 3)
        file.write(b"\xff\xff\xff\xff")
    done = mainspring("db", "check")
    assert done.code in (8, 9)
    assert "damaged" in done.err or done.out
    assert "whole" not in done.out


@pytest.mark.parametrize("command", ["db check", "jobs ls"])
def test_a_store_that_was_never_made_is_told(command: str, tmp_path: Path) -> None:
    done = Commands(tmp_path)(*command.split())
    assert (done.code, done.error_code) == (6, "store_not_migrated")
