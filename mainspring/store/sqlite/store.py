"""The SQLite store, put together from its parts."""

from os import PathLike, fspath

from mainspring.ports.clock import Clock
from mainspring.store.sqlite.access import Access
from mainspring.store.sqlite.backfills import Backfills
from mainspring.store.sqlite.connection import MEMORY, Settings
from mainspring.store.sqlite.control import Control
from mainspring.store.sqlite.direct import DirectEngine
from mainspring.store.sqlite.dispatch import Dispatch
from mainspring.store.sqlite.engine import Engine
from mainspring.store.sqlite.health import Health
from mainspring.store.sqlite.ledger import Ledger
from mainspring.store.sqlite.maintenance import Maintenance
from mainspring.store.sqlite.operating import Operating
from mainspring.store.sqlite.queries import Queries
from mainspring.store.sqlite.schedules import Schedules
from mainspring.store.sqlite.schema import Schema
from mainspring.store.sqlite.sessions import Sessions
from mainspring.store.sqlite.settling import Settling
from mainspring.store.sqlite.submission import Submission
from mainspring.store.sqlite.wakeups import SqliteWakeups
from mainspring.store.sqlite.webhooks import Webhooks


class SqliteStore(
    Submission,
    Dispatch,
    Settling,
    Sessions,
    Schedules,
    Ledger,
    Backfills,
    Webhooks,
    Control,
    Operating,
    Queries,
    Access,
    Maintenance,
    Health,
    Schema,
):
    """Implements ``Store`` and ``ScheduleStore``, for any event loop of this process."""

    def __repr__(self) -> str:
        return f"SqliteStore({self._engine.settings.path})"

    @property
    def wakeups(self) -> SqliteWakeups:
        """The hints of this store."""
        return self._engine.wakeups

    def bound(self, tenant: str) -> "SqliteStore":
        """Return this store: nothing in SQLite tells apart who asks."""
        del tenant
        return self

    async def close(self) -> None:
        """Finish what was accepted, then let go of threads and files. Again is harmless."""
        await self._engine.close()


async def open_sqlite(
    path: str | PathLike[str] = MEMORY,
    *,
    clock: Clock | None = None,
    busy_timeout_ms: int = Settings._field_defaults["busy_timeout_ms"],
    poll_ms: int = Settings._field_defaults["poll_ms"],
) -> SqliteStore:
    """Open the store in the file at ``path``, or in memory; the parent folder is created.

    What can never work is refused here: a folder, a read-only file, another application's
    database. Tables are created by ``migrate``. ``clock`` replaces this machine's clock in tests.
    """
    settings = Settings(fspath(path), busy_timeout_ms=busy_timeout_ms, poll_ms=poll_ms)
    engine = Engine(settings, clock)
    await engine.open()
    return SqliteStore(engine)


async def open_direct(*, clock: Clock | None = None) -> SqliteStore:
    """Open an empty store in memory that works in its callers' threads: nothing ever waits."""
    engine = DirectEngine(clock)
    await engine.open()
    return SqliteStore(engine)
