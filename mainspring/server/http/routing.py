"""The route table: each route says everything about itself, and is found by method and path.

A route is a coroutine function. Its parameters are what it is handed: ``call``; the variable parts
of the path, by their names, as text; ``body`` and ``query``, as the structs that they are annotated
with. Its annotation says what it answers with, its docstring what it is for.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from mainspring.domain.access import Right
from mainspring.domain.errors import MainspringError, MethodNotAllowed, NotFound
from mainspring.domain.limits import BODY_BYTES_MAX
from mainspring.server.http.calls import Answer, Stream

F = TypeVar("F", bound=Callable[..., Awaitable[Any]])
_PREFIX: Final = ("", "api", "v1")
#: What is found without the prefix as well, because other schedulers have it so.
_SHORT: Final = frozenset({"jobs", "schedules"})
_VARIABLE: Final = re.compile(r"\{(\w+)\}")


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path."""

    method: str
    path: str
    #: ``None``: public.
    right: Right | None
    function: Callable[..., Awaitable[Any]]
    tag: str
    body: Any
    query: Any
    #: The document that it answers with; ``None``: nothing, or a stream.
    answer: Any
    is_stream: bool
    status: int
    #: Other statuses of the same document.
    statuses: tuple[int, ...]
    errors: tuple[type[MainspringError], ...]
    #: Bodies longer than this are refused unread.
    body_bytes: int
    #: Of a stream.
    media_type: str
    #: Headers that mean something here, by name.
    headers: tuple[str, ...]
    #: It may hold its answer back: it is ended when the other side leaves, or the server stops.
    waits: bool
    #: It is handed the call; public routes may do without.
    takes_call: bool

    @property
    def name(self) -> str:
        """Return what the operation is called."""
        return self.function.__name__

    @property
    def summary(self) -> str:
        """Return the first line of what it is for."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]

    @property
    def description(self) -> str:
        """Return what there is to say beyond the summary."""
        return inspect.cleandoc((self.function.__doc__ or "").partition("\n")[2]).strip()

    @property
    def variables(self) -> list[str]:
        """Return the names of the variable parts."""
        return _VARIABLE.findall(self.path)


class Routes:
    """Routes about one kind of thing."""

    def __init__(self, tag: str) -> None:
        """Begin an empty table; ``tag`` groups its routes in the document."""
        self._tag = tag
        self.all: list[Route] = []

    def add(  # noqa: PLR0913 - what there is to say of a route
        self,
        method: str,
        path: str,
        right: Right | None,
        *,
        status: int = 200,
        statuses: tuple[int, ...] = (),
        errors: tuple[type[MainspringError], ...] = (),
        body_bytes: int = BODY_BYTES_MAX,
        media_type: str = "application/json",
        headers: tuple[str, ...] = (),
        waits: bool = False,
    ) -> Callable[[F], F]:
        """Add a function as a route."""

        def added(function: F) -> F:
            hints = get_type_hints(function)
            answer = hints.get("return")
            if get_origin(answer) is Answer:
                (answer,) = get_args(answer)
            is_stream = answer is Stream
            self.all.append(
                Route(
                    method=method,
                    path=path,
                    right=right,
                    function=function,
                    tag=self._tag,
                    body=hints.get("body"),
                    query=hints.get("query"),
                    answer=None if is_stream or answer is type(None) else answer,
                    is_stream=is_stream,
                    status=status,
                    statuses=statuses,
                    errors=errors,
                    body_bytes=body_bytes,
                    media_type=media_type,
                    headers=headers,
                    waits=waits,
                    takes_call="call" in hints,
                )
            )
            return function

        return added


class Found(NamedTuple):
    """A route and what its variable parts are in a path."""

    route: Route
    parts: dict[str, str]


class Table:
    """All routes, found by method and path in a few steps."""

    def __init__(self, routes: Iterable[Route]) -> None:
        """Index the routes."""
        self.routes: Final = tuple(routes)
        self._fixed: dict[str, dict[str, Route]] = {}
        self._open: dict[int, list[tuple[tuple[str | None, ...], dict[str, Route]]]] = {}
        for route in self.routes:
            if route.variables:
                self._by_shape(route)[route.method] = route
            else:
                self._fixed.setdefault(route.path, {})[route.method] = route

    def find(self, method: str, path: str) -> Found:
        """Return the route, or raise ``NotFound`` or ``MethodNotAllowed``."""
        parts = path.split("/")
        if len(parts) > 1 and parts[1] in _SHORT:
            parts = [*_PREFIX, *parts[1:]]
        fixed = self._fixed.get("/".join(parts), {})
        route = fixed.get(method)
        if route is not None:
            return Found(route, {})
        allowed = set(fixed)
        for shape, offered in self._open.get(len(parts), ()):
            if all(mine is None or mine == given for mine, given in zip(shape, parts, strict=True)):
                route = offered.get(method)
                # A name may be a word that is fixed elsewhere; an id never is.
                if route is not None and not (fixed and route.variables[-1].endswith("_id")):
                    values = [part for part, mine in zip(parts, shape, strict=True) if mine is None]
                    return Found(route, dict(zip(route.variables, values, strict=True)))
                allowed |= set() if fixed else set(offered)
        if not allowed:
            raise NotFound(
                f"there is nothing at {path[:200]!r}", hint="GET /api/v1/openapi.json lists all"
            )
        named = ", ".join(sorted(allowed))
        raise MethodNotAllowed(
            f"{path[:200]!r} takes {named}, not {method[:20]}", details={"allow": named}
        )

    def _by_shape(self, route: Route) -> dict[str, Route]:
        shape = tuple(None if _VARIABLE.fullmatch(part) else part for part in route.path.split("/"))
        same = self._open.setdefault(len(shape), [])
        for known, methods in same:
            if known == shape:
                return methods
        methods = {}
        same.append((shape, methods))
        # What is fixed is tried before what is variable.
        same.sort(key=lambda entry: [part is None for part in entry[0]])
        return methods
