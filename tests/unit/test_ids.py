"""Ids: shown, read back, and refused with a reason."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain import ids
from mainspring.domain.errors import InvalidId
from mainspring.ports.entropy import new_job_id, new_worker_id
from mainspring.testing.builders import id_at, ids_at

_RAW = st.binary(min_size=16, max_size=16)
_PREFIXES = st.sampled_from(sorted(ids.PREFIXES))
_SHOWN = "job_01JD3M0V5T7QK4C8R2N6W9XYZA"


@given(_PREFIXES, _RAW)
def test_what_is_shown_reads_back(prefix: str, raw: bytes) -> None:
    shown = ids.show(prefix, raw)
    assert len(shown) == len(prefix) + 27
    assert ids.parse(prefix, shown) == raw
    assert ids.parse(prefix, prefix + "_" + shown.partition("_")[2].lower()) == raw


@given(_RAW, _RAW)
def test_the_shown_form_sorts_like_the_id(one: bytes, other: bytes) -> None:
    assert (one < other) == (ids.show_job(one) < ids.show_job(other))


@given(_RAW, st.integers(1, 10_000))
def test_an_attempt_names_its_job(raw: bytes, attempt: int) -> None:
    shown = ids.show_attempt(raw, attempt)
    assert shown == f"{ids.show_job(raw)}:{attempt}"
    assert ids.parse_job(shown) == raw
    assert ids.parse_job(ids.show_job(raw)) == raw


def test_the_ends() -> None:
    assert ids.show("job", bytes(16)) == "job_" + "0" * 26
    assert ids.show("job", b"\xff" * 16) == "job_7" + "Z" * 25


def test_letters_that_people_confuse_are_read_as_meant() -> None:
    assert ids.parse("job", "job_" + "O" * 13 + "o" * 13) == bytes(16)
    ones = ids.parse("job", "job_" + "1" * 26)
    for letter in "IiLl":
        assert ids.parse("job", "job_" + letter * 26) == ones


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must begin with job_"),
        ("job", "must begin with job_"),
        (_SHOWN[4:], "must begin with job_"),
        ("wrk_" + _SHOWN[4:], "must begin with job_"),
        ("JOB_" + _SHOWN[4:], "must begin with job_"),
        (_SHOWN[:-1], "has 25 characters"),
        (_SHOWN + "A", "has 27 characters"),
        ("job_", "has 0 characters"),
        (_SHOWN[:-1] + "U", "contains 'U' at position 30"),
        ("job_" + "-" + _SHOWN[5:], "contains '-' at position 5"),
        ("job_" + "é" + _SHOWN[5:], "contains 'é' at position 5"),
        ("job_8" + "0" * 25, "larger than any id"),
        ("job_" + "Z" * 26, "larger than any id"),
    ],
)
def test_what_is_no_id_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(InvalidId, match=reason) as refused:
        ids.parse("job", text)
    assert refused.value.hint


@given(st.text(max_size=40))
def test_no_text_does_harm(text: str) -> None:
    for candidate in (text, "job_" + text):
        try:
            raw = ids.parse_job(candidate)
        except InvalidId:
            continue
        assert len(raw) == 16


@given(
    st.datetimes(datetime(1970, 1, 1), datetime(9999, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - hypothesis adds the zone
    st.integers(0, 2**40),
)
def test_an_id_tells_when_it_was_made(instant: datetime, number: int) -> None:
    made_at = ids.created_at(id_at(instant, number))
    assert timedelta(0) <= instant - made_at < timedelta(milliseconds=1)


def test_new_ids_are_new_ordered_and_versioned() -> None:
    made = [new_job_id() for _ in range(1_000)]
    assert len(set(made)) == 1_000
    assert sorted(made) == made
    for raw in (*made, new_worker_id(), id_at(datetime(2027, 1, 1, tzinfo=UTC), 5)):
        assert (raw[6] >> 4, raw[8] >> 6) == (7, 0b10)


def test_ids_of_one_millisecond_ascend() -> None:
    made = ids_at(datetime(2027, 1, 1, tzinfo=UTC), 300)
    assert sorted(set(made)) == made


_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@given(st.text(_LETTERS + "abcilouz_+- \u00b2\u0663\u00e9!", min_size=26, max_size=26))
def test_reading_is_letter_by_letter(digits: str) -> None:
    values = {letter: value for value, letter in enumerate(_LETTERS)}
    values |= {"O": 0, "I": 1, "L": 1}
    number = 0
    for letter in digits:
        value = values.get(letter.upper()) if letter.isascii() else None
        if value is None:
            with pytest.raises(InvalidId, match="which no id contains"):
                ids.parse("job", f"job_{digits}")
            return
        number = number << 5 | value
    if number >> 128:
        with pytest.raises(InvalidId, match="larger"):
            ids.parse("job", f"job_{digits}")
        return
    assert ids.parse("job", f"job_{digits}") == number.to_bytes(16, "big")
