"""Jobs over REST: lists, single ones, waiting for them, and what is done with them."""

import asyncio
from asyncio import TaskGroup
from datetime import timedelta

import httpx
import msgspec
import pytest

from mainspring.domain.ids import show_job
from mainspring.domain.job import HandlerInfo, JobView
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import Submission
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.testing.builders import log_line
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    SUCCEEDED,
    accept,
    claim,
    make_dead,
    open_worker,
    start,
    submit_one,
)
from tests.loopback import serving
from tests.server.conftest import problem


async def test_a_job_is_returned_with_a_tag_of_what_it_looks_like(
    front: httpx.AsyncClient, store: Store
) -> None:
    job_id = show_job(await submit_one(store))
    found = await front.get(f"jobs/{job_id}")
    assert found.json()["id"] == job_id
    assert found.json()["state"] == "ready"
    tag = found.headers["etag"]
    same = await front.get(f"jobs/{job_id}", headers={"If-None-Match": tag})
    assert (same.status_code, same.content) == (304, b"")
    assert same.headers["etag"] == tag
    await front.post(f"jobs/{job_id}/cancel")
    changed = await front.get(f"jobs/{job_id}", headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag


async def test_an_answer_is_held_back_until_the_job_differs(
    front: httpx.AsyncClient, store: Store
) -> None:
    claimed = await start(store)
    path = f"jobs/{show_job(claimed.job_id)}"
    tag = (await front.get(path)).headers["etag"]
    async with TaskGroup() as group:
        waiting = group.create_task(
            front.get(path, params={"wait_ms": 30_000}, headers={"If-None-Match": tag})
        )
        await accept(store, claimed, SUCCEEDED)
    assert waiting.result().json()["state"] == "succeeded"
    tag = waiting.result().headers["etag"]
    # What has ended does not change any more: nobody waits for it.
    ended = await front.get(path, params={"wait_ms": 30_000}, headers={"If-None-Match": tag})
    assert ended.status_code == 304


async def test_several_jobs_are_waited_for(front: httpx.AsyncClient, store: Store) -> None:
    claimed = await start(store)
    other = show_job(await submit_one(store))
    ids = [show_job(claimed.job_id), other]
    none = await front.post("jobs/ends", json={"ids": ids, "wait_ms": 1})
    assert none.json() == {"ended": []}
    async with TaskGroup() as group:
        waiting = group.create_task(front.post("jobs/ends", json={"ids": ids, "wait_ms": 30_000}))
        await accept(store, claimed, SUCCEEDED)
    assert waiting.result().json() == {"ended": ids[:1]}
    missing = await front.post("jobs/ends", json={"ids": [show_job(new_job_id())]})
    assert problem(missing)["code"] == "not_found"


async def test_pages_lead_to_the_next_one(front: httpx.AsyncClient, store: Store) -> None:
    ids = [show_job(await submit_one(store)) for _ in range(5)]
    found: list[str] = []
    url: str | None = "jobs?limit=2&kind=test.work"
    pages = 0
    while url is not None:
        answer = await front.get(url)
        page = answer.json()
        found += [job["id"] for job in page["items"]]
        pages += 1
        if page["next_cursor"] is None:
            assert "link" not in answer.headers
            url = None
        else:
            assert answer.links["next"]["url"].endswith(page["next_cursor"])
            assert page["next_before"] == found[-1]
            url = str(front.base_url.join(answer.links["next"]["url"]))
    assert found == ids[::-1]
    assert pages == 3


async def test_a_list_comes_whole_as_lines(front: httpx.AsyncClient, store: Store) -> None:
    ids = {show_job(await submit_one(store)) for _ in range(7)}
    lines = {"Accept": "application/x-ndjson"}
    answer = await front.get("jobs", params={"limit": 2}, headers=lines)
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert {msgspec.json.decode(line)["id"] for line in answer.content.splitlines()} == ids
    # What is wrong with a question is told, not streamed.
    refused = await front.get("jobs", params={"q": "state:nonsense"}, headers=lines)
    assert problem(refused)["code"] == "invalid_query"
    codes = await front.get("errors", headers=lines)
    assert b'"code":"not_found"' in codes.content


async def test_exports_go_over_all_pages(
    front: httpx.AsyncClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.server.http.lists.PAGE_ITEMS_MAX", 2)
    job_id = await submit_one(store)
    others = {show_job(await submit_one(store)) for _ in range(4)} | {show_job(job_id)}
    answer = await front.get("jobs", headers={"Accept": "application/x-ndjson"})
    assert {msgspec.json.decode(line)["id"] for line in answer.content.splitlines()} == others


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("state=dead", 1),
        ("state=DEAD,ready", 2),
        ("state=failed", 1),
        ("state=pending", 1),
        ("state=PENDING&state=dead", 2),
        ("state=final", 1),
        ("state=done", 0),
    ],
)
async def test_states_in_everybodys_words(
    front: httpx.AsyncClient, store: Store, words: str, count: int
) -> None:
    await make_dead(store)
    await submit_one(store)
    found = await front.get(f"jobs?{words}")
    assert len(found.json()["items"]) == count, found.json()


