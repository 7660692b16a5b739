"""The kind ``http`` against a real server on this machine."""

import ipaddress
import socket
from typing import Any

import httpcore
import pytest

from mainspring import testing
from mainspring.app.declare import App, Job
from mainspring.app.signals import Fail, RetryAfter
from mainspring.domain.errors import InvalidPayload
from mainspring.kinds import calling
from mainspring.kinds.http import Called, NotReached, UnexpectedStatus, http
from mainspring.testing import Kit
from tests.kinds.conftest import Reply, Web


@pytest.fixture
def call() -> Job[..., Called]:
    """The kind as an operator has it who opened this machine."""
    return http(App("calls"), ["127.0.0.0/8"])


async def sent(call: Job[..., Called], **arguments: Any) -> Called:
    return await call.arun(ctx=testing.context(), **arguments)


async def test_a_call_sends_what_it_was_given(call: Job[..., Called], web: Web) -> None:
    web.replies = [Reply(201, b'{"ok":true}', {"X-Trace": "7"})]
    ctx = testing.context(effect_key="order-7")
    done = await call.arun(
        ctx=ctx, url=web.url("/orders?a=1"), json={"id": 7}, headers={"X-From": "tests"}
    )
    (asked,) = web.asked
    assert (asked.method, asked.path, asked.body) == ("POST", "/orders?a=1", b'{"id":7}')
    assert asked.headers["content-type"] == "application/json"
    assert asked.headers["x-from"] == "tests"
    assert asked.headers["host"] == f"127.0.0.1:{web.port}"
    # The same in every attempt.
    assert asked.headers["idempotency-key"] == "order-7"
    assert (done.status, done.body, done.headers["x-trace"]) == (201, '{"ok":true}', "7")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
async def test_every_method(call: Job[..., Called], web: Web, method: str) -> None:
    assert (await sent(call, url=web.url(), method=method)).status == 200
    assert web.asked[0].method == method


async def test_text_is_sent_as_it_is(call: Job[..., Called], web: Web) -> None:
    await sent(call, url=web.url(), text="grüße", headers={"Content-Type": "text/plain"})
    assert web.asked[0].body == "grüße".encode()


async def test_both_bodies_are_refused(call: Job[..., Called], web: Web) -> None:
    with pytest.raises(Fail, match="one body"):
        await sent(call, url=web.url(), json=1, text="1")
    assert web.asked == []


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, Fail),
        (404, UnexpectedStatus),
        (422, Fail),
        (500, UnexpectedStatus),
        (304, UnexpectedStatus),
    ],
)
async def test_a_status_says_whether_it_is_tried_again(
    call: Job[..., Called], web: Web, status: int, error: type[Exception]
) -> None:
    web.replies = [Reply(status, b"because")]
    with pytest.raises(error, match=rf"answered {status}"):
        await sent(call, url=web.url())


async def test_what_is_expected_is_a_success(call: Job[..., Called], web: Web) -> None:
    web.replies = [Reply(404)]
    assert (await sent(call, url=web.url(), method="GET", expect=[404])).status == 404
    web.replies = [Reply(200)]
    with pytest.raises(UnexpectedStatus):
        await sent(call, url=web.url(), method="GET", expect=[404])


@pytest.mark.parametrize(
    ("said", "delay_ms"), [("7", 7_000), ("0", 1_000), ("999999999", 86_400_000)]
)
async def test_a_busy_receiver_says_when(
    call: Job[..., Called], web: Web, said: str, delay_ms: int
) -> None:
    web.replies = [Reply(503, b"", {"Retry-After": said})]
    with pytest.raises(RetryAfter) as caught:
        await sent(call, url=web.url())
    assert caught.value.delay_ms == delay_ms


@pytest.mark.parametrize("said", ["", "soon", "-5", "²"])
async def test_a_busy_receiver_that_says_nonsense_is_tried_by_the_back_off(
    call: Job[..., Called], web: Web, said: str
) -> None:
    web.replies = [Reply(429, b"", {"Retry-After": said.encode("utf-8").decode("latin-1")})]
    with pytest.raises(UnexpectedStatus):
        await sent(call, url=web.url())


async def test_a_long_answer_is_cut_and_said_so(call: Job[..., Called], web: Web) -> None:
    web.replies = [Reply(200, b"x" * 1_000)]
    done = await sent(call, url=web.url(), answer_bytes=10)
    assert (done.body, done.is_cut) == ("x" * 10, True)


async def test_what_is_no_text_comes_as_base64(call: Job[..., Called], web: Web) -> None:
    web.replies = [Reply(200, b"\xff\x00")]
    done = await sent(call, url=web.url())
    assert (done.body, done.body_base64) == ("", "/wA=")


