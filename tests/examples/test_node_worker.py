"""The worker in Node.js, with the stock gRPC library, against a real server."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest

from mainspring.domain.job import JobView
from mainspring.domain.states import JobState
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import Submission
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.store.sqlite import open_sqlite
from tests.gateways.loopback import serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

_ROOT = Path(__file__).parents[2]
_SOURCES = ("package.json", "package-lock.json", ".npmrc", "mainspring.js", "worker.js")
_PATIENCE_SECONDS = 30.0


@pytest.fixture(scope="module")
def folder(
    node_packages: Callable[[Path], Mapping[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """The program and a copy of the example with its packages."""
    copy = tmp_path_factory.mktemp("node-worker")
    for name in _SOURCES:
        shutil.copy(_ROOT / "examples" / "node-worker" / name, copy / name)
    return node_packages(copy)["node"], copy


class Bench:
    """A server with its store, and a worker that runs."""

    def __init__(self, store: Store, port: int, started: tuple[str, Path]) -> None:
        self.store = store
        self.desk = FrontDesk(store, blobs=None, new_id=new_job_id)
        self.port = port
        self._program, self._folder = started
        self.worker: asyncio.subprocess.Process

    async def start(self) -> None:
        environment = {name: text for name, text in os.environ.items() if "MAINSPRING" not in name}
        self.worker = await asyncio.create_subprocess_exec(
            self._program,
            "worker.js",
            cwd=self._folder,
            env=environment
            | {
                "MAINSPRING_GRPC": f"127.0.0.1:{self.port}",
                "MAINSPRING_PROTO": str(_ROOT / "proto"),
            },
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert self.worker.stdout is not None
        said = await asyncio.wait_for(self.worker.stdout.readline(), _PATIENCE_SECONDS)
        assert said.startswith(b"session wrk_"), said + await self.worker.stdout.read()

    async def stop(self) -> int:
        """Ask it to drain; return how it ended."""
        if self.worker.returncode is None:
            self.worker.send_signal(signal.SIGTERM)
        return await asyncio.wait_for(self.worker.wait(), _PATIENCE_SECONDS)

    async def submit(self, kind: str, payload: bytes = b"{}") -> bytes:
        [accepted] = await self.desk.submit([Submission(kind=kind, payload=payload)])
        return accepted.job_id

    async def until(self, job_id: bytes, is_so: Callable[[JobView], bool]) -> JobView:
        """Wait until a job looks so."""
        seen: JobView | None = None

        async def look() -> JobView:
            nonlocal seen
            while True:
                seen = await self.desk.wait_for_change(job_id, seen, _PATIENCE_SECONDS)
                if is_so(seen):
                    return seen

        return await asyncio.wait_for(look(), _PATIENCE_SECONDS)

    async def ended(self, job_id: bytes, state: JobState) -> JobView:
        return await self.until(job_id, lambda job: job.state is state)


@pytest.fixture
async def bench(folder: tuple[str, Path], tmp_path: Path) -> AsyncIterator[Bench]:
    store = await open_sqlite(tmp_path / "node.db")
    await store.migrate(phase="all")
    async with serving(store, None) as door:
        made = Bench(store, door.port, folder)
        await made.start()
        yield made
        if made.worker.returncode is None:
            made.worker.kill()
            await made.worker.wait()
    await store.close()


async def test_it_runs_jobs_and_returns_their_results(bench: Bench) -> None:
    jobs = [await bench.submit("math.add", b'{"a":%d,"b":2}' % n) for n in range(50)]
    for number, job_id in enumerate(jobs):
        job = await bench.ended(job_id, JobState.SUCCEEDED)
        assert job.result == b'{"sum":%d}' % (number + 2)
        assert job.attempt == 1


async def test_it_tells_progress_and_lines(bench: Bench) -> None:
    job = await bench.ended(await bench.submit("report.build", b'{"rows":9}'), JobState.SUCCEEDED)
    assert job.result == b'{"rows":9,"key":"%s"}' % job.job_id.encode()
    lines = await bench.desk.list_logs(job.id)
    assert [(line.sequence, line.message) for line in lines] == [(1, "begun"), (2, "built")]
    assert lines[0].fields == '{"rows":9}'


async def test_it_retries_as_it_asks_and_gives_up_for_good(bench: Bench) -> None:
    flaky = await bench.ended(await bench.submit("mail.flaky"), JobState.SUCCEEDED)
    assert (flaky.attempt, flaky.result) == (2, b'{"attempt":2}')
    first, _ = await bench.desk.list_attempts(flaky.id)
    assert b"the mail server is busy" in (first.error or b"")
    refused = await bench.ended(await bench.submit("invoice.refuse"), JobState.DEAD)
    assert refused.attempt == 1
    assert b"the invoice was cancelled" in (refused.error or b"")


async def test_it_stops_what_is_cancelled(bench: Bench) -> None:
    job_id = await bench.submit("video.render")
    await bench.until(job_id, lambda job: job.state is JobState.RUNNING)
    await bench.desk.cancel([job_id], actor="test")
    await bench.ended(job_id, JobState.CANCELLED)
    [attempt] = await bench.desk.list_attempts(job_id)
    assert attempt.state == "cancelled"


async def test_it_drains_when_told_to(bench: Bench) -> None:
    await bench.ended(await bench.submit("math.add", b'{"a":1,"b":1}'), JobState.SUCCEEDED)
    assert await bench.stop() == 0
    [worker] = await bench.store.list_workers()
    assert worker.state == "gone"


async def test_it_opens_a_new_session_when_its_own_is_lost(bench: Bench) -> None:
    [worker] = await bench.store.list_workers()
    await bench.store.end_session(worker.id, "gone")
    await bench.ended(await bench.submit("math.add", b'{"a":1,"b":1}'), JobState.SUCCEEDED)
    assert sorted(found.state for found in await bench.store.list_workers()) == ["alive", "gone"]
