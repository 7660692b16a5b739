"""The product, as users have it: its client here, its worker started by its command line."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import mainspring
from benchmarks.app import nothing, tell_start
from benchmarks.figures import Pickup, Throughput, pickup_of
from benchmarks.meter import Meter
from benchmarks.sizes import Sizes
from mainspring.app.handles import Handle
from mainspring.client.client import AsyncClient
from mainspring.domain.states import FINAL
from mainspring.ports.clock import monotonic, pause_seconds

_REPOSITORY: Final = Path(__file__).resolve().parents[1]
_QUEUE: Final = "default"
_PATIENCE_SECONDS: Final = 120.0
_LOOK_SECONDS: Final = 0.01
#: After the worker has said that it is there: its children connect and come to rest.
_SETTLE_SECONDS: Final = 1.5


class Product:
    """Mainspring on one new store."""

    def __init__(
        self,
        store: str,
        sizes: Sizes,
        *,
        processes: int,
        server: int | None,
        through: str = "",
    ) -> None:
        """Measure on the store at this address; ``server`` is the pid of its server, if any.

        ``through`` is the address of a Mainspring server that the worker is to use instead.
        """
        self._through = through
        self._store = store
        self._sizes = sizes
        self._processes = processes
        self._server = server

    def migrate(self) -> None:
        """Make the tables."""
        command = self._command("db", "migrate")
        subprocess.run(
            command, check=True, cwd=_REPOSITORY, env=_environment(), capture_output=True
        )

    async def declare(self) -> None:
        """Write down what the worker can do, as it does when it comes up."""
        async with mainspring.connect(self._store) as client, self._worker(client):
            pass

    async def insert(self) -> tuple[Throughput, list[str]]:
        """Submit jobs in bulk; return also their ids."""
        count, chunk = self._sizes.jobs, self._sizes.bulk
        handles: list[Handle[None]] = []
        async with mainspring.connect(self._store) as client:
            await client.submit_many([nothing.call()])
            with Meter(client=os.getpid(), worker=None, server=self._server) as meter:
                for start in range(0, count, chunk):
                    calls = [nothing.call() for _ in range(min(chunk, count - start))]
                    handles += await client.submit_many(calls)
        return meter.throughput(count), [handle.id for handle in handles]

    async def drain_and_pick_up(self, ids: Sequence[str]) -> tuple[Throughput, Pickup]:
        """Drain what was inserted by a worker that waits for it, then measure its pickups."""
        async with mainspring.connect(self._store) as client:
            await client.queues.pause(_QUEUE)
            async with self._worker(client) as worker:
                with Meter(client=None, worker=worker, server=self._server) as meter:
                    await client.queues.resume(_QUEUE)
                    await _until_over(client, ids)
                drained = meter.throughput(len(ids) + 1)
                await pause_seconds(_SETTLE_SECONDS)
                picked = await self._pick_up(client, worker)
        return drained, picked

    async def _pick_up(self, client: AsyncClient, worker: int) -> Pickup:
        handles: list[Handle[float]] = []
        committed: list[float] = []
        with Meter(client=os.getpid(), worker=worker, server=self._server) as meter:
            async for _ in self._sizes.pace.beats():
                handles.append(await client.submit(tell_start.call()))
                committed.append(monotonic())
        started = [await handle.aresult(timeout="30s") for handle in handles]
        waits = [start - commit for start, commit in zip(started, committed, strict=True)]
        return pickup_of(waits, meter.cost(len(handles)))

    @asynccontextmanager
    async def _worker(self, client: AsyncClient) -> AsyncIterator[int]:
        options = ("--queues", f"{_QUEUE}:{self._sizes.slots}", "--processes", str(self._processes))
        command = self._command(
            "worker", "start", "benchmarks.app:app", *options, through=self._through
        )
        worker = subprocess.Popen(  # noqa: ASYNC220 - nothing else goes on here
            command,
            stdin=subprocess.DEVNULL,
            cwd=_REPOSITORY,
            env=_environment(),
            start_new_session=True,
        )
        try:
            until = monotonic() + _PATIENCE_SECONDS
            while not any(each.state == "alive" for each in await client.workers.list()):
                if worker.poll() is not None or monotonic() > until:
                    raise RuntimeError("the worker did not start; what it said stands above")
                await pause_seconds(_LOOK_SECONDS)
            await pause_seconds(_SETTLE_SECONDS)
            yield worker.pid
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait(_PATIENCE_SECONDS)

    def _command(self, *words: str, through: str = "") -> list[str]:
        return [sys.executable, "-m", "mainspring", *words, "--store", through or self._store]


def _environment() -> dict[str, str]:
    return {**os.environ, "MAINSPRING_LOG_LEVEL": "warning"}


async def _until_over(client: AsyncClient, ids: Sequence[str]) -> None:
    """Wait until every job has ended, while costing next to nothing."""
    until = monotonic() + _PATIENCE_SECONDS
    # Work is first in, first out: when the last one is over, at most a few batches are not.
    while (await client.jobs.get(ids[-1])).state not in FINAL:
        if monotonic() > until:
            raise RuntimeError("the worker does not come to an end; what it said stands above")
        await pause_seconds(_LOOK_SECONDS)
    while any(queue.ready or queue.running for queue in await client.queues.list()):
        await pause_seconds(_LOOK_SECONDS)
