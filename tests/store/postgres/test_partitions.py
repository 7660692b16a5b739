"""Time partitions: made ahead, caught when late, dropped whole."""

import itertools
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Protocol

import asyncpg
import pytest

from mainspring.domain.errors import ConnectionFailed
from mainspring.domain.states import AttemptState, JobState
from mainspring.ports.store import Retained
from mainspring.store.postgres import PostgresStore, open_postgres
from mainspring.store.postgres.partitions import (
    ATTEMPTS,
    AUDIT,
    HISTORY,
    PARENTS,
    covering,
    named,
    wanted,
)
from mainspring.testing.builders import claim_ask, new_job, new_session, settlement
from mainspring.testing.clock import SettableClock

pytestmark = pytest.mark.postgres


class Connect(Protocol):
    async def __call__(self, dsn: str | None = None) -> "asyncpg.Connection[asyncpg.Record]": ...


_NOW = datetime(2026, 12, 30, 13, 14, 15, tzinfo=UTC)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(_NOW)


@pytest.fixture
async def timed(dsn: str, clock: SettableClock) -> AsyncIterator[PostgresStore]:
    store = await open_postgres(dsn, clock=clock)
    yield store
    await store.close()


#: How many indexes of the parent a partition has, and how many there are.
_INDEXES = """
SELECT
    (SELECT count(*) FROM pg_inherits JOIN pg_index AS part ON part.indexrelid = inhrelid
     JOIN pg_index AS whole ON whole.indexrelid = inhparent
     WHERE part.indrelid = ('mainspring.' || $1::text)::regclass AND part.indisvalid
     AND whole.indrelid = ('mainspring.' || $2::text)::regclass),
    (SELECT count(*) FROM pg_index WHERE indrelid = ('mainspring.' || $2::text)::regclass)
"""


async def _finish(store: PostgresStore, **changes: object) -> bytes:
    worker, job = new_session(), new_job(**changes)
    await store.open_session(worker)
    await store.submit([job])
    (claimed,) = await store.claim(claim_ask(worker.id))
    (settled,) = await store.settle([settlement(claimed)])
    assert settled.accepted
    return job.id


async def _die(store: PostgresStore, **changes: object) -> bytes:
    worker, job = new_session(), new_job(**changes)
    await store.open_session(worker)
    await store.submit([job])
    (claimed,) = await store.claim(claim_ask(worker.id))
    given = settlement(claimed, attempt_state=AttemptState.FAILED, becomes=JobState.DEAD)
    (settled,) = await store.settle([given])
    assert settled.accepted
    return job.id


async def _home(connect: Connect, job_id: bytes) -> str:
    """Return the partition in which a final job lies."""
    query = "SELECT tableoid::regclass::text FROM mainspring.jobs_history WHERE id = $1"
    home: str = await (await connect()).fetchval(query, job_id.hex())
    return home


def test_names_tell_bounds_and_bounds_join_up() -> None:
    for parent in PARENTS:
        found = [each for each in wanted(_NOW, 400) if each.parent is parent]
        assert found[0].begins_at <= _NOW < found[0].ends_at
        assert found[-1].begins_at <= _NOW + timedelta(days=400) < found[-1].ends_at
        for before, after in itertools.pairwise(found):
            assert before.ends_at == after.begins_at
        for each in found:
            assert named(parent, each.name) == each
            assert covering(parent, each.begins_at) == each
            assert covering(parent, each.ends_at - timedelta(microseconds=1)) == each
        assert named(parent, f"{parent.name}_default") is None


def test_weeks_begin_on_monday_and_months_on_their_first() -> None:
    assert covering(ATTEMPTS, _NOW).name == "attempts_20261228"
    assert covering(AUDIT, _NOW).name == "audit_20261201"
    dead = next(parent for parent in HISTORY if parent.state is JobState.DEAD)
    assert covering(dead, _NOW).name == "jobs_history_dead_20261228"


async def test_rows_find_the_partition_of_their_day(timed: PostgresStore, connect: Connect) -> None:
    created = await timed.prepare_partitions(2)
    assert len(created) == len(set(created))
    assert {"jobs_history_succeeded_20261230", "jobs_history_succeeded_20270101"} <= set(created)
    job_id = await _finish(timed)
    assert await _home(connect, job_id) == "mainspring.jobs_history_succeeded_20261230"


