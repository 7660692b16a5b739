"""The proxy: accepts, connects onward, forwards, and misbehaves as told."""

import asyncio
import contextlib
import os
import socket
import struct
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Self, assert_never
from urllib.parse import urlsplit

from mainspring.testing.faults.cuts import Cut, Moment, RawWatch, Then, Watch
from mainspring.testing.faults.postgres_cuts import PostgresWatch

_LOOPBACK = "127.0.0.1"
_CHUNK_BYTES = 65_536
_CHUNKS_IN_FLIGHT_MAX = 256  # beyond that senders feel back-pressure, as behind a full pipe


class Protocol(StrEnum):
    """What is spoken through the proxy, which decides how a cut finds its place."""

    RAW = "raw"
    POSTGRES = "postgres"


@dataclass(slots=True)
class FaultCounts:
    """What the proxy did, so that a test can show that its fault has happened."""

    connections: int = 0
    unreachable: int = 0  # connections for which the target did not answer
    resets: int = 0
    cuts: int = 0
    bytes_up: int = 0
    bytes_down: int = 0


class _Lane:
    """One direction of all connections."""

    def __init__(self) -> None:
        self.delay_seconds = 0.0
        self.is_open = asyncio.Event()
        self.is_open.set()


class FaultProxy:
    """Listens on a port of its own and forwards to the target.

    "Up" is from the client to the server, "down" is back. All settings may be changed at any time
    and hold for connections that exist as well as for new ones.
    """

    def __init__(
        self, target_host: str, target_port: int, *, protocol: Protocol = Protocol.RAW
    ) -> None:
        self.host = _LOOPBACK
        self.port = 0
        self.counts = FaultCounts()
        self._target = (target_host, target_port)
        self._protocol = protocol
        self._up = _Lane()
        self._down = _Lane()
        self._cuts: list[Cut] = []
        self._links: set[_Link] = set()
        self._group = asyncio.TaskGroup()
        self._server: asyncio.Server | None = None
        self._reserved: socket.socket | None = None

    async def __aenter__(self) -> Self:
        self._reserved = self._bound_socket()
        self.port = self._reserved.getsockname()[1]
        await self._group.__aenter__()
        await self.accept()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop_listening()
        self.reset()
        # The group must not wrap what the body raised: tests want to see their own error.
        await self._group.__aexit__(None, None, None)

    def through(self, url: str) -> str:
        """The same URL with the proxy in the target's place; for PostgreSQL also without TLS."""
        parts = urlsplit(url)
        user, at, _ = parts.netloc.rpartition("@")
        query = parts.query
        if self._protocol is Protocol.POSTGRES and "sslmode=" not in query:
            query = "&".join(filter(None, [query, "sslmode=disable"]))
        return parts._replace(netloc=f"{user}{at}{self.host}:{self.port}", query=query).geturl()

    def delay(self, *, up_seconds: float = 0.0, down_seconds: float = 0.0) -> None:
        """Let bytes that come from now on travel that long."""
        self._up.delay_seconds = up_seconds
        self._down.delay_seconds = down_seconds

    def black_hole(self, *, up: bool = False, down: bool = False) -> None:
        """Nothing arrives any more in these directions, not even the end of a connection."""
        for lane, is_swallowing in ((self._up, up), (self._down, down)):
            if is_swallowing:
                lane.is_open.clear()
            else:
                lane.is_open.set()

    def reset(self) -> int:
        """Break all connections now, with a TCP reset to both ends; how many there were."""
        links = list(self._links)
        for link in links:
            link.end(is_reset=True)
        return len(links)

    def refuse(self) -> None:
        """Have the kernel refuse new connections. The port stays ours; existing ones go on."""
        self._stop_listening()
        self._reserved = self._bound_socket(self.port)

    async def accept(self) -> None:
        """Accept new connections (again)."""
        if self._server is None:
            listener, self._reserved = self._reserved, None
            self._server = await asyncio.start_server(self._accepted, sock=listener)

    async def heal(self) -> None:
        """Take back every setting, and cuts that have not happened; what was cut stays cut."""
        self.delay()
        self.black_hole()
        self._cuts.clear()
        await self.accept()

    def cut_before(self, pattern: bytes, *, skip: int = 0, then: Then = Then.RESET) -> Cut:
        """The next message with these bytes never reaches the server; its sender cannot know."""
        return self._cut(pattern, Moment.BEFORE, skip, then)

    def cut_after(self, pattern: bytes, *, skip: int = 0, then: Then = Then.RESET) -> Cut:
        """The server acts on the next message with these bytes; its answer never arrives."""
        return self._cut(pattern, Moment.AFTER, skip, then)

    def _cut(self, pattern: bytes, moment: Moment, skip: int, then: Then) -> Cut:
        assert pattern, "an empty pattern is everywhere"
        cut = Cut(pattern=pattern, moment=moment, then=then, skip=skip)
        self._cuts.append(cut)
        return cut

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._server is None:  # it had arrived just before we stopped listening
            _reset(writer)
            return
        self.counts.connections += 1
        link = _Link(self, (reader, writer), self._watch())
        self._links.add(link)
        self._group.create_task(link.run()).add_done_callback(lambda _: self._links.discard(link))

    def _watch(self) -> Watch:
        match self._protocol:
            case Protocol.RAW:
                return RawWatch(self._cuts)
            case Protocol.POSTGRES:
                return PostgresWatch(self._cuts)
            case _:
                assert_never(self._protocol)

    def _bound_socket(self, port: int = 0) -> socket.socket:
        """Bound but not listening: connecting to it is refused, and nobody else gets the port."""
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((self.host, port))
        return bound

    def _stop_listening(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._reserved is not None:
            self._reserved.close()
            self._reserved = None


class _Ended(Exception):
    """The link is over."""


class _Reset:
    """In a queue, in place of bytes: the sender broke the connection here."""


_Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_Item = bytes | _Reset


class _Link:
    """One client's connection and ours to the target for it."""

    def __init__(self, proxy: FaultProxy, client: _Stream, watch: Watch) -> None:
        self._proxy = proxy
        self._client = client
        self._server: _Stream | None = None
        self._watch = watch
        self._over = asyncio.Event()
        self._is_reset = False
        self._is_silent = False
        self._lanes_done = 0

    def end(self, *, is_reset: bool) -> None:
        """Have `run` return, breaking or closing both connections."""
        if not self._over.is_set():
            self._is_reset = is_reset
            self._proxy.counts.resets += is_reset
            self._over.set()

    async def run(self) -> None:
        """Until both directions are closed, or the link is ended."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._connect(group))
                await self._over.wait()
                raise _Ended
        except* _Ended:
            pass
        finally:
            for _, writer in filter(None, (self._client, self._server)):
                if self._is_reset:
                    _reset(writer)
                else:
                    writer.close()

    async def _connect(self, group: asyncio.TaskGroup) -> None:
        proxy = self._proxy
        await proxy._up.is_open.wait()
        try:
            self._server = await asyncio.open_connection(*proxy._target)
        except OSError:
            proxy.counts.unreachable += 1
            self.end(is_reset=True)
            return
        (client_reader, client_writer), (server_reader, server_writer) = self._client, self._server
        upward: asyncio.Queue[tuple[float, _Item]] = asyncio.Queue(_CHUNKS_IN_FLIGHT_MAX)
        downward: asyncio.Queue[tuple[float, _Item]] = asyncio.Queue(_CHUNKS_IN_FLIGHT_MAX)
        for work in (
            _receive(client_reader, upward, proxy._up),
            _receive(server_reader, downward, proxy._down),
            self._deliver(upward, proxy._up, server_writer),
            self._deliver(downward, proxy._down, client_writer),
        ):
            group.create_task(work)

    async def _deliver(
        self,
        queue: "asyncio.Queue[tuple[float, _Item]]",
        lane: _Lane,
        writer: asyncio.StreamWriter,
    ) -> None:
        while not self._over.is_set():
            due, item = await queue.get()
            await _until(due)
            await lane.is_open.wait()
            if self._is_silent:
                return
            if isinstance(item, _Reset):
                self.end(is_reset=True)
                return
            if not item:
                self._close_lane(writer)
                return
            await self._forward(item, lane, writer)

    async def _forward(self, chunk: bytes, lane: _Lane, writer: asyncio.StreamWriter) -> None:
        counts = self._proxy.counts
        is_up = lane is self._proxy._up
        forwarded, cut = self._watch.upward(chunk) if is_up else self._watch.downward(chunk)
        if is_up:
            counts.bytes_up += len(forwarded)
        else:
            counts.bytes_down += len(forwarded)
        try:
            writer.write(forwarded)
            await writer.drain()
        except OSError:
            self.end(is_reset=True)
        if cut is not None:
            self._apply(cut)

    def _apply(self, cut: Cut) -> None:
        self._proxy.counts.cuts += 1
        match cut.then:
            case Then.RESET:
                self.end(is_reset=True)
            case Then.SILENCE:
                self._is_silent = True
            case _:
                assert_never(cut.then)
        cut.happened.set()

    def _close_lane(self, writer: asyncio.StreamWriter) -> None:
        """Pass on that one end has finished sending; the other may still have something to say."""
        with contextlib.suppress(OSError):
            if writer.can_write_eof():
                writer.write_eof()
        self._lanes_done += 1
        if self._lanes_done == 2:
            self.end(is_reset=False)


async def _receive(
    reader: asyncio.StreamReader, queue: "asyncio.Queue[tuple[float, _Item]]", lane: _Lane
) -> None:
    """Keep reading while earlier bytes still travel, or a delay would also limit the rate."""
    loop = asyncio.get_running_loop()
    item: _Item = b"-"
    while item and not isinstance(item, _Reset):
        try:
            item = await reader.read(_CHUNK_BYTES)
        except OSError:
            item = _Reset()
        await queue.put((loop.time() + lane.delay_seconds, item))


async def _until(due: float) -> None:
    loop = asyncio.get_running_loop()
    if due > loop.time():
        is_due = asyncio.Event()
        loop.call_at(due, is_due.set)
        await is_due.wait()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close so that the other end gets a reset: the kernel sends one when it may not linger."""
    with contextlib.suppress(OSError):  # already closed
        # A twin, because loops hand out objects that cannot all set options.
        twin = socket.socket(fileno=os.dup(writer.get_extra_info("socket").fileno()))
        with twin:
            twin.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
