"""The table of exact instants (docs/concepts/time.md): what each misfire policy is offered.

Columns: one fire for all that a gap left out; regular fires only; a fire for every wall time.
"""

from datetime import datetime
from typing import NamedTuple

import pytest

from mainspring.timetable.civil import moment
from mainspring.timetable.definition import Definition, compile_timetable
from mainspring.timetable.timetable import Timetable


class Row(NamedTuple):
    expression: str
    zone: str
    after: str
    once: str
    regular: str
    each: str


SAME = "="
# fmt: off
TABLE = [
    # 1
    Row("30 2 * * *", "America/New_York", "2024-03-09T12:00Z",
        "2024-03-10T07:00Z 2024-03-11T06:30Z",
        "2024-03-11T06:30Z 2024-03-12T06:30Z",
    "="),
    # 2
    Row("0 2 * * *", "America/New_York", "2024-03-09T12:00Z",
        "2024-03-10T07:00Z 2024-03-11T06:00Z",
        "2024-03-11T06:00Z 2024-03-12T06:00Z",
    "="),
    # 3
    Row("0,30 2 * * *", "America/New_York", "2024-03-09T12:00Z",
        "2024-03-10T07:00Z 2024-03-11T06:00Z",
        "2024-03-11T06:00Z 2024-03-11T06:30Z",
    "2024-03-10T07:00Z 2024-03-10T07:00Z 2024-03-11T06:00Z"),
    # 4
    Row("0 2,3 * * *", "America/New_York", "2024-03-09T12:00Z",
        "2024-03-10T07:00Z 2024-03-11T06:00Z 2024-03-11T07:00Z",
        "=",
    "2024-03-10T07:00Z 2024-03-10T07:00Z 2024-03-11T06:00Z 2024-03-11T07:00Z"),
    # 5
    Row("0 3 * * *", "America/New_York", "2024-03-09T12:00Z",
        "2024-03-10T07:00Z 2024-03-11T07:00Z",
        "=",
    "="),
    # 6
    Row("*/20 2 * * *", "America/New_York", "2024-03-09T12:00Z",
        "2024-03-10T07:00Z 2024-03-11T06:00Z",
        "2024-03-11T06:00Z 2024-03-11T06:20Z",
    "2024-03-10T07:00Z 2024-03-10T07:00Z 2024-03-10T07:00Z 2024-03-11T06:00Z"),
    # 7
    Row("*/20 0-5 * * *", "America/New_York", "2024-03-10T06:30Z",
        "2024-03-10T06:40Z 2024-03-10T07:00Z 2024-03-10T07:20Z",
        "=",
    "2024-03-10T06:40Z 2024-03-10T07:00Z 2024-03-10T07:00Z "
    "2024-03-10T07:00Z 2024-03-10T07:00Z 2024-03-10T07:20Z"),
    # 8
    Row("30 * * * *", "America/New_York", "2024-03-10T06:00Z",
        "2024-03-10T06:30Z 2024-03-10T07:30Z 2024-03-10T08:30Z",
        "=",
    "="),
    # 9
    Row("30 0-23 * * *", "America/New_York", "2024-03-10T06:00Z",
        "2024-03-10T06:30Z 2024-03-10T07:30Z 2024-03-10T08:30Z",
        "=",
    "="),
    # 10
    Row("30 0-5 * * *", "America/New_York", "2024-03-10T06:00Z",
        "2024-03-10T06:30Z 2024-03-10T07:00Z 2024-03-10T07:30Z",
        "2024-03-10T06:30Z 2024-03-10T07:30Z 2024-03-10T08:30Z",
    "="),
    # 11
    Row("0 */2 * * *", "America/New_York", "2024-03-10T04:00Z",
        "2024-03-10T05:00Z 2024-03-10T07:00Z 2024-03-10T08:00Z",
        "2024-03-10T05:00Z 2024-03-10T08:00Z 2024-03-10T10:00Z",
    "="),
    # 12
    Row("0 */6 * * *", "America/New_York", "2024-03-10T04:00Z",
        "2024-03-10T05:00Z 2024-03-10T10:00Z",
        "=",
    "="),
    # 13
    Row("30 2 * * SUN", "America/New_York", "2024-03-09T12:00Z",
        "2024-03-10T07:00Z 2024-03-17T06:30Z",
        "2024-03-17T06:30Z 2024-03-24T06:30Z",
    "="),
    # 14
    Row("30 2 10 3 *", "America/New_York", "2024-03-09T12:00Z",
        "2024-03-10T07:00Z 2025-03-10T06:30Z",
        "2025-03-10T06:30Z 2026-03-10T06:30Z",
    "="),
    # 15
    Row("30 1 * * *", "America/New_York", "2024-11-02T12:00Z",
        "2024-11-03T05:30Z 2024-11-04T06:30Z",
        "=",
    "="),
    # 16
    Row("30 1 * * *", "America/New_York", "2024-11-03T05:40Z",
        "2024-11-04T06:30Z",
        "=",
    "="),
    # 17
    Row("0 2 * * *", "America/New_York", "2024-11-02T12:00Z",
        "2024-11-03T07:00Z",
        "=",
    "="),
    # 18
    Row("30 * * * *", "America/New_York", "2024-11-03T04:00Z",
        "2024-11-03T04:30Z 2024-11-03T05:30Z 2024-11-03T06:30Z 2024-11-03T07:30Z",
        "=",
    "="),
    # 19
    Row("*/20 1 * * *", "America/New_York", "2024-11-03T04:30Z",
        "2024-11-03T05:00Z 2024-11-03T05:20Z 2024-11-03T05:40Z "
        "2024-11-03T06:00Z 2024-11-03T06:20Z 2024-11-03T06:40Z",
        "=",
    "="),
    # 20
    Row("0,20,40 1 * * *", "America/New_York", "2024-11-03T04:30Z",
        "2024-11-03T05:00Z 2024-11-03T05:20Z 2024-11-03T05:40Z 2024-11-04T06:00Z",
        "=",
    "="),
    # 21
    Row("0 */2 * * *", "America/Havana", "2024-11-03T03:30Z",
        "2024-11-03T04:00Z 2024-11-03T07:00Z 2024-11-03T09:00Z",
        "=",
    "="),
    # 22
    Row("30 1 * * *", "Europe/London", "2024-03-30T12:00Z",
        "2024-03-31T01:00Z 2024-04-01T00:30Z",
        "2024-04-01T00:30Z 2024-04-02T00:30Z",
    "="),
    # 23
    Row("30 1 * * *", "Europe/London", "2024-10-26T12:00Z",
        "2024-10-27T00:30Z 2024-10-28T01:30Z",
        "=",
    "="),
    # 24
    Row("30 1 * * *", "Europe/Dublin", "2024-03-30T12:00Z",
        "2024-03-31T01:00Z 2024-04-01T00:30Z",
        "2024-04-01T00:30Z 2024-04-02T00:30Z",
    "="),
    # 25
    Row("15 2 * * *", "Australia/Lord_Howe", "2024-10-05T03:00Z",
        "2024-10-05T15:30Z 2024-10-06T15:15Z",
        "2024-10-06T15:15Z 2024-10-07T15:15Z",
    "="),
    # 26
    Row("45 1 * * *", "Australia/Lord_Howe", "2024-04-05T20:00Z",
        "2024-04-06T14:45Z 2024-04-07T15:15Z",
        "=",
    "="),
    # 27
    Row("*/30 * * * *", "Australia/Lord_Howe", "2024-04-06T14:10Z",
        "2024-04-06T14:30Z 2024-04-06T15:00Z 2024-04-06T15:30Z 2024-04-06T16:00Z",
        "=",
    "="),
    # 28
    Row("0 * * * *", "Australia/Lord_Howe", "2024-10-05T13:45Z",
        "2024-10-05T14:30Z 2024-10-05T16:00Z 2024-10-05T17:00Z",
        "=",
    "="),
    # 29
    Row("30 2 * * *", "Africa/Casablanca", "2024-03-09T12:00Z",
        "2024-03-10T01:30Z 2024-03-11T02:30Z",
        "=",
    "="),
    # 30
    Row("30 2 * * *", "Africa/Casablanca", "2024-04-13T12:00Z",
        "2024-04-14T02:00Z 2024-04-15T01:30Z",
        "2024-04-15T01:30Z 2024-04-16T01:30Z",
    "="),
    # 31
    Row("0 9 * * *", "Pacific/Apia", "2011-12-29T12:00Z",
        "2011-12-29T19:00Z 2011-12-30T10:00Z 2011-12-30T19:00Z",
        "2011-12-29T19:00Z 2011-12-30T19:00Z 2011-12-31T19:00Z",
    "="),
    # 32
    Row("0 * * * *", "Pacific/Apia", "2011-12-30T08:30Z",
        "2011-12-30T09:00Z 2011-12-30T10:00Z 2011-12-30T11:00Z",
        "=",
    "="),
    # 33
    Row("0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00Z",
        "2011-12-30T10:00Z 2012-12-29T22:00Z",
        "2012-12-29T22:00Z 2013-12-29T22:00Z",
    "="),
    # 34
    Row("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00Z",
        "2018-11-04T03:00Z 2018-11-05T02:00Z",
        "2018-11-05T02:00Z 2018-11-06T02:00Z",
    "="),
    # 35
    Row("0 */6 * * *", "America/Sao_Paulo", "2018-11-03T20:00Z",
        "2018-11-03T21:00Z 2018-11-04T03:00Z 2018-11-04T08:00Z",
        "2018-11-03T21:00Z 2018-11-04T08:00Z 2018-11-04T14:00Z",
    "="),
    # 36
    Row("30 23 * * *", "America/Sao_Paulo", "2018-02-17T12:00Z",
        "2018-02-18T01:30Z 2018-02-19T02:30Z",
        "=",
    "="),
    # 37
    Row("0 0 * * *", "Asia/Tehran", "2022-03-20T12:00Z",
        "2022-03-20T20:30Z 2022-03-21T20:30Z 2022-03-22T19:30Z",
        "2022-03-20T20:30Z 2022-03-22T19:30Z 2022-03-23T19:30Z",
    "="),
    # 38
    Row("30 23 * * *", "Asia/Tehran", "2022-09-20T12:00Z",
        "2022-09-20T19:00Z 2022-09-21T19:00Z 2022-09-22T20:00Z",
        "=",
    "="),
    # 39
    Row("45 23 * * *", "Asia/Pyongyang", "2018-05-04T12:00Z",
        "2018-05-04T15:00Z 2018-05-05T14:45Z",
        "2018-05-05T14:45Z 2018-05-06T14:45Z",
    "="),
    # 40
    Row("30 1 * * *", "Antarctica/Troll", "2024-03-30T12:00Z",
        "2024-03-31T01:00Z 2024-03-31T23:30Z",
        "2024-03-31T23:30Z 2024-04-01T23:30Z",
    "="),
    # 41
    Row("0 0 29 2 *", "UTC", "2024-03-01T00:00Z",
        "2028-02-29T00:00Z 2032-02-29T00:00Z",
        "=",
    "="),
    # 42
    Row("0 0 13 * FRI", "UTC", "2024-09-01T00:00Z",
        "2024-09-06T00:00Z 2024-09-13T00:00Z 2024-09-20T00:00Z",
        "=",
    "="),
    # 43
    Row("0 0 */2 * MON", "UTC", "2024-01-01T00:00Z",
        "2024-01-15T00:00Z 2024-01-29T00:00Z",
        "=",
    "="),
]
# fmt: on


