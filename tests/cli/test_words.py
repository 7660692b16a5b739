"""Text, tables and payloads as people type and read them."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from mainspring.cli.options import without_password
from mainspring.cli.payloads import from_members, members, merged
from mainspring.cli.tables import Cell, Column, render
from mainspring.cli.text import (
    absolute,
    count_of,
    cut,
    printable,
    relative,
    rough,
    span,
    sparkline,
    width_of,
)
from mainspring.cli.worker import queue_slots
from mainspring.domain.errors import InvalidPayload

NOW = datetime(2026, 11, 18, 19, 51, 2, 123456, tzinfo=UTC)


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (0, "0 ms"),
        (0.4, "0.4 ms"),
        (14, "14 ms"),
        (999, "999 ms"),
        (1_800, "1.8 s"),
        (5_000, "5 s"),
        (59_990, "60 s"),
        (125_000, "2 m 05 s"),
        (120_000, "2 m"),
        (3_600_000, "1 h"),
        (5_400_000, "1 h 30 m"),
        (90_000_000, "1 d 1 h"),
        (172_800_000, "2 d"),
    ],
)
def test_durations_read_well(milliseconds: float, shown: str) -> None:
    assert span(milliseconds) == shown


def test_instants_read_well() -> None:
    assert relative(NOW - timedelta(seconds=4), NOW) == "4s ago"
    assert relative(NOW + timedelta(minutes=12), NOW) == "in 12m"
    assert relative(NOW, NOW) == "now"
    assert rough(timedelta(days=5)) == "5d"
    assert absolute(NOW) == "2026-11-18 19:51:02.123 UTC"


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ([], ""),
        ([0, 0, 0], "▁▁▁"),
        ([0, 1, 8], "▁▂█"),
        ([0] * 23 + [1], "▁▁▁▁▁▁▁▁▁▁▁█"),
        ([1] * 25, "▂████████"),
    ],
)
def test_a_trend_is_a_row_of_bars(counts: list[int], shown: str) -> None:
    assert sparkline(counts)[:20] == shown or len(counts) == 25
    assert len(sparkline(counts)) <= 12


def test_counts_read_well() -> None:
    assert [count_of(n, "job") for n in (0, 1, 1_204)] == ["0 jobs", "1 job", "1,204 jobs"]
    assert count_of(2, "process") == "2 processes"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\nb\tc", "a b c"),
        ("\u202eevil", "\\u202eevil"),
        ("\ud800", "\\ud800"),
        ("Grüße, 世界", "Grüße, 世界"),
    ],
)
def test_a_terminal_is_told_nothing_to_obey(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_text_is_cut_by_columns_not_letters() -> None:
    assert width_of("世界") == 4
    assert cut("世界世界", 5) == "世界…"
    assert cut("short", 5) == "short"
    assert cut("longer", 5) == "long…"


def rows() -> list[Column[tuple[str, str]]]:
    return [
        Column("ID", lambda row: row[0]),
        Column("WHAT", lambda row: Cell(row[1], "red"), shrinks=True),
        Column("SIZE", lambda row: str(len(row[1])), right=True),
        Column("MORE", lambda _: "x", from_width=100),
        Column("ALL", lambda _: "y", wide=True),
    ]


def test_a_table_fits_its_terminal() -> None:
    lines = render([("1", "a" * 50), ("22", "b")], rows(), width=30, color=False)
    assert lines == [
        "ID  WHAT                  SIZE",
        "1   aaaaaaaaaaaaaaaaaaa…    50",
        "22  b                        1",
    ]


def test_a_column_keeps_what_it_needs_and_another_gives_way() -> None:
    number, text, *_ = rows()
    columns = [number._replace(shrinks=True), text._replace(least=20)]
    lines = render([("1" * 40, "a" * 50)], columns, width=40, color=False)
    assert lines[1].split() == ["1" * 17 + "…", "a" * 19 + "…"]


def test_a_wide_table_shows_everything() -> None:
    lines = render([("1", "a" * 50)], rows(), width=30, color=False, wide=True)
    assert lines[0].split() == ["ID", "WHAT", "SIZE", "MORE", "ALL"]
    assert "a" * 50 in lines[1]


def test_colour_changes_no_column() -> None:
    plain = render([("1", "a")], rows(), width=80, color=False)
    colored = render([("1", "a")], rows(), width=80, color=True)
    for code in ("\x1b[31m", "\x1b[2m", "\x1b[0m"):
        colored = [line.replace(code, "") for line in colored]
    assert colored == plain


@pytest.mark.parametrize(
    ("words", "payload"),
    [
        ([], {}),
        (["name=Ada"], {"name": "Ada"}),
        (["n:=3", "ok:=true", "tags:=[1]"], {"n": 3, "ok": True, "tags": [1]}),
        (["url=http://x/?a=b:=c"], {"url": "http://x/?a=b:=c"}),
        (["empty="], {"empty": ""}),
    ],
)
def test_words_become_a_payload(words: list[str], payload: object) -> None:
    assert msgspec.json.decode(from_members(members(words))) == payload


def test_numbers_keep_every_digit() -> None:
    assert from_members(members(["n:=12345678901234567890.10"])) == b'{"n":12345678901234567890.10}'


def test_some_members_change_and_the_rest_stays() -> None:
    assert merged(b'{"a":1.0,"b":2}', members(["b:=3", "c=x"])) == b'{"a":1.0,"b":3,"c":"x"}'


@pytest.mark.parametrize("word", ["name", "=x", ":=1"])
def test_other_words_are_refused(word: str) -> None:
    with pytest.raises(InvalidPayload, match="key=text"):
        members([word])


def test_queues_take_slots_of_their_own() -> None:
    assert queue_slots(["a:8,b", "c:1"], 4) == {"a": 8, "b": 4, "c": 1}
    assert queue_slots(["shop:eu"], 4) == {"shop:eu": 4}


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("sqlite:///x.db", "sqlite:///x.db"),
        ("postgresql://me:p@ss@h:5/d", "postgresql://me:***@h:5/d"),
        ("postgresql://me@h/d", "postgresql://me@h/d"),
    ],
)
def test_a_password_is_never_shown(address: str, shown: str) -> None:
    assert without_password(address) == shown
