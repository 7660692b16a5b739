"""What makes a job unique, as the text that stores compare."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from mainspring.domain.errors import InvalidInput
from mainspring.domain.limits import KEY_CHARACTERS_MAX
from mainspring.domain.names import check_key, suggestion

#: A key of its own; ``True`` for the whole payload; or the names of the members that count.
Unique = str | bool | tuple[str, ...]


def check_unique(given: object) -> Unique | None:
    """Return what was asked for, or raise saying what it may be; ``False`` asks for nothing."""
    if isinstance(given, bool):
        return given or None
    if isinstance(given, str) and given:
        return check_key("unique", given)
    if isinstance(given, tuple | list) and given and all(isinstance(item, str) for item in given):
        return tuple(given)
    raise InvalidInput(
        f"unique: {given!r} says nothing that could be compared",
        hint='give a text, True for equal payloads, or names of parameters: ("shop_id",)',
    )


def key_as_unique(key: object) -> str:
    """Return the key as a unique key: that is what a key with ``on_duplicate`` means."""
    if isinstance(key, str):
        return key
    raise InvalidInput(
        "on_duplicate: nothing says what a duplicate is",
        hint='add unique=("parameter",), unique=True, or a key; or --unique, --unique-by, --key',
    )


def unique_key(unique: Unique, kind: str, members: Mapping[str, Any]) -> str:
    """Return the key of a call with these members (plain JSON values, defaults included).

    >>> unique_key(("shop_id",), "sync", {"shop_id": 3, "full": True})
    'sync:{"shop_id":3}'
    """
    if isinstance(unique, str):
        return unique
    counted = dict(members)
    if not isinstance(unique, bool):
        for name in unique:
            if name not in members:
                raise InvalidInput(
                    f"unique: {kind} has no parameter {name!r}", hint=suggestion(name, members)
                )
        counted = {name: members[name] for name in unique}
    text = msgspec.json.encode(counted, order="deterministic").decode()
    key = f"{kind}:{text}"
    if len(key) <= KEY_CHARACTERS_MAX and key.isprintable():
        return key
    return f"{kind}:{hashlib.sha256(text.encode()).hexdigest()}"
