"""The floor on SQLite: sqlite3, one process, one connection, batches of 500, durable commits."""

import sqlite3
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.pace import Pace
from mainspring.ports.clock import utc_now
from mainspring.ports.entropy import new_job_id

BATCH: Final = 500
_FOLDER: Final = Path(__file__).parent / "sqlite"


class SqliteFloor:
    """Implements ``Floor``. Nothing here waits: the loop is its alone."""

    def __init__(self, path: Path) -> None:
        """Live in a new file."""
        self._path = path
        self._connection: sqlite3.Connection
        self._insert, self._claim, self._keep, self._remove = map(
            _text, ("insert", "claim", "keep", "remove")
        )

    async def open(self) -> None:
        self._connection = sqlite3.connect(self._path, isolation_level=None)
        # As the product has it: what was acknowledged survives a power cut.
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.executescript(_text("schema"))

    async def insert(self, jobs: int) -> None:
        for start in range(0, jobs, BATCH):
            at = _now_ms()
            rows = [
                {
                    "id": new_job_id(),
                    "at": at,
                    "priority": 2,
                    "queue": "default",
                    "kind": "nothing",
                    "payload": msgspec.json.encode({}).decode(),
                }
                for _ in range(min(BATCH, jobs - start))
            ]
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(self._insert, rows)
            self._connection.execute("COMMIT")

    async def drain(self) -> int:
        drained = 0
        while rows := self._claim_batch():
            for _, _, payload in rows:
                await _nothing(**msgspec.json.decode(payload))
            at = _now_ms()
            ended = [{"id": job_id, "attempt": attempt, "at": at} for job_id, attempt, _ in rows]
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(self._keep, ended)
            self._connection.executemany(self._remove, ended)
            self._connection.execute("COMMIT")
            drained += len(rows)
        return drained

    async def pick_up(self, pace: Pace) -> list[float] | None:
        return None

    async def close(self) -> None:
        self._connection.close()

    def _claim_batch(self) -> list[tuple[bytes, int, str]]:
        return self._connection.execute(
            self._claim, {"at": _now_ms(), "batch_size": BATCH}
        ).fetchall()


def _text(name: str) -> str:
    return (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")


def _now_ms() -> int:
    return int(utc_now().timestamp() * 1_000)


async def _nothing() -> None:
    return None
