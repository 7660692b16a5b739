"""Keys, tenants and the audit: the steps of ``mainspring.store.access`` in one file."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from mainspring.store.access import AccessPart, Dialect
from mainspring.store.auditing import Line
from mainspring.store.sqlite.auditing import audit_ask
from mainspring.store.sqlite.instants import from_us, to_us
from mainspring.store.sqlite.packing import as_json
from mainspring.store.sqlite.part import Part
from mainspring.store.sqlite.unit import Unit, ask
from mainspring.store.statements import Ask, Steps

_Result = TypeVar("_Result")


class Access(AccessPart, Part):
    """Keys, tenants and the audit."""

    async def _write(self, steps: Callable[[Dialect], Steps[_Result]]) -> _Result:
        return await self._engine.write(lambda unit: _follow(unit, steps))

    async def _read(self, steps: Callable[[Dialect], Steps[_Result]]) -> _Result:
        return await self._engine.read(lambda unit: _follow(unit, steps))


def _follow(unit: Unit, steps: Callable[[Dialect], Steps[_Result]]) -> _Result:
    return unit.follow(steps(_Sqlite(unit.now_us)))


class _Sqlite:
    """The dialect: instants are microseconds, lists are JSON texts."""

    def __init__(self, now_us: int) -> None:
        self._now_us = now_us

    def ask(self, name: str, values: Mapping[str, object]) -> Ask:
        return ask(name, {"at": self._now_us, **values})

    def audit(self, actor: str, action: str, lines: Sequence[Line]) -> Ask:
        return audit_ask(self._now_us, actor, action, lines)

    def instant(self, instant: datetime | None) -> int | None:
        return None if instant is None else to_us(instant)

    def instant_of(self, kept: int) -> datetime:
        return from_us(kept)

    def many(self, values: Collection[object]) -> str:
        return as_json(values)
