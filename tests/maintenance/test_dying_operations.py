"""Nodes are killed at every instruction of a step: nothing is done twice, nothing left out."""

import asyncio
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import asyncpg
import pytest

from mainspring.domain.ids import show_job
from mainspring.domain.operation import OperationState, Outcome
from mainspring.domain.states import JobState
from mainspring.ports.entropy import new_job_id
from mainspring.ports.operations import OperationAsk
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.store.postgres import open_postgres
from mainspring.store.sqlite import SqliteStore, open_sqlite
from mainspring.testing.conformance.operations import members_of
from mainspring.testing.conformance.steps import make_dead, submit_many, view
from tests.conftest import MakeDatabase

ROOT = Path(__file__).resolve().parents[2]
_AUDIT = "SELECT subject FROM {} WHERE detail LIKE '%op_%' AND subject LIKE 'job_%'"


class Place(NamedTuple):
    """A store, its address, and a way to read its audit: jobs that operations changed."""

    store: Store
    url: str
    audited: Callable[[], Awaitable[Counter[str]]]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    if request.param == "sqlite":
        path = tmp_path / "store.db"
        file = await open_sqlite(path)
        await file.migrate(phase="all")
        yield Place(file, f"sqlite:///{path}", lambda: _audited_in_file(file))
        await file.close()
        return
    database: MakeDatabase = request.getfixturevalue("database")
    dsn = database()
    server = await open_postgres(dsn)
    await server.migrate(phase="all")
    yield Place(server, dsn, lambda: _audited_on_server(dsn))
    await server.close()


async def _audited_in_file(store: SqliteStore) -> Counter[str]:
    rows = await store._engine.read(
        lambda unit: unit._connection.execute(_AUDIT.format("audit")).fetchall()
    )
    return Counter(row[0] for row in rows)


async def _audited_on_server(dsn: str) -> Counter[str]:
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch(_AUDIT.format("mainspring.audit"))
    await connection.close()
    return Counter(row[0] for row in rows)


async def test_whoever_dies_wherever_each_job_is_changed_once(place: Place) -> None:
    store, url, audited = place
    dead = [(await make_dead(store)).job_id for _ in range(10)]
    waiting = await submit_many(store, 5, delay_ms=36_000_000)
    desk = FrontDesk(store, blobs=None, new_id=new_job_id)
    ask = OperationAsk(action="retry", query="kind:test.*")
    # Confirmed behind the desk's back: what it freezes at once is to be frozen by the dying.
    told = await desk.operations.preview(ask, actor="ada")
    await store.turn_operation(
        told.operation.id,
        OperationState.RUNNING,
        since=frozenset({OperationState.PREVIEWED}),
        actor="ada",
    )
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "tests.maintenance.dying", url],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    # Each instruction of a look, and of a batch with its commit, was somebody's last.
    assert int(done.stdout) >= 15
    after = await store.get_operation(told.operation.id)
    assert after is not None
    assert (after.state, after.progress.matched) == (OperationState.DONE, 15)
    assert after.progress.report == {"dead": {"changed": 10}, "scheduled": {"changed": 5}}
    members = await members_of(store, after)
    assert [(one.job_id, one.outcome) for one in members] == [
        (job_id, Outcome.CHANGED) for job_id in sorted([*dead, *waiting])
    ]
    jobs = [await view(store, job_id) for job_id in [*dead, *waiting]]
    assert {job.state for job in jobs} == {JobState.READY}
    assert [job.replays for job in jobs] == [1] * 10 + [0] * 5
    assert await audited() == Counter(map(show_job, [*dead, *waiting]))
