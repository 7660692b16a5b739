"""Deliveries against a real server on this machine, verified by the reference library."""

import base64
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from mainspring import testing
from mainspring.app.declare import App, Job
from mainspring.app.signals import Fail, RetryAfter, Snooze
from mainspring.domain.errors import ConnectionFailed
from mainspring.domain.ids import WEBHOOK, show
from mainspring.domain.limits import WEBHOOK_BYTES_MAX
from mainspring.domain.webhooks import (
    FAILING_SECONDS_MAX,
    KIND,
    QUEUE,
    RETRY_SECONDS,
    EndpointState,
    Event,
    Recipient,
    Secret,
    Wanted,
    WebhookView,
)
from mainspring.kinds import webhook as kind
from mainspring.kinds.signing import secret_of, signature_headers, valid_secrets
from mainspring.kinds.webhook import Delivered, webhook
from tests.kinds.conftest import Reply, Web

ID = bytes(range(16))
ENDPOINT = show(WEBHOOK, ID)
NEW, OLD = secret_of(b"n" * 32), secret_of(b"o" * 32)
NOW = datetime(2027, 1, 31, 9, tzinfo=UTC)


class Book:
    """The books of one endpoint."""

    def __init__(self, url: str, *secrets: Secret) -> None:
        self.view = WebhookView(
            id=ID,
            tenant="default",
            wanted=Wanted(url=url, events=(Event.JOB_DEAD,)),
            state=EndpointState.ACTIVE,
            version=1,
            created_at=NOW,
            changed_at=NOW,
        )
        self.secrets = secrets or (Secret(NEW),)
        self.noted: list[tuple[bool, str]] = []
        self.is_away = False

    async def get_recipient(self, webhook_id: bytes) -> Recipient | None:
        return Recipient(self.view, self.secrets) if webhook_id == ID else None

    async def note_delivery(
        self, webhook_id: bytes, *, succeeded: bool, failing_max: timedelta, gone: str = ""
    ) -> bool:
        assert (webhook_id, failing_max) == (ID, timedelta(seconds=FAILING_SECONDS_MAX))
        if self.is_away:
            raise ConnectionFailed
        self.noted.append((succeeded, gone))
        return bool(gone)


@pytest.fixture
def deliver() -> Job[..., Delivered]:
    """The kind as an operator has it who opened this machine."""
    return webhook(App("hooks"), lambda: ["127.0.0.0/8"])


@pytest.fixture
def book(web: Web) -> Book:
    return Book(web.url("/T0/key-in-the-path"))


async def sent(deliver: Job[..., Delivered], book: Book, **facts: Any) -> Delivered:
    ctx = testing.context(deps=book, **({"effect_key": "job_1_dead"} | facts))
    info = {"job": {"id": "job_1", "message": "grüße"}}
    return await deliver.arun(ctx=ctx, endpoint=ENDPOINT, event="job.dead", info=info)


async def test_a_delivery_is_what_the_reference_library_accepts(
    deliver: Job[..., Delivered], book: Book, web: Web
) -> None:
    web.replies = [Reply(204)]
    happened_at = datetime(2027, 1, 30, 8, 15, tzinfo=UTC)
    done = await sent(deliver, book, now=happened_at)
    (asked,) = web.asked
    told = Webhook(NEW).verify(asked.body, dict(asked.headers))
    assert told == {
        "type": "job.dead",
        "timestamp": "2027-01-30T08:15:00Z",
        "data": {"job": {"id": "job_1", "message": "grüße"}},
    }
    assert (asked.method, asked.path) == ("POST", "/T0/key-in-the-path")
    assert asked.headers["webhook-id"] == "job_1_dead"
    assert asked.headers["content-type"] == "application/json"
    assert (done.status, done.answer, book.noted) == (204, "", [(True, "")])


