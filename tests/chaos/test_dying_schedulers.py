"""Schedulers that die at every instruction between a fire and its commit."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from mainspring.runtime.assemble import open_store
from mainspring.runtime.settings import Settings
from tests.chaos.dying import THERE, points
from tests.chaos.fires import fires_proven, schedule_densely
from tests.chaos.run import migrate

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(240)]


async def test_dying_anywhere_between_a_fire_and_its_commit_loses_and_doubles_nothing(
    store_url: str, tmp_path: Path
) -> None:
    await migrate(store_url)
    store = await open_store(Settings(store_url=store_url))
    try:
        schedules = await schedule_densely(store, kind="work")
    finally:
        await store.close()
    command = [sys.executable, "-m", "tests.chaos.dying", store_url]
    told = await asyncio.to_thread(
        subprocess.run,
        command,
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    assert told.stdout.splitlines() == [f"{THERE} {point}" for point in points(store_url)], told
    assert await fires_proven(store_url, schedules) > len(schedules)
