"""Errors as RFC 9457 problem documents: one shape, stable codes, a pointer to what is wrong."""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from mainspring.domain.errors import (
    InvalidInput,
    MainspringError,
    MethodNotAllowed,
    Unauthenticated,
    UnknownOption,
)
from mainspring.domain.names import suggestion

MEDIA_TYPE: Final = "application/problem+json"
#: Where the meaning of a code is told; the end of ``type``.
ERRORS_PATH: Final = "/api/v1/errors/"

_AT: Final = re.compile(r"^(?P<what>.*?)(?: - at `(?:key in )?(?P<path>\$[^`]*)`)?$", re.DOTALL)
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `(?P<name>.*)`", re.DOTALL)
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_INDEX: Final = re.compile(r"\[(\d+)\]")
_OPTION: Final = re.compile(r"([a-z_]+)(?:\[(\d+)\])?: ")


class FieldError(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with one member of a body, or one parameter."""

    #: A JSON pointer into the body; ``?name`` for a parameter, ``/`` for all of it.
    pointer: str
    detail: str


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request was not carried out."""

    type: str
    title: str
    status: int
    detail: str
    #: The path that was asked for.
    instance: str
    #: Stable: a program may rely on it.
    code: str
    #: What to do next.
    hint: str
    #: Names the request in the server's log.
    request_id: str
    errors: list[FieldError] = []
    #: In how many seconds it may be tried again.
    retry_after: int | None = None
    #: Facts for programs: limits, ids.
    details: dict[str, Any] = {}


def problem_of(
    error: MainspringError, *, path: str, request_id: str, has_body: bool = True
) -> Problem:
    """Return the document of an error; where there is no body, it is about a parameter."""
    meaning = (type(error).__doc__ or "").strip().partition("\n")[0]
    details = dict(error.details)
    retry_after = details.pop("retry_after", None)
    return Problem(
        type=f"{ERRORS_PATH}{error.code}",
        title=meaning,
        status=error.http_status,
        detail=error.message,
        instance=path,
        code=error.code,
        hint=error.hint,
        request_id=request_id,
        errors=[
            each if has_body else FieldError(pointer=_parameter(each.pointer), detail=each.detail)
            for each in _fields(error, details)
        ],
        retry_after=retry_after if isinstance(retry_after, int) else None,
        details=details,
    )


def headers_of(error: MainspringError) -> Iterator[tuple[str, str]]:
    """Yield the headers that go with an error."""
    if isinstance(error, Unauthenticated):
        yield "www-authenticate", 'Bearer realm="mainspring"'
    if isinstance(error, MethodNotAllowed):
        yield "allow", str(error.details.get("allow", ""))
    if "retry_after" in error.details:
        yield "retry-after", str(error.details["retry_after"])


def invalid_body(error: msgspec.ValidationError, struct: Any) -> InvalidInput:
    """Return what a body that does not fit is answered with."""
    what, pointer = _where(str(error))
    unknown = _UNKNOWN.fullmatch(what)
    if unknown is not None:
        name = unknown["name"]
        known = [] if pointer else [field.encode_name for field in _members(struct)]
        return UnknownOption(
            f"there is no member {name[:80]!r}",
            hint=suggestion(name, known) if known else None,
            details={"pointer": f"{pointer}/{_escaped(name)}"},
        )
    missing = _MISSING.fullmatch(what)
    if missing is not None:
        return InvalidInput(
            f"the member {missing['name']!r} is missing",
            hint="add it; nothing was changed",
            details={"pointer": f"{pointer}/{_escaped(missing['name'])}"},
        )
    shown = pointer.lstrip("/") or "the body"
    return InvalidInput(f"{shown}: {_lowered(what)}", details={"pointer": pointer or "/"})


def invalid_parameter(error: msgspec.ValidationError, struct: Any) -> InvalidInput:
    """Return what parameters that do not fit are answered with."""
    found = invalid_body(error, struct)
    pointer = str(found.details["pointer"])
    found.details["pointer"] = f"?{pointer.lstrip('/').partition('/')[0]}"
    found.message = found.message.replace("there is no member", "there is no parameter").replace(
        "the member", "the parameter"
    )
    return found


def _fields(error: MainspringError, details: dict[str, Any]) -> Iterator[FieldError]:
    pointer = details.pop("pointer", None)
    field = details.get("field")
    if pointer is None and isinstance(field, str) and field:
        pointer = "/" + _INDEX.sub(r"/\1", _escaped(field))
    option = _OPTION.match(error.message)
    if isinstance(pointer, str):
        if pointer.startswith("$"):
            pointer = "/payload" + _where(f"x - at `{pointer}`")[1]
        yield FieldError(pointer=pointer, detail=error.message)
    elif isinstance(error, InvalidInput) and option is not None:
        index = details.get("index")
        before = "" if index is None else f"/jobs/{index}"
        after = "" if option[2] is None else f"/{option[2]}"
        yield FieldError(pointer=f"{before}/{option[1]}{after}", detail=error.message)


def _parameter(pointer: str) -> str:
    return f"?{pointer[1:]}" if pointer.startswith("/") else pointer


def _where(text: str) -> tuple[str, str]:
    """Split a complaint into what is wrong and a JSON pointer to it."""
    found = _AT.fullmatch(text)
    assert found is not None, "every text matches"
    steps = _STEP.findall(found["path"] or "")
    return found["what"], "".join(f"/{_escaped(name or index)}" for name, index in steps)


def _members(struct: Any) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(struct) if isinstance(struct, type) else ()


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