async def test_windows_choose_jobs(
    front: httpx.AsyncClient, store: Store, clock: SettableClock
) -> None:
    dead = await make_dead(store)
    ended = clock.now()
    window = {"finished_after": ended.isoformat()}
    assert len((await front.get("jobs", params=window)).json()["items"]) == 1
    window = {"finished_after": (ended + timedelta(seconds=1)).isoformat()}
    assert (await front.get("jobs", params=window)).json()["items"] == []
    below = {"id_before": show_job(dead.job_id)}
    assert (await front.get("jobs", params=below)).json()["items"] == []
    since = {"id_from": show_job(dead.job_id)}
    assert len((await front.get("jobs", params=since)).json()["items"]) == 1


async def test_attempts_and_logs(front: httpx.AsyncClient, store: Store) -> None:
    claimed = await start(store)
    job_id = show_job(claimed.job_id)
    await store.append_logs([log_line(claimed, number) for number in range(1, 4)])
    attempts = (await front.get(f"jobs/{job_id}/attempts")).json()["items"]
    assert [attempt["id"] for attempt in attempts] == [f"{job_id}:1"]
    first = (await front.get(f"jobs/{job_id}/logs", params={"limit": 2})).json()
    assert [line["sequence"] for line in first["items"]] == [1, 2]
    rest = await front.get(f"jobs/{job_id}/logs", params={"cursor": first["next_cursor"]})
    assert [line["sequence"] for line in rest.json()["items"]] == [3]
    behind = await front.get(f"jobs/{job_id}/logs", params={"after": "1:2"})
    assert behind.json() == rest.json()
    missing = show_job(new_job_id())
    for part in ("attempts", "logs"):
        assert problem(await front.get(f"jobs/{missing}/{part}"))["code"] == "not_found"


async def test_failures_are_grouped_with_a_trend(
    front: httpx.AsyncClient, store: Store, clock: SettableClock
) -> None:
    await make_dead(store)
    begins = clock.now() - timedelta(hours=1)
    trend = {
        "trend_from": begins.isoformat(),
        "trend_bucket_ms": "3600000",
        "trend_buckets": "2",
    }
    (group,) = (await front.get("failure-groups", params=trend)).json()["items"]
    assert (group["jobs"], group["trend"]) == (1, [0, 1])
    listed = await front.get("jobs", params={"group": group["group"]})
    assert len(listed.json()["items"]) == 1
    half = await front.get("failure-groups", params={"trend_buckets": 2})
    assert problem(half)["errors"][0]["pointer"] == "?trend_from"


async def test_counts_by_state(front: httpx.AsyncClient, store: Store) -> None:
    await make_dead(store)
    await submit_one(store)
    counts = (await front.get("jobs/counts")).json()
    assert (counts["dead"], counts["ready"]) == (1, 1)


async def test_cancelling_says_what_became_of_it(front: httpx.AsyncClient, store: Store) -> None:
    waiting = show_job(await submit_one(store))
    done = await front.post(f"jobs/{waiting}/cancel", json={"reason": "a slip"})
    assert (done.status_code, done.json()["state"]) == (200, "cancelled")
    again = await front.post(f"jobs/{waiting}/cancel")
    assert again.json() == {"id": waiting, "changed": False, "state": "cancelled"}
    running = show_job((await start(store)).job_id)
    asked = await front.post(f"jobs/{running}/cancel", json={})
    assert (asked.status_code, asked.json()["state"]) == (202, "cancelling")
    missing = show_job(new_job_id())
    assert problem(await front.post(f"jobs/{missing}/cancel"))["code"] == "not_found"
    many = await front.post("jobs/cancel", json={"ids": [running, missing], "force": True})
    assert [item["state"] for item in many.json()["items"]] == ["cancelled", None]


