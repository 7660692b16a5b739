"""Corners of the procedure where a fire could be lost, doubled, or decided by the wrong rule."""

from __future__ import annotations

import msgspec
import pytest

from mainspring.agenda import changes
from mainspring.agenda.book import Book
from mainspring.agenda.judge import advance, resume
from mainspring.agenda.standing import Change, Cursor, Pause, Standing
from mainspring.domain.errors import NotFound, WouldOverlap
from mainspring.domain.schedule import MANUAL, SPAN, Outcome, ScheduleState, Withdrawn
from tests.agenda.standings import (
    DAY,
    HOUR,
    JOB,
    MINUTE,
    NOON,
    at,
    blackout,
    ids,
    jobs_of,
    live,
    rows_of,
    spec_of,
    standing_of,
)

#: 02:00 to 02:59 do not exist on this night in New York; this is 03:00.
GAP_END = at("2027-03-14T07:00Z")
IN_NEW_YORK = {"zone": "America/New_York"}


def change_of(spec: bytes, what: str = "edited") -> Change:
    return Change(from_at=0, what=what, spec=spec, calendars=None, zones=202_606)


# --- the catch-up window ----------------------------------------------------------------------


@pytest.mark.parametrize("window", [0, 10, 59])
def test_a_fire_on_time_does_not_expire_however_short_the_window_is(window: int) -> None:
    spec = spec_of(catchup_window_seconds=window)
    standing = standing_of(spec, NOON + 59.5, through=NOON - 1)
    assert rows_of(advance(standing, ids(), horizon_ms=0)) == [(NOON, 0, "job")]


def test_what_is_missed_and_older_than_the_window_expires() -> None:
    spec = spec_of(catchup_window_seconds=10)
    standing = standing_of(spec, NOON + 61, through=NOON - HOUR - 1)
    assert rows_of(advance(standing, ids(), horizon_ms=0)) == [(NOON - HOUR, SPAN, "expired")]


def test_only_what_met_the_live_job_was_skipped_for_it() -> None:
    spec = spec_of("*/20 * * * *", misfire="skip")
    freed = NOON + 50 * MINUTE
    standing = standing_of(
        spec, NOON + 65 * MINUTE, through=NOON - 1, waiting=True, freed_ms=freed * 1000
    )
    assert rows_of(advance(standing, ids(), horizon_ms=0)) == [
        (NOON, SPAN, "skipped_overlap"),
        (NOON + HOUR, 0, "skipped_misfire"),
    ]


# --- wishes to leave out the next -------------------------------------------------------------


def test_a_wish_holds_for_the_instant_it_was_for_when_the_scheduler_comes_late() -> None:
    standing = standing_of(spec_of(), NOON + 30 * MINUTE, cursor=Cursor(NOON - 1, skip_next=1))
    ruling = advance(standing, ids(), horizon_ms=0)
    assert rows_of(ruling) == [(NOON, 0, "skipped_on_request")]
    assert ruling.cursor.skip_next == 0


def test_a_wish_for_one_does_not_swallow_what_was_missed() -> None:
    standing = standing_of(spec_of(), NOON + 1, through=NOON - 5 * HOUR - 1)
    ruling = changes.skip_next(standing, ids(), 1)
    assert jobs_of(ruling) == [NOON]
    (job,) = [fire for fire in ruling.fires if fire.job]
    assert job.row.missed is not None
    assert job.row.missed.count == 5
    assert ruling.cursor.skip_next == 1


def test_what_waits_for_the_live_job_is_the_next_one() -> None:
    standing = standing_of(spec_of(), NOON + 1, through=NOON - 1, live=live(NOON - HOUR))
    ruling = changes.skip_next(standing, ids(), 1)
    assert rows_of(ruling) == [(NOON, 0, "skipped_on_request")]
    assert not ruling.waiting


def test_wishes_pass_with_the_instants_that_a_pause_takes() -> None:
    paused = standing_of(
        spec_of(),
        NOON + 1,
        state=ScheduleState.PAUSED,
        cursor=Cursor(NOON - HOUR - 1, skip_next=3),
    )
    ruling = resume(paused, ids(), horizon_ms=0)
    assert rows_of(ruling) == [(NOON - HOUR, SPAN, "skipped_paused")]
    assert ruling.cursor.skip_next == 1


