"""What new zone data, or an edit, moves."""

from datetime import datetime

from mainspring.timetable.definition import Definition, compile_timetable
from mainspring.timetable.timetable import Timetable, moved, moves


def daily(zone: str) -> Timetable:
    return compile_timetable(Definition(when=("0 9 * * *",), zone=zone), {})


def seconds(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def test_instants_of_only_one_timetable_are_moves() -> None:
    found = moves(
        daily("Asia/Tokyo"),
        daily("+08:00"),
        seconds("2026-03-01T12:00Z"),
        seconds("2026-03-02T12:00Z"),
    )
    assert [(move.instant, move.is_new) for move in found] == [
        ("2026-03-02T00:00:00+00:00", False),
        ("2026-03-02T01:00:00+00:00", True),
    ]


def test_what_was_prepared_is_compared_with_as_many_new_instants() -> None:
    after = seconds("2026-03-01T12:00Z")
    prepared = [seconds("2026-03-03T00:00Z"), seconds("2026-03-02T00:00Z")]
    assert moved(prepared, daily("Asia/Tokyo"), after) == []
    found = moved(prepared, daily("+09:30"), after)
    assert [(move.instant[8:16], move.is_new) for move in found] == [
        ("01T23:30", True),
        ("02T00:00", False),
        ("02T23:30", True),
        ("03T00:00", False),
    ]
    assert len(moved(prepared, daily("+09:30"), after, limit=3)) == 3
    assert moved([], daily("+09:30"), after) == []
