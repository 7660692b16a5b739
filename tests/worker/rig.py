"""Real worker processes on a store in the test's memory, over a socket."""

import asyncio
import itertools
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from mainspring.domain.errors import BY_CODE
from tests.worker.fake_store import ANSWERS, PATIENCE_SECONDS, FakeStore

ROOT = Path(__file__).parents[2]


class SocketGateway:
    """The worker's side of the fake store."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[list[Any]]] = {}

    def __getattr__(self, method: str) -> Callable[..., Any]:
        async def call(*arguments: Any) -> Any:
            number = next(self._numbers)
            self._waiting[number] = asyncio.get_running_loop().create_future()
            raw = msgspec.msgpack.encode([number, method, arguments])
            self._writer.write(len(raw).to_bytes(4, "big") + raw)
            _, code, answer = await self._waiting[number]
            if code is not None:
                raise BY_CODE[code](answer)
            return msgspec.convert(answer, ANSWERS.get(method, Any))

        return call

    async def close(self) -> None:
        return

    async def listen(self) -> None:
        while True:
            size = int.from_bytes(await self._reader.readexactly(4), "big")
            answer = msgspec.msgpack.decode(await self._reader.readexactly(size))
            future = self._waiting.pop(answer[0])
            if not future.done():
                future.set_result(answer)


@asynccontextmanager
async def open_socket_gateway(path: str) -> AsyncIterator[Any]:
    reader, writer = await asyncio.open_unix_connection(path)
    gateway = SocketGateway(reader, writer)
    listening = asyncio.get_running_loop().create_task(gateway.listen())
    yield gateway
    listening.cancel()
    writer.close()


class Worker:
    """A real keeper process with its children."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.output = b""
        # All along: a full pipe would stop the handlers that log.
        self._reading = asyncio.get_running_loop().create_task(self._read())

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def ended(self, seconds: float = PATIENCE_SECONDS) -> int:
        async with asyncio.timeout(seconds):
            await asyncio.wait([self._reading])
            return await self.process.wait()

    async def _read(self) -> None:
        assert self.process.stderr is not None
        while found := await self.process.stderr.read(65_536):
            self.output += found


class Rig:
    """One store, one board on which handlers write, and the workers of a test."""

    def __init__(self, folder: Path) -> None:
        self.store = FakeStore()
        self.folder = folder
        self.workers: list[Worker] = []
        self._open_gates: list[int] = []
        self._path = str(folder / "store")
        self._board_path = str(folder / "board")

    async def open(self) -> None:
        self._server = await asyncio.start_unix_server(self.store.serve, self._path)
        self._board = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._board.bind(self._board_path)
        self._board.setblocking(False)
        asyncio.get_running_loop().add_reader(self._board, self._hear)

    def _hear(self) -> None:
        self.store.said.append(self._board.recv(65_536).decode())
        self.store.stir()

    async def start(self, **options: Any) -> Worker:
        config = {"app": "tests.worker.apps:app", "grace_seconds": 1.0} | options
        environment = os.environ | {"BOARD": self._board_path, "GATES": str(self.folder)}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.worker.keeper_main",
            self._path,
            json.dumps(config),
            cwd=ROOT,
            env=environment,
            stderr=asyncio.subprocess.PIPE,
        )
        worker = Worker(process)
        self.workers.append(worker)
        return worker

    def open_gate(self, name: str) -> None:
        """Let those who wait at a gate go on; who comes later passes at once."""
        (self.folder / f"{name}.open").touch()
        fifo = self.folder / name
        if fifo.exists():
            # Kept open: one that has looked for the file above may only now come to the gate.
            self._open_gates.append(os.open(fifo, os.O_RDWR | os.O_NONBLOCK))

    async def close(self) -> None:
        for worker in self.workers:
            if worker.process.returncode is None:
                worker.send(signal.SIGCONT)
                worker.process.kill()
            await worker.ended()
            print(worker.output.decode(errors="replace"))
        for gate in self._open_gates:
            os.close(gate)
        asyncio.get_running_loop().remove_reader(self._board)
        self._board.close()
        self._server.close()
        await self.store.hang_up()
