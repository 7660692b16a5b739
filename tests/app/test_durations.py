import math
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.app.durations import milliseconds, words
from mainspring.domain.errors import InvalidDuration

_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


@settings(deadline=None)
@given(st.integers(0, 10**13))
def test_what_is_shown_reads_back_exactly(duration_ms: int) -> None:
    assert milliseconds(words(duration_ms), name="delay") == duration_ms


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 9_999), st.sampled_from(list(_UNITS))), min_size=1, max_size=6
    )
)
def test_parts_add_up(parts: list[tuple[int, str]]) -> None:
    text = " ".join(f"{number}{unit}" for number, unit in parts)
    assert milliseconds(text, name="delay") == sum(n * _UNITS[unit] for n, unit in parts)


@settings(deadline=None)
@given(st.timedeltas(min_value=timedelta(), max_value=timedelta(days=4_000)))
def test_a_timedelta_to_the_millisecond(value: timedelta) -> None:
    exact = value / timedelta(milliseconds=1)
    assert math.isclose(milliseconds(value, name="delay"), exact, abs_tol=0.5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("250ms", 250),
        ("1.5s", 1_500),
        ("1h30m", 5_400_000),
        (" 5 m ", 300_000),
        ("0s", 0),
        ("1w", 604_800_000),
    ],
)
def test_examples(text: str, expected: int) -> None:
    assert milliseconds(text, name="timeout") == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "5", "5 minutes", "m", "1e3s", ".5s", "5m!", "5M", "1,5s", "five m", "nan s"),
        *("inf d", "5s -1s", "0x5s", "1__0s", "\x005s", "9" * 80 + "s", "5ms5"),
    ],
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(InvalidDuration, match=r"timeout: .*is not a duration") as caught:
        milliseconds(text, name="timeout")
    assert caught.value.hint == "write a duration as 90s, 5m, 2h, 1d or 250ms"


@pytest.mark.parametrize("value", ["-5s", " -1h", timedelta(milliseconds=-1), timedelta.min])
def test_negative_durations(value: str | timedelta) -> None:
    with pytest.raises(InvalidDuration, match=r"delay: .* is negative"):
        milliseconds(value, name="delay")


@pytest.mark.parametrize("value", [5, 5.0, True, None, b"5s"])
def test_a_bare_number_has_no_unit(value: object) -> None:
    with pytest.raises(InvalidDuration, match=r"delay: .* has no unit"):
        milliseconds(value, name="delay")  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1 s"),
        (1_500, "1.5 s"),
        (61_000, "61 s"),
        (90_000, "1.5 m"),
        (7_200_000, "2 h"),
        (86_400_000, "1 d"),
        (1_000_001_000, "1000001 s"),
        (123_456_789, "123456.789 s"),
    ],
)
def test_words(duration_ms: int, text: str) -> None:
    assert words(duration_ms) == text
