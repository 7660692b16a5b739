"""Operations over REST: what a plain client of HTTP sees."""

from asyncio import TaskGroup
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest

from mainspring.domain.access import Principal, rights_of
from mainspring.domain.ids import OPERATION, show, show_job
from mainspring.maintenance.operations import Carrying
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.server.doorkeeper import OpenDoorkeeper
from mainspring.testing.conformance.steps import make_dead, submit_one, view
from tests.loopback import serving
from tests.server.conftest import problem

REPLAY = {"action": "replay", "query": "kind:test.*"}


async def to_the_end(store: Store) -> None:
    role = Carrying(store, blobs=None)
    for _ in range(20):
        await role.step()


async def test_an_operation_from_its_preview_to_its_report(
    front: httpx.AsyncClient, store: Store
) -> None:
    dead = [show_job((await make_dead(store)).job_id) for _ in range(3)]
    await submit_one(store)
    previewed = await front.post("operations/preview", json=REPLAY)
    told = previewed.json()
    assert previewed.status_code == 201
    path = f"operations/{told['operation']['id']}"
    assert previewed.headers["location"] == f"/api/v1/{path}"
    assert (told["states"], told["refused"]) == ({"dead": 3}, {"ready": 1})
    assert [job["id"] for job in told["sample"]] == dead[::-1]
    assert told["operation"]["state"] == "previewed"
    begun = await front.post(f"{path}/confirm")
    assert (begun.status_code, begun.json()["state"]) == (202, "running")
    assert (begun.json()["goal"], begun.json()["is_frozen"]) == (3, True)
    await to_the_end(store)
    done = (await front.get(path)).json()
    assert (done["state"], done["changed"], done["left_alone"]) == ("done", 3, 0)
    assert done["report"] == {"dead": {"changed": 3}}
    assert problem(await front.post(f"{path}/confirm"))["code"] == "conflict"


async def test_a_start_is_accepted_and_may_be_sent_again(
    front: httpx.AsyncClient, store: Store
) -> None:
    await make_dead(store)
    headers = {"Idempotency-Key": "tonight"}
    first = await front.post("operations", json=REPLAY, headers=headers)
    assert first.status_code == 202
    assert first.headers["location"] == f"/api/v1/operations/{first.json()['id']}"
    again = await front.post("operations", json=REPLAY, headers=headers)
    assert again.json()["id"] == first.json()["id"]
    other = await front.post("operations", json={**REPLAY, "limit": 1}, headers=headers)
    assert problem(other)["code"] == "submission_key_reused"
    named = {**REPLAY, "id": show(OPERATION, new_job_id())}
    for _ in range(2):
        assert (await front.post("operations", json=named)).json()["id"] == named["id"]
    other = await front.post("operations", json={**named, "action": "purge"})
    assert (other.status_code, problem(other)["code"]) == (409, "conflict")
    both = await front.post("operations", json=named, headers=headers)
    assert problem(both)["errors"][0]["pointer"] == "/id"
    assert len((await front.get("operations")).json()["items"]) == 2


async def test_an_operation_is_paused_resumed_and_aborted(
    front: httpx.AsyncClient, store: Store
) -> None:
    await make_dead(store)
    path = f"operations/{(await front.post('operations', json=REPLAY)).json()['id']}"
    paused = (await front.post(f"{path}/pause", json={"reason": "lunch"})).json()
    assert (paused["state"], paused["reason"]) == ("paused", "lunch")
    assert (await front.post(f"{path}/resume")).json()["state"] == "running"
    aborted = (await front.post(f"{path}/abort", json={"reason": "wrong"})).json()
    assert (aborted["state"], aborted["reason"]) == ("aborted", "wrong")
    refused = problem(await front.post(f"{path}/resume"))
    assert (refused["status"], refused["details"]) == (409, {"state": "aborted"})


async def test_an_answer_is_held_back_until_the_operation_differs(
    front: httpx.AsyncClient, store: Store
) -> None:
    await make_dead(store)
    made = await front.post("operations", json=REPLAY)
    path, tag = f"operations/{made.json()['id']}", made.headers["etag"]
    same = await front.get(path, headers={"If-None-Match": tag})
    assert (same.status_code, same.content) == (304, b"")
    async with TaskGroup() as group:
        waiting = group.create_task(
            front.get(path, params={"wait_ms": 30_000}, headers={"If-None-Match": tag})
        )
        await front.post(f"{path}/abort")
    assert waiting.result().json()["state"] == "aborted"
    tag = waiting.result().headers["etag"]
    # What has ended does not change any more: nobody waits for it.
    ended = await front.get(path, params={"wait_ms": 30_000}, headers={"If-None-Match": tag})
    assert ended.status_code == 304


async def test_lists_come_page_by_page_and_as_lines(front: httpx.AsyncClient, store: Store) -> None:
    dead = [show_job((await make_dead(store)).job_id) for _ in range(3)]
    made = [(await front.post("operations", json=REPLAY)).json()["id"] for _ in range(3)]
    await to_the_end(store)
    for path, names, key in (
        ("operations", made[::-1], "id"),
        (f"operations/{made[0]}/members", dead, "job_id"),
    ):
        first = (await front.get(path, params={"limit": 2})).json()
        assert [each[key] for each in first["items"]] == names[:2]
        query: dict[str, Any] = {"limit": 2, "cursor": first["next_cursor"]}
        rest = (await front.get(path, params=query)).json()
        assert [each[key] for each in rest["items"]] == names[2:]
        assert rest["next_cursor"] is None
        answer = await front.get(path, headers={"Accept": "application/x-ndjson"})
        lines = [msgspec.json.decode(line) for line in answer.content.splitlines()]
        assert [line[key] for line in lines] == names
    members = (await front.get(f"operations/{made[0]}/members")).json()["items"]
    assert members[0] == {
        "job_id": dead[0], "state": "dead", "outcome": "changed", "reason": None,
    }  # fmt: skip
    of_another = (await front.get(f"operations/{made[0]}/members?limit=1")).json()["next_cursor"]
    refused = await front.get("operations", params={"cursor": of_another})
    assert problem(refused)["code"] == "invalid_cursor"
    done = (await front.get("operations", params={"state": "done,failed"})).json()["items"]
    assert {each["id"] for each in done} == set(made)


