"""Keeping the house clean: partitions ahead, whole partitions away, expired keys out.

Every schema change waits a moment only for the tables it needs, and otherwise gives up until the
next step: behind a change that waits, everybody waits.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import asyncpg

from mainspring.domain.errors import MainspringError
from mainspring.domain.states import FINAL, JobState
from mainspring.ports.store import Retained
from mainspring.store.postgres import partitions
from mainspring.store.postgres.part import Part
from mainspring.store.postgres.partitions import Parent, Partition
from mainspring.store.postgres.pool import Connection, bind, load
from mainspring.store.statements import Statement

_NOW: Final = load("now")
_ENTER: Final = load("enter_maintenance")
_GIVE_UP_EARLY: Final = load("give_up_early")
_LIST: Final = load("list_partitions")
_PARTITION_SCRIPT: Final = load("partition_script")
_DROP_SCRIPT: Final = load("drop_script")
_TRIM_SCRIPT: Final = load("trim_script")
_REFERENCES: Final = load("partition_references")
_STATES: Final = load("get_states")
_FORGET_KEYS: Final = load("forget_keys")
_FORGET_SESSIONS: Final = load("forget_sessions")

# A job that was skipped was never attempted; every other final state has attempts and log lines.
_ATTEMPTED: Final = FINAL - {JobState.SKIPPED}


class Maintenance(Part):
    """Implements ``MaintenanceStore``."""

    async def prepare_partitions(self, days_ahead: int) -> list[str]:
        now = await self._now()
        present = set(await self._present())
        return [
            partition.name
            for partition in partitions.wanted(now, days_ahead)
            if partition.name not in present and await self._create(partition)
        ]

    async def apply_retention(self, keep_days: Mapping[JobState, int], *, limit: int) -> Retained:
        return await self._retain(_bounds(keep_days, await self._now()), limit)

    async def retain_audit(self, keep_days: int, *, limit: int) -> Retained:
        before = await self._now() - timedelta(days=keep_days)
        return await self._retain([(partitions.AUDIT, before)], limit)

    async def _retain(self, bounds: Iterable[tuple[Parent, datetime]], limit: int) -> Retained:
        present = await self._present()
        dropped: list[str] = []
        references: list[str] = []
        is_partial = False
        for parent, before in bounds:
            for name in present:
                partition = partitions.named(parent, name)
                if partition is None or present[name] != parent.name or partition.ends_at > before:
                    continue
                if len(references) >= limit:
                    return Retained(dropped, references, is_partial=True)
                references += await self._drop(partition)
                dropped.append(f"partition {name}")
            count, more = await self._trim(parent, before, limit)
            references += more
            if count:
                dropped.append(f"{count} rows of {parent.name}_default")
            is_partial |= count >= limit
        return Retained(dropped, references, is_partial)

    async def forget_expired(self, limit: int) -> int:
        values: dict[str, object] = {"at": self._at(), "row_limit": limit}
        keys = await self._pools.general.fetch(_FORGET_KEYS, values, changes=True)
        sessions = await self._pools.general.fetch(_FORGET_SESSIONS, values, changes=True)
        return len(keys) + len(sessions)

    async def _now(self) -> datetime:
        found = await self._pools.general.fetch(_NOW, {"at": self._at()}, changes=False)
        instant: datetime = found[0]["now"]
        return instant

    async def _present(self) -> dict[str, str]:
        """Return every partition by name, with its parent's name."""
        found = await self._pools.general.fetch(_LIST, {}, changes=False)
        return {row["name"]: row["parent"] for row in found}

    async def _create(self, partition: Partition) -> bool:
        values: dict[str, object] = {
            "parent": partition.parent.name,
            "name": partition.name,
            "time_column": partition.parent.time_column,
            "begins_at": partition.begins_at,
            "ends_at": partition.ends_at,
        }
        script = await self._script(_PARTITION_SCRIPT, values)
        try:
            await self._pools.general.script(_alone(script))
        except MainspringError:
            if partition.name in await self._present():
                # Another node was quicker.
                return False
            raise
        return True

    async def _drop(self, partition: Partition) -> list[str]:
        found: list[asyncpg.Record] = []
        if partition.parent.state is not None:
            # Rows of the past are not added any more: what is read here is what is dropped, but
            # for dead letters that come back meanwhile.
            values: dict[str, object] = {
                "state": partition.parent.state.value,
                "begins_at": partition.begins_at,
                "ends_at": partition.ends_at,
            }
            found = await self._pools.general.fetch(_REFERENCES, values, changes=False)
        script = await self._script(_DROP_SCRIPT, {"name": partition.name})
        try:
            await self._pools.general.script(_alone(script))
        except MainspringError:
            if partition.name not in await self._present():
                # Another node was quicker, and has the references.
                return []
            raise
        kept = await self._known([row["id"] for row in found])
        return _references([row for row in found if row["id"] not in kept])

    async def _known(self, job_ids: Sequence[bytes]) -> set[bytes]:
        """Return those jobs that are there: brought back before their partition was dropped."""
        if not job_ids:
            return set()
        values: dict[str, object] = {"at": None, "ids": job_ids, "finished_after": None}
        rows = await self._pools.general.fetch(_STATES, values, changes=False)
        return {row["id"] for row in rows}

    async def _script(self, statement: Statement, values: dict[str, object]) -> str:
        found = await self._pools.general.fetch(statement, values, changes=False)
        script: str = found[0]["script"]
        return script

    async def _trim(self, parent: Parent, before: datetime, limit: int) -> tuple[int, list[str]]:
        values: dict[str, object] = {
            "parent": parent.name,
            "time_column": parent.time_column,
            "before": before,
            "row_limit": limit,
        }

        async def work(connection: Connection) -> tuple[int, list[str]]:
            script = await connection.fetchval(_TRIM_SCRIPT.text, *bind(_TRIM_SCRIPT, values))
            found = await connection.fetch(script)
            return len(found), _references(found)

        return await self._pools.general.transaction(work)


def _bounds(keep_days: Mapping[JobState, int], now: datetime) -> Iterator[tuple[Parent, datetime]]:
    """Return each table to clean, and the instant before which its rows may go.

    Attempts and log lines belong to jobs of every state, so they stay as long as the longest.
    """
    for parent in partitions.HISTORY:
        days = None if parent.state is None else keep_days.get(parent.state)
        if days is not None:
            yield parent, now - timedelta(days=days)
    if keep_days.keys() >= _ATTEMPTED:
        before = now - timedelta(days=max(keep_days[state] for state in _ATTEMPTED))
        yield partitions.ATTEMPTS, before
        yield partitions.JOB_LOGS, before


def _alone(script: str) -> str:
    """Return the script with a short patience, and one such change at a time."""
    return f"{_GIVE_UP_EARLY.text}; {_ENTER.text}; {script}"


def _references(found: list[asyncpg.Record]) -> list[str]:
    return [
        reference
        for row in found
        for reference in (row["payload_ref"], row["result_ref"])
        if reference is not None
    ]
