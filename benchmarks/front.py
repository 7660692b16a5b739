"""``python -m benchmarks.front``: submissions over HTTP, one by one and many at once, and events.

A server process, as ``mainspring server start`` makes it with keys, stands before PostgreSQL with
durable commits; ``wrk`` asks it over 64 connections. *Floor*: a bare prototype of the same insert
(``floor/front.py``), asked the same way, in turns with the product. *Events*: 200 clients of the
event stream while jobs are submitted; from the answered submission to the event, at each of them.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks import machine, results
from benchmarks.app import bill
from benchmarks.product import Product
from benchmarks.rounds import POSTGRES_SETTINGS
from benchmarks.sizes import Sizes
from mainspring.ports.clock import monotonic, pause_seconds, utc_now
from mainspring.runtime.child_process import loop_factory
from mainspring.testing.servers import PostgresServer

_REPOSITORY: Final = Path(__file__).resolve().parents[1]
_CONNECTIONS: Final = 64
_BULK: Final = 1_000
_BULK_CONNECTIONS: Final = 4
_WATCHERS: Final = 200
_EVENTS_PER_SECOND: Final = 20
_KEY: Final = re.compile(rb"ms_live_\S+")
_REST: Final = re.compile(rb"REST at http://127\.0\.0\.1:(\d+)")
_FOUND: Final = re.compile(r"FOUND (\S+) (\S+) (\d+)")
_PAYLOAD: Final = {
    "customer": "c_8f3kd9a",
    "template": "invoice",
    "language": "en",
    "amount": 129.95,
    "currency": "EUR",
    "lines": [{"sku": "A-1", "n": 2}, {"sku": "B-7", "n": 1}],
    "note": "A note with so much text that a body has about the four hundred bytes of a usual job.",
}
_SCRIPT: Final = """
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
wrk.headers["authorization"] = "Bearer {key}"
local file = io.open("{body}", "rb")
wrk.body = file:read("*a")
file:close()
done = function(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format("FOUND %f %f %d\\n", summary.requests / summary.duration * 1e6,
    latency:percentile(99) / 1000,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
"""


class Front:
    """A server that answers, and the key that it takes."""

    def __init__(self, port: int, key: str, pid: int) -> None:
        self.port = port
        self.key = key
        self.pid = pid


@contextmanager
def product(store: str) -> Iterator[Front]:
    """Start a server as users do; give where it is, and the first key."""
    command = [sys.executable, "-m", "mainspring", "server", "start", "--store", store]
    command += ["--http", "127.0.0.1:0", "--grpc", "none", "--log-level", "info"]
    command += ["--no-maintenance", "--no-scheduler", "--key-rate", "1000000"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=subprocess.STDOUT, cwd=_REPOSITORY, env=_environment()
    ) as server:
        try:
            key = ""
            assert server.stdout is not None
            for line in server.stdout:
                if (shown := _KEY.search(line)) is not None:
                    key = shown[0].decode()
                if (found := _REST.search(line)) is not None:
                    yield Front(int(found[1]), key, server.pid)
                    break
            else:
                raise RuntimeError("the server did not start")
        finally:
            server.send_signal(signal.SIGTERM)


@contextmanager
def floor(dsn: str, port: int) -> Iterator[Front]:
    """Start the bare prototype."""
    command = [sys.executable, "-m", "benchmarks.floor.front", dsn, str(port)]
    with subprocess.Popen(command, cwd=_REPOSITORY) as server:
        try:
            _wait_for(port)
            yield Front(port, "none", server.pid)
        finally:
            server.send_signal(signal.SIGTERM)


def _wait_for(port: int) -> None:
    import socket

    until = monotonic() + 20
    while monotonic() < until:
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise RuntimeError("the floor did not start")


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("MAINSPRING_")}


def posted(
    front: Front, body: bytes, path: str, connections: int, seconds: int
) -> dict[str, float]:
    """Post a body again and again; return requests a second and the 99th percentile in ms."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "body").write_bytes(body)
        script = Path(folder) / "post.lua"
        script.write_text(_SCRIPT.format(key=front.key, body=Path(folder) / "body"))
        began = _processor_seconds(front.pid)
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script)]
        address = f"http://127.0.0.1:{front.port}{path}"
        told = subprocess.run([*command, address], check=True, capture_output=True, text=True)
    found = _FOUND.search(told.stdout)
    assert found is not None, "the script tells what it found"
    rate, p99, errors = found.groups()
    if int(errors):
        raise RuntimeError(f"{errors} requests were not answered as they should: {told.stdout}")
    spent = _processor_seconds(front.pid) - began
    return {
        "per_second": float(rate),
        "p99_ms": float(p99),
        "server_us": spent * 1e6 / (float(rate) * seconds),
    }


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def events(front: Front, seconds: float) -> dict[str, float]:
    """Watch by many while jobs are submitted; return percentiles in ms."""
    answered: dict[str, float] = {}
    seen: list[tuple[str, float]] = []
    ready = asyncio.Semaphore(0)
    async with asyncio.TaskGroup() as group:
        watching = [group.create_task(_watch(front, seen, ready)) for _ in range(_WATCHERS)]
        for _ in range(_WATCHERS):
            await ready.acquire()
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        body = json.dumps({"kind": bill.kind, "payload": _PAYLOAD}).encode()
        until = monotonic() + seconds
        while monotonic() < until:
            writer.write(_request(front, "POST", "/api/v1/jobs", body))
            answered[await _job_id(reader)] = monotonic()
            await pause_seconds(1 / _EVENTS_PER_SECOND)
        await pause_seconds(2)
        for each in watching:
            each.cancel()
        writer.close()
    waits = sorted(max(0.0, at - answered[job]) * 1e3 for job, at in seen if job in answered)
    if len(waits) < len(answered) * _WATCHERS:
        raise RuntimeError(f"{len(waits):,} events of {len(answered) * _WATCHERS:,} came")
    return {
        "clients": _WATCHERS,
        "events": len(waits),
        "p50_ms": waits[len(waits) // 2],
        "p95_ms": waits[len(waits) * 95 // 100],
        "p99_ms": waits[len(waits) * 99 // 100],
    }


async def _watch(front: Front, seen: list[tuple[str, float]], ready: asyncio.Semaphore) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
    writer.write(_request(front, "GET", "/api/v1/events", b""))
    await reader.readuntil(b"id: ")
    ready.release()
    try:
        while True:
            line = await reader.readuntil(b"\n")
            if line.startswith(b"data: "):
                event = json.loads(line[6:])
                seen.append((event["job_id"], monotonic()))
    finally:
        writer.close()


async def _job_id(reader: asyncio.StreamReader) -> str:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(re.search(rb"content-length: (\d+)", head)[1])  # type: ignore[index]
    answer = json.loads(await reader.readexactly(length))
    return str(answer["id"])


def _request(front: Front, method: str, path: str, body: bytes) -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        "host: 127.0.0.1",
        f"authorization: Bearer {front.key}",
        "content-type: application/json",
        f"content-length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def _round(server: PostgresServer, seconds: int, port: int) -> dict[str, Any]:
    """Measure floor and product once, each on a new database."""
    single = json.dumps({"kind": bill.kind, "payload": _PAYLOAD}).encode()
    one = {"kind": bill.kind, "payload": _PAYLOAD}
    many = json.dumps({"jobs": [one] * _BULK}).encode()
    found: dict[str, Any] = {}
    with floor(server.create_database(), port) as front:
        found["floor"] = posted(front, single, "/", _CONNECTIONS, seconds)
    store = server.create_database()
    sizes = Sizes(jobs=1)
    made = Product(store, sizes, processes=1, server=None)
    made.migrate()
    await made.declare()
    with product(store) as front:
        # First: what a flood leaves behind would be told, too, and more of it than one by one.
        found["events"] = await events(front, seconds)
        found["single"] = posted(front, single, "/api/v1/jobs", _CONNECTIONS, seconds)
        bulk = posted(front, many, "/api/v1/jobs/batch", _BULK_CONNECTIONS, seconds)
        bulk["jobs_per_second"] = bulk["per_second"] * _BULK
        found["bulk"] = bulk
    found["single_of_floor"] = found["single"]["per_second"] / found["floor"]["per_second"]
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.front", description=__doc__)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--postgres", default="15", help="major version of the server")
    parser.add_argument("--port", type=int, default=28_471, help="where the floor listens")
    parser.add_argument("--out", type=Path, help="by default results/front/DATE.json")
    given = parser.parse_args(words)
    if shutil.which("wrk") is None:
        print("wrk is not installed: apt-get install wrk", file=sys.stderr)
        return 2
    rounds: list[dict[str, Any]] = []
    with (
        asyncio.Runner(loop_factory=loop_factory()) as runner,
        PostgresServer(given.postgres, fsync=True, settings=POSTGRES_SETTINGS) as server,
    ):
        for _ in range(given.rounds):
            rounds.append(runner.run(_round(server, given.seconds, given.port)))
            print(json.dumps(rounds[-1]), file=sys.stderr, flush=True)
    taken_on = utc_now().date().isoformat()
    result = {
        "taken_on": taken_on,
        "commit": machine.commit(),
        "machine": machine.facts(),
        "postgres": given.postgres,
        "connections": _CONNECTIONS,
        "bulk": _BULK,
        "rounds": rounds,
        "medians": {
            "single_per_second": median(each["single"]["per_second"] for each in rounds),
            "single_p99_ms": median(each["single"]["p99_ms"] for each in rounds),
            "single_of_floor": median(each["single_of_floor"] for each in rounds),
            "bulk_jobs_per_second": median(each["bulk"]["jobs_per_second"] for each in rounds),
            "events_p95_ms": median(each["events"]["p95_ms"] for each in rounds),
        },
    }
    path = given.out or results.FOLDER / "front" / f"{taken_on}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
