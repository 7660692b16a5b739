"""The kind ``mainspring.webhook``: a notification to an endpoint, signed.

What its attempts say may be read by whoever may read the job: neither the secret nor the path of
the address, which many receivers use as one, is ever among it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

import msgspec

from mainspring.app.context import Context
from mainspring.app.declare import App, Job
from mainspring.app.retries import Retry
from mainspring.app.signals import Fail, RetryAfter, Snooze
from mainspring.domain.errors import MainspringError
from mainspring.domain.ids import WEBHOOK, parse
from mainspring.domain.limits import WEBHOOK_BYTES_MAX
from mainspring.domain.webhooks import (
    DELIVERY_ATTEMPTS,
    DELIVERY_SECONDS_MAX,
    FAILING_SECONDS_MAX,
    KIND,
    QUEUE,
    RETRY_SECONDS,
    EndpointState,
    Recipient,
)
from mainspring.kinds.egress import Reach
from mainspring.kinds.http import BUSY, NotReached, retry_after, sent
from mainspring.kinds.signing import signature_headers, valid_secrets
from mainspring.ports.clock import monotonic, utc_now
from mainspring.ports.entropy import roll

if TYPE_CHECKING:
    from mainspring.kinds.calling import Answer, Caller

#: Of the answer so much is kept.
_EXCERPT_CHARACTERS: Final = 500
_READ_BYTES: Final = 4_096
_GONE: Final = 410
#: Of the slots of a process, so many at once may wait for one endpoint.
_CALLS_PER_ENDPOINT_MAX: Final = 4
_CROWDED: Final = timedelta(seconds=2)
#: Deliveries that failed together are not tried again together.
_JITTER: Final = 0.2


class Books(Protocol):
    """What a delivery reads and writes of its endpoint."""

    async def get_recipient(self, webhook_id: bytes) -> Recipient | None:
        """Return the endpoint with its secrets."""
        ...

    async def note_delivery(
        self, webhook_id: bytes, *, succeeded: bool, failing_max: timedelta, gone: str = ""
    ) -> bool:
        """Keep how it went; say whether the endpoint became disabled by that."""
        ...


class Delivered(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the receiver answered; the result of the job."""

    status: int
    milliseconds: int
    #: The beginning of what it said.
    answer: str = ""


class _Post:
    """The deliveries of one process."""

    def __init__(self, reachable: Callable[[], Iterable[str]]) -> None:
        self._reachable = reachable
        self._calls: Counter[bytes] = Counter()

    @cached_property
    def caller(self) -> "Caller":
        from mainspring.kinds.calling import Caller

        return Caller(Reach(self._reachable()))

    @contextmanager
    def turn(self, webhook_id: bytes) -> Iterator[None]:
        """Take one of the endpoint's turns; a slow receiver must not take those of the others."""
        if self._calls[webhook_id] >= _CALLS_PER_ENDPOINT_MAX:
            raise Snooze(_CROWDED, "other deliveries to this endpoint are under way")
        self._calls[webhook_id] += 1
        try:
            yield
        finally:
            self._calls[webhook_id] -= 1
            if not self._calls[webhook_id]:
                del self._calls[webhook_id]


def webhook(
    app: App,
    reachable: Callable[[], Iterable[str]] = tuple,
    *,
    now: Callable[[], datetime] = utc_now,
) -> Job[..., Delivered]:
    """Add the kind to an app whose ``ctx.deps`` are the books of endpoints.

    ``reachable`` says, when the first delivery is made, what may be reached that is not public.
    """
    post = _Post(reachable)

    @app.job(
        kind=KIND,
        queue=QUEUE,
        timeout=timedelta(seconds=2 * DELIVERY_SECONDS_MAX),
        retry=Retry(max_attempts=DELIVERY_ATTEMPTS),
    )
    async def deliver(
        ctx: Context[Books],
        *,
        endpoint: str,
        event: str,
        info: dict[str, Any] = {},  # noqa: B006 - a default of the schema
        at: datetime | None = None,
    ) -> Delivered:
        """Post a message to an endpoint; any status of 200 to 299 is a success."""
        webhook_id = parse(WEBHOOK, endpoint)
        recipient = _usable(await ctx.deps.get_recipient(webhook_id), endpoint, ctx.tenant)
        happened_at = (at or ctx.created_at).astimezone(UTC)
        body = _body(event, happened_at, info)
        with post.turn(webhook_id):
            began = monotonic()
            try:
                answer = await _posted(post.caller, recipient, ctx.idempotency_key, body, now())
            except (NotReached, Fail) as error:
                await ctx.deps.note_delivery(webhook_id, succeeded=False, failing_max=_FAILING_MAX)
                raise _again(ctx.tries, str(error)) from None
        spent_ms = round((monotonic() - began) * 1_000)
        ctx.log.info("answered", status=answer.status, milliseconds=spent_ms)
        return await _judged(ctx, webhook_id, answer, spent_ms)

    return deliver


