"""What is asked about schedules: by name or id, and with the nearest names for a slip."""

import difflib
from collections.abc import Sequence
from datetime import datetime
from typing import Final, Protocol

from mainspring.domain.errors import NaiveDatetime, NotFound
from mainspring.domain.ids import SCHEDULE, parse, show
from mainspring.domain.job import DEFAULT_TENANT
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.names import check_range
from mainspring.domain.schedule import (
    BackfillView,
    CalendarView,
    FireView,
    Outcome,
    ScheduleState,
    ScheduleView,
    VersionView,
)
from mainspring.ports.schedules import ScheduleFilter, ScheduleRecords
from mainspring.ports.scheduling import Preview, ScheduleAudit
from mainspring.ports.store import Wakeups
from mainspring.registry import calendars, ledger
from mainspring.registry.drafts import is_id
from mainspring.registry.walls import refuse_other

#: Below, ``list`` is a method.
list_ = list
#: How many names a suggestion is searched in.
_NAMES_MAX: Final = 5_000


class SchedulingStore(ScheduleRecords, Protocol):
    """The part of a store that schedules need."""

    @property
    def wakeups(self) -> Wakeups:
        """Return the hints of this store."""
        ...

    async def now(self) -> datetime:
        """Return the store's clock."""
        ...


class ScheduleQuestions:
    """The part of the desk that changes nothing."""

    def __init__(self, store: SchedulingStore, *, only: str | None = None) -> None:
        """Ask this store; on behalf of one tenant alone, if one is given."""
        self.store = store
        self._only = only

    async def get(self, schedule: str, *, tenant: str | None = None) -> ScheduleView:
        """Return a schedule by name or id."""
        home = self.home(tenant)
        if is_id(schedule):
            found = await self.store.get_schedule(parse(SCHEDULE, schedule))
        else:
            found = await self.store.find_schedule(home, schedule)
        if found is None:
            raise await self._not_found(schedule, home)
        return found

    async def list(
        self, wanted: ScheduleFilter, *, limit: int = 50, after: bytes | None = None
    ) -> list_[ScheduleView]:
        """Return a page of schedules."""
        check_range("limit", limit, 1, PAGE_ITEMS_MAX)
        return await self.store.list_schedules(wanted, limit=limit, after=after)

    async def versions(self, schedule: str, *, tenant: str | None = None) -> list_[VersionView]:
        """Return what a schedule was."""
        return await self.store.list_versions((await self.get(schedule, tenant=tenant)).id)

    async def backfills(self, schedule: str, *, tenant: str | None = None) -> list_[BackfillView]:
        """Return a schedule's backfills, newest first."""
        view = await self.get(schedule, tenant=tenant)
        return await self.store.list_backfills(view.id)

    async def next(self, schedule: str, *, count: int = 5, tenant: str | None = None) -> Preview:
        """Return what comes next of a schedule."""
        view = await self.get(schedule, tenant=tenant)
        return await ledger.coming(self.store, view, await self.store.now(), count)

    async def history(  # noqa: PLR0913 - a question's options are its arguments
        self,
        schedule: str,
        *,
        after: datetime | None = None,
        until: datetime | None = None,
        outcomes: frozenset[Outcome] = frozenset(),
        limit: int = 50,
        newest_first: bool = True,
        tenant: str | None = None,
    ) -> list_[FireView]:
        """Return a page of the ledger."""
        check_range("limit", limit, 1, PAGE_ITEMS_MAX)
        view = await self.get(schedule, tenant=tenant)
        return await self.store.list_fires(
            view.id,
            after=aware("after", after),
            until=aware("until", until),
            outcomes=outcomes,
            limit=limit,
            newest_first=newest_first,
        )

    async def audit(
        self,
        schedule: str,
        *,
        from_at: datetime | None = None,
        until_at: datetime | None = None,
        tenant: str | None = None,
    ) -> ScheduleAudit:
        """Compare the ledger with what should have fired."""
        view = await self.get(schedule, tenant=tenant)
        asked = (aware("from", from_at), aware("until", until_at))
        return await ledger.audited(self.store, view, await self.store.now(), asked)

    async def calendars(self, *, tenant: str | None = None) -> Sequence[CalendarView]:
        """Return the tenant's calendars."""
        return await self.store.list_calendars(self.home(tenant))

    async def calendar(self, name: str, *, tenant: str | None = None) -> CalendarView:
        """Return a calendar."""
        return await calendars.find(self.store, name, self.home(tenant))

    def home(self, tenant: str | None) -> str:
        """Return whose things are meant: the tenant that was named, else the one of this desk."""
        if self._only is not None:
            refuse_other(self._only, tenant)
            return self._only
        return DEFAULT_TENANT if tenant is None else tenant

    async def every(self, wanted: ScheduleFilter) -> list_[ScheduleView]:
        """Return all schedules that a filter means."""
        found: list_[ScheduleView] = []
        after: bytes | None = None
        while True:
            page = await self.store.list_schedules(wanted, limit=PAGE_ITEMS_MAX, after=after)
            found += page
            if len(page) < PAGE_ITEMS_MAX:
                return found
            after = page[-1].id

    async def view(self, schedule_id: bytes) -> ScheduleView:
        found = await self.store.get_schedule(schedule_id)
        if found is None:
            raise NotFound(f"there is no schedule {show(SCHEDULE, schedule_id)}")
        return found

    def check_there(self, view: ScheduleView) -> None:
        if view.state is ScheduleState.DELETED:
            raise NotFound(
                f"the schedule {view.name} was removed",
                hint="its ledger is still there: mainspring schedules history " + view.schedule_id,
            )

    async def _not_found(self, schedule: str, tenant: str) -> NotFound:
        names: list_[str] = []
        after: bytes | None = None
        while len(names) < _NAMES_MAX and not is_id(schedule):
            page = await self.store.list_schedules(
                ScheduleFilter(tenant=tenant), limit=PAGE_ITEMS_MAX, after=after
            )
            names += (view.name for view in page)
            if len(page) < PAGE_ITEMS_MAX:
                break
            after = page[-1].id
        near = difflib.get_close_matches(schedule, names, 2)
        hint = "mainspring schedules ls shows what there is"
        if near:
            hint = f"did you mean {' or '.join(near)}?"
        elif not names and not is_id(schedule):
            hint = f"the tenant {tenant} has no schedules yet: mainspring schedules create"
        return NotFound(f"there is no schedule {schedule[:128]!r}", hint=hint)


def aware(field: str, instant: datetime | None) -> datetime | None:
    """Return an instant that has a zone, or raise."""
    if instant is not None and instant.tzinfo is None:
        raise NaiveDatetime(f"{field}: {instant.isoformat()} has no time zone")
    return instant
