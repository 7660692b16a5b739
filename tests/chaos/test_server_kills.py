"""A server killed with -9 in the middle of submissions over REST by several connections."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mainspring.domain.ids import show_job
from mainspring.domain.job import JobFilter
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.ports.entropy import new_job_id
from mainspring.runtime.assemble import open_client_gateway
from mainspring.runtime.setting_table import Settings
from mainspring.testing.servers.free_ports import free_ports
from tests.chaos.run import migrate

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(240)]

_REPOSITORY = Path(__file__).resolve().parents[2]
SUBMISSIONS = 10_000
CONNECTIONS = 16
#: After so many answers: killed, and started again, each time.
KILLS = (2_500, 6_000)


class Server:
    """``mainspring server start``, to be killed and started again at the same port."""

    def __init__(self, store_url: str, folder: Path) -> None:
        [self.port] = free_ports(1)
        self._store_url = store_url
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.key = ""

    def start(self) -> None:
        """Start it, and wait until it listens."""
        command = [sys.executable, "-m", "mainspring", "server", "start", "--grpc", "none"]
        options = ["--store", self._store_url, "--http", f"127.0.0.1:{self.port}"]
        kept = {name: value for name, value in os.environ.items() if "MAINSPRING" not in name}
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *options, "--key-rate", "1000000"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.PIPE,
                cwd=self._folder,
                env=kept | {"PYTHONPATH": str(_REPOSITORY), "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
            )
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if b"REST at" in line:
                break
        else:
            raise AssertionError(f"it ended with {self._process.wait()}")
        said = (self._folder / "server.log").read_text()
        found = re.search(r"ms_live_\w+", said)
        assert found is not None
        self.key = found[0]

    def kill(self) -> None:
        """Kill it as a machine that loses its power would."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()
        self._process = None


@pytest.fixture
def server(store_url: str, tmp_path: Path) -> Iterator[Server]:
    made = Server(store_url, tmp_path)
    yield made
    made.kill()


class Line:
    """A connection that speaks HTTP: no more than is needed, because thousands go over it."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._key = key
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def connect(self) -> None:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)

    async def submit(self, key: str, number: int) -> dict[str, Any]:
        """Return the answer; raise ``OSError`` where it does not come."""
        assert self._streams is not None
        reader, writer = self._streams
        body = b'{"kind":"work","payload":{"number":%d},"defaults":{}}' % number
        head = (
            "POST /api/v1/jobs HTTP/1.1\r\nhost: 127.0.0.1\r\n"
            f"authorization: Bearer {self._key}\r\n"
            f"idempotency-key: {key}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        try:
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", answer)
            assert length is not None, answer
            text = await reader.readexactly(int(length[1]))
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            raise ConnectionResetError from None
        assert answer.startswith(b"HTTP/1.1 201"), answer + text
        found: dict[str, Any] = msgspec.json.decode(text)
        return found

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Submitters:
    """Send submissions, each with a key of its own, and again until each has an answer."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._left = list(range(SUBMISSIONS))
        self._run = new_job_id().hex()
        #: The job that was acknowledged, by the number of the submission.
        self.acknowledged: dict[int, str] = {}
        #: Sent, and the connection broke before an answer.
        self.unanswered: set[int] = set()
        self._news = asyncio.Condition()
        self._is_up = asyncio.Event()

    def key(self, number: int) -> str:
        return f"{self._run}-{number}"

    async def submit_all(self) -> None:
        """Submit everything over several connections, and kill the server meanwhile."""
        self._is_up.set()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._kill_now_and_then())
            for _ in range(CONNECTIONS):
                group.create_task(self._submit_some())

    async def _submit_some(self) -> None:
        line = Line(self._server.port, self._server.key)
        while self._left:
            number = self._left.pop()
            await self._is_up.wait()
            try:
                await line.connect()
            except OSError:
                self._left.append(number)
                continue
            try:
                answer = await line.submit(self.key(number), number)
            except OSError:
                # Whether it was taken is not known: it is sent again with its key.
                self.unanswered.add(number)
                self._left.append(number)
                continue
            assert number not in self.acknowledged
            self.acknowledged[number] = answer["id"]
            async with self._news:
                self._news.notify_all()
        line.close()

    async def _kill_now_and_then(self) -> None:
        for count in KILLS:
            async with self._news:
                while len(self.acknowledged) < count:
                    await self._news.wait()
            self._is_up.clear()
            await asyncio.to_thread(self._server.kill)
            await asyncio.to_thread(self._server.start)
            self._is_up.set()


async def test_what_was_acknowledged_is_there_and_what_is_repeated_is_there_once(
    store_url: str, server: Server
) -> None:
    await migrate(store_url)
    await asyncio.to_thread(server.start)
    submitters = Submitters(server)
    await submitters.submit_all()
    assert len(submitters.acknowledged) == SUBMISSIONS
    assert submitters.unanswered, "nothing was hit"
    # Once more, now that all is quiet: each names the job that it made.
    line = Line(server.port, server.key)
    await line.connect()
    for number in submitters.unanswered:
        answer = await line.submit(submitters.key(number), number)
        assert not answer["created"]
        assert answer["id"] == submitters.acknowledged[number]
    line.close()
    server.kill()
    expected = {job: number for number, job in submitters.acknowledged.items()}
    assert await _numbers_by_job(store_url) == expected


async def _numbers_by_job(store_url: str) -> dict[str, int]:
    """Return which number each job of the store has, read from the store itself."""
    found: dict[str, int] = {}
    async with open_client_gateway(Settings(store_url=store_url)) as desk:
        before: bytes | None = None
        while True:
            page = await desk.list_jobs(JobFilter(), limit=PAGE_ITEMS_MAX, before=before)
            for job in page.items:
                found[show_job(job.id)] = msgspec.json.decode(job.payload)["number"]
            if page.next_before is None:
                return found
            before = page.next_before
