"""What people change: edits, pauses, fires by hand, fires left out, backfills.

Each is judged on a standing whose prepared fires were taken back, and settles first what is due by
the schedule as it was: nothing is forgotten because somebody changed it at the wrong moment.
"""

from itertools import zip_longest

import msgspec

from mainspring.agenda.book import Book, instant_of_ms, job_of
from mainspring.agenda.judge import NewId, advance, as_it_is
from mainspring.agenda.spec import read_spec
from mainspring.agenda.standing import (
    Change,
    Live,
    NewFire,
    Pause,
    Ruling,
    Standing,
    rolled_back,
)
from mainspring.domain.errors import NotFound, WouldOverlap
from mainspring.domain.ids import show_job
from mainspring.domain.job import NewJob, Priority
from mainspring.domain.schedule import (
    MANUAL,
    Cause,
    FireRow,
    Outcome,
    ScheduleState,
)
from mainspring.domain.states import JobState


def create(standing: Standing, new_id: NewId) -> Ruling:
    """Begin: nothing before now is ever fired, and the near future is prepared."""
    ruling = advance(standing, new_id)
    return msgspec.structs.replace(ruling, counts_anew=True, action="schedule.create")


def edit(standing: Standing, new_id: NewId, change: Change) -> Ruling:
    """Settle what is due, then go on with the new version from now on.

    What waits for the live job goes on waiting, unless the times are others now: then no rule names
    it any more. A schedule that was removed stays as it is.
    """
    before = rolled_back(standing)
    if before.state is ScheduleState.DELETED:
        return as_it_is(before)
    settled = _settled(before, new_id)
    after = _after(before, settled)
    keeps = _keeps_times(before, change)
    if keeps:
        book = Book(after, new_id)
        book.advance_to_now()
    else:
        book = _closed(after, new_id, "waited when the schedule was changed")
    policies = read_spec(change.spec).policies
    # A fire whose instant has passed, but not its delay by jitter, is the new version's, too.
    change = msgspec.structs.replace(
        change,
        from_at=book.through,
        is_exclusive=policies.is_exclusive,
        pause_after_failures=policies.pause_after_failures,
    )
    is_exhausted = before.state is ScheduleState.EXHAUSTED
    renewed = msgspec.structs.replace(
        after,
        spec=change.spec,
        calendars=change.calendars,
        zones=change.zones,
        cursor=book.cursor if keeps else msgspec.structs.replace(book.cursor, partial=0),
        state=ScheduleState.ACTIVE if is_exhausted else before.state,
        waiting=keeps and after.waiting,
    )
    ruling = _then(settled, renewed, new_id, tuple(book.fires))
    return msgspec.structs.replace(ruling, change=change, action=f"schedule.{change.what}")


def _keeps_times(standing: Standing, change: Change) -> bool:
    """Say whether a change leaves it alone when the schedule fires."""
    return (
        standing.calendars == change.calendars
        and read_spec(standing.spec).times == read_spec(change.spec).times
    )


def pause(standing: Standing, new_id: NewId, wanted: Pause) -> Ruling:
    """Settle what is due, then fire no more; what was prepared has been taken back."""
    before = _not_removed(standing)
    settled = _settled(before, new_id)
    return msgspec.structs.replace(
        settled,
        state=ScheduleState.PAUSED,
        look_at_ms=wanted.until_ms,
        pause=wanted,
        action="schedule.pause",
    )


def remove(standing: Standing, new_id: NewId, *, cancel_live: bool = False) -> Ruling:
    """Settle what is due, then never fire again. The ledger stays."""
    before = rolled_back(standing)
    if before.state is ScheduleState.DELETED:
        return as_it_is(before)
    settled = _settled(before, new_id)
    book = _closed(_after(before, settled), new_id, "waited when the schedule was removed")
    live = before.live
    cancel = settled.cancel
    if cancel_live and live is not None and live.id not in cancel:
        cancel = (*cancel, live.id)
    return msgspec.structs.replace(
        settled,
        cursor=book.cursor,
        fires=(*settled.fires, *book.fires),
        state=ScheduleState.DELETED,
        look_at_ms=None,
        waiting=False,
        cancel=cancel,
        action="schedule.remove",
    )


def leave(standing: Standing, new_id: NewId) -> Ruling:
    """Change nothing: what was taken back for this is prepared anew."""
    return _gone_on(rolled_back(standing), new_id)


