"""What a schedule says of its times as a whole: bounds, unions, jitter, and what is refused."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest

from mainspring.domain.errors import (
    FiresTooOften,
    InvalidSchedule,
    LimitReached,
    MainspringError,
    NaiveDatetime,
    NeverFires,
    UnknownOption,
    UnknownZone,
)
from mainspring.timetable.civil import moment
from mainspring.timetable.definition import (
    CalendarDefinition,
    Definition,
    Heeds,
    check_definition,
    compile_calendar,
    compile_timetable,
)
from mainspring.timetable.jitter import delay_ms

NOW = int(datetime(2027, 1, 1, tzinfo=UTC).timestamp())
NOON = datetime(2027, 1, 4, 12, tzinfo=UTC)
DAYS = {"days": compile_calendar(CalendarDefinition(name="days", entries=("SUN-SAT",)))}


def test_a_start_and_an_end_belong_to_it() -> None:
    definition = Definition(when=("0 12 * * *",), starts_at=NOON, ends_at=NOON + timedelta(days=2))
    found = compile_timetable(definition)
    first = int(NOON.timestamp())
    assert list(found.instants(0, 1 << 40)) == [first, first + 86_400, first + 172_800]
    assert found.next_at(first + 172_800) is None
    assert found.previous_at(first) is None
    assert found.previous_at(1 << 40) == first + 172_800


@pytest.mark.parametrize(("late_us", "count"), [(0, 3), (1, 2)])
def test_a_start_within_a_second_leaves_that_second_out(late_us: int, count: int) -> None:
    definition = Definition(
        when=("0 12 * * *",),
        starts_at=NOON + timedelta(microseconds=late_us),
        ends_at=NOON + timedelta(days=2, microseconds=late_us),
    )
    assert len(list(compile_timetable(definition).instants(0, 1 << 40))) == count


def test_a_maximum_of_fires_ends_it() -> None:
    found = compile_timetable(Definition(when=("* * * * *",), max_fires=3))
    assert found.next_at(NOW, fired=2) == NOW + 60
    assert found.next_at(NOW, fired=3) is None


def test_rules_are_united_and_meet_as_one_fire() -> None:
    when = ("0 9 * * *", "0 9,17 * * MON", "every 12h from 2027-01-04T09:00")
    found = compile_timetable(Definition(when=when)).between(NOW + 3 * 86_400, NOW + 4 * 86_400)
    assert [f"{moment(fire.nominal_at):%H}" for fire in found.fires] == ["09", "17", "21"]


# --- jitter -----------------------------------------------------------------------


def test_jitter_is_the_same_for_ever() -> None:
    # Values of all installations: a change of them moves everybody's fires.
    assert (delay_ms("a", 5, 1000), delay_ms("a", None, 1000), delay_ms("a", 5, 0)) == (105, 14, 0)


def test_jitter_stays_in_its_window_and_before_the_next_fire() -> None:
    definition = Definition(when=("*/5 * * * *",), jitter_seconds=3_600)
    found = compile_timetable(definition)
    instants = list(islice(found.instants(NOW, NOW + 86_400), 250))
    dues = [found.due_ms("nightly", at) for at in instants]
    assert all(
        at * 1000 <= due < at * 1000 + 300_000 for at, due in zip(instants, dues, strict=True)
    )
    assert all(one < other for one, other in pairwise(dues))
    assert len({due % 300_000 for due in dues}) > 200
    assert dues == [compile_timetable(definition).due_ms("nightly", at) for at in instants]
    assert dues != [found.due_ms("weekly", at) for at in instants]


def test_fixed_jitter_is_one_delay_for_all_fires() -> None:
    definition = Definition(when=("0 * * * *",), jitter_seconds=600, jitter_mode="fixed")
    found = compile_timetable(definition)
    delays = {found.due_ms("nightly", at) - at * 1000 for at in found.instants(NOW, NOW + 86_400)}
    assert len(delays) == 1
    assert 0 <= delays.pop() < 600_000
    spread = {found.due_ms(str(number), NOW) - NOW * 1000 for number in range(50)}
    assert len(spread) > 45


# --- refused before anything is stored ----------------------------------------------


def _wrong() -> list[tuple[dict[str, object], type[MainspringError], str]]:
    return [
        ({"when": ()}, InvalidSchedule, "0 rules; give 1 to 32"),
        ({"when": ("@daily",) * 33}, InvalidSchedule, "33 rules"),
        ({"zone": "America/New_Yrok"}, UnknownZone, "America/New_York"),
        ({"zone": "EST"}, UnknownZone, "abbreviation"),
        ({"starts_at": NOON, "ends_at": NOON - timedelta(1)}, InvalidSchedule, "before the start"),
        ({"starts_at": datetime(2027, 1, 1)}, NaiveDatetime, "no time zone"),  # noqa: DTZ001
        ({"max_fires": 0}, InvalidSchedule, "leaves no fire"),
        ({"dst_gap": "shifts"}, UnknownOption, "shift"),
        ({"dst_fold": "twice"}, UnknownOption, "dst_fold"),
        ({"on_excluded": "drop"}, UnknownOption, "on_excluded"),
        ({"jitter_mode": "dice"}, UnknownOption, "jitter_mode"),
        ({"jitter_seconds": -1}, InvalidSchedule, "-1 is not from 0"),
        ({"jitter_seconds": 86_401}, InvalidSchedule, "86401 is not from 0"),
        ({"calendars": (Heeds("day"),)}, InvalidSchedule, "did you mean days?"),
        ({"calendars": (Heeds("days", "only"),)}, UnknownOption, "mode"),  # type: ignore[arg-type]
        ({"calendars": (Heeds("days"),) * 17}, InvalidSchedule, "at most 16"),
        ({"calendars": (Heeds("days"),)}, NeverFires, "no fire within 50 years"),
        ({"when": ("0 0 30 2 *",)}, NeverFires, "does not exist"),
        ({"when": ("2026-12-31T12:00",)}, NeverFires, "no fire"),
        ({"when": ("0 0 0 1 1 ? 1999",)}, NeverFires, "no fire"),
        ({"ends_at": datetime(2026, 1, 1, tzinfo=UTC)}, NeverFires, "before the schedule's end"),
        ({"when": ("*/10 * * * * *",)}, FiresTooOften, "10 s apart; the minimum is 60 s"),
        ({"when": ("every 59s",)}, FiresTooOften, "59 s apart"),
        # Each of them is rare enough, both together are not.
        ({"when": ("0 9 * * *", "30 0 9 * * *")}, FiresTooOften, "30 s apart"),
        ({"when": ("2027-02-01T09:00:00Z, 2027-02-01T09:00:30Z",)}, FiresTooOften, "30 s apart"),
    ]


@pytest.mark.parametrize(("given", "error", "word"), _wrong(), ids=lambda value: str(value)[:40])
def test_what_is_wrong_is_refused(
    given: dict[str, object], error: type[MainspringError], word: str
) -> None:
    definition = Definition(**({"when": ("0 9 * * *",)} | given))  # type: ignore[arg-type]
    with pytest.raises(error) as caught:
        check_definition(definition, NOW, DAYS, seconds_min=60)
    assert word in f"{caught.value.message} {caught.value.hint}"


def test_what_is_right_is_compiled() -> None:
    assert check_definition(Definition(when=("0 9 * * *",)), NOW).next_at(NOW) == NOW + 9 * 3600


@pytest.mark.parametrize("limit", [0, 10_001])
def test_a_calendar_has_a_limit_and_a_question_too(limit: int) -> None:
    with pytest.raises(LimitReached):
        compile_timetable(Definition(when=("@daily",))).between(NOW, NOW + 60, limit)
    with pytest.raises(InvalidSchedule, match="at most 2000"):
        compile_calendar(CalendarDefinition(name="days", entries=("12-25",) * 2_001))
