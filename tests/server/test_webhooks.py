"""Endpoints of webhooks over REST: what a plain client of HTTP sees."""

from typing import Any

import httpx
import msgspec
import pytest

from mainspring.domain.ids import SCHEDULE, WEBHOOK, show, show_job
from mainspring.domain.webhooks import KIND, QUEUE
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.testing.builders import lanes
from mainspring.testing.conformance.steps import (
    SUCCEEDED,
    accept,
    claim,
    open_worker,
    submit_one,
)
from tests.server.conftest import problem

URL = "https://example.org/hooks"
PAGER = {"url": URL, "events": ["job.dead"]}


async def test_a_secret_is_shown_to_whoever_has_it_made_and_never_again(
    front: httpx.AsyncClient,
) -> None:
    job, schedule = show_job(new_job_id()), show(SCHEDULE, new_job_id())
    more = {"job": job, "schedule": schedule, "kinds": ["a.b"], "queues": ["mail"]}
    made = await front.post("webhooks", json={**PAGER, **more, "description": "ops"})
    found = made.json()
    assert made.status_code == 201
    path = f"webhooks/{found['id']}"
    assert made.headers["location"] == f"/api/v1/{path}"
    secret = found.pop("secret")
    assert secret.startswith("whsec_")
    assert {name: found[name] for name in more} == more
    assert (found["state"], found["version"], found["tenant"]) == ("active", 1, "default")
    looked = await front.get(path)
    assert looked.json() == found
    listed = await front.get("webhooks")
    assert listed.json()["items"] == [found]
    assert secret not in looked.text + listed.text


async def test_an_endpoint_is_made_once_under_its_key(front: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "pager"}
    first = (await front.post("webhooks", json=PAGER, headers=headers)).json()
    again = await front.post("webhooks", json=PAGER, headers=headers)
    assert (again.status_code, again.json()) == (201, first)
    other = await front.post("webhooks", json={**PAGER, "kinds": ["a"]}, headers=headers)
    assert problem(other)["code"] == "submission_key_reused"
    await front.patch(f"webhooks/{first['id']}", json={"description": "the pager"})
    late = await front.post("webhooks", json=PAGER, headers=headers)
    assert problem(late)["code"] == "conflict"
    assert first["secret"] not in late.text


async def test_a_change_is_for_the_version_that_was_seen(front: httpx.AsyncClient) -> None:
    made = await front.post("webhooks", json={**PAGER, "kinds": ["a"]})
    path = f"webhooks/{made.json()['id']}"
    tag = (await front.get(path)).headers["etag"]
    same = await front.get(path, headers={"If-None-Match": tag})
    assert (same.status_code, same.content) == (304, b"")
    wanted = {"events": ["job.succeeded"], "kinds": None, "description": "new"}
    edited = await front.patch(path, json=wanted, headers={"If-Match": tag})
    found = edited.json()
    assert (found["version"], found["events"], found["kinds"]) == (2, ["job.succeeded"], [])
    assert (found["description"], found["url"]) == ("new", URL)
    # The same again, as after a lost answer, is as it should be; another change is too late.
    assert (await front.patch(path, json=wanted, headers={"If-Match": tag})).json() == found
    for late in (
        await front.patch(path, json={"description": "x"}, headers={"If-Match": tag}),
        await front.patch(path, json={"description": "x"}, headers={"If-Match": '"1", "7"'}),
        await front.post(f"{path}/rotate-secret", headers={"If-Match": tag}),
        await front.delete(path, headers={"If-Match": tag}),
    ):
        assert (late.status_code, problem(late)["code"]) == (412, "changed")
    assert (await front.get(path)).json() == found
    gone = await front.delete(path, headers={"If-Match": edited.headers["etag"]})
    assert gone.json() == {"id": found["id"], "changed": True}
    assert problem(await front.get(path))["code"] == "not_found"


async def test_a_secret_is_replaced(front: httpx.AsyncClient, store: Store) -> None:
    made = (await front.post("webhooks", json=PAGER)).json()
    path = f"webhooks/{made['id']}"
    rotated = await front.post(f"{path}/rotate-secret", json={"keep_seconds": 60})
    assert (rotated.status_code, rotated.json()["version"]) == (201, 2)
    view = (await store.list_webhooks(None, limit=1))[0]
    recipient = await store.get_recipient(view.id)
    assert recipient is not None
    values = [secret.value for secret in recipient.secrets]
    assert values == [rotated.json()["secret"], made["secret"]]
    refused = await front.post(f"{path}/rotate-secret", json={"keep_seconds": -1})
    assert problem(refused)["errors"][0]["pointer"] == "/keep_seconds"


async def test_an_endpoint_is_disabled_and_enabled(front: httpx.AsyncClient) -> None:
    path = f"webhooks/{(await front.post('webhooks', json=PAGER)).json()['id']}"
    for verb, changed, state in (
        ("disable", True, "disabled"),
        ("disable", False, "disabled"),
        ("enable", True, "active"),
        ("enable", False, "active"),
    ):
        said = (await front.post(f"{path}/{verb}")).json()
        assert (said["changed"], said["state"]) == (changed, state)
    await front.post(f"{path}/disable", json={"reason": "it moves"})
    assert (await front.get(path)).json()["reason"] == "it moves"


