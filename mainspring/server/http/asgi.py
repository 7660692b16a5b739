"""The ASGI application: finds the route, lets in who may come, reads, calls, answers.

Thin on purpose: a framework between the socket and a submission costs more than the submission
(``docs/decisions`` has the figures), and everything that a framework would add is in the table.
"""

import asyncio
import logging
from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    MutableMapping,
    Sequence,
)
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import msgspec

from mainspring.domain.access import NOBODY, Principal
from mainspring.domain.errors import (
    Forbidden,
    InvalidInput,
    MainspringError,
    ServerUnreachable,
    Unauthenticated,
)
from mainspring.domain.limits import KEY_TRUST_SECONDS
from mainspring.ports.clock import pause_seconds
from mainspring.server.http.calls import Answer, Call, House, Request, Stream
from mainspring.server.http.lists import is_list, lines, wants_lines, with_link
from mainspring.server.http.problems import MEDIA_TYPE, headers_of, problem_of
from mainspring.server.http.reading import BodyReader, QueryReader, check_length, too_large
from mainspring.server.http.routing import Route, Table
from mainspring.server.http.whereabouts import point

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_ID_CHARACTERS_MAX: Final = 64
_JSON: Final = "application/json"
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
_ALWAYS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)
_log = logging.getLogger("mainspring.server")


class _Ready(NamedTuple):
    """A route with its readers."""

    route: Route
    body: BodyReader | None
    query: QueryReader | None
    is_list: bool


class Application:
    """The doors of REST."""

    def __init__(self, table: Table, house: House) -> None:
        """Answer what the table has."""
        self._table = table
        self._house = house
        self._ready = {id(route): _readied(route) for route in table.routes}
        self._encoder = msgspec.json.Encoder()
        self._ended = asyncio.Event()

    def end_streams(self) -> None:
        """End what would never end by itself, so that the server can stop."""
        self._ended.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await _refuse(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        request_id = self._request_id(headers)
        path = scope["raw_path"].decode("latin-1") if scope.get("raw_path") else scope["path"]
        path = path.partition("?")[0]
        try:
            answer, route = await self._answered(scope, receive, headers, path, request_id)
        except MainspringError as error:
            has_body = scope["method"] in _WITH_BODY
            await self._send_problem(send, error, path, request_id, has_body=has_body)
            return
        except _Gone:
            return
        except Exception:  # noqa: BLE001 - it is told, and logged
            _log.exception("request %s failed: %s %s", request_id, scope["method"], path)
            failure = MainspringError(
                "the server met an error of its own",
                hint=f"look for {request_id} in the server's log and report what it says",
            )
            await self._send_problem(send, failure, path, request_id)
            return
        if isinstance(answer, Stream) and scope["method"] != "HEAD":
            admitted = partial(self._admitted, scope, route, headers, _peer(scope))
            await self._send_stream(receive, send, answer, request_id, admitted)
        else:
            await self._send_answer(
                send, route, answer, request_id, is_head=scope["method"] == "HEAD"
            )

    async def _answered(
        self,
        scope: Scope,
        receive: Receive,
        headers: dict[str, str],
        path: str,
        request_id: str,
    ) -> tuple[Any, Route]:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        route, parts = self._table.find(method, path)
        peer = _peer(scope)
        principal = await self._admitted(scope, route, headers, peer)
        check_length(headers, route.body_bytes)
        body = await _body(receive, route.body_bytes)
        request = Request(
            method=method,
            path=path,
            query=scope["query_string"],
            headers=headers,
            body=body,
            peer=peer,
            id=request_id,
        )
        ready = self._ready[id(route)]
        given: dict[str, Any] = {name: _part(name, value) for name, value in parts.items()}
        if ready.body is not None:
            given["body"] = ready.body.read(body, headers.get("content-type"))
        if ready.query is not None:
            given["query"] = ready.query.read(request.query)
        elif request.query:
            raise InvalidInput("this takes no parameters", hint="leave out what follows the ?")
        if route.takes_call:
            gateway = self._house.gateway(principal.tenant)
            given["call"] = Call(request, principal, gateway, self._house)
        try:
            return await self._answer(receive, ready, given, request), route
        except MainspringError as error:
            point(error, route, body)
            raise

    async def _answer(
        self, receive: Receive, ready: _Ready, given: dict[str, Any], request: Request
    ) -> Any:
        """Return what a route answers, in the form that was asked for."""
        route = ready.route
        if ready.is_list:
            if wants_lines(request.headers):
                return await lines(route, given, self._encoder)
            return with_link(await route.function(**given), request)
        if route.waits:
            return await self._held(receive, route.function(**given))
        return await route.function(**given)

    async def _admitted(
        self, scope: Scope, route: Route, headers: dict[str, str], peer: str
    ) -> Principal:
        """Return who asks, if they may."""
        if route.right is None:
            return NOBODY
        principal: Principal | None = None
        authorization = headers.get("authorization")
        if authorization is not None:
            principal = self._house.doorkeeper.known(authorization)
        if principal is None:
            principal = await self._house.doorkeeper.admit(authorization, peer, _certificate(scope))
        principal.insist(route.right)
        return principal

    async def _held(self, receive: Receive, answering: Awaitable[Any]) -> Any:
        """Return what a route answers, however late, unless nobody can be told any more."""
        found: list[Any] = []
        failed: list[Exception] = []

        async def answer() -> None:
            try:
                found.append(await answering)
            except Exception as error:  # noqa: BLE001 - it is raised below, as it came
                failed.append(error)

        _, leaving, _ = await _first_of(answer(), _left(receive), self._ended.wait())
        if failed:
            raise failed[0]
        if found:
            return found[0]
        if leaving.cancelled():
            raise ServerUnreachable(
                "this server is stopping", hint="ask again: another one answers, or this one later"
            )
        raise _Gone

    def _request_id(self, headers: dict[str, str]) -> str:
        given = headers.get("x-request-id", "")
        if 0 < len(given) <= _ID_CHARACTERS_MAX and given.isascii() and given.isprintable():
            return given
        return self._house.new_request_id()

    async def _send_answer(
        self, send: Send, route: Route, answer: Any, request_id: str, *, is_head: bool
    ) -> None:
        status = route.status
        more: Sequence[tuple[str, str]] = ()
        if isinstance(answer, Answer):
            status = answer.status or status
            more = answer.headers
            answer = answer.document
        if isinstance(answer, Stream):
            # Asked for its headers alone.
            await answer.chunks.aclose()
            answer = None
        body = b"" if answer is None else self._encoder.encode(answer)
        media_type = None if answer is None else _JSON
        await _send(send, status, media_type, body, more, request_id, is_head=is_head)

    async def _send_problem(
        self,
        send: Send,
        error: MainspringError,
        path: str,
        request_id: str,
        *,
        has_body: bool = True,
    ) -> None:
        problem = problem_of(error, path=path, request_id=request_id, has_body=has_body)
        body = msgspec.json.encode(problem, enc_hook=str)
        more = tuple(headers_of(error))
        await _send(send, error.http_status, MEDIA_TYPE, body, more, request_id)

    async def _send_stream(
        self,
        receive: Receive,
        send: Send,
        stream: Stream,
        request_id: str,
        admitted: Callable[[], Awaitable[object]],
    ) -> None:
        """Send what comes, until it ends, the reader leaves or may listen no more, or we stop."""
        headers = _headers(stream.media_type, (("x-accel-buffering", "no"),), request_id)
        await send({"type": "http.response.start", "status": 200, "headers": headers})

        async def forward() -> None:
            async with aclosing(stream.chunks) as chunks:
                async for chunk in chunks:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})

        _, leaving, *_ = await _first_of(
            forward(), _left(receive), self._ended.wait(), self._shown_out(admitted)
        )
        if leaving.cancelled():
            with suppress(OSError):
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _shown_out(self, admitted: Callable[[], Awaitable[object]]) -> None:
        """Return once a listener would be let in no more: its key was ended, or has expired."""
        while True:
            await pause_seconds(KEY_TRUST_SECONDS)
            try:
                await admitted()
            except (Unauthenticated, Forbidden):
                return
            except MainspringError:
                # Asking too often, or a store that is away, says nothing of who it is.
                continue


