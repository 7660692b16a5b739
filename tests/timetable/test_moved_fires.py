"""New zone data: which fires are at another instant now, by two real sets of rules."""

import zoneinfo
from datetime import UTC, datetime, timedelta
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.timetable.definition import Definition, compile_timetable
from mainspring.timetable.moves import MovedFire, moved_fires
from mainspring.timetable.timetable import Fire, Timetable
from mainspring.timetable.tzif import changes_of
from tests.timetable.tzfiles import zone_data, zone_file

HOUR = 3600


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


#: Summer time began on 28 March 2027 at 01:00 UTC, and ends in October.
SPRING, AUTUMN = at("2027-03-28T01:00Z"), at("2027-10-31T01:00Z")
OLD = zone_data("2027a", {"Land/Town": zone_file(HOUR, [(SPRING, 2 * HOUR), (AUTUMN, HOUR)])})
#: The government keeps winter time.
NEW = zone_data("2027b", {"Land/Town": zone_file(HOUR, [])})
AFTER, UNTIL = at("2027-03-26T00:00Z"), at("2027-03-30T00:00Z")


def told(when: str, old: Timetable | None = None, **more: object) -> list[MovedFire]:
    definition = Definition(when=(when,), zone="Land/Town", **more)  # type: ignore[arg-type]
    before = compile_timetable(definition, zones=OLD)
    now = compile_timetable(definition, zones=NEW)
    return moved_fires(known(before), now, AFTER, UNTIL)


def known(timetable: Timetable, after: int = AFTER, until: int = UNTIL) -> list[Fire]:
    found = timetable.between(after, until)
    assert found.is_complete
    return found.fires


def shown(found: list[MovedFire]) -> list[tuple[str, str | None, str | None]]:
    def utc(instant: int | None) -> str | None:
        if instant is None:
            return None
        return f"{datetime.fromtimestamp(instant, UTC):%m-%dT%H:%M}"

    return [(move.local[5:16], utc(move.was_at), utc(move.is_at)) for move in found]


def test_a_fixed_time_keeps_its_wall_time_and_moved_fires() -> None:
    assert shown(told("0 9 * * *")) == [
        ("03-28T09:00", "03-28T07:00", "03-28T08:00"),
        ("03-29T09:00", "03-29T07:00", "03-29T08:00"),
    ]


def test_a_time_that_did_not_exist_is_there_again() -> None:
    assert shown(told("30 2 * * *")) == [
        ("03-28T02:30", "03-28T01:00", "03-28T01:30"),
        ("03-29T02:30", "03-29T00:30", "03-29T01:30"),
    ]


def test_two_times_of_which_one_meets_the_place_of_the_other() -> None:
    assert shown(told("0 8,9 * * MON")) == [
        ("03-29T08:00", "03-29T06:00", "03-29T07:00"),
        ("03-29T09:00", "03-29T07:00", "03-29T08:00"),
    ]


@pytest.mark.parametrize(
    "when", ["0 * * * *", "*/10 * * * *", "every 90m", "FREQ=HOURLY", "2027-03-29T09:00Z"]
)
def test_a_beat_stays_where_it_is(when: str) -> None:
    assert told(when) == []


def test_an_interval_moves_with_its_anchor() -> None:
    found = told("every 1d from 2027-03-29T09:00")
    assert shown(found) == [("03-29T09:00", "03-29T07:00", "03-29T08:00")]


def test_a_date_moves_and_one_before_the_change_does_not() -> None:
    assert shown(told("2027-03-27T09:00, 2027-03-29T09:00")) == [
        ("03-29T09:00", "03-29T07:00", "03-29T08:00")
    ]


def test_a_fire_that_moved_out_of_the_bounds_is_gone() -> None:
    ends_at = datetime(2027, 3, 29, 7, 30, tzinfo=UTC)
    assert shown(told("0 9 * * MON", ends_at=ends_at)) == [("03-29T09:00", "03-29T07:00", None)]


def test_a_fire_that_moved_into_the_bounds_is_new() -> None:
    starts_at = datetime(2027, 3, 29, 7, 30, tzinfo=UTC)
    assert shown(told("0 9 * * MON", starts_at=starts_at)) == [("03-29T09:00", None, "03-29T08:00")]


