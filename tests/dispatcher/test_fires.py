"""What a worker is told of the fires that its jobs are."""

from typing import Any

import pytest

from mainspring.dispatcher.gateway import LocalGateway
from mainspring.domain.errors import ConnectionFailed
from mainspring.domain.job import Claimed
from mainspring.domain.schedule import Cause
from mainspring.ports.store import Store
from mainspring.testing.builders import claim_ask, new_job
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.schedules_steps import (
    at,
    fire,
    firing,
    make_schedule,
    seconds,
)
from tests.dispatcher.doors import Faulty, open_worker


async def claimed_pair(
    store: Store, gateway: LocalGateway, clock: SettableClock
) -> tuple[Claimed, Claimed]:
    """Claim a job of a schedule, and one that was submitted."""
    await make_schedule(store, firing(fire(seconds(clock.now()) - 60)), name="hourly")
    await store.submit([new_job()])
    worker = await open_worker(gateway)
    jobs = await gateway.claim(claim_ask(worker))
    assert len(jobs) == 2
    fired, plain = sorted(jobs, key=lambda job: job.schedule_id is None)
    return fired, plain


async def test_a_scheduled_job_comes_with_its_fire(
    store: Store, gateway: LocalGateway, clock: SettableClock
) -> None:
    fired, plain = await claimed_pair(store, gateway, clock)
    assert plain.fire is None
    assert fired.fire is not None
    assert (fired.fire.schedule, fired.fire.zone) == ("hourly", "UTC")
    assert fired.fire.nominal_at == at(seconds(clock.now()) - 60)
    assert fired.fire.cause is Cause.SCHEDULE
    assert not fired.fire_is_unread


async def test_what_cannot_be_read_of_a_fire_is_said_and_not_guessed(
    store: Store,
    gateway: LocalGateway,
    faulty: Faulty,
    clock: SettableClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def broken(_claimed: Any) -> Any:
        raise ConnectionFailed("the store is away")

    monkeypatch.setattr(faulty, "fires_of", broken, raising=False)
    fired, plain = await claimed_pair(store, gateway, clock)
    assert (fired.fire_is_unread, fired.fire) == (True, None)
    assert not plain.fire_is_unread


async def test_without_scheduled_jobs_nothing_is_asked(
    store: Store, gateway: LocalGateway, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asked(_claimed: Any) -> Any:
        raise AssertionError("it was asked")

    monkeypatch.setattr(faulty, "fires_of", asked, raising=False)
    await store.submit([new_job()])
    worker = await open_worker(gateway)
    (job,) = await gateway.claim(claim_ask(worker))
    assert job.fire is None
