"""What became of fires: history, audits and backfills of schedules that have a past."""

import asyncio
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mainspring.cli.schedules import page_of
from mainspring.cli.tour import app as tour
from mainspring.domain.schedule import Cause, FireView, Outcome
from mainspring.ports.clock import utc_now
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import Submission
from mainspring.ports.scheduling import ScheduleDraft
from mainspring.registry.desk import FrontDesk
from mainspring.scheduler.firing import Firing
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.clock import SettableClock
from tests.cli.conftest import Commands, Done

Here = Callable[..., Done]
HOURS = 48
#: Within the time that the schedules are there.
AGO = f"{HOURS - 1}h"


def hourly(name: str, **given: Any) -> ScheduleDraft:
    work = Submission(kind="greet", payload=b'{"name":"Ada"}')
    return ScheduleDraft(name=name, when=("0 * * * *",), work=work, **given)


async def make_past(path: Path, now: datetime) -> None:
    """Two days of two schedules: one was paused for a while, the first job of one never ends."""
    clock = SettableClock(now - timedelta(hours=HOURS))
    store = await open_sqlite(str(path), clock=clock)
    await store.migrate(phase="all")
    await store.declare_handlers([handler.info for handler in tour.handlers.values()])
    desk = FrontDesk(store, blobs=None, new_id=new_job_id)
    firing = Firing(store, new_id=new_job_id, roll=lambda: 0.5)
    # So far that nothing waits for another look.
    free = hourly("free", policies={"overlap": "allow"}, zone="Europe/Berlin")
    await desk.schedules.create(free, actor="ada")
    await desk.schedules.create(hourly("alone", policies={"overlap": "skip"}), actor="ada")
    for hour in range(1, HOURS):
        clock.set(now - timedelta(hours=HOURS - hour) + timedelta(seconds=5))
        if hour == 20:
            await desk.schedules.pause("free", reason="repairs", actor="bob")
        if hour == 30:
            await desk.schedules.resume("free", actor="bob")
        while await firing.step() == 0:
            pass
    await store.close()


