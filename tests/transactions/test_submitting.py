"""Submitting inside the caller's transaction: there if and only if the caller commits."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mainspring.client.blocking import Client
from mainspring.domain.errors import (
    DuplicateJob,
    NotFound,
    NotInTransaction,
    SubmissionKeyReused,
)
from mainspring.domain.states import JobState
from tests.transactions.shop import app, charge, send
from tests.transactions.ways import Way


def orders(way: Way) -> int:
    """How many orders there are, seen by another connection."""
    import sqlite3

    import psycopg

    if way.store == "sqlite":
        beside = sqlite3.connect(way.path)
        (count,) = beside.execute("SELECT count(*) FROM orders").fetchone()
        beside.close()
    else:
        with psycopg.connect(way.url) as connection:
            (count,) = connection.execute("SELECT count(*) FROM orders").fetchone() or (0,)
    return int(count)


def jobs(client: Client) -> int:
    return len(client.jobs.list().items)


def test_job_and_row_are_committed_together(way: Way, client: Client) -> None:
    way.begin()
    way.add_order(1)
    handle = way.submit(charge, 1)
    assert jobs(client) == 0
    way.commit()
    assert orders(way) == 1
    found = client.jobs.get(handle.id)
    assert found.state is JobState.READY
    assert found.payload == b'{"order_id":1}'
    assert handle.created
    assert handle.get() == found


def test_a_rollback_leaves_neither(way: Way, client: Client) -> None:
    way.begin()
    way.add_order(1)
    handle = way.submit(charge, 1)
    way.rollback()
    assert orders(way) == 0
    with pytest.raises(NotFound):
        client.jobs.get(handle.id)


def test_the_first_statement_is_rolled_back_too(way: Way, client: Client) -> None:
    """Adapters that begin their transaction late would have committed it."""
    way.begin()
    way.submit(charge, 1)
    way.rollback()
    assert jobs(client) == 0
    # On a connection that is known by now, nothing is looked at before the insert.
    way.begin()
    way.submit(charge, 2)
    way.rollback()
    assert jobs(client) == 0
    way.begin()
    way.submit(charge, 3)
    way.commit()
    assert jobs(client) == 1


def test_a_connection_that_commits_by_itself_is_refused(way: Way, client: Client) -> None:
    way.autocommit()
    with pytest.raises(NotInTransaction, match="no transaction is open") as caught:
        way.submit(charge, 1)
    assert caught.value.hint
    assert jobs(client) == 0


def test_many_calls_are_one_submission(way: Way, client: Client) -> None:
    way.begin()
    calls = [charge.call(number) for number in range(3)] + [send.call("a@example.org")]
    handles = way.submit_many(app, calls)
    way.commit()
    assert [client.jobs.get(handle.id).queue for handle in handles] == ["default"] * 3 + ["mail"]
    assert way.submit_many(app, []) == []


def test_options_mean_the_same(way: Way, client: Client) -> None:
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(days=2)
    note = 'O\'Hara "100 %" {a,b} \\ :ids %(x)s \N{SNOWMAN}'
    way.begin()
    later = way.submit(charge.options(at=at, priority="high", effect_key=note), 1, note=note)
    soon = way.submit(charge.options(delay="10m", timeout="7s", max_attempts=2), 2)
    way.commit()
    found = client.jobs.get(later.id)
    assert (found.state, found.due_at, found.priority) == (JobState.SCHEDULED, at, 1)
    assert found.effect_key == note
    ordinary = charge.options(at=at).submit(1, note=note)
    assert found.payload == client.jobs.get(ordinary.id).payload
    found = client.jobs.get(soon.id)
    assert (found.state, found.timeout_ms, found.max_attempts) == (JobState.SCHEDULED, 7_000, 2)
    wait = found.due_at - found.created_at
    assert timedelta(minutes=9) < wait < timedelta(minutes=11)


def test_a_key_stands_for_the_first_job(way: Way, client: Client) -> None:
    way.begin()
    first = way.submit(charge.options(key="order-1"), 1)
    again = way.submit(charge.options(key="order-1"), 1)
    way.commit()
    assert (again.id, again.created) == (first.id, False)
    ordinary = charge.options(key="order-1").submit(1)
    assert (ordinary.id, ordinary.created) == (first.id, False)
    way.begin()
    with pytest.raises(SubmissionKeyReused):
        way.submit(charge.options(key="order-1"), 2)
    way.rollback()
    way.begin()
    repeated = way.submit(charge.options(key="order-1"), 1)
    way.rollback()
    assert repeated.id == first.id
    assert jobs(client) == 1


def test_a_key_that_was_rolled_back_is_free(way: Way, client: Client) -> None:
    way.begin()
    way.submit(charge.options(key="order-1"), 1)
    way.rollback()
    handle = charge.options(key="order-1").submit(2)
    assert handle.created


def test_a_unique_key_is_held_by_the_first_job(way: Way, client: Client) -> None:
    way.begin()
    first = way.submit(charge.options(unique="order-1"), 1)
    again = way.submit(charge.options(unique="order-1"), 2)
    assert (again.id, again.created) == (first.id, False)
    way.commit()
    assert charge.options(unique="order-1").submit(3).id == first.id
    way.begin()
    with pytest.raises(DuplicateJob) as caught:
        way.submit(charge.options(unique="order-1", on_duplicate="reject"), 4)
    assert caught.value.details["job_id"] == first.id
    replaced = way.submit(charge.options(unique="order-1", on_duplicate="replace"), 5)
    assert replaced.id == first.id
    assert client.jobs.get(first.id).payload == b'{"order_id":1}'
    way.commit()
    assert client.jobs.get(first.id).payload == b'{"order_id":5}'
    assert jobs(client) == 1


def test_a_replacement_is_rolled_back(way: Way, client: Client) -> None:
    first = charge.options(unique="order-1").submit(1)
    way.begin()
    way.submit(charge.options(unique="order-1", on_duplicate="replace"), 2)
    way.rollback()
    assert client.jobs.get(first.id).payload == b'{"order_id":1}'


def test_a_large_payload_goes_to_the_object_store(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_INLINE_BYTES", "100")
    note = "x" * 1_000
    with app.connect_sync(way.url, blobs=f"file://{tmp_path / 'blobs'}") as client:
        way.begin()
        handle = way.submit(charge, 1, note=note)
        way.commit()
        found = client.jobs.get(handle.id)
        assert found.payload_ref is not None
        assert note.encode() in found.payload