def test_many_wishes_are_bounded_and_looked_at_again_at_once() -> None:
    standing = standing_of(
        spec_of("* * * * *"), NOON, cursor=Cursor(NOON - DAY - 1, skip_next=1000)
    )
    ruling = advance(standing, ids())
    assert {outcome for _, _, outcome in rows_of(ruling)} == {"skipped_on_request"}
    assert len(ruling.fires) <= 100
    assert ruling.look_at_ms == NOON * 1000
    assert ruling.cursor.skip_next == 1000 - len(ruling.fires)


# --- the maximum of fires ---------------------------------------------------------------------


def test_a_gap_makes_no_more_jobs_than_the_maximum_allows() -> None:
    spec = spec_of(
        "*/20 2 * * *", times=IN_NEW_YORK | {"max_fires": 2}, misfire="fire_all", overlap="allow"
    )
    ruling = advance(standing_of(spec, GAP_END + 1, through=GAP_END - 1), ids())
    assert rows_of(ruling) == [(GAP_END, 0, "job"), (GAP_END, 1, "job")]
    assert ruling.state is ScheduleState.EXHAUSTED


def test_a_pause_of_an_exhausted_schedule_does_not_revive_it() -> None:
    spec = spec_of(times={"max_fires": 3}, overlap="allow")
    standing = standing_of(
        spec, NOON, cursor=Cursor(NOON - 5 * HOUR, fired=3), state=ScheduleState.EXHAUSTED
    )
    paused = changes.pause(standing, ids(), Pause("because", "me"))
    later = msgspec.structs.replace(standing, cursor=paused.cursor, state=paused.state)
    ruling = resume(later, ids(), catch_up=True)
    assert ruling.fires == ()
    assert ruling.state is ScheduleState.EXHAUSTED


def test_no_more_than_max_missed_are_caught_up_where_a_gap_has_several() -> None:
    spec = spec_of(
        "*/20 2 * * *", times=IN_NEW_YORK, misfire="fire_all", overlap="allow", max_missed=2
    )
    standing = standing_of(spec, GAP_END + HOUR, through=GAP_END - 1)
    assert rows_of(advance(standing, ids())) == [
        (GAP_END, 0, "dropped"),
        (GAP_END, 1, "job"),
        (GAP_END, 2, "job"),
    ]


# --- the newest takes the place of the older ones ---------------------------------------------


@pytest.mark.parametrize("overlap", ["replace", "cancel_running"])
@pytest.mark.parametrize("waiting", [False, True])
def test_a_gap_that_is_skipped_does_not_swallow_the_fire_before_it(
    overlap: str, *, waiting: bool
) -> None:
    # 01:59:30 by the clock, and a time that the clock leaves out; both are on time.
    spec = spec_of(
        "59 1 * * *",
        "30 2 * * *",
        times=IN_NEW_YORK,
        misfire="skip",
        overlap=overlap,
        misfire_threshold_seconds=3600,
    )
    standing = standing_of(
        spec, GAP_END + 30, through=GAP_END - 10 * MINUTE, waiting=waiting, freed_ms=GAP_END * 1000
    )
    first = advance(standing, ids(), horizon_ms=0)
    assert rows_of(first) == [(GAP_END - 60, 0, "job")]
    beside = msgspec.structs.replace(
        standing, cursor=first.cursor, live=live(GAP_END - 60), waiting=False
    )
    second = advance(beside, ids(), horizon_ms=0)
    assert rows_of(second) == [(GAP_END, 0, "skipped_misfire")]
    assert second.cancel == ()


@pytest.mark.parametrize("overlap", ["replace", "cancel_running"])
@pytest.mark.parametrize(
    ("policies", "outcome"),
    [({"misfire": "skip"}, "skipped_misfire"), ({"catchup_window_seconds": 60}, "expired")],
)
def test_a_missed_fire_that_becomes_no_job_cancels_none(
    overlap: str, policies: dict[str, object], outcome: str
) -> None:
    spec = spec_of(times=None, overlap=overlap, **policies)
    standing = standing_of(spec, NOON + 5 * MINUTE, through=NOON - 1, live=live(NOON - HOUR))
    ruling = advance(standing, ids())
    assert rows_of(ruling) == [(NOON, 0, outcome)]
    assert (ruling.cancel, ruling.waiting) == ((), False)


# --- caught-up jobs do not hold up those on time ----------------------------------------------


