"""The document of the route table: OpenAPI 3.1, made from the code and from nothing else.

Descriptions are the docstrings of routes and structs, and the comments at their members.
"""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any, Final

import msgspec

from mainspring import __version__
from mainspring.domain.errors import (
    ConnectionFailed,
    Forbidden,
    InvalidInput,
    InvalidPayload,
    KeyExpired,
    MainspringError,
    NotJson,
    OutcomeUnknown,
    PayloadTooDeep,
    PayloadTooLarge,
    RateLimited,
    TenantSuspended,
    Unauthenticated,
    UnknownOption,
    UnsupportedMedia,
)
from mainspring.server.http.lists import LINES, is_list
from mainspring.server.http.problems import MEDIA_TYPE, Problem
from mainspring.server.http.routing import Route, Table

_REFERENCE: Final = "#/components/schemas/{name}"
_JSON: Final = "application/json"
_ALWAYS: Final[tuple[type[MainspringError], ...]] = (
    MainspringError,
    ConnectionFailed,
    OutcomeUnknown,
)
_WITH_RIGHT: Final[tuple[type[MainspringError], ...]] = (
    Unauthenticated,
    KeyExpired,
    Forbidden,
    TenantSuspended,
    RateLimited,
)
_WITH_BODY: Final[tuple[type[MainspringError], ...]] = (
    # What is no object, or names a member twice.
    InvalidPayload,
    NotJson,
    PayloadTooLarge,
    PayloadTooDeep,
    UnsupportedMedia,
)
_MEMBER: Final = re.compile(r"\s+(\w+): ")
_COMMENT: Final = re.compile(r"\s+#: ?(.*)")
#: Headers that routes may name; what they mean.
HEADERS: Final[Mapping[str, str]] = {
    "Idempotency-Key": "The same key with the same body names the same thing for a day.",
    "If-Match": "Only if it still has this ETag.",
    "If-None-Match": "Only if it no longer has this ETag.",
    "Last-Event-ID": "Go on behind this event.",
}
_INTRODUCTION: Final = (
    "Every request but those to public paths carries a key: `Authorization: Bearer ms_live_…`. "
    "Errors are problem documents (RFC 9457) with stable codes; `GET /api/v1/errors` lists them. "
    "Ids are text, instants RFC 3339 in UTC, durations whole milliseconds. Members may be added "
    "to answers at any time; nothing else changes within `/api/v1`."
)


def document(table: Table) -> dict[str, Any]:
    """Return the document as plain values."""
    structs = {route.body for route in table.routes} | {route.answer for route in table.routes}
    wanted = sorted((each for each in structs if each is not None), key=str)
    schemas, components = msgspec.json.schema_components(
        [*wanted, Problem], ref_template=_REFERENCE
    )
    _describe(components, [*wanted, Problem])
    known = dict(zip([*wanted, Problem], schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in sorted(table.routes, key=lambda each: (each.path, each.method)):
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, known)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Mainspring",
            "version": __version__,
            "summary": "A distributed job scheduler.",
            "description": _INTRODUCTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": [{"name": tag} for tag in sorted({route.tag for route in table.routes})],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key, or an OpenID Connect token.",
                }
            },
        },
    }


def _operation(route: Route, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": route.name,
        "tags": [route.tag],
        "summary": route.summary.rstrip("."),
    }
    if route.description:
        found["description"] = route.description
    if route.right is None:
        found["security"] = []
    else:
        found["security"] = [{"key": []}]
        found["x-mainspring-right"] = route.right.value
    parameters = [*_path(route), *_query(route), *_headers(route)]
    if parameters:
        found["parameters"] = parameters
    if route.body is not None:
        found["requestBody"] = {
            "required": any(field.required for field in msgspec.structs.fields(route.body)),
            "content": {_JSON: {"schema": schemas[route.body]}},
        }
    found["responses"] = _responses(route, schemas)
    return found


def _path(route: Route) -> Iterator[dict[str, Any]]:
    for name in route.variables:
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _query(route: Route) -> Iterator[dict[str, Any]]:
    if route.query is None:
        return
    comments = _comments(route.query)
    (_, components) = msgspec.json.schema_components([route.query], ref_template=_REFERENCE)
    own = components[route.query.__name__]
    for name, schema in own["properties"].items():
        # A parameter that is left out is null inside, but cannot be given as such.
        found = {"name": name, "in": "query", "schema": _given(_inlined(schema, components))}
        if name in own.get("required", ()):
            found["required"] = True
        if name in comments:
            found["description"] = comments[name]
        yield found


