"""Connections: six pools, so that neither a claim nor a scheduler waits behind somebody's list.

``dispatch`` claims, settles and beats; ``submission`` takes jobs in; ``schedules`` judges what is
due; ``operations`` carries bulk actions on; ``general`` serves queries, control and maintenance;
``tenants`` what is kept to one tenant, whose plans have policies in them. Each opens connections
when they are first needed, gives them back to the server when idle, and replaces those that broke;
the store therefore heals without being told.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeAlias, TypeVar

import asyncpg
import msgspec

from mainspring.domain.errors import ConfigError
from mainspring.ports.entropy import roll
from mainspring.store.postgres.failures import (
    DRIVER_ERRORS,
    Sent,
    is_repeatable,
    translate,
    unreadable_address,
)
from mainspring.store.statements import Ask, Statement, Steps, numbered, source

Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
_Result = TypeVar("_Result")

OLDEST_MAJOR: Final = 14
_TRIES: Final = 6
_RELEASE_SECONDS: Final = 5.0
_PACKAGE: Final = "mainspring.store.postgres"

_SESSION: Final = {
    "timezone": "UTC",
    "jit": "off",
    "lock_timeout": "5s",
    "idle_in_transaction_session_timeout": "10s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
# The hot table empties and fills within seconds, so statistics about it are always wrong. These
# connections run statements that only ever look up by key: the plan is pinned, and made once.
_PINNED_PLANS: Final = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "plan_cache_mode": "force_generic_plan",
}


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How the store connects. Times in seconds."""

    connect_timeout_seconds: float = 5.0
    command_timeout_seconds: float = 30.0
    #: How long a call waits for a free connection.
    acquire_timeout_seconds: float = 10.0
    idle_timeout_seconds: float = 300.0
    dispatch_connections: int = 4
    submission_connections: int = 2
    schedules_connections: int = 2
    operations_connections: int = 1
    general_connections: int = 6
    #: For what is asked and changed on behalf of one tenant.
    tenants_connections: int = 4
    #: 0 behind a pooler that hands out another server connection for each transaction.
    statement_cache_size: int = 200


def load(name: str) -> Statement:
    """Return ``sql/NAME.sql`` with its parameters numbered."""
    return numbered(name, source(_PACKAGE, name))


def bind(statement: Statement, values: Mapping[str, object]) -> list[object]:
    """Return the values in the order in which the statement numbers its parameters."""
    return [values[param] for param in statement.params]


async def follow(connection: Connection, steps: Steps[_Result]) -> _Result:
    """Run what the steps ask for, inside the transaction that is open on the connection."""
    rows: Sequence[asyncpg.Record] | None = None
    while True:
        try:
            ask: Ask = next(steps) if rows is None else steps.send(rows)
        except StopIteration as end:
            result: _Result = end.value
            return result
        rows = await connection.fetch(ask.statement.text, *bind(ask.statement, ask.values))


async def rest(seconds: float) -> None:
    """Wait; cancellable, and nothing else wakes it."""
    try:
        await asyncio.wait_for(asyncio.Event().wait(), seconds)
    except TimeoutError:
        return


_INSIST_ON_DURABILITY: Final = load("insist_on_durability")


