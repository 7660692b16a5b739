"""Schedules and calendars for code without an event loop: the same questions, each waits."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Unpack

from mainspring.app.declare import Call
from mainspring.app.handles import Handle
from mainspring.app.schedules import ScheduleOptions, When
from mainspring.client import scheduling
from mainspring.client.scheduling import Calendar, Schedule, Until
from mainspring.domain.schedule import BackfillView, FireView, Outcome, ScheduleState
from mainspring.ports.door import Door
from mainspring.ports.scheduling import (
    Application,
    Backfilled,
    CalendarDraft,
    Order,
    Planned,
    Preview,
    Reprocess,
    ScheduleAudit,
    ScheduleDraft,
)

#: Inside the namespaces ``list`` is a method.
list_ = list
_PAGE: Final = 500


class BlockingSchedules:
    """Schedules by name, or by id as it is shown: ``client.schedules``."""

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    def create(
        self,
        name: str,
        when: When,
        work: Call[Any] | str,
        payload: Mapping[str, Any] | None = None,
        /,
        **options: Unpack[ScheduleOptions],
    ) -> Schedule:
        """Make a schedule; its first fire comes after now.

        >>> client.schedules.create("nightly", "0 2 * * *", report.call("daily"), zone="UTC")
        """
        draft = scheduling.drafted(name, when, work, payload, options)
        return self._door.ask(scheduling.create(self._door, draft))

    def edit(
        self,
        schedule: str,
        /,
        *,
        when: When | None = None,
        work: Call[Any] | str | None = None,
        payload: Mapping[str, Any] | None = None,
        **options: Unpack[ScheduleOptions],
    ) -> Schedule:
        """Change some of a schedule; what is not due yet is replaced at once. A pause stays.

        >>> client.schedules.edit("nightly", when="30 2 * * *", misfire="fire_all")
        """
        asking = scheduling.edit(
            self._door, schedule, options, when=when, work=work, payload=payload
        )
        return self._door.ask(asking)

    def apply(
        self,
        *drafts: ScheduleDraft,
        calendars: Sequence[CalendarDraft] = (),
        dry_run: bool = False,
    ) -> "list_[Planned]":
        """Create or edit whatever differs from these; ``draft`` makes them."""
        wanted = Application(schedules=drafts, calendars=tuple(calendars))
        return self._door.ask(scheduling.apply(self._door, wanted, dry_run=dry_run))

    def draft(
        self,
        name: str,
        when: When,
        work: Call[Any] | str,
        payload: Mapping[str, Any] | None = None,
        /,
        **options: Unpack[ScheduleOptions],
    ) -> ScheduleDraft:
        """Return a schedule that is not stored yet: for ``preview`` and ``apply``."""
        return scheduling.drafted(name, when, work, payload, options)

    def get(self, schedule: str, *, tenant: str | None = None) -> Schedule:
        """Return a schedule, or raise ``NotFound`` with the nearest names."""
        return self._door.ask(scheduling.get(schedule, tenant))

    def list(
        self,
        *,
        states: Collection[ScheduleState | str] = (),
        owner: str | None = None,
        name_has: str | None = None,
        tenant: str | None = None,
        limit: int = _PAGE,
        after: str | None = None,
    ) -> "list_[Schedule]":
        """Return a page of schedules, oldest first; ``after`` continues from an id."""
        asking = scheduling.page(
            states=states, owner=owner, name_has=name_has, tenant=tenant, limit=limit, after=after
        )
        return self._door.ask(asking)

    def pause(
        self,
        schedule: str,
        *,
        reason: str = "",
        until: Until | None = None,
        tenant: str | None = None,
    ) -> bool:
        """Fire no more, until resumed or for a while; False: it was so already."""
        asking = scheduling.pause(self._door, schedule, reason, until, tenant)
        return self._door.ask(asking)

    def resume(self, schedule: str, *, catch_up: bool = False, tenant: str | None = None) -> bool:
        """End a pause; with ``catch_up`` what was not fired meanwhile was missed."""
        asking = scheduling.resume(self._door, schedule, catch_up=catch_up, tenant=tenant)
        return self._door.ask(asking)

    def fire_now(
        self, schedule: str, *, despite_overlap: bool = False, tenant: str | None = None
    ) -> Handle[Any]:
        """Fire once by hand; raise ``WouldOverlap`` beside a live job that allows no other."""
        asking = scheduling.fire_now(
            self._door, schedule, despite_overlap=despite_overlap, tenant=tenant
        )
        return self._door.ask(asking)

    def skip_next(self, schedule: str, count: int = 1, *, tenant: str | None = None) -> Schedule:
        """Leave out the next so many fires; none: take that back."""
        return self._door.ask(scheduling.skip_next(self._door, schedule, count, tenant))

    def remove(
        self, schedule: str, *, cancel_live: bool = False, tenant: str | None = None
    ) -> bool:
        """Fire never again; the ledger stays. False: it was removed before."""
        asking = scheduling.remove(self._door, schedule, cancel_live=cancel_live, tenant=tenant)
        return self._door.ask(asking)

    def backfill(  # noqa: PLR0913 - options, all by name
        self,
        schedule: str,
        from_at: datetime,
        until_at: datetime,
        *,
        order: Order = "oldest",
        concurrency: int = 1,
        reprocess: Reprocess = "none",
        dry_run: bool = False,
        tenant: str | None = None,
    ) -> Backfilled:
        """Take up fires of the past, both instants included, by the present rule."""
        wanted = scheduling.backfill_ask(from_at, until_at, order, concurrency, reprocess)
        asking = scheduling.backfill(self._door, schedule, wanted, dry_run=dry_run, tenant=tenant)
        return self._door.ask(asking)

    def backfills(self, schedule: str, *, tenant: str | None = None) -> "list_[BackfillView]":
        """Return a schedule's backfills, newest first."""
        return self._door.ask(scheduling.backfills(schedule, tenant))

    def cancel_backfill(self, backfill: str | bytes) -> bool:
        """Take back what waits; live jobs go on. False: it had ended."""
        return self._door.ask(scheduling.cancel_backfill(self._door, backfill))

    def preview(self, draft: ScheduleDraft, *, count: int = 5) -> Preview:
        """Return what a draft means: a sentence, its next fires, and what may not be meant."""
        return self._door.ask(scheduling.preview(draft, count))

    def next(self, schedule: str, *, count: int = 5, tenant: str | None = None) -> Preview:
        """Return what comes next of a schedule."""
        return self._door.ask(scheduling.coming(schedule, count, tenant))

    def history(
        self,
        schedule: str,
        *,
        after: datetime | None = None,
        until: datetime | None = None,
        outcomes: Collection[Outcome | str] = (),
        limit: int = _PAGE,
        tenant: str | None = None,
    ) -> "list_[FireView]":
        """Return rows of the ledger, newest first: what became of each fire."""
        asking = scheduling.history(
            schedule, after=after, until=until, outcomes=outcomes, limit=limit, tenant=tenant
        )
        return self._door.ask(asking)

    def audit(
        self,
        schedule: str,
        *,
        from_at: datetime | None = None,
        until_at: datetime | None = None,
        tenant: str | None = None,
    ) -> ScheduleAudit:
        """Compute anew what should have fired, and compare it with the ledger."""
        return self._door.ask(scheduling.audit(schedule, from_at, until_at, tenant))


class BlockingCalendars:
    """Calendars by name: ``client.calendars``."""

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    def list(self, *, tenant: str | None = None) -> "list_[Calendar]":
        """Return the tenant's calendars."""
        return self._door.ask(scheduling.calendars(tenant))

    def get(self, name: str, *, tenant: str | None = None) -> Calendar:
        """Return a calendar, or raise ``NotFound``."""
        return self._door.ask(scheduling.calendar(name, tenant))

    def put(
        self,
        name: str,
        entries: Sequence[str],
        *,
        business_days: str = "MON-FRI",
        tenant: str | None = None,
    ) -> int:
        """Write a calendar; return how many schedules heed it, which are judged anew at once."""
        asking = scheduling.put_calendar(self._door, name, entries, business_days, tenant)
        return self._door.ask(asking)

    def remove(self, name: str, *, tenant: str | None = None) -> None:
        """Delete a calendar that no schedule heeds."""
        self._door.ask(scheduling.remove_calendar(self._door, name, tenant))
