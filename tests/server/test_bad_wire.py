"""What no client of ours sends: bytes over a real socket, each with its documented answer."""

import asyncio
import gc
import re
import resource
from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple

import msgspec
import pytest

from mainspring.domain.errors import BY_CODE
from mainspring.domain.limits import BODY_BYTES_MAX, BULK_BODY_BYTES_MAX
from mainspring.registry.desk import FrontDesk
from tests.loopback import serving

_MIB = 1 << 20
_PATIENCE_SECONDS = 30


class Heard(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """The code of a problem; the document is what it says it is."""
        assert self.headers["content-type"] == "application/problem+json", self
        found: dict[str, Any] = msgspec.json.decode(self.body)
        assert found["status"] == self.status == BY_CODE[found["code"]].http_status
        assert found["hint"]
        code: str = found["code"]
        return code

    @property
    def pointers(self) -> list[str]:
        return [each["pointer"] for each in msgspec.json.decode(self.body).get("errors", [])]


class Wire:
    """A connection on which anything can be said."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    async def say(self, *parts: bytes) -> None:
        """Send; whoever is refused in the middle need not be heard to the end."""
        try:
            for part in parts:
                self.writer.write(part)
                await self.writer.drain()
        except ConnectionError:
            pass

    async def hear(self) -> Heard:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            pairs = (line.partition(":") for line in lines)
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            body = await self._reader.readexactly(int(headers.get("content-length", "0")))
            return Heard(int(first.split()[1]), headers, body)


@pytest.fixture
async def port(desk: FrontDesk) -> AsyncIterator[int]:
    async with serving(desk) as url:
        yield int(url.rpartition(":")[2])


async def wire(port: int) -> Wire:
    return Wire(*await asyncio.open_connection("127.0.0.1", port))


def request(method: str, target: str, body: bytes | None = None, more: Sequence[str] = ()) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "host: h", *more]
    if body is not None:
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


async def ask(port: int, *said: bytes) -> Heard:
    """Say it on a connection of its own; what answers is alive afterwards."""
    line = await wire(port)
    try:
        await line.say(*said)
        heard = await line.hear()
    finally:
        line.writer.close()
    other = await wire(port)
    await other.say(request("GET", "/livez"))
    assert (await other.hear()).status == 200
    other.writer.close()
    return heard


JOBS = "/api/v1/jobs"
DEEP = b"[" * 10_000 + b"]" * 10_000
BODIES: list[tuple[bytes, str, list[str]]] = [
    (b'{"kind":"a","payload":' + DEEP + b"}", "payload_too_deep", []),
    (DEEP, "payload_too_deep", []),
    (b'{"kind":"a","kind":"b"}', "invalid_payload", []),
    (b'{"kind":"a","payload":{"x":1,"x":2}}', "invalid_payload", []),
    (b'{"kind":"a\xff"}', "not_json", []),
    (b'{"kind":"\xed\xa0\x80"}', "not_json", []),
    (b'{"kind":"a","payload":{"x":"\\ud800"}}', "not_json", []),
    (b'{"kind":"a\\u0000"}', "invalid_input", ["/kind"]),
    (b'{"kind":"a\x00"}', "not_json", []),
    (b'{"kind":"a","payload":{"x":NaN}}', "not_json", []),
    (b'{"kind":"a","payload":1e999}', "not_json", []),
    (b'\xef\xbb\xbf{"kind":"a"}', "not_json", []),
    (b'{"kind":"a"}{}', "not_json", []),
    (b'{"kind":"a"', "not_json", []),
    (b"", "invalid_input", ["/kind"]),
    (b"null", "invalid_payload", []),
    (b"[]", "invalid_payload", []),
    (b'{"kind":7}', "invalid_input", ["/kind"]),
    (b'{"kind":"a","kund":1}', "unknown_option", ["/kund"]),
    (b'{"kind":"a","defaults":{},"priority":9007199254740993}', "unknown_option", ["/priority"]),
    (b'{"kind":"a","timeout_ms":1e400}', "not_json", []),
    (
        b'{"kind":"a","defaults":{},"max_attempts":99999999999999999999999}',
        "invalid_input",
        ["/max_attempts"],
    ),
    (b'{"kind":"a","max_attempts":9,"max_retries":1}', "invalid_input", ["/max_retries"]),
]


@pytest.mark.parametrize(("body", "code", "pointers"), BODIES)
async def test_bodies(port: int, body: bytes, code: str, pointers: list[str]) -> None:
    heard = await ask(port, request("POST", JOBS, body))
    assert (heard.code, heard.pointers) == (code, pointers), heard.body[:500]


async def test_numbers_of_a_payload_keep_their_digits(port: int) -> None:
    text = b'{"n":9007199254740993,"m":12345678901234567890123.10}'
    body = b'{"kind":"a","defaults":{},"payload":' + text + b"}"
    made = await ask(port, request("POST", JOBS, body))
    job = msgspec.json.decode(made.body)["id"]
    assert b'"payload":' + text in (await ask(port, request("GET", f"{JOBS}/{job}"))).body


@pytest.mark.parametrize("length", [BODY_BYTES_MAX + 1, 10 * _MIB, 1 << 60])
async def test_a_length_that_is_too_much_is_refused_before_the_body(port: int, length: int) -> None:
    heard = await ask(port, request("POST", JOBS, more=[f"content-length: {length}"]))
    assert heard.code == "payload_too_large"


async def test_a_body_that_does_not_end_is_cut_off_and_fills_no_memory(port: int) -> None:
    chunk = b"100000\r\n" + b" " * _MIB + b"\r\n"
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    limits = ((JOBS, BODY_BYTES_MAX), (f"{JOBS}/batch", BULK_BODY_BYTES_MAX))
    for target, bytes_max in limits:
        head = request("POST", target, more=["transfer-encoding: chunked"])
        count = bytes_max // _MIB + 8
        heard = await ask(port, head, *[chunk] * count)
        assert heard.code == "payload_too_large"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 4 * BULK_BODY_BYTES_MAX // 1024, f"{grown} KiB"


@pytest.mark.parametrize(
    ("method", "target", "code"),
    [
        ("GET", f"{JOBS}?limlt=1", "unknown_option"),
        ("GET", f"{JOBS}?limit=9007199254740993", "invalid_input"),
        ("GET", f"{JOBS}?limit=1&limit=2", "invalid_input"),
        ("GET", f"{JOBS}?q=%ff", "invalid_input"),
        ("GET", f"{JOBS}?cursor=%00", "invalid_cursor"),
        ("GET", f"{JOBS}?cursor=AAAA", "invalid_cursor"),
        ("GET", f"{JOBS}/counts?x=1", "invalid_input"),
        ("GET", f"{JOBS}?" + "&".join(f"a{n}=1" for n in range(200)), "invalid_input"),
        ("GET", "/api/v1/queues/a%2Fb", "not_found"),
        ("GET", "/api/v1/queues/..%2F..%2Fetc", "invalid_input"),
        ("GET", "/api/v1/queues/%ff", "invalid_input"),
        ("GET", "/api/v1/queues/%00", "invalid_input"),
        ("GET", "/api/v1/handlers/%ED%A0%80", "invalid_input"),
        ("GET", f"{JOBS}/job_%00", "invalid_id"),
        ("GET", "/api/v1/queues//", "not_found"),
        ("GET", "/api/v1//jobs", "not_found"),
        ("BREW", JOBS, "method_not_allowed"),
        ("PATCH", JOBS, "method_not_allowed"),
        ("OPTIONS", JOBS, "method_not_allowed"),
    ],
)
async def test_targets(port: int, method: str, target: str, code: str) -> None:
    heard = await ask(port, request(method, target))
    # What is no method of HTTP is refused by the parser, before there is a problem to tell.
    if method == "BREW":
        assert heard.status in (400, 405)
    else:
        assert heard.code == code, heard


async def test_names_may_hold_anything_that_is_encoded(port: int) -> None:
    body = b'{"kind":"a","defaults":{},"queue":"mail"}'
    assert (await ask(port, request("POST", JOBS, body))).status == 201
    assert (await ask(port, request("GET", "/api/v1/queues/m%61il"))).status == 200


@pytest.mark.parametrize(
    "said",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nhost: h\r\nbad header\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nhost: h\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"POST /api/v1/jobs HTTP/1.1\r\nhost: h\r\ncontent-length: -1\r\n\r\n",
        b"POST /api/v1/jobs HTTP/1.1\r\nhost: h\r\ncontent-length: %d\r\n\r\n" % 10**30,
        b"POST /api/v1/jobs HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_refused(port: int, said: bytes) -> None:
    heard = await ask(port, said)
    assert heard.status == 400


@pytest.mark.parametrize("ends_lines", [True, False])
async def test_headers_without_end_are_refused(port: int, ends_lines: bool) -> None:
    line = await wire(port)
    await line.say(b"GET /livez HTTP/1.1\r\nhost: h\r\nx: ")
    hearing = asyncio.create_task(line.hear())
    for _ in range(100):
        await line.say(b"a" * 8_000 + (b"\r\nx: " if ends_lines else b""))
        await asyncio.wait([hearing], timeout=0.01)
        if hearing.done():
            break
    assert (await hearing).status == 431
    line.writer.close()


async def test_requests_may_follow_each_other_without_waiting(port: int) -> None:
    line = await wire(port)
    body = b'{"kind":"a","defaults":{},"payload":{"n":%d}}'
    await line.say(b"".join(request("POST", JOBS, body % number) for number in range(20)))
    ids = [msgspec.json.decode((await line.hear()).body)["id"] for _ in range(20)]
    assert len(set(ids)) == 20
    for number, job in enumerate(ids):
        await line.say(request("GET", f"{JOBS}/{job}"))
        assert b'"payload":{"n":%d},' % number in (await line.hear()).body
    line.writer.close()


async def test_whoever_leaves_in_the_middle_leaves_nothing_behind(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    body = b'{"kind":"a","defaults":{}}'
    whole = request("POST", JOBS, body)
    for cut in range(1, len(whole), 7):
        line = await wire(port)
        await line.say(whole[:cut])
        line.writer.transport.abort()
    made = (await ask(port, request("GET", JOBS))).body
    assert msgspec.json.decode(made)["items"] == []
    assert not re.search("Traceback|failed", caplog.text)


async def test_slow_ones_hold_nobody_up(port: int) -> None:
    body = b'{"kind":"a","defaults":{}}'
    slow = [await wire(port) for _ in range(50)]
    whole = request("POST", JOBS, body)
    for line in slow:
        await line.say(whole[:-1])
    assert (await ask(port, whole)).status == 201
    for line in slow:
        await line.say(whole[-1:])
        assert (await line.hear()).status == 201
        line.writer.close()


async def test_a_number_of_any_size_is_told_before_a_key_names_it(port: int) -> None:
    body = b'{"name":"n","kind":"a","when":"@daily","jitter_seconds":368629028955938684928}'
    heard = await ask(port, request("POST", "/api/v1/schedules", body, ["idempotency-key: k"]))
    assert heard.status == 422
    assert heard.code in ("invalid_input", "unknown_kind", "invalid_schedule")
