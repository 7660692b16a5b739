"""Verdicts are told to whoever listens: by reports, by recovery, and in handlers' transactions."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from mainspring.dispatcher.audience import Audience
from mainspring.dispatcher.gateway import LocalGateway
from mainspring.dispatcher.judgement import Judge, fixed_dice
from mainspring.dispatcher.recovery import Recovery
from mainspring.domain.declared import Declared
from mainspring.domain.errors import ConnectionFailed, OutcomeUnknown
from mainspring.domain.job import JobFilter, JobView
from mainspring.domain.outcome import Failed, Outcome, Released, Succeeded
from mainspring.domain.states import JobState
from mainspring.domain.webhooks import (
    KIND,
    QUEUE,
    STALE_SECONDS_MAX,
    EndpointState,
    Event,
    Message,
    NewWebhook,
    Secret,
    Wanted,
)
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.ports.webhooks import WebhookChange
from mainspring.testing.builders import claim_ask, new_job
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import BOOM
from tests.dispatcher.doors import Faulty, Seconds, claim_new, open_worker, report

ALL = (Event.JOB_SUCCEEDED, Event.JOB_FAILED, Event.JOB_DEAD)
DEAD = Failed(BOOM, permanent=True)


async def endpoint(store: Store, *events: Event, tenant: str = "default", **more: Any) -> bytes:
    new = NewWebhook(
        id=new_job_id(),
        tenant=tenant,
        wanted=Wanted(url="https://example.org", events=events or ALL, **more),
        secrets=(Secret("whsec_AAAA"),),
    )
    assert await store.create_webhook(new, most=1_000, actor="me")
    return new.id


async def deliveries(store: Store) -> list[JobView]:
    page = await store.list_jobs(JobFilter(kinds=frozenset({KIND})), limit=99, before=None)
    return list(page.items)


async def events(store: Store) -> list[str]:
    found = await deliveries(store)
    return sorted(msgspec.json.decode(job.payload, type=Message).event for job in found)


@pytest.mark.parametrize(
    ("outcome", "event"),
    [
        (Succeeded(b"1"), "job.succeeded"),
        (Failed(BOOM), "job.failed"),
        (DEAD, "job.dead"),
        (Released(), None),
    ],
)
async def test_a_report_is_told_to_whoever_listens(
    gateway: LocalGateway, store: Store, outcome: Outcome, event: str | None
) -> None:
    await endpoint(store)
    await endpoint(store, tenant="other")
    listening = store.wakeups.subscribe({f"queue:{QUEUE}"})
    claimed = await claim_new(gateway, store)
    assert await report(gateway, claimed, outcome)
    assert await events(store) == ([] if event is None else [event])
    if event is not None:
        assert await listening.wait(30)
    listening.close()


async def test_a_report_whose_answer_was_lost_is_told_once(
    gateway: LocalGateway, store: Store, faulty: Faulty
) -> None:
    await endpoint(store)
    claimed = await claim_new(gateway, store)
    faulty.after.append(OutcomeUnknown())
    with pytest.raises(OutcomeUnknown):
        await report(gateway, claimed, DEAD)
    assert await report(gateway, claimed, DEAD)
    assert await report(gateway, claimed, DEAD)
    assert await events(store) == ["job.dead"]


async def test_what_was_never_settled_is_never_told(
    gateway: LocalGateway, store: Store, faulty: Faulty
) -> None:
    await endpoint(store)
    claimed = await claim_new(gateway, store)
    faulty.before.append(ConnectionFailed())
    with pytest.raises(ConnectionFailed):
        await report(gateway, claimed, DEAD)
    assert await events(store) == []
    assert await report(gateway, claimed, DEAD)
    assert await events(store) == ["job.dead"]


async def test_nothing_is_settled_while_it_is_unknown_who_listens(
    gateway: LocalGateway, store: Store, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    await endpoint(store)
    claimed = await claim_new(gateway, store)

    async def away() -> Any:
        raise ConnectionFailed

    with monkeypatch.context() as patched:
        patched.setattr(faulty, "list_listeners", away, raising=False)
        with pytest.raises(ConnectionFailed):
            await report(gateway, claimed, Succeeded())
    found = await store.get_job(claimed.job_id)
    assert found is not None
    assert found.state is JobState.RUNNING
    assert await report(gateway, claimed, Succeeded())
    assert await events(store) == ["job.succeeded"]


async def test_an_endpoint_is_known_within_moments_and_no_longer(
    gateway: LocalGateway, store: Store, seconds: Seconds
) -> None:
    await report(gateway, await claim_new(gateway, store), Succeeded())
    hook = await endpoint(store)
    await report(gateway, await claim_new(gateway, store), Succeeded())
    assert await events(store) == []
    seconds.now += STALE_SECONDS_MAX
    await report(gateway, await claim_new(gateway, store), Succeeded())
    assert await events(store) == ["job.succeeded"]
    disable = WebhookChange(state=EndpointState.DISABLED, action="webhook.disable")
    assert await store.change_webhook(hook, disable, version=1, actor="me")
    seconds.now += STALE_SECONDS_MAX
    await report(gateway, await claim_new(gateway, store), Succeeded())
    assert await events(store) == ["job.succeeded"]


async def test_a_delivery_is_not_told_of(gateway: LocalGateway, store: Store) -> None:
    await endpoint(store)
    for outcome in (Succeeded(), DEAD):
        await store.submit([new_job(kind=KIND)])
        worker = await open_worker(gateway)
        (claimed,) = await gateway.claim(claim_ask(worker, kinds=(KIND,)))
        await report(gateway, claimed, outcome)
    assert {job.state for job in await deliveries(store)} == {JobState.SUCCEEDED, JobState.DEAD}
    assert len(await deliveries(store)) == 2


@pytest.mark.parametrize(("max_attempts", "event"), [(1, "job.dead"), (5, "job.failed")])
async def test_what_recovery_judges_is_told_as_well(
    gateway: LocalGateway, store: Store, clock: SettableClock, max_attempts: int, event: str
) -> None:
    await endpoint(store)
    worker = await open_worker(gateway, lease_ms=2_000)
    claimed = await claim_new(gateway, store, worker, max_attempts=max_attempts)
    clock.advance(timedelta(seconds=3))
    audience = Audience(store, lambda: 0.0)
    judge = Judge(fixed_dice(lambda: 0.0, new_job_id), None, audience=audience)
    recovery = Recovery(store, store.wakeups, judge)
    assert await recovery.step(Declared()) == 1
    assert await recovery.step(Declared()) == 0
    assert await events(store) == [event]
    (found,) = await deliveries(store)
    told = msgspec.json.decode(found.payload, type=Message).info["job"]
    assert (told["attempt"], told["attempt_state"]) == (claimed.attempt, "lost")


async def test_a_child_that_died_is_told_of(gateway: LocalGateway, store: Store) -> None:
    await endpoint(store, Event.JOB_FAILED)
    worker = await open_worker(gateway)
    await claim_new(gateway, store, worker)
    assert await gateway.child_died(worker, 0, "killed") == 1
    assert await events(store) == ["job.failed"]


async def test_filters_are_heeded(gateway: LocalGateway, store: Store, seconds: Seconds) -> None:
    claimed = await claim_new(gateway, store)
    await endpoint(store, job_id=claimed.job_id)
    await endpoint(store, job_id=new_job_id())
    await endpoint(store, kinds=("another",))
    await endpoint(store, queues=("another",))
    await endpoint(store, schedule_id=new_job_id())
    seconds.now += STALE_SECONDS_MAX
    await report(gateway, claimed, Succeeded())
    assert await events(store) == ["job.succeeded"]