async def test_the_default_catches_and_a_late_partition_takes_over(
    timed: PostgresStore, connect: Connect
) -> None:
    caught = await _finish(timed, payload=b'{"kept":true}')
    assert await _home(connect, caught) == "mainspring.jobs_history_succeeded_default"
    await timed.prepare_partitions(1)
    assert await _home(connect, caught) == "mainspring.jobs_history_succeeded_20261230"
    view = await timed.get_job(caught)
    assert view is not None
    assert view.payload == b'{"kept":true}'


async def test_a_new_partition_has_the_indexes_of_its_parent(
    timed: PostgresStore, dsn: str, connect: Connect
) -> None:
    created = await timed.prepare_partitions(0)
    connection = await connect()
    for name in created:
        parent = next(parent for parent in PARENTS if named(parent, name) is not None)
        [(own, of_parent)] = await connection.fetch(_INDEXES, name, parent.name)
        assert own == of_parent, name
        assert own or parent is AUDIT, name


async def test_retention_drops_whole_partitions_and_nothing_else(
    timed: PostgresStore, dsn: str, clock: SettableClock, connect: Connect
) -> None:
    await timed.prepare_partitions(8)
    old = await _finish(timed, payload_ref="blob/old")
    clock.advance(timedelta(days=3))
    young = await _finish(timed, payload_ref="blob/young")
    clock.advance(timedelta(days=4))
    retained = await timed.apply_retention({JobState.SUCCEEDED: 5}, limit=100)
    dropped, references = retained.dropped, retained.references
    assert dropped == [
        "partition jobs_history_succeeded_20261230",
        "partition jobs_history_succeeded_20261231",
    ]
    assert references == ["blob/old"]
    assert await timed.get_job(old) is None
    assert await timed.get_job(young) is not None
    assert await timed.apply_retention({JobState.SUCCEEDED: 5}, limit=100) == Retained([], [])
    connection = await connect()
    query = "SELECT to_regclass('mainspring.jobs_history_succeeded_20261230')"
    assert await connection.fetchval(query) is None


async def test_a_dead_letter_that_comes_back_at_the_last_moment_keeps_its_objects(
    timed: PostgresStore, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await timed.prepare_partitions(0)
    ids = [await _die(timed, payload_ref=f"blob/{name}") for name in ("back", "gone")]
    clock.advance(timedelta(days=20))
    script = timed._pools.general.script

    async def late(text: str) -> None:
        if "DROP TABLE" in text:
            await timed.replay(ids[:1], payload=None, actor="me")
        await script(text)

    monkeypatch.setattr(timed._pools.general, "script", late)
    retained = await timed.apply_retention({JobState.DEAD: 1}, limit=100)
    assert (retained.dropped[:1], retained.references) == (
        ["partition jobs_history_dead_20261228"],
        ["blob/gone"],
    )
    assert await timed.get_states(ids) == {ids[0]: JobState.READY}


async def test_attempts_stay_as_long_as_any_job_may(
    timed: PostgresStore, clock: SettableClock
) -> None:
    await timed.prepare_partitions(0)
    clock.advance(timedelta(days=100))
    short = dict.fromkeys((JobState.SUCCEEDED, JobState.CANCELLED, JobState.EXPIRED), 1)
    dropped = (await timed.apply_retention(short, limit=100)).dropped
    assert not any("attempts" in name or "job_logs" in name for name in dropped)
    dropped = (await timed.apply_retention(short | {JobState.DEAD: 99}, limit=100)).dropped
    assert not any("attempts" in name for name in dropped)
    dropped = (await timed.apply_retention(short | {JobState.DEAD: 30}, limit=100)).dropped
    assert {"partition attempts_20261228", "partition job_logs_20261228"} <= set(dropped)


async def test_a_reader_of_history_only_delays_the_change(
    timed: PostgresStore, dsn: str, connect: Connect
) -> None:
    connection = await connect()
    async with connection.transaction():
        await connection.fetch("SELECT FROM mainspring.jobs_history LIMIT 1")
        with pytest.raises(ConnectionFailed, match="refused and changed nothing"):
            await timed.prepare_partitions(0)
        await _finish(timed)
    assert await timed.prepare_partitions(0)
