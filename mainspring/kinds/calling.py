"""One HTTP request over a connection whose address was judged. Knows no jobs."""

import asyncio
import ipaddress
import re
import socket
import ssl
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

import httpcore

from mainspring.kinds.egress import Address, Reach
from mainspring.kinds.urls import Refused, checked_url

_RESOLVE_SECONDS: Final = 10.0
_CONNECT_SECONDS: Final = 10.0
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_KEEPS_METHOD: Final = frozenset({307, 308})
#: Headers that the client sets itself, or that belong to one connection only.
_OURS: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer",
     "upgrade", "proxy-authorization", "proxy-connection", "expect"}
)  # fmt: skip
#: What is not taken along to another host.
_SECRET: Final = frozenset({"authorization", "cookie", "idempotency-key"})
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class Request(NamedTuple):
    """What is sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    redirects: int
    #: Of the answer's body so much is read.
    bytes_max: int


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    #: There was more.
    is_cut: bool
    #: Where it came from, after redirects.
    url: str


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to addresses that were judged, and to nothing else."""

    def __init__(self, reach: Reach) -> None:
        """Judge by ``reach``."""
        self._reach = reach
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = await resolved(host, port)
        refused = self._reach.refuses(host, addresses)
        if refused is not None:
            raise Refused(
                f"{host} is at {refused}, which is not a public address; an operator may allow it "
                "with --http-reach"
            )
        failure: Exception | None = None
        for address in addresses:
            try:
                return await self._network.connect_tcp(
                    str(address), port, timeout, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore.ConnectError(f"{host} has no address")

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise Refused("a call goes to an address, not to a socket of this machine")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


async def resolved(host: str, port: int) -> list[Address]:
    """Return the addresses of a host, asked for once."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_RESOLVE_SECONDS):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(f"the host {host} cannot be found: {error}") from error
    words = dict.fromkeys(str(sockaddr[0]).partition("%")[0] for *_, sockaddr in found)
    return [ipaddress.ip_address(word) for word in words]


class Caller:
    """Makes requests; one a process. Connections are not kept: each call is judged anew."""

    def __init__(self, reach: Reach) -> None:
        """Go where ``reach`` allows."""
        self._network = GuardedNetwork(reach)
        self._tls = ssl.create_default_context()

    async def call(self, request: Request) -> Answer:
        """Send it, follow redirects, and return the last answer."""
        first = checked_url(request.url)
        _check_headers(request.headers)
        answer = await self._send(request, first)
        for _ in range(request.redirects):
            led_to = _location(answer)
            if led_to is None:
                return answer
            request = _redirected(request, answer, led_to)
            answer = await self._send(request, checked_url(request.url))
        return answer

    async def _send(self, request: Request, url: SplitResult) -> Answer:
        async with httpcore.AsyncConnectionPool(
            ssl_context=self._tls, network_backend=self._network, max_keepalive_connections=0
        ) as pool:
            headers = [*request.headers.items(), ("Host", url.netloc)]
            if request.body or request.method not in ("GET", "HEAD", "DELETE"):
                headers.append(("Content-Length", str(len(request.body))))
            timeouts = {"connect": _CONNECT_SECONDS}
            async with pool.stream(
                request.method,
                urlunsplit(url),
                headers=headers,
                content=request.body or None,
                extensions={"timeout": timeouts},
            ) as response:
                body, is_cut = await _read(response, request.bytes_max)
                found = [
                    (name.decode("latin-1").lower(), value.decode("latin-1"))
                    for name, value in response.headers
                ]
                return Answer(response.status, found, body, is_cut, urlunsplit(url))


async def _read(response: httpcore.Response, bytes_max: int) -> tuple[bytes, bool]:
    """Read up to so many bytes, as they are: nothing is unpacked that was not asked for."""
    body = bytearray()
    async for chunk in response.aiter_stream():
        body += chunk
        if len(body) > bytes_max:
            return bytes(body[:bytes_max]), True
    return bytes(body), False


def _check_headers(headers: Mapping[str, Any]) -> None:
    """Raise for a header that would change more than itself."""
    for name, value in headers.items():
        if name.lower() in _OURS:
            raise Refused(f"headers: {name} is set by the client")
        if not _HEADER_NAME.fullmatch(name):
            raise Refused(f"headers: {name!r} is not the name of a header")
        if any(character in "\r\n\0" for character in value) or not value.isprintable():
            raise Refused(f"headers: the value of {name} holds what no header may hold")


def _location(answer: Answer) -> str | None:
    if answer.status not in _REDIRECTS:
        return None
    return dict(answer.headers).get("location")


def _redirected(request: Request, answer: Answer, location: str) -> Request:
    url = urljoin(answer.url, location)
    headers = dict(request.headers)
    if _origin(url) != _origin(answer.url):
        headers = {name: value for name, value in headers.items() if name.lower() not in _SECRET}
    if answer.status in _KEEPS_METHOD:
        return request._replace(url=url, headers=headers)
    method = "HEAD" if request.method == "HEAD" else "GET"
    headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
    return request._replace(url=url, headers=headers, method=method, body=b"")


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    try:
        return parts.scheme, parts.hostname, parts.port
    except ValueError as error:
        raise Refused(f"url: it was led to {url!r}, which cannot be read: {error}") from None