def test_a_slow_catch_up_rate_does_not_delay_the_fires_that_are_on_time() -> None:
    spec = spec_of(
        "* * * * *", misfire="fire_all", overlap="allow", catchup_rate=1, max_missed=1000
    )
    standing = standing_of(spec, NOON, through=NOON - 8 * HOUR)
    made = looks = 0
    while standing.cursor.through < NOON:
        ruling = advance(standing, ids())
        made += len(jobs_of(ruling))
        looks += 1
        assert looks < 20
        assert ruling.look_at_ms is not None
        assert ruling.look_at_ms >= standing.now_ms
        # Nobody waits for the jobs that are released one a minute.
        assert ruling.cursor.through >= NOON or ruling.look_at_ms == standing.now_ms
        standing = msgspec.structs.replace(standing, cursor=ruling.cursor)
    assert made >= 480


# --- the end ----------------------------------------------------------------------------------


def test_an_end_far_ahead_does_not_pull_the_cursor_over_what_may_be_edited_in() -> None:
    end = "2030-01-01T00:00:00Z"
    spec = spec_of(times={"max_fires": 1, "ends_at": end}, overlap="allow")
    ruling = advance(standing_of(spec, NOON, through=NOON - 1), ids())
    assert ruling.state is ScheduleState.EXHAUSTED
    assert ruling.cursor.through == NOON


def test_what_a_calendar_takes_away_at_the_end_is_written_when_it_has_passed() -> None:
    out, kept = blackout("2027-01-15")
    times = out | {"ends_at": "2027-01-15T23:00:00Z"}
    spec = spec_of("0 12 * * *", times=times)
    first = advance(standing_of(spec, NOON, through=NOON - 1, calendars=kept), ids())
    assert rows_of(first) == [(NOON, 0, "job")]
    assert first.state is ScheduleState.ACTIVE
    assert first.look_at_ms == (NOON + DAY) * 1000
    then = standing_of(spec, NOON + DAY, cursor=first.cursor, calendars=kept)
    last = advance(then, ids())
    assert rows_of(last) == [(NOON + DAY, 0, "excluded_by_calendar")]
    assert last.state is ScheduleState.EXHAUSTED


# --- changes ----------------------------------------------------------------------------------


def prepared(spec: bytes) -> Standing:
    """Return a schedule whose next fire was prepared, and taken back for a change."""
    return standing_of(
        spec,
        NOON - MINUTE,
        cursor=Cursor(NOON, fired=1),
        withdrawn=(Withdrawn(NOON, 0, Outcome.JOB, had_job=True),),
    )


def test_resuming_what_is_not_paused_gives_back_what_was_taken_back() -> None:
    ruling = resume(prepared(spec_of()), ids())
    assert jobs_of(ruling) == [NOON]
    assert ruling.cursor.fired == 1
    assert ruling.action == ""


def test_what_was_removed_is_changed_no_more() -> None:
    removed = standing_of(spec_of(), NOON, state=ScheduleState.DELETED)
    with pytest.raises(NotFound, match="was removed"):
        changes.pause(removed, ids(), Pause("because", "me"))
    with pytest.raises(NotFound, match="was removed"):
        changes.skip_next(removed, ids(), 1)
    with pytest.raises(NotFound, match="was removed"):
        changes.fire_now(removed, ids())
    for ruling in (changes.edit(removed, ids(), change_of(spec_of())), resume(removed, ids())):
        assert (ruling.state, ruling.change, ruling.fires) == (ScheduleState.DELETED, None, ())
        assert ruling.look_at_ms is None


@pytest.mark.parametrize("overlap", ["defer", "skip", "cancel_running", "replace"])
def test_a_fire_by_hand_does_not_meet_one_that_is_due(overlap: str) -> None:
    standing = standing_of(spec_of(overlap=overlap), NOON + 1, through=NOON - 1)
    with pytest.raises(WouldOverlap, match="due at this moment"):
        changes.fire_now(standing, ids())
    beside = changes.fire_now(standing, ids(), despite_overlap=True)
    assert rows_of(beside) == [(NOON + 1, MANUAL, "job"), (NOON, 0, "job")]
    assert beside.cancel == ()


