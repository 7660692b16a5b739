"""Live changes: one look at the store for everybody who watches, and resumption without a gap.

The hub asks the store a few times a second what happened, but only while somebody watches, and
hands each change to those whom it concerns. An event's id says from where to go on: by its number
as long as this hub remembers it, else by its time, at any server.

Invariants
----------
* Watching is level-triggered: an event tells what a job is now, and may come twice.
* Whoever cannot be told everything is told so (``reset``) and looks at it all anew; nobody is left
  believing that nothing happened.
* A watcher that does not read is dropped back to a reset; it never holds memory or others up.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, Protocol

import msgspec

from mainspring.domain.changes import Change
from mainspring.domain.errors import InvalidInput
from mainspring.domain.ids import show_job
from mainspring.domain.limits import CHANGE_ITEMS_MAX
from mainspring.domain.states import JobState
from mainspring.ports.store import ChangeStore

#: Between two looks while somebody watches.
LOOK_SECONDS: Final = 0.25
_HEARTBEAT_SECONDS: Final = 15.0
_REMEMBERED_MAX: Final = 20_000
_WAITING_MAX: Final = 2_000
_RESUME_MAX: Final = timedelta(minutes=5)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_ID_PARTS: Final = 3


class WatchedStore(ChangeStore, Protocol):
    """What a hub looks at."""

    async def now(self) -> datetime:
        """Return the store's clock."""
        ...


class JobEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What a job is now."""

    job_id: str
    state: JobState
    attempt: int
    kind: str
    queue: str
    tenant: str
    at: datetime


class Interest(NamedTuple):
    """What somebody wants to be told of; empty sets mean everything."""

    tenant: str | None = None
    kinds: frozenset[str] = frozenset()
    queues: frozenset[str] = frozenset()
    states: frozenset[JobState] = frozenset()
    job_ids: frozenset[bytes] = frozenset()

    def covers(self, change: Change) -> bool:
        """Say whether a change is among it."""
        return (
            (self.tenant is None or change.tenant == self.tenant)
            and (not self.kinds or change.kind in self.kinds)
            and (not self.queues or change.queue in self.queues)
            and (not self.states or change.state in self.states)
            and (not self.job_ids or change.job_id in self.job_ids)
        )


class _Told(NamedTuple):
    """A change with the text that is sent for it."""

    number: int
    change: Change
    text: bytes


class _Watcher:
    """Somebody who watches: what waits to be sent, and whether it became too much."""

    def __init__(self, interest: Interest) -> None:
        self.interest = interest
        self.waiting: deque[bytes] = deque()
        self.is_lost = False
        self.has_news = asyncio.Event()

    def tell(self, text: bytes) -> None:
        """Add what is to be sent."""
        if len(self.waiting) >= _WAITING_MAX:
            self.waiting.clear()
            self.is_lost = True
        if not self.is_lost:
            self.waiting.append(text)
        self.has_news.set()

    def lose(self) -> None:
        """Forget what waits: it is to look at everything anew."""
        self.waiting.clear()
        self.is_lost = True
        self.has_news.set()


class Hub:
    """Tells many watchers what one look at a time finds. A role: ``step`` is its look."""

    def __init__(self, store: WatchedStore, *, name: str) -> None:
        """Look at ``store``; ``name`` tells the ids of this hub from those of others."""
        self._store = store
        self._name = name
        self._encoder = msgspec.json.Encoder()
        self._watchers: set[_Watcher] = set()
        self._remembered: deque[_Told] = deque(maxlen=_REMEMBERED_MAX)
        self._number = 0
        #: Everything before it was told.
        self._through: datetime | None = None
        #: What was told of the time from then on, because it will be found again.
        self._known: set[tuple[bytes, int, JobState]] = set()

    @property
    def watchers(self) -> int:
        """Return how many watch."""
        return len(self._watchers)

    async def step(self) -> float:
        """Look once, if anybody watches; return when to look again."""
        if not self._watchers:
            # What happens meanwhile is nobody's loss: whoever comes back asks by time.
            self._forget()
            return LOOK_SECONDS
        if self._through is None:
            await self._begin()
        assert self._through is not None, "it was begun"
        found = await self._store.list_changes(self._through, limit=CHANGE_ITEMS_MAX)
        if found.is_cut:
            self._forget()
            await self._begin()
            for watcher in self._watchers:
                watcher.lose()
            return LOOK_SECONDS
        since = self._through
        known: set[tuple[bytes, int, JobState]] = set()
        for change in found.items:
            mark = (change.job_id, change.attempt, change.state)
            if change.at >= found.through:
                known.add(mark)
            if mark not in self._known:
                self._tell(change, since)
        # Of what lies before the new bound nothing is found again.
        self._known = known
        self._through = max(found.through, since)
        return LOOK_SECONDS

    def watch(self, interest: Interest, after: str | None) -> AsyncGenerator[bytes, None]:
        """Return what yields what to send, for as long as the reader likes.

        ``after`` is the id of the last event that was received, of this hub or another.
        """
        return self._watching(interest, None if after is None else _read_id(after))

    async def _watching(
        self, interest: Interest, after: "_Place | None"
    ) -> AsyncGenerator[bytes, None]:
        watcher = _Watcher(interest)
        if self._through is None:
            await self._begin()
        self._watchers.add(watcher)
        try:
            missed = await self._missed(interest, after)
            yield b"retry: 1000\n\n"
            if missed is None:
                yield self._reset()
            else:
                for text in missed:
                    yield text
                if not missed:
                    # An id to come back with, although there is nothing to tell yet.
                    yield f"id: {self._id(await self._now())}\n\n".encode()
            while True:
                try:
                    async with asyncio.timeout(_HEARTBEAT_SECONDS):
                        await watcher.has_news.wait()
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                watcher.has_news.clear()
                if watcher.is_lost:
                    watcher.is_lost = False
                    yield self._reset()
                if watcher.waiting:
                    texts = b"".join(watcher.waiting)
                    watcher.waiting.clear()
                    yield texts
        finally:
            self._watchers.discard(watcher)

    async def _begin(self) -> None:
        """Look from now on."""
        self._through = await self._store.now()
        self._known = set()

    def _forget(self) -> None:
        """End a time without gaps: nobody can go on by a number from before."""
        self._through = None
        self._number += 1
        self._remembered.clear()

    async def _now(self) -> datetime:
        return self._through or await self._store.now()

    def _tell(self, change: Change, since: datetime) -> None:
        self._number += 1
        text = self._text(change, self._id(since))
        self._remembered.append(_Told(self._number, change, text))
        for watcher in self._watchers:
            if watcher.interest.covers(change):
                watcher.tell(text)

    def _text(self, change: Change, event_id: str) -> bytes:
        event = JobEvent(
            job_id=show_job(change.job_id),
            state=change.state,
            attempt=change.attempt,
            kind=change.kind,
            queue=change.queue,
            tenant=change.tenant,
            at=change.at,
        )
        body = self._encoder.encode(event)
        return b"id: %s\nevent: job\ndata: %s\n\n" % (event_id.encode(), body)

    def _id(self, since: datetime) -> str:
        return f"{self._name}.{self._number}.{(since - _EPOCH) // _MICROSECOND}"

    def _reset(self) -> bytes:
        since = self._through or _EPOCH
        return b'id: %s\nevent: reset\ndata: {"reason":"too much happened: look at it all"}\n\n' % (
            self._id(since).encode()
        )

    async def _missed(self, interest: Interest, after: "_Place | None") -> list[bytes] | None:
        """Return what happened after an event; ``None``: that cannot be told."""
        if after is None:
            return []
        name, number, since = after
        if name == self._name and self._remembers(number):
            return [
                told.text
                for told in self._remembered
                if told.number > number and interest.covers(told.change)
            ]
        if await self._store.now() - since > _RESUME_MAX:
            return None
        found = await self._store.list_changes(since, limit=CHANGE_ITEMS_MAX)
        if found.is_cut:
            return None
        event_id = self._id(since)
        return [self._text(each, event_id) for each in found.items if interest.covers(each)]

    def _remembers(self, number: int) -> bool:
        """Say whether everything that was told after a number is still here, without a gap."""
        if number == self._number:
            return True
        return bool(self._remembered) and self._remembered[0].number <= number + 1 <= self._number


class _Place(NamedTuple):
    """An event's id: of which hub, its number there, and before which time all was told."""

    hub: str
    number: int
    since: datetime


def _read_id(text: str) -> _Place:
    parts = text.split(".")
    if len(parts) == _ID_PARTS and parts[1].isdecimal() and parts[2].isdecimal():
        try:
            return _Place(parts[0], int(parts[1]), _EPOCH + int(parts[2]) * _MICROSECOND)
        except (OverflowError, ValueError):
            pass
    raise InvalidInput(
        f"Last-Event-ID: {text[:80]!r} is no id of an event",
        hint="send back the last one unchanged",
    )
