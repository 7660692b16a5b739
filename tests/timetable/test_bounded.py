"""Every search ends after work that is known beforehand, above all those that find nothing."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import msgspec
import pytest

from mainspring.domain.limits import SEARCH_DAYS_MAX
from mainspring.timetable.definition import (
    CalendarDefinition,
    Definition,
    Heeds,
    compile_calendar,
    compile_timetable,
)
from mainspring.timetable.timetable import DST_SKIPPED, EXCLUDED_BY_CALENDAR, Timetable
from tests.timetable.steps import steps

#: Calls that looking into one day without a fire costs at most, and those of a whole search.
DAY_STEPS = 60
SEARCH_STEPS = DAY_STEPS * SEARCH_DAYS_MAX
AFTER = int(datetime(2027, 1, 1, tzinfo=UTC).timestamp())
CALENDARS = {
    definition.name: compile_calendar(definition)
    for definition in (
        CalendarDefinition(name="nights", entries=("2024-03-09T22:00..2024-03-11T02:45",)),
        CalendarDefinition(name="past", entries=("2024-03-01",)),
        CalendarDefinition(name="always", entries=("SUN-SAT",)),
    )
}
RULES = [
    *("0 */6 * * *", "30 2 * * *", "15 0 0 29 2 ? 1970-2199", "0 12 * * MON#1"),
    *("FREQ=HOURLY;INTERVAL=5", "FREQ=MINUTELY;INTERVAL=45", "FREQ=DAILY;BYHOUR=2;BYMINUTE=30"),
    *("FREQ=YEARLY;BYDAY=MO;BYMONTHDAY=29;BYMONTH=2", "every 7h"),
    *("R/2010-01-31T02:30/P1D", "2024-03-10T02:30"),
]  # fmt: skip


def timetable(*when: str, **more: object) -> Timetable:
    definition = Definition(when=when, zone="America/New_York", **more)  # type: ignore[arg-type]
    return compile_timetable(definition, CALENDARS)


def heeding(name: str, mode: str) -> tuple[Heeds, ...]:
    return (Heeds(calendar=name, mode=mode),)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["exclude", "include"])
@pytest.mark.parametrize("name", sorted(CALENDARS))
@pytest.mark.parametrize("when", RULES)
def test_each_question_is_answered_after_one_search(when: str, name: str, mode: str) -> None:
    def asked(question: Callable[[Timetable], object]) -> int:
        fresh = timetable(when, calendars=heeding(name, mode), dst_gap="skip")
        return steps(lambda: question(fresh))

    assert asked(lambda found: found.next_at(AFTER)) < SEARCH_STEPS
    assert asked(lambda found: found.previous_at(AFTER)) < SEARCH_STEPS
    assert asked(lambda found: found.next_not_fired(AFTER, DST_SKIPPED)) < SEARCH_STEPS
    assert asked(lambda found: found.next_not_fired(AFTER, EXCLUDED_BY_CALENDAR)) < SEARCH_STEPS


@pytest.mark.parametrize("when", ["30 2 * * *", "FREQ=DAILY;BYHOUR=2;BYMINUTE=30", "every 7h"])
def test_what_was_found_is_not_searched_again(when: str) -> None:
    found = timetable(when, calendars=heeding("past", "include"), dst_gap="skip")

    def ask() -> None:
        found.next_at(AFTER)
        found.previous_at(AFTER + 86_400)
        found.next_not_fired(AFTER, DST_SKIPPED)

    first, again = steps(ask), steps(ask)
    assert again < first / 20


@pytest.mark.parametrize("when", ["30 2 * * *", "FREQ=HOURLY;INTERVAL=5", "every 7h"])
def test_an_answer_does_not_depend_on_what_was_asked_before(when: str) -> None:
    fresh = partial(timetable, when, calendars=heeding("nights", "include"))
    near, far = fresh(), fresh()
    fires = AFTER - 4 * 366 * 86_400
    # Too far away to be found, from both sides.
    assert far.next_at(0) is None
    assert far.previous_at(AFTER + 60 * 366 * 86_400) is None
    assert far.next_at(fires) == near.next_at(fires) is not None
    assert far.previous_at(AFTER) == near.previous_at(AFTER) is not None


def test_a_rule_that_finds_nothing_does_not_slow_down_one_that_fires() -> None:
    rules = ("*/5 9 10 3 *", "FREQ=YEARLY;BYDAY=MO;BYMONTHDAY=29;BYMONTH=2")
    found = timetable(*rules, calendars=heeding("past", "exclude"))
    fires = found.between(AFTER, AFTER + 400 * 86_400).fires
    assert len(fires) == 12
    alone = timetable(rules[0], calendars=heeding("past", "exclude"))
    cost = steps(lambda: list(alone.instants(AFTER, AFTER + 400 * 86_400)))
    both = steps(lambda: list(found.instants(AFTER, AFTER + 400 * 86_400)))
    assert both < 6 * cost


def test_fires_that_a_calendar_takes_away_are_listed_with_one_search_for_gaps() -> None:
    found = timetable("*/5 * * * *", calendars=heeding("past", "include"), dst_gap="skip")
    short = steps(lambda: found.not_fired(AFTER, AFTER + 86_400))
    # Ten times as many fires, and the same search behind them.
    long = steps(lambda: found.not_fired(AFTER, AFTER + 864_000))
    assert long < short + 10 * SEARCH_STEPS / 100
    assert len(found.not_fired(AFTER, AFTER + 864_000).fires) == 2880


@pytest.mark.parametrize("fold", ["first", "second", "both"])
@pytest.mark.parametrize("when", ["at 2027-03-14T02:30", "FREQ=DAILY;UNTIL=20270601T000000"])
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Tokyo", "Europe/Berlin"])
def test_a_rule_that_is_over_is_over_in_every_zone(zone: str, when: str, fold: str) -> None:
    definition = {"when": (when,), "zone": zone, "anchor": "2027-01-01T00:00", "dst_fold": fold}
    found = compile_timetable(msgspec.convert(definition, Definition))
    assert found.next_at(AFTER + 400 * 86_400) is None
    assert len(found.between(AFTER, AFTER + 40_000 * 86_400).fires) in {1, 151, 152}
