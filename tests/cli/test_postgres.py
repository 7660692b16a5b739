"""The same commands on PostgreSQL: migrate, work, submit, look."""

import signal
from collections.abc import Callable

import asyncpg
import pytest

from mainspring.runtime.assemble import open_store
from mainspring.runtime.setting_table import Settings
from tests.cli.conftest import Commands, Running, until_declared
from tests.conftest import MakeDatabase


@pytest.mark.postgres
@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_job_runs_on_postgresql(
    database: MakeDatabase, mainspring: Commands, start: Callable[..., Running]
) -> None:
    store = {"MAINSPRING_STORE": database()}
    refused = mainspring("jobs", "ls", env=store)
    assert (refused.code, refused.error_code) == (6, "store_not_migrated")
    assert "applied  0001_" in mainspring("db", "migrate", env=store, expect=0).out
    assert mainspring("db", "status", "--check", env=store, expect=0).err == "up to date\n"
    worker = start("worker", "start", "mainspring.cli.tour:app", env=store)
    worker.wait_for("worker mainspring.cli.tour: 6 handlers")
    watching = start("dev", "--tour", "--exit", env=store)
    watching.wait_for("doomed +succeeded")
    assert watching.end() == 0
    done = mainspring("submit", "doomed", "--wait", env=store)
    assert (done.code, done.error_code) == (5, "job_failed")
    name = done.out.strip()
    back = mainspring("dlq", "replay", name, "works:=true", "--wait", env=store, expect=0)
    assert back.out.endswith('"order 13 sent"\n')
    assert worker.end(signal.SIGTERM) == 0


@pytest.mark.postgres
@pytest.mark.slow
async def test_the_doctor_sees_who_holds_a_snapshot(
    database: MakeDatabase, mainspring: Commands
) -> None:
    address = database()
    store = {"MAINSPRING_STORE": address}
    mainspring("db", "migrate", env=store, expect=0)
    rows = mainspring("doctor", "-o", "json", env=store, expect=0).json()
    assert {row["check"] for row in rows if row["status"] == "skip"} == {"wal", "objects", "disk"}
    assert "whole" in mainspring("db", "check", env=store, expect=0).out
    holder = await asyncpg.connect(address, server_settings={"application_name": "holder"})
    opened = await open_store(Settings(store_url=address))
    try:
        assert (await opened.diagnose()).oldest_snapshot_seconds is None
        async with holder.transaction(isolation="repeatable_read"):
            await holder.execute("SELECT 1 FROM mainspring.jobs")
            found = await opened.diagnose()
        assert found.oldest_snapshot_seconds is not None
        assert found.oldest_snapshot_seconds >= 0
        assert "(holder)" in found.oldest_snapshot_by
    finally:
        await opened.close()
        await holder.close()


@pytest.mark.postgres
@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_schedule_fires_on_postgresql(
    database: MakeDatabase, mainspring: Commands, start: Callable[..., Running]
) -> None:
    store = {"MAINSPRING_STORE": database()}
    mainspring("db", "migrate", env=store, expect=0)
    worker = start("worker", "start", "mainspring.cli.tour:app", env=store)
    worker.wait_for("worker mainspring.cli.tour: 6 handlers")
    until_declared(mainspring, "greet", store)
    words = ("schedules", "create", "beat", "greet", "name=Ada", "--every", "1s")
    made = mainspring(*words, "--overlap", "allow", env=store, expect=0)
    assert "every second" in made.out
    # A minute of fires is prepared; the first of them is due soon.
    ahead = ("schedules", "history", "beat", "--until", "2099-01-01T00:00:00Z", "--limit", "500")
    first = mainspring(*ahead, "-o", "json", env=store, expect=0).json()[-1]
    assert (first["cause"], first["outcome"]) == ("schedule", "job")
    mainspring("jobs", "wait", first["job_id"], env=store, expect=0)
    done = mainspring("schedules", "trigger", "beat", "--wait", env=store)
    assert done.out.endswith('"Hello, Ada"\n')
    mainspring("schedules", "pause", "beat", "--reason", "enough", env=store, expect=0)
    rows = mainspring("schedules", "history", "beat", "-o", "json", env=store, expect=0).json()
    assert {row["cause"] for row in rows} >= {"manual", "schedule"}
    assert mainspring("schedules", "audit", "--all", env=store).code == 0
    back = mainspring(
        *("schedules", "backfill", "beat", "--from", "2026-01-01T00:00:00Z"),
        *("--to", "2026-01-01T00:00:02Z", "--concurrency", "3", "--wait", "-o", "json"),
        env=store,
        expect=0,
    )
    assert (back.json()["fires"], back.json()["succeeded"]) == (3, 3)
    mainspring("schedules", "rm", "beat", "--yes", env=store, expect=0)
    assert "beat" not in mainspring("schedules", "ls", env=store, expect=0).out
    assert worker.end(signal.SIGTERM) == 0
