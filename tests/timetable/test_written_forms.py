"""Forms of a rule other than cron and RRULE: what they name, and how slips are refused."""

from datetime import datetime

import pytest

from mainspring.domain.errors import InvalidSchedule
from mainspring.timetable.civil import moment
from mainspring.timetable.cron import cron
from mainspring.timetable.cron_hash import has_hashes, resolve_hashes
from mainspring.timetable.definition import Definition, compile_timetable

ZONE = "America/New_York"


def instants(when: str, after: str, count: int, anchor: str | None = None) -> list[str]:
    found = compile_timetable(Definition(when=(when,), zone=ZONE, anchor=anchor))
    at: int | None = int(datetime.fromisoformat(after).timestamp())
    shown: list[str] = []
    while len(shown) < count and (at := found.next_at(at or 0)) is not None:
        shown.append(f"{moment(at):%Y-%m-%dT%H:%M:%S}")
    return shown


@pytest.mark.parametrize(
    ("when", "anchor", "expected"),
    [
        # Elapsed time knows no clock change; the one of autumn is on 7 November.
        ("every 7h", "2027-11-07T00:00", "11-07T04:00:00 11-07T11:00:00 11-07T18:00:00"),
        ("every 1d from 2027-11-06T09:00", None, "11-06T13:00:00 11-07T13:00:00 11-08T13:00:00"),
        ("@every 90s", "2027-11-06T12:00:30Z", "11-06T12:00:30 11-06T12:02:00 11-06T12:03:30"),
        ("every 1h30m", "2027-11-06T12:00Z", "11-06T12:00:00 11-06T13:30:00 11-06T15:00:00"),
        ("R/2027-11-06T09:00/PT24H", None, "11-06T13:00:00 11-07T13:00:00 11-08T13:00:00"),
        # A step of the calendar is a wall time.
        ("R/2027-11-06T09:00/P1D", None, "11-06T13:00:00 11-07T14:00:00 11-08T14:00:00"),
        ("R/2027-11-05T09:00/P1W", None, "11-05T13:00:00 11-12T14:00:00 11-19T14:00:00"),
        ("R/2027-10-31T09:00/P1M", None, "11-30T14:00:00 12-31T14:00:00"),
        ("2027-11-07T09:00", None, "11-07T14:00:00"),
        ("2027-11-07T09:00Z", None, "11-07T09:00:00"),
        ("2027-11-07T09:00:30+02:00", None, "11-07T07:00:30"),
        ("at 2027-11-08T09:00, 2027-11-06T09:00", None, "11-06T13:00:00 11-08T14:00:00"),
        ("20271108T0900Z 20271106T0900Z", None, "11-06T09:00:00 11-08T09:00:00"),
    ],
)
def test_what_is_named(when: str, anchor: str | None, expected: str) -> None:
    wanted = [f"2027-{text}" for text in expected.split()]
    found = instants(when, "2027-11-05T12:00Z", len(wanted), anchor)
    assert found == wanted


def test_months_are_counted_from_the_anchor_and_not_from_the_one_before() -> None:
    found = instants("R/2027-01-31T12:00/P1M", "2027-01-01T00:00Z", 4)
    assert [text[5:10] for text in found] == ["01-31", "02-28", "03-31", "04-30"]
    found = instants("R/2028-02-29T12:00/P1Y", "2028-01-01T00:00Z", 5)
    assert [text[:10] for text in found] == [
        *("2028-02-29", "2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29")
    ]


def test_an_anchor_within_a_gap_is_the_end_of_the_gap() -> None:
    assert instants("every 1h from 2024-03-10T02:30", "2024-03-09T00:00Z", 1) == [
        "2024-03-10T07:00:00"
    ]


def test_a_list_that_is_over_is_over() -> None:
    assert instants("2027-11-07T09:00", "2027-11-07T14:00Z", 1) == []


