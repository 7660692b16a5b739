"""Edits and removals leave no instant between two versions, and none behind."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from mainspring.agenda import changes
from mainspring.agenda.book import Book
from mainspring.agenda.spec import Spec, Work, spec_text
from mainspring.agenda.standing import Change, Cursor, Live, Ruling, Standing
from mainspring.domain.schedule import MANUAL, SPAN, Outcome, ScheduleState
from mainspring.domain.states import JobState
from mainspring.policies.firing import Policies
from mainspring.timetable.definition import Definition

NOON = 1_800_014_400
MINUTE = 60


def spec_of(when: str = "0 12 * * *", *, jitter: int = 0, **policies: object) -> bytes:
    times = Definition(when=(when,), jitter_seconds=jitter)
    chosen = msgspec.convert(policies, Policies)
    return spec_text(Spec(times=times, work=Work(kind="k"), policies=chosen))


def standing_at(now: int, spec: bytes, *, through: int, live: bool = False) -> Standing:
    return Standing(
        id=bytes(15) + b"\x07",
        tenant="default",
        name="s",
        state=ScheduleState.ACTIVE,
        version=1,
        spec=spec,
        cursor=Cursor(through),
        zones=202606,
        now_ms=now * 1000,
        live=Live(b"j" * 16, JobState.RUNNING, (now - 30) * 1000) if live else None,
    )


def edited(standing: Standing, spec: bytes, owner: str | None = None) -> Ruling:
    numbers = itertools.count(1)
    change = Change(from_at=0, what="edited", spec=spec, calendars=None, zones=202606, owner=owner)
    return changes.edit(standing, lambda: next(numbers).to_bytes(16), change)


def test_a_fire_that_jitter_holds_back_belongs_to_the_new_version() -> None:
    delayed = spec_of(jitter=600)
    now = NOON + 1
    standing = standing_at(now, delayed, through=NOON - 3600)
    assert Book(standing, lambda: b"").due_ms(NOON) > now * 1000

    ruling = edited(standing, spec_of(jitter=600, catchup_rate=30))

    assert ruling.change is not None
    assert ruling.change.from_at == NOON - 1
    assert [fire.row.nominal_at for fire in ruling.fires if fire.job] == [NOON]
    assert ruling.cursor.through == NOON


def test_an_edit_tells_the_store_what_the_new_policies_say() -> None:
    standing = standing_at(NOON - 60, spec_of(), through=NOON - 120)
    ruling = edited(standing, spec_of(overlap="allow", pause_after_failures=3), owner="app:shop")
    assert ruling.change is not None
    assert not ruling.change.is_exclusive
    assert ruling.change.pause_after_failures == 3
    assert ruling.change.owner == "app:shop"


@pytest.mark.parametrize("is_paused", [False, True])
def test_a_removal_says_why_what_waited_became_no_job(*, is_paused: bool) -> None:
    now = NOON + 10
    standing = standing_at(now, spec_of("* * * * *"), through=NOON - 5 * MINUTE, live=True)
    if is_paused:
        standing = msgspec.structs.replace(standing, state=ScheduleState.PAUSED)
    ruling = changes.remove(standing, lambda: b"")
    (fire,) = ruling.fires
    assert fire.job is None
    assert (fire.row.sequence, fire.row.through) == (SPAN, NOON)
    assert fire.row.outcome is (Outcome.SKIPPED_PAUSED if is_paused else Outcome.SKIPPED_OVERLAP)
    assert fire.row.note == "waited when the schedule was removed"
    assert ruling.state is ScheduleState.DELETED
    assert ruling.cursor.through == now


def test_what_was_removed_stays_removed() -> None:
    standing = msgspec.structs.replace(
        standing_at(NOON, spec_of(), through=NOON - 7200),
        state=ScheduleState.DELETED,
        paused_until_ms=NOON * 1000,
    )
    ruling = changes.remove(standing, lambda: b"")
    assert (ruling.state, ruling.fires) == (ScheduleState.DELETED, ())
    assert ruling.look_at_ms is None
    assert ruling.action == ""


def test_leaving_it_as_it_is_prepares_anew_what_was_taken_back() -> None:
    standing = standing_at(NOON - 60, spec_of(), through=NOON - 120)
    ruling = changes.leave(standing, lambda: b"n" * 16)
    assert [fire.row.nominal_at for fire in ruling.fires] == [NOON]
    assert ruling.action == ""
    assert all(fire.row.sequence != MANUAL for fire in ruling.fires)
