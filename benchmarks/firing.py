"""``python -m benchmarks.firing``: from the instant at which a fire is due to its handler.

Schedules that fire every few seconds, at a steady rate in all, on PostgreSQL with durable commits;
beside them one that fires every second, whose beat is counted. One worker with its scheduler, as
``mainspring worker start`` has it. ``burst``: all schedules fire at the same whole seconds.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, cast

import asyncpg
import msgspec

import mainspring
from benchmarks import machine, results
from benchmarks.app import tell_lateness
from benchmarks.figures import Pickup, pickup_of
from benchmarks.meter import Meter
from benchmarks.rounds import POSTGRES_SETTINGS
from mainspring.client.client import AsyncClient
from mainspring.domain.schedule import FireView, Outcome
from mainspring.ports.clock import monotonic, pause_seconds, utc_now
from mainspring.testing.servers import PostgresServer

_REPOSITORY: Final = Path(__file__).resolve().parents[1]
_CREATE_AT_ONCE: Final = 32
_BEAT: Final = "beat"
_BURSTS: Final = {"no": (False,), "only": (True,), "both": (False, True)}


Overlap = Literal["allow", "defer"]


class Wish(NamedTuple):
    """So many fires a second, for so long; spread over each period or all in bursts."""

    per_second: int
    period_seconds: int
    seconds: int
    burst: bool
    overlap: Overlap
    slots: int
    #: After the last schedule was made: what was due meanwhile is worked off.
    settle_seconds: float

    @property
    def schedules(self) -> int:
        """Return how many schedules make this rate."""
        return self.per_second * self.period_seconds

    def __str__(self) -> str:
        how = "in bursts" if self.burst else "spread"
        return f"{self.per_second}/s {how}, overlap={self.overlap}, {self.slots} slots a process"


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What one wish came to."""

    wish: str
    schedules: int
    started: Pickup
    #: Of the schedule that fires every second: fires that were due, and those that became jobs.
    beats_due: int
    beats: int
    beat_p99_ms: float


async def _make(client: AsyncClient, wish: Wish) -> None:
    gate = asyncio.Semaphore(_CREATE_AT_ONCE)
    jitter = None if wish.burst else f"{wish.period_seconds}s"

    async def make(number: int) -> None:
        async with gate:
            await client.schedules.create(
                f"s{number}",
                f"every {wish.period_seconds}s",
                tell_lateness.call(),
                overlap=wish.overlap,
                jitter=jitter,
                jitter_mode="fixed",
                anchor="2026-01-01T00:00:00Z",
            )

    await client.schedules.create(_BEAT, "* * * * * *", tell_lateness.call())
    await asyncio.gather(*(make(number) for number in range(wish.schedules)))


async def _measure(store: str, wish: Wish, server: int) -> Found:
    async with mainspring.connect(store) as client:
        with _worker(store, wish.slots) as worker:
            until = monotonic() + 60
            while not any(each.state == "alive" for each in await client.workers.list()):
                if monotonic() > until:
                    raise RuntimeError("the worker did not start")
                await pause_seconds(0.05)
            await _make(client, wish)
            await pause_seconds(wish.settle_seconds)
            began = utc_now()
            with Meter(client=None, worker=worker, server=server) as meter:
                await pause_seconds(wish.seconds)
            ended = utc_now()
            await pause_seconds(3.0)
            rows = await client.schedules.history(_BEAT, limit=500)
    late = await _lateness(store, began, ended)
    beat = _beats(rows, began, ended)
    of_beat = [late[job] for job in beat if job in late]
    waits = list(late.values())
    return Found(
        wish=str(wish),
        schedules=wish.schedules,
        started=pickup_of(waits, meter.cost(len(waits))),
        beats_due=int((ended - began).total_seconds()),
        beats=len(of_beat),
        beat_p99_ms=pickup_of(of_beat, meter.cost(1)).p99_ms,
    )


def _beats(rows: Sequence[FireView], began: datetime, ended: datetime) -> list[bytes]:
    return [
        row.job_id
        for row in rows
        if row.outcome is Outcome.JOB and row.job_id and began < row.nominal_at <= ended
    ]


