"""``python -m benchmarks.remote``: no-op jobs claimed and finished through a server of gRPC.

A server process stands before PostgreSQL with durable commits. *Connection*: one connection that
claims and reports batches, without a worker around it. *Worker*: ``mainspring worker start``, one
process, whose handler does nothing. *Local*: the same worker on the store itself.
"""

import argparse
import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks import machine, results
from benchmarks.product import Product
from benchmarks.rounds import POSTGRES_SETTINGS
from benchmarks.sizes import Sizes
from mainspring.domain.job import NewSession
from mainspring.domain.outcome import Report, Succeeded
from mainspring.ports.clock import monotonic, utc_now
from mainspring.ports.entropy import new_worker_id
from mainspring.ports.gateway import WorkerGateway
from mainspring.ports.store import ClaimAsk, Lane
from mainspring.remote.channel import Channel
from mainspring.remote.gateway import RemoteGateway
from mainspring.runtime.child_process import loop_factory
from mainspring.testing.servers import PostgresServer

_REPOSITORY: Final = Path(__file__).resolve().parents[1]
_ADDRESS: Final = re.compile(rb"gRPC at ([\d.]+:\d+)")
_QUEUE: Final = "default"
_BATCH: Final = 250
_LOOPS: Final = 4
_LEASE_MS: Final = 60_000


async def connection(address: str, count: int) -> float:
    """Claim and finish so many jobs by one connection; return how many seconds it took."""
    gateway = RemoteGateway(Channel(address), monotonic=monotonic)
    worker_id = new_worker_id()
    kinds = (_kind(),)
    session = NewSession(
        id=worker_id,
        name="benchmark",
        host="here",
        pid=0,
        version="0",
        queues={_QUEUE: _BATCH * _LOOPS},
        kinds=kinds,
        lease_ms=_LEASE_MS,
    )
    await gateway.open_session(session, [])
    ask = ClaimAsk(
        worker_id=worker_id, child=0, lanes=(Lane(_QUEUE, _BATCH),), kinds=kinds, limit=_BATCH
    )
    began_at = monotonic()
    done = sum(await asyncio.gather(*(_work(gateway, ask) for _ in range(_LOOPS))))
    took = monotonic() - began_at
    if done < count:
        raise RuntimeError(f"only {done:,} of {count:,} jobs were there")
    await gateway.close_session(worker_id)
    await gateway.close()
    return took


async def _work(gateway: WorkerGateway, ask: ClaimAsk) -> int:
    done = 0
    while claimed := await gateway.claim(ask):
        reports = [Report(job.job_id, job.attempt, Succeeded()) for job in claimed]
        done += sum(await gateway.report(reports))
    return done


def _kind() -> str:
    from benchmarks.app import nothing

    return nothing.kind


@contextmanager
def serving(store: str) -> Iterator[str]:
    """Start a server as users do; give the address of its gRPC."""
    command = [sys.executable, "-m", "mainspring", "server", "start", "--store", store, "--no-keys"]
    command += ["--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--log-level", "info"]
    command += ["--no-maintenance", "--no-scheduler"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=_REPOSITORY) as server:
        try:
            assert server.stderr is not None
            for line in server.stderr:
                if (found := _ADDRESS.search(line)) is not None:
                    yield f"grpc://{found[1].decode()}"
                    break
            else:
                raise RuntimeError("the server did not start")
        finally:
            server.send_signal(signal.SIGTERM)


async def _round(server: PostgresServer, sizes: Sizes) -> dict[str, float]:
    """Measure all three once, each on a new database."""
    found: dict[str, float] = {}
    for name in ("connection", "worker", "local"):
        store = server.create_database()
        Product(store, sizes, processes=1, server=None).migrate()
        with serving(store) as address:
            through = "" if name == "local" else address
            product = Product(store, sizes, processes=1, server=server.pid, through=through)
            _, ids = await product.insert()
            if name == "connection":
                found[name] = len(ids) / await connection(address, len(ids))
                continue
            drained, _ = await product.drain_and_pick_up(ids)
            found[name] = drained.jobs_per_second
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.remote", description=__doc__)
    parser.add_argument("--jobs", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--slots", type=int, default=1_000)
    parser.add_argument("--postgres", default="15", help="major version of the server")
    parser.add_argument("--out", type=Path, help="by default results/remote/DATE.json")
    given = parser.parse_args(words)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        sizes = Sizes(jobs=given.jobs, slots=given.slots, pickups_per_second=50, pickup_seconds=1.0)
        rounds = []
        with PostgresServer(given.postgres, fsync=True, settings=POSTGRES_SETTINGS) as server:
            for _ in range(given.rounds):
                rounds.append(runner.run(_round(server, sizes)))
                print(_shown(rounds[-1]), file=sys.stderr, flush=True)
    taken_on = utc_now().date().isoformat()
    result: dict[str, Any] = {
        "taken_on": taken_on,
        "commit": machine.commit(),
        "machine": machine.facts(),
        "jobs": given.jobs,
        "postgres": given.postgres,
        "jobs_per_second": {
            name: sorted(round(each[name]) for each in rounds) for name in rounds[0]
        },
    }
    path = given.out or results.FOLDER / "remote" / f"{taken_on}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


def _shown(figures: dict[str, float]) -> str:
    return ", ".join(f"{name} {rate:,.0f} jobs/s" for name, rate in figures.items())


if __name__ == "__main__":
    sys.exit(main())
