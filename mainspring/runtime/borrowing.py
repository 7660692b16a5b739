"""Callers' transactions: which store is a guest there, and what happens around its statements."""

import asyncio
import importlib
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from typing import Any, Final, Protocol, TypeVar, cast

import msgspec

from mainspring.app.transaction import Transaction
from mainspring.dispatcher.judgement import Judge
from mainspring.domain.declared import Declared
from mainspring.domain.errors import InvalidInput, LeaseLost
from mainspring.domain.ids import show_attempt
from mainspring.domain.job import Claimed, NewJob, Settled, Settlement
from mainspring.domain.outcome import Outcome, Succeeded
from mainspring.integrations.borrowed import borrow, defer
from mainspring.policies.listening import Listeners
from mainspring.policies.notices import with_notices
from mainspring.policies.verdict import judge
from mainspring.ports import entropy
from mainspring.ports.door import Asking, Door
from mainspring.ports.gateway import Accepted, Submission
from mainspring.ports.guest import Borrowed, Dialect, Guest, Queries
from mainspring.registry import guest as registry
from mainspring.registry.acceptance import offloaded
from mainspring.runtime.assemble import dice, open_blobs
from mainspring.runtime.setting_table import Settings
from mainspring.runtime.settings import sqlite_path

T = TypeVar("T")

_STORES: Final = {
    Dialect.POSTGRES: ("mainspring.store.postgres.guest", "PostgresGuest"),
    Dialect.SQLITE: ("mainspring.store.sqlite.guest", "SqliteGuest"),
}


class FinishingAttempt(Protocol):
    """An attempt as its process knows it."""

    claimed: Claimed
    #: How it ended, once that is committed.
    finished: Outcome | None

    def encoded(self, result: object) -> bytes | None:
        """Return a result as JSON text."""
        ...


class Guests:
    """What one app knows of the connections that were lent to it."""

    def __init__(self, settings: Callable[[], Settings], door: Callable[[], Door]) -> None:
        """``settings`` say where large payloads go; ``door`` answers what handles ask."""
        self.settings = settings
        self.door = door
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()
        self._guard = threading.Lock()

    def borrowed(self, connection: object) -> "BorrowedDoor":
        """Return a door into the open transaction of a connection."""
        return BorrowedDoor(self, borrow(connection))

    def deferred(self, session: object) -> "DeferredDoor":
        """Return a door that opens with the commit of a session."""
        return DeferredDoor(self, session)

    def queries(self, borrowed: Borrowed, queries: Queries[T]) -> Queries[T]:
        """Look at the tables first, on a connection that was not seen before."""
        identity = borrowed.identity
        if not self._is_known(identity):
            yield from guest_of(borrowed.dialect).check_ready()
            self._learn(identity)
        return (yield from queries)

    def _is_known(self, identity: object) -> bool:
        try:
            with self._guard:
                return identity in self._known
        except TypeError:
            return False

    def _learn(self, identity: object) -> None:
        try:
            with self._guard:
                self._known.add(identity)
        except TypeError:
            return  # sqlite3's connections cannot be remembered, and are quickly asked


@cache
def guest_of(dialect: Dialect) -> Guest:
    """Return the store that speaks this dialect, as a guest."""
    module, name = _STORES[dialect]
    return cast("Guest", getattr(importlib.import_module(module), name)())


