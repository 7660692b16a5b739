"""The same commands on PostgreSQL: migrate, work, submit, look."""

import signal
from collections.abc import Callable

import pytest

from tests.cli.conftest import Commands, Running
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
