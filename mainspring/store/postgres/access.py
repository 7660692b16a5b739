"""Keys, tenants and the audit: the steps of ``mainspring.store.access`` over asyncpg."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

import asyncpg

from mainspring.store.access import AccessPart, Dialect
from mainspring.store.auditing import Line
from mainspring.store.postgres.auditing import audit
from mainspring.store.postgres.part import Part
from mainspring.store.postgres.pool import follow, load
from mainspring.store.statements import Ask, Statement, Steps

_Result = TypeVar("_Result")


class Access(AccessPart, Part):
    """Implements ``KeyStore``, ``TenantStore`` and ``AuditStore``."""

    async def _write(self, steps: Callable[[Dialect], Steps[_Result]]) -> _Result:
        dialect = _Postgres(self._at())
        return await self._pools.general.transaction(
            lambda connection: follow(connection, steps(dialect))
        )

    async def _read(self, steps: Callable[[Dialect], Steps[_Result]]) -> _Result:
        asked = steps(_Postgres(self._at()))
        rows: Sequence[asyncpg.Record] | None = None
        while True:
            try:
                ask: Ask = next(asked) if rows is None else asked.send(rows)
            except StopIteration as end:
                result: _Result = end.value
                return result
            rows = await self._pools.general.fetch(ask.statement, ask.values, changes=False)


class _Postgres:
    """The dialect: instants and arrays travel as they are."""

    def __init__(self, at: datetime | None) -> None:
        self._at = at

    def ask(self, name: str, values: Mapping[str, object]) -> Ask:
        return Ask(_statement(name), {"at": self._at, **values})

    def audit(self, actor: str, action: str, lines: Sequence[Line]) -> Ask:
        return audit(self._at, actor, action, lines)

    def instant(self, instant: datetime | None) -> datetime | None:
        return instant

    def instant_of(self, kept: Any) -> datetime:
        instant: datetime = kept
        return instant

    def many(self, values: Collection[object]) -> list[object]:
        return list(values)


@cache
def _statement(name: str) -> Statement:
    return load(name)