async def test_nobody_there_is_tried_again(call: Job[..., Called]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(NotReached, match=f":{taken.getsockname()[1]}"):
            await sent(call, url=f"http://127.0.0.1:{taken.getsockname()[1]}/")
    with pytest.raises(NotReached, match="cannot be found"):
        await sent(call, url="http://nowhere.invalid/")


# --- redirects --------------------------------------------------------------------------------


async def test_redirects_are_followed_as_far_as_asked(call: Job[..., Called], web: Web) -> None:
    web.replies = [Reply(302, b"", {"Location": "/two"}), Reply(200, b"there")]
    done = await sent(call, url=web.url("/one"), json=1)
    assert (done.url, done.body) == (web.url("/two"), "there")
    assert [(asked.method, asked.body) for asked in web.asked] == [("POST", b"1"), ("GET", b"")]
    web.replies = [Reply(302, b"", {"Location": "/two"})]
    with pytest.raises(UnexpectedStatus, match="302"):
        await sent(call, url=web.url("/one"), redirects=0)
    with pytest.raises(UnexpectedStatus, match="302"):
        await sent(call, url=web.url("/one"), redirects=2)


async def test_307_keeps_method_and_body(call: Job[..., Called], web: Web) -> None:
    web.replies = [Reply(307, b"", {"Location": "/two"}), Reply(200)]
    await sent(call, url=web.url(), json=1)
    assert [(asked.method, asked.body) for asked in web.asked] == [("POST", b"1")] * 2


async def test_secrets_do_not_follow_to_another_host(call: Job[..., Called], web: Web) -> None:
    web.replies = [Reply(307, b"", {"Location": web.url("/two", "127.0.0.2")}), Reply(200)]
    with pytest.raises(NotReached):  # nobody listens there
        await sent(call, url=web.url(), headers={"Authorization": "secret"})
    web.asked.clear()
    web.replies = [Reply(307, b"", {"Location": "/two"}), Reply(200)]
    await sent(call, url=web.url(), headers={"Authorization": "secret"})
    assert [asked.headers["authorization"] for asked in web.asked] == ["secret"] * 2
    other = calling._redirected(
        calling.Request("POST", "http://a/", {"authorization": "s", "x": "y"}, b"", 1, 1),
        calling.Answer(307, [], b"", False, "http://a/"),
        "http://b/",
    )
    assert other.headers == {"x": "y"}


# --- where it never goes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "0",
     "169.254.169.254", "[::ffff:127.0.0.1]", "[fd00:ec2::254]", "10.0.0.1"],
)  # fmt: skip
async def test_private_addresses_are_refused_however_they_are_written(web: Web, host: str) -> None:
    closed = http(App("calls"))
    with pytest.raises(Fail, match="not a public address"):
        await sent(closed, url=f"http://{host}:{web.port}/")
    assert web.asked == []


async def test_a_redirect_leads_no_further_than_a_call(web: Web) -> None:
    half = http(App("calls"), ["127.0.0.1"])
    web.replies = [Reply(302, b"", {"Location": f"http://127.0.0.9:{web.port}/"}), Reply(200)]
    with pytest.raises(Fail, match=r"127\.0\.0\.9, which is not a public address"):
        await sent(half, url=web.url())
    assert len(web.asked) == 1


async def test_a_name_that_means_another_address_the_second_time(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address that was judged is the one that is called: nobody asks again."""
    answers = iter(["8.8.8.8", "127.0.0.1"])
    dialled: list[str] = []

    async def resolved(host: str, port: int) -> list[Any]:
        return [ipaddress.ip_address(next(answers))]

    async def connect_tcp(self: object, host: str, *rest: object) -> Any:
        dialled.append(host)
        raise httpcore.ConnectError("no network in tests")

    monkeypatch.setattr(calling, "resolved", resolved)
    monkeypatch.setattr(httpcore.AnyIOBackend, "connect_tcp", connect_tcp)
    with pytest.raises(NotReached):
        await sent(http(App("calls")), url="http://rebinding.example/")
    assert dialled == ["8.8.8.8"]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://example.org/", "http or https"),
        ("file:///etc/passwd", "http or https"),
        ("//example.org/", "http or https"),
        ("http:///path", "needs a host"),
        ("http://user:secret@example.org/", "belongs into a header"),
        ("http://example.org:99999/", "cannot be read"),
        ("http://[::1/", "cannot be read"),
        ("http://example.org/a b", "control character"),
        ("http://example.org/\r\nX: y", "control character"),
        ("http://" + "a" * 70 + ".example/", "not the name of a host"),
    ],
)
async def test_addresses_that_cannot_be_called(call: Job[..., Called], url: str, why: str) -> None:
    with pytest.raises(Fail, match=why):
        await sent(call, url=url)


@pytest.mark.parametrize(
    "headers",
    [{"Host": "x"}, {"content-length": "1"}, {"Transfer-Encoding": "chunked"}, {"a b": "c"},
     {"": "c"}, {"X": "a\r\nY: b"}, {"X": "a\0"}],
)  # fmt: skip
async def test_headers_that_would_change_more_than_themselves(
    call: Job[..., Called], web: Web, headers: dict[str, str]
) -> None:
    with pytest.raises(Fail, match="headers"):
        await sent(call, url=web.url(), headers=headers)
    assert web.asked == []


def test_a_payload_is_checked_when_it_is_submitted() -> None:
    app = App("calls")
    call = http(app)
    with Kit(app):
        for wrong in (
            {},
            {"url": 1},
            {"url": "http://a/", "method": "TRACE"},
            {"url": "http://a/", "redirects": 99},
            {"url": "http://a/", "unknown": 1},
            {"url": "http://a/", "expect": [99]},
        ):
            with pytest.raises(InvalidPayload):
                call.submit(**wrong)
