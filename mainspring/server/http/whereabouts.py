"""Which member of a body, or which parameter, an error from behind the door is about.

What is behind knows options by their own names; bodies may say the same in other words.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from mainspring.domain.errors import InvalidInput, InvalidQuery, MainspringError, UnknownKind
from mainspring.server.http.routing import Route

_OPTION: Final = re.compile(r"(?:submission \d+ of \d+: )?([a-z_]+)(?:\.[a-z_]+|\[(\d+)\])?: ")
#: Other names of an option; of those the one that was given is pointed at.
_SAME: Final[Mapping[str, tuple[str, ...]]] = {
    "at": ("due_at", "run_at", "scheduled_at", "schedule"),
    "delay": ("delay_ms",),
    "timeout": ("timeout_ms", "timeout_seconds"),
    "max_attempts": ("max_retries",),
    "backoff": ("retry_backoff",),
    "kind": ("job_type", "type", "name", "job_name"),
    "tenant": ("tenant_id",),
    "key": ("idempotency_key",),
    "unique": ("unique_key",),
    "effect_key": ("idempotency_key_template",),
    "query": ("q",),
}


def point(error: MainspringError, route: Route, body: bytes) -> None:
    """Add to an error's details a pointer to what it is about, where that can be told."""
    pointer = error.details.get("pointer")
    at = _place(error)
    if isinstance(pointer, str):
        if "kind" in error.details and not pointer.startswith(("$", "?")):
            # A schema knows the payload alone.
            error.details["pointer"] = f"{at}/payload{pointer.rstrip('/')}"
        return
    option, item = _option(error)
    if option is None:
        return
    names = (option, *_SAME.get(option, ()))
    if route.body is not None:
        name = _given(names, _members(body, error.details.get("index")))
        name = name or _given(names, _fields(route.body)) or (option if at else None)
        if name is not None:
            error.details["pointer"] = f"{at}/{name}" + ("" if item is None else f"/{item}")
    elif route.query is not None:
        name = _given(names, _fields(route.query))
        if name is not None:
            error.details["pointer"] = f"?{name}"


def _place(error: MainspringError) -> str:
    index = error.details.get("index")
    return f"/jobs/{index}" if isinstance(index, int) else ""


def _option(error: MainspringError) -> tuple[str | None, str | None]:
    if isinstance(error, InvalidQuery):
        return "query", None
    found = _OPTION.match(error.message) if isinstance(error, InvalidInput) else None
    if found is not None:
        return found[1], found[2]
    return ("kind", None) if isinstance(error, UnknownKind) else (None, None)


def _given(names: Iterable[str], known: Iterable[str]) -> str | None:
    there = set(known)
    return next((name for name in names if name in there), None)


def _members(body: bytes, index: object) -> Iterable[str]:
    """Return the names that the body has where the error is; it was read before, so it is JSON."""
    if not body:
        return ()
    found: Any = msgspec.json.decode(body)
    if isinstance(index, int):
        found = found["jobs"][index]
    names: Iterable[str] = found
    return names


def _fields(struct: Any) -> Iterable[str]:
    return [field.encode_name for field in msgspec.structs.fields(struct)]