@pytest.fixture(scope="session")
def past(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("past") / "store.db"
    now = utc_now().replace(minute=0, second=0, microsecond=0)
    asyncio.run(make_past(path, now))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path.read_bytes()


@pytest.fixture
def lived(here: Here, mainspring: Commands, past: bytes) -> Here:
    """Commands on a store with a past."""
    mainspring.store.write_bytes(past)
    return here


def rows(lived: Here, name: str, *more: str) -> Any:
    return lived("schedules", "history", name, "-o", "json", *more, expect=0).json()


# --- history ------------------------------------------------------------------------------------


def test_history_has_every_outcome_and_spans_as_one_row(lived: Here) -> None:
    (paused,) = rows(lived, "free", "--outcome", "skipped-paused")
    assert (paused["outcome"], paused["count"]) == ("skipped_paused", 10)
    table = lived("schedules", "history", "free", "--outcome", "skipped_paused", expect=0).out
    head, row = table.splitlines()
    assert head.split()[:2] == ["FIRE", "(UTC)"]
    assert " to " in row
    assert row.split()[-2:] == ["10", "skipped_paused"]
    jobs = rows(lived, "free", "--outcome", "job", "--limit", "500")
    assert len(jobs) == HOURS - 1 - 10
    assert all(row["job_id"].startswith("job_") for row in jobs)
    overlaps = rows(lived, "alone", "--outcome", "skipped_overlap", "--limit", "500")
    assert sum(row["count"] for row in overlaps) == HOURS - 2
    assert rows(lived, "free", "--outcome", "skipped_paused,job", "--limit", "500") == sorted(
        [*jobs, paused], key=lambda row: str(row["nominal_at"]), reverse=True
    )


def test_history_goes_on_page_by_page_and_loses_nothing(lived: Here) -> None:
    whole = rows(lived, "free", "--limit", "500")
    found: list[Any] = []
    more: list[str] = []
    while True:
        done = lived("schedules", "history", "free", "--limit", "7", "-o", "json", *more, expect=0)
        found += done.json()
        if not done.err:
            break
        assert done.err.startswith("there are more: --until ")
        more = ["--until", done.err.split()[-1]]
    assert found == whole


def test_history_has_a_window(lived: Here) -> None:
    recent = rows(lived, "free", "--since", "5h")
    assert 3 <= len(recent) <= 6
    until = recent[-1]["nominal_at"]
    assert rows(lived, "free", "--until", until, "--limit", "1")[0]["nominal_at"] == until
    done = lived("schedules", "history", "free", "--since", "1s", expect=0)
    assert (done.out, done.err) == ("", "no fires match\n")


def test_a_page_never_ends_within_an_instant(lived: Here) -> None:
    at = datetime(2026, 11, 20, 9, tzinfo=UTC)

    def row(hours: int, sequence: int = 0) -> FireView:
        instant = at - timedelta(hours=hours)
        return FireView(
            schedule_id=b"",
            nominal_at=instant,
            sequence=sequence,
            outcome=Outcome.JOB,
            cause=Cause.SCHEDULE,
            due_at=instant,
            decided_at=instant,
            version=1,
        )

    both = [row(0), row(1, 1), row(1)]
    assert page_of(both, 3) == (both, None)
    assert page_of(both, 2) == ([both[0]], both[1].nominal_at)
    assert page_of(both[1:], 1) == (both[1:], None)


def test_the_page_of_a_schedule_shows_its_last_fires(lived: Here) -> None:
    out = lived("schedules", "get", "alone", expect=0).out
    assert "last\nFIRE (UTC)" in out
    assert "skipped_overlap" in out
    listed = lived("schedules", "ls", expect=0).out.splitlines()
    assert listed[1].split()[:2] == ["free", "active"]
    assert "skipped_overlap" in listed[2]


# --- audit --------------------------------------------------------------------------------------


def test_an_audit_accounts_for_every_fire(lived: Here) -> None:
    found = lived("schedules", "audit", "free", "-o", "json", expect=0).json()
    assert found["is_clean"]
    assert found["expected"] == found["accounted"] == sum(found["outcomes"].values())
    assert found["outcomes"]["skipped_paused"] == 10
    out = lived("schedules", "audit", "free", expect=0).out
    assert out.startswith("free  clean\n")
    assert "skipped_paused" in out
    told = lived("schedules", "audit", "--all", expect=0)
    assert told.err.startswith("2 schedules, ")
    assert told.err.endswith(": nothing found\n")


def test_a_gap_a_double_and_a_stranger_are_findings(lived: Here, mainspring: Commands) -> None:
    with sqlite3.connect(mainspring.store) as connection:
        fires = "FROM fires WHERE outcome = 'job' AND schedule_id = (SELECT id FROM schedules"
        fires += " WHERE name = 'free') ORDER BY nominal_at"
        keys = connection.execute(f"SELECT schedule_id, nominal_at {fires} LIMIT 2").fetchall()
        here = "WHERE schedule_id = ? AND nominal_at = ?"
        connection.execute(f"DELETE FROM fires {here}", keys[0])
        connection.execute(f"UPDATE fires SET nominal_at = nominal_at + 7000000 {here}", keys[1])
    connection.close()
    done = lived("schedules", "audit", "free")
    assert done.code == 8
    assert done.out.startswith("free  findings\n")
    assert "no row of the ledger says what became of it" in done.out
    assert "no rule names this instant" in done.out
    assert done.err == ""
    found = lived("schedules", "audit", "free", "-o", "json").json()
    assert (found["gaps"], found["unexpected"], found["is_clean"]) == (2, 1, False)
    several = lived("schedules", "audit", "--all")
    assert several.code == 8
    assert "1 schedule with findings" in several.err
    assert lived("schedules", "audit", "alone").code == 0
    assert lived("schedules", "audit", "free", "--from", "3h").code == 0


def test_a_removed_schedule_is_audited_too(lived: Here) -> None:
    lived("schedules", "rm", "free", "--yes", expect=0)
    audits = lived("schedules", "audit", "--all", "-o", "json", expect=0).json()
    assert {(row["name"], row["state"]) for row in audits} == {
        ("free", "deleted"),
        ("alone", "active"),
    }


# --- backfill -----------------------------------------------------------------------------------


def test_a_backfill_takes_up_what_had_no_job(lived: Here) -> None:
    dry = lived("schedules", "backfill", "free", "--from", AGO, "--dry-run", expect=0)
    assert "10 fires of free would be taken up, " in dry.out
    assert "left alone: have a live job" in dry.out
    assert lived("schedules", "backfills", "free", expect=0).err == "free has no backfills\n"
    done = lived("schedules", "backfill", "free", "--from", AGO, "--concurrency", "2",
                 "--order", "newest", expect=0)  # fmt: skip
    name = done.out.splitlines()[0]
    assert name.startswith("bfl_")
    (listed,) = lived("schedules", "backfills", "free", "-o", "json", expect=0).json()
    assert (listed["id"], listed["fires"], listed["waiting"]) == (name, 10, 10)
    assert (listed["order"], listed["concurrency"], listed["failed"]) == ("newest", 2, 0)
    assert len(rows(lived, "free", "--outcome", "backfilled")) == 10
    assert lived("schedules", "audit", "free").code == 0
    late = lived("schedules", "backfill", "alone", "--from", "6h", "--wait-timeout", "1ms")
    assert (late.code, late.error_code) == (7, "wait_timed_out")
    assert "mainspring schedules backfills alone" in late.err


def test_a_backfill_is_taken_back(lived: Here) -> None:
    done = lived("schedules", "backfill", "free", "--from", AGO, "-o", "name", expect=0)
    name = done.out.strip()
    lived("schedules", "cancel-backfill", name, "--dry-run", expect=0)
    assert lived("schedules", "cancel-backfill", name, expect=0).out == f"{name}  cancelled\n"
    again = lived("schedules", "cancel-backfill", name, expect=0).out
    assert again == f"{name}  cancelled  (it had ended, or never was)\n"
    assert rows(lived, "free", "--outcome", "backfilled") == []


def test_a_backfill_of_nothing_says_so(lived: Here) -> None:
    done = lived("schedules", "backfill", "free", "--from", "2m", "--to", "1m", expect=0)
    assert done.out == "0 fires of free taken up\n"
