"""This store as a guest on a caller's connection: the same statements, without our driver.

The caller's driver may turn types into whatever its owner likes, so every value travels as text
that PostgreSQL itself reads: ``:ids::uuid[]`` becomes ``$1::text::uuid[]``.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import cache
from typing import Any, Final, NamedTuple

import asyncpg
import msgspec

from mainspring.domain.job import NewJob, Receipt, Settled, Settlement
from mainspring.domain.webhooks import Listener
from mainspring.ports.clock import Clock
from mainspring.ports.guest import Queries, Query, Style
from mainspring.store import migrations
from mainspring.store.postgres.failures import DRIVER_ERRORS, Sent, shown_address, translate
from mainspring.store.postgres.pool import load
from mainspring.store.postgres.settling import succeed_steps
from mainspring.store.postgres.submission import insert_steps
from mainspring.store.postgres.webhooks import listener_steps
from mainspring.store.statements import (
    Ask,
    Statement,
    Steps,
    as_queries,
    named,
    numbered,
    pyformat,
    source,
)

_PACKAGE: Final = "mainspring.store.postgres"
_CONNECT_SECONDS: Final = 5.0
_FIND: Final = load("find_migrations")
_LIST: Final = load("list_migrations")
_NOTIFY: Final = load("notify")
_BOUND_IDLE_TIME: Final = load("bound_idle_time")
#: How long a caller may rest between the end of its attempt and its commit.
_IDLE_SECONDS: Final = 10
#: In one notification, which takes less than 8,000 bytes.
_TOPICS_MAX: Final = 20
_CAST: Final = re.compile(r"(?<![:\w]):([a-z][a-z0-9_]*)::(\w+)(\[\])?")


@asynccontextmanager
async def connect_beside(dsn: str) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
    """Open a connection to the store's database for a handler's own statements."""
    try:
        connection = await asyncpg.connect(dsn, timeout=_CONNECT_SECONDS)
    except DRIVER_ERRORS as error:
        raise translate(error, Sent.NOTHING, shown_address(dsn)) from error
    try:
        yield connection
    finally:
        await connection.close(timeout=_CONNECT_SECONDS)


class PostgresGuest:
    """Implements ``Guest``."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock

    def check_ready(self) -> Queries[None]:
        return as_queries(_check_ready(), _query)

    def submit(self, jobs: Sequence[NewJob]) -> Queries[list[Receipt]]:
        return as_queries(_submit(jobs, self._at()), _query)

    def settle(self, settlement: Settlement) -> Queries[Settled]:
        return as_queries(_settle(settlement, self._at()), _query)

    def listeners(self, tenant: str) -> Queries[list[Listener]]:
        return as_queries(listener_steps(tenant), _query)

    def _at(self) -> datetime | None:
        return None if self._clock is None else self._clock.now()


def _check_ready() -> Steps[None]:
    # Looked up first: a statement that fails would spoil the caller's transaction.
    found = yield Ask(_FIND, {})
    applied = (yield Ask(_LIST, {})) if found[0][0] else ()
    known = migrations.load(_PACKAGE)
    status = migrations.status(known, {row[0] for row in applied})
    migrations.refuse_unless_ready(status, migrations.BEHIND_THIS_CONNECTION)


def _submit(jobs: Sequence[NewJob], at: datetime | None) -> Steps[list[Receipt]]:
    receipts = yield from insert_steps(jobs, at, repeated=False)
    # Delivered by the commit, and only then.
    topics = sorted({f"queue:{job.queue}" for job in jobs})
    for start in range(0, len(topics), _TOPICS_MAX):
        told = msgspec.json.encode(topics[start : start + _TOPICS_MAX]).decode()
        yield Ask(_NOTIFY, {"payload": told})
    return receipts


def _settle(settlement: Settlement, at: datetime | None) -> Steps[Settled]:
    yield Ask(_BOUND_IDLE_TIME, {"seconds": _IDLE_SECONDS})
    return (yield from succeed_steps(settlement, at))


def _query(ask: Ask) -> Query:
    form = _form(ask.statement)
    values = {
        name: _literal(ask.values[name], kind, many=many)
        for name, (kind, many) in form.kinds.items()
    }
    return Query(form.texts, values)


class _Form(NamedTuple):
    """A statement that takes nothing but text; the parameters in the order of their numbers."""

    texts: Mapping[Style, str]
    kinds: Mapping[str, tuple[str, bool]]


@cache
def _form(statement: Statement) -> _Form:
    written = named(statement.name, source(_PACKAGE, statement.name)).text
    kinds = {name: (kind, bool(many)) for name, kind, many in _CAST.findall(written)}
    text = _CAST.sub(r":\1::text::\2\3", written)
    assert tuple(kinds) == statement.params, f"{statement.name}: a parameter is used without a cast"
    texts = {
        Style.NUMBERED: numbered(statement.name, text).text,
        Style.PYFORMAT: pyformat(statement.name, text).text,
    }
    return _Form(texts, kinds)


def _literal(value: Any, kind: str, *, many: bool) -> str | None:
    """Return a value as PostgreSQL reads it."""
    if value is None:
        return None
    if not many:
        return _scalar(value, kind)
    return "{" + ",".join(_element(each, kind) for each in value) + "}"


def _element(value: Any, kind: str) -> str:
    if value is None:
        return "NULL"
    text = _scalar(value, kind).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _scalar(value: Any, kind: str) -> str:
    match value:
        case bytes():
            return value.hex() if kind == "uuid" else f"\\x{value.hex()}"
        case datetime():
            return value.isoformat()
        case str():
            return value
        case int():
            return str(int(value))
        case _:
            raise TypeError(f"no way to send a {type(value).__name__}")
