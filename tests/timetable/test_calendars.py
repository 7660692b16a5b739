"""Calendars to the day: what belongs to one, what is dropped, and where the rest moves."""

import pytest

from mainspring.domain.errors import InvalidSchedule
from mainspring.timetable.civil import moment
from mainspring.timetable.definition import (
    CalendarDefinition,
    Definition,
    Heeds,
    compile_calendar,
    compile_timetable,
)
from mainspring.timetable.timetable import EXCLUDED_BY_CALENDAR, Timetable
from tests.timetable.test_instants import instant

#: December 2027: the 24th is a Friday, the 27th a Monday.
HOLIDAYS = (
    *("2027-12-24", "12-25", "2027-12-27..2027-12-28", "SAT,SUN"),
    *("2027-12-30T10:00..2027-12-30T12:00", "0 0 31 12 *"),
)
AFTER, UNTIL = "2027-12-20T00:00Z", "2028-01-06T00:00Z"


def timetable(when: str, *entries: str, mode: str = "exclude", **more: object) -> Timetable:
    calendar = compile_calendar(CalendarDefinition(name="days", entries=entries))
    heeds = (Heeds("days", mode),)  # type: ignore[arg-type]
    definition = Definition(when=(when,), calendars=heeds, **more)  # type: ignore[arg-type]
    return compile_timetable(definition, {"days": calendar})


def days(found: Timetable) -> list[str]:
    fires = found.between(instant(AFTER), instant(UNTIL)).fires
    return [f"{moment(fire.nominal_at):%d}" for fire in fires]


@pytest.mark.parametrize(
    ("entries", "kept"),
    [
        (("2027-12-24",), "20 21 22 23 25 26 27 28 29 30 31 01 02 03 04 05"),
        (("12-25", "01-01"), "20 21 22 23 24 26 27 28 29 30 31 02 03 04 05"),
        (("2027-12-24..2028-01-02",), "20 21 22 23 03 04 05"),
        (("SAT,SUN",), "20 21 22 23 24 27 28 29 30 31 03 04 05"),
        (("0 0 * * MON#1", "0 3 L * *"), "20 21 22 23 24 25 26 27 28 29 30 01 02 04 05"),
        (("FREQ=WEEKLY;BYDAY=MO,WE",), "21 23 24 25 26 28 30 31 01 02 04"),
        # Part of a day: to the minute, and its end is not in it.
        (
            ("2027-12-24T11:00..2027-12-25T11:00",),
            "20 21 22 23 25 26 27 28 29 30 31 01 02 03 04 05",
        ),
        (
            ("2027-12-24T11:01..2027-12-25T11:01",),
            "20 21 22 23 24 26 27 28 29 30 31 01 02 03 04 05",
        ),
        # A minute that is taken away in part is taken away.
        (
            ("2027-12-24T10:00..2027-12-24T11:00:30",),
            "20 21 22 23 25 26 27 28 29 30 31 01 02 03 04 05",
        ),
        (HOLIDAYS, "20 21 22 23 29 03 04 05"),
    ],
)
def test_what_belongs_to_a_calendar_is_left_out_or_kept_to(
    entries: tuple[str, ...], kept: str
) -> None:
    assert days(timetable("0 11 * * *", *entries)) == kept.split()
    everything = days(timetable("0 11 * * *", "2020-01-01"))
    left_out = [day for day in everything if day not in kept.split()]
    assert days(timetable("0 11 * * *", *entries, mode="include")) == left_out


@pytest.mark.parametrize(
    ("when", "then", "expected"),
    [
        # The 25th is a Saturday, and the days around it are taken away as well.
        ("0 11 25 * *", "skip", []),
        ("0 11 25 * *", "next_business_day", ["29 < 25"]),
        ("0 11 25 * *", "previous_business_day", ["23 < 25"]),
        ("0 11 31 * *", "next_business_day", ["03 < 31"]),
        # Part of the 30th is taken away: what fires there moves, and nothing moves to it.
        ("0 11 30 * *", "next_business_day", ["03 < 30"]),
        ("0 9 30 * *", "next_business_day", ["30"]),
        ("0 9 31 * *", "previous_business_day", ["29 < 31"]),
        # Several that move to one day are one fire; one that is there anyway was not moved.
        ("0 11 24-28 12 *", "next_business_day", ["29 < 28"]),
        ("0 11 24-29 12 *", "next_business_day", ["29"]),
        ("FREQ=MONTHLY;BYMONTHDAY=25;BYHOUR=11", "previous_business_day", ["23 < 25"]),
        ("2027-12-25T11:00", "next_business_day", ["29"]),
        ("2027-12-30T11:00", "previous_business_day", ["29"]),
        ("2027-12-24T11:00", "previous_business_day", ["23"]),
        ("R/2027-01-25T11:00/P1M", "next_business_day", ["29 < 25"]),
    ],
)
def test_what_is_taken_away_is_dropped_or_moved(when: str, then: str, expected: list[str]) -> None:
    found = timetable(when, *HOLIDAYS, on_excluded=then)
    shown = []
    for fire in found.between(instant(AFTER), instant(UNTIL)).fires:
        origin = f" < {fire.moved_from[8:10]}" if fire.moved_from else ""
        shown.append(f"{moment(fire.nominal_at):%d}{origin}")
    assert shown == expected
    dropped = found.not_fired(instant(AFTER), instant(UNTIL), reason=EXCLUDED_BY_CALENDAR)
    assert bool(dropped.fires) is (then == "skip")