def instant(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def shown(instants: list[int]) -> str:
    return " ".join(f"{moment(at):%Y-%m-%dT%H:%MZ}" for at in instants)


def timetable_of(row: Row, gap: str = "policy") -> Timetable:
    return compile_timetable(
        Definition(when=(row.expression,), zone=row.zone, dst_gap=gap)  # type: ignore[arg-type]
    )


def taken(timetable: Timetable, after: int, count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        following = timetable.next_at(after)
        assert following is not None
        found.append(following)
        after = following
    return found


def rows() -> list[object]:
    return [
        pytest.param(row, id=f"{number}: {row.expression}") for number, row in enumerate(TABLE, 1)
    ]


@pytest.mark.parametrize("row", rows())
def test_one_fire_for_all_that_a_gap_left_out(row: Row) -> None:
    found = taken(timetable_of(row), instant(row.after), len(row.once.split()))
    assert shown(found) == row.once


@pytest.mark.parametrize("row", rows())
def test_regular_fires_only(row: Row) -> None:
    expected = row.once if row.regular == SAME else row.regular
    timetable = timetable_of(row)
    found: list[int] = []
    after = instant(row.after)
    while len(found) < len(expected.split()):
        following = timetable.next_at(after)
        assert following is not None
        if not all(fire.is_missed for fire in timetable.fires_at(following)):
            found.append(following)
        after = following
    assert shown(found) == expected
    skipping = timetable_of(row, "skip")
    assert shown(taken(skipping, instant(row.after), len(expected.split()))) == expected


@pytest.mark.parametrize("row", rows())
def test_a_fire_for_every_wall_time(row: Row) -> None:
    expected = row.once if row.each == SAME else row.each
    timetable = timetable_of(row)
    last = instant(expected.split()[-1])
    fires = timetable.between(instant(row.after), last).fires
    assert shown([fire.nominal_at for fire in fires]) == expected
    keys = [(fire.nominal_at, fire.sequence) for fire in fires]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("row", rows())
def test_backwards_gives_the_same(row: Row) -> None:
    timetable = timetable_of(row)
    found = taken(timetable, instant(row.after), len(row.once.split()))
    before: int | None = found[-1] + 1
    back = []
    for _ in found:
        assert before is not None
        before = timetable.previous_at(before)
        assert before is not None
        back.append(before)
    assert back[::-1] == found


def test_the_table_is_whole() -> None:
    assert len(TABLE) == 43
