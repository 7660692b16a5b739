"""What a payload may be: one JSON object, in strict JSON, within the limits.

The payload is kept as the text that was given. Readers of JSON differ on NaN, repeated keys, lone
surrogates, huge numbers and deep nesting, so all of these are refused here, at the edge, and
nothing behind it has to wonder.
"""

import math
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from mainspring.domain.errors import InvalidPayload, NotJson, PayloadTooDeep, PayloadTooLarge
from mainspring.domain.limits import (
    PAYLOAD_BYTES_MAX,
    PAYLOAD_DEPTH_MAX,
    PAYLOAD_ELEMENTS_MAX,
)

_CONTAINERS: Final = (dict, list)


def check(
    payload: bytes,
    *,
    bytes_max: int = PAYLOAD_BYTES_MAX,
    elements_max: int = PAYLOAD_ELEMENTS_MAX,
    depth_max: int = PAYLOAD_DEPTH_MAX,
    what: str = "payload",
) -> object:
    """Return the decoded payload, or raise the error that says what is wrong with it."""
    value = read(payload, bytes_max=bytes_max, what=what)
    _check_shape(value, payload, what, elements_max, depth_max)
    return value


def read(payload: bytes, *, bytes_max: int = PAYLOAD_BYTES_MAX, what: str = "payload") -> object:
    """Return a decoded payload that was part of something that was checked already."""
    if len(payload) > bytes_max:
        raise PayloadTooLarge(
            f"the {what} has {len(payload):,} bytes, the limit is {bytes_max:,}",
            hint="store the bulk elsewhere and pass a reference",
            details={"bytes": len(payload), "bytes_max": bytes_max},
        )
    try:
        value = msgspec.json.decode(payload)
    except RecursionError:
        # The reader counts its steps down, and refuses long before its stack is at its end.
        raise _too_deep(what, PAYLOAD_DEPTH_MAX) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotJson(f"the {what} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidPayload(
            f"the {what} is {_json_type(value)}, it must be an object",
            hint='wrap it, for example {"value": …}',
        )
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


def _check_shape(
    value: object, payload: bytes, what: str, elements_max: int, depth_max: int
) -> None:
    """Refuse what is deep, too many values, and repeated keys (a reader would keep one of them)."""
    colons = payload.count(b":")
    # A level takes two characters, a value one, and a repeated key two colons.
    if colons <= 1 and len(payload) <= min(elements_max, 2 * depth_max):
        return
    elements, keys, depth = 1, 0, 0
    level: list[Any] = [value]
    while level:
        depth += 1
        if depth > depth_max:
            raise _too_deep(what, depth_max)
        below: list[Any] = []
        for found in level:
            inner = found
            elements += len(found)
            if isinstance(found, dict):
                keys += len(found)
                inner = found.values()
            below += [each for each in inner if isinstance(each, _CONTAINERS)]
        if elements > elements_max:
            raise PayloadTooLarge(
                f"the {what} holds more than {elements_max:,} values",
                hint="store the bulk elsewhere and pass a reference",
                details={"elements_max": elements_max},
            )
        level = below
    # Outside of strings, a colon follows each key that was written and nothing else. There are no
    # more keys than colons, so that as many of them are no more.
    if colons != keys and _outside_strings(payload).count(b":") != keys:
        raise InvalidPayload(f"the {what} repeats a key inside one object", hint="name each once")


def _too_deep(what: str, depth_max: int) -> PayloadTooDeep:
    return PayloadTooDeep(
        f"the {what} is nested more than {depth_max} levels deep",
        hint="flatten it",
        details={"depth_max": depth_max},
    )


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
