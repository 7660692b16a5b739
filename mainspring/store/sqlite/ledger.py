"""The ledger: what became of fires, and how their jobs ended. ``ScheduleStore``'s part of it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from mainspring.domain.job import Claimed
from mainspring.domain.schedule import Cause, FireOf, FireView, Outcome
from mainspring.store.sqlite.instants import from_us, from_us_or_none, to_us
from mainspring.store.sqlite.packing import as_json, chunks, pack
from mainspring.store.sqlite.part import Part
from mainspring.store.sqlite.standings import fire_view, missed_decoder
from mainspring.store.sqlite.unit import Row, Unit

#: Before and after every instant that can be kept.
_ALWAYS_US: Final = -(2**62)
_NEVER_US: Final = 2**62
_NO_LIMIT: Final = -1


class _Times(msgspec.Struct, frozen=True):
    """What a spec says of its times, as far as it matters here."""

    zone: str = "UTC"


class _Spec(msgspec.Struct, frozen=True):
    """A spec, as far as it matters here."""

    times: _Times


_specs: Final = msgspec.json.Decoder(_Spec)


class Ledger(Part):
    """What became of fires."""

    async def list_fires(
        self,
        schedule_id: bytes,
        *,
        after: datetime | None = None,
        until: datetime | None = None,
        outcomes: frozenset[Outcome] = frozenset(),
        limit: int,
        newest_first: bool = True,
    ) -> list[FireView]:
        values = {
            "id": schedule_id,
            "after_at": _ALWAYS_US if after is None else to_us(after),
            "until_at": _NEVER_US if until is None else to_us(until),
            "outcomes": as_json(sorted(outcomes)) if outcomes else None,
            "page_size": limit,
        }
        name = "list_fires_newest" if newest_first else "list_fires_oldest"
        rows = await self._engine.read(lambda unit: unit.rows(name, values))
        return [fire_view(row) for row in rows]

    async def fires_of(self, claimed: Sequence[Claimed]) -> dict[bytes, FireOf]:
        fired = [job for job in claimed if job.schedule_id is not None]
        if not fired:
            return {}

        def work(unit: Unit) -> dict[bytes, FireOf]:
            found: dict[bytes, FireOf] = {}
            for part in chunks(fired):
                found |= {row[0]: _fire_of(row) for row in _find_fires(unit, part)}
            return found

        return await self._engine.read(work)

    async def forget_fires(self, before: datetime, *, limit: int) -> int:
        values = {"decided_before": to_us(before), "batch_size": limit}
        return await self._engine.write(lambda unit: unit.change("forget_fires", values))


def list_rows(unit: Unit, schedule_id: bytes, *, after_us: int, until_us: int) -> list[FireView]:
    """Return every row from after one instant up to another, oldest first."""
    values = {
        "id": schedule_id,
        "after_at": after_us,
        "until_at": until_us,
        "outcomes": None,
        "page_size": _NO_LIMIT,
    }
    return [fire_view(row) for row in unit.rows("list_fires_oldest", values)]


def _find_fires(unit: Unit, jobs: Sequence[Claimed]) -> list[Row]:
    nominal = [0 if job.nominal_at is None else to_us(job.nominal_at) for job in jobs]
    values = {
        "ids": pack(job.job_id for job in jobs),
        "schedules": pack(job.schedule_id or b"" for job in jobs),
        "entries": as_json(nominal),
    }
    return unit.rows("find_fires", values)


def _fire_of(row: Row) -> FireOf:
    _, schedule_id, name, nominal_us, due_us, spec, cause, sequence, local, missed, success = row
    return FireOf(
        schedule_id=schedule_id,
        schedule=name,
        nominal_at=from_us(nominal_us),
        due_at=from_us(due_us),
        zone=_specs.decode(spec).times.zone,
        cause=Cause(cause),
        sequence=sequence,
        local=local,
        missed=None if missed is None else missed_decoder.decode(missed),
        previous_success_at=from_us_or_none(success),
    )
