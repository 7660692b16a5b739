"""A small client of REST: asks again what may be asked again, and raises the server's errors."""

import re
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeVar, overload
from urllib.parse import quote, urlencode, urlsplit

import httpcore
import msgspec

from mainspring.domain.errors import (
    BY_CODE,
    ConfigError,
    InvalidInput,
    MainspringError,
    OutcomeUnknown,
    ServerUnreachable,
)
from mainspring.wire.settling import settled

T = TypeVar("T")
#: What a parameter of a question may be; lists are sent joined, ``None`` is left out.
Parameter = str | int | float | bool | datetime | Iterable[str] | None

_CONNECT_SECONDS: Final = 10.0
_ANSWER_SECONDS: Final = 60.0
_CONNECTIONS_MAX: Final = 100
_KEEP_CONNECTIONS_MAX: Final = 20
#: Shorter than servers keep an idle connection, so that few are closed under a request.
_KEEP_SECONDS: Final = 45.0
#: How often a question is put again when its connection breaks.
_READ_TRIES: Final = 3
_READS: Final = frozenset({"GET", "HEAD"})
_PROXY_STATUSES: Final = frozenset({502, 503, 504})
_LOOPBACK: Final = re.compile(r"localhost|127\.[\d.]+|::1")
_NOT_MODIFIED: Final = 304
#: Statuses from here on are no answer to what was asked; nobody is led elsewhere.
_FAILURES: Final = 300


class RemoteAccess(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server is, and what is shown at its door."""

    url: str
    key: str = ""
    #: Authorities that the server's certificate may come from; empty: those of this machine.
    ca_file: str = ""
    #: A client certificate with its private key, in one PEM file.
    certificate_file: str = ""


class RemoteAnswer(NamedTuple):
    """An answer that is no error."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Problem(msgspec.Struct):
    """What a client reads of a problem document; see ``server.http.problems``."""

    code: str
    detail: str
    hint: str = ""
    details: dict[str, Any] = {}
    errors: list[dict[str, str]] = []
    retry_after: int | None = None
    request_id: str = ""


class RemoteHttp:
    """Asks one server. Bound to one event loop; connections are kept and shared."""

    def __init__(self, access: RemoteAccess) -> None:
        """Ask the server at ``access.url``; nothing is sent yet."""
        self._origin, self._before, self.address = _checked_address(access.url)
        self._key = _checked_key(access.key)
        tls = self.address.startswith("https://")
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=_tls(access) if tls else None,
            max_connections=_CONNECTIONS_MAX,
            max_keepalive_connections=_KEEP_CONNECTIONS_MAX,
            keepalive_expiry=_KEEP_SECONDS,
        )

    @property
    def is_in_the_open(self) -> bool:
        """Tell whether a key travels where others may read it."""
        host = urlsplit(self.address).hostname or ""
        is_far = not _LOOPBACK.fullmatch(host)
        return bool(self._key) and self.address.startswith("http://") and is_far

    @overload
    async def ask(
        self,
        method: str,
        path: str,
        *,
        answer: type[T],
        body: object = None,
        query: Mapping[str, Parameter] | None = None,
        key: str | None = None,
        wait_seconds: float = 0,
    ) -> T: ...

    @overload
    async def ask(
        self,
        method: str,
        path: str,
        *,
        answer: None = None,
        body: object = None,
        query: Mapping[str, Parameter] | None = None,
        key: str | None = None,
        wait_seconds: float = 0,
    ) -> None: ...

    async def ask(  # noqa: PLR0913 - what a request is made of
        self,
        method: str,
        path: str,
        *,
        answer: Any = None,
        body: object = None,
        query: Mapping[str, Parameter] | None = None,
        key: str | None = None,
        wait_seconds: float = 0,
    ) -> Any:
        """Return the document that the server answers with, read as ``answer``.

        ``body`` is sent as JSON; ``None`` is no body. ``key`` is sent as ``Idempotency-Key``.
        ``wait_seconds`` is for how long the server was asked to hold its answer back. Whatever is
        asked is asked again when the connection breaks under it: give what is made an id or key.
        """
        headers = {} if key is None else {"Idempotency-Key": key}
        found = await self.fetch(
            method, path, body=body, query=query, headers=headers, wait_seconds=wait_seconds
        )
        if answer is None:
            return None
        return self.read(found, answer)

    async def fetch(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, Parameter] | None = None,
        headers: Mapping[str, str] | None = None,
        wait_seconds: float = 0,
    ) -> RemoteAnswer:
        """Return an answer as it came; errors are raised."""
        target = self._before + path + _encoded(query)
        content = None if body is None else _json(body)
        patience = _ANSWER_SECONDS + wait_seconds

        async def once() -> RemoteAnswer:
            return await self._once(method, target, headers or {}, content, patience)

        if method in _READS:
            return await self._again(once)
        return await settled(
            once,
            once,
            hint="look at what is there now, then ask again",
            whom=self.address,
        )

    def read(self, found: RemoteAnswer, answer: type[T]) -> T:
        """Return the document of an answer."""
        try:
            return msgspec.json.decode(found.body, type=answer)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._no_server(found.status, str(error)) from None

    async def close(self) -> None:
        """Let go of connections."""
        await self._pool.aclose()

    async def _again(self, once: Callable[[], Awaitable[RemoteAnswer]]) -> RemoteAnswer:
        """Put a question again when its connection breaks: a kept one may have gone stale."""
        for _ in range(_READ_TRIES - 1):
            try:
                return await once()
            except OutcomeUnknown:
                continue
        try:
            return await once()
        except OutcomeUnknown as error:
            raise ServerUnreachable(error.message, hint=_reach_hint(error)) from error

    async def _once(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        content: bytes | None,
        patience: float,
    ) -> RemoteAnswer:
        sent = {"Host": urlsplit(self._origin).netloc, "Accept": "application/json", **headers}
        if self._key:
            sent["Authorization"] = f"Bearer {self._key}"
        if content is not None:
            sent["Content-Type"] = "application/json"
        if content is not None or method not in _READS:
            sent["Content-Length"] = str(len(content or b""))
        timeouts = {
            "connect": _CONNECT_SECONDS,
            "pool": patience,
            "write": _ANSWER_SECONDS,
            "read": patience,
        }
        try:
            response = await self._pool.request(
                method,
                self._origin + target,
                headers=list(sent.items()),
                content=content,
                extensions={"timeout": timeouts},
            )
        except (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.PoolTimeout) as error:
            raise ServerUnreachable(
                f"the server at {self.address} cannot be reached: {_told(error)}",
                hint=_reach_hint(error),
                details={"address": self.address},
            ) from error
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
            raise OutcomeUnknown(
                f"the connection to the server at {self.address} broke: {_told(error)}"
            ) from error
        found = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in response.headers
        }
        answer = RemoteAnswer(response.status, found, response.content)
        if response.status < _FAILURES or response.status == _NOT_MODIFIED:
            return answer
        raise self._error(answer)

    def _error(self, answer: RemoteAnswer) -> MainspringError:
        """Return the error that a problem document tells of."""
        try:
            problem = msgspec.json.decode(answer.body, type=_Problem)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return self._no_server(answer.status, "the answer is no problem document")
        kind = BY_CODE.get(problem.code, MainspringError)
        details = dict(problem.details)
        if problem.errors:
            details.setdefault("pointer", problem.errors[0].get("pointer", ""))
        if problem.retry_after is not None:
            details["retry_after"] = problem.retry_after
        if kind is MainspringError:
            # What a server met by itself can only be looked up there.
            details["request_id"] = problem.request_id
        return kind(problem.detail, hint=problem.hint or None, details=details)

    def _no_server(self, status: int, why: str) -> MainspringError:
        if status in _PROXY_STATUSES:
            return ServerUnreachable(
                f"what stands before the server at {self.address} answered {status}",
                hint="check that the server behind it runs",
                details={"address": self.address, "status": status},
            )
        return ServerUnreachable(
            f"{self.address} answered {status}, but not as a Mainspring server: {why[:200]}",
            hint="check the address: it is the server's own, without /api/v1",
            details={"address": self.address, "status": status},
        )


