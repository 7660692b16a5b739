"""Whatever is wrong with a request, over a real socket: its code, and a pointer to it."""

import asyncio
from typing import Any

import httpx
import msgspec
import pytest

from mainspring.domain.errors import BY_CODE
from mainspring.domain.ids import show_job
from mainspring.domain.job import HandlerInfo
from mainspring.domain.limits import NAMED_JOBS_MAX
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.testing.conformance.steps import counts, submit_one
from tests.server.conftest import problem

JSON = {"Content-Type": "application/json"}
SCHEMA = '{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}'


@pytest.fixture
async def kinds(store: Store) -> None:
    await store.declare_handlers([HandlerInfo(kind="mail.send", schema=SCHEMA)])


def submission(**members: Any) -> bytes:
    return msgspec.json.encode({"kind": "mail.send", "payload": {"to": "ada"}} | members)


DEEP = b'{"kind":"mail.send","payload":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"}"
LARGE = b'{"kind":"mail.send","payload":{"to":"' + b"x" * 10_485_760 + b'"}}'
TOO_LONG = b'{"kind":"mail.send","payload":{"to":"' + b"x" * 1_100_000 + b'"}}'
MANY = b'{"kind":"mail.send","payload":{"to":[' + b"1," * 120_000 + b"1]}}"

BODIES: list[tuple[str, bytes, str, str | None]] = [
    ("jobs", submission(kidn="mail.send"), "unknown_option", "/kidn"),
    ("jobs", submission(max_attempts="5"), "invalid_input", "/max_attempts"),
    ("jobs", submission(payload=[1]), "invalid_payload", None),
    ("jobs", submission(payload={"to": 7}), "invalid_payload", "/payload/to"),
    ("jobs", submission(payload={}), "invalid_payload", "/payload"),
    ("jobs", submission(backoff={"factr": 2}), "unknown_option", "/backoff"),
    ("jobs", submission(backoff={"factor": "2"}), "invalid_input", "/backoff/..."),
    ("jobs", submission(max_retries=3, max_attempts=3), "invalid_input", "/max_retries"),
    ("jobs", submission(kind="mail.snd"), "unknown_kind", "/kind"),
    ("jobs", submission(job_type="mail.other"), "invalid_input", "/kind"),
    ("jobs", submission(priority="urgent"), "unknown_option", "/priority"),
    ("jobs", submission(due_at="2027-01-01T09:00:00"), "naive_datetime", "/due_at"),
    ("jobs", submission(delay="soon"), "invalid_duration", "/delay"),
    ("jobs", submission(tenant=""), "invalid_input", "/tenant"),
    ("jobs", submission(id="job_x"), "invalid_id", "/id"),
    ("jobs", b"", "invalid_input", "/kind"),
    ("jobs", b"{", "not_json", None),
    ("jobs", b"[]", "invalid_payload", None),
    ("jobs", b'{"kind":"mail.send","kind":"mail.send"}', "invalid_payload", None),
    ("jobs", b'{"kind":"mail.send","payload":{"to":"a","to":"b"}}', "invalid_payload", None),
    ("jobs", b'{"kind":"mail.send","payload":{"to":"\xff\xfe"}}', "not_json", None),
    ("jobs", b'{"kind":"mail.send","payload":{"to":"\\ud800"}}', "not_json", None),
    ("jobs", b'{"kind":"mail.send","payload":{"n":NaN}}', "not_json", None),
    ("jobs", DEEP, "payload_too_deep", None),
    ("jobs", LARGE, "payload_too_large", None),
    ("jobs", TOO_LONG, "payload_too_large", None),
    ("jobs", MANY, "payload_too_large", None),
    ("jobs/batch", b'{"jobs":[' + submission() + b"," + submission(to=1) + b"]}", "unknown_option",
     "/jobs/1/to"),
    ("jobs/batch", b'{"jobs":[' + submission() + b"," + submission(queue="") + b"]}",
     "invalid_input", "/jobs/1/queue"),
    ("jobs/batch", b"{}", "invalid_input", "/jobs"),
    ("jobs/cancel", b'{"ids":["job_x"]}', "invalid_id", "/ids/0"),
    ("jobs/cancel", b'{"ids":"job_x"}', "invalid_input", "/ids"),
    ("jobs/cancel", b'{"ids":[],"reason":7}', "invalid_input", "/reason"),
    ("jobs/replay", b'{"ids":[],"payload":[1]}', "invalid_payload", None),
    ("jobs/purge", b'{"ids":[null]}', "invalid_input", "/ids/0"),
    ("jobs/ends", b'{"ids":[],"wait_ms":60001}', "invalid_input", "/wait_ms"),
    ("jobs/operate", b'{"action":"explode","query":"state:dead"}', "invalid_input", "/action"),
    ("jobs/operate", b'{"action":"cancel","query":"sate:dead"}', "invalid_query", "/query"),
    ("jobs/operate", b'{"action":"cancel","query":" "}', "invalid_input", "/query"),
    ("jobs/operate", b'{"action":"cancel","query":"state:dead","until":"2027-01-01T09:00:00"}',
     "invalid_input", "/until"),
    ("jobs/operate", b'{"action":"cancel","query":"a","rate":0}', "invalid_input", "/rate"),
    ("dead-letters/replay", b'{"all":true,"kind":["a"]}', "invalid_input", "/all"),
    ("dead-letters/replay", b'{"all":true,"limit":0}', "invalid_input", "/limit"),
    ("queues/mail/pause", b'{"reason":"' + b"x" * 2_000 + b'"}', "invalid_input", "/reason"),
    ("queues/no%20name/pause", b"{}", "invalid_input", "/queue"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "body", "code", "pointer"), BODIES, ids=[f"body{n}" for n in range(len(BODIES))]
)
@pytest.mark.usefixtures("kinds")
async def test_bodies(
    front: httpx.AsyncClient, store: Store, path: str, body: bytes, code: str, pointer: str | None
) -> None:
    answer = await front.post(path, content=body, headers=JSON)
    told = problem(answer)
    assert told["code"] == code, told
    assert answer.status_code == BY_CODE[code].http_status
    found = [error["pointer"] for error in told.get("errors", [])]
    assert found == ([] if pointer is None else [pointer]), told
    assert told["hint"]
    assert told["title"]
    # Nothing was changed.
    assert await counts(store) == {}