def _headers(route: Route) -> Iterator[dict[str, Any]]:
    for name in route.headers:
        schema = {"type": "string", "minLength": 1, "maxLength": 256}
        yield {"name": name, "in": "header", "schema": schema, "description": HEADERS[name]}


def _responses(route: Route, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status in (route.status, *route.statuses):
        meaning: dict[str, Any] = {"description": HTTPStatus(status).phrase}
        if route.is_stream:
            meaning["content"] = {route.media_type: {"schema": {"type": "string"}}}
        elif route.answer is not None and status not in (204, 304):
            meaning["content"] = {_JSON: {"schema": schemas[route.answer]}}
            if is_list(route):
                meaning["content"][LINES] = {"schema": {"type": "string"}}
        found[str(status)] = meaning
    by_status: dict[int, list[str]] = {}
    for error in errors_of(route):
        by_status.setdefault(error.http_status, []).append(error.code)
    for status, codes in sorted(by_status.items()):
        found[str(status)] = {
            "description": f"{HTTPStatus(status).phrase}: {', '.join(sorted(codes))}",
            "content": {MEDIA_TYPE: {"schema": schemas[Problem]}},
        }
    return found


def errors_of(route: Route) -> Iterable[type[MainspringError]]:
    """Return every error that a route may answer with, each once."""
    found: dict[type[MainspringError], None] = dict.fromkeys((*_ALWAYS, *route.errors))
    if route.right is not None:
        found |= dict.fromkeys(_WITH_RIGHT)
    if route.body is not None:
        found |= dict.fromkeys(_WITH_BODY)
    # Whatever is given can be wrong: a part of the path, a parameter, a member.
    found |= dict.fromkeys((InvalidInput, UnknownOption, PayloadTooLarge))
    return found


def _describe(components: dict[str, Any], structs: Iterable[Any]) -> None:
    """Add the comments at members to the schemas of structs."""
    for struct in _all_structs(structs):
        schema = components.get(struct.__name__)
        if schema is None:
            continue
        for name, comment in _comments(struct).items():
            member = schema.get("properties", {}).get(name)
            if member is not None:
                member.setdefault("description", comment)


def _all_structs(structs: Iterable[Any]) -> Iterator[type[msgspec.Struct]]:
    seen: set[Any] = set()
    stack = list(structs)
    while stack:
        found = stack.pop()
        if found in seen:
            continue
        seen.add(found)
        stack.extend(getattr(found, "__args__", ()))
        origin = getattr(found, "__origin__", found)
        if isinstance(origin, type) and issubclass(origin, msgspec.Struct):
            yield origin
            stack.extend(field.type for field in msgspec.structs.fields(found))


@cache
def _comments(struct: Any) -> dict[str, str]:
    """Return the comments that stand right above the members of a struct."""
    found: dict[str, str] = {}
    for kind in reversed(struct.__mro__):
        if kind is not msgspec.Struct and issubclass(kind, msgspec.Struct):
            found |= _own_comments(kind)
    return found


def _own_comments(struct: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    said: list[str] = []
    for line in inspect.getsource(struct).splitlines():
        comment = _COMMENT.fullmatch(line)
        member = _MEMBER.match(line)
        if comment is not None:
            said.append(comment[1])
        elif member is not None and said:
            found[member[1]] = " ".join(said).replace("``", "`")
            said = []
        else:
            said = []
    return found


def _inlined(schema: Any, components: Mapping[str, Any]) -> Any:
    """Return a schema without references, for parameters."""
    if isinstance(schema, list):
        return [_inlined(each, components) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(components[schema["$ref"].rpartition("/")[2]], components)
    return {name: _inlined(each, components) for name, each in schema.items()}


def _given(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of what can be given in place of nothing."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    plain = {name: value for name, value in schema.items() if name not in {"anyOf", "default"}}
    if schema.get("default") is not None and schema["default"] != []:
        plain["default"] = schema["default"]
    if not choices:
        return plain
    return plain | (choices[0] if len(choices) == 1 else {"anyOf": choices})
