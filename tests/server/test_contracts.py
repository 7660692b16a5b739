"""What other schedulers' clients send, letter for letter, and the names that they read."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import httpx
import msgspec
import pytest

from mainspring.domain.ids import parse_job
from mainspring.domain.job import HandlerInfo
from mainspring.domain.outcome import Outcome
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    FAILED_FOR_GOOD,
    SUCCEEDED,
    accept,
    claim,
    open_worker,
)
from tests.server.conftest import problem

JSON = {"content-type": "application/json"}
DEFINITION = """
{
  "tenant_id": "tenant_enterprise_77",
  "job_name": "daily-invoice-settlement",
  "job_type": "billing",
  "schedule_type": "CRON",
  "cron_expression": "0 9 * * *",
  "timezone": "America/New_York",
  "max_attempts": 3,
  "allow_overlap": false,
  "misfire_policy": "FIRE_ONCE",
  "payload": {
    "batch_size": 500,
    "payment_gateway": "stripe"
  }
}
"""
REPORT = """
{
  "name": "send-weekly-report",
  "schedule": "0 9 * * 1",           // cron: every Monday at 09:00 UTC
  "timezone": "America/New_York",
  "payload": { "report_type": "weekly" },
  "idempotency_key_template": "report-{{week}}",
  "max_retries": 3,
  "retry_backoff": "exponential",
  "missed_window": "RUN_ONCE",       // SKIP | RUN_ONCE | RUN_ALL
  "timeout_seconds": 120
}
"""
RUN_NAMES = ["run_id", "scheduled_at", "started_at", "finished_at", "status", "attempt"]


def plain(text: str) -> str:
    """The text without the comments that articles put into JSON."""
    return re.sub(r"\s+//[^\n]*", "", text)


async def end(store: Store, job: str, outcome: Outcome) -> None:
    """Have a worker claim what is ready, and end one of it."""
    worker = await open_worker(store)
    for claimed in await claim(store, worker, kinds=("mail", "report")):
        if claimed.job_id == parse_job(job):
            await accept(store, claimed, outcome)


@pytest.fixture(autouse=True)
async def kinds(store: Store) -> None:
    names = ("billing", "send-weekly-report", "report", "mail")
    await store.declare_handlers([HandlerInfo(kind=name) for name in names])


@pytest.fixture
def root(front: httpx.AsyncClient) -> str:
    """The address without the prefix of the version."""
    return str(front.base_url).removesuffix("/api/v1/")


async def test_a_definition_with_a_cron_is_a_schedule(front: httpx.AsyncClient) -> None:
    made = await front.post("/jobs", content=DEFINITION, headers=JSON)
    assert made.status_code == 201
    answer = made.json()
    assert answer["job_id"].startswith("sch_")
    assert answer["status"] == "ACTIVE"
    due = datetime.fromisoformat(answer["next_scheduled_run"])
    assert (due.hour, due.minute) == (9, 0)
    assert due.utcoffset() in (timedelta(hours=-5), timedelta(hours=-4))
    kept = (await front.get(f"/schedules/{answer['job_id']}")).json()
    assert kept["name"] == "daily-invoice-settlement"
    assert kept["tenant"] == "tenant_enterprise_77"
    assert (kept["kind"], kept["when"], kept["max_attempts"]) == ("billing", ["0 9 * * *"], 3)
    assert (kept["overlap"], kept["misfire"]) == ("defer", "fire_once")
    assert kept["payload"] == {"batch_size": 500, "payment_gateway": "stripe"}


async def test_a_definition_of_type_once_is_a_job(
    front: httpx.AsyncClient, clock: SettableClock
) -> None:
    due = (clock.now() + timedelta(hours=2)).isoformat()
    text = DEFINITION.replace('"CRON"', '"ONCE"').replace(
        '"cron_expression": "0 9 * * *"', f'"run_at": "{due}"'
    )
    text = re.sub(r'"(allow_overlap|misfire_policy)": [^\n]*\n', "", text)
    made = await front.post("/jobs", content=text, headers=JSON)
    answer = made.json()
    assert (made.status_code, answer["status"]) == (201, "ACTIVE")
    assert datetime.fromisoformat(answer["next_scheduled_run"]) == datetime.fromisoformat(due)
    job = (await front.get(f"/jobs/{answer['job_id']}")).json()
    assert (job["kind"], job["state"], job["max_attempts"]) == ("billing", "scheduled", 3)


async def test_a_cron_under_schedule_is_a_schedule(front: httpx.AsyncClient) -> None:
    made = await front.post("/jobs", content=plain(REPORT), headers=JSON)
    assert made.status_code == 201
    answer = made.json()
    assert {"job_id", "next_run_at"} <= answer.keys()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", answer["next_run_at"])
    kept = (await front.get(f"/schedules/{answer['job_id']}")).json()
    assert (kept["kind"], kept["max_attempts"]) == ("send-weekly-report", 4)
    assert (kept["misfire"], kept["timeout_ms"]) == ("fire_once", 120_000)
    assert kept["effect_key"] == "report-{{week}}"


async def test_an_instant_under_schedule_is_a_job(
    front: httpx.AsyncClient, clock: SettableClock
) -> None:
    due = f"{clock.now() + timedelta(days=30):%Y-%m-%dT%H:%M:%SZ}"
    text = plain(REPORT).replace("0 9 * * 1", due).replace("report-{{week}}", "report-24")
    text = re.sub(r'"missed_window": "[A-Z_]*",', "", text)
    answer = (await front.post("/jobs", content=text, headers=JSON)).json()
    assert answer["job_id"].startswith("job_")
    assert answer["next_run_at"] == due


async def test_runs_of_a_schedule_are_a_plain_array(
    front: httpx.AsyncClient, store: Store, clock: SettableClock
) -> None:
    body = {"name": "often", "kind": "report", "when": "*/5 * * * *", "overlap": "allow"}
    schedule = (await front.post("/schedules", json=body)).json()["id"]
    assert (await front.get(f"/jobs/{schedule}/runs", params={"limit": 20})).json() == []
    await front.post(f"/schedules/{schedule}/fire")
    fired = (await front.post(f"/schedules/{schedule}/fire")).json()["job_id"]
    await end(store, fired, SUCCEEDED)
    clock.advance(timedelta(seconds=1))
    runs = (await front.get(f"/jobs/{schedule}/runs?limit=20")).json()
    assert [list(run) for run in runs] == [RUN_NAMES] * 2
    done = next(run for run in runs if run["run_id"] == fired)
    assert (done["status"], done["attempt"]) == ("success", 1)
    assert done["started_at"] <= done["finished_at"]
    assert done["scheduled_at"]
    assert len((await front.get(f"/jobs/{schedule}/runs?limit=1")).json()) == 1
    only = (await front.get(f"/jobs/{schedule}/runs?status=SUCCEEDED")).json()
    assert [run["run_id"] for run in only] == [fired]
    page = (await front.get(f"/schedules/{schedule}/runs?limit=1")).json()
    rest = (
        await front.get(
            f"/schedules/{schedule}/runs", params={"limit": 1, "cursor": page["next_cursor"]}
        )
    ).json()
    assert [*page["items"], *rest["items"]] == runs


async def test_runs_of_a_job_are_its_attempts(front: httpx.AsyncClient, store: Store) -> None:
    body = {"kind": "mail", "max_attempts": 1}
    job = (await front.post("/jobs", json=body)).json()["job_id"]
    await end(store, job, FAILED_FOR_GOOD)
    (run,) = (await front.get(f"/jobs/{job}/runs?limit=20")).json()
    assert list(run) == RUN_NAMES
    assert (run["run_id"], run["status"], run["attempt"]) == (f"{job}:1", "dead", 1)


async def test_the_endpoints_of_a_sketch_work_without_the_prefix(
    front: httpx.AsyncClient, store: Store, root: str
) -> None:
    body = {"type": "mail", "payload": {"to": "ada"}, "priority": "high", "max_attempts": 1}
    made = await front.post(f"{root}/jobs", json=body)
    job = made.json()["job_id"]
    assert made.status_code == 201
    assert (await front.get(f"{root}/jobs/{job}")).json()["state"] == "ready"
    await end(store, job, FAILED_FOR_GOOD)
    assert (await front.get(f"{root}/jobs/{job}")).json()["state"] == "dead"
    assert (await front.post(f"{root}/jobs/{job}/retry")).json()["changed"] is True
    assert (await front.delete(f"{root}/jobs/{job}")).json()["status"] == "cancelled"
    schedule = {"name": "six", "kind": "report", "when": "0 */6 * * *", "payload": {"day": 3}}
    made = await front.post(f"{root}/schedules", json=schedule)
    assert made.status_code == 201
    runs = await front.get(f"{root}/schedules/{made.json()['id']}/runs")
    assert runs.json() == {"items": [], "next_cursor": None}


async def test_to_delete_a_job_is_to_cancel_it_and_a_schedule_to_remove_it(
    front: httpx.AsyncClient, desk: FrontDesk, store: Store
) -> None:
    job = (await front.post("/jobs", json={"kind": "mail"})).json()["job_id"]
    first = await front.delete(f"/jobs/{job}", params={"reason": "no more"})
    assert (first.status_code, first.json()["status"], first.json()["changed"]) == (
        200,
        "cancelled",
        True,
    )
    assert (await front.delete(f"/jobs/{job}")).json()["changed"] is False

    body = {"name": "often", "kind": "report", "when": "*/5 * * * *"}
    schedule = (await front.post("/schedules", json=body)).json()["id"]
    fired = (await front.post(f"/schedules/{schedule}/fire")).json()["job_id"]
    gone = await front.delete(f"/jobs/{schedule}", params={"cancel_running": "true"})
    assert (gone.status_code, gone.json()["status"]) == (200, "deleted")
    assert (await front.delete(f"/jobs/{schedule}")).json()["changed"] is False
    assert (await front.get(f"/jobs/{fired}")).json()["state"] == "cancelled"
    assert (await front.get(f"/schedules/{schedule}/history")).status_code == 200


@pytest.mark.parametrize(
    ("change", "code", "pointer"),
    [
        ({"max_retries": 3, "max_attempts": 9}, "invalid_input", "/max_retries"),
        ({"cron_expression": "61 9 * * *"}, "invalid_schedule", "/cron_expression"),
        ({"timezone": "America/New_Yrk"}, "unknown_zone", "/timezone"),
        ({"misfire_policy": "PERHAPS"}, "invalid_schedule", "/misfire_policy"),
        ({"job_type": "biling"}, "unknown_kind", "/job_type"),
        ({"cron_expr": "0 9 * * *"}, "unknown_option", "/cron_expr"),
        ({"max_attempts": "3"}, "invalid_input", "/max_attempts"),
        ({"schedule_type": "HOURLY"}, "unknown_option", "/schedule_type"),
    ],
)
async def test_errors_point_at_what_was_written(
    front: httpx.AsyncClient, change: dict[str, Any], code: str, pointer: str
) -> None:
    body = msgspec.json.decode(DEFINITION) | change
    found = problem(await front.post("/jobs", json=body))
    assert (found["code"], found["errors"][0]["pointer"]) == (code, pointer)


@pytest.mark.parametrize(
    ("members", "begins"),
    [
        ({"name": "a", "cron_expression": "0 9 * * *", "timezone": "+05:30"}, "09:00:00+05:30"),
        ({"schedule": "2030-01-01T00:00:00Z", "timezone": "+05:30"}, "05:30:00+05:30"),
        ({"schedule": "2030-01-01T00:00:00Z", "timezone": "US/Eastern"}, "19:00:00-05:00"),
        ({"schedule": "2030-01-01T00:00:00Z"}, "00:00:00Z"),
    ],
)
async def test_the_next_run_is_told_in_any_zone_that_schedules_have(
    front: httpx.AsyncClient, members: dict[str, str], begins: str
) -> None:
    answer = await front.post("jobs", json={"kind": "billing", **members})
    assert answer.status_code == 201, answer.text
    assert answer.json()["next_scheduled_run"].partition("T")[2] == begins


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"schedule": "2030-13-01T00:00:00", "timezone": "Asia/Tokyo"}, "/schedule"),
        ({"run_at": "0001-01-01T00:00:00", "timezone": "Asia/Tokyo"}, "/run_at"),
        ({"schedule": "2030-01-01T00:00:00Z", "timezone": "Mars/Base"}, "/timezone"),
        ({"timezone": "Mars/Base"}, "/timezone"),
        ({"name": "a", "cron_expression": "@daily", "due_at": "2030-01-01T00:00:00Z"}, "/due_at"),
    ],
)
async def test_an_instant_that_is_none_is_told(
    front: httpx.AsyncClient, members: dict[str, str], pointer: str
) -> None:
    told = problem(await front.post("jobs", json={"kind": "billing", **members}))
    assert [error["pointer"] for error in told["errors"]] == [pointer], told
