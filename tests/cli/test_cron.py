"""`mainspring cron explain`: without a store, for people and machines, with a caret for slips."""

from pathlib import Path

import pytest

from tests.cli.conftest import Commands


@pytest.fixture
def cron(tmp_path: Path) -> Commands:
    """Commands in an empty folder: nothing here may need a store."""
    return Commands(tmp_path)


def explained(cron: Commands, *words: str) -> str:
    done = cron("cron", "explain", *words, expect=0)
    assert done.err == ""
    assert not cron.store.exists()
    return done.out


def test_a_rule_is_told_with_its_next_fires_in_both_clocks(cron: Commands) -> None:
    out = explained(
        cron, "0 9 * * MON-FRI", "--tz", "America/New_York", "--after", AFTER, "-n", "2"
    )
    lines = out.splitlines()
    assert lines[:2] == ["0 9 * * MON-FRI", "at 09:00 on weekdays, New York time"]
    assert lines[3].startswith("LOCAL (America/New_York)     UTC               IN")
    assert lines[4].startswith("Fri 2027-03-12 09:00 -05:00  2027-03-12 14:00")
    assert lines[5].startswith("Mon 2027-03-15 09:00 -04:00  2027-03-15 13:00")


AFTER = "2027-03-12T00:00:00Z"


def test_what_clock_changes_do_within_a_year_is_told(cron: Commands) -> None:
    out = explained(cron, "30 2 * * *", "--tz", "America/New_York", "--after", AFTER)
    assert "Sun 2027-03-14  the clock goes from 02:00 to 03:00\n    02:30 does not exist" in out
    assert "Sun 2027-11-07  the clock goes back from 02:00 to 01:00\n    no fire is" in out
    found = cron("cron", "explain", "30 1 * * *", "--tz", "America/New_York",
                 "--after", AFTER, "-o", "json", expect=0).json()  # fmt: skip
    assert [note["effect"] for note in found["clock_changes"]] == ["none", "first_pass"]
    assert found["clock_changes"][1]["at"] == "2027-11-07T06:00:00Z"
    assert found["clock_changes"][1]["times"] == ["01:30"]


def test_what_may_not_be_meant_is_told(cron: Commands) -> None:
    out = explained(cron, "*/7 9 1 * MON")
    assert "note: either day field matches" in out
    assert "note: minute */7: the last step, after 56, is shorter" in out


def test_words_need_no_quotes_where_the_shell_leaves_them_alone(cron: Commands) -> None:
    assert explained(cron, "every", "90m").splitlines()[1] == "every 90 minutes"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["@daily"], "at 00:00 every day, UTC"),
        (["FREQ=MONTHLY;BYDAY=-1FR"], "every month on the last Friday of the month at 00:00, UTC"),
        (["FREQ=DAILY;COUNT=3", "--anchor", "2037-01-01T06:00"], "every day at 06:00 3 times, UTC"),
        (["INTERVAL=2;FREQ=DAILY", "--rrule"], "every 2 days at 00:00, UTC"),
        (["2037-01-31T09:00"], "once, at 2037-01-31 09:00, UTC"),
        (["H 3 * * *", "--name", "nightly"], "at 03:49 every day, UTC"),
    ],
)
def test_every_written_form_is_explained(words: list[str], sentence: str, cron: Commands) -> None:
    assert explained(cron, *words).splitlines()[1] == sentence
    assert cron("cron", "explain", *words, "-o", "name", expect=0).out.strip() == sentence


