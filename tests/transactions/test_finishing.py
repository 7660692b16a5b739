"""An attempt that ends in its handler's own transaction: both or neither, whoever dies when."""

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from mainspring.app.declare import Job
from mainspring.app.handles import Handle
from mainspring.client.blocking import Client
from mainspring.domain.states import JobState
from mainspring.testing.servers import Databases
from tests.transactions import finishing
from tests.transactions.conftest import START_SECONDS, Worker, migrate, wait_until
from tests.transactions.finishing import app

POSTGRES = (
    "thread_psycopg", "isolated_psycopg", "thread_sqlalchemy", "thread_django", "loop_asyncpg",
    "isolated_asyncpg", "loop_psycopg", "loop_sqlalchemy", "loop_own",
)  # fmt: skip
SQLITE = ("thread_sqlite3", "isolated_sqlite3", "thread_own", "loop_sqlalchemy_sqlite")
TABLES = (
    "CREATE TABLE effects (job text, attempt integer)",
    "CREATE TABLE told (job text, code text)",
)
Rows = list[tuple[Any, ...]]


class Place:
    """A store with the handlers' own tables in it, a worker, and a client."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client: Client

    def effects(self, handle: Handle[Any]) -> list[int]:
        """The attempts of a job whose writes are there."""
        found = self.rows(f"SELECT attempt FROM effects WHERE job = '{handle.id}'")
        return [attempt for (attempt,) in found]

    def told(self, handle: Handle[Any]) -> set[str]:
        """What the handler of a job was told."""
        return {code for (code,) in self.rows(f"SELECT code FROM told WHERE job = '{handle.id}'")}

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


def running(url: str) -> Iterator[Place]:
    """A store with the handlers' tables, and one worker for all tests on it."""
    migrate(url)
    place = Place(url)
    for text in TABLES:
        place.rows(text)
    schema = "" if url.startswith("sqlite") else "mainspring."
    with Worker(url, "tests.transactions.finishing:app"):
        # How long it takes to start is no part of how long a job may take.
        wait_until(lambda: bool(place.rows(f"SELECT 1 FROM {schema}workers")), START_SECONDS)
        yield place


@pytest.fixture(scope="module")
def postgres_place(postgres_18: Databases) -> Iterator[Place]:
    url = postgres_18.create()
    yield from running(url)
    postgres_18.drop(url)


@pytest.fixture(scope="module")
def sqlite_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    yield from running(f"sqlite:///{tmp_path_factory.mktemp('finishing') / 'own.db'}")


@pytest.fixture
def place(request: pytest.FixtureRequest, job: Job[..., Any]) -> Iterator[Place]:
    kind = "postgres" if job.kind in POSTGRES else "sqlite"
    place: Place = request.getfixturevalue(f"{kind}_place")
    with app.connect_sync(place.url) as place.client:
        yield place


pytestmark = pytest.mark.slow


def test_rows_and_the_end_are_committed_together(job: Job[..., Any], place: Place) -> None:
    handle = job.submit("commit")
    assert handle.result(timeout="20s") == "committed"
    assert place.effects(handle) == [1]
    (attempt,) = handle.attempts()
    assert attempt.state.value == "succeeded"


def test_an_exception_inside_leaves_neither(job: Job[..., Any], place: Place) -> None:
    handle = job.submit("raise")
    ended = place.client.jobs.wait(handle.id, timeout="20s")
    assert ended.state is JobState.DEAD
    assert ended.error is not None
    assert b"RuntimeError" in ended.error
    assert place.effects(handle) == []


def test_killed_before_the_commit_the_effect_happens_once(job: Job[..., Any], place: Place) -> None:
    handle = job.options(max_attempts=3).submit("before")
    assert handle.result(timeout="30s") == "committed"
    assert place.effects(handle) == [2]
    assert [attempt.state.value for attempt in handle.attempts()] == ["lost", "succeeded"]


def test_killed_after_the_commit_it_is_not_run_again(job: Job[..., Any], place: Place) -> None:
    handle = job.options(max_attempts=3).submit("after")
    assert handle.result(timeout="20s") == "committed"
    # Whatever the keeper tells of the dead process comes to nothing: another job runs meanwhile.
    other = job.submit("commit")
    assert other.result(timeout="20s") == "committed"
    assert (place.effects(handle), place.effects(other)) == ([1], [1])
    assert [attempt.state.value for attempt in handle.attempts()] == ["succeeded"]


def test_a_stale_attempt_is_told_and_rolled_back(job: Job[..., Any], place: Place) -> None:
    handle = job.submit("stale")
    wait_until(lambda: bool(place.told(handle)))
    codes = {"lease_lost"} if job.kind.startswith("thread") else {"lease_lost", "stopped"}
    assert place.told(handle) <= codes
    assert place.effects(handle) == []
    found = handle.get()
    assert (found.state, found.attempt) == (JobState.RUNNING, 2)


def test_an_end_in_a_transaction_is_told_with_it(job: Job[..., Any], place: Place) -> None:
    # No name server knows it: what is told is looked at here, and goes nowhere.
    url, hooks = "https://hooks.invalid/", place.client.webhooks
    hook = hooks.create(url, ["job.succeeded"], kinds=[job.kind]).webhook.webhook_id
    handle = job.submit("commit")
    handle.result(timeout="20s")
    found = list(hooks.deliveries(hook))
    hooks.delete(hook)
    assert [json.loads(each.payload)["info"]["job"]["id"] for each in found] == [handle.id]
