"""Schedules and calendars over REST: what a plain client of HTTP sees."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest

from mainspring.domain.ids import created_at, parse_job
from mainspring.domain.job import HandlerInfo
from mainspring.ports.store import Store
from mainspring.testing.clock import SettableClock
from tests.server.conftest import problem

NIGHTLY = {"name": "nightly", "kind": "report", "when": "0 2 * * *"}
NAIVE = "2030-01-01T00:00:00"
OFTEN = {"name": "often", "kind": "report", "when": "*/5 * * * *", "overlap": "allow"}


@pytest.fixture(autouse=True)
async def kinds(store: Store) -> None:
    schema = '{"type":"object","properties":{"day":{"type":"integer"}}}'
    await store.declare_handlers([HandlerInfo(kind="report", schema=schema)])


async def test_a_schedule_is_made_and_says_what_it_means(front: httpx.AsyncClient) -> None:
    made = await front.post("/schedules", json={**NIGHTLY, "zone": "Europe/Berlin"})
    found = made.json()
    assert made.status_code == 201
    assert made.headers["location"] == f"/api/v1/schedules/{found['id']}"
    assert found["sentence"] == "at 02:00 every day, Berlin time"
    assert (found["state"], found["version"]) == ("active", 1)
    assert found["next_at"] == found["upcoming"][0]["due_at"]
    assert len(found["upcoming"]) == 5
    by_name = await front.get("/schedules/nightly")
    assert by_name.json() == found
    plain = (await front.get("/schedules/nightly", params={"include": ""})).json()
    assert plain["sentence"] is None


async def test_the_same_key_names_the_same_schedule(
    front: httpx.AsyncClient, clock: SettableClock
) -> None:
    async def make(key: str, **changes: Any) -> httpx.Response:
        headers = {"Idempotency-Key": key}
        return await front.post("/schedules", json={**NIGHTLY, **changes}, headers=headers)

    first = (await make("k")).json()["id"]
    await front.patch("/schedules/nightly", json={"note": "changed since"})
    clock.advance(timedelta(hours=23))
    again = await make('"k"')
    assert (again.json()["id"], again.headers["idempotency-replayed"]) == (first, "true")
    assert problem(await make("k", when="0 3 * * *"))["code"] == "submission_key_reused"
    assert problem(await make("k", name="other"))["code"] == "submission_key_reused"
    assert problem(await make("l"))["code"] == "schedule_exists"
    assert len((await front.get("/schedules")).json()["items"]) == 1


async def test_the_same_key_fires_once_and_backfills_once(
    front: httpx.AsyncClient, clock: SettableClock
) -> None:
    await front.post("/schedules", json=OFTEN)
    headers = {"Idempotency-Key": "k"}
    fired = [
        (await front.post("/schedules/often/fire", headers=headers)).json()["job_id"]
        for _ in range(2)
    ]
    assert fired[0] == fired[1]
    # Ids stay in the order of time, under a key as well.
    assert abs(created_at(parse_job(fired[0])) - clock.now()) < timedelta(seconds=1)
    assert (await front.post("/schedules/often/fire")).json()["job_id"] != fired[0]
    now = clock.now()
    wanted = {
        "from_at": (now - timedelta(hours=2)).isoformat(),
        "until_at": (now - timedelta(hours=1)).isoformat(),
    }
    first = (await front.post("/schedules/often/backfills", json=wanted, headers=headers)).json()
    again = (await front.post("/schedules/often/backfills", json=wanted, headers=headers)).json()
    assert first["id"] == again["id"]
    assert first["fires"] == again["fires"] > 0
    other = {**wanted, "order": "newest"}
    refused = await front.post("/schedules/often/backfills", json=other, headers=headers)
    assert problem(refused)["code"] == "submission_key_reused"


async def test_an_edit_is_for_the_version_that_was_seen(front: httpx.AsyncClient) -> None:
    made = await front.post("/schedules", json={**NIGHTLY, "payload": {"day": 3}})
    tag = made.headers["etag"]
    same = await front.get("/schedules/nightly", headers={"If-None-Match": tag})
    assert (same.status_code, same.content) == (304, b"")
    patched = await front.patch(
        "/schedules/nightly", json={"overlap": "allow"}, headers={"If-Match": tag}
    )
    assert (patched.status_code, patched.json()["version"]) == (200, 2)
    for method, body in (("PATCH", {"note": "x"}), ("PUT", NIGHTLY), ("DELETE", None)):
        late = await front.request(
            method, "/schedules/nightly", json=body, headers={"If-Match": tag}
        )
        found = problem(late)
        assert (late.status_code, found["code"]) == (412, "changed")
        assert found["details"]["version"] == 2
    put = await front.put(
        "/schedules/nightly", json=NIGHTLY, headers={"If-Match": patched.headers["etag"]}
    )
    assert (put.json()["overlap"], put.json()["payload"]) == ("defer", {})
    assert (await front.delete("/schedules/nightly", headers={"If-Match": "*"})).is_success


async def test_a_patch_is_merged_digit_for_digit_and_null_is_the_usual(
    front: httpx.AsyncClient,
) -> None:
    text = b'{"name":"exact","kind":"report","when":"@daily","payload":{"a":1.10,"b":{"c":1}}}'
    await front.post("/schedules", content=text)
    await front.patch("/schedules/exact", json={"misfire": "skip", "max_attempts": 9})
    answer = await front.patch(
        "/schedules/exact",
        json={"payload": {"b": {"c": None, "d": 2}}, "misfire": None, "max_attempts": None},
    )
    assert b'"payload":{"a":1.10,"b":{"d":2}}' in answer.content
    assert (answer.json()["misfire"], answer.json()["max_attempts"]) == ("fire_once", 5)


async def test_a_pause_and_its_end_say_whether_they_changed_anything(
    front: httpx.AsyncClient, clock: SettableClock
) -> None:
    await front.post("/schedules", json=NIGHTLY)
    until = (clock.now() + timedelta(hours=3)).isoformat()
    body = {"reason": "audit", "until": until}
    for changed in (True, False):
        found = (await front.post("/schedules/nightly/pause", json=body)).json()
        assert (found["changed"], found["state"]) == (changed, "paused")
    listed = (await front.get("/schedules?state=PAUSED&include=next")).json()["items"]
    assert [each["paused_reason"] for each in listed] == ["audit"]
    assert listed[0]["next_at"] is None
    assert (await front.post("/schedules/nightly/resume")).json()["state"] == "active"
    assert (await front.get("/schedules?state=disabled")).json()["items"] == []


async def test_lists_lead_on_page_by_page(front: httpx.AsyncClient, clock: SettableClock) -> None:
    for number in range(5):
        await front.post("/schedules", json={**OFTEN, "name": f"s{number}"})
    names: list[str] = []
    params: dict[str, str | int] = {"limit": 2}
    while True:
        page = (await front.get("/schedules", params=params)).json()
        names += [each["name"] for each in page["items"]]
        if page["next_cursor"] is None:
            break
        params["cursor"] = page["next_cursor"]
    assert names == [f"s{number}" for number in range(5)]
    other = await front.get("/schedules", params={**params, "owner": "ada"})
    assert problem(other)["code"] == "invalid_cursor"


@pytest.mark.parametrize("order", ["newest", "oldest"])
async def test_the_ledger_comes_page_by_page_without_a_gap_or_a_double(
    front: httpx.AsyncClient, clock: SettableClock, order: str
) -> None:
    await front.post("/schedules", json={**OFTEN, "misfire": "fire_all"})
    clock.advance(timedelta(hours=3))
    for _ in range(2):
        await front.post("/schedules/often/fire")
    await front.post("/schedules/often/skip-next", json={"count": 3})
    path = "/schedules/often/history"
    whole = (await front.get(path, params={"limit": 500, "order": order})).json()["items"]
    assert len(whole) > 30
    for limit in (1, 7):
        found: list[Any] = []
        cursor: dict[str, str] = {}
        while True:
            params = {"limit": str(limit), "order": order, **cursor}
            page = (await front.get(path, params=params)).json()
            found += page["items"]
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
        assert found == whole
    lines = await front.get(
        path, params={"order": order}, headers={"Accept": "application/x-ndjson"}
    )
    assert len(lines.text.splitlines()) == len(whole)


async def test_what_became_of_fires_is_audited_and_versions_are_kept(
    front: httpx.AsyncClient, clock: SettableClock
) -> None:
    await front.post("/schedules", json={**OFTEN, "misfire": "fire_all"})
    clock.advance(timedelta(hours=1))
    await front.patch("/schedules/often", json={"note": "second"})
    found = (await front.get("/schedules/often/audit")).json()
    assert (found["is_clean"], found["expected"], found["accounted"]) == (True, 12, 12)
    assert found["schedule"] is None
    versions = (await front.get("/schedules/often/versions")).json()["items"]
    assert [(each["version"], each["note"]) for each in versions] == [(1, ""), (2, "second")]


async def test_backfills_are_looked_at_and_taken_back(
    front: httpx.AsyncClient, clock: SettableClock
) -> None:
    await front.post("/schedules", json=OFTEN)
    now = clock.now()
    wanted = {"from_at": (now - timedelta(hours=1)).isoformat(), "until_at": now.isoformat()}
    path = "/schedules/often/backfills"
    foreseen = await front.post(path, json=wanted, params={"dry_run": "true"})
    assert (foreseen.status_code, foreseen.json()["id"]) == (200, None)
    begun = await front.post(path, json=wanted)
    assert begun.status_code == 201
    one = begun.headers["location"].removeprefix("/api/v1")
    assert (await front.get(one)).json()["state"] == "active"
    assert [(await front.delete(one)).json()["changed"] for _ in range(2)] == [True, False]
    assert (await front.get(path)).json()["items"][0]["state"] == "cancelled"
    nowhere = f"{path}/bfl_01JD3M0V5T7QK4C8R2N6W9XYZA"
    assert problem(await front.get(nowhere))["code"] == "not_found"


async def test_sets_are_applied_whole_and_errors_name_the_one_that_is_wrong(
    front: httpx.AsyncClient,
) -> None:
    body: dict[str, Any] = {
        "owner": "shop",
        "schedules": [NIGHTLY, {**OFTEN, "calendars": ["holidays"]}],
        "calendars": [{"name": "holidays", "entries": ["12-25"]}],
    }
    plan = await front.post("/schedules/apply", json=body, params={"dry_run": "true"})
    assert [step["action"] for step in plan.json()["items"]] == ["create"] * 3
    assert (await front.get("/schedules")).json()["items"] == []
    await front.post("/schedules/apply", json=body)
    again = await front.post("/schedules/apply", json=body)
    assert {step["action"] for step in again.json()["items"]} == {"none"}
    body["schedules"][1] = {**OFTEN, "when": "99 * * * *"}
    found = problem(await front.post("/schedules/apply", json=body))
    assert found["errors"][0]["pointer"] == "/schedules/1/when"


async def test_a_preview_is_no_schedule_and_its_word_may_be_a_name(
    front: httpx.AsyncClient,
) -> None:
    body = {**NIGHTLY, "name": "preview"}
    seen = await front.post("/schedules/preview", json=body, params={"count": 2})
    assert len(seen.json()["upcoming"]) == 2
    assert (await front.get("/schedules/preview")).status_code == 404
    await front.post("/schedules", json=body)
    assert (await front.get("/schedules/preview")).json()["name"] == "preview"
    assert (await front.get("/schedules/preview/next?count=3")).json()["sentence"]


async def test_calendars_are_written_and_removed_by_their_version(
    front: httpx.AsyncClient,
) -> None:
    written = await front.put("/calendars/holidays", json={"entries": ["12-25"]})
    assert written.json() == {"name": "holidays", "tenant": "default", "schedules": 0}
    await front.post("/schedules", json={**NIGHTLY, "calendars": ["holidays"]})
    found = await front.get("/calendars/holidays")
    assert found.json()["schedules"] == ["nightly"]
    tag = found.headers["etag"]
    same = await front.get("/calendars/holidays", headers={"If-None-Match": tag})
    assert same.status_code == 304
    body = {"entries": ["12-25", "12-26"]}
    changed = await front.put("/calendars/holidays", json=body, headers={"If-Match": tag})
    assert changed.json()["schedules"] == 1
    late = await front.put("/calendars/holidays", json=body, headers={"If-Match": tag})
    assert (late.status_code, problem(late)["code"]) == (412, "changed")
    assert problem(await front.delete("/calendars/holidays"))["code"] == "conflict"
    await front.delete("/schedules/nightly")
    assert (await front.delete("/calendars/holidays")).status_code == 204
    gone = await front.delete("/calendars/holidays", headers={"If-Match": tag})
    assert gone.status_code == 412
    assert (await front.get("/calendars")).json() == {"items": [], "next_cursor": None}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code", "pointer"),
    [
        ("POST", "/schedules", {**NIGHTLY, "when": "61 * * * *"}, 422, "invalid_schedule", "/when"),
        ("POST", "/schedules", {**NIGHTLY, "when": 5}, 422, "invalid_input", "/when"),
        ("POST", "/schedules", {"name": "x"}, 422, "invalid_input", "/kind"),
        ("POST", "/schedules", {**NIGHTLY, "zonne": "x"}, 422, "unknown_option", "/zonne"),
        ("POST", "/schedules", {**NIGHTLY, "kind": "k"}, 422, "unknown_kind", "/kind"),
        (
            *("POST", "/schedules", {**NIGHTLY, "payload": {"day": "x"}}),
            *(422, "invalid_payload", "/payload/day"),
        ),
        ("POST", "/schedules", {**NIGHTLY, "payload": [1]}, 422, "invalid_payload", None),
        ("POST", "/schedules", {**NIGHTLY, "max_crashes": 0}, 422, "invalid_input", "/max_crashes"),
        ("POST", "/schedules", {**NIGHTLY, "overlap": "odd"}, 422, "invalid_schedule", "/overlap"),
        ("POST", "/schedules", {**NIGHTLY, "ends_at": "soon"}, 422, "invalid_input", "/ends_at"),
        ("POST", "/schedules", {**NIGHTLY, "name": "a b"}, 422, "invalid_input", "/name"),
        ("PATCH", "/schedules/nightly", {"kind": None}, 422, "invalid_input", "/kind"),
        ("PATCH", "/schedules/nightly", {"name": "n"}, 422, "unknown_option", "/name"),
        ("PATCH", "/schedules/none", {"note": "n"}, 404, "not_found", None),
        ("POST", "/schedules/nightly/skip-next", {"count": 61}, 422, "invalid_input", "/count"),
        (
            *("POST", "/schedules/nightly/pause", {"until": NAIVE}),
            *(422, "naive_datetime", "/until"),
        ),
        ("GET", "/schedules?limit=501", None, 422, "invalid_input", "?limit"),
        ("GET", "/schedules?state=odd", None, 422, "unknown_option", "?state"),
        ("GET", "/schedules?after=job_1", None, 422, "invalid_id", None),
        ("GET", "/schedules/nightly/history?order=odd", None, 422, "invalid_input", "?order"),
        ("GET", f"/schedules/nightly/history?after={NAIVE}", None, 422, "invalid_input", "?after"),
        ("GET", "/schedules/nightly/history?cursor=AAAA", None, 422, "invalid_cursor", "?cursor"),
        ("GET", "/schedules/nightly/next?count=0", None, 422, "invalid_input", "?count"),
        ("GET", "/schedules/nightly/runs?status=odd", None, 422, "unknown_option", "?status"),
        ("GET", "/jobs/sch_1/runs", None, 422, "invalid_id", None),
        ("DELETE", "/backfills/bfl_1", None, 422, "invalid_id", None),
        ("PUT", "/calendars/c", {"entries": ["2027-13-01"]}, 422, "invalid_schedule", "/entries/0"),
        ("PUT", "/calendars/c", {"name": "d", "entries": ["SUN"]}, 422, "invalid_input", "/name"),
        ("DELETE", "/schedules", None, 405, "method_not_allowed", None),
    ],
)  # fmt: skip
async def test_bad_input_has_its_code_and_a_pointer(
    front: httpx.AsyncClient,
    method: str,
    path: str,
    body: dict[str, Any] | None,
    status: int,
    code: str,
    pointer: str | None,
) -> None:
    await front.post("/schedules", json={**NIGHTLY, "name": "nightly"})
    answer = await front.request(method, path, json=body)
    found = problem(answer)
    assert (answer.status_code, found["code"]) == (status, code)
    pointers = [each["pointer"] for each in found.get("errors", ())]
    assert pointers == ([] if pointer is None else [pointer])
