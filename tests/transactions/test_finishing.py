"""An attempt that ends in its handler's own transaction: both or neither, whoever dies when."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from mainspring.app.declare import Job
from mainspring.client.blocking import Client
from mainspring.domain.ids import show_job
from mainspring.domain.states import JobState
from tests.transactions import finishing
from tests.transactions.conftest import Worker
from tests.transactions.finishing import app

POSTGRES = (
    "thread_psycopg", "isolated_psycopg", "thread_sqlalchemy", "thread_django", "loop_asyncpg",
    "isolated_asyncpg", "loop_psycopg", "loop_sqlalchemy", "loop_own",
)  # fmt: skip
SQLITE = ("thread_sqlite3", "isolated_sqlite3", "thread_own", "loop_sqlalchemy_sqlite")
TABLES = (
    "CREATE TABLE effects (job text, attempt integer)",
    "CREATE TABLE told (code text)",
)
Rows = list[tuple[Any, ...]]


class Place:
    """A store with the handlers' own tables in it, a worker, and a client."""

    def __init__(self, url: str, client: Client) -> None:
        self.url = url
        self.client = client

    def rows(self, text: str) -> Rows:
        if self.url.startswith("sqlite"):
            connection = sqlite3.connect(self.url.removeprefix("sqlite:///"))
            try:
                found = connection.execute(text).fetchall()
                connection.commit()
            finally:
                connection.close()
            return found
        with psycopg.connect(self.url) as other:
            cursor = other.execute(text.encode())
            return cursor.fetchall() if cursor.description else []


@pytest.fixture(params=[*POSTGRES, *SQLITE])
def job(request: pytest.FixtureRequest) -> Job[..., Any]:
    found: Job[..., Any] = getattr(finishing, request.param)
    return found


@pytest.fixture
def place(request: pytest.FixtureRequest, job: Job[..., Any]) -> Iterator[Place]:
    kind = "postgres" if job.kind in POSTGRES else "sqlite"
    url = request.getfixturevalue(f"{kind}_url")
    with app.connect_sync(url) as client:
        place = Place(url, client)
        for text in TABLES:
            place.rows(text)
        yield place


@pytest.fixture
def worker(place: Place) -> Iterator[Worker]:
    with Worker(place.url, "tests.transactions.finishing:app") as running:
        yield running


pytestmark = pytest.mark.slow


def test_rows_and_the_end_are_committed_together(
    job: Job[..., Any], place: Place, worker: Worker
) -> None:
    handle = job.submit("commit")
    assert handle.result(timeout="20s") == "committed"
    assert place.rows("SELECT job, attempt FROM effects") == [(handle.id, 1)]
    (attempt,) = handle.attempts()
    assert attempt.state.value == "succeeded"


def test_an_exception_inside_leaves_neither(
    job: Job[..., Any], place: Place, worker: Worker
) -> None:
    handle = job.submit("raise")
    ended = place.client.jobs.wait(handle.id, timeout="20s")
    assert ended.state is JobState.DEAD
    assert ended.error is not None
    assert b"RuntimeError" in ended.error
    assert place.rows("SELECT job FROM effects") == []


def test_killed_before_the_commit_the_effect_happens_once(
    job: Job[..., Any], place: Place, worker: Worker
) -> None:
    handle = job.options(max_attempts=3).submit("before")
    assert handle.result(timeout="30s") == "committed"
    assert place.rows("SELECT job, attempt FROM effects") == [(handle.id, 2)]
    assert [attempt.state.value for attempt in handle.attempts()] == ["lost", "succeeded"]


def test_killed_after_the_commit_it_is_not_run_again(
    job: Job[..., Any], place: Place, worker: Worker
) -> None:
    handle = job.options(max_attempts=3).submit("after")
    assert handle.result(timeout="20s") == "committed"
    # Whatever the keeper tells of the dead process comes to nothing: another job runs meanwhile.
    assert job.submit("commit").result(timeout="20s") == "committed"
    assert place.rows("SELECT attempt FROM effects") == [(1,), (1,)]
    assert [attempt.state.value for attempt in handle.attempts()] == ["succeeded"]


def test_a_stale_attempt_is_told_and_rolled_back(
    job: Job[..., Any], place: Place, worker: Worker
) -> None:
    handle = job.submit("stale")
    worker.wait_until(lambda: place.rows("SELECT code FROM told") != [])
    codes = {("lease_lost",)} if job.kind.startswith("thread") else {("lease_lost",), ("stopped",)}
    assert set(place.rows("SELECT code FROM told")) <= codes
    assert place.rows("SELECT job FROM effects") == []
    (found,) = place.client.jobs.list().items
    assert (show_job(found.id), found.state, found.attempt) == (handle.id, JobState.RUNNING, 2)
