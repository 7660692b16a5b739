"""The kind ``http``: a call to a URL, judged by its status."""

import asyncio
import base64
from collections.abc import Iterable, Sequence
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec

from mainspring.app.context import Context
from mainspring.app.declare import App, Job
from mainspring.app.signals import Fail, RetryAfter
from mainspring.kinds.egress import Reach
from mainspring.kinds.urls import Refused
from mainspring.ports.clock import utc_now

if TYPE_CHECKING:
    from mainspring.kinds.calling import Answer, Caller, Request

KIND: Final = "http"
Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
_REDIRECTS_MAX: Final = 5
_ANSWER_BYTES: Final = 64 * 1024
_ANSWER_BYTES_MAX: Final = 1024 * 1024
_HEADERS_MAX: Final = 64
#: The same call will be answered alike: what it asks for, or who asks, has to change first.
_NEVER: Final = (400, 401, 403, 405, 406, 410, 411, 413, 414, 415, 422, 431, 451)
BUSY: Final = (429, 503)
_RETRY_AFTER_SECONDS_MAX: Final = 24 * 3600
_SHOWN_CHARACTERS: Final = 500

Status = Annotated[int, msgspec.Meta(ge=100, le=599)]


class UnexpectedStatus(Exception):
    """The answer came, and was not the one that was expected."""


class NotReached(Exception):
    """No answer came."""


class Called(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came back; the result of the job."""

    status: int
    url: str
    headers: dict[str, str]
    #: Text, where the body is text in UTF-8.
    body: str = ""
    #: Anything else, as base64.
    body_base64: str = ""
    #: There was more of it.
    is_cut: bool = False


def http(app: App, reachable: Iterable[str] = ()) -> Job[..., Called]:
    """Add the kind to an app."""
    reach = Reach(reachable)

    @cache
    def caller() -> "Caller":
        from mainspring.kinds.calling import Caller

        return Caller(reach)

    @app.job(kind=KIND)
    async def call(  # noqa: PLR0913 - what a request is made of, all by name
        ctx: Context,
        *,
        url: Annotated[str, msgspec.Meta(max_length=8_192)],
        method: Method = "POST",
        headers: Annotated[dict[str, str], msgspec.Meta(max_length=_HEADERS_MAX)] = {},  # noqa: B006 - a default of the schema
        json: Any = None,
        text: str | None = None,
        expect: Annotated[list[Status], msgspec.Meta(max_length=100)] = [],  # noqa: B006 - likewise
        redirects: Annotated[int, msgspec.Meta(ge=0, le=_REDIRECTS_MAX)] = 3,
        answer_bytes: Annotated[int, msgspec.Meta(ge=0, le=_ANSWER_BYTES_MAX)] = _ANSWER_BYTES,
    ) -> Called:
        """Call a URL; any status of 200 to 299 is a success, or those that are expected."""
        from mainspring.kinds.calling import Request

        if json is not None and text is not None:
            raise Fail("json and text: a request has one body, give one of them")
        request = Request(
            method=method,
            url=url,
            headers=_headers(ctx, headers, is_json=json is not None),
            body=_body(json, text),
            redirects=redirects,
            bytes_max=answer_bytes,
        )
        answer = await sent(caller(), request)
        ctx.log.info("answered", status=answer.status, url=answer.url)
        return _judged(answer, expect)

    return call


async def sent(
    caller: "Caller", request: "Request", *, shown: str = "", seconds: float | None = None
) -> "Answer":
    """Make a call; raise ``NotReached``, or ``Fail`` for one that is never made.

    ``shown`` stands for the address in what is said of a failure.
    """
    import httpcore

    try:
        async with asyncio.timeout(seconds):
            return await caller.call(request)
    except Refused as error:
        raise Fail(str(error)) from None
    except (
        httpcore.NetworkError,
        httpcore.TimeoutException,
        httpcore.ProtocolError,
        httpcore.ProxyError,
        httpcore.UnsupportedProtocol,
        OSError,
        TimeoutError,
    ) as error:
        reason = str(error) or type(error).__name__
        if isinstance(error, TimeoutError) and seconds is not None:
            reason = f"no answer within {seconds:g} s"
        raise NotReached(f"{request.method} {shown or request.url}: {reason}") from error


def _headers(ctx: Context, given: dict[str, str], *, is_json: bool) -> dict[str, str]:
    names = {name.lower() for name in given}
    headers = dict(given)
    if "user-agent" not in names:
        headers["User-Agent"] = "mainspring"
    if "accept-encoding" not in names:
        headers["Accept-Encoding"] = "identity"
    if is_json and "content-type" not in names:
        headers["Content-Type"] = "application/json"
    if "idempotency-key" not in names:
        # The same in every attempt: a receiver that keeps it does the work once.
        headers["Idempotency-Key"] = ctx.idempotency_key
    return headers


def _body(json: Any, text: str | None) -> bytes:
    if json is not None:
        return msgspec.json.encode(json)
    return b"" if text is None else text.encode()


def _judged(answer: "Answer", expect: Sequence[int]) -> Called:
    status = answer.status
    is_expected = status in expect if expect else 200 <= status <= 299
    if is_expected:
        return _called(answer)
    shown = answer.body[:_SHOWN_CHARACTERS].decode("utf-8", "replace")
    what = f"{answer.url} answered {status}" + (f": {shown}" if shown else "")
    if status in _NEVER:
        raise Fail(what)
    seconds = retry_after(answer) if status in BUSY else None
    if seconds is not None:
        raise RetryAfter(f"{seconds}s", what)
    raise UnexpectedStatus(what)


def _called(answer: "Answer") -> Called:
    headers = dict(answer.headers[:_HEADERS_MAX])
    try:
        text, raw = answer.body.decode(), ""
    except UnicodeDecodeError:
        text, raw = "", base64.b64encode(answer.body).decode()
    return Called(answer.status, answer.url, headers, text, raw, answer.is_cut)


def retry_after(answer: "Answer") -> int | None:
    """Return the seconds that a busy receiver asks for."""
    said = dict(answer.headers).get("retry-after", "").strip()
    if said.isascii() and said.isdecimal() and len(said) < 10:
        seconds = int(said)
    else:
        try:
            at = parsedate_to_datetime(said)
            seconds = round((at - utc_now()).total_seconds())
        except (TypeError, ValueError):
            return None
    return min(max(seconds, 1), _RETRY_AFTER_SECONDS_MAX)
