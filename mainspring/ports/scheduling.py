"""What a client can ask about schedules: drafts that go in, and answers that come out."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, Protocol

import msgspec

from mainspring.domain.audit import Audited
from mainspring.domain.job import DEFAULT_TENANT
from mainspring.domain.schedule import (
    BackfillView,
    CalendarView,
    FireView,
    Outcome,
    ScheduleView,
    VersionView,
)
from mainspring.ports.gateway import Submission
from mainspring.ports.schedules import ScheduleFilter

#: Below, ``list`` is a method.
list_ = list

Reprocess = Literal["none", "failed", "all"]
Order = Literal["oldest", "newest"]


#: The note of an upcoming fire that somebody asked to leave out.
SKIPPED: Final = "left out on request"


class ScheduleDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule as somebody wants it: names and values as given, not yet validated."""

    name: str
    #: Rules that are united: cron, recurrence rules, intervals, dates.
    when: tuple[str, ...]
    #: The job of each fire; its tenant is the schedule's.
    work: Submission
    zone: str = "UTC"
    anchor: str | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    max_fires: int | None = None
    dst_gap: str = "policy"
    dst_fold: str = "first"
    #: Calendars that are left out, and those that are kept to.
    calendars: tuple[str, ...] = ()
    only_on: tuple[str, ...] = ()
    on_excluded: str = "skip"
    jitter_seconds: int = 0
    jitter_mode: str = "per_fire"
    #: Options of ``policies.firing`` by name, with any of their aliases.
    policies: dict[str, str | int | bool | None] = {}
    note: str = ""
    owner: str | None = None

    @property
    def tenant(self) -> str:
        """Return whose schedule it is to be."""
        return DEFAULT_TENANT if self.work.tenant is None else self.work.tenant


class CalendarDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A calendar as somebody wants it."""

    name: str
    entries: tuple[str, ...]
    business_days: str = "MON-FRI"
    #: ``None``: the writer's own, which is ``default`` for one that is bound to no tenant.
    tenant: str | None = None

    @property
    def home(self) -> str:
        """Return whose calendar it is to be."""
        return DEFAULT_TENANT if self.tenant is None else self.tenant


class Upcoming(msgspec.Struct, frozen=True, kw_only=True):
    """One of the next fires."""

    nominal_at: datetime
    #: With its jitter.
    due_at: datetime
    #: The wall time by the rule, and its zone.
    local: str
    zone: str
    #: What a clock change, a calendar or a wish makes of it.
    note: str = ""


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What a schedule means, before or after it is stored."""

    #: ``at 09:00 on weekdays, New York time``.
    sentence: str
    upcoming: tuple[Upcoming, ...]
    #: What is allowed but may not be meant.
    warnings: tuple[str, ...] = ()


class Difference(msgspec.Struct, frozen=True):
    """One member of a schedule that a change would set."""

    field: str
    old: str
    new: str


PlannedAction = Literal["create", "edit", "adopt", "remove", "none", "conflict", "leave"]


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one schedule or calendar when drafts are applied."""

    what: Literal["schedule", "calendar"]
    name: str
    tenant: str
    #: ``none``: it is so already. ``leave``: declared no more, and kept because nobody prunes.
    action: PlannedAction
    differences: tuple[Difference, ...] = ()
    #: Of a conflict: who keeps it.
    owner: str | None = None
    is_paused: bool = False
    #: What it says in words.
    sentence: str = ""

    @property
    def is_change(self) -> bool:
        """Say whether something is to be changed, or refused."""
        return self.action not in ("none", "leave")


class Application(msgspec.Struct, frozen=True, kw_only=True):
    """Schedules and calendars that are to be as they are drafted here."""

    schedules: tuple[ScheduleDraft, ...] = ()
    calendars: tuple[CalendarDraft, ...] = ()
    #: Who keeps them from now on; ``None``: nobody does, and whoever keeps one goes on.
    owner: str | None = None
    #: Remove what this owner declared before and does no more.
    prune: bool = False
    #: Take over what somebody else keeps.
    adopt: bool = False


class BackfillAsk(msgspec.Struct, frozen=True, kw_only=True):
    """Fires of the past that are wanted: from one instant to another, both included."""

    from_at: datetime
    until_at: datetime
    order: Order = "oldest"
    #: Its jobs that are live at once.
    concurrency: int = 1
    #: Fires that had a job of their own: none of them, those whose job failed, all of them.
    reprocess: Reprocess = "none"


class Backfilled(msgspec.Struct, frozen=True, kw_only=True):
    """What a backfill takes up, and what it leaves alone."""

    #: ``None``: nothing was changed, because nothing was to be, or only a preview was asked for.
    id: bytes | None
    fires: int
    #: Fires of the range that are left alone, by why.
    left: dict[str, int]
    first_at: datetime | None = None
    last_at: datetime | None = None


class ScheduleAudit(msgspec.Struct, frozen=True, kw_only=True):
    """The audit of one schedule's ledger."""

    schedule: ScheduleView
    audited: Audited
    #: Fires that are due and not decided yet: they wait for a job's end, a resume, a scheduler.
    undecided: int = 0
    undecided_since: datetime | None = None