def test_both_passes_of_a_repeated_hour_are_told_apart() -> None:
    definition = Definition(when=("30 2 * * *",), zone="Land/Town", dst_fold="both")
    before = compile_timetable(definition, zones=OLD)
    now = compile_timetable(definition, zones=NEW)
    after, until = AUTUMN - 12 * HOUR, AUTUMN + 12 * HOUR
    assert shown(moved_fires(known(before, after, until), now, after, until)) == [
        ("10-31T02:30", "10-31T00:30", "10-31T01:30"),
        ("10-31T02:30", "10-31T01:30", None),
    ]


def test_nothing_moves_between_equal_data() -> None:
    definition = Definition(when=("0,30 2 * * *", "every 7h"), zone="Land/Town")
    before = compile_timetable(definition, zones=OLD)
    assert moved_fires(known(before), before, AFTER, UNTIL) == []


def test_a_time_that_comes_three_times_is_told_pass_by_pass() -> None:
    definition = Definition(when=("7 * * * *",), zone="Land/Town")
    back = at("2027-03-29T19:07:01Z")
    once = zone_data("x", {"Land/Town": zone_file(0, [(back, -1800)])})
    twice = zone_data("y", {"Land/Town": zone_file(0, [(back, -900), (back + 900, -2700)])})
    was = known(compile_timetable(definition, zones=once))
    found = moved_fires(was, compile_timetable(definition, zones=twice), AFTER, UNTIL)
    assert shown(found)[:3] == [
        ("03-29T19:07", "03-29T19:37", "03-29T19:22"),
        ("03-29T19:07", None, "03-29T19:52"),
        ("03-29T20:07", "03-29T20:37", "03-29T20:52"),
    ]


def test_an_edit_is_told_the_same_way() -> None:
    before = compile_timetable(Definition(when=("0 9 * * *",)))
    now = compile_timetable(Definition(when=("0 9,12 * * MON-SAT",)))
    found = moved_fires(known(before), now, AFTER, UNTIL)
    assert shown(found) == [
        ("03-26T12:00", None, "03-26T12:00"),
        ("03-27T12:00", None, "03-27T12:00"),
        ("03-28T09:00", "03-28T09:00", None),
        ("03-29T12:00", None, "03-29T12:00"),
    ]


OFFSETS = st.integers(-48, 56).map(lambda quarters: quarters * 900)
TABLES = st.lists(
    st.tuples(st.integers(AFTER, UNTIL), OFFSETS), max_size=3, unique_by=lambda c: c[0]
)


@settings(max_examples=settings().max_examples * 3 // 5)
@given(
    OFFSETS, TABLES, OFFSETS, TABLES, st.sampled_from(["0 9 * * *", "*/15 2,3 * * *", "7 * * * *"])
)
def test_what_was_and_what_moved_give_what_is(
    first: int,
    one: list[tuple[int, int]],
    second: int,
    other: list[tuple[int, int]],
    when: str,
) -> None:
    definition = Definition(when=(when,), zone="Land/Town")
    before, now = (
        compile_timetable(
            definition,
            zones=zone_data("x", {"Land/Town": zone_file(offset, sorted(changes))}),
        )
        for offset, changes in ((first, one), (second, other))
    )
    was = known(before)
    found = moved_fires(was, now, AFTER, UNTIL)
    instants = {fire.nominal_at for fire in was}
    stayed = {at for at in instants if at not in {move.was_at for move in found}}
    arrived = {move.is_at for move in found if move.is_at is not None}
    expected = {fire.nominal_at for fire in known(now)}
    assert {at for at in stayed | arrived if AFTER < at <= UNTIL} == expected
    assert all(move.was_at != move.is_at for move in found)


def test_files_made_by_hand_are_read_as_others_read_them() -> None:
    content = zone_file(HOUR, [(SPRING, 2 * HOUR), (AUTUMN, HOUR)], "CET-1CEST,M3.5.0,M10.5.0/3")
    there = zoneinfo.ZoneInfo.from_file(BytesIO(content))
    first, changes = changes_of(content)
    assert first == HOUR
    for instant, offset in changes[:80]:
        moment = datetime.fromtimestamp(instant, there)
        assert moment.utcoffset() == timedelta(seconds=offset)
        just_before = datetime.fromtimestamp(instant - 1, there)
        assert just_before.utcoffset() != moment.utcoffset()
