"""The grammar of cron: what matches, and how each kind of malformed text is refused."""

import itertools
from datetime import datetime, timedelta

import pytest

from mainspring.domain.errors import InvalidSchedule, MainspringError, NeverFires
from mainspring.timetable.civil import NEVER, wall_text
from mainspring.timetable.cron import ALIASES, cron, parse_cron
from tests.timetable.steps import steps
from tests.timetable.walk import Matcher

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall clock has no zone


def wall(text: str) -> int:
    return int((datetime.fromisoformat(text) - EPOCH).total_seconds())


def walls(expression: str, after: str, count: int) -> list[str]:
    rule = cron(expression)
    found: list[str] = []
    at = wall(after)
    while len(found) < count and (at := rule.next_wall(at)) < NEVER:
        found.append(wall_text(at))
        at += 1
    return found


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        ("30 4 1,15 * 5", "2027-01-01", "01-01T04:30 01-08T04:30 01-15T04:30 01-22T04:30"),
        ("0 0 L * *", "2027-01-31T01:00", "02-28T00:00 03-31T00:00 04-30T00:00"),
        ("0 0 L-2 2 *", "2028-01-01", "02-27T00:00"),
        ("0 0 LW * *", "2027-01-01", "01-29T00:00 02-26T00:00 03-31T00:00"),
        ("0 0 15W * *", "2027-05-01", "05-14T00:00 06-15T00:00"),
        ("0 0 1W * *", "2027-05-01", "05-03T00:00 06-01T00:00"),
        ("0 0 31W * *", "2027-02-01", "03-31T00:00 05-31T00:00 07-30T00:00"),
        ("0 0 * * MON#2", "2027-01-01", "01-11T00:00 02-08T00:00"),
        ("0 0 * * 5L", "2027-01-01", "01-29T00:00 02-26T00:00"),
        ("0 0 * * fri#5", "2027-01-01", "01-29T00:00 04-30T00:00"),
        ("0 0 ? * 7", "2027-01-01", "01-03T00:00 01-10T00:00"),
        ("0 0 * * FRI-MON", "2027-01-05", "01-08T00:00 01-09T00:00 01-10T00:00 01-11T00:00"),
        ("0 22-2/2 * * *", "2027-01-05T12:00", "01-05T22:00 01-06T00:00 01-06T02:00"),
        ("0 0 1 NOV-FEB *", "2027-01-02", "02-01T00:00 11-01T00:00 12-01T00:00"),
        ("59/15 * * * *", "2027-01-05", "01-05T00:59 01-05T01:59"),
        ("5/20 3 * * *", "2027-01-05", "01-05T03:05 01-05T03:25 01-05T03:45"),
        ("0 0 29 2 1", "2027-01-30", "02-01T00:00 02-08T00:00"),
        ("0 0 */2 * MON", "2027-01-01", "01-11T00:00 01-25T00:00"),
        ("@weekly", "2027-01-01", "01-03T00:00"),
    ],
)
def test_what_matches(expression: str, after: str, expected: str) -> None:
    year = after[:4]
    texts = [f"{year}-{item}:00" for item in expected.split()]
    assert walls(expression, after, len(texts)) == texts


def test_seconds_and_years() -> None:
    assert walls("*/20 59 23 31 12 *", "2027-01-01", 4) == [
        "2027-12-31T23:59:00",
        "2027-12-31T23:59:20",
        "2027-12-31T23:59:40",
        "2028-12-31T23:59:00",
    ]
    assert walls("15 0 0 1 1 ? 2030-2031", "2027-01-01", 5) == [
        "2030-01-01T00:00:15",
        "2031-01-01T00:00:15",
    ]


def test_rare_days() -> None:
    assert walls("0 0 29 2 *", "2096-03-01", 2) == ["2104-02-29T00:00:00", "2108-02-29T00:00:00"]
    assert walls("0 0 * 2 MON#5", "2027-01-01", 1) == ["2044-02-29T00:00:00"]


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases(alias: str) -> None:
    assert walls(alias.upper(), "2027-01-01T00:30", 3) == walls(
        ALIASES[alias], "2027-01-01T00:30", 3
    )


DAYS = ["*", "?", "1", "*/7", "31", "L", "L-30", "LW", "15W", "31W", "2,20-25", "1-31/9"]
WEEKDAYS = ["*", "?", "0", "7", "1-5", "5-7", "MON#1", "3#5", "5L", "1,6L", "*/3"]


