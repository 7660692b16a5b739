import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mainspring.runtime.assemble import open_store
from mainspring.runtime.setting_table import Settings
from tests.client.shop import app

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def shop_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a store on which a real worker runs the shop."""
    url = f"sqlite:///{tmp_path_factory.mktemp('shop') / 'store.db'}"
    asyncio.run(_make(url))
    kept = {name: value for name, value in os.environ.items() if "MAINSPRING" not in name}
    command = [sys.executable, "-m", "mainspring", "worker", "start", "tests.client.shop:app"]
    worker = subprocess.Popen(
        [*command, "--queues", "default:8,mail:4", "--store", url],
        cwd=ROOT,
        env=kept | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield url
    worker.terminate()
    worker.wait(40)


async def _make(url: str) -> None:
    store = await open_store(Settings(store_url=url))
    await store.migrate(phase="all")
    await store.declare_handlers([handler.info for handler in app.handlers.values()])
    await store.close()
