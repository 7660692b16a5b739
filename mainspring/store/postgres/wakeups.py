"""Hints between nodes by LISTEN and NOTIFY. Losing one costs a polling interval, nothing else.

NOTIFY inside a submitting transaction halves the rate of durable commits, because PostgreSQL
serialises notifying commits until they are on disk. So hints leave on a connection of their own,
without waiting for the disk, at most one every few milliseconds a node, with all topics together.

Invariants
----------
* Subscribers of this process are told at once, without the server.
* A listener that was cut off comes back by itself, and then tells every topic once: something may
  have been missed.
"""

import asyncio
from collections.abc import Collection, Coroutine, Iterable
from typing import Final

import asyncpg
import msgspec

from mainspring.domain.errors import MainspringError
from mainspring.ports.clock import monotonic
from mainspring.store.postgres.failures import DRIVER_ERRORS
from mainspring.store.postgres.pool import Options, bind, load, prepare, session_settings

_NOTIFY: Final = load("notify")
_CHANNEL: Final = "mainspring"
_INTERVAL_SECONDS: Final = 0.002
# The server takes payloads of less than 8000 bytes.
_PAYLOAD_BYTES_MAX: Final = 7_999
_EVERYTHING: Final = "*"
_RETRY_SECONDS: Final = (0.1, 5.0)

_TOPICS: Final = msgspec.json.Decoder(list[str])


class PostgresSubscription:
    """Implements ``Subscription``: topics gather until somebody waits."""

    def __init__(self, home: "PostgresWakeups", topics: Iterable[str]) -> None:
        self._home = home
        self._topics = frozenset(topics)
        self._told: set[str] = set()
        self._something = asyncio.Event()

    def tell(self, topics: Collection[str] | None) -> None:
        """Keep the topics that are subscribed to; ``None`` stands for all of them."""
        news = self._topics if topics is None else self._topics.intersection(topics)
        if news:
            self._told |= news
            self._something.set()

    async def wait(self, timeout_seconds: float) -> frozenset[str]:
        self._home.listen()
        if not self._told:
            try:
                await asyncio.wait_for(self._something.wait(), timeout_seconds)
            except TimeoutError:
                return frozenset()
        told = frozenset(self._told)
        self._told.clear()
        self._something.clear()
        return told

    def close(self) -> None:
        self._home.forget(self)


class PostgresWakeups:
    """Implements ``Wakeups``. Lives between ``start`` and ``close``, in one event loop."""

    def __init__(self, dsn: str, options: Options) -> None:
        self._dsn = dsn
        self._options = options
        self._subscriptions: set[PostgresSubscription] = set()
        self._group = asyncio.TaskGroup()
        self._open = False
        self._pending: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._sending = False
        self._sent_at = 0.0
        self._sender: asyncpg.Connection[asyncpg.Record] | None = None
        self._listening = False
        self._cut = asyncio.Event()
        self._closing = asyncio.Event()

    async def start(self) -> None:
        """Begin: from now on there is a place for what runs in the background."""
        await self._group.__aenter__()
        self._open = True

    def announce(self, topics: Collection[str]) -> None:
        if not topics or not self._open:
            return
        self._tell(topics)
        self._pending.update(topics)
        self._send_soon()

    def subscribe(self, topics: Collection[str]) -> PostgresSubscription:
        subscription = PostgresSubscription(self, topics)
        self._subscriptions.add(subscription)
        self.listen()
        return subscription

    def forget(self, subscription: PostgresSubscription) -> None:
        """Tell this one nothing any more."""
        self._subscriptions.discard(subscription)

    def listen(self) -> None:
        """See to it that this process listens, from the first subscription until the close."""
        if not self._listening and self._open and self._subscriptions:
            self._listening = True
            self._begin(self._keep_listening())

    async def close(self) -> None:
        """Stop, and wait until nothing of this runs any more. Hints not yet sent are dropped."""
        if not self._open:
            return
        self._open = False
        if self._timer is not None:
            self._timer.cancel()
        self._closing.set()
        self._cut.set()
        await self._group.__aexit__(None, None, None)
        if self._sender is not None:
            self._sender.terminate()

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        self._group.create_task(work)

    def _tell(self, topics: Collection[str] | None) -> None:
        for subscription in self._subscriptions:
            subscription.tell(topics)

    def _send_soon(self) -> None:
        """Send at once after a pause, and otherwise when the interval has passed."""
        if self._sending or self._timer is not None:
            return
        wait_seconds = self._sent_at + _INTERVAL_SECONDS - monotonic()
        if wait_seconds <= 0:
            self._send()
        else:
            self._timer = asyncio.get_running_loop().call_later(wait_seconds, self._send)

    def _send(self) -> None:
        self._timer = None
        if self._open and self._pending:
            self._sending = True
            self._sent_at = monotonic()
            self._begin(self._send_pending())

    async def _send_pending(self) -> None:
        payload = _payload(self._pending)
        self._pending.clear()
        try:
            if self._sender is None or self._sender.is_closed():
                self._sender = await self._connect("wake-ups", {"synchronous_commit": "off"})
            await self._sender.execute(_NOTIFY.text, *bind(_NOTIFY, {"payload": payload}))
        except (*DRIVER_ERRORS, MainspringError):
            # A hint is lost; whoever waits for it polls.
            if self._sender is not None:
                self._sender.terminate()
                self._sender = None
        finally:
            self._sending = False
            if self._open and self._pending:
                self._send_soon()

    async def _keep_listening(self) -> None:
        """Hold the listening connection; come back with growing pauses after it broke."""
        pause_seconds, longest_seconds = _RETRY_SECONDS
        broken = False
        while not self._closing.is_set():
            self._cut.clear()
            try:
                connection = await self._connect("listener", {})
                connection.add_termination_listener(self._on_cut)
                await connection.add_listener(_CHANNEL, self._on_notification)
            except (*DRIVER_ERRORS, MainspringError):
                broken = True
                await self._pause(pause_seconds)
                pause_seconds = min(2 * pause_seconds, longest_seconds)
                continue
            if broken:
                self._tell(None)
            pause_seconds = _RETRY_SECONDS[0]
            if not self._closing.is_set():
                await self._cut.wait()
            broken = True
            connection.remove_termination_listener(self._on_cut)
            connection.terminate()

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._closing.wait(), seconds)
        except TimeoutError:
            return

    async def _connect(
        self, role: str, settings: dict[str, str]
    ) -> "asyncpg.Connection[asyncpg.Record]":
        connection = await asyncpg.connect(
            self._dsn,
            timeout=self._options.connect_timeout_seconds,
            command_timeout=self._options.command_timeout_seconds,
            server_settings=session_settings(role) | settings,
        )
        await prepare(connection)
        return connection

    def _on_cut(self, _connection: object) -> None:
        self._cut.set()

    def _on_notification(self, _link: object, _pid: int, _channel: str, payload: object) -> None:
        if payload == _EVERYTHING:
            self._tell(None)
            return
        try:
            self._tell(_TOPICS.decode(str(payload)))
        except msgspec.DecodeError:
            # Somebody else's words on our channel: better awake for nothing than asleep.
            self._tell(None)


def _payload(topics: Collection[str]) -> str:
    """Return the topics as JSON, or the one word for all when they are too many for one hint."""
    try:
        raw = msgspec.json.encode(sorted(topics))
    except UnicodeEncodeError:
        return _EVERYTHING
    return raw.decode() if len(raw) <= _PAYLOAD_BYTES_MAX else _EVERYTHING
