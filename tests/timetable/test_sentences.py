"""A rule as a sentence, its next fires with notes, and what may not be meant."""

from datetime import UTC, datetime

import pytest

from mainspring.timetable.definition import Definition, Heeds, compile_timetable
from mainspring.timetable.explain import preview, sentence, warnings
from tests.timetable.test_instants import instant

NEW_YORK = "America/New_York"


@pytest.mark.parametrize(
    ("when", "zone", "said"),
    [
        ("0 9 * * MON-FRI", NEW_YORK, "at 09:00 on weekdays, New York time"),
        ("0 9 * * SAT,SUN", "UTC", "at 09:00 at weekends, UTC"),
        ("@daily", "UTC", "at 00:00 every day, UTC"),
        ("* * * * *", "UTC", "every minute, UTC"),
        ("*/15 * * * *", "UTC", "every 15 minutes, UTC"),
        ("7 * * * *", "UTC", "at 7 minutes past every hour, UTC"),
        ("0 */2 * * *", "UTC", "every 2 hours, from 00:00, UTC"),
        ("*/20 * * * * *", "UTC", "every 20 seconds, UTC"),
        ("0 0 13 * FRI", "UTC", "at 00:00 on day 13 of the month or on Friday, UTC"),
        (
            *("0 0 */2 * MON", "UTC"),
            "at 00:00 on every second day of the month if it is Monday, UTC",
        ),
        ("0 9 L * *", "UTC", "at 09:00 on the last day of the month, UTC"),
        ("0 9 LW * *", "UTC", "at 09:00 on the last weekday of the month, UTC"),
        ("0 9 15W * *", "UTC", "at 09:00 on the weekday nearest day 15, UTC"),
        ("0 9 * * MON#2", "UTC", "at 09:00 on the second Monday of the month, UTC"),
        ("0 9 * * 5L", "UTC", "at 09:00 on the last Friday of the month, UTC"),
        ("0 9 1 JAN,JUL *", "UTC", "at 09:00 on day 1 of the month in January and July, UTC"),
        (
            *("0 0 L-3 MAY-JUN *", "+05:30"),
            "at 00:00 on the day 3 before the last of the month in May and June, UTC+05:30",
        ),
        (
            *("0 0 0 1 1 ? 2030-2031", "UTC"),
            "at 00:00 on day 1 of the month in January of 2030 and 2031, UTC",
        ),
        (
            *("FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9", "Asia/Ho_Chi_Minh"),
            "every month on the last Friday of the month at 09:00, Ho Chi Minh time",
        ),
        (
            *("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;BYHOUR=9", "UTC"),
            "every 2 weeks on Monday and Wednesday at 09:00, UTC",
        ),
        (
            *("FREQ=YEARLY;BYMONTH=11;BYDAY=4TH", "UTC"),
            "every year on the fourth Thursday of the month in November at 00:00, UTC",
        ),
        ("FREQ=WEEKLY;BYDAY=TU,TH;BYHOUR=9", "UTC", "on Tuesday and Thursday at 09:00, UTC"),
        ("every 90m", "UTC", "every 90 minutes"),
        (
            *("every 1h from 2027-01-04T08:00", NEW_YORK),
            "every hour, counted from 2027-01-04 13:00:00 UTC",
        ),
        (
            *("R/2027-01-31T09:00/P1M", "UTC"),
            "every month on day 31 or the last of the month at 09:00, counted from 2027-01-31, UTC",
        ),
        (
            *("R/2027-01-30T09:00/P2W", "UTC"),
            "every 2 weeks at 09:00, counted from 2027-01-30, UTC",
        ),
        ("2027-01-31T09:00", NEW_YORK, "once, at 2027-01-31 09:00, New York time"),
        ("2027-01-31T09:00Z", NEW_YORK, "once, at 2027-01-31 04:00, New York time"),
        (
            *("at 2027-01-31T09:00, 2027-02-28T09:00", "UTC"),
            "at 2027-01-31 09:00 and 2027-02-28 09:00, UTC",
        ),
    ],
)
def test_a_rule_in_words(when: str, zone: str, said: str) -> None:
    assert sentence(Definition(when=(when,), zone=zone)) == said