async def test_deliveries_are_tested_listed_and_sent_again(
    front: httpx.AsyncClient, store: Store
) -> None:
    path = f"webhooks/{(await front.post('webhooks', json=PAGER)).json()['id']}"
    sent = [await front.post(f"{path}/test") for _ in range(3)]
    ids = [answer.json()["id"] for answer in sent]
    assert [answer.status_code for answer in sent] == [202] * 3
    assert sent[0].headers["location"] == f"/api/v1/jobs/{ids[0]}"
    first = (await front.get(f"{path}/deliveries", params={"limit": 2})).json()
    assert [job["id"] for job in first["items"]] == [ids[2], ids[1]]
    query: dict[str, Any] = {"limit": 2, "cursor": first["next_cursor"]}
    rest = (await front.get(f"{path}/deliveries", params=query)).json()
    assert [job["id"] for job in rest["items"]] == [ids[0]]
    lines = await front.get(f"{path}/deliveries", headers={"Accept": "application/x-ndjson"})
    assert [msgspec.json.decode(line)["id"] for line in lines.content.splitlines()] == ids[::-1]
    early = await front.post(f"deliveries/{ids[0]}/redeliver")
    assert (early.status_code, problem(early)["code"]) == (409, "conflict")
    worker = await open_worker(store, queues={QUEUE: 1}, kinds=(KIND,))
    (claimed,) = await claim(store, worker, kinds=(KIND,), lanes=lanes({QUEUE: 1}))
    await accept(store, claimed, SUCCEEDED)
    again = await front.post(f"deliveries/{show_job(claimed.job_id)}/redeliver")
    assert (again.status_code, again.json()["kind"]) == (202, KIND)
    assert again.json()["id"] not in ids


async def test_lists_come_page_by_page(front: httpx.AsyncClient) -> None:
    made = [(await front.post("webhooks", json=PAGER)).json()["id"] for _ in range(3)]
    first = (await front.get("webhooks", params={"limit": 2})).json()
    query: dict[str, Any] = {"limit": 2, "cursor": first["next_cursor"]}
    rest = (await front.get("webhooks", params=query)).json()
    assert [each["id"] for each in first["items"] + rest["items"]] == made
    behind = (await front.get("webhooks", params={"after": made[0]})).json()["items"]
    assert [each["id"] for each in behind] == made[1:]
    other = {"cursor": first["next_cursor"], "tenant": "acme"}
    assert problem(await front.get("webhooks", params=other))["code"] == "invalid_cursor"


@pytest.mark.parametrize(
    ("changes", "code", "pointer"),
    [
        ({"url": "ftp://example.org"}, "invalid_input", "/url"),
        ({"url": "http://127.0.0.1/"}, "invalid_input", "/url"),
        ({"url": 7}, "invalid_input", "/url"),
        ({"events": []}, "invalid_input", "/events"),
        ({"events": "job.dead"}, "invalid_input", "/events"),
        ({"events": ["webhook.test"]}, "invalid_input", "/events"),
        ({"kinds": ["no good"]}, "invalid_input", "/kinds"),
        ({"queues": ["q"] * 101}, "invalid_input", "/queues"),
        ({"description": "x" * 1_001}, "invalid_input", "/description"),
        ({"job": "sch_1"}, "invalid_id", "/job"),
        ({"schedule": "nightly"}, "invalid_id", "/schedule"),
        ({"tenant": "a b"}, "invalid_input", "/tenant"),
        ({"secret": "whsec_mine"}, "unknown_option", "/secret"),
    ],
)
async def test_bad_input_is_pointed_at_and_makes_nothing(
    front: httpx.AsyncClient, changes: dict[str, Any], code: str, pointer: str
) -> None:
    refused = problem(await front.post("webhooks", json={**PAGER, **changes}))
    assert (refused["status"], refused["code"]) == (422, code)
    assert [each["pointer"] for each in refused["errors"]] == [pointer]
    assert (await front.get("webhooks")).json()["items"] == []


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"url": None}, "/url"),
        ({"events": None}, "/events"),
        ({"url": "http://10.0.0.1"}, "/url"),
        ({"job": "job_1"}, "/job"),
    ],
)
async def test_a_bad_change_changes_nothing(
    front: httpx.AsyncClient, changes: dict[str, Any], pointer: str
) -> None:
    made = (await front.post("webhooks", json=PAGER)).json()
    refused = problem(await front.patch(f"webhooks/{made['id']}", json=changes))
    assert [each["pointer"] for each in refused["errors"]] == [pointer]
    assert (await front.get(f"webhooks/{made['id']}")).json()["version"] == 1


async def test_what_is_not_there_is_not_found(front: httpx.AsyncClient, store: Store) -> None:
    nobodys = f"webhooks/{show(WEBHOOK, new_job_id())}"
    plain_job = show_job(await submit_one(store))
    answers = [
        await front.get(nobodys),
        await front.patch(nobodys, json={}),
        await front.delete(nobodys),
        await front.get(f"{nobodys}/deliveries"),
        *[
            await front.post(f"{nobodys}/{verb}")
            for verb in ("rotate-secret", "disable", "enable", "test")
        ],
        await front.post(f"deliveries/{show_job(new_job_id())}/redeliver"),
        await front.post(f"deliveries/{plain_job}/redeliver"),
    ]
    assert [problem(answer)["code"] for answer in answers] == ["not_found"] * len(answers)
    assert problem(await front.get("webhooks/whk_1"))["code"] == "invalid_id"
    for query, pointer in (("after=job_1", "?after"), ("limit=0", "?limit")):
        refused = problem(await front.get(f"webhooks?{query}"))
        assert [each["pointer"] for each in refused["errors"]] == [pointer]