async def test_retrying_runs_what_waits_and_brings_back_what_is_dead(
    front: httpx.AsyncClient, store: Store, desk: FrontDesk
) -> None:
    dead = show_job((await make_dead(store)).job_id)
    later = Submission(kind="test.work", delay_ms=60_000, kind_is_known=True)
    scheduled = show_job((await desk.submit([later]))[0].job_id)
    for job_id in (dead, scheduled):
        done = await front.post(f"jobs/{job_id}/retry")
        assert done.json() == {"id": job_id, "changed": True, "state": "ready"}
    for claimed in await claim(store, await open_worker(store)):
        await accept(store, claimed, SUCCEEDED)
    refused = problem(await front.post(f"jobs/{dead}/retry"))
    assert (refused["code"], refused["details"]) == ("conflict", {"state": "succeeded"})
    assert (await front.post("jobs/retry", json={"ids": [dead]})).json() == {"changed": []}


async def test_dead_letters_tell_what_was_to_be_done_and_why_it_was_not(
    front: httpx.AsyncClient, store: Store
) -> None:
    claimed = await make_dead(store)
    job_id = show_job(claimed.job_id)
    (listed,) = (await front.get("dead-letters")).json()["items"]
    letter = (await front.get(f"dead-letters/{job_id}")).json()
    assert letter.items() >= listed.items()
    assert letter["original_job_id"] == job_id
    assert letter["job_type"] == "test.work"
    assert letter["original_payload"] == msgspec.json.decode(claimed.payload)
    assert letter["failure_reason"]
    assert letter["failed_at"]
    assert [attempt["state"] for attempt in letter["attempt_history"]] == ["failed"]
    found = await front.get("dead-letters", params={"q": "kind:test.*"})
    assert found.json()["items"] == [listed]
    replayed = await front.post(
        f"dead-letters/{job_id}/replay",
        content=b'{"payload":{"n":12345678901234567890.10}}',
        headers={"Content-Type": "application/json"},
    )
    assert replayed.json() == {"id": job_id, "changed": True, "state": "ready"}
    # Digit for digit.
    assert b'{"n":12345678901234567890.10}' in (await front.get(f"jobs/{job_id}")).content
    gone = problem(await front.get(f"dead-letters/{job_id}"))
    assert (gone["code"], gone["details"]) == ("not_found", {"state": "ready"})
    assert problem(await front.post(f"jobs/{job_id}/replay"))["code"] == "conflict"


async def test_dead_letters_come_back_by_what_they_are(
    front: httpx.AsyncClient, store: Store
) -> None:
    ids = [show_job((await make_dead(store)).job_id) for _ in range(2)]
    assert problem(await front.post("dead-letters/replay"))["errors"][0]["pointer"] == "/all"
    dry = await front.post("dead-letters/replay", json={"kind": ["test.work"], "dry_run": True})
    assert dry.json() == {"matched": 2, "changed": []}
    done = await front.post("dead-letters/replay", json={"all": True, "limit": 1})
    assert done.json() == {"matched": 1, "changed": ids[:1]}
    deleted = await front.delete(f"dead-letters/{ids[1]}")
    assert deleted.json() == {"purged": 1}
    assert problem(await front.get(f"jobs/{ids[1]}"))["code"] == "not_found"


async def test_a_search_is_operated_on_as_it_was_previewed(
    front: httpx.AsyncClient, store: Store, clock: SettableClock
) -> None:
    first = show_job(await submit_one(store))
    body = {"action": "cancel", "query": "kind:test.work", "reason": "a slip"}
    seen = (await front.post("jobs/operate", json=body | {"dry_run": True})).json()
    assert (seen["matched"], seen["changed"], seen["states"]) == (1, [], {"ready": 1})
    assert [job["id"] for job in seen["sample"]] == [first]
    clock.advance(5)
    await submit_one(store)
    done = (await front.post("jobs/operate", json=body | {"until": seen["until"]})).json()
    assert done["changed"] == [first]


