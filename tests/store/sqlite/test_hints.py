"""Hints across processes: found by looking, and nobody looks in vain for ever."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mainspring.ports.clock import monotonic
from mainspring.store.sqlite import SqliteStore, open_sqlite
from mainspring.store.sqlite.connection import Settings, connect
from mainspring.store.sqlite.wakeups import SqliteWakeups
from mainspring.testing.builders import new_job


@pytest.fixture
async def other(store: SqliteStore, path: Path) -> AsyncIterator[SqliteStore]:
    """A second store on the same file: to SQLite, another process."""
    opened = await open_sqlite(path)
    yield opened
    await opened.close()


async def test_a_change_of_another_process_wakes_every_topic(
    store: SqliteStore, other: SqliteStore
) -> None:
    listener = other.wakeups.subscribe(["queue:a", "done"])
    waiting = asyncio.gather(listener.wait(20))
    await asyncio.wait([waiting], timeout=0.05)
    assert not waiting.done()
    begun = monotonic()
    await store.submit([new_job()])
    (told,) = await waiting
    assert told == frozenset({"queue:a", "done"})
    assert monotonic() - begun < 5
    listener.close()


async def test_own_changes_wake_nobody_by_themselves(store: SqliteStore) -> None:
    listener = store.wakeups.subscribe(["done"])
    for _ in range(3):
        await store.submit([new_job()])
        assert await listener.wait(0.03) == frozenset()
    listener.close()


async def test_a_change_before_the_wait_is_not_missed(
    store: SqliteStore, other: SqliteStore
) -> None:
    listener = other.wakeups.subscribe(["done"])
    assert await listener.wait(0.05) == frozenset()
    await store.submit([new_job()])
    assert await listener.wait(20) == frozenset({"done"})
    listener.close()


async def test_without_listeners_nobody_looks(store: SqliteStore) -> None:
    said: list[str] = []
    connection = store._engine._threads[0].connection
    listener = store.wakeups.subscribe(["done"])
    await listener.wait(0.02)
    never = asyncio.get_running_loop().create_future()
    await asyncio.wait([never], timeout=0.1)
    connection.set_trace_callback(said.append)
    await asyncio.wait([never], timeout=0.2)
    assert said == []
    connection.set_trace_callback(None)
    listener.close()


async def test_a_hint_comes_from_any_thread(store: SqliteStore) -> None:
    listener = store.wakeups.subscribe(["done"])
    waiting = asyncio.gather(listener.wait(20))
    await asyncio.wait([waiting], timeout=0.02)
    await asyncio.to_thread(store.wakeups.announce, ["done"])
    (told,) = await waiting
    assert told == frozenset({"done"})
    listener.close()


async def test_closing_the_store_releases_who_waits(path: Path) -> None:
    opened = await open_sqlite(path)
    waiting = asyncio.gather(opened.wakeups.subscribe(["done"]).wait(30))
    await asyncio.wait([waiting], timeout=0.02)
    await opened.close()
    (told,) = await waiting
    assert told == frozenset()


async def test_a_wait_that_is_cancelled_leaves_nothing_behind(store: SqliteStore) -> None:
    listener = store.wakeups.subscribe(["done"])
    waiting = asyncio.gather(listener.wait(30))
    await asyncio.wait([waiting], timeout=0.02)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert store.wakeups.poll_seconds() is None
    store.wakeups.announce(["done"])
    assert await listener.wait(1) == frozenset({"done"})
    listener.close()


async def test_looks_are_frequent_after_a_change_and_become_rarer(
    store: SqliteStore, path: Path
) -> None:
    settings = Settings(str(path))
    wakeups = SqliteWakeups(settings, nudge=lambda: None)
    listener = wakeups.subscribe(["done"])
    connection = connect(settings, patient=True)
    assert wakeups.poll_seconds() is None
    wakeups.begin_waiting()

    def pauses(looks: int) -> list[float]:
        found = []
        for _ in range(looks):
            wakeups.look(connection)
            found.append(wakeups.poll_seconds() or 0.0)
        return found

    found = pauses(500)
    assert found == sorted(found)
    assert (found[0], found[100], found[-1]) == (0.001, 0.005, 0.02)
    await store.submit([new_job()])
    assert pauses(1) == [0.001]
    connection.close()
    listener.close()
