"""Several processes on one file, and processes that die in the middle of it."""

import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from mainspring.domain.states import JobState
from mainspring.ports.clock import wait_seconds
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.builders import new_job

ROOT = Path(__file__).parents[3]


def _child(role: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.store.sqlite.children", role, str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
async def test_four_processes_share_the_jobs_without_overlap(path: Path) -> None:
    store = await open_sqlite(path)
    await store.migrate(phase="all")
    jobs = [new_job() for _ in range(2_000)]
    await store.submit(jobs)
    children = [_child("drain", path) for _ in range(4)]
    lines = [child.communicate(timeout=50)[0].split("\n") for child in children]
    assert [child.returncode for child in children] == [0] * 4
    told = [line.split() for said in lines for line in said if " " in line]
    assert sorted(job_id for job_id, _ in told) == sorted(job.id.hex() for job in jobs)
    assert {attempt for _, attempt in told} == {"1"}
    assert await store.count_states() == {JobState.SUCCEEDED: 2_000}
    await store.close()


async def test_two_processes_make_one_job_a_unique_key(path: Path) -> None:
    store = await open_sqlite(path)
    await store.migrate(phase="all")
    children = [_child("unique", path) for _ in range(2)]
    lines = [child.communicate(timeout=50)[0].split("\n") for child in children]
    assert [child.returncode for child in children] == [0, 0]
    told = [line.split() for said in lines for line in said if " " in line]
    assert len(told) == 600
    assert len({(job_id, number) for job_id, number, _ in told}) == 300
    assert sum(created == "True" for _, _, created in told) == 300
    assert await store.count_states() == {JobState.READY: 300}
    await store.close()


@pytest.mark.slow
@pytest.mark.chaos
async def test_what_was_acknowledged_survives_a_kill(path: Path) -> None:
    store = await open_sqlite(path)
    await store.migrate(phase="all")
    await store.close()
    dice = random.Random(20270314)
    acknowledged: set[str] = set()
    for _ in range(5):
        child = _child("submit", path)
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        wait_seconds(dice.uniform(0.02, 0.5))
        child.kill()
        # The last line may be cut short by the kill: it was not told whole.
        acknowledged |= {line for line in child.communicate()[0].split("\n")[:-1] if line}
    assert acknowledged
    store = await open_sqlite(path)
    found = await store.get_states([bytes.fromhex(job_id) for job_id in acknowledged])
    assert len(found) == len(acknowledged)
    await store.close()
    check = sqlite3.connect(path)
    assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    check.close()