def path_of(*parts: str) -> str:
    """Return a path below ``/api/v1`` whose parts may hold anything.

    >>> path_of("queues", "mail/fast", "pause")
    '/api/v1/queues/mail%2Ffast/pause'
    """
    return "/api/v1/" + "/".join(quote(part, safe="") for part in parts)


def _encoded(query: Mapping[str, Parameter] | None) -> str:
    pairs = []
    for name, value in (query or {}).items():
        if value is None:
            continue
        if isinstance(value, bool):
            pairs.append((name, str(value).lower()))
        elif isinstance(value, datetime):
            pairs.append((name, value.isoformat()))
        elif isinstance(value, str | int | float):
            pairs.append((name, str(value)))
        else:
            pairs.extend((name, each) for each in value)
    return f"?{urlencode(pairs)}" if pairs else ""


def _checked_address(url: str) -> tuple[str, str, str]:
    """Return where to connect, what paths begin with, and the address as people see it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ConfigError(f"store: {url!r} is no address of a server") from None
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            "store: the address of a server holds no user and no password",
            hint="give the key as MAINSPRING_KEY",
        )
    if not host or parts.query or parts.fragment or not _is_plain(url):
        raise ConfigError(
            f"store: {url!r} is no address of a server",
            hint="write https://HOST, or http://HOST:PORT",
        )
    shown_host = f"[{host}]" if ":" in host else host
    origin = f"{parts.scheme}://{shown_host}" + ("" if port is None else f":{port}")
    # As a server shows its address.
    before = parts.path.rstrip("/").removesuffix("/api/v1")
    return origin, before, origin + before


def _json(body: object) -> bytes:
    try:
        return msgspec.json.encode(body)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"what was given cannot be sent: {error}") from None


def _checked_key(key: str) -> str:
    if key and not _is_plain(key):
        raise ConfigError(
            "key: it holds what no key holds", hint="copy it again, as it was shown: ms_live_..."
        )
    return key


def _is_plain(url: str) -> bool:
    return url.isascii() and url.isprintable() and " " not in url


def _tls(access: RemoteAccess) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=access.ca_file or None)
        if access.certificate_file:
            context.load_cert_chain(access.certificate_file)
    except (OSError, ssl.SSLError) as error:
        name = access.certificate_file or access.ca_file
        raise ConfigError(
            f"the certificates in {name} cannot be read: {error.strerror or error}",
            hint="give files in PEM: MAINSPRING_CA, MAINSPRING_CERTIFICATE",
        ) from None
    return context


def _told(error: Exception) -> str:
    """Return what went wrong below, in the words of whoever said it."""
    if isinstance(error, httpcore.TimeoutException):
        return "it did not answer in time"
    found: BaseException = error
    while found.__cause__ is not None and not str(found):
        found = found.__cause__
    return str(found) or type(found).__name__


def _reach_hint(error: Exception) -> str | None:
    """Return what to look at; a certificate is another matter than a server that is down."""
    text = str(error)
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return "name the authority that its certificate comes from: MAINSPRING_CA"
    if "WRONG_VERSION_NUMBER" in text or "record layer" in text:
        return "it may speak without TLS: try http://"
    if "illegal" in text:
        return "what listens there speaks no HTTP: is it the port of gRPC, which is for workers?"
    return None
