"""What clock changes of the coming year make of a rule, in words."""

from datetime import UTC, datetime
from typing import Any

import pytest

from mainspring.timetable.civil import DAY
from mainspring.timetable.clock_notes import ClockNote, clock_notes
from mainspring.timetable.definition import Definition, compile_timetable
from mainspring.timetable.zones import zone

AFTER = int(datetime(2026, 11, 19, tzinfo=UTC).timestamp())
NEW_YORK = "America/New_York"


def notes(
    when: str, zone_name: str = NEW_YORK, *, after: int = AFTER, **options: Any
) -> list[ClockNote]:
    timetable = compile_timetable(Definition(when=(when,), zone=zone_name, **options))
    return clock_notes(timetable, zone(zone_name), after, after + 366 * DAY)


def test_every_change_of_the_year_is_told_of() -> None:
    spring, autumn = notes("0 9 * * *")
    assert (spring.date, spring.change) == ("2027-03-14", "the clock goes from 02:00 to 03:00")
    assert (autumn.date, autumn.change) == ("2027-11-07", "the clock goes back from 02:00 to 01:00")
    assert {spring.effect, autumn.effect} == {"none"}
    assert notes("0 9 * * *", "UTC") == []


@pytest.mark.parametrize(
    ("when", "options", "effect", "times", "text"),
    [
        ("30 2 * * *", {}, "missed", ("02:30",), "02:30 does not exist: a missed fire, due at"),
        ("*/20 2 * * *", {}, "missed", ("02:00", "02:20", "02:40"), "fire_once makes one job of"),
        ("0 2,3 * * *", {}, "missed", ("02:00",), "due at 03:00 beside the regular one"),
        ("30 2 * * *", {"dst_gap": "shift"}, "moved", ("02:30",), "moved to 03:00"),
        ("30 2 * * *", {"dst_gap": "skip"}, "dropped", ("02:30",), "does not exist: dropped"),
        ("* * * * *", {}, "none", (), "no fire is touched"),
        ("2027-03-14T02:30", {}, "missed", ("02:30",), "02:30 does not exist"),
        ("2027-03-14T06:30Z", {}, "none", (), "no fire is touched"),
    ],
)
def test_a_time_that_is_left_out_is_told(
    when: str, options: dict[str, Any], effect: str, times: tuple[str, ...], text: str
) -> None:
    found = notes(when, **options)[0]
    assert (found.effect, found.times) == (effect, times)
    assert text in found.text


@pytest.mark.parametrize(
    ("when", "options", "effect", "text"),
    [
        ("30 1 * * *", {}, "first_pass", "01:30 is shown twice: fires at the first pass only"),
        ("30 1 * * *", {"dst_fold": "second"}, "second_pass", "fires at the second pass only"),
        ("30 1 * * *", {"dst_fold": "both"}, "both_passes", "fires in both passes"),
        ("*/30 * * * *", {}, "both_passes", "01:00 and 01:30 are shown twice: fire in both passes"),
        ("*/5 * * * *", {}, "both_passes", "01:00, 01:05, 01:10, 01:15 and 8 more are shown"),
        ("* * * * * *", {}, "both_passes", "and 3596 more"),
        ("every 90m", {}, "none", "no fire is touched"),
    ],
)
def test_a_time_that_is_shown_twice_is_told(
    when: str, options: dict[str, Any], effect: str, text: str
) -> None:
    found = notes(when, **options)[-1]
    assert found.effect == effect
    assert text in found.text


def test_a_change_over_midnight_names_the_other_date() -> None:
    after = int(datetime(2011, 11, 1, tzinfo=UTC).timestamp())
    found = notes("0 9 * * *", "Pacific/Apia", after=after)[0]
    assert found.change == "the clock goes from 00:00 to 2011-12-31 00:00"
    assert found.text == "09:00 does not exist: a missed fire, due at 2011-12-31 00:00"
