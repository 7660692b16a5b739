"""What a judge is told about a schedule, and what it answers.

Nominal instants are whole seconds since 1970, everything else is milliseconds.
"""

import msgspec

from mainspring.domain.job import NewJob
from mainspring.domain.schedule import FireRow, FireView, Outcome, ScheduleState, Withdrawn
from mainspring.domain.states import JobState


class Cursor(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far a schedule has been decided. Kept as JSON text; the store does not look inside."""

    #: Every fire up to this instant has its outcome.
    through: int
    #: Fires of the next instant that have theirs, too.
    partial: int = 0
    #: Fires of the timetable that became jobs.
    fired: int = 0
    #: How many of the next instants are left out, because somebody asked for it.
    skip_next: int = 0
    #: When the newest caught-up job is due.
    released_ms: int = 0
    #: The next instant that is still to be decided, as it was known when this was written.
    next_at: int | None = None


class Live(msgspec.Struct, frozen=True):
    """The live job of a schedule that allows no overlap."""

    id: bytes
    state: JobState
    due_ms: int


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule under its row's guard: nothing of this changes until the ruling is carried out."""

    id: bytes
    tenant: str
    name: str
    state: ScheduleState
    version: int
    spec: bytes
    cursor: Cursor
    zones: int
    #: The store's clock.
    now_ms: int
    calendars: bytes | None = None
    live: Live | None = None
    #: A due fire waited for the end of the live job.
    waiting: bool = False
    #: When the newest of its exclusive jobs ended.
    freed_ms: int | None = None
    #: Its newest jobs to end that all went dead, since it was created or resumed: any other end
    #: begins the count anew. Counted where a number of them pauses the schedule.
    failures: int = 0
    paused_until_ms: int | None = None
    #: What was taken back for this ruling, because it was not due yet.
    withdrawn: tuple[Withdrawn, ...] = ()
    #: Rows of the ledger that the caller asked for.
    rows: tuple[FireView, ...] = ()


class NewFire(msgspec.Struct, frozen=True):
    """A row for the ledger. Its job is inserted if and only if the row is new."""

    row: FireRow
    job: NewJob | None = None


class Pause(msgspec.Struct, frozen=True):
    """Who paused a schedule, why, and until when."""

    reason: str
    by: str
    until_ms: int | None = None


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A new version of a schedule, for fires after ``from_at``."""

    from_at: int
    #: ``edited``, ``calendar``, ``zones``, ``adopted``.
    what: str
    spec: bytes
    calendars: bytes | None
    zones: int
    #: Who keeps it up to date from now on; ``None``: as before.
    owner: str | None = None
    #: Of the new spec's policies, which a store does not read; ``changes.edit`` fills them in.
    is_exclusive: bool = True
    pause_after_failures: int | None = None


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a schedule now. Carried out whole, or not at all."""

    cursor: Cursor
    state: ScheduleState
    #: When to look again; ``None``: when ``waiting`` ends, or somebody changes it.
    look_at_ms: int | None = None
    waiting: bool = False
    fires: tuple[NewFire, ...] = ()
    #: Live jobs to cancel before the fires are inserted; by force they are final at once.
    cancel: tuple[bytes, ...] = ()
    cancel_by_force: bool = False
    change: Change | None = None
    #: Set when it becomes paused by this ruling.
    pause: Pause | None = None
    #: From now on failures count anew (creation, resume).
    counts_anew: bool = False
    #: For the audit: what happened, in a word and in JSON text; empty when nobody asked for it.
    action: str = ""
    detail: str = "{}"
    #: Jobs that tell others of this ruling; inserted with it.
    notices: tuple[NewJob, ...] = ()


def rolled_back(standing: Standing) -> Standing:
    """Set the cursor back over what was taken back, so that it is decided anew."""
    taken = standing.withdrawn
    cursor = standing.cursor
    through = min([standing.now_ms // 1000, *(row.nominal_at - 1 for row in taken)])
    if cursor.through <= through and not taken:
        return standing
    skipped = {row.nominal_at for row in taken if row.outcome is Outcome.SKIPPED_ON_REQUEST}
    back = Cursor(
        through=min(cursor.through, through),
        partial=0 if taken or cursor.through > through else cursor.partial,
        fired=max(0, cursor.fired - sum(_was_fired(row) for row in taken)),
        skip_next=cursor.skip_next + len(skipped),
        released_ms=cursor.released_ms,
    )
    state = standing.state
    if state is ScheduleState.EXHAUSTED and taken:
        state = ScheduleState.ACTIVE
    return msgspec.structs.replace(standing, cursor=back, state=state, withdrawn=())


def _was_fired(row: Withdrawn) -> int:
    return int(row.had_job and row.outcome is Outcome.JOB)
