"""Schedules, their fires and their backfills, as every room names them.

A fire is one nominal occurrence: an instant that the schedule's rules name. The ledger keeps what
became of each one. A row of the ledger is about one fire, or about a span of fires that all came to
the same end (``sequence`` is ``SPAN``); manual fires have a sequence of their own.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from mainspring.domain.ids import SCHEDULE, show
from mainspring.domain.states import JobState

#: The sequence of a ledger row that stands for every fire from ``nominal_at`` to ``through``.
SPAN: Final = -1
#: The sequence of a fire that somebody asked for by hand, at the instant of asking.
MANUAL: Final = -2
#: Shards that schedules are spread over; a stable hash of the id, never negative.
SHARDS: Final = 256


class ScheduleState(StrEnum):
    """Where a schedule stands."""

    ACTIVE = "active"
    PAUSED = "paused"
    #: No fire will come any more: its end or its maximum was reached.
    EXHAUSTED = "exhausted"
    #: Kept for its ledger; fires no more.
    DELETED = "deleted"


class Outcome(StrEnum):
    """What became of a nominal fire. All but the first two say why there is no job of its own."""

    JOB = "job"
    #: A fire of the past that a backfill took up; its job comes when the backfill gets to it.
    BACKFILLED = "backfilled"
    #: One job stands for several fires; the ledger names that job.
    COALESCED = "coalesced_into"
    SKIPPED_OVERLAP = "skipped_overlap"
    SKIPPED_MISFIRE = "skipped_misfire"
    SKIPPED_PAUSED = "skipped_paused"
    #: Somebody asked to leave the next one out.
    SKIPPED_ON_REQUEST = "skipped_on_request"
    #: Missed, and older than the catch-up window when it could have been caught up.
    EXPIRED = "expired"
    #: Missed, and more were missed than ``max_missed`` allows to catch up; the newest were kept.
    DROPPED = "dropped"
    EXCLUDED_BY_CALENDAR = "excluded_by_calendar"
    DST_SKIPPED = "dst_skipped"


class Cause(StrEnum):
    """Why there is a fire."""

    SCHEDULE = "schedule"
    #: Its wall time does not exist; due at the end of the gap.
    DST_GAP = "dst_gap"
    CATCH_UP = "catch_up"
    BACKFILL = "backfill"
    MANUAL = "manual"


class Missed(msgspec.Struct, frozen=True):
    """The missed fires that one job stands for, besides its own; instants are seconds."""

    count: int
    first_at: int
    last_at: int
    #: There were more than were counted.
    is_least: bool = False


class FireRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the ledger, as it is written. ``(schedule, nominal_at, sequence)`` is unique."""

    #: In seconds; of a manual fire the instant of asking, in seconds with a fraction.
    nominal_at: float
    sequence: int = 0
    outcome: Outcome
    cause: Cause = Cause.SCHEDULE
    #: In milliseconds.
    due_ms: int
    #: Of a span its last fire, in seconds.
    through: int | None = None
    #: Of a span how many fires it has; ``None`` when nobody counted so far.
    count: int | None = 1
    #: The job, or with ``coalesced_into`` the job that stands for it.
    job_id: bytes | None = None
    backfill_id: bytes | None = None
    #: The wall time by the rule, where it is not the obvious one.
    local: str | None = None
    #: A sentence for people, where there is more to say.
    note: str | None = None
    missed: Missed | None = None


class Withdrawn(msgspec.Struct, frozen=True):
    """A row of the ledger that was taken back, because its fire is not due yet."""

    nominal_at: int
    sequence: int
    outcome: Outcome
    #: A job was taken back with it.
    had_job: bool


class FireView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A row of the ledger as people see it."""

    schedule_id: bytes
    nominal_at: datetime
    sequence: int
    outcome: Outcome
    cause: Cause
    due_at: datetime
    decided_at: datetime
    version: int
    through: datetime | None = None
    count: int | None = 1
    job_id: bytes | None = None
    backfill_id: bytes | None = None
    local: str | None = None
    note: str | None = None
    missed: Missed | None = None
    #: How its own job ended, kept longer than the job.
    job_state: JobState | None = None
    job_ended_at: datetime | None = None

    @property
    def is_span(self) -> bool:
        """Say whether the row stands for several fires."""
        return self.sequence == SPAN


class ScheduleView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A schedule as the store keeps it. ``spec``, ``calendars`` and ``cursor`` are JSON text."""

    id: bytes
    tenant: str
    name: str
    state: ScheduleState
    version: int
    spec: bytes
    cursor: bytes
    zones: int
    created_at: datetime
    updated_at: datetime
    updated_by: str
    #: Who keeps it up to date: ``app:NAME`` for those that are declared in code.
    owner: str | None = None
    #: The calendars that it heeds, as they were when it last changed.
    calendars: bytes | None = None
    #: When the scheduler looks at it next; ``None``: never by itself.
    look_at: datetime | None = None
    #: A fire is due and waits for the end of the schedule's live job.
    waiting: bool = False
    paused_at: datetime | None = None
    paused_by: str | None = None
    paused_reason: str | None = None
    paused_until: datetime | None = None

    @property
    def schedule_id(self) -> str:
        """Return the id as people see it: ``sch_…``."""
        return show(SCHEDULE, self.id)


class VersionView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a schedule was from an instant on (exclusive): for its audit."""

    schedule_id: bytes
    version: int
    spec: bytes
    zones: int
    #: Fires after this instant (seconds) are of this version, up to the next one's.
    from_at: int
    changed_at: datetime
    changed_by: str
    change: str
    calendars: bytes | None = None


class CalendarView(msgspec.Struct, frozen=True, kw_only=True):
    """A calendar as the store keeps it; ``definition`` is JSON text."""

    tenant: str
    name: str
    definition: bytes
    version: int
    updated_at: datetime
    updated_by: str


class BackfillView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A backfill and how far it is."""

    id: bytes
    schedule_id: bytes
    from_at: datetime
    until_at: datetime
    #: ``oldest`` or ``newest`` first.
    order: str
    concurrency: int
    state: str
    created_at: datetime
    created_by: str
    fires: int
    waiting: int = 0
    live: int = 0
    succeeded: int = 0


class FireOf(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the handler of a scheduled job may want to know of its fire."""

    schedule_id: bytes
    schedule: str
    nominal_at: datetime
    due_at: datetime
    zone: str
    cause: Cause
    sequence: int = 0
    local: str | None = None
    missed: Missed | None = None
    #: The newest fire before this one whose job succeeded.
    previous_success_at: datetime | None = None