class _Gone(Exception):
    """The other side left before its request was complete."""


async def _body(receive: Receive, bytes_max: int) -> bytes:
    """Return the body, of which never more than the limit is held."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise _Gone
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        if len(body) > bytes_max:
            raise too_large(len(body), bytes_max)
        return body
    parts = [body]
    length = len(body)
    while message.get("more_body", False):
        if length > bytes_max:
            raise too_large(length, bytes_max)
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        parts.append(message.get("body", b""))
        length += len(parts[-1])
    if length > bytes_max:
        raise too_large(length, bytes_max)
    return b"".join(parts)


def _readied(route: Route) -> _Ready:
    return _Ready(
        route,
        None if route.body is None else BodyReader(route.body, route.body_bytes),
        None if route.query is None else QueryReader(route.query),
        is_list(route),
    )


def _part(name: str, value: str) -> str:
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise InvalidInput(
            f"the path cannot be read: {name} is not percent-encoded UTF-8"
        ) from None


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else "local"


def _certificate(scope: Scope) -> str | None:
    """Return the name in a client certificate that was verified, where there was one."""
    name = scope.get("state", {}).get("certificate")
    return name if isinstance(name, str) else None


async def _first_of(*ways: Coroutine[Any, Any, object]) -> list[asyncio.Task[object]]:
    """Go all ways until one comes to its end; the others are cancelled."""
    started: list[asyncio.Task[object]] = []

    def stop_all(_: asyncio.Task[object]) -> None:
        for one in started:
            one.cancel()

    async with asyncio.TaskGroup() as group:
        for way in ways:
            started.append(group.create_task(way))
            started[-1].add_done_callback(stop_all)
    return started


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _headers(
    media_type: str | None, more: Iterable[tuple[str, str]], request_id: str
) -> list[tuple[bytes, bytes]]:
    found = [*_ALWAYS, (b"x-request-id", request_id.encode())]
    if media_type is not None:
        found.append((b"content-type", media_type.encode()))
    found.extend((name.encode(), value.encode("latin-1")) for name, value in more)
    return found


async def _send(  # noqa: PLR0913 - what an answer is made of
    send: Send,
    status: int,
    media_type: str | None,
    body: bytes,
    more: Sequence[tuple[str, str]],
    request_id: str,
    *,
    is_head: bool = False,
) -> None:
    headers = _headers(media_type, more, request_id)
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if is_head else body})


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer what is no request: the start and end of the server, and what is not served."""
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1000})
