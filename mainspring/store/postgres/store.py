"""The PostgreSQL store, put together from its parts."""

from urllib.parse import urlsplit

from mainspring.domain.errors import ConfigError
from mainspring.ports.clock import Clock
from mainspring.store.postgres.access import Access
from mainspring.store.postgres.backfilling import Backfilling
from mainspring.store.postgres.control import Control
from mainspring.store.postgres.dispatch import Dispatch
from mainspring.store.postgres.failures import shown_address, unreadable_address
from mainspring.store.postgres.health import Health
from mainspring.store.postgres.ledger import Ledger
from mainspring.store.postgres.maintenance import Maintenance
from mainspring.store.postgres.operating import Operating
from mainspring.store.postgres.part import Pools
from mainspring.store.postgres.pool import Options, Pool
from mainspring.store.postgres.queries import Queries
from mainspring.store.postgres.schedules import Schedules
from mainspring.store.postgres.schema import Schema
from mainspring.store.postgres.sessions import Sessions
from mainspring.store.postgres.submission import Submission
from mainspring.store.postgres.wakeups import PostgresWakeups
from mainspring.store.postgres.walls import Wall, WalledPool
from mainspring.store.postgres.webhooks import Webhooks


class _Parts(
    Submission,
    Dispatch,
    Sessions,
    Control,
    Queries,
    Schedules,
    Ledger,
    Backfilling,
    Webhooks,
    Operating,
    Access,
    Maintenance,
    Health,
    Schema,
):
    """All parts, on whatever pools they are given."""


class PostgresStore(_Parts):
    """Implements ``Store``. Bound to the event loop in which it was opened."""

    def __init__(self, dsn: str, *, clock: Clock | None, options: Options) -> None:
        address = shown_address(dsn)

        def pool(role: str, size: int, *, pinned: bool) -> Pool:
            return Pool(dsn, address, options, role=role, size=size, pinned=pinned)

        pools = Pools(
            dispatch=pool("dispatch", options.dispatch_connections, pinned=True),
            submission=pool("submission", options.submission_connections, pinned=True),
            schedules=pool("schedules", options.schedules_connections, pinned=True),
            operations=pool("operations", options.operations_connections, pinned=True),
            general=pool("general", options.general_connections, pinned=False),
            tenants=pool("tenants", options.tenants_connections, pinned=False),
        )
        super().__init__(pools, clock, address)
        self._wakeups = PostgresWakeups(dsn, options)
        self._wall = Wall()

    def __repr__(self) -> str:
        return f"PostgresStore({self._address})"

    @property
    def wakeups(self) -> PostgresWakeups:
        """The hints of this store."""
        return self._wakeups

    async def start(self) -> None:
        """Begin; connects to nothing yet."""
        await self._wakeups.start()

    def bound(self, tenant: str) -> "BoundStore":
        """Return this store behind the wall of a tenant: row-level security."""
        return BoundStore(self, tenant)

    async def close(self) -> None:
        """Let go of all connections. The store cannot be used afterwards."""
        await self._wakeups.close()
        for pool in self._pools:
            await pool.close()


class BoundStore(_Parts):
    """Implements ``Store`` for one tenant, on the connections of one that is for all of them."""

    def __init__(self, store: PostgresStore, tenant: str) -> None:
        pool = WalledPool(store._pools.tenants, store._wall, tenant)
        super().__init__(Pools(*(pool for _ in Pools._fields)), store._clock, store._address)
        self._store = store

    def __repr__(self) -> str:
        return f"{self._store!r} behind a wall"

    @property
    def wakeups(self) -> PostgresWakeups:
        """The hints of the store; they tell of nobody's things."""
        return self._store.wakeups

    def bound(self, tenant: str) -> "BoundStore":
        """Return the store behind the wall of another tenant."""
        return self._store.bound(tenant)

    async def close(self) -> None:
        """Leave the connections to the store that they belong to."""


async def open_postgres(
    dsn: str, *, clock: Clock | None = None, options: Options | None = None
) -> PostgresStore:
    """Open the store at ``postgresql://…``.

    Nothing is connected until it is needed, so a process may start before its server; the first
    call then says ``ConnectionFailed``. ``clock`` replaces the server's clock in tests.
    """
    try:
        scheme = urlsplit(dsn).scheme
    except ValueError:
        raise unreadable_address() from None
    if scheme not in {"postgresql", "postgres"}:
        raise ConfigError(
            "the address of a PostgreSQL store begins with postgresql://",
            hint="for example postgresql://user@localhost:5432/mainspring",
        )
    store = PostgresStore(dsn, clock=clock, options=options or Options())
    await store.start()
    return store
