import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.ids import show_job
from mainspring.domain.outcome import ErrorInfo
from mainspring.policies.fingerprint import group_of, normalised

_WORDS = st.sampled_from(["no", "answer", "from", "host", "refused", "Größe", "row", "can't"])
_NUMBERS = st.one_of(st.integers(0, 10**12), st.floats(0, 1e6).map(lambda x: f"{x:f}"))
_QUOTED = st.text(st.characters(exclude_characters="'\"`\n", codec="utf-8"), max_size=20)
_VARIABLE = st.one_of(
    _NUMBERS.map(str),
    _QUOTED.map(lambda text: f"'{text}'"),
    _QUOTED.map(lambda text: f'"{text}"'),
    _QUOTED.map(lambda text: f"`{text}`"),
    st.binary(min_size=16, max_size=16).map(show_job),
    st.uuids().map(str),
    st.integers(0, 2**64).map(hex),
)
_SHAPES = st.lists(st.one_of(_WORDS, st.none()), min_size=1, max_size=8)


def _message(shape: list[str | None], draw: st.DataObject) -> str:
    return " ".join(draw.draw(_VARIABLE) if part is None else part for part in shape)


@given(_SHAPES, st.data())
def test_what_differs_each_time_does_not_split_a_group(
    shape: list[str | None], data: st.DataObject
) -> None:
    one, other = (ErrorInfo("E", _message(shape, data), where="a.py:1") for _ in range(2))
    assert group_of("k", one) == group_of("k", other)


@given(_SHAPES, _SHAPES, st.data())
def test_other_words_are_another_group(
    shape: list[str | None], other: list[str | None], data: st.DataObject
) -> None:
    groups = [group_of("k", ErrorInfo("E", _message(each, data))) for each in (shape, other)]
    assert (groups[0] == groups[1]) is (shape == other)


@given(st.text(max_size=300), st.text(), st.text(), st.text())
def test_a_group_is_a_short_text_that_depends_on_nothing_else(
    message: str, kind: str, type_: str, where: str
) -> None:
    error = ErrorInfo(type_, message, "a traceback", where)
    group = group_of(kind, error)
    assert re.fullmatch("[0-9a-f]{12}", group)
    assert group_of(kind, ErrorInfo(type_, message, "another", where)) == group
    assert group_of(kind + "x", error) != group
    assert group_of(kind, ErrorInfo(type_ + "x", message, "", where)) != group


def test_lines_do_not_count_but_files_do() -> None:
    groups = [
        group_of("k", ErrorInfo("E", "m", where=where))
        for where in ("pay.py:3", "pay.py:77", "mail.py:3", "")
    ]
    assert groups[0] == groups[1]
    assert len(set(groups)) == 3


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("card 4242 declined after 3.5 s", "card # declined after # s"),
        ("user 'Ann O\u00e9' is unknown", "user # is unknown"),
        ("can't connect, won't retry", "can't connect, won't retry"),
        ("at 10.0.0.1:5432\n  timed out", "at # timed out"),
        ("commit deadbee1 and cafebabe", "commit # and cafebabe"),
        ("", ""),
    ],
)
def test_messages(message: str, expected: str) -> None:
    assert normalised(message) == expected


@pytest.mark.parametrize("piece", ["'", '"', "`", "1", "a1", "1.", "0x", "-", "'\"", "f" * 8 + "-"])
def test_a_hostile_message_costs_no_more_than_its_length(piece: str) -> None:
    # A million characters, of which a thousand are looked at: a bad pattern would hang here.
    assert len(normalised(piece * 1_000_000)) <= 2_000