def skip_next(standing: Standing, new_id: NewId, count: int) -> Ruling:
    """Leave out the next so many instants (none: take earlier wishes back).

    The next are those that nothing was decided about: one that waits for the live job is the first.
    """
    before = _not_removed(standing)
    unwished = msgspec.structs.replace(before.cursor, skip_next=0)
    settled = _settled(msgspec.structs.replace(before, cursor=unwished), new_id)
    after = _after(before, settled)
    cursor = msgspec.structs.replace(after.cursor, skip_next=count)
    ruling = _then(settled, msgspec.structs.replace(after, cursor=cursor), new_id)
    return msgspec.structs.replace(ruling, action="schedule.skip_next")


def fire_now(standing: Standing, new_id: NewId, *, despite_overlap: bool = False) -> Ruling:
    """Fire once by hand, now. It is no fire of the timetable and moves nothing.

    What is due is settled first, so that no fire of the timetable meets this one unasked.
    """
    before = _not_removed(standing)
    settled = _settled(before, new_id)
    after = _after(before, settled)
    is_exclusive = read_spec(before.spec).policies.is_exclusive and not despite_overlap
    if is_exclusive and after.live is not None:
        raise _overlapping(before, after.live)
    by_hand = _by_hand(before, new_id, alone=is_exclusive)
    assert by_hand.job is not None
    if is_exclusive:
        after = msgspec.structs.replace(after, live=_live_of(by_hand.job, before))
    ruling = _then(settled, after, new_id)
    return msgspec.structs.replace(
        ruling, fires=(by_hand, *ruling.fires), action="schedule.fire_now"
    )


def _overlapping(standing: Standing, live: Live) -> WouldOverlap:
    hint = "wait for it, cancel it, or ask for one beside it with --despite-overlap"
    if standing.live is None or standing.live.id != live.id:
        return WouldOverlap(
            f"a fire of the schedule {standing.name} is due at this moment, "
            "and the schedule allows no overlap",
            hint=hint,
        )
    return WouldOverlap(
        f"{show_job(live.id)} of the schedule {standing.name} is {live.state}, "
        "and the schedule allows no overlap",
        hint=hint,
        details={"job": show_job(live.id)},
    )


