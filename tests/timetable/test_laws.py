"""What holds for every timetable, whatever its rules, zone, settings and calendars."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Literal

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mainspring.domain.errors import LimitReached
from mainspring.timetable.definition import (
    CalendarDefinition,
    Definition,
    Heeds,
    compile_calendar,
    compile_timetable,
)
from mainspring.timetable.timetable import Timetable

DAY = 86_400
ZONES = [
    *("UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca"),
    *("America/Sao_Paulo", "Asia/Tehran", "Antarctica/Troll", "Europe/Dublin", "+05:30"),
]
#: Around clock changes of these zones.
BEGINS = [
    *("2024-03-09", "2024-11-01", "2011-12-28", "2024-04-05", "2024-10-04", "2018-11-02"),
    *("2022-03-19", "2024-04-12", "2024-03-30", "2027-06-01"),
]
RULES = [
    *("30 2 * * *", "*/20 1-3 * * *", "0 * * * *", "0,15 0 * * *", "0 */6 * * *", "0 9 L * *"),
    *("15,45 30 1-3 * * *", "0 0 13 * FRI", "0 12 */2 * MON", "59 23 31 12 *", "0 0 29 2 *"),
    *("FREQ=DAILY;BYHOUR=2;BYMINUTE=30", "FREQ=HOURLY", "FREQ=MINUTELY;INTERVAL=45"),
    *("FREQ=HOURLY;INTERVAL=5", "FREQ=WEEKLY;BYDAY=SU,MO;BYHOUR=0", "FREQ=MONTHLY;BYDAY=-1FR"),
    *("every 90m", "every 7h from 2011-01-01T00:00"),
    *("R/2010-01-31T02:30/P1D", "R/2010-01-31T00:00/P1M"),
    *("2024-03-10T02:30, 2024-11-03T01:30, 2011-12-30T12:00", "2024-03-10T07:00Z"),
]  # fmt: skip
CALENDARS = {
    definition.name: compile_calendar(definition)
    for definition in (
        CalendarDefinition(name="weekends", entries=("SAT,SUN",)),
        CalendarDefinition(name="first", entries=("0 0 * * MON#1", "12-30", "2024-03-10")),
        CalendarDefinition(name="nights", entries=("2024-03-09T22:00..2024-03-11T02:45",)),
        CalendarDefinition(name="long", entries=("2024-03-01..2024-04-30",)),
        CalendarDefinition(name="odd", entries=("FREQ=DAILY;INTERVAL=2",)),
    )
}
SETTINGS = settings(
    # Each is costly. A share, not a number: a search for new examples is to look further.
    max_examples=settings().max_examples * 2 // 5,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
)


@st.composite
def definitions(draw: st.DrawFn, *, rules: int = 3, heeding: bool = True) -> Definition:
    when = draw(st.lists(st.sampled_from(RULES), min_size=1, max_size=rules, unique=True))
    heeds: list[Heeds] = []
    if heeding:
        names = st.lists(st.sampled_from(sorted(CALENDARS)), max_size=2, unique=True)
        modes = st.sampled_from(["exclude", "exclude", "include"])
        heeds = [Heeds(calendar=name, mode=draw(modes)) for name in draw(names)]  # type: ignore[arg-type]
    moves: list[Literal["skip", "next_business_day", "previous_business_day"]]
    moves = ["skip", "next_business_day", "previous_business_day"]
    elapsed = any(rule.startswith("every") or rule.endswith("Z") for rule in when)
    begin = datetime.fromisoformat(draw(st.sampled_from(BEGINS))).replace(tzinfo=UTC)
    bounds = draw(st.sampled_from([None, None, timedelta(days=1), timedelta(days=3)]))
    return Definition(
        when=tuple(when),
        zone=draw(st.sampled_from(ZONES)),
        dst_gap=draw(st.sampled_from(["policy", "shift", "skip"])),
        dst_fold=draw(st.sampled_from(["first", "second", "both"])),
        calendars=tuple(heeds),
        on_excluded=draw(st.sampled_from(moves[:1] if elapsed else moves)),
        starts_at=begin if bounds else None,
        ends_at=begin + bounds if bounds else None,
    )


BEGIN = st.sampled_from(BEGINS).map(
    lambda text: int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())
)
AFTER = st.builds(int.__add__, BEGIN, st.integers(0, 4 * DAY))


def compiled(definition: Definition) -> Timetable:
    return compile_timetable(definition, CALENDARS)


@SETTINGS
@given(definitions(), AFTER)
def test_instants_strictly_increase(definition: Definition, after: int) -> None:
    timetable = compiled(definition)
    found = list(islice(timetable.instants(after, after + 10 * DAY), 60))
    assert all(one < other for one, other in pairwise([after, *found]))


@SETTINGS
@given(definitions(), AFTER)
def test_next_and_previous_are_inverse(definition: Definition, after: int) -> None:
    timetable = compiled(definition)
    for _ in range(5):
        following = timetable.next_at(after)
        before = timetable.previous_at(after)
        if before is not None:
            assert before < after
            assert timetable.next_at(before - 1) == before
            again = timetable.next_at(before)
            assert again is None or again >= after
        if following is None:
            return
        assert timetable.previous_at(following + 1) == following
        last = timetable.previous_at(following)
        assert last is None or last <= after
        after = following


@SETTINGS
@given(definitions(), AFTER, st.integers(1, 3 * DAY), st.integers(1, 7))
def test_a_range_is_what_one_after_the_other_gives(
    definition: Definition, after: int, span: int, limit: int
) -> None:
    timetable = compiled(definition)
    whole = timetable.between(after, after + span)
    instants: list[int] = []
    at = timetable.next_at(after)
    while at is not None and at <= whole.through:
        instants.append(at)
        at = timetable.next_at(at)
    assert sorted({fire.nominal_at for fire in whole.fires}) == instants
    keys = [(fire.nominal_at, fire.sequence) for fire in whole.fires]
    assert keys == sorted(set(keys))
    pieces: list[int] = []
    through = after
    while through < whole.through and len(pieces) < 60:
        some = timetable.between(through, whole.through, limit)
        assert some.through > through
        assert len(some.fires) <= limit
        pieces += [fire.nominal_at for fire in some.fires]
        through = some.through
    whole_instants = [fire.nominal_at for fire in whole.fires if fire.nominal_at <= through]
    # A gap with more fires than the limit is cut; nothing else is.
    assert set(pieces) == set(whole_instants)


@SETTINGS
@given(definitions(), AFTER)
def test_a_union_has_what_its_rules_have(definition: Definition, after: int) -> None:
    def instants(when: tuple[str, ...]) -> set[int]:
        fields = {name: getattr(definition, name) for name in definition.__struct_fields__}
        timetable = compiled(Definition(**(fields | {"when": when})))
        return set(timetable.instants(after, after + DAY))

    alone = [instants((rule,)) for rule in definition.when]
    assert instants(definition.when) == set().union(*alone)


@SETTINGS
@given(definitions(rules=1, heeding=False), st.sampled_from(sorted(CALENDARS)), AFTER)
def test_what_calendars_keep_and_drop_is_everything(
    definition: Definition, name: str, after: int
) -> None:
    def with_calendar(mode: str) -> Timetable:
        fields = {field: getattr(definition, field) for field in definition.__struct_fields__}
        heeds = (Heeds(calendar=name, mode=mode),)  # type: ignore[arg-type]
        return compiled(Definition(**(fields | {"calendars": heeds, "on_excluded": "skip"})))

    def walls(timetable: Timetable) -> set[tuple[int, str]]:
        fires = timetable.between(after, after + 2 * DAY).fires
        return {(fire.nominal_at, fire.local) for fire in fires}

    out, only = with_calendar("exclude"), with_calendar("include")
    everything = walls(compiled(definition))
    if definition.dst_gap != "shift":  # several shifted wall times are one fire
        assert walls(out) | walls(only) == everything
        assert not walls(out) & walls(only)
    for timetable, other in ((out, only), (only, out)):
        dropped = {
            (fire.nominal_at, fire.local)
            for fire in timetable.not_fired(after, after + 2 * DAY).fires
            if fire.reason == "excluded_by_calendar"
        }
        assert dropped <= walls(other) or definition.dst_gap == "shift"
        assert {at for at, _ in walls(other)} <= {at for at, _ in dropped | walls(timetable)}


@SETTINGS
@given(
    definitions(rules=1, heeding=False).filter(lambda found: not found.when[0].startswith("every")),
    st.sampled_from(sorted(CALENDARS)),
    st.sampled_from(["next_business_day", "previous_business_day"]),
    AFTER,
)
def test_what_is_moved_lands_on_business_days(
    definition: Definition, name: str, moves: str, after: int
) -> None:
    if definition.when[0].endswith("Z"):
        return
    fields = {field: getattr(definition, field) for field in definition.__struct_fields__}
    heeds = (Heeds(calendar=name),)
    timetable = compiled(Definition(**(fields | {"calendars": heeds, "on_excluded": moves})))
    calendar = CALENDARS[name]
    for fire in timetable.between(after, after + 3 * DAY).fires:
        there = datetime.fromisoformat(fire.local).replace(tzinfo=UTC)
        day, minute = int(there.timestamp()) // DAY, there.hour * 60 + there.minute
        assert not calendar.minutes(day) >> minute & 1
        if fire.moved_from:
            was = datetime.fromisoformat(fire.moved_from).replace(tzinfo=UTC)
            assert there.weekday() < 5
            assert not calendar.minutes(day)
            assert was.time() == there.time()
            assert (was < there) is (moves == "next_business_day")
            assert abs(was - there) <= timedelta(days=31)


@pytest.mark.parametrize("limit", [0, -1, 10_001])
def test_a_range_has_a_limit(limit: int) -> None:
    timetable = compiled(Definition(when=("* * * * *",)))
    with pytest.raises(LimitReached, match="from 1 to 10000"):
        timetable.between(0, 60, limit)


def test_a_range_says_where_it_ended() -> None:
    timetable = compiled(Definition(when=("* * * * *",)))
    some = timetable.between(0, 86_400, 10)
    assert (len(some.fires), some.through, some.is_complete) == (10, 600, False)
    rest = timetable.between(some.through, 900, 10)
    assert (len(rest.fires), rest.through, rest.is_complete) == (5, 900, True)
