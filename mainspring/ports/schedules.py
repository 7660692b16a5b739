"""Schedules, their ledger, calendars and backfills, as the roles see them in a store.

Every change of a schedule goes the same way, in one transaction: the row is guarded, what was
prepared is taken back where that is asked for, a pure judge (``mainspring.agenda``) is handed the
``Standing`` and answers with a ``Ruling``, and the ruling is carried out. A judge is called on
whatever thread the store works on; it must not wait.

Carrying out a ruling: live jobs named in ``cancel`` are cancelled (by force: final at once); each
fire's row is inserted unless (schedule, nominal_at, sequence) is taken, and its job if and only if
the row was; then the schedule's row gets cursor, state, ``look_at``, ``waiting``, and with a
``change`` a new version (from its ``from_at``), its owner where it names one, and what it says of
the policies. Version 1 is from ``cursor.through`` at its creation. A ``Ruling.action`` that is not
empty goes into the audit; its ``notices`` are inserted whatever became of its fires. Rows up to
``Change.from_at`` are of the version before it.

A job that is ``alone`` while another such job of its schedule is live is not inserted, whatever the
judge believed: its row, and those that point to it, become ``skipped_overlap`` without a job.
Nothing else of the call suffers.

The ledger's row of a job is closed (``job_state``, ``job_ended_at``) by whatever ends the job, in
the same transaction; a replay opens it again, and the job is not ``alone`` any more.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, Literal, Protocol

import msgspec

from mainspring.agenda.standing import Ruling, Standing
from mainspring.domain.job import Claimed, NewJob
from mainspring.domain.schedule import (
    BackfillView,
    CalendarView,
    FireOf,
    FireView,
    Outcome,
    ScheduleState,
    ScheduleView,
    VersionView,
)

Judge = Callable[[Standing], Ruling]

#: Idle workers look by themselves more often than this; of what falls due sooner they are told.
TELL_AHEAD_MS: Final = 10_000


class NewSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule to be made. Its cursor begins at the store's now."""

    id: bytes
    tenant: str
    name: str
    spec: bytes
    calendars: bytes | None
    zones: int
    owner: str | None = None
    #: At most one of its jobs may be live (``Policies.is_exclusive``).
    is_exclusive: bool = True
    pause_after_failures: int | None = None


class Judged(msgspec.Struct, frozen=True):
    """What judging did: how many schedules were looked at, and where there is work now."""

    schedules: int
    #: Jobs that were inserted.
    jobs: int
    #: Queues that have got jobs which are due now, or will be within ``TELL_AHEAD_MS``.
    queues: frozenset[str]
    #: Workers that hold jobs which are being cancelled now.
    workers: frozenset[bytes]
    #: The ids of the jobs that were inserted, where one schedule was changed.
    job_ids: tuple[bytes, ...] = ()

    @property
    def topics(self) -> set[str]:
        """Return whom it concerns: what workers are to be told."""
        queues = {f"queue:{queue}" for queue in self.queues}
        return queues | {f"worker:{worker.hex()}" for worker in self.workers}


class ScheduleFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which schedules a list means; an empty filter means all that were not removed."""

    tenant: str | None = None
    states: frozenset[ScheduleState] = frozenset()
    owner: str | None = None
    #: Part of the name.
    name_has: str | None = None
    #: Heeds this calendar.
    calendar: str | None = None
    #: Computed under zone data older than this.
    zones_before: int | None = None
    #: Computed under zone data newer than this.
    zones_after: int | None = None
    with_deleted: bool = False


class NewBackfill(msgspec.Struct, frozen=True, kw_only=True):
    """Fires of the past that are to be taken up; each named by nominal instant and sequence."""

    id: bytes
    schedule_id: bytes
    from_at: int
    until_at: int
    order: Literal["oldest", "newest"]
    concurrency: int
    #: Jobs released a minute at most.
    rate: int
    fires: tuple[tuple[int, int], ...]


class Release(msgspec.Struct, frozen=True):
    """A fire of a backfill whose job is wanted now."""

    standing: Standing
    nominal_at: int
    sequence: int
    due_ms: int


class ScheduleRecords(Protocol):
    """What clients ask and change. Times that go in are seconds or milliseconds, as named."""

    async def create_schedule(self, new: NewSchedule, judge: Judge, *, actor: str) -> Judged:
        """Insert it with version 1, then judge it, in one transaction.

        The standing's cursor has ``through`` = the store's now in whole seconds. Raises
        ``ScheduleExists`` when the tenant has one of that name that was not removed; repeating it
        with the same id after an unknown outcome changes nothing (``schedules`` is 0).
        """
        ...

    async def judge_named(
        self,
        schedule_ids: Sequence[bytes],
        judge: Judge,
        *,
        actor: str,
        rows: tuple[int, int] | None = None,
        calendar: "CalendarChange | None" = None,
    ) -> Judged:
        """Guard these schedules (waiting for others), take back what is not due, and judge each.

        Taken back are jobs of fires with the causes ``schedule`` and ``dst_gap`` that were never
        begun and are due later than now, with their rows and with rows that point to them; and rows
        without a job whose nominal instant is later than now, or than the first of those fires. A
        span without a job that reaches beyond that ends there (at now, or at the second before that
        fire), uncounted. ``withdrawn`` is in the order of the ledger. ``rows``: the ledger from one
        nominal second to another (inclusive), with spans that reach into it, is
        handed to the judge, oldest first, after the taking back. ``calendar``: it is written in the
        same transaction; one that has this definition already stays as it is. All of them or none.
        Raises ``NotFound`` for an id that does not exist.
        """
        ...

    async def get_schedule(self, schedule_id: bytes) -> ScheduleView | None:
        """Return a schedule, removed ones too."""
        ...

    async def find_schedule(self, tenant: str, name: str) -> ScheduleView | None:
        """Return the schedule of this name that was not removed."""
        ...

    async def list_schedules(
        self, wanted: ScheduleFilter, *, limit: int, after: bytes | None = None
    ) -> list[ScheduleView]:
        """Return schedules by id, oldest first, after the cursor.

        Removed ones come with ``with_deleted``, or where their state is asked for.
        """
        ...

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
        """Return rows of the ledger by (nominal_at, sequence), after one instant up to another.

        A span counts where it begins; one that reaches into the range comes too.
        """
        ...

    async def list_versions(self, schedule_id: bytes) -> list[VersionView]:
        """Return what a schedule was, oldest first."""
        ...

    async def list_calendars(self, tenant: str) -> list[CalendarView]:
        """Return the tenant's calendars by name."""
        ...

    async def create_backfill(self, new: NewBackfill, *, actor: str) -> int:
        """Write the ledger's rows as ``backfilled`` and keep the backfill; return how many rows.

        A row that has no job of its own, or whose job has ended, becomes ``backfilled``: its former
        outcome is named in the note, and comes back if the backfill is cancelled first. A row whose
        job is live, or that waits in a backfill, is left alone. Repeating it with the same id
        changes nothing and returns the same. Raises ``NotFound`` for an unknown schedule.
        """
        ...

    async def list_backfills(self, schedule_id: bytes) -> list[BackfillView]:
        """Return a schedule's backfills, newest first, with their counts."""
        ...

    async def cancel_backfill(self, backfill_id: bytes, *, actor: str) -> bool:
        """Take back what waits; live jobs go on. False: it had ended, or never was.

        Rows that it wrote are deleted, rows that it took up are again what they were.
        """
        ...

    async def tenant_of_backfill(self, backfill_id: bytes) -> str | None:
        """Return whose schedule a backfill is of; ``None`` when there is no such backfill."""
        ...


class ScheduleStore(ScheduleRecords, Protocol):
    """Schedules and their ledger, with what goes on by itself."""

    async def judge_due(self, judge: Judge, *, zones: int, limit: int) -> Judged:
        """Judge schedules whose ``look_at`` has come, or whose waiting is over.

        Waiting is over when the schedule is active and no exclusive job of it is live any more.
        Those come first, then the others by ``look_at``, earliest first. Left out are schedules
        that somebody else judges at this moment, and those computed under zone data newer than
        ``zones``. Nothing is taken back.

        Repeating it after an unknown outcome is harmless: what was judged is judged anew.
        """
        ...

    async def next_look_ms(self, *, zones: int) -> int | None:
        """Return how long until a schedule is worth a look (0: now); ``None``: never.

        Rounded up to whole milliseconds. Schedules that wait for the end of a job, and backfills,
        do not count unless their wait is over: of a backfill, when there is a job to release, or
        when nothing is left to wait for.
        """
        ...

    async def fires_of(self, claimed: Sequence[Claimed]) -> dict[bytes, FireOf]:
        """Return by job what handlers may know of their fires; jobs without one are left out.

        The zone is that of the version that fired. The previous success is the nominal instant of
        the newest fire before this instant whose own job succeeded, however long ago.
        """
        ...

    async def release_backfills(self, make: Callable[[Release], NewJob], *, limit: int) -> Judged:
        """Insert the next jobs of active backfills: as many as their concurrency leaves room for.

        Live ones are counted, never kept in a counter. A job is due ``60/rate`` seconds after the
        one before it at the earliest. Its row is ``backfilled`` with the cause ``backfill`` and the
        schedule's present version. A backfill whose every fire has its job, and whose jobs have
        ended, is ``done``; one of a schedule that was removed is ``cancelled``. At most ``limit``
        jobs; older backfills first. ``schedules`` counts the backfills that were looked at.
        """
        ...

    async def forget_fires(self, before: datetime, *, limit: int) -> int:
        """Delete rows of the ledger that were decided before; return how many.

        Never a schedule's newest success, nor a row whose own job is live or still to come.
        """
        ...


class CalendarChange(msgspec.Struct, frozen=True, kw_only=True):
    """A calendar to be written; without a definition it is deleted."""

    tenant: str
    name: str
    definition: bytes | None
