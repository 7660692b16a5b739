"""Fires that were missed are told to whoever listens, in the transaction that decides on them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from mainspring.dispatcher.audience import Audience
from mainspring.domain.ids import SCHEDULE, show
from mainspring.domain.job import JobFilter
from mainspring.domain.schedule import Outcome
from mainspring.domain.webhooks import (
    KIND,
    QUEUE,
    Event,
    Message,
    NewWebhook,
    Secret,
    Wanted,
)
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.scheduler.firing import Firing
from mainspring.testing.clock import SettableClock
from tests.scheduler.test_firing import NOON, made, settle


def scheduler_of(store: Store) -> Firing:
    audience = Audience(store, lambda: 0.0)
    return Firing(store, new_id=new_job_id, roll=lambda: 0.5, audience=audience)


async def endpoint(store: Store, **wanted: Any) -> None:
    given: dict[str, Any] = {
        "url": "https://example.org",
        "events": (Event.SCHEDULE_MISFIRED,),
    }
    new = NewWebhook(
        id=new_job_id(),
        tenant=wanted.pop("tenant", "default"),
        wanted=Wanted(**given | wanted),
        secrets=(Secret("whsec_AAAA"),),
    )
    assert await store.create_webhook(new, most=10, actor="me")


async def told(store: Store) -> list[dict[str, Any]]:
    wanted = JobFilter(kinds=frozenset({KIND}))
    page = await store.list_jobs(wanted, limit=99, before=None)
    messages = [msgspec.json.decode(job.payload, type=Message) for job in page]
    assert {message.event for message in messages} <= {Event.SCHEDULE_MISFIRED}
    return [message.info for message in messages]


async def missed(
    store: Store, desk: FrontDesk, clock: SettableClock, **policies: Any
) -> tuple[bytes, Firing]:
    """Have an hourly schedule miss the fires of five hours."""
    clock.set(NOON)
    schedule = await made(desk, **policies)
    scheduler = scheduler_of(store)
    await settle(scheduler)
    clock.advance(timedelta(hours=5, minutes=30))
    return schedule, scheduler


@pytest.mark.parametrize(
    ("policies", "outcomes"),
    [
        ({"misfire": "skip"}, {"skipped_misfire"}),
        ({"misfire": "fire_once"}, {"coalesced_into", "caught_up"}),
        ({"misfire": "fire_all", "overlap": "allow"}, {"caught_up"}),
        ({"misfire": "fire_all", "overlap": "allow", "max_missed": 1}, {"dropped", "caught_up"}),
        ({"misfire": "skip", "catchup_window_seconds": 3_600}, {"expired", "skipped_misfire"}),
    ],
)
async def test_every_kind_of_misfire_is_told_once(
    store: Store,
    desk: FrontDesk,
    clock: SettableClock,
    policies: dict[str, Any],
    outcomes: set[str],
) -> None:
    await endpoint(store)
    schedule, scheduler = await missed(store, desk, clock, **policies)
    assert await told(store) == []
    await settle(scheduler)
    found = await told(store)
    assert {each["outcome"] for info in found for each in info["fires"]} == outcomes
    for info in found:
        assert info["schedule"]["id"] == show(SCHEDULE, schedule)
        assert (info["schedule"]["name"], info["is_cut"]) == ("s", False)
    await settle(scheduler)
    assert await told(store) == found
    ledger = await store.list_fires(schedule, limit=99)
    in_ledger = {row.outcome.value for row in ledger if row.outcome is not Outcome.JOB}
    assert outcomes - {"caught_up"} <= in_ledger


async def test_workers_are_told_that_there_is_something_to_deliver(
    store: Store, desk: FrontDesk, clock: SettableClock
) -> None:
    await endpoint(store)
    _, scheduler = await missed(store, desk, clock, misfire="skip")
    listening = store.wakeups.subscribe({f"queue:{QUEUE}"})
    await settle(scheduler)
    assert await listening.wait(30)
    listening.close()


async def test_what_is_on_time_is_no_news(
    store: Store, desk: FrontDesk, clock: SettableClock
) -> None:
    await endpoint(store)
    clock.set(NOON)
    await made(desk)
    scheduler = scheduler_of(store)
    for _ in range(6):
        await settle(scheduler)
        clock.advance(timedelta(minutes=10))
    assert await told(store) == []


async def test_only_those_are_told_who_listen(
    store: Store, desk: FrontDesk, clock: SettableClock
) -> None:
    await endpoint(store, tenant="other")
    await endpoint(store, events=(Event.JOB_DEAD,))
    await endpoint(store, kinds=("another",))
    await endpoint(store, schedule_id=new_job_id())
    await endpoint(store, job_id=new_job_id())
    schedule, scheduler = await missed(store, desk, clock, misfire="skip")
    await endpoint(store, schedule_id=schedule)
    # It has not looked for endpoints since: a new one would be known after moments.
    await settle(scheduler_of(store))
    (info,) = await told(store)
    (fire,) = info["fires"]
    assert datetime.fromisoformat(fire["nominal_at"]).astimezone(UTC) > NOON
    assert fire["through"] >= fire["nominal_at"]
    del scheduler