@pytest.mark.parametrize(("day", "weekday"), list(itertools.product(DAYS, WEEKDAYS)))
def test_days_as_field_by_field(day: str, weekday: str) -> None:
    if day == weekday == "?":
        return
    expression = f"0 12 {day} * {weekday}"
    matcher, rule = Matcher(expression), cron(expression)
    noon = EPOCH.replace(year=2027, hour=12)
    noons = [noon + timedelta(days=number) for number in range(2 * 365)]
    expected = [there for there in noons if matcher.matches(there)]
    found = [there for there in noons if rule.matches(int((there - EPOCH).total_seconds()))]
    assert found == expected


def _cases() -> list[tuple[str, str, str, int | None]]:
    """Text, field, a word of the message or hint, position."""
    return [
        ("", "cron", "5, 6", 0),
        ("   ", "cron", "5, 6", 0),
        ("* * * *", "cron", "4 fields", 7),
        ("* * * * * * * *", "cron", "8 fields", 15),
        ("60 * * * *", "minute", "out of range", 0),
        ("* 24 * * *", "hour", "out of range", 2),
        ("0 0 0 * *", "day of month", "out of range", 4),
        ("0 0 32 * *", "day of month", "out of range", 4),
        ("0 0 * 13 *", "month", "out of range", 6),
        ("0 0 * * 8", "day of week", "out of range", 8),
        ("30-10 * * * *", "minute", "10-30", 0),
        ("* * 20-10 * *", "day of month", "backwards", 4),
        ("1, * * * *", "minute", "empty", 2),
        (",1 * * * *", "minute", "empty", 0),
        ("1,,2 * * * *", "minute", "empty", 2),
        (", * * * *", "minute", "empty", 0),
        ("+5 * * * *", "minute", "+5", 0),
        ("-5 * * * *", "minute", "missing", 0),
        ("1- * * * *", "minute", "missing", 2),
        ("1.5 * * * *", "minute", "1.5", 0),
        ("0x1 * * * *", "minute", "0x1", 0),
        ("*/0 * * * *", "minute", "no step", 2),
        ("*/ * * * *", "minute", "no step", 2),
        ("*/x * * * *", "minute", "no step", 2),
        ("/5 * * * *", "minute", "missing", 0),
        ("1/2/3 * * * *", "minute", "no step", 2),
        ("** * * * *", "minute", "no minute", 0),
        ("\u0661 * * * *", "cron", "U+0661", 0),
        ("0\u00a00 * * *", "cron", "U+00A0", 1),
        ("0 0\u200b * * *", "cron", "U+200B", 3),
        ("0 0 * * *\x00", "cron", "U+0000", 9),
        ("0 0 * * *\n", "cron", "U+000A", 9),
        ("0 0 ? * ?", "day of week", "both", 8),
        ("? 0 * * *", "minute", "?", 0),
        ("0 0 1,? * *", "day of month", "alone", 6),
        ("0 0 * * FOO", "day of week", "SUN to SAT", 8),
        ("0 0 * * MONDAYS", "day of week", "MON", 8),
        ("0 0 * * MON#", "day of week", "first to a fifth", 8),
        ("0 0 * * MON#0", "day of week", "first to a fifth", 8),
        ("0 0 * * MON#6", "day of week", "first to a fifth", 8),
        ("0 0 * * #2", "day of week", "missing", 8),
        ("0 0 * * L", "day of week", "5L", 8),
        ("JAN 0 * * *", "minute", "no names", 0),
        ("0 0 * JANUARY *", "month", "JAN", 6),
        ("0 0 W * *", "day of month", "W", 4),
        ("0 0 32W * *", "day of month", "out of range", 4),
        ("0 0 L-31 * *", "day of month", "L-31", 4),
        ("0 0 L5 * *", "day of month", "L5", 4),
        ("H * * * *", "minute", "resolve", 0),
        ("99999999999999999999 * * * *", "minute", "no minute", 0),
        ("@reboot", "cron", "submit", 0),
        ("@every 5m", "cron", "every 90s", 0),
        ("@dayly", "cron", "@daily", 0),
        ("TZ=UTC 0 9 * * *", "cron", "zone UTC", 2),
        ("CRON_TZ=Europe/Berlin 0 9 * * *", "cron", "Europe/Berlin", 7),
        ("0 9 * * * root", "day of week", "", None),
        ("0 " * 200, "cron", "256", 256),
    ]