def test_an_edit_of_the_work_leaves_what_waits_waiting() -> None:
    standing = standing_of(
        spec_of(), NOON + 1, through=NOON - 1, live=live(NOON - HOUR), waiting=True
    )
    ruling = changes.edit(standing, ids(), change_of(spec_of(max_missed=7)))
    assert ruling.change is not None
    assert ruling.change.from_at == NOON - 1
    assert (ruling.fires, ruling.waiting, ruling.cursor.through) == ((), True, NOON - 1)


def test_an_edit_of_the_work_keeps_the_rest_of_an_instant() -> None:
    spec = spec_of("*/20 2 * * *", times=IN_NEW_YORK, misfire="fire_all")
    standing = standing_of(
        spec, GAP_END + 1, cursor=Cursor(GAP_END - 1, partial=1), live=live(GAP_END), waiting=True
    )
    later = spec_of("*/20 2 * * *", times=IN_NEW_YORK, misfire="fire_all", max_missed=7)
    ruling = changes.edit(standing, ids(), change_of(later))
    assert ruling.cursor == Cursor(GAP_END - 1, partial=1)
    assert ruling.waiting


def test_an_edit_of_the_times_says_what_became_of_that_which_waited() -> None:
    standing = standing_of(
        spec_of(), NOON + 1, through=NOON - 1, live=live(NOON - HOUR), waiting=True
    )
    ruling = changes.edit(standing, ids(), change_of(spec_of("30 * * * *")))
    (fire,) = ruling.fires
    assert (fire.row.nominal_at, fire.row.outcome) == (NOON, Outcome.SKIPPED_OVERLAP)
    assert fire.row.note == "waited when the schedule was changed"


def test_a_change_never_cancels_a_job_that_it_makes_itself() -> None:
    spec = spec_of("* * * * *", misfire="fire_all")
    standing = standing_of(spec, NOON + 1, through=NOON - 10 * MINUTE)
    ruling = changes.edit(standing, ids(), change_of(spec_of("* * * * *", overlap="replace")))
    assert len(jobs_of(ruling)) == 1
    assert ruling.cancel == ()
    assert ruling.look_at_ms == (NOON + 1) * 1000


def test_a_pause_keeps_what_was_not_decided_for_a_resume_that_catches_up() -> None:
    paused = standing_of(
        spec_of(),
        NOON + 1,
        through=NOON - 3 * HOUR - 1,
        state=ScheduleState.PAUSED,
    )
    ruling = changes.edit(paused, ids(), change_of(spec_of(max_missed=7)))
    assert (ruling.fires, ruling.state) == ((), ScheduleState.PAUSED)
    later = msgspec.structs.replace(paused, cursor=ruling.cursor)
    assert jobs_of(resume(later, ids(), catch_up=True, horizon_ms=0)) == [NOON]


def test_a_removal_cancels_what_is_live_only_when_asked() -> None:
    standing = standing_of(spec_of(), NOON + 1, through=NOON, live=live(NOON))
    assert changes.remove(standing, ids()).cancel == ()
    assert changes.remove(standing, ids(), cancel_live=True).cancel == (JOB,)


def test_going_back_over_prepared_fires_takes_back_their_count_and_their_wishes() -> None:
    standing = standing_of(
        spec_of(overlap="allow"),
        NOON - MINUTE,
        cursor=Cursor(NOON + 2 * HOUR, fired=9, skip_next=1),
        withdrawn=(
            Withdrawn(NOON, 0, Outcome.JOB, had_job=True),
            Withdrawn(NOON + HOUR, 0, Outcome.SKIPPED_ON_REQUEST, had_job=False),
            Withdrawn(NOON + 2 * HOUR, 0, Outcome.JOB, had_job=True),
        ),
    )
    ruling = changes.pause(standing, ids(), Pause("because", "me"))
    back = Cursor(NOON - MINUTE, fired=7, skip_next=2)
    assert msgspec.structs.replace(ruling.cursor, next_at=None) == back


def test_a_fire_held_back_by_jitter_is_decided_again_after_it_was_taken_back() -> None:
    spec = spec_of("0 12 * * *", times={"jitter_seconds": 600}, overlap="allow")
    standing = standing_of(
        spec,
        NOON + 1,
        cursor=Cursor(NOON, fired=1),
        withdrawn=(Withdrawn(NOON, 0, Outcome.JOB, had_job=True),),
    )
    assert Book(standing, ids()).due_ms(NOON) > (NOON + 1) * 1000
    assert jobs_of(changes.leave(standing, ids())) == [NOON]
