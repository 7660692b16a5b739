"""The floor on PostgreSQL: asyncpg, one process, one connection, batches of 500."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import asyncpg
import msgspec

from benchmarks.pace import Pace
from mainspring.ports.clock import monotonic, utc_now
from mainspring.ports.entropy import new_job_id
from mainspring.store.statements import Statement, numbered

BATCH: Final = 500
_FOLDER: Final = Path(__file__).parent / "postgres"
#: As the product has it: the table fills and empties, so statistics about it are always wrong.
_SETTINGS: Final = {
    "jit": "off",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "plan_cache_mode": "force_generic_plan",
}
_MARGIN: Final = timedelta(milliseconds=500)


def _statement(name: str) -> Statement:
    return numbered(name, (_FOLDER / f"{name}.sql").read_text(encoding="utf-8"))


class PostgresFloor:
    """Implements ``Floor``."""

    def __init__(self, dsn: str) -> None:
        """Live in the empty database that the DSN names."""
        self._dsn = dsn
        self._connection: asyncpg.Connection[asyncpg.Record]
        self._insert, self._claim, self._finish = map(_statement, ("insert", "claim", "finish"))

    async def open(self) -> None:
        self._connection = await self._connect()
        await self._connection.execute((_FOLDER / "schema.sql").read_text(encoding="utf-8"))

    async def insert(self, jobs: int) -> None:
        for start in range(0, jobs, BATCH):
            rows = [_new_row() for _ in range(min(BATCH, jobs - start))]
            await self._connection.execute(self._insert.text, *zip(*rows, strict=True))

    async def drain(self) -> int:
        # The watermark keeps dead index entries out of the claim; the product has one, too.
        since = datetime(1970, 1, 1, tzinfo=UTC)
        drained = 0
        while rows := await self._connection.fetch(self._claim.text, since, BATCH):
            since = max(row["due_at"] for row in rows) - _MARGIN
            for row in rows:
                await _nothing(**msgspec.json.decode(row["payload"]))
            await self._finish_all(self._connection, rows)
            drained += len(rows)
        return drained

    async def pick_up(self, pace: Pace) -> list[float] | None:
        """As the product does it: the hint leaves after the commit, on another connection."""
        others = [await self._connect() for _ in range(4)]
        submitter, sender, listener, finisher = others
        await sender.execute("SET synchronous_commit = off")
        heard = asyncio.Event()
        await listener.add_listener("floor", lambda *_: heard.set())
        committed: dict[bytes, float] = {}
        started: dict[bytes, float] = {}
        ended: asyncio.Queue[list[asyncpg.Record]] = asyncio.Queue()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._run_heard(heard, started, ended, pace.jobs))
            group.create_task(self._finish_ended(finisher, ended, pace.jobs))
            async for _ in pace.beats():
                row = _new_row()
                await submitter.execute(self._insert.text, *([value] for value in row))
                committed[row[0]] = monotonic()
                group.create_task(_tell(sender))
        for each in others:
            await each.close()
        return [started[job_id] - commit for job_id, commit in committed.items()]

    async def _run_heard(
        self,
        heard: asyncio.Event,
        started: dict[bytes, float],
        ended: "asyncio.Queue[list[asyncpg.Record]]",
        jobs: int,
    ) -> None:
        since = utc_now() - _MARGIN
        while len(started) < jobs:
            await heard.wait()
            heard.clear()
            rows = await self._connection.fetch(self._claim.text, since, BATCH)
            for row in rows:
                started[row["id"]] = monotonic()
                await _nothing(**msgspec.json.decode(row["payload"]))
            if rows:
                since = max(row["due_at"] for row in rows) - _MARGIN
                ended.put_nowait(rows)

    async def _finish_ended(
        self,
        finisher: "asyncpg.Connection[asyncpg.Record]",
        ended: "asyncio.Queue[list[asyncpg.Record]]",
        jobs: int,
    ) -> None:
        while jobs:
            rows = await ended.get()
            await self._finish_all(finisher, rows)
            jobs -= len(rows)

    async def _finish_all(
        self, connection: "asyncpg.Connection[asyncpg.Record]", rows: Sequence[asyncpg.Record]
    ) -> None:
        ids, attempts = [row["id"] for row in rows], [row["attempt"] for row in rows]
        await connection.execute(self._finish.text, ids, attempts)

    async def _connect(self) -> "asyncpg.Connection[asyncpg.Record]":
        connection = await asyncpg.connect(self._dsn, server_settings=_SETTINGS)
        await connection.set_type_codec(
            "uuid", schema="pg_catalog", encoder=bytes, decoder=bytes, format="binary"
        )
        return connection

    async def close(self) -> None:
        await self._connection.close()


def _new_row() -> tuple[bytes, datetime, int, str, str, str]:
    payload = msgspec.json.encode({}).decode()
    return new_job_id(), utc_now(), 2, "default", "nothing", payload


async def _tell(sender: "asyncpg.Connection[asyncpg.Record]") -> None:
    # Two hints at once are one: the listener looks for all that is there.
    with suppress(asyncpg.InterfaceError):
        await sender.execute("SELECT pg_notify('floor', '')")


async def _nothing() -> None:
    return None
