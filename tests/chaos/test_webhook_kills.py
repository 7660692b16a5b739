"""Killed with -9 between a settlement and its delivery: nothing is lost, and nothing told twice."""

import asyncio
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from mainspring.domain.job import JobFilter, JobView
from mainspring.domain.states import FINAL, JobState
from mainspring.domain.webhooks import KIND
from mainspring.ports.clock import monotonic, pause_seconds
from mainspring.ports.webhooks import WebhookDraft
from mainspring.runtime.assemble import open_client_gateway
from mainspring.runtime.setting_table import Settings
from tests.chaos.fleet import Fleet
from tests.chaos.run import (
    PATIENCE_SECONDS,
    migrate,
    open_ledger,
    seed_of_this_run,
    until_ended,
    wait_until_final,
)
from tests.kinds.conftest import Web

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(240)]

REACH = "127.0.0.1"
JOBS = 80
KILLS = 3
#: As many calls as an endpoint gets at once, and few that a killed worker held: what was lost is
#: tried again alone, in a process of its own.
CONCURRENCY = 4


@pytest.fixture
def web() -> Iterator[Web]:
    server = Web()
    yield server
    server.close()


def _settings(store_url: str) -> Settings:
    return Settings(store_url=store_url, webhook_reach=REACH)


async def _endpoint(store_url: str, web: Web) -> str:
    draft = WebhookDraft(url=web.url("/in"), events=["job.succeeded"])
    async with open_client_gateway(_settings(store_url)) as gateway:
        return (await gateway.webhooks.create(draft, actor="test")).secret


async def _deliveries(store_url: str) -> list[JobView]:
    """Return all deliveries once every one of them has ended."""
    until = monotonic() + PATIENCE_SECONDS
    wanted = JobFilter(kinds=frozenset({KIND}))
    async with open_client_gateway(_settings(store_url)) as gateway:
        while True:
            found = list(await gateway.list_jobs(wanted, limit=500, before=None))
            live = [job for job in found if job.state not in FINAL]
            if not live:
                return found
            assert monotonic() < until, [(j.state, j.tries, j.reason, j.error) for j in live]
            await gateway.wait_for_ends([live[0].id], 1.0)


def _told(web: Web, secret: str) -> Counter[str]:
    """Return how often each notification came; every one of them has to be genuine."""
    for asked in web.asked:
        Webhook(secret).verify(asked.body, dict(asked.headers))
    return Counter(asked.headers["webhook-id"] for asked in web.asked)


async def test_what_was_settled_is_told_though_its_settler_died(
    store_url: str, tmp_path: Path, web: Web
) -> None:
    await migrate(store_url)
    secret = await _endpoint(store_url, web)
    async with open_ledger(store_url, seed_of_this_run()) as ledger:
        await ledger.submit(10)
        command = [sys.executable, "-m", "tests.chaos.settles_and_dies", store_url, "work"]
        killed = await asyncio.create_subprocess_exec(*command)
        assert await killed.wait() == -signal.SIGKILL
    assert web.asked == []
    fleet = Fleet(store_url, tmp_path, concurrency=CONCURRENCY)
    try:
        fleet.start(environment={"MAINSPRING_WEBHOOK_REACH": REACH})
        deliveries = await _deliveries(store_url)
    finally:
        fleet.stop()
    assert len(deliveries) == 10
    assert {job.state for job in deliveries} == {JobState.SUCCEEDED}
    assert _told(web, secret) == {job.effect_key: 1 for job in deliveries}


async def test_everything_that_ended_is_told_while_workers_are_killed(
    store_url: str, tmp_path: Path, web: Web
) -> None:
    await migrate(store_url)
    secret = await _endpoint(store_url, web)
    fleet = Fleet(store_url, tmp_path, concurrency=CONCURRENCY)
    environment = {"MAINSPRING_WEBHOOK_REACH": REACH}
    try:
        async with open_ledger(store_url, seed_of_this_run()) as ledger:
            fleet.start(environment=environment)
            await ledger.until_declared("work")
            await ledger.submit(JOBS)
            for _ in range(KILLS):
                await until_ended(fleet, 20)
                # With its keepers, of jobs and of deliveries, and all of their children.
                fleet.kill_worker(fleet.living()[0])
                fleet.start(environment=environment)
                await pause_seconds(0.05)
            await wait_until_final(ledger, fleet)
            jobs = set(ledger.acknowledged)
        deliveries = await _deliveries(store_url)
    finally:
        fleet.stop()
    told = _told(web, secret)
    # One delivery for each job that ended, and each of them arrived.
    assert len(deliveries) == len(jobs) == JOBS, fleet.logs()
    assert {job.state for job in deliveries} == {JobState.SUCCEEDED}
    assert set(told) == {job.effect_key for job in deliveries}
