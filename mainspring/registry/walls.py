"""A store as one tenant may see it: what is not its own is not there.

The front desk works on this as on any store, so whatever it says of another tenant's things, in
words and in the questions that it asks, is what it says of things that do not exist.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec

from mainspring.domain.declared import Declared
from mainspring.domain.errors import Forbidden, NotFound
from mainspring.domain.ids import SCHEDULE, show
from mainspring.domain.job import (
    AttemptView,
    FailureGroup,
    HandlerInfo,
    JobFilter,
    JobView,
    NewJob,
    Page,
    QueueView,
    Receipt,
    Trend,
    WorkerView,
)
from mainspring.domain.outcome import LogLine
from mainspring.domain.schedule import (
    BackfillView,
    CalendarView,
    FireView,
    Outcome,
    ScheduleView,
    VersionView,
)
from mainspring.domain.states import JobState
from mainspring.ports.schedules import (
    CalendarChange,
    Judge,
    Judged,
    NewBackfill,
    NewSchedule,
    ScheduleFilter,
    ScheduleRecords,
)
from mainspring.ports.store import CancelResult, Wakeups

if TYPE_CHECKING:
    from mainspring.registry.desk import ClientStore

_Filter = TypeVar("_Filter", JobFilter, ScheduleFilter)


def refuse_other(tenant: str, named: str | None) -> None:
    """Refuse a tenant that is named and is not this one; whether it exists makes no difference."""
    if named is not None and named != tenant:
        raise Forbidden(
            f"tenant: {named[:64]!r} is not yours",
            hint=f"leave it out, or name {tenant}",
            details={"pointer": "/tenant"},
        )


class WalledJobs:
    """Jobs, queues, workers and handlers of one tenant."""

    def __init__(self, store: "ClientStore", tenant: str) -> None:
        """Show of this store what belongs to the tenant."""
        self._store = store
        self._tenant = tenant

    @property
    def wakeups(self) -> Wakeups:
        """Return the hints of the store; they tell of nobody's things."""
        return self._store.wakeups

    def bound(self, tenant: str) -> "ClientStore":
        """Return this store: it is bound already."""
        refuse_other(self._tenant, tenant)
        return self

    async def close(self) -> None:
        """Leave the store open: it belongs to whoever serves all tenants."""

    async def own(self, job_ids: Collection[bytes]) -> list[bytes]:
        """Return those jobs that are this tenant's, in the order given."""
        tenants = await self._store.tenants_of(job_ids)
        return [job_id for job_id in job_ids if tenants.get(job_id) == self._tenant]

    def narrowed(self, wanted: _Filter) -> _Filter | None:
        """Return a filter that admits this tenant's things alone; nothing if it excludes them."""
        if wanted.tenant not in (None, self._tenant):
            return None
        return msgspec.structs.replace(wanted, tenant=self._tenant)

    # --- coming in, and changing --------------------------------------------------------------

    async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
        for job in jobs:
            refuse_other(self._tenant, job.tenant)
        return await self._store.submit(jobs, repeated=repeated)

    async def cancel(
        self, job_ids: Sequence[bytes], *, reason: str, force: bool, actor: str
    ) -> list[CancelResult]:
        own = await self.own(job_ids)
        found = await self._store.cancel(own, reason=reason, force=force, actor=actor)
        results = {result.job_id: result for result in found}
        return [results.get(each) or CancelResult(each, None, changed=False) for each in job_ids]

    async def run_now(self, job_ids: Sequence[bytes], *, actor: str) -> list[bytes]:
        return await self._store.run_now(await self.own(job_ids), actor=actor)

    async def replay(
        self, job_ids: Sequence[bytes], *, payload: bytes | None, actor: str
    ) -> list[bytes]:
        return await self._store.replay(await self.own(job_ids), payload=payload, actor=actor)

    async def purge(self, job_ids: Sequence[bytes], *, actor: str) -> list[str]:
        return await self._store.purge(await self.own(job_ids), actor=actor)

    async def pause_queue(self, queue: str, *, reason: str, actor: str) -> bool:
        raise _shared("a queue cannot be paused")

    async def resume_queue(self, queue: str, *, actor: str) -> bool:
        raise _shared("a queue cannot be resumed")

    # --- looking ------------------------------------------------------------------------------

    async def now(self) -> datetime:
        return await self._store.now()

    async def get_job(self, job_id: bytes) -> JobView | None:
        found = await self._store.get_job(job_id)
        return found if found is not None and found.tenant == self._tenant else None

    async def get_states(self, job_ids: Collection[bytes]) -> dict[bytes, JobState]:
        return await self._store.get_states(await self.own(job_ids))

    async def tenants_of(self, job_ids: Collection[bytes]) -> dict[bytes, str]:
        return dict.fromkeys(await self.own(job_ids), self._tenant)

    async def list_jobs(self, wanted: JobFilter, *, limit: int, before: bytes | None) -> Page:
        narrowed = self.narrowed(wanted)
        if narrowed is None:
            return Page((), None)
        return await self._store.list_jobs(narrowed, limit=limit, before=before)

    async def list_groups(
        self, wanted: JobFilter, *, trend: Trend, limit: int
    ) -> list[FailureGroup]:
        narrowed = self.narrowed(wanted)
        if narrowed is None:
            return []
        return await self._store.list_groups(narrowed, trend=trend, limit=limit)

    async def list_attempts(self, job_id: bytes) -> list[AttemptView]:
        return await self._store.list_attempts(job_id) if await self.own([job_id]) else []

    async def list_logs(
        self, job_id: bytes, *, after: tuple[int, int] | None, limit: int
    ) -> list[LogLine]:
        if not await self.own([job_id]):
            return []
        return await self._store.list_logs(job_id, after=after, limit=limit)

    async def list_queues(self, tenant: str | None = None) -> list[QueueView]:
        refuse_other(self._tenant, tenant)
        return await self._store.list_queues(self._tenant)

    async def count_states(self, tenant: str | None = None) -> dict[JobState, int]:
        refuse_other(self._tenant, tenant)
        return await self._store.count_states(self._tenant)

    async def ask_drain(self, worker_id: bytes, *, actor: str) -> bool:
        if not await self.is_session_of(worker_id, self._tenant):
            raise _shared("this worker cannot be drained")
        return await self._store.ask_drain(worker_id, actor=actor)

    async def is_session_of(self, worker_id: bytes, tenant: str) -> bool:
        return tenant == self._tenant and await self._store.is_session_of(worker_id, tenant)

    async def list_workers(self, tenant: str | None = None) -> list[WorkerView]:
        refuse_other(self._tenant, tenant)
        return await self._store.list_workers(self._tenant)

    async def list_handlers(self, tenant: str | None = None) -> list[HandlerInfo]:
        refuse_other(self._tenant, tenant)
        known = Declared(await self._store.list_handlers()).of(self._tenant)
        return [known[kind] for kind in sorted(known)]