class Pool:
    """One pool: every call has a timeout, is retried where that is safe, and fails in our words.

    A call that stands alone is one statement without BEGIN and COMMIT around it.
    """

    def __init__(
        self, dsn: str, address: str, options: Options, *, role: str, size: int, pinned: bool
    ) -> None:
        self._dsn = dsn
        self._address = address
        self._options = options
        self._role = role
        self._size = size
        self._settings = session_settings(role) | (_PINNED_PLANS if pinned else {})
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._opening = asyncio.Lock()

    async def fetch(
        self, statement: Statement, values: Mapping[str, object], *, changes: bool
    ) -> list[asyncpg.Record]:
        """Run one statement as its own transaction and return its rows."""
        bound = bind(statement, values)
        harm = Sent.CHANGE if changes else Sent.HARMLESS

        async def alone(connection: Connection) -> list[asyncpg.Record]:
            try:
                return await connection.fetch(statement.text, *bound)
            except DRIVER_ERRORS as error:
                raise _Failure(error, harm) from error

        return await self._attempt(alone)

    async def script(self, text: str) -> None:
        """Run several statements as one transaction that does not need us until it is over.

        They travel in one message, so a caller that is frozen or cut off in the middle cannot leave
        a table closed to everybody: the server goes on to the commit by itself.
        """

        async def at_once(connection: Connection) -> None:
            try:
                await connection.execute(text)
            except DRIVER_ERRORS as error:
                raise _Failure(error, Sent.CHANGE) from error

        await self._attempt(at_once)

    async def transaction(
        self, work: Callable[[Connection], Awaitable[_Result]], *, changes: bool = True
    ) -> _Result:
        """Run ``work`` inside one transaction; all of it is repeated after a deadlock."""

        async def together(connection: Connection) -> _Result:
            return await _within_transaction(connection, work, changes=changes)

        return await self._attempt(together)

    async def close(self) -> None:
        """Close every connection, politely if they answer and at once if not."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        try:
            await asyncio.wait_for(pool.close(), _RELEASE_SECONDS)
        except (TimeoutError, asyncpg.InterfaceError, asyncpg.PostgresError):
            pool.terminate()

    async def _attempt(self, work: Callable[[Connection], Awaitable[_Result]]) -> _Result:
        for attempt in range(1, _TRIES + 1):
            connection = await self._acquire()
            try:
                return await work(connection)
            except _Failure as failure:
                if not is_repeatable(failure.error) or attempt == _TRIES:
                    raise translate(failure.error, failure.sent, self._address) from failure.error
            finally:
                await self._release(connection)
            await rest(0.005 * 2**attempt * (0.5 + roll()))
        raise AssertionError("the last try returns or raises")

    async def _acquire(self) -> Connection:
        try:
            pool = self._pool or await self._open()
            return await pool.acquire(timeout=self._options.acquire_timeout_seconds)
        except DRIVER_ERRORS as error:
            raise translate(error, Sent.NOTHING, self._address) from error
        except ValueError:
            # The driver's words hold parts of the address.
            raise unreadable_address() from None

    async def _release(self, connection: Connection) -> None:
        pool = self._pool
        if pool is None:
            connection.terminate()
            return
        try:
            await pool.release(connection, timeout=_RELEASE_SECONDS)
        except DRIVER_ERRORS:
            # The answer is known already; a connection that cannot be given back is dropped.
            connection.terminate()

    async def _open(self) -> "asyncpg.Pool[asyncpg.Record]":
        async with self._opening:
            if self._pool is None:
                self._pool = await asyncpg.create_pool(
                    self._dsn,
                    min_size=0,
                    max_size=self._size,
                    init=_prepare_durable,
                    reset=_keep_as_it_is,
                    timeout=self._options.connect_timeout_seconds,
                    command_timeout=self._options.command_timeout_seconds,
                    max_inactive_connection_lifetime=self._options.idle_timeout_seconds,
                    statement_cache_size=self._options.statement_cache_size,
                    server_settings=self._settings,
                )
            return self._pool


class _Failure(Exception):
    """A driver's error, with what had been sent by then."""

    def __init__(self, error: BaseException, sent: Sent) -> None:
        self.error = error
        self.sent = sent
        super().__init__(str(error))


def session_settings(role: str) -> dict[str, str]:
    """Return the server settings of a connection: its name, and bounds on how long it may hang."""
    return {"application_name": f"mainspring {role}", **_SESSION}


async def prepare(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Make a new connection ours: refuse old servers, and carry ids as bytes both ways."""
    version = connection.get_server_version()
    if version.major < OLDEST_MAJOR:
        raise ConfigError(
            f"the server runs PostgreSQL {version.major}.{version.minor}, "
            f"Mainspring needs {OLDEST_MAJOR} or later",
            hint="upgrade the server, or use another one",
        )
    keep_alive(connection)
    await connection.set_type_codec(
        "uuid", schema="pg_catalog", encoder=bytes, decoder=bytes, format="binary"
    )


async def _prepare_durable(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    await prepare(connection)
    await connection.execute(_INSIST_ON_DURABILITY.text)


def keep_alive(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Let the kernel notice a server that vanished; a silent connection never would.

    The driver offers no way to its socket, hence the look inside; without it only slower.
    """
    transport = getattr(connection, "_transport", None)
    link = None if transport is None else transport.get_extra_info("socket")
    if link is None or link.family not in (socket.AF_INET, socket.AF_INET6):
        return
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        option = getattr(socket, name, None)
        if option is not None:
            link.setsockopt(socket.IPPROTO_TCP, option, value)


async def _keep_as_it_is(_connection: object) -> None:
    """Skip the round trip that undoes session changes: nothing here makes any."""


async def _within_transaction(
    connection: Connection, work: Callable[[Connection], Awaitable[_Result]], *, changes: bool
) -> _Result:
    transaction = connection.transaction()
    try:
        await transaction.start()
        result = await work(connection)
    except DRIVER_ERRORS as error:
        await _roll_back(transaction)
        raise _Failure(error, Sent.HARMLESS) from error
    except BaseException:
        await _roll_back(transaction)
        raise
    try:
        await transaction.commit()
    except DRIVER_ERRORS as error:
        raise _Failure(error, Sent.CHANGE if changes else Sent.HARMLESS) from error
    return result


async def _roll_back(transaction: "asyncpg.transaction.Transaction") -> None:
    """Undo. If even that fails the server undoes it by itself when the connection goes."""
    try:
        await transaction.rollback()
    except DRIVER_ERRORS:
        return
