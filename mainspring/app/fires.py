"""What a handler may know of the fire that its job is: ``ctx.fire``."""

from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from mainspring.domain.ids import SCHEDULE, show
from mainspring.domain.schedule import Cause, FireOf, Missed

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class MissedFires(msgspec.Struct, frozen=True):
    """The fires that were missed and for which this one stands, besides itself."""

    count: int
    first_at: datetime
    last_at: datetime
    #: There were more than were counted.
    is_least: bool = False


class Fire(msgspec.Struct, frozen=True, kw_only=True):
    """One fire of a schedule. ``nominal_at`` says what it is for, whenever its attempts begin.

    >>> @app.job()
    ... def bill(ctx: Context) -> None:
    ...     day = ctx.fire.nominal_at.date()
    """

    #: The schedule's name.
    schedule: str
    #: Its id: ``sch_…``.
    schedule_id: str = ""
    #: The instant that the schedule names, in UTC.
    nominal_at: datetime
    #: ``nominal_at`` with jitter, or when a late fire was caught up.
    due_at: datetime
    #: When this attempt began.
    started_at: datetime
    #: The schedule's zone.
    zone: str = "UTC"
    cause: Cause = Cause.SCHEDULE
    #: 0, except where a gap makes several wall times share one instant.
    sequence: int = 0
    missed: MissedFires | None = None
    #: The nominal instant of the newest earlier fire whose job succeeded.
    previous_success_at: datetime | None = None
    #: The wall time by the rule, where the clock never showed it.
    wall: str = ""

    @property
    def local(self) -> str:
        """Return the nominal wall time in the schedule's zone: ``2027-01-31T09:00:00``."""
        if self.wall:
            return self.wall
        from mainspring.timetable.civil import wall_text
        from mainspring.timetable.zones import zone

        instant = (self.nominal_at - _EPOCH) // timedelta(seconds=1)
        return wall_text(instant + zone(self.zone).offset_at(instant))


def fire_of(told: FireOf | None, started_at: datetime) -> Fire | None:
    """Return a fire as handlers see it."""
    if told is None:
        return None
    return Fire(
        schedule=told.schedule,
        schedule_id=show(SCHEDULE, told.schedule_id),
        nominal_at=told.nominal_at,
        due_at=told.due_at,
        started_at=started_at,
        zone=told.zone,
        cause=told.cause,
        sequence=told.sequence,
        missed=None if told.missed is None else _missed(told.missed),
        previous_success_at=told.previous_success_at,
        wall=told.local or "",
    )


def _missed(missed: Missed) -> MissedFires:
    first, last = (_EPOCH + timedelta(seconds=at) for at in (missed.first_at, missed.last_at))
    return MissedFires(missed.count, first, last, missed.is_least)
