"""Schedules: what they are and were, what comes next, and what applying a set of them does."""

from datetime import UTC, datetime, timedelta
from typing import Final, Literal

import msgspec

from mainspring.agenda.spec import calendars_text, read_calendars
from mainspring.agenda.standing import Cursor
from mainspring.domain.ids import SCHEDULE, parse, show
from mainspring.domain.schedule import Outcome, ScheduleState, ScheduleView, VersionView
from mainspring.domain.states import JobState
from mainspring.ports.scheduling import (
    Application,
    Difference,
    Planned,
    PlannedAction,
    Preview,
    Upcoming,
)
from mainspring.timetable.definition import CalendarDefinition
from mainspring.wire.documents.calendars import CalendarBody, calendar_body
from mainspring.wire.documents.definitions import (
    DefinedDocument,
    ScheduleBody,
    defined,
    defined_text,
    schedule_body,
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
_MILLISECOND: Final = timedelta(milliseconds=1)


class HeededDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A calendar as it was when a schedule that heeds it last changed."""

    name: str
    entries: list[str]
    business_days: str


class DecidedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """How far a schedule has been decided: fires that are near have their jobs already."""

    #: Every fire up to this instant has its outcome.
    through: datetime
    #: Fires of the next instant that have theirs, too.
    partial: int = 0
    #: Fires that became jobs.
    fired: int = 0
    #: How many of the next fires are left out, because somebody asked for it.
    skip_next: int = 0
    #: When the newest caught-up job is due.
    released_at: datetime | None = None
    #: The next instant that is still to be decided.
    next_at: datetime | None = None


class UpcomingDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One of the next fires."""

    nominal_at: datetime
    #: With its jitter.
    due_at: datetime
    #: The wall time by the rule, and its zone.
    local: str
    zone: str
    #: What a clock change, a calendar or a wish makes of it.
    note: str = ""


class ScheduleDocument(DefinedDocument, frozen=True, kw_only=True):
    """A schedule: what its user decided, and where it stands."""

    name: str
    id: str
    tenant: str
    state: ScheduleState
    owner: str | None = None
    version: int
    #: A fire is due and waits for the end of the schedule's live job.
    waiting: bool = False
    paused_at: datetime | None = None
    paused_by: str | None = None
    paused_reason: str | None = None
    paused_until: datetime | None = None
    created_at: datetime
    updated_at: datetime
    updated_by: str
    #: When a scheduler looks at it next; null: never by itself.
    look_at: datetime | None = None
    #: The zone data that its fires were computed with, as a number.
    zones: int
    heeded: list[HeededDocument]
    decided: DecidedDocument
    # What is included on request.
    #: The rule in words.
    sentence: str | None = None
    next_at: datetime | None = None
    upcoming: list[UpcomingDocument] | None = None
    warnings: list[str] | None = None
    last_at: datetime | None = None
    last_outcome: Outcome | None = None
    last_job_state: JobState | None = None


def schedule_document(schedule: ScheduleView) -> ScheduleDocument:
    """Return a schedule as it is shown."""
    return ScheduleDocument(
        **defined(schedule.spec),
        name=schedule.name,
        id=schedule.schedule_id,
        tenant=schedule.tenant,
        state=schedule.state,
        owner=schedule.owner,
        version=schedule.version,
        waiting=schedule.waiting,
        paused_at=schedule.paused_at,
        paused_by=schedule.paused_by,
        paused_reason=schedule.paused_reason,
        paused_until=schedule.paused_until,
        created_at=schedule.created_at,
        updated_at=schedule.updated_at,
        updated_by=schedule.updated_by,
        look_at=schedule.look_at,
        zones=schedule.zones,
        heeded=_heeded(schedule.calendars),
        decided=_decided(schedule.cursor),
    )


def schedule_view(schedule: ScheduleDocument) -> ScheduleView:
    """Read a schedule back."""
    return ScheduleView(
        id=parse(SCHEDULE, schedule.id),
        tenant=schedule.tenant,
        name=schedule.name,
        state=schedule.state,
        version=schedule.version,
        spec=defined_text(schedule),
        cursor=_cursor(schedule.decided),
        zones=schedule.zones,
        created_at=schedule.created_at,
        updated_at=schedule.updated_at,
        updated_by=schedule.updated_by,
        owner=schedule.owner,
        calendars=_heeded_text(schedule.heeded),
        look_at=schedule.look_at,
        waiting=schedule.waiting,
        paused_at=schedule.paused_at,
        paused_by=schedule.paused_by,
        paused_reason=schedule.paused_reason,
        paused_until=schedule.paused_until,
    )


class ScheduleChanged(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a schedule that was to be changed."""

    id: str
    name: str
    #: False: it was so already.
    changed: bool
    state: ScheduleState


class PauseBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a schedule is paused, and until when."""

    reason: str = ""
    #: Without one it is paused until it is resumed.
    until: datetime | None = None


class ResumeBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a pause ends."""

    #: What was not fired meanwhile counts as missed.
    catch_up: bool = False


class FireBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a schedule is fired by hand."""

    #: Also while a job of it is live.
    despite_overlap: bool = False


class SkipBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many of the next fires are left out."""

    count: int = 1


class VersionDocument(DefinedDocument, frozen=True, kw_only=True):
    """What a schedule was from an instant on."""

    schedule_id: str
    version: int
    #: Fires after this instant are of this version, up to the next one's.
    from_at: datetime
    changed_at: datetime
    changed_by: str
    #: ``created``, ``edited``, ``calendar``: what made it another one.
    change: str
    zones: int
    heeded: list[HeededDocument]


def version_document(version: VersionView) -> VersionDocument:
    """Return a version as it is shown."""
    return VersionDocument(
        **defined(version.spec),
        schedule_id=show(SCHEDULE, version.schedule_id),
        version=version.version,
        from_at=instant_of(version.from_at),
        changed_at=version.changed_at,
        changed_by=version.changed_by,
        change=version.change,
        zones=version.zones,
        heeded=_heeded(version.calendars),
    )


def version_view(version: VersionDocument) -> VersionView:
    """Read a version back."""
    return VersionView(
        schedule_id=parse(SCHEDULE, version.schedule_id),
        version=version.version,
        spec=defined_text(version),
        zones=version.zones,
        from_at=seconds_of(version.from_at),
        changed_at=version.changed_at,
        changed_by=version.changed_by,
        change=version.change,
        calendars=_heeded_text(version.heeded),
    )


# --- what comes next ------------------------------------------------------------------------------


class PreviewDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What a schedule means."""

    #: ``at 09:00 on weekdays, New York time``.
    sentence: str
    upcoming: list[UpcomingDocument]
    #: What is allowed but may not be meant.
    warnings: list[str] = []


def upcoming_document(upcoming: Upcoming) -> UpcomingDocument:
    """Return one of the next fires as it is shown."""
    return UpcomingDocument(**msgspec.structs.asdict(upcoming))


def preview_document(preview: Preview) -> PreviewDocument:
    """Return what a schedule means as it is shown."""
    return PreviewDocument(
        sentence=preview.sentence,
        upcoming=[upcoming_document(each) for each in preview.upcoming],
        warnings=list(preview.warnings),
    )


def preview_of(preview: PreviewDocument) -> Preview:
    """Read back what a schedule means."""
    return Preview(
        sentence=preview.sentence,
        upcoming=tuple(Upcoming(**msgspec.structs.asdict(each)) for each in preview.upcoming),
        warnings=tuple(preview.warnings),
    )


# --- applying -------------------------------------------------------------------------------------


class ApplicationBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Schedules and calendars that are to be as they are written here."""

    schedules: list[ScheduleBody] = []
    calendars: list[CalendarBody] = []
    #: Who keeps them from now on; without one, whoever keeps one goes on.
    owner: str | None = None
    #: Remove what this owner declared before and does no more.
    prune: bool = False
    #: Take over what somebody else keeps.
    adopt: bool = False


class DifferenceDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One member of a schedule that a change sets."""

    field: str
    old: str
    new: str


class PlannedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one schedule or calendar when a set of them is applied."""

    what: Literal["schedule", "calendar"]
    name: str
    tenant: str
    #: ``none``: it is so already. ``leave``: declared no more, and kept because nobody prunes.
    action: PlannedAction
    sentence: str = ""
    differences: list[DifferenceDocument] = []
    #: Of a conflict: who keeps it.
    owner: str | None = None
    paused: bool = False


def application_body(wanted: Application) -> ApplicationBody:
    """Return the body of a set that is to be applied."""
    return ApplicationBody(
        schedules=[schedule_body(draft) for draft in wanted.schedules],
        calendars=[calendar_body(draft) for draft in wanted.calendars],
        owner=wanted.owner,
        prune=wanted.prune,
        adopt=wanted.adopt,
    )


def planned_document(planned: Planned) -> PlannedDocument:
    """Return one step of a plan as it is shown."""
    return PlannedDocument(
        what=planned.what,
        name=planned.name,
        tenant=planned.tenant,
        action=planned.action,
        sentence=planned.sentence,
        differences=[
            DifferenceDocument(field=each.field, old=each.old, new=each.new)
            for each in planned.differences
        ],
        owner=planned.owner,
        paused=planned.is_paused,
    )


def planned_of(planned: PlannedDocument) -> Planned:
    """Read one step of a plan back."""
    return Planned(
        what=planned.what,
        name=planned.name,
        tenant=planned.tenant,
        action=planned.action,
        differences=tuple(
            Difference(each.field, each.old, each.new) for each in planned.differences
        ),
        owner=planned.owner,
        is_paused=planned.paused,
        sentence=planned.sentence,
    )


# --- parts ----------------------------------------------------------------------------------------


def instant_of(seconds: int) -> datetime:
    """Return whole seconds since the epoch as an instant."""
    return _EPOCH + seconds * _SECOND


def seconds_of(instant: datetime) -> int:
    """Return an instant as whole seconds since the epoch."""
    return (instant - _EPOCH) // _SECOND


def _decided(text: bytes) -> DecidedDocument:
    cursor = msgspec.json.decode(text, type=Cursor)
    return DecidedDocument(
        through=instant_of(cursor.through),
        partial=cursor.partial,
        fired=cursor.fired,
        skip_next=cursor.skip_next,
        released_at=_EPOCH + cursor.released_ms * _MILLISECOND if cursor.released_ms else None,
        next_at=None if cursor.next_at is None else instant_of(cursor.next_at),
    )


def _cursor(decided: DecidedDocument) -> bytes:
    released = decided.released_at
    cursor = Cursor(
        through=seconds_of(decided.through),
        partial=decided.partial,
        fired=decided.fired,
        skip_next=decided.skip_next,
        released_ms=0 if released is None else (released - _EPOCH) // _MILLISECOND,
        next_at=None if decided.next_at is None else seconds_of(decided.next_at),
    )
    return msgspec.json.encode(cursor)


def _heeded(text: bytes | None) -> list[HeededDocument]:
    return [
        HeededDocument(name=each.name, entries=list(each.entries), business_days=each.business_days)
        for each in read_calendars(text)
    ]


def _heeded_text(heeded: list[HeededDocument]) -> bytes | None:
    return calendars_text(
        [
            CalendarDefinition(
                name=each.name, entries=tuple(each.entries), business_days=each.business_days
            )
            for each in heeded
        ]
    )
