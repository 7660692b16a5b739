"""Which fires of the past a backfill takes up: named by the present rule, judged by the ledger."""

from collections import Counter
from datetime import datetime
from typing import Final

import msgspec

from mainspring.agenda.spec import read_spec, timetable_of
from mainspring.domain.errors import InvalidInput, LimitReached, NaiveDatetime
from mainspring.domain.limits import BACKFILL_FIRES_MAX, BACKFILL_JOBS_MAX
from mainspring.domain.names import check_choice, check_range
from mainspring.domain.schedule import BackfillView, FireView, Outcome, ScheduleView
from mainspring.domain.states import JobState
from mainspring.ports.schedules import NewBackfill, ScheduleRecords
from mainspring.ports.scheduling import BackfillAsk, Backfilled
from mainspring.registry.ledger import before_seconds, cursor_of, floor_seconds, rows_between
from mainspring.timetable.civil import moment

_OWN: Final = (Outcome.JOB, Outcome.BACKFILLED)


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The fires of a backfill, and how many of the range are left alone, by why."""

    schedule_id: bytes
    wanted: BackfillAsk
    rate: int
    fires: tuple[tuple[int, int], ...]
    left: dict[str, int]

    def new(self, backfill_id: bytes) -> NewBackfill:
        """Return the backfill to be stored."""
        return NewBackfill(
            id=backfill_id,
            schedule_id=self.schedule_id,
            from_at=before_seconds(self.wanted.from_at) + 1,
            until_at=floor_seconds(self.wanted.until_at),
            order=self.wanted.order,
            concurrency=self.wanted.concurrency,
            rate=self.rate,
            fires=self.fires,
        )

    def answer(self, backfill_id: bytes | None) -> Backfilled:
        """Return what people are told."""
        return Backfilled(
            id=backfill_id,
            fires=len(self.fires),
            left=self.left,
            first_at=moment(self.fires[0][0]) if self.fires else None,
            last_at=moment(self.fires[-1][0]) if self.fires else None,
        )


def taken(backfill: BackfillView) -> Backfilled:
    """Return what people are told who ask again for a backfill that is there already."""
    return Backfilled(id=backfill.id, fires=backfill.fires, left={})


async def choose(
    store: ScheduleRecords, view: ScheduleView, wanted: BackfillAsk, now: datetime
) -> Chosen:
    """Return which fires of a range are to be taken up, or raise what is wrong with asking so."""
    _check(wanted, now)
    timetable = timetable_of(view.spec, view.calendars)
    after, until = before_seconds(wanted.from_at), floor_seconds(wanted.until_at)
    named = timetable.between(after, until, BACKFILL_FIRES_MAX)
    if not named.is_complete:
        raise LimitReached(
            f"more than {BACKFILL_FIRES_MAX:,} fires from {wanted.from_at.isoformat()} on",
            hint=f"backfill in parts: the first until {moment(named.through):%Y-%m-%dT%H:%M:%SZ}",
            details={"fires_max": BACKFILL_FIRES_MAX, "through": moment(named.through)},
        )
    rows, _ = await rows_between(store, view.id, after, until)
    own = {(row.nominal_at, row.sequence): row for row in rows if row.sequence >= 0}
    through = cursor_of(view).through
    fires: list[tuple[int, int]] = []
    left: Counter[str] = Counter()
    for fire in named.fires:
        row = own.get((moment(fire.nominal_at), fire.sequence))
        why = "not_decided" if fire.nominal_at > through else _left(row, wanted)
        if why is None:
            fires.append((fire.nominal_at, fire.sequence))
        else:
            left[why] += 1
    return Chosen(
        schedule_id=view.id,
        wanted=wanted,
        rate=read_spec(view.spec).policies.catchup_rate,
        fires=tuple(fires),
        left=dict(left),
    )


def _left(row: FireView | None, wanted: BackfillAsk) -> str | None:
    """Return why a fire is left alone, or nothing for one that is taken up."""
    if row is None or row.outcome not in _OWN:
        return None
    if row.job_id is None:
        return "in_a_backfill"
    if row.job_state is None:
        return "live"
    if wanted.reprocess == "all":
        return None
    if row.job_state is JobState.SUCCEEDED:
        return "succeeded"
    return None if wanted.reprocess == "failed" else "failed"


def _check(wanted: BackfillAsk, now: datetime) -> None:
    for field, instant in (("from", wanted.from_at), ("until", wanted.until_at)):
        if instant.tzinfo is None:
            raise NaiveDatetime(f"{field}: {instant.isoformat()} has no time zone")
    if wanted.until_at < wanted.from_at:
        raise InvalidInput("until: it lies before from", hint="give the earlier instant first")
    if wanted.until_at > now:
        raise InvalidInput(
            f"until: {wanted.until_at.isoformat()} has not come yet",
            hint="a backfill is about the past; what is to come fires by itself",
        )
    check_range("concurrency", wanted.concurrency, 1, BACKFILL_JOBS_MAX)
    check_choice("order", wanted.order, ("oldest", "newest"))
    check_choice("reprocess", wanted.reprocess, ("none", "failed", "all"))