@pytest.mark.parametrize(
    ("changes", "code", "pointer"),
    [
        ({"action": "explode"}, "invalid_input", "/action"),
        ({"query": "stat:dead"}, "invalid_query", "/query"),
        ({"query": ""}, "invalid_input", "/query"),
        ({"limit": 0}, "invalid_input", "/limit"),
        ({"canary": "all"}, "invalid_input", "/canary"),
        ({"rate": -1}, "invalid_input", "/rate"),
        ({"reason": "why"}, "invalid_input", "/reason"),
        ({"force": True}, "invalid_input", "/force"),
        ({"until": "2020-01-01T00:00:00"}, "invalid_input", "/until"),
        ({"until": "2500-01-01T00:00:00Z"}, "invalid_input", "/until"),
        ({"payload": {"n": 1}}, "invalid_input", "/payload"),
        ({"tenant": "no tenant"}, "invalid_input", "/tenant"),
        ({"id": "job_1"}, "invalid_id", "/id"),
        ({"speed": 1}, "unknown_option", "/speed"),
    ],
)
async def test_bad_input_is_pointed_at_and_makes_nothing(
    front: httpx.AsyncClient, changes: dict[str, Any], code: str, pointer: str
) -> None:
    refused = problem(await front.post("operations", json={**REPLAY, **changes}))
    assert (refused["status"], refused["code"]) == (422, code)
    assert [each["pointer"] for each in refused["errors"]] == [pointer]
    assert (await front.get("operations")).json()["items"] == []


@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        ("operations?limit=501", "?limit"),
        ("operations?state=stopped", "?state"),
        ("operations?before=job_1", "?before"),
        ("operations/{id}?wait_ms=-1", "?wait_ms"),
        ("operations/{id}/members?outcome=ok", "?outcome"),
        ("operations/{id}/members?after=op_1", "?after"),
    ],
)
async def test_bad_questions_are_pointed_at(
    front: httpx.AsyncClient, path: str, pointer: str
) -> None:
    made = (await front.post("operations", json=REPLAY)).json()["id"]
    refused = problem(await front.get(path.format(id=made)))
    assert refused["status"] in (400, 422)
    assert [each["pointer"] for each in refused["errors"]] == [pointer]


async def test_what_is_not_there_is_not_found(front: httpx.AsyncClient) -> None:
    nobodys = f"operations/{show(OPERATION, new_job_id())}"
    for path in (nobodys, f"{nobodys}/members"):
        assert problem(await front.get(path))["code"] == "not_found"
    for verb in ("confirm", "pause", "resume", "abort"):
        assert problem(await front.post(f"{nobodys}/{verb}"))["code"] == "not_found"
    assert problem(await front.get("operations/op_1"))["code"] == "invalid_id"


class Somebody(OpenDoorkeeper):
    """Gives everybody the rights that the key names: ``jobs.read+jobs.cancel``."""

    def known(self, authorization: str) -> Principal | None:
        names = authorization.removeprefix("Bearer ").split("+")
        return Principal(name="somebody", rights=rights_of(names))


@pytest.fixture
async def guarded(desk: FrontDesk) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        serving(desk, Somebody()) as url,
        httpx.AsyncClient(base_url=f"{url}/api/v1", timeout=30, trust_env=False) as client,
    ):
        yield client


@pytest.mark.parametrize(
    ("action", "right"),
    [
        ("retry", "jobs.retry"),
        ("replay", "jobs.retry"),
        ("cancel", "jobs.cancel"),
        ("purge", "jobs.purge"),
    ],
)
async def test_what_an_operation_does_needs_the_right_to_it(
    guarded: httpx.AsyncClient, store: Store, action: str, right: str
) -> None:
    job = await make_dead(store)
    body = {"action": action, "query": "kind:test.*"}
    others = {"jobs.retry", "jobs.cancel", "jobs.purge"} - {right}
    weak = {"authorization": "Bearer " + "+".join(["jobs.read", *others])}
    strong = {"authorization": f"Bearer jobs.read+{right}"}
    refused = problem(await guarded.post("operations", json=body, headers=weak))
    assert (refused["status"], refused["details"]) == (403, {"right": right})
    told = (await guarded.post("operations/preview", json=body, headers=weak)).json()
    path = f"operations/{told['operation']['id']}"
    assert (await guarded.get(path, headers=weak)).status_code == 200
    for verb in ("confirm", "pause", "resume", "abort"):
        refused = problem(await guarded.post(f"{path}/{verb}", headers=weak))
        assert (refused["status"], refused["details"]) == (403, {"right": right})
    assert (await guarded.post(f"{path}/confirm", headers=strong)).status_code == 202
    assert (await guarded.post(f"{path}/abort", headers=strong)).status_code == 200
    assert (await view(store, job.job_id)).state == "dead"