QUESTIONS: list[tuple[str, str, str | None]] = [
    ("jobs?limits=1", "unknown_option", "?limits"),
    ("jobs?limit=501", "invalid_input", "?limit"),
    ("jobs?limit=1&limit=2", "invalid_input", "?limit"),
    ("jobs?limit=ten", "invalid_input", "?limit"),
    ("jobs?state=daed", "unknown_option", "?state"),
    ("jobs?cursor=nonsense!", "invalid_cursor", "?cursor"),
    ("jobs?cursor=AAAAAAAA", "invalid_cursor", "?cursor"),
    ("jobs?before=job_x", "invalid_id", "?before"),
    ("jobs?created_after=2027-01-01T09:00:00", "invalid_input", "?created_after"),
    ("jobs?q=stat:dead", "invalid_query", "?q"),
    ("jobs?q=state:dead&kind=mail.send", "invalid_input", "?q"),
    ("jobs?q=%ff", "invalid_input", None),
    ("jobs/job_x", "invalid_id", None),
    ("jobs/%ff", "invalid_input", None),
    ("jobs/{missing}", "not_found", None),
    ("jobs/{job}?wait_ms=-1", "invalid_input", "?wait_ms"),
    ("jobs/{job}?wait_ms=99999999999999999999999", "invalid_input", "?wait_ms"),
    ("jobs/{job}/logs?after=1", "invalid_input", "?after"),
    ("jobs/{job}/attempts?limit=1", "invalid_input", None),
    ("failure-groups?trend_buckets=5", "invalid_input", "?trend_from"),
    ("dead-letters/{job}", "not_found", None),
    ("dead-letters?cursor=AAAAAAAAAAAA", "invalid_cursor", "?cursor"),
    ("queues/nowhere", "not_found", None),
    ("workers/wrk_x", "invalid_id", None),
    ("handlers/nothing", "not_found", None),
    ("files", "invalid_input", "?reference"),
    ("files?reference=payload/x", "invalid_input", None),
    ("nothing", "not_found", None),
]


