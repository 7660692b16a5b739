"""Hosts whose clocks are an hour wrong: only the store's clock counts."""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mainspring.domain.schedule import Cause, Outcome
from mainspring.ports.store import Store
from mainspring.registry.ledger import rows_between
from mainspring.runtime.assemble import open_store
from mainspring.runtime.setting_table import Settings
from mainspring.testing.servers import PostgresServer
from tests.chaos.fires import fires_proven, schedule_densely, until_fired, until_succeeded
from tests.chaos.fleet import Fleet
from tests.chaos.run import migrate
from tests.chaos.schedulers import Schedulers

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.slow,
    pytest.mark.postgres,
    pytest.mark.timeout(240),
]

_FAKED = Path(__file__).parent / "faked"
_REPOSITORY = Path(__file__).resolve().parents[2]
#: Less than the clocks are wrong, and far more than any delay of a healthy run.
APART = timedelta(minutes=30)
WRONG = ("+1h", "-1h")
FIRES = 3


async def test_clocks_that_are_an_hour_wrong_change_nothing(
    durable_postgres: PostgresServer,
    faketime: Callable[[str], Mapping[str, str]],
    tmp_path: Path,
) -> None:
    """At first beside nodes whose clocks are right, then those that are wrong are on their own."""
    store_url = durable_postgres.create_database()
    await migrate(store_url)
    store = await open_store(Settings(store_url=store_url))
    fleet, schedulers = Fleet(store_url, tmp_path), Schedulers(store_url, tmp_path)
    try:
        schedules = await schedule_densely(
            store, kind="work", payload=b'{"number": 1, "work_ms": 5}'
        )
        schedulers.start()
        for offset in WRONG:
            wrong = {**faketime(offset), "PYTHONPATH": f"{_FAKED}:{_REPOSITORY}"}
            schedulers.start(wrong)
            fleet.start(environment=wrong)
        await until_fired(store, schedules, FIRES)
        schedulers.kill(0)
        await until_fired(store, schedules, FIRES)
        await until_succeeded(store, schedules, FIRES)
        assert schedulers.stop() == [0, 0], schedulers.logs()
        assert fleet.stop() == [0, 0], fleet.logs()
        assert await fires_proven(store_url, schedules) > FIRES * len(schedules)
        assert await far_off(store, schedules) == []
    finally:
        fleet.stop()
        schedulers.stop()
        await store.close()


async def far_off(store: Store, schedules: Sequence[bytes]) -> list[object]:
    """Return the fires that were decided, or whose jobs began, at a wrong hour."""
    found: list[object] = []
    until = int((await store.now()).timestamp()) + 86_400
    for schedule_id in schedules:
        rows, _ = await rows_between(store, schedule_id, 0, until)
        assert rows
        for row in rows:
            if abs(row.decided_at - row.nominal_at) > APART:
                found.append(row)
            if row.outcome is not Outcome.JOB or row.job_id is None:
                continue
            assert row.cause in {Cause.SCHEDULE, Cause.CATCH_UP}
            job = await store.get_job(row.job_id)
            assert job is not None
            if job.started_at and not timedelta(0) <= job.started_at - row.due_at < APART:
                found.append(job)
    return found


async def test_the_clocks_are_wrong(
    faketime: Callable[[str], Mapping[str, str]], tmp_path: Path
) -> None:
    """Without this the test above would show nothing."""
    code = "import time; print(time.time())"
    for offset, hours in zip(WRONG, (1, -1), strict=True):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            code,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, **faketime(offset)},
        )
        told, _ = await process.communicate()
        passed = datetime.fromtimestamp(float(told), UTC) - datetime.now(UTC)
        assert abs(passed - timedelta(hours=hours)) < timedelta(minutes=10)