class BorrowedDoor:
    """A ``Door`` into a caller's transaction; questions go to the app's own door."""

    def __init__(self, guests: Guests, borrowed: Borrowed) -> None:
        """Submit on ``borrowed``."""
        self._guests = guests
        self._borrowed = borrowed

    @property
    def actor(self) -> str:
        """Return who stands in the audit."""
        return self._guests.door().actor

    def submit(self, wanted: Sequence[Submission]) -> list[Accepted]:
        """Submit in the open transaction."""
        settings = self._guests.settings()
        jobs = registry.checked_jobs(wanted, entropy.new_job_id, settings.payload_bytes)
        if _has_large(jobs, settings):
            jobs = block_on(_offload(jobs, settings))
        return self._borrowed.follow(self._queries(jobs))

    async def asubmit(self, wanted: Sequence[Submission]) -> list[Accepted]:
        """Submit in the open transaction."""
        settings = self._guests.settings()
        jobs = registry.checked_jobs(wanted, entropy.new_job_id, settings.payload_bytes)
        if _has_large(jobs, settings):
            jobs = await _offload(jobs, settings)
        return await self._borrowed.afollow(self._queries(jobs))

    def ask(self, asking: Asking[T]) -> T:
        """Ask outside of the transaction: there, nothing of it is seen before its commit."""
        return self._guests.door().ask(asking)

    async def aask(self, asking: Asking[T]) -> T:
        """Ask outside of the transaction."""
        return await self._guests.door().aask(asking)

    def _queries(self, jobs: Sequence[NewJob]) -> Queries[list[Accepted]]:
        # A generator: for sessions that are awaited, the connection is known only inside.
        submitting = registry.submit(guest_of(self._borrowed.dialect), jobs)
        return self._guests.queries(self._borrowed, submitting)


class DeferredDoor:
    """A ``Door`` that submits once a session has been committed, and never after a rollback."""

    def __init__(self, guests: Guests, session: object) -> None:
        """Wait for the commit of ``session``."""
        self._guests = guests
        self._session = session

    @property
    def actor(self) -> str:
        """Return who stands in the audit."""
        return self._guests.door().actor

    def submit(self, wanted: Sequence[Submission]) -> list[Accepted]:
        """Check now, submit after the commit; the ids are known already."""
        settings = self._guests.settings()
        jobs = registry.checked_jobs(wanted, entropy.new_job_id, settings.payload_bytes)
        named = [
            msgspec.structs.replace(item, id=job.id) for item, job in zip(wanted, jobs, strict=True)
        ]

        def act() -> None:
            self._guests.door().submit(named)

        async def aact() -> None:
            await self._guests.door().asubmit(named)

        defer(self._session, act, aact)
        return [Accepted(job.id, created=True) for job in jobs]

    async def asubmit(self, wanted: Sequence[Submission]) -> list[Accepted]:
        """Do the same; nothing is awaited before the commit."""
        return self.submit(wanted)

    def ask(self, asking: Asking[T]) -> T:
        """Ask by the app's own door."""
        return self._guests.door().ask(asking)

    async def aask(self, asking: Asking[T]) -> T:
        """Ask by the app's own door."""
        return await self._guests.door().aask(asking)


