import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.domain.errors import (
    InvalidInput,
    InvalidPayload,
    NotJson,
    PayloadTooDeep,
    PayloadTooLarge,
)
from mainspring.domain.limits import (
    PAYLOAD_BYTES_MAX,
    PAYLOAD_DEPTH_MAX,
    PAYLOAD_ELEMENTS_MAX,
)
from mainspring.domain.payload import check, check_finite

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_TEXT, inner, max_size=5),
    max_leaves=40,
)
_OBJECTS = st.dictionaries(_TEXT, _VALUES, max_size=6)


class _Repeated(Exception):
    pass


def _strict(text: bytes) -> Any:
    """What the standard library makes of it, with its leniency taken away."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(found)) != len(found):
            raise _Repeated
        return dict(found)

    def refuse(name: str) -> None:
        raise ValueError(name)

    def finite(digits: str) -> float:
        value = float(digits)
        if not math.isfinite(value):
            raise ValueError(digits)
        return value

    decoded = text.decode("utf-8")
    value = json.loads(decoded, object_pairs_hook=pairs, parse_constant=refuse, parse_float=finite)
    json.dumps(value, ensure_ascii=False).encode("utf-8")  # refuses lone surrogates
    if not isinstance(value, dict):
        raise TypeError
    return value


@settings(deadline=None)
@given(_OBJECTS, st.booleans(), st.sampled_from([None, 1]))
def test_every_object_in_json_is_accepted_as_it_is(
    value: dict[str, Any], ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    assert check(text) == value


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *('{"a":', '"a"', ":", ",", "{", "}", "[", "]", '"', "\\", "\\u0061", "1", "-0"),
                *('"b":2', "NaN", "\\ud800", "1e999", ".5", "01", " ", "\x00", "true", '{"a":1}'),
            ]
        ),
        max_size=12,
    ).map("".join)
)
def test_it_accepts_exactly_what_a_strict_reader_accepts(text: str) -> None:
    body = text.encode()
    try:
        expected = _strict(body)
    except (ValueError, TypeError, _Repeated):
        with pytest.raises(InvalidInput):
            check(body)
    else:
        assert check(body) == expected


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_but_bad_input(body: bytes) -> None:
    try:
        value = check(body)
    except InvalidInput:
        return
    assert value == _strict(body)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b"{'a':1}",
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":-Infinity}',
        b'{"a":1e999}',
        b'{"a":01}',
        b'{"a":1,}',
        b'{"a":1}{',
        b'{"a":"\x01"}',
        b'{"a":"\xff"}',
        b'{"a":"\\ud800"}',
        b'{"\\udc00":1}',
        b'{"a":"\xed\xa0\x80"}',
        b"\xef\xbb\xbf{}",
        b'{"a":1} // words',
    ],
)
def test_what_readers_disagree_on_is_not_json(text: bytes) -> None:
    with pytest.raises(NotJson, match="the payload is not JSON"):
        check(text)


@pytest.mark.parametrize(
    ("text", "named"),
    [(b"[]", "a list"), (b"1", "a number"), (b'"a"', "a string"), (b"null", "null")],
)
def test_only_objects_are_payloads(text: bytes, named: str) -> None:
    with pytest.raises(InvalidPayload, match=f"is {named}, it must be an object"):
        check(text)


def test_size_exactly_at_the_limit() -> None:
    text = b'{"a":"' + b"x" * (PAYLOAD_BYTES_MAX - 8) + b'"}'
    assert len(text) == PAYLOAD_BYTES_MAX
    check(text)
    with pytest.raises(PayloadTooLarge, match="1,048,577 bytes, the limit is 1,048,576") as caught:
        check(text + b" ")
    assert caught.value.details == {"bytes": 1_048_577, "bytes_max": 1_048_576}


def test_the_size_is_looked_at_before_anything_else() -> None:
    with pytest.raises(PayloadTooLarge):
        check(b"\xff" * (PAYLOAD_BYTES_MAX + 1))
    with pytest.raises(PayloadTooLarge, match="the result has"):
        check(b"{}  ", bytes_max=3, what="result")


@pytest.mark.parametrize("pair", [(b"[", b"]"), (b'{"a":', b"}")])
def test_depth_exactly_at_the_limit(pair: tuple[bytes, bytes]) -> None:
    def nested(levels: int) -> bytes:
        inner = levels - 1
        return b'{"a":' + pair[0] * inner + b"1" + pair[1] * inner + b"}"

    check(nested(PAYLOAD_DEPTH_MAX))
    with pytest.raises(PayloadTooDeep, match="more than 64 levels deep"):
        check(nested(PAYLOAD_DEPTH_MAX + 1))


def test_brackets_in_text_are_no_depth() -> None:
    check(json.dumps({"a": "[{" * 1_000, 'b"[[\\': "\\" * 99 + '"' + "[" * 99}).encode())


def test_brackets_side_by_side_are_no_depth() -> None:
    check(json.dumps({"a": [[] for _ in range(5_000)]}).encode())


def test_depth_hidden_behind_an_escaped_quote_is_found() -> None:
    deep = b"[" * 80 + b"]" * 80
    with pytest.raises(PayloadTooDeep):
        check(b'{"a":"\\\\","b":' + deep + b"}")
    with pytest.raises(PayloadTooDeep):
        check(b'{"a":"\\\\\\"","b":' + deep + b"}")


def test_values_exactly_at_the_limit() -> None:
    def holding(count: int) -> bytes:
        # The object, the list and what is in it.
        return b'{"a":[' + b",".join([b"1"] * (count - 2)) + b"]}"

    check(holding(PAYLOAD_ELEMENTS_MAX))
    with pytest.raises(PayloadTooLarge, match="holds more than 100,000 values"):
        check(holding(PAYLOAD_ELEMENTS_MAX + 1))


def test_values_in_few_commas_are_counted() -> None:
    nested = b"[" * 10 + b"]" * 10
    with pytest.raises(PayloadTooLarge, match="holds more than 100,000 values"):
        check(b'{"a":[' + b",".join([nested] * 45_000) + b"]}")


def test_text_full_of_commas_is_one_value() -> None:
    assert check(b'{"a":"' + b"," * 200_000 + b'"}') == {"a": "," * 200_000}


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"a":1}',
        b'{"a":1,"\\u0061":2}',
        b'{"x":{"a":1,"b":2,"a":3}}',
        b'{"x":[{"a":1},{"b":{"c":1,"c":1}}]}',
        b'{"":1,"":2}',
        b'{"a:b":":","a:b":"\\":"}',
        b'{"\\"":1,"\\u0022":2}',
        '{"ä":1,"\\u00e4":2}'.encode(),
    ],
)
def test_a_repeated_key_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidPayload, match="repeats a key inside one object"):
        check(text)


def test_the_same_key_in_different_objects_is_no_repetition() -> None:
    check(b'{"a":{"a":{"a":":"}},"b":[{"a":1},{"a":1}],"c:":"a:b","d\\"":"\\\\"}')


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":' + b"[" * 1_000_000,
        b'{"a":' * 200_000,
        b'{"a":"' + b"\\" * 1_000_000,
        b'{"a":"' + b'\\"' * 500_000,
        b'{"a":' + b"9" * 1_000_000 + b"}",
        b'{"a":1e' + b"9" * 1_000_000 + b"}",
        b'{"a":[' + b"{}," * 340_000 + b"1]}",
        b"{" + b",".join(b'"%d":1' % number for number in range(110_000)) + b"}",
        b'"' * 1_000_000,
    ],
    ids=["lists", "objects", "backslashes", "quotes", "digits", "exponent", "empty", "keys", '"'],
)
@pytest.mark.timeout(10)
def test_hostile_text_is_refused_in_bounded_time(text: bytes) -> None:
    with pytest.raises(InvalidInput):
        check(text)


@settings(deadline=None)
@given(_VALUES)
def test_finite_values_pass(value: object) -> None:
    check_finite(value)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_the_place_of_what_is_not_finite_is_named(bad: float) -> None:
    with pytest.raises(InvalidPayload, match=r"\$\.rows\[1\]\.price is ") as caught:
        check_finite({"rows": [{"price": 1.0}, {"price": bad}]})
    assert caught.value.details == {"pointer": "$.rows[1].price"}
