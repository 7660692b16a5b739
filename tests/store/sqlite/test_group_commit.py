"""One writer for many callers: few commits, errors of one's own, nothing accepted is dropped."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mainspring.domain.errors import ConnectionFailed, InvalidInput, StoreNotWritable
from mainspring.domain.states import JobState
from mainspring.ports.clock import monotonic
from mainspring.store.sqlite import SqliteStore, open_sqlite
from mainspring.testing.builders import claim_ask, new_job, new_session, settlement


@contextmanager
def _statements(store: SqliteStore) -> Iterator[list[str]]:
    """What the writer says to SQLite meanwhile."""
    said: list[str] = []
    connection = store._engine._threads[0].connection
    connection.set_trace_callback(said.append)
    yield said
    connection.set_trace_callback(None)


@contextmanager
def _held_by_another(path: Path) -> Iterator[sqlite3.Connection]:
    """Another process, as far as SQLite can tell, is in the middle of a change."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield other
    if other.in_transaction:
        other.execute("ROLLBACK")
    other.close()


async def test_a_thousand_callers_need_few_commits(store: SqliteStore) -> None:
    jobs = [new_job() for _ in range(1_000)]
    with _statements(store) as said:
        answers = await asyncio.gather(*(store.submit([job]) for job in jobs))
    assert [receipt.job_id for (receipt,) in answers] == [job.id for job in jobs]
    assert said.count("COMMIT") <= 20
    assert await store.count_states() == {JobState.READY: 1_000}


async def test_one_bad_call_hurts_nobody_else(store: SqliteStore) -> None:
    calls = [[new_job(), new_job(priority=9 if number % 10 == 3 else 2)] for number in range(50)]
    session = new_session()
    answers = await asyncio.gather(
        *(store.submit(jobs) for jobs in calls),
        store.open_session(session),
        return_exceptions=True,
    )
    refused = [answer for answer in answers if isinstance(answer, BaseException)]
    assert len(refused) == 5
    assert all(isinstance(error, InvalidInput) for error in refused)
    # The good job beside a bad one went back with it.
    assert await store.count_states() == {JobState.READY: 90}
    assert [worker.id for worker in await store.list_workers()] == [session.id]


async def test_settlements_of_many_callers_are_joined(store: SqliteStore) -> None:
    session = new_session()
    await store.open_session(session)
    await store.submit([new_job() for _ in range(100)])
    claimed = await store.claim(claim_ask(session.id))
    with _statements(store) as said:
        answers = await asyncio.gather(
            *(store.settle([settlement(job), settlement(job)]) for job in claimed)
        )
    assert all((first.accepted, second.repeated) == (True, True) for first, second in answers)
    assert said.count("COMMIT") <= 5
    assert await store.count_states() == {JobState.SUCCEEDED: 100}


async def test_when_the_commit_fails_everyone_is_told(store: SqliteStore) -> None:
    connection = store._engine._threads[0].connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    payload = b'"' + b"x" * 4_000 + b'"'
    answers = await asyncio.gather(
        *(store.submit([new_job(payload=payload)]) for _ in range(60)), return_exceptions=True
    )
    acknowledged = sum(not isinstance(answer, BaseException) for answer in answers)
    for answer in answers:
        assert isinstance(answer, list | StoreNotWritable)
    assert acknowledged < 60
    assert sum((await store.count_states()).values()) == acknowledged
    connection.execute("PRAGMA max_page_count = 1000000")
    await store.submit([new_job(payload=payload)])
    assert sum((await store.count_states()).values()) == acknowledged + 1


async def test_whoever_left_before_its_turn_is_not_served(store: SqliteStore, path: Path) -> None:
    with _held_by_another(path):
        first = asyncio.gather(store.submit([new_job()]))
        await asyncio.wait([first], timeout=0.05)
        left = asyncio.gather(store.submit([new_job()]))
        await asyncio.wait([left], timeout=0.01)
        left.cancel()
    await first
    assert await store.count_states() == {JobState.READY: 1}


async def test_closing_waits_for_what_was_accepted(store: SqliteStore, path: Path) -> None:
    submitted = asyncio.gather(*(store.submit([new_job()]) for _ in range(500)))
    await asyncio.wait([submitted], timeout=0)
    await store.close()
    assert len(await submitted) == 500
    with pytest.raises(ConnectionFailed, match="closed"):
        await store.submit([new_job()])
    await store.close()
    again = await open_sqlite(path)
    assert await again.count_states() == {JobState.READY: 500}
    await again.close()
    assert [found.name for found in path.parent.iterdir()] == [path.name]


async def test_looking_does_not_wait_for_a_writer(store: SqliteStore, path: Path) -> None:
    job = new_job()
    await store.submit([job])
    with _held_by_another(path):
        found = await asyncio.wait_for(store.get_job(job.id), 2)
    assert found is not None


async def test_a_database_that_stays_busy_is_told_in_time(path: Path) -> None:
    store = await open_sqlite(path, busy_timeout_ms=150)
    await store.migrate(phase="all")
    with _held_by_another(path):
        begun = monotonic()
        with pytest.raises(ConnectionFailed, match=f"{path} is busy"):
            await store.submit([new_job()])
        assert 0.1 < monotonic() - begun < 5
    await store.submit([new_job()])
    assert await store.count_states() == {JobState.READY: 1}
    await store.close()


async def test_callers_of_another_loop_are_answered_there(store: SqliteStore) -> None:
    def elsewhere() -> int:
        async def several() -> int:
            answers = await asyncio.gather(*(store.submit([new_job()]) for _ in range(50)))
            return len(answers)

        return asyncio.run(several())

    counts = await asyncio.gather(*(asyncio.to_thread(elsewhere) for _ in range(3)))
    assert counts == [50, 50, 50]
    assert await store.count_states() == {JobState.READY: 150}