class Walled(WalledJobs):
    """With schedules, calendars and backfills of the tenant."""

    async def create_schedule(self, new: NewSchedule, judge: Judge, *, actor: str) -> Judged:
        refuse_other(self._tenant, new.tenant)
        return await self._records.create_schedule(new, judge, actor=actor)

    async def judge_named(
        self,
        schedule_ids: Sequence[bytes],
        judge: Judge,
        *,
        actor: str,
        rows: tuple[int, int] | None = None,
        calendar: CalendarChange | None = None,
    ) -> Judged:
        for schedule_id in sorted(set(schedule_ids)):
            await self._check_schedule(schedule_id)
        if calendar is not None:
            refuse_other(self._tenant, calendar.tenant)
        return await self._records.judge_named(
            schedule_ids, judge, actor=actor, rows=rows, calendar=calendar
        )

    async def get_schedule(self, schedule_id: bytes) -> ScheduleView | None:
        found = await self._records.get_schedule(schedule_id)
        return found if found is not None and found.tenant == self._tenant else None

    async def find_schedule(self, tenant: str, name: str) -> ScheduleView | None:
        refuse_other(self._tenant, tenant)
        return await self._records.find_schedule(tenant, name)

    async def list_schedules(
        self, wanted: ScheduleFilter, *, limit: int, after: bytes | None = None
    ) -> list[ScheduleView]:
        narrowed = self.narrowed(wanted)
        if narrowed is None:
            return []
        return await self._records.list_schedules(narrowed, limit=limit, after=after)

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
        if await self.get_schedule(schedule_id) is None:
            return []
        return await self._records.list_fires(
            schedule_id,
            after=after,
            until=until,
            outcomes=outcomes,
            limit=limit,
            newest_first=newest_first,
        )

    async def list_versions(self, schedule_id: bytes) -> list[VersionView]:
        if await self.get_schedule(schedule_id) is None:
            return []
        return await self._records.list_versions(schedule_id)

    async def list_calendars(self, tenant: str) -> list[CalendarView]:
        refuse_other(self._tenant, tenant)
        return await self._records.list_calendars(tenant)

    async def create_backfill(self, new: NewBackfill, *, actor: str) -> int:
        await self._check_schedule(new.schedule_id)
        return await self._records.create_backfill(new, actor=actor)

    async def list_backfills(self, schedule_id: bytes) -> list[BackfillView]:
        if await self.get_schedule(schedule_id) is None:
            return []
        return await self._records.list_backfills(schedule_id)

    async def tenant_of_backfill(self, backfill_id: bytes) -> str | None:
        found = await self._records.tenant_of_backfill(backfill_id)
        return found if found == self._tenant else None

    async def cancel_backfill(self, backfill_id: bytes, *, actor: str) -> bool:
        if await self.tenant_of_backfill(backfill_id) is None:
            return False
        return await self._records.cancel_backfill(backfill_id, actor=actor)

    async def _check_schedule(self, schedule_id: bytes) -> None:
        if await self.get_schedule(schedule_id) is None:
            shown = show(SCHEDULE, schedule_id)
            raise NotFound(f"there is no schedule {shown}", details={"schedule": shown})

    @property
    def _records(self) -> ScheduleRecords:
        # Clients mostly only submit; their store is not asked to know schedules until then.
        return cast("ScheduleRecords", self._store)


def _shared(what: str) -> Forbidden:
    return Forbidden(
        f"{what} on behalf of one tenant",
        hint="all tenants share it: ask an administrator of the installation",
    )