def _slips() -> list[tuple[str, str, str, int]]:
    """Text, field, a word of the message or hint, position."""
    return [
        ("every 0s", "interval", "under the minimum", 6),
        ("every", "interval", "nothing is no duration", 6),
        ("every 5", "interval", "90s, 5m, 2h", 6),
        ("every 5 parsecs", "interval", "5 parsecs is no duration", 6),
        ("every 90ms", "interval", "whole seconds", 6),
        ("every 99999w", "interval", "ten years", 6),
        ("every 5m from yesterday", "interval", "yesterday is no date", 14),
        ("R5/2027-01-31T09:00/P1M", "interval", "use max_fires", 0),
        ("R/P1M", "interval", "start or duration is missing", 5),
        ("R/2027-01-31T09:00/", "interval", "nothing is no ISO duration", 19),
        ("R/2027-01-31T09:00/P1M1D", "interval", "mixes months, days and hours", 19),
        ("R/2027-01-31T09:00/P0D", "interval", "or is nothing", 19),
        ("R/2027-01-31T09:00/P101Y", "interval", "longer than a century", 19),
        ("R/2027-01-31T09:00/1M", "interval", "PT90M, P1D", 19),
        ("R/2027-02-30T09:00/P1M", "interval", "does not exist", 2),
        ("2027-02-30T09:00", "dates", "does not exist", 0),
        ("2027-01-31", "dates", "without a time of day", 0),
        ("at ", "dates", "a date is missing", 2),
        ("at 2027-01-31T09:00,tomorrow", "dates", "tomorrow is no date", 20),
        ("at 2027-01-31T09:00, 2027-01-31T09:00Z", "dates", "mixed", 2),
        ("2027-01-31T25:00", "dates", "no time of day", 0),
        ("1969-01-01T00:00", "dates", "1969 is out of range", 0),
        ("2200-01-01T00:00Z", "dates", "1970 to 2199", 0),
        ("2027-01-31T09:00:00.5Z", "dates", "fractions", 0),
        ("at " + "2027-01-31T09:00," * 501, "dates", "501 dates are more than 500", 2),
        ("every 5m from \u0661", "when", "U+0661", 14),
        ("every " + "1" * 600 + "s", "interval", "characters are too many", 512),
    ]


@pytest.mark.parametrize(("text", "field", "word", "position"), _slips(), ids=range(len(_slips())))
def test_slips_are_refused_with_their_place(
    text: str, field: str, word: str, position: int
) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        compile_timetable(Definition(when=(text,)))
    error = caught.value
    assert error.details["field"] == field
    assert error.details["position"] == position
    assert word in f"{error.message} {error.hint}"
    assert error.hint != InvalidSchedule.default_hint
    assert len(error.message) < 200


def test_a_slip_in_the_anchor_names_the_anchor() -> None:
    with pytest.raises(InvalidSchedule) as caught:
        compile_timetable(Definition(when=("every 5m",), anchor="noon"))
    assert caught.value.details == {"field": "anchor", "position": 0, "token": "noon"}


# --- H ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        # Values of all installations, for ever: a change of them moves everybody's fires.
        ("H 3 * * *", "0 3 * * *"),
        ("H H H * H", "0 22 26 * 1"),
        ("H/15 * * * *", "0-59/15 * * * *"),
        ("H(0-29)/10 * * * *", "0-29/10 * * * *"),
        ("h 3 * * *", "0 3 * * *"),
        ("0 9 * * THU", "0 9 * * THU"),
        ("@daily", "@daily"),
    ],
)
def test_a_hashed_number_is_the_same_for_ever(text: str, resolved: str) -> None:
    assert resolve_hashes(text, "default/report") == resolved
    assert cron(resolved).text == resolved
    assert not has_hashes(resolved)


def test_hashed_numbers_spread_over_the_field_and_stay_in_their_range() -> None:
    minutes = {int(resolve_hashes("H 3 * * *", f"t/{n}").split()[0]) for n in range(600)}
    assert minutes == set(range(60))
    few = {int(resolve_hashes("H(10-14) 3 * * *", f"t/{n}").split()[0]) for n in range(200)}
    assert few == set(range(10, 15))
    days = {int(resolve_hashes("0 0 H * *", f"t/{n}").split()[2]) for n in range(600)}
    assert days == set(range(1, 29))


@pytest.mark.parametrize(
    ("text", "word", "position"),
    [
        ("H(5-70) * * * *", "out of range", 0),
        ("0 H(9-5) * * *", "out of range", 2),
        ("H/99 * * * *", "shorter step", 0),
        ("0 0 * * H(1-3)/9", "shorter step", 8),
    ],
)
def test_a_hashed_number_outside_its_field_is_refused(text: str, word: str, position: int) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        resolve_hashes(text, "default/report")
    assert word in f"{caught.value.message} {caught.value.hint}"
    assert caught.value.details["position"] == position