SLIPS = [
    # (words, code, what is told, where the caret stands)
    (["61 9 * * *"], "invalid_schedule", ["minute: 61 is out of range", "use 0 to 59"], 0),
    (["0 9 * * MOX"], "invalid_schedule", ["day of week: MOX", "did you mean MON?"], 8),
    (["0 9 * JAM *"], "invalid_schedule", ["month: JAM", "did you mean JAN?"], 6),
    (["0 9 * *"], "invalid_schedule", ["4 fields", "minute hour day-of-month"], 7),
    (["*/0 9 * * *"], "invalid_schedule", ["minute", "a step is a number from 1"], 2),
    (["0 9 20-10 * *"], "invalid_schedule", ["runs backwards", "10-20"], 4),
    (["0 9 1,,2 * *"], "invalid_schedule", ["empty", "extra comma"], 6),
    (["TZ=UTC 0 9 * * *"], "invalid_schedule", ["= is not allowed", "zone UTC"], 2),
    (["@dayly"], "invalid_schedule", ["@dayly", "did you mean @daily"], 0),
    (["@reboot"], "invalid_schedule", ["@reboot", "knows no start"], 0),
    (["0 9 * * é"], "invalid_schedule", ["U+00E9", "ASCII"], 8),
    (["0 0 30 2 *"], "never_fires", ["30 of month 2 does not exist", "L for its last day"], 4),
    (["FREQ=DALY"], "invalid_schedule", ["frequency DALY", "did you mean DAILY?"], 5),
    (["FREK=DAILY", "--rrule"], "invalid_schedule", ["FREK (position 0)", "did you mean FREQ?"], 0),
    (["every 90x"], "invalid_schedule", ["90x", "1h30m"], 6),
    (["@daily", "--anchor", "2027-13-01"], "invalid_schedule", ["anchor", "does not exist"], 0),
    (["H(50-70) 3 * * *", "--name", "x"], "invalid_schedule", ["H(50-70) is out of range"], 0),
    (["2027-01-31"], "invalid_schedule", ["without a time of day", "2027-01-31T09:00"], 0),
]


@pytest.mark.parametrize(("words", "code", "told", "place"), SLIPS, ids=lambda item: str(item)[:40])
def test_a_slip_is_pointed_at(
    words: list[str], code: str, told: list[str], place: int, cron: Commands
) -> None:
    done = cron("cron", "explain", *words)
    assert (done.code, done.error_code, done.out) == (2, code, "")
    done.assert_told()
    for part in told:
        assert part in done.err
    lines = done.err.splitlines()
    assert lines[1] == f"  {words[2] if '--anchor' in words else words[0]}"
    assert lines[2] == " " * (2 + place) + "^"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["@daily", "--tz", "Europe/Berln"], "unknown_zone", "did you mean Europe/Berlin"),
        (["@daily", "--tz", "EST"], "unknown_zone", "did you mean America/New_York?"),
        (["@daily", "--tz="], "unknown_zone", "there is no zone ''"),
        (["@daily", "-n", "0"], "invalid_input", "from 1 to 500"),
        (["@daily", "-n", "many"], "invalid_input", "'many' is not a whole number"),
        (["@daily", "--after", "soon"], "invalid_input", "after: 'soon'"),
        (["@daily", "--after", "2027-01-01T00:00"], "naive_datetime", "no time zone"),
        (["2020-01-31T09:00"], "never_fires", "no fire within"),
        (["H 3 * * *"], "invalid_schedule", "--name nightly"),
        (["H 3 * * *", "--name", "!"], "invalid_input", "name: '!' is not a name"),
        (["@daily", "--zone", "UTC"], "unknown_option", "unknown option: --zone"),
        ([], "invalid_input", "EXPR is missing"),
    ],
)
def test_bad_options_are_told(words: list[str], code: str, told: str, cron: Commands) -> None:
    done = cron("cron", "explain", *words)
    assert (done.code, done.error_code, done.out) == (2, code, "")
    done.assert_told()
    assert told in done.err


def test_only_what_is_around_the_place_of_a_long_rule_is_shown(cron: Commands) -> None:
    minutes = ",".join(str(minute) for minute in range(60))
    done = cron("cron", "explain", f"{minutes} 25 * * *")
    assert done.code == 2
    text, caret = done.err.splitlines()[1:3]
    assert text.startswith("  …")
    assert text[len(caret) - 1 :] == "25 * * *"