def test_everything_else_in_words() -> None:
    definition = Definition(
        when=("0 9 * * *", "0 17 * * FRI"),
        zone=NEW_YORK,
        calendars=(Heeds("holidays"), Heeds("season", "include")),
        on_excluded="next_business_day",
        starts_at=datetime(2027, 1, 1, tzinfo=UTC),
        ends_at=datetime(2028, 1, 1, tzinfo=UTC),
        max_fires=3,
    )
    assert sentence(definition) == (
        "at 09:00 every day; and at 17:00 on Friday, New York time, not on holidays and only on"
        " season (moved to the next business day), from 2027-01-01T00:00:00+00:00, until"
        " 2028-01-01T00:00:00+00:00, 3 times at most"
    )


@pytest.mark.parametrize(
    ("when", "after", "choice", "shown"),
    [
        (
            *("30 2 * * *", "2024-03-09T12:00Z", {}),
            ("2024-03-10T07:00:00Z", "02:30 does not exist on 2024-03-10: due at 03:00 as a"),
        ),
        (
            *("30 2 * * *", "2024-03-09T12:00Z", {"dst_gap": "shift"}),
            ("2024-03-10T07:00:00Z", "02:30 does not exist on 2024-03-10: moved to 03:00"),
        ),
        (
            *("30 1 * * *", "2024-11-02T12:00Z", {}),
            ("2024-11-03T05:30:00Z", "the clock shows 01:30 twice: this is the first pass"),
        ),
        (
            *("30 1 * * *", "2024-11-02T12:00Z", {"dst_fold": "second"}),
            ("2024-11-03T06:30:00Z", "the clock shows 01:30 twice: this is the second pass"),
        ),
        ("0 9 * * *", "2024-11-02T14:00Z", {}, ("2024-11-03T14:00:00Z", "")),
    ],
)
def test_the_next_fires_with_what_a_clock_change_makes_of_them(
    when: str, after: str, choice: dict[str, str], shown: tuple[str, str]
) -> None:
    definition = Definition(when=(when,), zone=NEW_YORK, **choice)  # type: ignore[arg-type]
    found = preview(compile_timetable(definition), instant(after), 3)
    assert len(found) == 3
    assert found[0].utc == shown[0]
    assert found[0].note.startswith(shown[1])
    assert bool(found[0].note) is bool(shown[1])
    assert found[2].note == ""


@pytest.mark.parametrize(
    ("when", "word"),
    [
        ("0 0 13 * FRI", "either day field matches"),
        ("0 0 */2 * MON", "both day fields must match"),
        ("*/7 * * * *", "minute */7: the last step, after 56, is shorter"),
        ("0 */5 * * *", "hour */5: the last step, after 20, is shorter"),
        ("50/20 * * * *", "the step is longer than the range"),
        ("0 0 0 1 1 ? 2040", "more than a year away: 2040-01-01"),
        ("30 2 * * *", "02:30 does not exist on 2027-03-14"),
    ],
)
def test_what_may_not_be_meant(when: str, word: str) -> None:
    definition = Definition(when=(when,), zone=NEW_YORK)
    now = instant("2027-01-01T00:00Z")
    assert any(word in text for text in warnings(definition, compile_timetable(definition), now))


@pytest.mark.parametrize("when", ["0 9 * * MON-FRI", "*/15 * * * *", "every 90m", "0 9 13 * *"])
def test_what_is_plain_has_no_warning(when: str) -> None:
    definition = Definition(when=(when,), zone=NEW_YORK)
    assert warnings(definition, compile_timetable(definition), instant("2027-01-01T00:00Z")) == []
