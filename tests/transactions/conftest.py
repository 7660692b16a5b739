"""A migrated store, and every kind of caller that has a connection to it."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Self

import pytest

from mainspring.client.blocking import Client
from mainspring.runtime.assemble import open_store
from mainspring.runtime.setting_table import Settings
from tests.transactions.shop import app
from tests.transactions.ways import TABLE, WAYS, Way, prepare_django

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 20.0
#: A worker imports all the drivers that its app uses, which takes a while on a busy machine.
START_SECONDS = 50.0


def migrate(url: str) -> None:
    async def work() -> None:
        store = await open_store(Settings(store_url=url))
        await store.migrate(phase="all")
        await store.close()

    asyncio.run(work())


@pytest.fixture
def postgres_url(migrated_database: Callable[[], str]) -> str:
    return migrated_database()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    migrate(url)
    return url


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Iterator[Way]:
    """A caller with an open connection to a migrated store, and a table of its own there."""
    kind = WAYS[request.param]
    prepare_django()
    caller = kind(request.getfixturevalue(f"{kind.store}_url"))
    caller.open()
    _create_table(caller)
    yield caller
    caller.close()


def _create_table(caller: Way) -> None:
    caller.begin()
    caller.execute(TABLE)
    caller.commit()


@pytest.fixture
def client(way: Way) -> Iterator[Client]:
    """A client of the same store, which is the app's open door."""
    with app.connect_sync(way.url) as opened:
        yield opened


class Worker:
    """A real worker, with all of its processes."""

    def __init__(self, url: str, reference: str, *, folder: Path = ROOT) -> None:
        self._folder = folder
        self._command = [
            sys.executable, "-m", "mainspring", "worker", "start", reference, "--store", url,
            "--processes", "1", "--concurrency", "4",
        ]  # fmt: skip

    def __enter__(self) -> Self:
        self._log = TemporaryFile()
        kept = {name: text for name, text in os.environ.items() if "MAINSPRING" not in name}
        self._process = subprocess.Popen(
            self._command,
            cwd=self._folder,
            env=kept | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_SECONDS)
        finally:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
            self._log.seek(0)
            print(self._log.read().decode())
            self._log.close()


def wait_until(is_so: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, "nothing came of it"
        time.sleep(0.02)