async def _lateness(store: str, began: datetime, ended: datetime) -> dict[bytes, float]:
    """Return by job how many seconds after its due instant its handler began."""
    connection = await asyncpg.connect(store)
    try:
        found = await connection.fetch(
            "SELECT id, result FROM mainspring.jobs_history WHERE due_at > $1 AND due_at <= $2"
            " AND state = 'succeeded'",
            began,
            ended,
        )
        waiting = await connection.fetchval(
            "SELECT count(*) FROM mainspring.jobs WHERE due_at > $1 AND due_at <= $2", began, ended
        )
    finally:
        await connection.close()
    if waiting:
        print(f"  {waiting:,} jobs have not ended yet", file=sys.stderr)
    return {row["id"].bytes: float(json.loads(row["result"])) for row in found}


@contextmanager
def _worker(store: str, slots: int) -> Iterator[int]:
    words = ("worker", "start", "benchmarks.app:app", "--queues", f"default:{slots}")
    process = subprocess.Popen(
        [sys.executable, "-m", "mainspring", *words, "--processes", "2", "--store", store],
        stdin=subprocess.DEVNULL,
        cwd=_REPOSITORY,
        env={**os.environ, "MAINSPRING_LOG_LEVEL": "warning"},
        start_new_session=True,
    )
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(60)


def run(wishes: Sequence[Wish], version: str) -> dict[str, Any]:
    """Measure each wish on a database of its own."""
    found: list[Found] = []
    with PostgresServer(version, fsync=True, settings=POSTGRES_SETTINGS) as server:
        for wish in wishes:
            with ExitStack() as stack:
                store = server.create_database()
                stack.callback(server.drop_database, store)
                subprocess.run(
                    [sys.executable, "-m", "mainspring", "db", "migrate", "--store", store],
                    check=True,
                    cwd=_REPOSITORY,
                    capture_output=True,
                )
                assert server.pid is not None
                found.append(asyncio.run(_measure(store, wish, server.pid)))
            print(f"{_line(found[-1])}", file=sys.stderr, flush=True)
    return {
        "taken_on": utc_now().date().isoformat(),
        "commit": machine.commit(),
        "machine": machine.facts(),
        "postgres": version,
        "firing": msgspec.to_builtins(found),
    }


def _line(found: Found) -> str:
    at = found.started
    return (
        f"{found.wish}: {at.jobs:,} starts, p50 {at.p50_ms:.1f}, p95 {at.p95_ms:.1f}, "
        f"p99 {at.p99_ms:.1f}, max {at.max_ms:.1f} ms; CPU a fire: worker "
        f"{at.cost.worker_us:,.0f} µs, server {at.cost.server_us:,.0f} µs; "
        f"beat {found.beats} of {found.beats_due}, p99 {found.beat_p99_ms:.1f} ms"
    )


def main(words: Sequence[str] | None = None) -> int:
    """Read the command line, measure, write the result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.firing", description=__doc__)
    parser.add_argument("--rates", default="25,1000", help="fires a second, one after the other")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--period", type=int, default=10, help="seconds between a schedule's fires")
    parser.add_argument("--overlap", default="defer,allow")
    parser.add_argument("--settle", type=float, default=12.0, help="seconds before it is measured")
    parser.add_argument("--slots", type=int, default=64, help="of each of two worker processes")
    parser.add_argument("--burst", choices=tuple(_BURSTS), default="both")
    parser.add_argument("--postgres", default="15")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(words)
    wishes = [
        Wish(
            int(rate),
            given.period,
            given.seconds,
            burst,
            cast("Overlap", overlap),
            given.slots,
            given.settle,
        )
        for rate in given.rates.split(",")
        for overlap in given.overlap.split(",")
        for burst in _BURSTS[given.burst]
    ]
    result = run(wishes, given.postgres)
    out = given.out or results.FOLDER / "firing" / f"{result['taken_on']}.json"
    results.write(result, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
