"""What is due: the ruling that turns a schedule's next fires into jobs, or says why not.

On time, late, or ahead of time: a fire is *late* when it is turned into a job later than the
threshold, or when it waited for the live job of a schedule that defers. Late ones are judged by the
misfire policy together, those on time one instant after the other. A schedule that allows no
overlap gets one job at a time; what is left undecided waits for that job's end.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from mainspring.agenda.book import Book
from mainspring.agenda.standing import Pause, Ruling, Standing, rolled_back
from mainspring.domain.limits import HORIZON_SECONDS, PREPARE_FIRES_MAX, PREVIEW_FIRES_MAX
from mainspring.domain.schedule import Cause, Outcome, ScheduleState
from mainspring.domain.states import JobState
from mainspring.timetable.civil import NEVER
from mainspring.timetable.timetable import Fire

_HORIZON_MS: Final = HORIZON_SECONDS * 1000
_SCALE: Final = 1 << 17
#: What is looked at again is looked at again after a while, not at once.
_PROBE_MS: Final = 50

NewId = Callable[[], bytes]


def advance(standing: Standing, new_id: NewId, *, horizon_ms: int = _HORIZON_MS) -> Ruling:
    """Decide what is due, and prepare what soon will be."""
    if standing.state is not ScheduleState.ACTIVE:
        return _resting(standing, new_id, horizon_ms)
    book = Book(standing, new_id)
    policies = book.spec.policies
    limit = policies.pause_after_failures
    if limit is not None and standing.failures >= limit:
        reason = f"{standing.failures} failures in a row"
        return _paused(book, Pause(reason, "scheduler"))
    if limit is not None:
        # Whether it pauses is known only when the last job has ended: nothing is prepared.
        horizon_ms = 0
    live = standing.live if policies.is_exclusive else None
    if not _leave_out_wished(book, standing.now_ms + horizon_ms):
        return _ruling(book, live_due_ms=None if live is None else live.due_ms)
    if live is not None:
        met = _meet(book)
        if met is not None:
            return met
    _take_missed(book)
    # What is replaced makes room for what is due, never for what is prepared.
    _take_on_time(book, standing.now_ms + (0 if live else horizon_ms))
    if live is not None and not book.dues:
        return _ruling(book, live_due_ms=live.due_ms)
    return _ruling(book, cancel=() if live is None else (live.id,), horizon_ms=horizon_ms)


def _leave_out_wished(book: Book, bound_ms: int) -> bool:
    """Leave out the next instants that somebody asked to; false: there are more for another look.

    They come before anything else is decided: a wish is for the next instants, however late it is
    when they are looked at.
    """
    for _ in range(PREPARE_FIRES_MAX):
        nominal = book.next_nominal()
        if not book.skip_next or nominal is None or book.due_ms(nominal) > bound_ms:
            return True
        book.leave_out(nominal, Outcome.SKIPPED_ON_REQUEST)
        book.skip_next -= 1
    return not book.skip_next


def as_it_is(standing: Standing) -> Ruling:
    """Return the ruling that changes nothing about a schedule that rests."""
    is_paused = standing.state is ScheduleState.PAUSED
    return Ruling(
        cursor=standing.cursor,
        state=standing.state,
        look_at_ms=standing.paused_until_ms if is_paused else None,
        waiting=standing.waiting,
    )


def _resting(standing: Standing, new_id: NewId, horizon_ms: int) -> Ruling:
    """Leave it as it is, or end a pause that was for a while."""
    until = standing.paused_until_ms
    is_paused = standing.state is ScheduleState.PAUSED
    if is_paused and until is not None and until <= standing.now_ms:
        return resume(standing, new_id, horizon_ms=horizon_ms)
    return as_it_is(standing)


def resume(
    standing: Standing,
    new_id: NewId,
    *,
    catch_up: bool = False,
    horizon_ms: int = _HORIZON_MS,
) -> Ruling:
    """End a pause. What was not fired meanwhile was not missed, unless it is to be caught up.

    One that is not paused goes on as it was: somebody else was quicker.
    """
    standing = rolled_back(standing)
    if standing.state is not ScheduleState.PAUSED:
        return advance(standing, new_id, horizon_ms=horizon_ms)
    book = Book(standing, new_id)
    if not catch_up:
        # What is due, not what is nominal: with jitter the last one may still be ahead.
        last = book.last_due(standing.now_ms)
        if last is not None:
            book.forget_wishes(last)
            book.leave_out(last, Outcome.SKIPPED_PAUSED)
        book.advance_to_now()
    active = msgspec.structs.replace(
        standing,
        state=ScheduleState.ACTIVE,
        cursor=book.cursor,
        waiting=standing.waiting and catch_up,
        failures=0,
        paused_until_ms=None,
    )
    ruling = advance(active, new_id, horizon_ms=horizon_ms)
    return msgspec.structs.replace(
        ruling,
        fires=(*book.fires, *ruling.fires),
        counts_anew=True,
        action="schedule.resume",
    )


# --- a live job is in the way -----------------------------------------------------------------


def _meet(book: Book) -> Ruling | None:
    """Rule on fires that meet a live job; ``None``: it is replaced, or nothing wants its place."""
    standing, overlap = book.standing, book.spec.policies.overlap
    live = standing.live
    assert live is not None
    first = book.next_nominal()
    if first is None or book.due_ms(first) > standing.now_ms:
        return _ruling(book, live_due_ms=live.due_ms)
    if overlap == "replace" or (overlap == "cancel_running" and not _is_worth_a_job(book)):
        return None
    if overlap == "skip":
        last = book.last_due(standing.now_ms)
        book.leave_out(first if last is None else last, Outcome.SKIPPED_OVERLAP)
        return _ruling(book, live_due_ms=live.due_ms)
    wanted = overlap == "cancel_running" and live.state is not JobState.CANCELLING
    return Ruling(
        cursor=book.cursor,
        state=ScheduleState.ACTIVE,
        waiting=True,
        fires=tuple(book.fires),
        cancel=(live.id,) if wanted else (),
    )


# --- late fires -------------------------------------------------------------------------------


def _edges(book: Book) -> tuple[int, int]:
    """Return up to which due instant fires were missed, and up to which they are too old."""
    policies, standing = book.spec.policies, book.standing
    missed = standing.now_ms - policies.misfire_threshold_seconds * 1000 - 1
    if _has_waited(book):
        missed = max(missed, _freed_ms(standing))
    if policies.catchup_window_seconds is None:
        return missed, 0
    # Only what was missed can be too old to be caught up, however short the window is.
    return missed, min(missed, standing.now_ms - policies.catchup_window_seconds * 1000 - 1)


def _has_waited(book: Book) -> bool:
    """Say whether a due fire waited for the end of the live job, as its policy wants."""
    return book.standing.waiting and book.spec.policies.overlap == "defer"


def _freed_ms(standing: Standing) -> int:
    """Return when the job ended that was waited for."""
    freed = standing.now_ms if standing.freed_ms is None else standing.freed_ms
    return min(freed, standing.now_ms)


def _is_worth_a_job(book: Book) -> bool:
    """Say whether a due fire will become a job, once there is room for it."""
    newest = _newest_due(book)
    missed, expired = _edges(book)
    is_skipped = book.spec.policies.misfire == "skip" and not book.standing.waiting
    given_up = book.last_due(missed if is_skipped else expired)
    return newest is not None and (given_up is None or newest > given_up)


def _take_missed(book: Book) -> None:
    policies, standing = book.spec.policies, book.standing
    edge, oldest = _edges(book)
    expired = book.last_due(oldest)
    if expired is not None:
        book.leave_out(expired, Outcome.EXPIRED)
    last = book.last_due(edge)
    if last is None:
        return
    misfire = policies.misfire
    if _newest_is_wanted(book) and (standing.waiting or misfire == "fire_all"):
        misfire = "fire_once"
    if misfire == "skip":
        met = book.last_due(_freed_ms(standing)) if _has_waited(book) else None
        if met is not None:
            book.leave_out(met, Outcome.SKIPPED_OVERLAP)
        # What came after the live job's end was in nobody's way, only late.
        book.leave_out(last, Outcome.SKIPPED_MISFIRE)
    elif misfire == "fire_once":
        _once(book, last)
    else:
        _each(book, last)


def _once(book: Book, last: int) -> None:
    """One job for all that was missed: the next one on time if it is due, else the newest."""
    newest = _newest_due(book)
    if newest is not None and newest > last:
        book.owe(last)
        return
    before = book.timetable.previous_at(last)
    if before is not None and before > book.through:
        book.owe(before)
    due = book.due_ms(last)
    _take_instant(book, last, Cause.CATCH_UP, due_ms=due, is_one=True)


def _each(book: Book, last: int) -> None:
    """One job for each of the newest that were missed, oldest first, so many a minute."""
    most = book.spec.policies.max_missed
    oldest, fires = last, len(book.undecided_at(last))
    before = book.timetable.previous_at(oldest)
    while fires < most and before is not None and before > book.through:
        oldest, fires = before, fires + len(book.undecided_at(before))
        before = book.timetable.previous_at(oldest)
    if before is not None and before > book.through:
        book.leave_out(before, Outcome.DROPPED)
    if fires > most:
        book.leave_out_of(oldest, fires - most, Outcome.DROPPED)
    nominal = book.next_nominal()
    while nominal is not None and nominal <= last and _has_room(book):
        _take_instant(book, nominal, Cause.CATCH_UP, due_ms=None)
        nominal = book.next_nominal()


# --- fires on time ----------------------------------------------------------------------------


def _take_on_time(book: Book, bound_ms: int) -> None:
    if _newest_is_wanted(book):
        last = _newest_due(book)
        before = None if last is None else book.timetable.previous_at(last)
        if before is not None and before > book.through:
            book.owe(before)
    while _has_room(book):
        nominal = book.next_nominal()
        if nominal is None or (due := book.due_ms(nominal)) > bound_ms:
            return
        _take_instant(book, nominal, Cause.SCHEDULE, due_ms=due)


def _newest_due(book: Book) -> int | None:
    """Return the last undecided instant that is due and becomes a job, if any is."""
    found = book.last_due(book.now_ms)
    if book.spec.policies.misfire != "skip":
        return found
    while found is not None and all(fire.is_missed for fire in book.undecided_at(found)):
        found = book.timetable.previous_at(found)
        if found is not None and found <= book.through:
            found = None
    return found


def _newest_is_wanted(book: Book) -> bool:
    """Say whether a newer fire takes the place of an older one, rather than coming after it."""
    return book.spec.policies.overlap in ("cancel_running", "replace")


def _has_room(book: Book) -> bool:
    made = len(book.dues)
    return made == 0 if book.spec.policies.is_exclusive else made < PREPARE_FIRES_MAX


def _take_instant(
    book: Book, nominal: int, cause: Cause, *, due_ms: int | None, is_one: bool = False
) -> None:
    """Decide the fires of one instant: the regular one, and what a gap left over.

    Without a due instant each of them is released at the rate of caught-up jobs. ``is_one``: one
    job stands for all of them, whatever the misfire policy says.
    """
    fires = book.timetable.fires_at(nominal)[book.partial :]
    misfire = book.spec.policies.misfire
    if is_one or (misfire == "fire_all" and _newest_is_wanted(book)):
        misfire = "fire_once"
    if misfire == "skip":
        book.record([fire for fire in fires if fire.is_missed], Outcome.SKIPPED_MISFIRE)
        fires = [fire for fire in fires if not fire.is_missed]
    is_exclusive = book.spec.policies.is_exclusive
    wanted = fires if misfire == "fire_all" else fires[:1]
    for fire in wanted:
        if (is_exclusive and book.dues) or book.is_full:
            # The rest of this instant waits for the job that was just made, or is over the maximum.
            return
        _fire(book, fire, cause, due_ms=due_ms)
        if misfire == "fire_all":
            book.partial += 1
    if misfire == "fire_once" and len(fires) > 1:
        book.record(fires[1:], Outcome.COALESCED, job_id=book.last_job)
    book.partial = 0
    book.advance(nominal)


def _fire(book: Book, fire: Fire, cause: Cause, *, due_ms: int | None) -> None:
    if cause is Cause.SCHEDULE and fire.is_missed:
        cause = Cause.DST_GAP
    due = book.release_ms() if due_ms is None else due_ms
    exclusive = book.spec.policies.is_exclusive
    book.fire(fire, cause, due_ms=due, lower=due_ms is None, exclusive=exclusive)


# --- when to look again -----------------------------------------------------------------------


def _ruling(
    book: Book,
    *,
    cancel: tuple[bytes, ...] = (),
    live_due_ms: int | None = None,
    horizon_ms: int = _HORIZON_MS,
) -> Ruling:
    nominal = book.next_nominal()
    if nominal is None:
        return _ended(book, cancel)
    is_exclusive = book.spec.policies.is_exclusive
    if is_exclusive and book.dues:
        live_due_ms = book.dues[-1]
    due = book.due_ms(nominal)
    waiting = is_exclusive and live_due_ms is not None and due <= book.now_ms
    if waiting and book.spec.policies.overlap != "defer":
        # The next look finds the live job and does with it what the policy says.
        waiting = False
    look = _look_at(book, due, live_due_ms if is_exclusive else None, horizon_ms)
    return Ruling(
        cursor=msgspec.structs.replace(book.cursor, next_at=nominal),
        state=ScheduleState.ACTIVE,
        look_at_ms=None if waiting else look,
        waiting=waiting,
        fires=tuple(book.fires),
        cancel=cancel,
        cancel_by_force=bool(cancel),
    )


def _ended(book: Book, cancel: tuple[bytes, ...]) -> Ruling:
    """No fire comes any more. What gaps and calendars take away at the end is written down yet."""
    ends_at = book.timetable.bounds.ends_at
    look = None
    if not book.is_full:
        rest = book.timetable.not_fired(book.through, ends_at, PREVIEW_FIRES_MAX)
        is_bounded = rest.is_complete or ends_at < NEVER - 1
        if rest.fires and is_bounded and rest.fires[-1].nominal_at * 1000 > book.now_ms:
            look = rest.fires[-1].nominal_at * 1000
        book.advance(min(ends_at, book.now_ms // 1000))
    return Ruling(
        cursor=book.cursor,
        state=ScheduleState.EXHAUSTED if look is None else ScheduleState.ACTIVE,
        look_at_ms=look,
        fires=tuple(book.fires),
        cancel=cancel,
        cancel_by_force=bool(cancel),
    )


def _look_at(book: Book, due: int, live_due_ms: int | None, horizon_ms: int) -> int:
    """Return when the next fire is worth a look: some time ahead, to prepare it, or when due."""
    now = book.now_ms
    if book.spec.policies.pause_after_failures is not None:
        return due
    if live_due_ms is not None:
        # While the last job is live nothing is prepared: look when it may have ended, by halves.
        begins = max(now, live_due_ms)
        soon = begins + max((due - begins) // 2, _PROBE_MS)
        return min(max(soon, due - _ahead(book, horizon_ms)), due)
    if due <= now:
        return now
    if len(book.dues) >= PREPARE_FIRES_MAX:
        return max(book.dues[len(book.dues) // 2], now + _PROBE_MS)
    if due - now < horizon_ms * 3 // 2:
        return now + max((due - now) // 2, min(_PROBE_MS, due - now))
    return due - _ahead(book, horizon_ms)


def _ahead(book: Book, horizon_ms: int) -> int:
    """Return how far ahead a schedule is prepared: spread, so that not all are at one moment."""
    dice = int.from_bytes(book.standing.id[-2:])
    return max(horizon_ms, _PROBE_MS) * ((1 << 16) + dice) // _SCALE


def _paused(book: Book, pause: Pause) -> Ruling:
    return Ruling(
        cursor=book.cursor,
        state=ScheduleState.PAUSED,
        look_at_ms=pause.until_ms,
        pause=pause,
        action="schedule.pause",
    )
