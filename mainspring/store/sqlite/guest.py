"""This store as a guest on a caller's connection to the same file: the same statements."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Final

from mainspring.domain.job import NewJob, Receipt, Settled, Settlement
from mainspring.domain.webhooks import Listener
from mainspring.ports.clock import Clock, utc_now
from mainspring.ports.guest import Queries, Query, Style
from mainspring.store import migrations
from mainspring.store.sqlite.connection import APPLICATION_ID
from mainspring.store.sqlite.instants import to_us
from mainspring.store.sqlite.settling import settle_steps
from mainspring.store.sqlite.submission import insert_steps
from mainspring.store.sqlite.unit import PACKAGE, ask
from mainspring.store.sqlite.webhooks import listener_steps
from mainspring.store.statements import Ask, Statement, Steps, as_queries, pyformat, source

_PATIENCE_SECONDS: Final = 5.0
_OURS: Final = (APPLICATION_ID,)


@contextmanager
def connect_beside(path: str) -> Iterator[sqlite3.Connection]:
    """Open a connection to the store's file for a handler's own statements."""
    connection = sqlite3.connect(path, timeout=_PATIENCE_SECONDS)
    try:
        yield connection
    finally:
        connection.close()


class SqliteGuest:
    """Implements ``Guest``. Other processes see the commit by looking at the file."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._now = utc_now if clock is None else clock.now

    def check_ready(self) -> Queries[None]:
        return as_queries(_check_ready(), _query)

    def submit(self, jobs: Sequence[NewJob]) -> Queries[list[Receipt]]:
        return as_queries(insert_steps(jobs, to_us(self._now())), _query)

    def settle(self, settlement: Settlement) -> Queries[Settled]:
        return as_queries(_settle(settlement, to_us(self._now())), _query)

    def listeners(self, tenant: str) -> Queries[list[Listener]]:
        return as_queries(listener_steps(tenant), _query)


def _check_ready() -> Steps[None]:
    found = yield ask("find_application")
    applied = (yield ask("list_migrations")) if tuple(found[0]) == _OURS else ()
    status = migrations.status(migrations.load(PACKAGE), {row[0] for row in applied})
    migrations.refuse_unless_ready(status, migrations.BEHIND_THIS_CONNECTION)


def _settle(settlement: Settlement, now_us: int) -> Steps[Settled]:
    (settled,) = yield from settle_steps([settlement], now_us)
    return settled


def _query(wish: Ask) -> Query:
    return Query(_texts(wish.statement), wish.values)


@cache
def _texts(statement: Statement) -> dict[Style, str]:
    percent = pyformat(statement.name, source(PACKAGE, statement.name)).text
    return {Style.NAMED: statement.text, Style.PYFORMAT: percent}
