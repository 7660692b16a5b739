"""What a payload may be: one JSON object, in strict JSON, within the limits.

The payload is kept as the text that was given. Readers of JSON differ on NaN, repeated keys, lone
surrogates, huge numbers and deep nesting, so all of these are refused here, at the edge, and
nothing behind it has to wonder.
"""

import math
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from mainspring.domain.errors import InvalidPayload, NotJson, PayloadTooDeep, PayloadTooLarge
from mainspring.domain.limits import (
    PAYLOAD_BYTES_MAX,
    PAYLOAD_DEPTH_MAX,
    PAYLOAD_ELEMENTS_MAX,
)

_BRACKETS: Final = re.compile(rb"[\[\]{}]")
_CONTAINERS: Final = (dict, list)


def check(
    payload: bytes,
    *,
    bytes_max: int = PAYLOAD_BYTES_MAX,
    elements_max: int = PAYLOAD_ELEMENTS_MAX,
    what: str = "payload",
) -> object:
    """Return the decoded payload, or raise the error that says what is wrong with it."""
    if len(payload) > bytes_max:
        raise PayloadTooLarge(
            f"the {what} has {len(payload):,} bytes, the limit is {bytes_max:,}",
            hint="store the bulk elsewhere and pass a reference",
            details={"bytes": len(payload), "bytes_max": bytes_max},
        )
    _check_depth(payload, what)
    try:
        value = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotJson(f"the {what} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidPayload(
            f"the {what} is {_json_type(value)}, it must be an object",
            hint='wrap it, for example {"value": …}',
        )
    _check_elements(value, payload, what, elements_max)
    return value


def check_text(text: bytes, *, bytes_max: int, what: str) -> None:
    """Raise unless this is JSON text of any value, no longer than allowed: results, fields."""
    if len(text) > bytes_max:
        raise PayloadTooLarge(
            f"the {what} has {len(text):,} bytes, the limit is {bytes_max:,}",
            hint="keep the bulk elsewhere and tell a reference",
            details={"bytes": len(text), "bytes_max": bytes_max},
        )
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotJson(f"the {what} is not JSON: {error}") from None


def check_finite(value: object, *, path: str = "$") -> None:
    """Raise for a NaN or infinity anywhere in a Python value; JSON has neither."""
    for where, found in walk(value, path):
        if isinstance(found, float) and not math.isfinite(found):
            raise InvalidPayload(
                f"{where} is {found}, which JSON cannot hold",
                hint="send null or a string",
                details={"pointer": where},
            )


def _check_depth(payload: bytes, what: str) -> None:
    """Refuse deep nesting before any recursive reader sees it."""
    # Small payloads, nearly all, cannot be deep: each level takes two characters.
    if len(payload) <= 2 * PAYLOAD_DEPTH_MAX:
        return
    if payload.count(b"[") + payload.count(b"{") <= PAYLOAD_DEPTH_MAX:
        return
    depth = 0
    for bracket in _BRACKETS.findall(_outside_strings(payload)):
        depth += 1 if bracket in b"[{" else -1
        if depth > PAYLOAD_DEPTH_MAX:
            raise PayloadTooDeep(
                f"the {what} is nested more than {PAYLOAD_DEPTH_MAX} levels deep",
                hint="flatten it",
                details={"depth_max": PAYLOAD_DEPTH_MAX},
            )


def _check_elements(value: object, payload: bytes, what: str, elements_max: int) -> None:
    """Refuse too many values, and repeated keys (a reader would silently keep one of them)."""
    # A value takes a character at least, and a repeated key two colons.
    if len(payload) <= elements_max and payload.count(b":") <= 1:
        return
    elements, keys = 1, 0
    stack: list[Any] = [value]
    while stack:
        found = stack.pop()
        elements += len(found)
        inner = found
        if isinstance(found, dict):
            keys += len(found)
            inner = found.values()
        stack.extend([each for each in inner if isinstance(each, _CONTAINERS)])
        if elements > elements_max:
            raise PayloadTooLarge(
                f"the {what} holds more than {elements_max:,} values",
                hint="store the bulk elsewhere and pass a reference",
                details={"elements_max": elements_max},
            )
    # Outside of strings, a colon follows each key that was written and nothing else.
    written = _outside_strings(payload).count(b":")
    if written != keys:
        raise InvalidPayload(f"the {what} repeats a key inside one object", hint="name each once")


def _outside_strings(payload: bytes) -> bytes:
    """Return the JSON text without what stands between quotes."""
    plain = payload.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b'"'.join(plain.split(b'"')[::2])


def walk(value: object, path: str) -> Iterator[tuple[str, object]]:
    """Yield every value with its path, without recursion."""
    stack: list[tuple[str, object]] = [(path, value)]
    while stack:
        where, found = stack.pop()
        yield where, found
        if isinstance(found, dict):
            stack.extend((f"{where}.{key}", inner) for key, inner in found.items())
        elif isinstance(found, list | tuple | set | frozenset):
            stack.extend((f"{where}[{index}]", inner) for index, inner in enumerate(found))


def _json_type(value: object) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "null")
