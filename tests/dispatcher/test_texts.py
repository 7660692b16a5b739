import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.dispatcher.texts import cut, storable, storable_line, storable_progress
from mainspring.domain.limits import LOG_LINE_BYTES_MAX
from mainspring.domain.outcome import LogLine, Progress
from mainspring.testing.clock import BEGINNING

_TEXT = st.text(st.characters(), max_size=200)


@settings(deadline=None)
@given(_TEXT, st.integers(64, 300))
def test_whatever_comes_can_be_kept(text: str, bytes_max: int) -> None:
    kept = storable(text, bytes_max)
    assert len(kept.encode()) <= bytes_max
    assert "\0" not in kept


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=50))
def test_what_can_be_kept_stays_as_it_is(text: str) -> None:
    assert storable(text, 200) == text


def test_both_ends_survive() -> None:
    assert cut("a" * 100 + "b" * 100, 63) == "a" * 25 + "\n... cut ...\n" + "b" * 25


def _line(**changes: str) -> LogLine:
    given = {"level": "info", "message": "m", "fields": '{"a":1}'}
    return msgspec.convert(
        {"job_id": b"", "attempt": 1, "sequence": 1, "at": BEGINNING, **given, **changes}, LogLine
    )


def test_a_usual_line_is_not_even_copied() -> None:
    line = _line()
    assert storable_line(line) is line


def test_fields_are_kept_whole_or_not_at_all() -> None:
    assert storable_line(_line(fields="x" * (LOG_LINE_BYTES_MAX + 1))).fields == ""
    assert len(storable_line(_line(fields="x" * LOG_LINE_BYTES_MAX)).fields) == LOG_LINE_BYTES_MAX
    long = storable_line(_line(message="x" * 100_000, level="l" * 1_000))
    assert len(long.message) <= LOG_LINE_BYTES_MAX
    assert len(long.level) <= 32


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_progress_is_finite(bad: float) -> None:
    told = storable_progress(Progress(b"", 1, bad, bad, "half\0"))
    assert (told.done, told.total, told.note) == (0.0, None, "half\ufffd")
    usual = Progress(b"", 1, 1.5, None, "half")
    assert storable_progress(usual) is usual
