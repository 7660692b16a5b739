"""What a schedule may choose for clock changes: `dst_gap` and `dst_fold`, to the instant."""

import pytest

from mainspring.timetable.civil import moment
from mainspring.timetable.definition import Definition, compile_timetable
from mainspring.timetable.timetable import DST_SKIPPED, Timetable
from tests.timetable.test_instants import instant

DAILY = "FREQ=DAILY;BYHOUR=2;BYMINUTE=30"
STEPS = "R/2024-03-01T02:30/P1D"
NIGHTLY = "FREQ=DAILY;BYHOUR=1;BYMINUTE=30"


def timetable(when: str, **more: str) -> Timetable:
    return compile_timetable(Definition(when=(when,), zone="America/New_York", **more))  # type: ignore[arg-type]


def fires(found: Timetable, after: str, until: str) -> list[str]:
    answer = found.between(instant(after), instant(until))
    assert answer.is_complete
    return [f"{moment(fire.nominal_at):%m-%dT%H:%M} {fire.kind}" for fire in answer.fires]


@pytest.mark.parametrize(
    ("when", "gap", "expected"),
    [
        ("30 2 * * *", "policy", ["03-10T07:00 gap", "03-11T06:30 regular"]),
        ("30 2 * * *", "shift", ["03-10T07:00 shifted", "03-11T06:30 regular"]),
        ("30 2 * * *", "skip", ["03-11T06:30 regular"]),
        # Several that are shifted are one; one that is there anyway stays what it is.
        ("0,30 2 10 3 *", "policy", ["03-10T07:00 gap", "03-10T07:00 gap"]),
        ("0,30 2 10 3 *", "shift", ["03-10T07:00 shifted"]),
        ("0 2,3 10 3 *", "policy", ["03-10T07:00 regular", "03-10T07:00 gap"]),
        ("0 2,3 10 3 *", "shift", ["03-10T07:00 regular"]),
        ("0 2,3 10 3 *", "skip", ["03-10T07:00 regular"]),
        (DAILY, "shift", ["03-10T07:00 shifted", "03-11T06:30 regular"]),
        (DAILY, "skip", ["03-11T06:30 regular"]),
        (STEPS, "policy", ["03-10T07:00 gap", "03-11T06:30 regular"]),
        (STEPS, "shift", ["03-10T07:00 shifted", "03-11T06:30 regular"]),
        (STEPS, "skip", ["03-11T06:30 regular"]),
        ("2024-03-10T02:30", "policy", ["03-10T07:00 gap"]),
        ("2024-03-10T02:30", "shift", ["03-10T07:00 shifted"]),
        ("2024-03-10T02:30", "skip", []),
    ],
)
def test_a_time_that_the_clock_leaves_out(when: str, gap: str, expected: list[str]) -> None:
    found = timetable(when, dst_gap=gap)
    assert fires(found, "2024-03-09T12:00Z", "2024-03-11T12:00Z") == expected


@pytest.mark.parametrize("gap", ["policy", "shift", "skip"])
def test_every_hour_misses_nothing_whatever_is_chosen(gap: str) -> None:
    found = fires(timetable("30 * * * *", dst_gap=gap), "2024-03-10T06:00Z", "2024-03-10T08:00Z")
    assert found == ["03-10T06:30 regular", "03-10T07:30 regular"]


@pytest.mark.parametrize("when", ["30 2 * * *", DAILY, STEPS, "2024-03-10T02:30"])
def test_what_is_dropped_is_told_with_its_wall_time(when: str) -> None:
    after, until = instant("2024-03-09T12:00Z"), instant("2024-03-11T12:00Z")
    lost = timetable(when, dst_gap="skip").not_fired(after, until)
    assert [(fire.local, fire.reason) for fire in lost.fires] == [
        ("2024-03-10T02:30:00", DST_SKIPPED)
    ]
    assert moment(lost.fires[0].nominal_at) == moment(instant("2024-03-10T07:00Z"))
    assert timetable(when).not_fired(after, until).fires == []


@pytest.mark.parametrize(
    ("when", "fold", "expected"),
    [
        ("30 1 * * *", "first", ["11-03T05:30 regular"]),
        ("30 1 * * *", "second", ["11-03T06:30 repeated"]),
        ("30 1 * * *", "both", ["11-03T05:30 regular", "11-03T06:30 repeated"]),
        (NIGHTLY, "first", ["11-03T05:30 regular"]),
        (NIGHTLY, "second", ["11-03T06:30 repeated"]),
        (NIGHTLY, "both", ["11-03T05:30 regular", "11-03T06:30 repeated"]),
        ("2024-11-03T01:30", "first", ["11-03T05:30 regular"]),
        ("2024-11-03T01:30", "second", ["11-03T06:30 repeated"]),
        ("2024-11-03T01:30", "both", ["11-03T05:30 regular", "11-03T06:30 repeated"]),
        ("0 2 * * *", "second", ["11-03T07:00 regular"]),
    ],
)
def test_a_time_that_the_clock_shows_twice(when: str, fold: str, expected: list[str]) -> None:
    found = timetable(when, dst_fold=fold)
    assert fires(found, "2024-11-03T00:00Z", "2024-11-04T00:00Z") == expected


@pytest.mark.parametrize("fold", ["first", "second", "both"])
def test_a_cadence_keeps_its_beat_whatever_is_chosen(fold: str) -> None:
    found = timetable("*/30 1 * * *", dst_fold=fold)
    instants = [line[6:11] for line in fires(found, "2024-11-03T00:00Z", "2024-11-04T00:00Z")]
    assert instants == ["05:00", "05:30", "06:00", "06:30"]
