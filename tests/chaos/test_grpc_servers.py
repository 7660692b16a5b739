"""Workers behind a server of gRPC: the server killed with -9, and workers, and their children."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from mainspring.domain.states import AttemptState
from mainspring.testing.servers.free_ports import free_ports
from tests.chaos.fleet import Fleet
from tests.chaos.run import (
    Ledger,
    begin_long_work,
    gather,
    migrate,
    open_ledger,
    prove,
    seed_of_this_run,
    until_ended,
    wait_until_final,
)

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(240)]

_REPOSITORY = Path(__file__).resolve().parents[2]
ROUNDS = 6
#: Longer than a server takes to come back, so that sessions outlive it.
LEASE_MS = 10_000


class GrpcServer:
    """A server process at a port of its own, to be killed and started again."""

    def __init__(self, store_url: str, folder: Path) -> None:
        self._store_url = store_url
        self._log = folder / "grpc-server.log"
        [self.port] = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"grpc://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it as users do, and wait until it listens."""
        command = [sys.executable, "-m", "mainspring", "server", "start", "--no-keys"]
        command += ["--store", self._store_url, "--http", "127.0.0.1:0"]
        command += ["--grpc", f"127.0.0.1:{self.port}", "--log-level", "info"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=_REPOSITORY,
            env=dict(os.environ, PYTHONPATH=str(_REPOSITORY)),
            start_new_session=True,
        )
        said = self._process.stderr
        assert said is not None
        heard = b""
        while b"gRPC at" not in heard:
            line = said.readline()
            assert line, heard.decode(errors="replace")
            heard += line
        with self._log.open("ab") as log:
            log.write(heard)
        # The rest must be read, or the server would wait for its reader.
        threading.Thread(target=self._copy, args=(said,), daemon=True).start()

    def _copy(self, said: IO[bytes]) -> None:
        with self._log.open("ab") as log, said:
            shutil.copyfileobj(said, log)

    def kill(self) -> None:
        """Kill it as a machine that loses its power would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None


@pytest.fixture
def server(store_url: str, tmp_path: Path) -> Iterator[GrpcServer]:
    made = GrpcServer(store_url, tmp_path)
    yield made
    made.kill()


async def test_servers_and_workers_killed_at_random_lose_nothing(
    store_url: str, tmp_path: Path, server: GrpcServer
) -> None:
    seed = seed_of_this_run()
    await migrate(store_url)
    server.start()
    fleet = Fleet(server.address, tmp_path, lease_ms=LEASE_MS)
    try:
        async with open_ledger(store_url, seed) as ledger:
            await _attack(fleet, ledger, server)
            await wait_until_final(ledger, fleet)
            await ledger.until_all_up(fleet)
            assert set(fleet.stop()) == {0}, fleet.logs()
            history = await gather(ledger, fleet, store_url)
    finally:
        fleet.stop()
    prove(history, seed, fleet)
    attempts = [item for found in history.recorded.values() for item in found.attempts]
    assert len(history.recorded) == len(history.acknowledged) >= 400
    assert any(item.state is AttemptState.LOST for item in attempts), "nothing was hit"


async def _attack(fleet: Fleet, ledger: Ledger, server: GrpcServer) -> None:
    """Kill the server in two rounds of three, and a child or a whole worker in the others."""
    for _ in range(2):
        fleet.start(processes=2)
    await ledger.until_declared("work")
    over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(ledger.keep_submitting(over, kinds=("work", "work_in_thread")))
        for number in range(ROUNDS):
            await until_ended(fleet, 60 + ledger.dice.randrange(60))
            if number % 3 != 2:
                fleet.disturb_all()
                await asyncio.to_thread(server.kill)
                await asyncio.to_thread(server.start)
                continue
            living = fleet.living()
            keeper = living[number % len(living)]
            if number % 2 and fleet.kill_child(keeper, number):
                continue
            # Never a worker that has nothing in hand.
            await begin_long_work(fleet, ledger, keeper)
            fleet.kill_worker(keeper)
            fleet.start(processes=2)
        over.set()


async def test_a_killed_server_costs_no_attempt(
    store_url: str, tmp_path: Path, server: GrpcServer
) -> None:
    """Jobs that run while their server dies are finished by whoever runs them."""
    seed = seed_of_this_run()
    await migrate(store_url)
    server.start()
    fleet = Fleet(server.address, tmp_path, lease_ms=LEASE_MS)
    try:
        async with open_ledger(store_url, seed) as ledger:
            fleet.start()
            await ledger.until_declared("work")
            await ledger.submit_long(6)
            await until_ended(fleet, 1)
            fleet.disturb_all()
            server.kill()
            server.start()
            await wait_until_final(ledger, fleet)
            history = await gather(ledger, fleet, store_url)
    finally:
        fleet.stop()
    prove(history, seed, fleet)
    counts = [len(found.attempts) for found in history.recorded.values()]
    assert counts == [1] * 6, fleet.logs()