def test_business_days_may_be_others_than_monday_to_friday() -> None:
    calendar = compile_calendar(
        CalendarDefinition(name="days", entries=("FRI",), business_days="SUN-THU")
    )
    definition = Definition(
        when=("0 11 24 12 *",), calendars=(Heeds("days"),), on_excluded="next_business_day"
    )
    found = compile_timetable(definition, {"days": calendar})
    assert days(found) == ["26"]


def test_a_move_goes_over_a_month_at_most() -> None:
    long = timetable("0 9 1 12 *", "2027-11-25..2028-01-31", on_excluded="next_business_day")
    assert long.previous_at(instant("2028-03-01T00:00Z")) == instant("2026-12-01T09:00Z")
    dropped = long.not_fired(instant("2027-11-01T00:00Z"), instant("2028-03-01T00:00Z"))
    assert [(fire.local, fire.reason) for fire in dropped.fires] == [
        ("2027-12-01T09:00:00", EXCLUDED_BY_CALENDAR)
    ]


def test_a_calendar_is_judged_on_the_local_date() -> None:
    # 23:30 on the 24th in New York is the 25th in UTC.
    late = timetable("30 23 * * *", "2027-12-24", zone="America/New_York")
    fires = late.between(instant("2027-12-23T12:00Z"), instant("2027-12-27T00:00Z")).fires
    assert [fire.local[8:16] for fire in fires] == ["23T23:30", "25T23:30"]


def test_elapsed_time_is_dropped_and_never_moved() -> None:
    hourly = timetable("every 6h", "2027-12-24..2027-12-25")
    fires = hourly.between(instant("2027-12-23T13:00Z"), instant("2027-12-26T07:00Z")).fires
    assert [fire.local[8:13] for fire in fires] == ["23T18", "26T00", "26T06"]
    for when in ("every 6h", "2027-12-24T06:00Z"):
        with pytest.raises(InvalidSchedule, match="cannot move to another day"):
            timetable(when, "12-25", on_excluded="next_business_day")


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ("2027-13-01", "does not exist"),
        ("02-30", "does not exist"),
        ("2027-12-28..2027-12-27", "runs backwards"),
        ("2027-12-24T18:00..2027-12-24T18:00", "runs backwards"),
        ("2027-12-24T18:00Z..2027-12-25", "local times"),
        ("2027-12-24..tomorrow", "tomorrow is no date"),
        ("SAT,SUNDAY", "SUNDAY"),
        ("XMAS", "XMAS"),
        ("every 5m", "names no days"),
        ("0 0 30 2 *", "does not exist"),
        ("\u0661", "U+0661"),
        ("x" * 600, "too many"),
    ],
)
def test_an_entry_that_cannot_be_read_is_named(entry: str, word: str) -> None:
    definition = CalendarDefinition(name="days", entries=("12-25", entry))
    with pytest.raises(InvalidSchedule) as caught:
        compile_calendar(definition)
    assert word in f"{caught.value.message} {caught.value.hint}"


def test_an_entry_is_named_by_its_number() -> None:
    with pytest.raises(InvalidSchedule) as caught:
        compile_calendar(CalendarDefinition(name="days", entries=("12-25", "2027-02-30")))
    assert caught.value.details["field"] == "entries[1]"


def test_rules_are_few_and_dates_may_be_many() -> None:
    rules = [f"0 0 {day} {month} *" for month in range(1, 13) for day in range(1, 10)]
    compile_calendar(CalendarDefinition(name="days", entries=(*rules[:100], "12-25")))
    with pytest.raises(InvalidSchedule, match="at most 100 rules") as caught:
        compile_calendar(CalendarDefinition(name="days", entries=tuple(rules)))
    assert caught.value.details["field"] == "entries[100]"
