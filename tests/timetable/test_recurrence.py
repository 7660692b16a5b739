"""Recurrence rules: the examples of RFC 5545, dateutil as a second opinion, and what is refused."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import pytest
from dateutil.rrule import rrulestr
from hypothesis import Phase, given, reject, settings
from hypothesis import strategies as st

from mainspring.domain.errors import InvalidSchedule, NeverFires
from mainspring.timetable.civil import BEFORE, NEVER, wall_text
from mainspring.timetable.definition import Definition, compile_timetable
from mainspring.timetable.recurrence import Recurrence
from mainspring.timetable.text import parse_rule
from mainspring.timetable.zones import zone
from tests.timetable.steps import steps

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall clock has no zone
UTC = zone("UTC")
WITHOUT_EXPLAINING = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
#: Rule, start, and how many of its fires are compared. From section 3.8.5.3 of the RFC.
EXAMPLES = [
    ("FREQ=DAILY;COUNT=10", "1997-09-02T09:00", 11),
    ("FREQ=DAILY;UNTIL=19971224T000000Z", "1997-09-02T09:00", 114),
    ("FREQ=DAILY;INTERVAL=2", "1997-09-02T09:00", 40),
    ("FREQ=DAILY;INTERVAL=10;COUNT=5", "1997-09-02T09:00", 6),
    ("FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA",
     "1998-01-01T09:00", 94),
    ("FREQ=DAILY;UNTIL=20000131T140000Z;BYMONTH=1", "1998-01-01T09:00", 94),
    ("FREQ=WEEKLY;COUNT=10", "1997-09-02T09:00", 11),
    ("FREQ=WEEKLY;UNTIL=19971224T000000Z", "1997-09-02T09:00", 18),
    ("FREQ=WEEKLY;INTERVAL=2;WKST=SU", "1997-09-02T09:00", 30),
    ("FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH", "1997-09-02T09:00", 11),
    ("FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH", "1997-09-02T09:00", 11),
    ("FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR",
     "1997-09-01T09:00", 26),
    ("FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH", "1997-09-02T09:00", 9),
    ("FREQ=MONTHLY;COUNT=10;BYDAY=1FR", "1997-09-05T09:00", 11),
    ("FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR", "1997-09-05T09:00", 5),
    ("FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU", "1997-09-07T09:00", 11),
    ("FREQ=MONTHLY;COUNT=6;BYDAY=-2MO", "1997-09-22T09:00", 7),
    ("FREQ=MONTHLY;BYMONTHDAY=-3", "1997-09-28T09:00", 30),
    ("FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15", "1997-09-02T09:00", 11),
    ("FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1", "1997-09-30T09:00", 11),
    ("FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15", "1997-09-10T09:00", 11),
    ("FREQ=MONTHLY;INTERVAL=2;BYDAY=TU", "1997-09-02T09:00", 40),
    ("FREQ=YEARLY;COUNT=10;BYMONTH=6,7", "1997-06-10T09:00", 11),
    ("FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3", "1997-03-10T09:00", 11),
    ("FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200", "1997-01-01T09:00", 11),
    ("FREQ=YEARLY;BYDAY=20MO", "1997-05-19T09:00", 10),
    ("FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "1997-05-12T09:00", 30),
    ("FREQ=YEARLY;BYMONTH=3;BYDAY=TH", "1997-03-13T09:00", 30),
    ("FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8", "1997-06-05T09:00", 40),
    ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "1997-09-02T09:00", 20),
    ("FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13", "1997-09-13T09:00", 30),
    ("FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
     "1996-11-05T09:00", 10),
    ("FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", "1997-09-04T09:00", 4),
    ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", "1997-09-29T09:00", 30),
    ("FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T210000Z", "1997-09-02T09:00", 6),
    ("FREQ=MINUTELY;INTERVAL=15;COUNT=6", "1997-09-02T09:00", 7),
    ("FREQ=MINUTELY;INTERVAL=90;COUNT=4", "1997-09-02T09:00", 5),
    ("FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40", "1997-09-02T09:00", 80),
    ("FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11,12,13,14,15,16", "1997-09-02T09:00", 80),
    ("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "1997-08-05T09:00", 5),
    ("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "1997-08-05T09:00", 5),
    ("FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", "2007-01-15T09:00", 6),
    # Not from the RFC: positions in whole weeks, which may lie in two months.
    ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE,SU;BYSETPOS=-1,1", "2007-01-15T09:00", 90),
    ("FREQ=WEEKLY;BYDAY=TU,SA;BYMONTH=2,5;BYHOUR=3,9;BYSETPOS=2,-1", "2007-01-15T09:00", 90),
]  # fmt: skip


def rule_of(text: str, start: str | None) -> Recurrence:
    found = parse_rule(text, UTC, start)
    assert isinstance(found, Recurrence)
    return found


def ours(rule: Recurrence, horizon: datetime, limit: int) -> list[str]:
    last = int((horizon - EPOCH).total_seconds())
    found: list[str] = []
    wall = rule.next_wall(rule.begins)
    while wall <= last and len(found) < limit:
        found.append(wall_text(wall))
        wall = rule.next_wall(wall + 1)
    return found


def theirs(text: str, start: str, horizon: datetime, limit: int) -> list[str]:
    found = []
    try:
        rule: Any = rrulestr(text.replace("0Z", "0"), dtstart=datetime.fromisoformat(start))
        for at in islice(rule, limit):
            if at > horizon:
                break
            found.append(at.isoformat())
    except ValueError as error:
        if "empty" not in str(error):
            raise
        # So it says that nothing matches.
    except IndexError:
        reject()  # a 37th Sunday of August is more than it can count
    return found


@pytest.mark.parametrize(("text", "start", "limit"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples_of_the_rfc(text: str, start: str, limit: int) -> None:
    horizon = datetime.fromisoformat(start) + timedelta(days=365 * 30)
    found = ours(rule_of(text, start), horizon, limit)
    assert found == theirs(text, start, horizon, limit)
    assert found


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        ("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "1997-08-05T09:00",
         "1997-08-05 1997-08-10 1997-08-19 1997-08-24"),
        ("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "1997-08-05T09:00",
         "1997-08-05 1997-08-17 1997-08-19 1997-08-31"),
        ("FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO;COUNT=3", "1997-05-12T09:00",
         "1997-05-12 1998-05-11 1999-05-17"),
        ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13;COUNT=5", "1997-09-02T09:00",
         "1998-02-13 1998-03-13 1998-11-13 1999-08-13 2000-10-13"),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2;COUNT=4", "1997-09-29T09:00",
         "1997-09-29 1997-10-30 1997-11-27 1997-12-30"),
        ("FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8;COUNT=3",
         "1996-11-05T09:00", "1996-11-05 2000-11-07 2004-11-02"),
        ("FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", "2007-01-15T09:00",
         "2007-01-15 2007-01-30 2007-02-15 2007-03-15 2007-03-30"),
    ],
)  # fmt: skip
def test_dates_that_the_rfc_prints(text: str, start: str, expected: str) -> None:
    found = ours(rule_of(text, start), datetime(2100, 1, 1), 50)  # noqa: DTZ001 - a wall time
    assert found == [f"{day}T09:00:00" for day in expected.split()]


def lists(low: int, high: int, *, negative: bool = False) -> st.SearchStrategy[str]:
    numbers = st.integers(low, high)
    if negative:
        numbers |= st.integers(-high, -low)
    return st.lists(numbers, min_size=1, max_size=4, unique=True).map(
        lambda found: ",".join(map(str, found))
    )


WEEKDAYS = st.sampled_from(["MO", "TU", "WE", "TH", "FR", "SA", "SU"])


@st.composite
def rules(draw: st.DrawFn) -> str:
    freq = draw(st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"]))
    parts = [f"FREQ={freq}"]
    if draw(st.booleans()):
        parts.append(f"INTERVAL={draw(st.integers(1, 40) | st.sampled_from([60, 90, 1439, 1440]))}")
    if draw(st.booleans()):
        parts.append(f"COUNT={draw(st.integers(1, 80))}")
    if draw(st.booleans()):
        parts.append(f"WKST={draw(WEEKDAYS)}")
    chosen: dict[str, st.SearchStrategy[str]] = {
        "BYMONTH": lists(1, 12),
        "BYHOUR": lists(0, 23),
        "BYMINUTE": lists(0, 59),
    }
    if freq != "WEEKLY":
        chosen["BYMONTHDAY"] = lists(1, 31, negative=True)
    plain = st.lists(WEEKDAYS, min_size=1, max_size=3, unique=True)
    by_day = plain
    if freq in {"MONTHLY", "YEARLY"}:
        most = 5 if freq == "MONTHLY" else 53
        number = st.integers(1, most) | st.integers(-most, -1)
        by_day |= st.lists(st.builds("{}{}".format, number, WEEKDAYS), min_size=1, max_size=3)
    chosen["BYDAY"] = by_day.map(",".join)
    if freq == "YEARLY":
        chosen["BYYEARDAY"] = lists(1, 366, negative=True)
    names = draw(st.lists(st.sampled_from(sorted(chosen)), max_size=3, unique=True))
    found = {name: draw(chosen[name]) for name in names}
    if freq == "YEARLY" and draw(st.integers(0, 3)) == 0:
        found["BYWEEKNO"] = draw(lists(1, 53, negative=True))
        found["BYDAY"] = ",".join(draw(plain))
    # dateutil chooses from the first week what is left of it; the RFC from the whole week.
    if found and freq not in {"MINUTELY", "WEEKLY"} and draw(st.integers(0, 2)) == 0:
        found["BYSETPOS"] = draw(lists(1, _positions(freq, found), negative=True))
    return ";".join([*parts, *(f"{name}={value}" for name, value in found.items())])


def _positions(freq: str, found: Mapping[str, str]) -> int:
    """So many a period may have: for a position that none has, dateutil walks to the year 9999."""
    minutes = found.get("BYMINUTE", "0").count(",") + 1
    if freq == "HOURLY":
        return minutes
    if freq == "DAILY":
        return min(8, minutes * (found.get("BYHOUR", "0").count(",") + 1))
    return 8


STARTS = st.datetimes(datetime(1971, 1, 1), datetime(2080, 1, 1)).map(  # noqa: DTZ001 - wall times
    lambda at: at.replace(second=0, microsecond=0).isoformat()
)


@settings(phases=WITHOUT_EXPLAINING)
@given(rules(), STARTS)
def test_the_same_as_dateutil(text: str, start: str) -> None:
    # dateutil walks; the rarer the rule, the shorter the way that it is asked to go.
    days = 20 if "MINUTELY" in text else 200 if "HOURLY" in text else 366 * 6
    horizon = datetime.fromisoformat(start) + timedelta(days=days)
    until = f";UNTIL={horizon:%Y%m%dT%H%M%S}" if "COUNT" not in text else ""
    expected = theirs(text + until, start, horizon, 60) if until else _counted(text, start, horizon)
    try:
        rule = rule_of(text, start)
    except NeverFires:
        assert expected == []
        return
    except InvalidSchedule as error:
        if "COUNT goes too far" not in error.message:
            raise
        return
    found = ours(rule, horizon, 60)
    assert found == expected
    walls = [int((datetime.fromisoformat(at) - EPOCH).total_seconds()) for at in found]
    back, wall = [], walls[-1] + 1 if walls else 0
    while (wall := rule.previous_wall(wall - 1)) > BEFORE:
        back.append(wall)
    assert back[::-1] == walls


def _counted(text: str, start: str, horizon: datetime) -> list[str]:
    """The same with COUNT: dateutil is told the end, and the count is taken afterwards."""
    parts = text.split(";")
    count = next(int(part[6:]) for part in parts if part.startswith("COUNT"))
    plain = ";".join(part for part in parts if not part.startswith("COUNT"))
    return theirs(f"{plain};UNTIL={horizon:%Y%m%dT%H%M%S}", start, horizon, min(count, 60))


@settings(phases=WITHOUT_EXPLAINING)
@given(rules(), STARTS)
def test_how_close_two_fires_can_be(text: str, start: str) -> None:
    try:
        rule = rule_of(text, start)
    except InvalidSchedule:
        return
    shortest = rule.shortest_seconds()
    wall = rule.next_wall(rule.begins)
    for _ in range(40):
        following = rule.next_wall(wall + 1)
        if following == NEVER:
            return
        assert following - wall >= shortest
        wall = following


def test_dates_that_are_added_and_left_out() -> None:
    text = (
        "RRULE:FREQ=WEEKLY;BYDAY=MO;BYHOUR=9\n"
        "RDATE:20270105T120000,2027-01-06T10:30\n"
        "EXDATE:20270111\n"
        "EXDATE;VALUE=DATE-TIME:20270118T090000"
    )
    found = ours(rule_of(text, "2027-01-01T09:00"), datetime(2027, 1, 31), 9)  # noqa: DTZ001
    assert found == [
        "2027-01-04T09:00:00",
        "2027-01-05T12:00:00",
        "2027-01-06T10:30:00",
        "2027-01-25T09:00:00",
    ]


def test_a_date_before_the_start_may_be_added() -> None:
    rule = rule_of("FREQ=DAILY RDATE:20200101T0700", "2027-01-01T09:00")
    first = rule.next_wall(rule.begins)
    assert wall_text(first) == "2020-01-01T07:00:00"
    assert wall_text(rule.next_wall(first + 1)) == "2027-01-01T09:00:00"


@pytest.mark.parametrize(
    ("until", "last"),
    [
        ("20270103", "2027-01-03T23:00:00"),
        ("20270103T110000", "2027-01-03T11:00:00"),
        ("20270103T110000Z", "2027-01-03T06:00:00"),
    ],
)
def test_an_end_is_a_local_day_a_local_time_or_utc(until: str, last: str) -> None:
    there = zone("America/New_York")
    rule = parse_rule(f"FREQ=HOURLY;UNTIL={until}", there, "2027-01-01T00:00")
    assert isinstance(rule, Recurrence)
    assert wall_text(rule.previous_wall(rule.begins + 10 * 86_400)) == last


def test_a_start_that_does_not_match_is_no_fire() -> None:
    rule = rule_of("FREQ=MONTHLY;BYMONTHDAY=15;COUNT=2", "2027-01-01T09:00")
    horizon = datetime(2030, 1, 1)  # noqa: DTZ001 - a wall time
    assert ours(rule, horizon, 5) == ["2027-01-15T09:00:00", "2027-02-15T09:00:00"]


@pytest.mark.parametrize(
    ("text", "zone_name", "after", "expected"),
    [
        ("FREQ=DAILY;BYHOUR=2;BYMINUTE=30", "America/New_York", "2024-03-09T12:00Z",
         "03-10T07:00 03-11T06:30"),
        ("FREQ=HOURLY", "America/New_York", "2024-03-10T05:30Z",
         "03-10T06:00 03-10T07:00 03-10T08:00"),
        ("FREQ=HOURLY", "America/New_York", "2024-11-03T04:30Z",
         "11-03T05:00 11-03T06:00 11-03T07:00"),
        ("FREQ=MINUTELY;INTERVAL=20", "America/New_York", "2024-11-03T05:30Z",
         "11-03T05:40 11-03T06:00 11-03T06:20"),
        ("FREQ=HOURLY;INTERVAL=2", "America/New_York", "2024-03-10T04:00Z",
         "03-10T05:00 03-10T07:00 03-10T08:00"),
        ("FREQ=DAILY;BYHOUR=1;BYMINUTE=30", "America/New_York", "2024-11-03T05:00Z",
         "11-03T05:30 11-04T06:30"),
    ],
)  # fmt: skip
def test_clock_changes(text: str, zone_name: str, after: str, expected: str) -> None:
    timetable = compile_timetable(Definition(when=(text,), zone=zone_name))
    instant = int(datetime.fromisoformat(after).timestamp())
    found = []
    for _ in expected.split():
        following = timetable.next_at(instant)
        assert following is not None
        instant = following
        found.append(wall_text(instant)[5:16])
    assert found == expected.split()


def _refused() -> list[tuple[str, str, int]]:
    """Text, a word of message or hint, position."""
    return [
        ("FREQ=SECONDLY", "every 10s", 5),
        ("FREQ=DALY", "did you mean DAILY?", 5),
        ("FREQ=", "no value", 5),
        ("INTERVAL=2", "FREQ", 0),
        ("FREQ=DAILY;BYSECOND=30", "use 0", 20),
        ("FREQ=YEARLY;BYEASTER=0", "RDATE", 12),
        ("FREQ=DAILY;EXRULE=X", "EXDATE", 11),
        ("FREQ=DAILY;DTSTART=20270101", "anchor", 11),
        ("DTSTART:20270101T090000\nRRULE:FREQ=DAILY", "anchor", 0),
        ("DTSTART;TZID=Europe/Berlin:20270101T090000 RRULE:FREQ=DAILY", "anchor", 0),
        ("RRULE:FREQ=DAILY\nEXRULE:FREQ=WEEKLY", "EXDATE", 17),
        ("RRULE:FREQ=DAILY\nRRULE:FREQ=WEEKLY", "as a list", 17),
        ("RDATE:20270101T090000", "no rule", 0),
        ("FREQ=DAILY RDATE;TZID=Europe/Berlin:20270101T090000", "schedule's zone", 11),
        ("FREQ=DAILY EXDATE;VALUE=PERIOD:20270101T090000", "PERIOD", 11),
        ("FREQ=DAILY RDATE:2027-02-30", "does not exist", 17),
        ("FREQ=DAILY RDATE:20270101T090030", "whole minutes", 0),
        ("FREQ=DAILY RDATE:" + ",".join(["20270101"] * 501), "500", 17),
        ("FREQ=DAILY;COLOUR=RED", "no part COLOUR", 11),
        ("FREQ=DAILY;BYHOURS=9", "did you mean BYHOUR?", 11),
        ("FREQ=DAILY;;BYHOUR=9", "empty part", 11),
        ("FREQ=DAILY;FREQ=WEEKLY", "given twice", 11),
        ("FREQ=DAILY;BYHOUR=9;BYHOUR=10", "one list", 20),
        ("FREQ=DAILY;COUNT=3;UNTIL=20280101", "exclude each other", 19),
        ("FREQ=DAILY;COUNT=0", "1 to 100000", 17),
        ("FREQ=DAILY;COUNT=100001", "1 to 100000", 17),
        ("FREQ=DAILY;INTERVAL=0", "not a number", 20),
        ("FREQ=DAILY;INTERVAL=-1", "not a number", 20),
        ("FREQ=DAILY;INTERVAL=\u0662", "ASCII", 20),
        ("FREQ=DAILY;UNTIL=20270230", "no date", 17),
        ("FREQ=DAILY;UNTIL=2027", "20271231", 17),
        ("FREQ=DAILY;UNTIL=20260101", "before the start", 11),
        ("FREQ=DAILY;BYHOUR=24", "0 to 23", 18),
        ("FREQ=DAILY;BYHOUR=9,", "empty", 20),
        ("FREQ=DAILY;BYHOUR=-1", "0 to 23", 18),
        ("FREQ=DAILY;BYMONTH=13", "1 to 12", 19),
        ("FREQ=MONTHLY;BYMONTHDAY=0", "1 to 31", 24),
        ("FREQ=MONTHLY;BYDAY=FRI", "did you mean FR?", 19),
        ("FREQ=MONTHLY;BYDAY=54MO", "1 to 53", 19),
        ("FREQ=WEEKLY;BYDAY=1MO", "MONTHLY or YEARLY", 12),
        ("FREQ=WEEKLY;BYMONTHDAY=1", "WEEKLY", 12),
        ("FREQ=MONTHLY;BYYEARDAY=1", "YEARLY", 13),
        ("FREQ=MONTHLY;BYWEEKNO=1;BYDAY=MO", "YEARLY", 13),
        ("FREQ=YEARLY;BYWEEKNO=1", "needs BYDAY", 12),
        ("FREQ=YEARLY;BYWEEKNO=1;BYDAY=1MO", "BYWEEKNO", 23),
        ("FREQ=DAILY;BYSETPOS=1", "another BY part", 11),
        ("FREQ=MINUTELY;BYHOUR=1;BYSETPOS=1", "MINUTELY", 23),
        ("FREQ=DAILY;WKST=XX", "SU, MO", 16),
        ("FREQ=DAILY;" + "BYHOUR=1;" * 60, "512", 512),
        ("FREQ=HOURLY;INTERVAL=5;BYHOUR=0;COUNT=40000", "UNTIL", 32),
    ]


@pytest.mark.parametrize(("text", "word", "position"), _refused())
def test_what_is_outside_the_subset(text: str, word: str, position: int) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        parse_rule(text, UTC, "2027-01-01T09:00")
    error = caught.value
    assert not isinstance(error, NeverFires)
    assert word in f"{error.message} {error.hint}"
    assert error.details["field"] in {"rrule", "when"}
    assert error.details["position"] == position
    assert error.hint
    assert error.hint != InvalidSchedule.default_hint


def test_a_count_needs_a_start() -> None:
    with pytest.raises(InvalidSchedule, match="COUNT needs a start"):
        parse_rule("FREQ=DAILY;COUNT=3", UTC, None)


def test_a_start_with_seconds_is_refused() -> None:
    with pytest.raises(InvalidSchedule, match="whole minute"):
        parse_rule("FREQ=DAILY", UTC, "2027-01-01T09:00:30")


NEVER_FIRING = [
    "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=HOURLY;INTERVAL=24;BYHOUR=3",
    "FREQ=HOURLY;INTERVAL=168;BYDAY=MO",
    "FREQ=MINUTELY;INTERVAL=1440;BYHOUR=3",
    "FREQ=MINUTELY;INTERVAL=99999;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6",
    "FREQ=WEEKLY;BYDAY=MO;BYSETPOS=2",
    "FREQ=YEARLY;BYMONTH=2;BYDAY=MO,TU;BYSETPOS=300",
    "FREQ=YEARLY;BYYEARDAY=" + ",".join(map(str, range(1, 120))) + ";BYSETPOS=-366",
    "FREQ=YEARLY;BYDAY=" + ",".join(f"53{day}" for day in ("MO", "TU", "WE")) + ";BYMONTHDAY=15",
    "FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO;BYMONTH=7",
    "FREQ=YEARLY;BYYEARDAY=366;BYMONTH=1",
    "FREQ=DAILY;INTERVAL=7;BYDAY=MO",
    "FREQ=HOURLY;BYMINUTE=1,2;BYSETPOS=3",
]


@pytest.mark.parametrize("text", NEVER_FIRING, ids=range(len(NEVER_FIRING)))
def test_a_rule_that_never_fires_is_refused_after_little_work(text: str) -> None:
    def refused() -> None:
        parse_rule.cache_clear()
        with pytest.raises(NeverFires) as caught:
            parse_rule(text, UTC, "2027-01-01T00:00")
        assert caught.value.details["field"] == "rrule"

    assert steps(refused) < 25_000


def test_a_long_count_takes_little_work() -> None:
    def compiled() -> None:
        parse_rule.cache_clear()
        parse_rule("FREQ=DAILY;BYHOUR=9;COUNT=50000", UTC, "2027-01-01T00:00")

    assert steps(compiled) < 60_000
    rule = rule_of("FREQ=DAILY;BYHOUR=9;COUNT=50000", "2027-01-01T00:00")
    last = rule.begins + 49_999 * 86_400 + 9 * 3600
    assert rule.next_wall(last) == last
    assert rule.next_wall(last + 1) == NEVER


@pytest.mark.parametrize(
    ("text", "shortest"),
    [
        ("FREQ=MINUTELY;INTERVAL=7", 420),
        ("FREQ=HOURLY;INTERVAL=6", 21_600),
        ("FREQ=HOURLY;INTERVAL=6;BYMINUTE=0,50", 3_000),
        ("FREQ=DAILY;BYHOUR=0,23", 3_600),
        ("FREQ=MONTHLY", 86_400),
        ("FREQ=DAILY;BYHOUR=9 RDATE:20270105T0910", 600),
    ],
)
def test_the_shortest_interval(text: str, shortest: int) -> None:
    assert rule_of(text, "2027-01-01T00:00").shortest_seconds() == shortest
