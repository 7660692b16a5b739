"""What every part of the store has at hand: its connections and its clock."""

from datetime import datetime
from typing import NamedTuple

from mainspring.ports.clock import Clock
from mainspring.store.postgres.pool import Pool


class Pools(NamedTuple):
    """The pools, by what goes over them."""

    dispatch: Pool
    submission: Pool
    schedules: Pool
    operations: Pool
    general: Pool
    tenants: Pool


class Part:
    """A part of the store: a protocol of ``ports.store`` and its statements."""

    def __init__(self, pools: Pools, clock: Clock | None, address: str) -> None:
        self._pools = pools
        self._clock = clock
        self._address = address

    def _at(self) -> datetime | None:
        """Return the instant that a test's clock shows; ``None`` lets the server's clock decide."""
        return None if self._clock is None else self._clock.now()