async def test_what_was_changed_on_the_way_is_not_accepted(
    deliver: Job[..., Delivered], book: Book, web: Web
) -> None:
    await sent(deliver, book)
    (asked,) = web.asked
    headers = dict(asked.headers)
    for changed, body in (
        (headers, asked.body.replace(b"dead", b"dear")),
        (headers | {"webhook-id": "job_2_dead"}, asked.body),
        (headers | {"webhook-timestamp": str(int(headers["webhook-timestamp"]) + 1)}, asked.body),
    ):
        with pytest.raises(WebhookVerificationError):
            Webhook(NEW).verify(body, changed)
    with pytest.raises(WebhookVerificationError):
        Webhook(OLD).verify(asked.body, headers)


async def test_while_a_secret_is_replaced_both_verify(
    deliver: Job[..., Delivered], book: Book, web: Web
) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    book.secrets = (Secret(NEW), Secret(OLD, later))
    await sent(deliver, book)
    book.secrets = (Secret(NEW), Secret(OLD, datetime.now(UTC) - timedelta(seconds=1)))
    await sent(deliver, book)
    both, one = web.asked
    assert len(both.headers["webhook-signature"].split()) == 2
    for secret in (NEW, OLD):
        Webhook(secret).verify(both.body, dict(both.headers))
    Webhook(NEW).verify(one.body, dict(one.headers))
    with pytest.raises(WebhookVerificationError):
        Webhook(OLD).verify(one.body, dict(one.headers))


def test_signatures_are_those_of_the_reference_library() -> None:
    body = b'{"a":1}'
    headers = signature_headers("msg_1", NOW, body, [Secret(NEW)])
    assert headers["webhook-signature"] == Webhook(NEW).sign("msg_1", NOW, body.decode())
    assert len(base64.b64decode(NEW.removeprefix("whsec_"))) == 32


def test_a_secret_signs_until_its_time_has_run_out() -> None:
    old = Secret(OLD, NOW)
    assert valid_secrets([Secret(NEW), old], NOW) == [Secret(NEW)]
    assert valid_secrets([Secret(NEW), old], NOW - timedelta(microseconds=1)) == [Secret(NEW), old]


@pytest.mark.parametrize("status", [400, 401, 404, 418, 500, 502])
async def test_whatever_is_no_success_is_tried_again_by_the_table(
    deliver: Job[..., Delivered], book: Book, web: Web, status: int
) -> None:
    web.replies = [Reply(status, b"not\xff today" + b"." * 9_000)]
    for tries, seconds in enumerate(RETRY_SECONDS, start=1):
        with pytest.raises(RetryAfter, match=f"answered {status} after") as caught:
            await sent(deliver, book, tries=tries)
        assert seconds * 900 <= caught.value.delay_ms <= seconds * 1_100
        assert len(caught.value.reason) < 600
    assert set(book.noted) == {(False, "")}


async def test_waits_differ_from_delivery_to_delivery(
    deliver: Job[..., Delivered], book: Book, web: Web
) -> None:
    web.replies = [Reply(500)]
    delays = set()
    for _ in range(5):
        with pytest.raises(RetryAfter) as caught:
            await sent(deliver, book, tries=9)
        delays.add(caught.value.delay_ms)
    assert len(delays) > 1


@pytest.mark.parametrize("status", [429, 503])
async def test_a_busy_receiver_says_when(
    deliver: Job[..., Delivered], book: Book, web: Web, status: int
) -> None:
    web.replies = [Reply(status, headers={"Retry-After": "77"})]
    with pytest.raises(RetryAfter) as caught:
        await sent(deliver, book)
    assert caught.value.delay_ms == 77_000


async def test_a_redirect_is_a_failure_and_is_not_followed(
    deliver: Job[..., Delivered], book: Book, web: Web
) -> None:
    web.replies = [Reply(302, headers={"Location": web.url("/elsewhere")})]
    with pytest.raises(RetryAfter, match="follow no redirects"):
        await sent(deliver, book)
    assert [asked.path for asked in web.asked] == ["/T0/key-in-the-path"]


async def test_one_that_is_gone_is_told_nothing_more(
    deliver: Job[..., Delivered], book: Book, web: Web
) -> None:
    web.replies = [Reply(410, b"moved on")]
    with pytest.raises(Fail, match="moved on"):
        await sent(deliver, book)
    assert book.noted == [(False, "the receiver answered 410: gone")]


