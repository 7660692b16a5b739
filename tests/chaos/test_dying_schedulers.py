"""Schedulers that die at every instruction between a fire and its commit."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from mainspring.runtime.assemble import open_store
from mainspring.runtime.setting_table import Settings
from mainspring.testing.servers import PostgresServer
from tests.chaos.dying import THERE, points
from tests.chaos.fires import fire_each, fires_proven, schedule_densely, until_fired
from tests.chaos.run import migrate
from tests.chaos.schedulers import Schedulers

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(240)]


async def test_dying_anywhere_between_a_fire_and_its_commit_loses_and_doubles_nothing(
    store_url: str, tmp_path: Path
) -> None:
    await migrate(store_url)
    store = await open_store(Settings(store_url=store_url))
    try:
        schedules = await schedule_densely(store, kind="work")
        told = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "tests.chaos.dying", store_url],
            capture_output=True,
            text=True,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        wanted = [f"{THERE} {point}" for point in points(store_url)]
        assert told.stdout.splitlines() == wanted, told
        await fire_each(store, schedules)
    finally:
        await store.close()
    assert await fires_proven(store_url, schedules) > len(schedules)


@pytest.mark.postgres
@pytest.mark.parametrize("point", ["after: insert_fires", "before the commit"])
async def test_one_that_is_frozen_with_fires_in_hand_holds_nobody_up_for_long(
    durable_postgres: PostgresServer, tmp_path: Path, point: str
) -> None:
    """The server ends its transaction; the others fire what it held; thawed, it changes nothing."""
    store_url = durable_postgres.create_database()
    await migrate(store_url)
    store = await open_store(Settings(store_url=store_url))
    schedulers = Schedulers(store_url, tmp_path)
    command = [sys.executable, "-m", "tests.chaos.dying", store_url, point]
    frozen = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert frozen.stdin is not None
    assert frozen.stdout is not None
    try:
        schedules = await schedule_densely(store, kind="work")
        assert await frozen.stdout.readline() == b"frozen\n"
        schedulers.start()
        await until_fired(store, schedules[:4], 2)
        frozen.stdin.write(b"thaw\n")
        await frozen.stdin.drain()
        await until_fired(store, schedules[:4], 1)
        frozen.stdin.write(b"end\n")
        await frozen.stdin.drain()
        assert await frozen.wait() == 0
        assert schedulers.stop() == [0], schedulers.logs()
    finally:
        if frozen.returncode is None:
            frozen.kill()
        schedulers.stop()
        await store.close()
    assert await fires_proven(store_url, schedules) > len(schedules)