async def test_queues_workers_and_handlers(front: httpx.AsyncClient, store: Store) -> None:
    await submit_one(store)
    worker = await open_worker(store)
    await store.declare_handlers([HandlerInfo(kind="mail.send", queue="mail", doc="Send.")])
    (queue,) = (await front.get("queues")).json()["items"]
    assert (queue["name"], queue["ready"], queue["paused"]) == ("default", 1, False)
    assert (await front.get("queues/mail")).json()["ready"] == 0
    assert problem(await front.get("queues/mial"))["hint"] == "did you mean mail?"
    paused = await front.post("queues/default/pause", json={"reason": "a flood"})
    assert paused.json() == {"name": "default", "paused": True, "changed": True}
    assert (await front.get("queues/default")).json()["paused_reason"] == "a flood"
    resumed = await front.post("queues/default/resume")
    assert resumed.json() == {"name": "default", "paused": False, "changed": True}

    (session,) = (await front.get("workers")).json()["items"]
    assert (await front.get(f"workers/{session['id']}")).json() == session
    drained = await front.post(f"workers/{session['id']}/drain")
    assert drained.json()["id"] == session["id"]
    assert (await store.beat(worker)).drain
    missing = session["id"][:-4] + "0000"
    assert problem(await front.post(f"workers/{missing}/drain"))["code"] == "not_found"

    (handler,) = (await front.get("handlers")).json()["items"]
    assert (handler["kind"], handler["priority"], handler["schema"]) == ("mail.send", "normal", {})
    assert (await front.get("handlers/mail.send")).json() == handler
    assert (await front.get("handlers/mail.send/schema")).json() == {}
    assert problem(await front.get("handlers/mail.sned"))["hint"] == "did you mean mail.send?"


async def test_files_come_as_they_were_saved(front: httpx.AsyncClient, desk: FrontDesk) -> None:
    assert desk._blobs is not None
    reference = await desk._blobs.put("files/default/2026-01-01/job_x:1/abc-a.bin", b"\0\xff")
    answer = await front.get("files", params={"reference": reference})
    assert (answer.content, answer.headers["content-type"]) == (
        b"\0\xff",
        "application/octet-stream",
    )
    assert problem(await front.get("files", params={"reference": "x"}))["code"] == "invalid_input"
    assert problem(await front.get("files"))["errors"][0]["pointer"] == "?reference"


async def test_the_server_says_what_it_is(front: httpx.AsyncClient, clock: SettableClock) -> None:
    about = (await front.get("server")).json()
    assert about["now"] == clock.now().isoformat().replace("+00:00", "Z")
    assert about["limits"]["payload_bytes_max"] == 1_048_576
    assert (about["principal"], about["tenant"], about["grpc"]) == ("anonymous", None, None)
    assert "jobs.read" in about["rights"]
    for path in ("livez", "readyz"):
        assert (await front.get(str(front.base_url.join(f"/{path}")))).status_code == 200


async def test_codes_are_explained_where_problems_point(front: httpx.AsyncClient) -> None:
    told = problem(await front.get("jobs/job_x"))
    meaning = (await front.get(str(front.base_url.join(told["type"])))).json()
    assert (meaning["code"], meaning["http_status"]) == (told["code"], told["status"])
    assert meaning["meaning"] == told["title"]
    assert problem(await front.get("errors/nonsense"))["code"] == "not_found"
    listed = (await front.get("errors")).json()["items"]
    assert meaning in listed


async def test_who_waits_is_told_when_the_server_stops(
    desk: FrontDesk, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asyncio.Event()
    real = desk.wait_for_change

    async def noticed(job_id: bytes, seen: JobView | None, seconds: float) -> JobView:
        asked.set()
        return await real(job_id, seen, seconds)

    monkeypatch.setattr(desk, "wait_for_change", noticed)
    job_id = show_job(await submit_one(store))
    async with (
        httpx.AsyncClient(trust_env=False, timeout=30) as client,
        TaskGroup() as group,
        serving(desk) as url,
    ):
        path = f"{url}/api/v1/jobs/{job_id}"
        tag = (await client.get(path)).headers["etag"]
        waiting = group.create_task(
            client.get(path, params={"wait_ms": 60_000}, headers={"If-None-Match": tag})
        )
        await asked.wait()
    told = problem(waiting.result())
    assert (told["status"], told["code"]) == (503, "server_unreachable")
