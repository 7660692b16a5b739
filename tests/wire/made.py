"""Examples of any struct, made of the types of its members."""

from __future__ import annotations

import types
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from hypothesis import strategies as st

T = TypeVar("T")
INSTANTS = st.datetimes(datetime(1971, 1, 1), datetime(2199, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone
SECONDS = INSTANTS.map(lambda instant: instant.replace(microsecond=0))
OBJECTS = st.sampled_from(["{}", '{"a":1.10}', '{"n":{"b":[1,2.0,"\\u00e9"]},"e":1E400}'])
_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=20),
    int: st.integers(0, 2**53),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    bytes: st.binary(min_size=16, max_size=16),
    datetime: INSTANTS,
    type(None): st.none(),
}


def struct(made: type[T], **given: st.SearchStrategy[Any]) -> st.SearchStrategy[T]:
    """Return examples of a struct; members that are not given are made of their types."""
    found = {
        field.name: given[field.name] if field.name in given else values(field.type)
        for field in msgspec.structs.fields(made)  # type: ignore[arg-type]  # a struct it is
    }
    return st.builds(made, **found)


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Return examples of a type."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return st.sampled_from(parts)
    if origin is None:
        return struct(kind)
    return _several(origin, [values(part) for part in parts if part is not ...])


def _several(origin: Any, parts: list[st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    if origin in (Union, types.UnionType):
        return st.one_of(parts)
    if origin is tuple:
        return st.lists(parts[0], max_size=3).map(tuple)
    assert origin is dict, origin
    return st.dictionaries(parts[0], parts[1], max_size=3)