class ScheduleGateway(Protocol):
    """All that a client can ask about schedules. ``schedule`` is a name, or an id as it is shown.

    A name is looked for in ``tenant``; ``None`` is the client's own, else ``default``.

    Bad input is refused before anything is stored. Every change may be repeated; unknown outcomes
    are settled inside. Raises ``NotFound`` with the nearest names for a schedule that is not there.
    """

    async def create(
        self, draft: ScheduleDraft, *, key: str | None = None, actor: str
    ) -> ScheduleView:
        """Make a schedule; its first fire comes after now. Raises ``ScheduleExists``.

        The same ``key`` with the same draft names the same schedule for a day at least, also when
        it was changed or removed since; with another draft: ``SubmissionKeyReused``.
        """
        ...

    async def edit(
        self, schedule: str, draft: ScheduleDraft, *, version: int | None = None, actor: str
    ) -> ScheduleView:
        """Make a schedule as drafted; what is not due yet is replaced in the same transaction.

        With a ``version``: only if it is still that one, or as drafted already, else ``Changed``. A
        pause stays.
        """
        ...

    async def apply(
        self, wanted: Application, *, dry_run: bool = False, actor: str
    ) -> list[Planned]:
        """Create and edit whatever differs, one after the other, after all were validated.

        A conflict stops it before anything is changed: ``Conflict``. With ``dry_run`` conflicts are
        part of the answer.
        """
        ...

    async def get(self, schedule: str, *, tenant: str | None = None) -> ScheduleView:
        """Return a schedule; by its id also one that was removed."""
        ...

    async def list(
        self, wanted: ScheduleFilter, *, limit: int = 50, after: bytes | None = None
    ) -> "list_[ScheduleView]":
        """Return schedules by id, oldest first, after the cursor."""
        ...

    async def versions(self, schedule: str, *, tenant: str | None = None) -> "list_[VersionView]":
        """Return what a schedule was, oldest first."""
        ...

    async def pause(
        self,
        schedule: str,
        *,
        reason: str = "",
        until: datetime | None = None,
        tenant: str | None = None,
        actor: str,
    ) -> bool:
        """Fire no more, until resumed or until an instant. False: it was so already."""
        ...

    async def resume(
        self,
        schedule: str,
        *,
        catch_up: bool = False,
        tenant: str | None = None,
        actor: str,
    ) -> bool:
        """End a pause; with ``catch_up`` what was not fired meanwhile was missed. False: none."""
        ...

    async def fire_now(
        self,
        schedule: str,
        *,
        despite_overlap: bool = False,
        tenant: str | None = None,
        key: str | None = None,
        actor: str,
    ) -> bytes:
        """Fire once by hand; return the job. Raises ``WouldOverlap`` beside a live one.

        The same ``key`` names the same job for an hour at least.
        """
        ...

    async def skip_next(
        self, schedule: str, count: int = 1, *, tenant: str | None = None, actor: str
    ) -> ScheduleView:
        """Leave out the next so many fires; none: take that back."""
        ...

    async def remove(
        self,
        schedule: str,
        *,
        cancel_live: bool = False,
        tenant: str | None = None,
        actor: str,
    ) -> bool:
        """Fire never again; the ledger stays. False: it was removed before."""
        ...

    async def backfill(
        self,
        schedule: str,
        wanted: BackfillAsk,
        *,
        dry_run: bool = False,
        tenant: str | None = None,
        key: str | None = None,
        actor: str,
    ) -> Backfilled:
        """Take up fires of the past, by the present rule; ``LimitReached`` when they are many.

        The same ``key`` with the same wish names the same backfill for a day at least.
        """
        ...

    async def backfills(self, schedule: str, *, tenant: str | None = None) -> "list_[BackfillView]":
        """Return a schedule's backfills, newest first."""
        ...

    async def cancel_backfill(self, backfill_id: bytes, *, actor: str) -> bool:
        """Take back what waits; live jobs go on. False: it had ended, or never was."""
        ...

    async def preview(self, draft: ScheduleDraft, *, count: int = 5) -> Preview:
        """Return what a draft means; raise whatever creating it would raise, but for its name."""
        ...

    async def next(self, schedule: str, *, count: int = 5, tenant: str | None = None) -> Preview:
        """Return what comes next of a schedule."""
        ...

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
    ) -> "list_[FireView]":
        """Return rows of the ledger, after one instant up to another."""
        ...

    async def audit(
        self,
        schedule: str,
        *,
        from_at: datetime | None = None,
        until_at: datetime | None = None,
        tenant: str | None = None,
    ) -> ScheduleAudit:
        """Compute anew what should have fired, and compare it with the ledger."""
        ...

    async def calendars(self, *, tenant: str | None = None) -> Sequence[CalendarView]:
        """Return the tenant's calendars by name."""
        ...

    async def calendar(self, name: str, *, tenant: str | None = None) -> CalendarView:
        """Return a calendar, or raise ``NotFound`` with the nearest names."""
        ...

    async def put_calendar(self, draft: CalendarDraft, *, actor: str) -> int:
        """Write a calendar; the schedules that heed it are judged anew in the same transaction.

        Returns how many those are.
        """
        ...

    async def remove_calendar(self, name: str, *, tenant: str | None = None, actor: str) -> None:
        """Delete a calendar that no schedule heeds; else ``Conflict``."""
        ...