async def test_a_disabled_or_deleted_endpoint_or_one_of_others_is_not_called(
    deliver: Job[..., Delivered], book: Book, web: Web
) -> None:
    with pytest.raises(Fail, match="there is no endpoint"):
        await sent(deliver, book, tenant="other")
    book.view = msgspec.structs.replace(
        book.view, state=EndpointState.DISABLED, reason="out of service"
    )
    with pytest.raises(Fail, match="disabled: out of service"):
        await sent(deliver, book)
    ctx = testing.context(deps=book)
    with pytest.raises(Fail, match="there is no endpoint"):
        await deliver.arun(ctx=ctx, endpoint=show(WEBHOOK, bytes(16)), event="job.dead")
    assert web.asked == []
    assert book.noted == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1"])
async def test_what_is_not_public_is_not_reached_unless_it_is_allowed(web: Web, host: str) -> None:
    careful = webhook(App("hooks"))
    book = Book(f"http://{host}:{web.port}/")
    with pytest.raises(RetryAfter, match="not a public address"):
        await sent(careful, book)
    assert web.asked == []
    assert book.noted == [(False, "")]


@contextmanager
def _silence() -> Iterator[str]:
    """A receiver that takes the call and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/T0/key-in-the-path"


async def test_a_receiver_that_says_nothing_is_not_waited_for(
    deliver: Job[..., Delivered], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "DELIVERY_SECONDS_MAX", 0.05)
    with _silence() as url, pytest.raises(RetryAfter, match="no answer within") as caught:
        await sent(deliver, Book(url))
    assert "key-in-the-path" not in caught.value.reason


async def test_a_receiver_that_is_not_there_is_tried_again(deliver: Job[..., Delivered]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    book = Book(f"http://127.0.0.1:{port}/T0/key-in-the-path")
    with pytest.raises(RetryAfter) as caught:
        await sent(deliver, book)
    assert "key-in-the-path" not in caught.value.reason
    assert book.noted == [(False, "")]


async def test_what_arrived_has_arrived_whatever_becomes_of_the_books(
    deliver: Job[..., Delivered], book: Book, web: Web
) -> None:
    book.is_away = True
    assert (await sent(deliver, book)).status == 200
    assert len(web.asked) == 1


async def test_nothing_of_the_secret_or_the_address_is_told(
    deliver: Job[..., Delivered], book: Book, web: Web
) -> None:
    for reply in (Reply(200, b"thanks"), Reply(500, b"sorry")):
        web.replies = [reply]
        ctx = testing.context(deps=book)
        told = ""
        try:
            told = repr(await deliver.arun(ctx=ctx, endpoint=ENDPOINT, event="job.dead"))
        except RetryAfter as error:
            told = repr(error) + repr(error.__cause__) + repr(error.__context__)
        told += repr(ctx.lines)
        assert "whsec_" not in told
        assert "key-in-the-path" not in told


async def test_a_body_has_an_end(deliver: Job[..., Delivered], book: Book, web: Web) -> None:
    ctx = testing.context(deps=book)
    info = {"words": "x" * WEBHOOK_BYTES_MAX}
    with pytest.raises(Fail, match="20,480 at most"):
        await deliver.arun(ctx=ctx, endpoint=ENDPOINT, event="job.dead", info=info)
    assert web.asked == []


def test_one_endpoint_gets_some_of_the_slots_and_no_more() -> None:
    post = kind._Post(tuple)
    turns = [post.turn(ID) for _ in range(kind._CALLS_PER_ENDPOINT_MAX)]
    for turn in turns:
        turn.__enter__()
    with pytest.raises(Snooze), post.turn(ID):
        raise AssertionError("one too many")
    with post.turn(bytes(16)):
        pass
    turns[0].__exit__(None, None, None)
    with post.turn(ID):
        pass


def test_the_kind_has_a_queue_of_its_own(deliver: Job[..., Delivered]) -> None:
    assert (deliver.kind, deliver.handler.info.queue) == (KIND, QUEUE)