def _by_hand(standing: Standing, new_id: NewId, *, alone: bool) -> NewFire:
    asked_ms = standing.now_ms
    taken = {row.nominal_at for row in standing.rows if row.sequence == MANUAL}
    while instant_of_ms(asked_ms) in taken:
        # Somebody else asked within the same millisecond.
        asked_ms += 1
    job_id = new_id()
    job = job_of(standing, job_id, asked_ms // 1000, due_ms=standing.now_ms)
    key = job.effect_key
    if read_spec(standing.spec).work.effect_key is None:
        # Two fires by hand within a second are two effects.
        key = f"{key}.{asked_ms % 1000:03}"
    job = msgspec.structs.replace(
        job, nominal_at=instant_of_ms(asked_ms), effect_key=key, alone=alone
    )
    row = FireRow(
        nominal_at=asked_ms / 1000,
        sequence=MANUAL,
        outcome=Outcome.JOB,
        cause=Cause.MANUAL,
        due_ms=standing.now_ms,
        job_id=job_id,
    )
    return NewFire(row, job)


def rezone(standing: Standing, new_id: NewId, zones: int) -> Ruling:
    """Go on under new zone data: what was prepared by the old was taken back.

    Which fires are at other instants now is in the audit's detail: see ``Moved``. Where somebody
    else was quicker nothing changes.
    """
    if standing.zones >= zones:
        return leave(standing, new_id)
    change = Change(
        from_at=0,
        what="zones",
        spec=standing.spec,
        calendars=standing.calendars,
        zones=zones,
    )
    ruling = edit(standing, new_id, change)
    moved = Moved((standing.zones, zones), _moved(standing, ruling))
    return msgspec.structs.replace(ruling, detail=msgspec.json.encode(moved).decode())


class Moved(msgspec.Struct, frozen=True):
    """What new zone data did to fires that were known: prepared ones, and the next one."""

    #: The number of the zone data before and after.
    zones: tuple[int, int]
    #: Instants in seconds, before and after; ``None``: there is none any more, or was none yet.
    moved: tuple[tuple[int | None, int | None], ...]


def _moved(standing: Standing, ruling: Ruling) -> tuple[tuple[int | None, int | None], ...]:
    before = {row.nominal_at for row in standing.withdrawn if row.had_job}
    after = {int(fire.row.nominal_at) for fire in ruling.fires if fire.job is not None}
    before |= {standing.cursor.next_at or 0} - {0}
    after |= {ruling.cursor.next_at or 0} - {0}
    gone, come = sorted(before - after), sorted(after - before)
    # The new ones reach further than the old ones did: what lies beyond those was never known.
    known = sum(instant <= max(before, default=0) for instant in come)
    return tuple(zip_longest(gone, come[: max(known, len(gone))]))


def backfilled_job(
    standing: Standing,
    new_id: NewId,
    *,
    nominal_at: int,
    sequence: int,
    due_ms: int,
) -> NewJob:
    """Return the job of a fire of the past that a backfill takes up, one step below fresh ones."""
    job = job_of(standing, new_id(), nominal_at, due_ms=due_ms, sequence=sequence)
    return msgspec.structs.replace(job, priority=min(job.priority + 1, int(Priority.LOW)))


# --- steps ------------------------------------------------------------------------------------


def _not_removed(standing: Standing) -> Standing:
    """Return it with the cursor set back, or raise: a removed schedule is changed no more."""
    if standing.state is ScheduleState.DELETED:
        raise NotFound(f"the schedule {standing.name} was removed")
    return rolled_back(standing)


def _then(
    settled: Ruling, after: Standing, new_id: NewId, between: tuple[NewFire, ...] = ()
) -> Ruling:
    """Go on from a settled ruling, as one ruling with it."""
    if any(fire.job is not None and fire.job.alone for fire in settled.fires):
        # Its job is not there before this ruling is carried out: the next look deals with it.
        going_on = Ruling(cursor=after.cursor, state=after.state, look_at_ms=after.now_ms)
    else:
        going_on = _gone_on(after, new_id)
    return msgspec.structs.replace(
        going_on,
        fires=(*settled.fires, *between, *going_on.fires),
        cancel=tuple(dict.fromkeys((*settled.cancel, *going_on.cancel))),
        cancel_by_force=settled.cancel_by_force or going_on.cancel_by_force,
        pause=going_on.pause or settled.pause,
    )


def _settled(standing: Standing, new_id: NewId) -> Ruling:
    """Decide what is due and nothing ahead of it; a schedule that rests stays as it is."""
    if standing.state is not ScheduleState.ACTIVE:
        return as_it_is(standing)
    return advance(standing, new_id, horizon_ms=0)


def _closed(standing: Standing, new_id: NewId, note: str) -> Book:
    """Leave out what is due and was not decided: what waited, or came while it was paused."""
    book = Book(standing, new_id)
    waited = book.last_due(standing.now_ms)
    if waited is not None:
        is_paused = standing.state is ScheduleState.PAUSED
        reason = Outcome.SKIPPED_PAUSED if is_paused else Outcome.SKIPPED_OVERLAP
        book.leave_out(waited, reason, note=note)
    book.advance_to_now()
    return book


def _gone_on(standing: Standing, new_id: NewId) -> Ruling:
    """Decide and prepare as always; a schedule that rests stays as it is."""
    if standing.state is not ScheduleState.ACTIVE:
        return as_it_is(standing)
    return advance(standing, new_id)


def _after(standing: Standing, ruling: Ruling) -> Standing:
    """Return how a schedule stands when a ruling has been carried out."""
    made = [fire.job for fire in ruling.fires if fire.job is not None and fire.job.alone]
    live = standing.live
    if live is not None and live.id in ruling.cancel and ruling.cancel_by_force:
        live = None
    if made:
        live = _live_of(made[-1], standing)
    return msgspec.structs.replace(
        standing,
        cursor=ruling.cursor,
        state=ruling.state,
        live=live,
        waiting=ruling.waiting,
        withdrawn=(),
    )


def _live_of(job: NewJob, standing: Standing) -> Live:
    assert job.due_at is not None
    due_ms = round(job.due_at.timestamp() * 1000)
    state = JobState.READY if due_ms <= standing.now_ms else JobState.SCHEDULED
    return Live(job.id, state, due_ms)