class AttemptFinisher:
    """A ``Finisher``: the attempt's end as the last statement before the commit."""

    def __init__(self, guests: Guests, attempt: FinishingAttempt) -> None:
        """Finish ``attempt``."""
        self._guests = guests
        self._attempt = attempt

    @contextmanager
    def enter(self, transaction: Transaction[Any]) -> Iterator[None]:
        """Finish on a connection whose calls block."""
        outcome: Succeeded | None = None
        with _own_connection(transaction, self._guests.settings()):
            borrowed = borrow(transaction.connection)
            with borrowed.transaction():
                yield
                outcome = self._outcome(transaction)
                is_large = self._is_large(outcome)
                settlement = block_on(self._judged(outcome)) if is_large else self._plain(outcome)
                self._check(borrowed.follow(self._queries(borrowed, settlement)))
            # Nothing, where the driver has its own way to roll back without an error.
            self._attempt.finished = outcome

    @asynccontextmanager
    async def aenter(self, transaction: Transaction[Any]) -> AsyncIterator[None]:
        """Finish on a connection whose calls are awaited."""
        outcome: Succeeded | None = None
        async with _own_async_connection(transaction, self._guests.settings()):
            borrowed = borrow(transaction.connection)
            async with borrowed.atransaction():
                yield
                outcome = self._outcome(transaction)
                settlement = await self._judged(outcome)
                self._check(await borrowed.afollow(self._queries(borrowed, settlement)))
            # Nothing, where the driver has its own way to roll back without an error.
            self._attempt.finished = outcome

    def _outcome(self, transaction: Transaction[Any]) -> Succeeded:
        return Succeeded(self._attempt.encoded(transaction.result))

    def _is_large(self, outcome: Succeeded) -> bool:
        return len(outcome.result or b"") > self._guests.settings().inline_bytes

    def _plain(self, outcome: Succeeded) -> Settlement:
        return judge(self._attempt.claimed, outcome, 0.0)

    async def _judged(self, outcome: Succeeded) -> Settlement:
        """Judge as the dispatching side does; a large result goes to the object store."""
        settings = self._guests.settings()
        blobs = open_blobs(settings) if self._is_large(outcome) else None
        try:
            chief = Judge(dice(), blobs, inline_bytes=settings.inline_bytes)
            return await chief.settle(self._attempt.claimed, outcome, Declared())
        finally:
            if blobs is not None:
                await blobs.close()

    def _queries(self, borrowed: Borrowed, settlement: Settlement) -> Queries[Settled]:
        guest = guest_of(borrowed.dialect)
        return self._guests.queries(borrowed, _settle(guest, self._attempt.claimed, settlement))

    def _check(self, settled: Settled) -> None:
        """Undo everything unless the attempt ended here and now, by raising."""
        if not settled.accepted:
            shown = show_attempt(settled.job_id, settled.attempt)
            raise LeaseLost(
                f"{shown} no longer holds its job in the database of this connection, "
                "so the transaction was rolled back"
            )


def _settle(guest: Guest, claimed: Claimed, settlement: Settlement) -> Queries[Settled]:
    """Settle, with what tells others of it; here who listens is read in the same transaction."""
    listeners = yield from guest.listeners(claimed.tenant)
    if listeners:
        settlement = with_notices(settlement, claimed, Listeners(listeners), entropy.new_job_id)
    return (yield from guest.settle(settlement))


@contextmanager
def _own_connection(transaction: Transaction[Any], settings: Settings) -> Iterator[None]:
    """Bring a connection to the store's database, unless one was given."""
    if transaction.connection is not None:
        yield
        return
    path = sqlite_path(settings.store_url)
    if path is None:
        raise InvalidInput(
            "ctx.transaction() without a connection blocks on SQLite only",
            hint="give a connection of psycopg or SQLAlchemy; or: async with ctx.transaction()",
        )
    module = importlib.import_module("mainspring.store.sqlite.guest")
    with module.connect_beside(path) as transaction.connection:
        yield


@asynccontextmanager
async def _own_async_connection(
    transaction: Transaction[Any], settings: Settings
) -> AsyncIterator[None]:
    """Bring a connection to the store's database, unless one was given."""
    if transaction.connection is not None:
        yield
        return
    if sqlite_path(settings.store_url) is not None:
        raise InvalidInput(
            "a connection to SQLite blocks",
            hint="write: with ctx.transaction() as tx, without async",
        )
    module = importlib.import_module("mainspring.store.postgres.guest")
    async with module.connect_beside(settings.store_url) as transaction.connection:
        yield


def _has_large(jobs: Sequence[NewJob], settings: Settings) -> bool:
    return any(len(job.payload) > settings.inline_bytes for job in jobs)


async def _offload(jobs: Sequence[NewJob], settings: Settings) -> list[NewJob]:
    """Put large payloads into the object store. A rollback leaves objects that nobody names."""
    blobs = open_blobs(settings)
    if blobs is None:
        return list(jobs)
    try:
        return [await offloaded(job, blobs, settings.inline_bytes) for job in jobs]
    finally:
        await blobs.close()


def block_on(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a loop of its own, wherever this is called."""
    with ThreadPoolExecutor(1, "mainspring-blobs") as threads:
        return threads.submit(asyncio.run, coroutine).result()