@pytest.mark.parametrize(
    ("path", "code", "pointer"), QUESTIONS, ids=[path for path, _, _ in QUESTIONS]
)
async def test_questions(
    front: httpx.AsyncClient, store: Store, path: str, code: str, pointer: str | None
) -> None:
    job_id = show_job(await submit_one(store))
    path = path.replace("{job}", job_id).replace("{missing}", show_job(new_job_id()))
    told = problem(await front.get(path))
    assert told["code"] == code, told
    assert told["status"] == BY_CODE[code].http_status
    found = [error["pointer"] for error in told.get("errors", [])]
    assert found == ([] if pointer is None else [pointer]), told


async def test_a_cursor_continues_its_own_question_alone(
    front: httpx.AsyncClient, store: Store
) -> None:
    for _ in range(3):
        await submit_one(store)
    cursor = (await front.get("jobs?limit=1&state=ready")).json()["next_cursor"]
    same = await front.get("jobs", params={"state": "ready", "cursor": cursor})
    assert len(same.json()["items"]) == 2
    others: list[dict[str, str]] = [{}, {"state": "dead"}, {"q": "state:ready"}, {"kind": "a"}]
    for other in others:
        told = problem(await front.get("jobs", params={**other, "cursor": cursor}))
        assert (told["code"], told["errors"][0]["pointer"]) == ("invalid_cursor", "?cursor")
    letters = problem(await front.get("dead-letters", params={"cursor": cursor}))
    assert letters["code"] == "invalid_cursor"


@pytest.mark.usefixtures("kinds")
async def test_a_key_with_another_body_is_refused(front: httpx.AsyncClient) -> None:
    headers = JSON | {"Idempotency-Key": '"invoice-7"'}
    assert (await front.post("jobs", content=submission(), headers=headers)).status_code == 201
    headers = JSON | {"Idempotency-Key": "invoice-7"}
    done = await front.post("jobs", content=submission(), headers=headers)
    assert done.status_code == 201
    assert done.headers["idempotency-replayed"] == "true"
    other = submission(payload={"to": "bob"})
    told = problem(await front.post("jobs", content=other, headers=headers))
    assert (told["status"], told["code"]) == (422, "submission_key_reused")
    assert told["details"]["job_id"] == done.json()["id"]
    bad = await front.post(
        "jobs", content=submission(), headers=JSON | {"Idempotency-Key": "k" * 300}
    )
    assert problem(bad)["code"] == "invalid_input"


@pytest.mark.usefixtures("kinds")
@pytest.mark.parametrize(
    "number", ["9007199254740993", "123456789012345678901234567890", "1.10", "1e400", "-0.0"]
)
async def test_numbers_are_kept_digit_for_digit(front: httpx.AsyncClient, number: str) -> None:
    body = f'{{"kind":"mail.send","payload":{{"to":"ada","n":{number}}}}}'
    answer = await front.post("jobs", content=body, headers=JSON)
    if number == "1e400":
        # No reader of JSON agrees on what that is.
        assert problem(answer)["code"] in {"not_json", "invalid_payload"}
        return
    assert answer.status_code == 201, answer.text
    shown = await front.get(f"jobs/{answer.json()['id']}")
    assert f'"n":{number}}}' in shown.text


async def test_other_media_methods_and_too_many_ids(front: httpx.AsyncClient) -> None:
    form = await front.post(
        "jobs", content=b"kind=mail.send", headers={"Content-Type": "text/plain"}
    )
    assert (form.status_code, problem(form)["code"]) == (415, "unsupported_media_type")
    wrong = await front.put("jobs", content=b"{}")
    assert (wrong.status_code, problem(wrong)["code"]) == (405, "method_not_allowed")
    assert wrong.headers["allow"] == "GET, POST"
    ids = [show_job(new_job_id())] * (NAMED_JOBS_MAX + 1)
    many = problem(await front.post("jobs/ends", json={"ids": ids}))
    assert (many["code"], many["errors"][0]["pointer"]) == ("limit_reached", "/ids")


async def test_a_body_that_says_it_is_too_long_is_refused_unread(
    front: httpx.AsyncClient,
) -> None:
    host, port = front.base_url.host, front.base_url.port
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(
        b"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100000000\r\n\r\n"
    )
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 413 ")
    writer.close()
