"""Callers that are killed with -9 around their commit."""

import subprocess
import sys

import pytest

from mainspring.client.blocking import Client
from mainspring.domain.ids import show_job
from tests.transactions.conftest import ROOT, Worker
from tests.transactions.shop import charge
from tests.transactions.test_submitting import jobs, orders
from tests.transactions.ways import WAYS, Way

ONE_OF_EACH = (
    "psycopg", "psycopg-async", "asyncpg", "sqlalchemy-session", "sqlalchemy-asyncpg", "django",
    "sqlite3", "sqlalchemy-sqlite", "sqlalchemy-aiosqlite", "django-sqlite",
)  # fmt: skip


def killed(way: Way, moment: str) -> None:
    kind = next(name for name, known in WAYS.items() if type(way) is known)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.transactions.crash_main", kind, way.url, moment],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == b"there\n"
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


@pytest.mark.slow
@pytest.mark.parametrize("way", ONE_OF_EACH, indirect=True)
def test_killed_before_the_commit_nothing_is_there(way: Way, client: Client) -> None:
    killed(way, "before")
    assert (orders(way), jobs(client)) == (0, 0)
    # And nothing of it stands in the way.
    way.begin()
    way.add_order(1)
    way.submit(charge, 1)
    way.commit()
    assert (orders(way), jobs(client)) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("way", ONE_OF_EACH, indirect=True)
def test_killed_after_the_commit_all_is_there(way: Way, client: Client) -> None:
    killed(way, "after")
    assert (orders(way), jobs(client)) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["psycopg", "sqlite3"], indirect=True)
def test_what_was_committed_runs_once(way: Way, client: Client) -> None:
    killed(way, "before")
    killed(way, "after")
    (job,) = client.jobs.list().items
    with Worker(way.url, "tests.transactions.shop:app"):
        assert client.handle(show_job(job.id)).result(timeout="20s") == 1
    (attempt,) = client.jobs.attempts(show_job(job.id))
    assert attempt.attempt == 1
