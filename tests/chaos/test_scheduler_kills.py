"""Scheduler processes killed, frozen and cut off; their store killed, too."""

import asyncio
import random
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from mainspring.ports.clock import pause_seconds
from mainspring.ports.store import Store
from mainspring.runtime.assemble import open_store
from mainspring.runtime.setting_table import Settings
from mainspring.testing.faults import FaultProxy, Protocol
from mainspring.testing.servers import PostgresServer
from tests.chaos.fires import fire_each, fires_proven, schedule_densely, until_fired
from tests.chaos.run import migrate, seed_of_this_run
from tests.chaos.schedulers import Schedulers

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(240)]

KILLS = 10
SERVER_KILLS = 3
CUTS = 10


@asynccontextmanager
async def opened(store_url: str) -> AsyncIterator[Store]:
    await migrate(store_url)
    store = await open_store(Settings(store_url=store_url))
    try:
        yield store
    finally:
        await store.close()


async def test_killed_and_frozen_at_random_they_lose_and_double_nothing(
    store_url: str, tmp_path: Path
) -> None:
    dice = random.Random(seed_of_this_run())
    schedulers = Schedulers(store_url, tmp_path)
    try:
        async with opened(store_url) as store:
            schedules = await schedule_densely(store, kind="work", copies=3)
            for _ in range(3):
                schedulers.start()
            for number in range(KILLS):
                await until_fired(store, schedules[:1], 1)
                await pause_seconds(dice.random() * 0.3)
                # Frozen inside a transaction on SQLite, it would hold the file for ever.
                if number % 4 == 3 and store_url.startswith("postgres"):
                    schedulers.thaw()
                    schedulers.freeze(dice.randrange(9))
                else:
                    schedulers.kill(dice.randrange(9))
                schedulers.start()
            await until_fired(store, schedules[:4], 1)
            # The newest may not have come so far as to hear it.
            assert set(schedulers.stop()) <= {0, -signal.SIGTERM}, schedulers.logs()
    finally:
        schedulers.stop()
    assert await fires_proven(store_url, schedules) > len(schedules)


@pytest.mark.postgres
async def test_a_killed_server_leaves_neither_gap_nor_double(
    durable_postgres: PostgresServer, tmp_path: Path
) -> None:
    store_url = durable_postgres.create_database()
    schedulers = Schedulers(store_url, tmp_path)
    try:
        async with opened(store_url) as store:
            schedules = await schedule_densely(store, kind="work")
            schedulers.start()
            schedulers.start()
            await schedulers.until_up()
            for _ in range(SERVER_KILLS):
                await until_fired(store, schedules[:4], 1)
                await asyncio.to_thread(durable_postgres.kill9)
                await asyncio.to_thread(durable_postgres.restart)
            await until_fired(store, schedules[:4], 1)
            # They outlived the server's deaths.
            assert await asyncio.to_thread(schedulers.stop) == [0, 0], schedulers.logs()
    finally:
        schedulers.stop()
    assert await fires_proven(store_url, schedules) > len(schedules)


@pytest.mark.postgres
async def test_a_commit_without_an_answer_fires_exactly_once(
    durable_postgres: PostgresServer, tmp_path: Path
) -> None:
    """Cut the connection before and after the commit was carried out, over and over."""
    store_url = durable_postgres.create_database()
    async with (
        opened(store_url) as store,
        FaultProxy(
            durable_postgres.host, durable_postgres.port, protocol=Protocol.POSTGRES
        ) as proxy,
    ):
        schedules = await schedule_densely(store, kind="work")
        schedulers = Schedulers(proxy.through(store_url), tmp_path)
        try:
            schedulers.start()
            schedulers.start()
            await schedulers.until_up()
            for number in range(CUTS):
                seen = proxy.counts.cuts
                cut = proxy.cut_before if number % 2 else proxy.cut_after
                cut(b"COMMIT", skip=0)
                while proxy.counts.cuts == seen:
                    await pause_seconds(0.02)
            await until_fired(store, schedules[:4], 1)
            # The proxy, and this loop with it, is needed for that.
            assert await asyncio.to_thread(schedulers.stop) == [0, 0], schedulers.logs()
        finally:
            schedulers.stop()
    assert await fires_proven(store_url, schedules) > len(schedules)


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM fires WHERE job_id = (SELECT id FROM jobs ORDER BY id LIMIT 1)",
        "DELETE FROM jobs WHERE id = (SELECT id FROM jobs ORDER BY id LIMIT 1)",
    ],
)
async def test_the_proof_can_fail(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "harmed.db"
    store_url = f"sqlite:///{path}"
    async with opened(store_url) as store:
        schedules = await schedule_densely(store, kind="work")
        await fire_each(store, schedules)
    assert await fires_proven(store_url, schedules)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(harm)
        connection.commit()
    with pytest.raises(AssertionError):
        await fires_proven(store_url, schedules)