@pytest.mark.parametrize(("text", "field", "word", "position"), _cases())
def test_malformed(text: str, field: str, word: str, position: int | None) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        cron(text)
    error = caught.value
    assert error.code == "invalid_schedule"
    if word:
        assert error.details["field"] == field
        assert word in f"{error.message} {error.hint}"
    if position is not None:
        assert error.details["position"] == position
    assert error.hint
    assert error.hint != InvalidSchedule.default_hint


@pytest.mark.parametrize(
    "text", ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 31W 2 *", "0 0 30 2 * ", "0 0 29 2 ?  "]
)
def test_dates_that_do_not_exist(text: str) -> None:
    if text.startswith("0 0 29 2"):
        assert cron(text).next_wall(0) < NEVER
        return
    with pytest.raises(NeverFires) as caught:
        cron(text)
    assert caught.value.details["field"] == "day of month"
    assert caught.value.details["position"] == 4
    assert "use a day that the month has" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 0 LW * */7", "LW of month * is never the weekday */7"),
        ("0 0 */20 * 5#5", "*/20 of month * is never the weekday 5#5"),
        ("0 0 30 2 */2", "30 of month 2 is never the weekday */2"),
        ("0 0 0 29 2 ? 2027", "29 of month 2 does not exist in 2027"),
    ],
)
def test_days_that_never_come_are_told(text: str, said: str) -> None:
    with pytest.raises(NeverFires) as caught:
        cron(text)
    assert said in caught.value.message
    assert caught.value.details["reason"] == "no_such_date"


@pytest.mark.parametrize(
    ("text", "weekdays"), [("0 0 * * 5/1", "56"), ("0 0 * * 1/3", "14"), ("0 0 * * */3", "036")]
)
def test_steps_of_weekdays_end_with_saturday(text: str, weekdays: str) -> None:
    days = [wall_text(day * 86_400) for day in range(7) if cron(text).matches(day * 86_400)]
    found = sorted(datetime.fromisoformat(day).isoweekday() % 7 for day in days)
    assert "".join(map(str, found)) == weekdays


def test_a_leap_day_of_a_common_year_never_comes() -> None:
    with pytest.raises(NeverFires):
        cron("0 0 0 29 2 ? 2027")


HOSTILE = [
    "9" * 100_000 + " * * * *",
    ",".join(["0-59/1"] * 100_000) + " * * * *",
    "0 0 31 2,4,6,9,11 ?",
    "* " * 100_000,
    "0," * 120 + "61 * * * *",
    "\ud800 * * * *",
    "@" + "a" * 255,
    "0 0 30 2 ? 1970-2199",
    ",".join(["*/1"] * 62),
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_refused_after_little_work(text: str) -> None:
    def refused() -> None:
        with pytest.raises(MainspringError):
            parse_cron(text)

    assert steps(refused) < 12_000


@pytest.mark.parametrize("piece", ["9", "* ", "0-59/1,", "@", "H", "\u0661"])
def test_a_text_over_the_limit_is_refused_unread(piece: str) -> None:
    def refused(length: int) -> int:
        text = (piece * length)[:length]

        def work() -> None:
            with pytest.raises(InvalidSchedule) as caught:
                parse_cron(text)
            assert caught.value.details["position"] == 256

        return steps(work)

    # Not equal: a collection of garbage in between has its own calls.
    assert max(refused(1_000_000), refused(1_000)) < 200


def test_long_lists_are_read_with_little_work() -> None:
    text = ",".join(["*/1"] * 60) + " * * * *"
    assert steps(lambda: parse_cron(text)) < 6_000
    assert parse_cron(text).next_wall(0) == 0


@pytest.mark.parametrize(
    "text", ["0 0 29 2 1", "0 0 29 2 *", "0 0 * 2 MON#5", "0 0 31 12 ? ", "59 59 23 31 12 ? 2199"]
)
def test_what_is_far_away_is_found_with_little_work(text: str) -> None:
    rule = parse_cron(text)
    for year in (1970, 1999, 2096, 2149):
        after = wall(f"{year}-03-01")
        assert steps(lambda: rule.next_wall(after)) < 400  # noqa: B023 - called at once
        assert steps(lambda: rule.previous_wall(after)) < 400  # noqa: B023


def test_the_same_text_is_compiled_once() -> None:
    assert cron("1 2 3 4 *") is cron("1 2 3 4 *")


def test_messages_never_carry_what_does_not_print() -> None:
    with pytest.raises(InvalidSchedule) as caught:
        cron("\x1b[31m * * * *")
    assert "\x1b" not in caught.value.message + caught.value.hint + str(caught.value.details)
