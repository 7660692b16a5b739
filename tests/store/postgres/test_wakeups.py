"""Hints over NOTIFY: between processes, coalesced, cut to size, and back after a break."""

import asyncio
from typing import Protocol

import asyncpg
import pytest

from mainspring.store.postgres import PostgresStore

pytestmark = pytest.mark.postgres


class Connect(Protocol):
    async def __call__(self, dsn: str | None = None) -> "asyncpg.Connection[asyncpg.Record]": ...


async def _listening(connect: Connect, count: int) -> None:
    """Wait until so many listeners are there."""
    connection = await connect()
    query = (
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'mainspring listener' "
        "AND datname = current_database() AND query LIKE 'LISTEN%' AND state = 'idle'"
    )
    while await connection.fetchval(query) < count:  # noqa: ASYNC110 - the server knows
        await asyncio.sleep(0.01)


async def test_hints_travel_between_processes(
    store: PostgresStore, other_store: PostgresStore, connect: Connect
) -> None:
    listener = other_store.wakeups.subscribe(["queue:a", "done"])
    await _listening(connect, 1)
    store.wakeups.announce(["queue:a", "queue:b"])
    assert await listener.wait(10) == {"queue:a"}
    assert await listener.wait(0.05) == frozenset()


async def test_many_announcements_leave_as_few_notifications(
    store: PostgresStore, connect: Connect
) -> None:
    received: list[str] = []
    connection = await connect()
    await connection.add_listener("mainspring", lambda *seen: received.append(seen[3]))
    for number in range(2_000):
        store.wakeups.announce([f"queue:{number % 5}"])
        if not number % 100:
            await asyncio.sleep(0.001)
    await asyncio.sleep(0.2)
    assert 1 <= len(received) <= 40


async def test_too_many_topics_become_the_one_for_all(
    store: PostgresStore, other_store: PostgresStore, connect: Connect
) -> None:
    listener = other_store.wakeups.subscribe(["done"])
    await _listening(connect, 1)
    store.wakeups.announce([f"queue:{number:060}" for number in range(500)])
    assert await listener.wait(10) == {"done"}


async def test_a_listener_that_was_cut_off_comes_back(
    store: PostgresStore, other_store: PostgresStore, connect: Connect
) -> None:
    listener = other_store.wakeups.subscribe(["queue:a"])
    await _listening(connect, 1)
    connection = await connect()
    await connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name LIKE 'mainspring %' AND datname = current_database()"
    )
    assert await listener.wait(10) == {"queue:a"}
    store.wakeups.announce(["queue:a"])
    assert await listener.wait(10) == {"queue:a"}


async def test_nothing_is_left_behind(store: PostgresStore, connect: Connect) -> None:
    store.wakeups.subscribe(["done"])
    store.wakeups.announce(["done"])
    await _listening(connect, 1)
    await store.close()
    await store.close()
    store.wakeups.announce(["done"])
    connection = await connect()
    async with asyncio.timeout(10):
        while await connection.fetchval(  # noqa: ASYNC110 - the server knows
            "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'mainspring %' "
            "AND datname = current_database()"
        ):
            await asyncio.sleep(0.01)
