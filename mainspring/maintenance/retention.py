"""How long jobs, the ledger of fires and the audit are kept, and the step that drops them."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final, Protocol

import msgspec

from mainspring.domain.limits import (
    AUDIT_DAYS,
    LEDGER_DAYS,
    OPERATION_DAYS,
    OPERATION_PREVIEW_HOURS,
)
from mainspring.domain.states import JobState
from mainspring.maintenance.files import FileSweeper
from mainspring.ports.blobs import BlobStore
from mainspring.ports.operations import OperationStore
from mainspring.ports.schedules import ScheduleStore
from mainspring.ports.store import MaintenanceStore, QueryStore
from mainspring.ports.webhooks import WebhookStore

KEEP_DAYS: Final[Mapping[JobState, int]] = {
    JobState.SUCCEEDED: 7,
    JobState.CANCELLED: 7,
    JobState.EXPIRED: 7,
    JobState.SKIPPED: 7,
    JobState.DEAD: 90,
}
_DAYS_AHEAD: Final = 14
_ROWS_A_STEP: Final = 5_000
_HOUR_SECONDS: Final = 3_600.0
_SOON_SECONDS: Final = 60.0
#: While there is a backlog: what comes in by the thousand a second must go as fast.
_AT_ONCE_SECONDS: Final = 1.0


class Swept(msgspec.Struct, frozen=True):
    """What one step did, in words for the log."""

    prepared: list[str]
    dropped: list[str]
    forgotten: int
    #: Files of jobs that are gone.
    files: int = 0
    #: More files wait to be looked at.
    is_partial: bool = False
    #: Something came to its bound: more of it can go.
    has_backlog: bool = False


class HouseStore(
    MaintenanceStore, QueryStore, ScheduleStore, WebhookStore, OperationStore, Protocol
):
    """The part of a store that housekeeping needs."""


class Housekeeping:
    """Partitions to come, history, keys and old fires to forget: once an hour, or on demand."""

    def __init__(
        self,
        store: HouseStore,
        *,
        blobs: BlobStore | None,
        keep_days: Mapping[JobState, int] = KEEP_DAYS,
        keep_audit_days: int = AUDIT_DAYS,
        rows_a_step: int = _ROWS_A_STEP,
    ) -> None:
        """Clean this store and the blobs that its history names."""
        self._rows_a_step = rows_a_step
        self._store = store
        self._blobs = blobs
        self._keep_days = keep_days
        self._keep_audit_days = keep_audit_days
        #: Objects whose rows are gone and whose deletion failed; tried again at each sweep.
        self._orphans: list[str] = []
        self._files = None if blobs is None else FileSweeper(store, blobs)

    async def sweep(self) -> Swept:
        """Do all of it once; bounded, so a large backlog takes several sweeps."""
        prepared = await self._store.prepare_partitions(_DAYS_AHEAD)
        limit = self._rows_a_step
        retained = await self._store.apply_retention(self._keep_days, limit=limit)
        audit = await self._store.retain_audit(self._keep_audit_days, limit=limit)
        self._orphans += retained.references
        expired = await self._store.forget_expired(limit)
        webhooks = await self._store.forget_webhooks(limit)
        now = await self._store.now()
        fires = await self._store.forget_fires(now - timedelta(days=LEDGER_DAYS), limit=limit)
        operations = await self._store.forget_operations(
            now - timedelta(days=OPERATION_DAYS),
            now - timedelta(hours=OPERATION_PREVIEW_HOURS),
            limit=limit,
        )
        # Last: an object store that is away must not keep the rows from going.
        if self._orphans and self._blobs is not None:
            await self._blobs.delete(self._orphans)
        self._orphans = []
        files, goes_on = (0, False) if self._files is None else await self._files.step()
        return Swept(
            prepared,
            retained.dropped + audit.dropped,
            expired + fires + operations + webhooks,
            files,
            goes_on,
            has_backlog=retained.is_partial
            or audit.is_partial
            or max(expired, fires, operations, webhooks) >= limit,
        )

    async def step(self) -> float:
        """Sweep, and return the seconds until the next one is due."""
        swept = await self.sweep()
        if swept.has_backlog:
            return _AT_ONCE_SECONDS
        # More of what was dropped may soon be old enough.
        is_busy = swept.dropped or swept.forgotten or swept.is_partial
        return _SOON_SECONDS if is_busy else _HOUR_SECONDS