_FAILING_MAX: Final = timedelta(seconds=FAILING_SECONDS_MAX)


def _usable(recipient: Recipient | None, endpoint: str, tenant: str) -> Recipient:
    if recipient is None or recipient.view.tenant != tenant:
        raise Fail(f"there is no endpoint {endpoint} any more")
    if recipient.view.state is EndpointState.DISABLED:
        raise Fail(f"the endpoint {endpoint} is disabled: {recipient.view.reason or 'by hand'}")
    return recipient


def _body(event: str, happened_at: datetime, info: dict[str, Any]) -> bytes:
    body = msgspec.json.encode({"type": event, "timestamp": happened_at, "data": info})
    if len(body) > WEBHOOK_BYTES_MAX:
        raise Fail(f"the body has {len(body):,} bytes, a webhook has {WEBHOOK_BYTES_MAX:,} at most")
    return body


async def _posted(
    caller: "Caller", recipient: Recipient, webhook_id: str, body: bytes, now: datetime
) -> "Answer":
    """Send it, signed by every secret that is valid now."""
    from mainspring.kinds.calling import Request

    url = recipient.view.wanted.url
    secrets = valid_secrets(recipient.secrets, now)
    request = Request(
        method="POST",
        url=url,
        headers={
            "Content-Type": "application/json",
            "User-Agent": "mainspring-webhooks",
            "Accept-Encoding": "identity",
            **signature_headers(webhook_id, now, body, secrets),
        },
        body=body,
        redirects=0,
        bytes_max=_READ_BYTES,
    )
    shown = urlsplit(url).hostname or "the endpoint"
    return await sent(caller, request, shown=shown, seconds=DELIVERY_SECONDS_MAX)


async def _judged(
    ctx: Context[Books], webhook_id: bytes, answer: "Answer", spent_ms: int
) -> Delivered:
    said = answer.body.decode("utf-8", "replace")[:_EXCERPT_CHARACTERS]
    if 200 <= answer.status <= 299:
        # It has arrived, whatever becomes of our own books.
        with suppress(MainspringError):
            await ctx.deps.note_delivery(webhook_id, succeeded=True, failing_max=_FAILING_MAX)
        return Delivered(answer.status, spent_ms, said)
    what = f"answered {answer.status} after {spent_ms} ms" + (f": {said}" if said else "")
    if answer.status == _GONE:
        gone = "the receiver answered 410: gone"
        await ctx.deps.note_delivery(
            webhook_id, succeeded=False, failing_max=_FAILING_MAX, gone=gone
        )
        raise Fail(what)
    if 300 <= answer.status <= 399:
        what += " (webhooks follow no redirects)"
    await ctx.deps.note_delivery(webhook_id, succeeded=False, failing_max=_FAILING_MAX)
    wished = retry_after(answer) if answer.status in BUSY else None
    raise _again(ctx.tries, what, wished)


def _again(tries: int, what: str, wished_seconds: int | None = None) -> RetryAfter:
    """Return when to try again: as the receiver wishes, else by the table, with some dice."""
    seconds = RETRY_SECONDS[min(max(tries, 1), len(RETRY_SECONDS)) - 1]
    if wished_seconds is not None:
        return RetryAfter(timedelta(seconds=wished_seconds), what)
    spread = 1 + _JITTER * (roll() - 0.5)
    return RetryAfter(timedelta(milliseconds=round(seconds * spread * 1_000)), what)
