"""The floor on PostgreSQL: asyncpg, one process, one connection, batches of 500."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import asyncpg
import msgspec

from mainspring.ports.clock import utc_now
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
        self._connection = await asyncpg.connect(self._dsn, server_settings=_SETTINGS)
        await self._connection.set_type_codec(
            "uuid", schema="pg_catalog", encoder=bytes, decoder=bytes, format="binary"
        )
        await self._connection.execute((_FOLDER / "schema.sql").read_text(encoding="utf-8"))

    async def insert(self, jobs: int) -> None:
        for start in range(0, jobs, BATCH):
            now = utc_now()
            rows = [
                (new_job_id(), now, 2, "default", "nothing", msgspec.json.encode({}).decode())
                for _ in range(min(BATCH, jobs - start))
            ]
            await self._connection.execute(self._insert.text, *zip(*rows, strict=True))

    async def drain(self) -> int:
        # The watermark keeps dead index entries out of the claim; the product has one, too.
        since = datetime(1970, 1, 1, tzinfo=UTC)
        drained = 0
        while rows := await self._connection.fetch(self._claim.text, since, BATCH):
            since = max(row["due_at"] for row in rows) - _MARGIN
            for row in rows:
                await _nothing(**msgspec.json.decode(row["payload"]))
            ids, attempts = [row["id"] for row in rows], [row["attempt"] for row in rows]
            await self._connection.execute(self._finish.text, ids, attempts)
            drained += len(rows)
        return drained

    async def close(self) -> None:
        await self._connection.close()


async def _nothing() -> None:
    return None
