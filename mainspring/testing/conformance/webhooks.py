"""Endpoints of webhooks, and the deliveries that come with a settlement: ``WebhookStore``."""

from datetime import timedelta
from typing import Any

import pytest

from mainspring.domain.job import NewJob
from mainspring.domain.outcome import Cancelled, Lost, Outcome, Released, Snoozed
from mainspring.domain.states import JobState
from mainspring.domain.webhooks import (
    EndpointState,
    Event,
    Listener,
    NewWebhook,
    Secret,
    Wanted,
    WebhookView,
)
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.ports.webhooks import WebhookChange
from mainspring.testing.builders import new_job, verdict
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    FAILED,
    FAILED_FOR_GOOD,
    SUCCEEDED,
    Suite,
    accept,
    claim,
    counts,
    open_worker,
    report,
    start,
    submit_many,
    submit_one,
    view,
)

_FIVE_DAYS = timedelta(days=5)
_SECRET = Secret("whsec_AAAA")
_MOST = 1_000


def _new(tenant: str = "default", **wanted: Any) -> NewWebhook:
    given: dict[str, Any] = {"url": "https://example.org/in", "events": (Event.JOB_DEAD,)}
    return NewWebhook(
        id=new_job_id(), tenant=tenant, wanted=Wanted(**given | wanted), secrets=(_SECRET,)
    )


async def _made(store: Store, tenant: str = "default", **wanted: Any) -> WebhookView:
    new = _new(tenant, **wanted)
    assert await store.create_webhook(new, most=_MOST, actor="me")
    return await _view(store, new.id)


async def _view(store: Store, webhook_id: bytes) -> WebhookView:
    found = await store.get_webhook(webhook_id)
    assert found is not None
    return found


class WebhookSuite(Suite):
    """Endpoints are made, changed, disabled and forgotten."""

    async def test_what_is_made_is_there(self, store: Store, clock: SettableClock) -> None:
        new = _new(
            tenant="acme",
            description="Bücher\x00",
            job_id=bytes(range(16)),
            schedule_id=bytes(16),
            kinds=("mail.send",),
            queues=("mail",),
            events=tuple(Event),
        )
        assert await store.create_webhook(new, most=1, actor="me")
        # The answer was lost.
        assert await store.create_webhook(new, most=1, actor="me")
        found = await _view(store, new.id)
        assert (found.tenant, found.state, found.version) == ("acme", EndpointState.ACTIVE, 1)
        assert found.created_at == found.changed_at == clock.now()
        assert (found.reason, found.last_success_at, found.last_failure_at) == ("", None, None)
        assert found.wanted.description.startswith("Bücher")
        assert (found.wanted.job_id, found.wanted.schedule_id) == (bytes(range(16)), bytes(16))
        assert (found.wanted.kinds, found.wanted.queues) == (("mail.send",), ("mail",))
        assert found.wanted.events == tuple(Event)
        recipient = await store.get_recipient(new.id)
        assert recipient is not None
        assert (recipient.view, recipient.secrets) == (found, (_SECRET,))

    async def test_what_is_not_there_is_nothing(self, store: Store) -> None:
        unknown = new_job_id()
        assert await store.get_webhook(unknown) is None
        assert await store.get_recipient(unknown) is None
        assert not await store.delete_webhook(unknown, actor="me")
        change = WebhookChange(action="webhook.edit")
        assert not await store.change_webhook(unknown, change, version=1, actor="me")
        for succeeded in (True, False):
            assert not await store.note_delivery(
                unknown, succeeded=succeeded, failing_max=_FIVE_DAYS
            )

    async def test_a_tenant_has_so_many_and_others_have_their_own(self, store: Store) -> None:
        await _made(store, "acme")
        assert not await store.create_webhook(_new("acme"), most=1, actor="me")
        assert await store.create_webhook(_new("other"), most=1, actor="me")
        assert len(await store.list_webhooks(None, limit=10)) == 2

    async def test_lists_go_by_id_in_pages(self, store: Store) -> None:
        made = [await _made(store, "acme") for _ in range(5)]
        await _made(store, "other")
        ordered = sorted(made, key=lambda hook: hook.id)
        first = await store.list_webhooks("acme", limit=3)
        assert first == ordered[:3]
        assert await store.list_webhooks("acme", limit=3, after=first[-1].id) == ordered[3:]
        assert await store.list_webhooks("nobody", limit=3) == []

    async def test_only_active_ones_listen(self, store: Store) -> None:
        first, second = sorted([await _made(store), await _made(store)], key=lambda hook: hook.id)
        wanted = first.wanted
        assert await store.list_listeners() == [
            Listener(first.id, "default", wanted),
            Listener(second.id, "default", wanted),
        ]
        disable = WebhookChange(
            state=EndpointState.DISABLED, reason="moved", action="webhook.disable"
        )
        assert await store.change_webhook(first.id, disable, version=1, actor="me")
        found = await _view(store, first.id)
        assert (found.state, found.reason, found.version) == (EndpointState.DISABLED, "moved", 2)
        assert await store.list_listeners() == [Listener(second.id, "default", wanted)]

    async def test_a_change_meets_its_version_or_does_nothing(
        self, store: Store, clock: SettableClock
    ) -> None:
        made = await _made(store)
        clock.advance(timedelta(hours=1))
        wanted = Wanted(url="https://example.org/new", events=(Event.JOB_SUCCEEDED,))
        secrets = (Secret("whsec_BBBB"), Secret("whsec_AAAA", clock.now() + timedelta(days=1)))
        change = WebhookChange(wanted=wanted, secrets=secrets, action="webhook.edit")
        assert await store.change_webhook(made.id, change, version=1, actor="me")
        assert not await store.change_webhook(made.id, change, version=1, actor="me")
        recipient = await store.get_recipient(made.id)
        assert recipient is not None
        assert recipient.secrets == secrets
        assert (recipient.view.wanted, recipient.view.version) == (wanted, 2)
        assert recipient.view.created_at == made.created_at
        assert recipient.view.changed_at == clock.now()
        assert recipient.view.state is EndpointState.ACTIVE

    async def test_what_is_deleted_is_gone(self, store: Store) -> None:
        made = await _made(store)
        assert await store.delete_webhook(made.id, actor="me")
        assert not await store.delete_webhook(made.id, actor="me")
        assert await store.get_recipient(made.id) is None
        assert await store.list_listeners() == []

    async def test_successes_and_failures_are_kept(
        self, store: Store, clock: SettableClock
    ) -> None:
        hook = (await _made(store)).id
        began = clock.now()
        assert not await store.note_delivery(hook, succeeded=False, failing_max=_FIVE_DAYS)
        clock.advance(timedelta(minutes=1))
        assert not await store.note_delivery(hook, succeeded=False, failing_max=_FIVE_DAYS)
        found = await _view(store, hook)
        assert (found.failing_since, found.last_failure_at) == (began, clock.now())
        assert (found.last_success_at, found.version) == (None, 1)
        clock.advance(timedelta(minutes=1))
        assert not await store.note_delivery(hook, succeeded=True, failing_max=_FIVE_DAYS)
        found = await _view(store, hook)
        assert (found.failing_since, found.last_success_at) == (None, clock.now())

    async def test_many_deliveries_of_one_second_are_one_instant(
        self, store: Store, clock: SettableClock
    ) -> None:
        hook = (await _made(store)).id
        first = clock.now()
        for _ in range(3):
            await store.note_delivery(hook, succeeded=True, failing_max=_FIVE_DAYS)
            clock.advance(timedelta(milliseconds=300))
        assert (await _view(store, hook)).last_success_at == first

    async def test_nothing_but_failures_for_long_disables(
        self, store: Store, clock: SettableClock
    ) -> None:
        hook = (await _made(store)).id
        assert not await store.note_delivery(hook, succeeded=False, failing_max=_FIVE_DAYS)
        clock.advance(_FIVE_DAYS)
        assert not await store.note_delivery(hook, succeeded=False, failing_max=_FIVE_DAYS)
        clock.advance(timedelta(seconds=2))
        assert await store.note_delivery(hook, succeeded=False, failing_max=_FIVE_DAYS)
        found = await _view(store, hook)
        assert found.state is EndpointState.DISABLED
        assert found.reason == "nothing but failures for more than 5 days"
        # It became so once.
        clock.advance(timedelta(seconds=2))
        assert not await store.note_delivery(hook, succeeded=False, failing_max=_FIVE_DAYS)
        enable = WebhookChange(state=EndpointState.ACTIVE, action="webhook.enable")
        assert await store.change_webhook(hook, enable, version=1, actor="me")
        found = await _view(store, hook)
        assert (found.state, found.reason, found.failing_since) == (
            EndpointState.ACTIVE,
            "",
            None,
        )

    async def test_one_that_is_gone_is_disabled_at_once(self, store: Store) -> None:
        hook = (await _made(store)).id
        assert await store.note_delivery(
            hook, succeeded=False, failing_max=_FIVE_DAYS, gone="it answered 410"
        )
        found = await _view(store, hook)
        assert (found.state, found.reason) == (EndpointState.DISABLED, "it answered 410")

    async def test_one_of_a_job_goes_after_its_job(
        self, store: Store, clock: SettableClock
    ) -> None:
        live = await submit_one(store)
        kept = await _made(store, job_id=live)
        everything = await _made(store)
        await _made(store, job_id=new_job_id())
        assert await store.forget_webhooks(10) == 0
        clock.advance(timedelta(hours=2))
        assert await store.forget_webhooks(10) == 1
        left = await store.list_webhooks(None, limit=10)
        assert {hook.id for hook in left} == {kept.id, everything.id}
        claimed = (await claim(store, await open_worker(store)))[0]
        assert claimed.job_id == live
        await accept(store, claimed, FAILED_FOR_GOOD)
        # Dead, and may come back.
        assert await store.forget_webhooks(10) == 0
        await store.purge([live], actor="me")
        assert await store.forget_webhooks(10) == 1

    async def test_forgetting_is_bounded(self, store: Store, clock: SettableClock) -> None:
        for _ in range(3):
            await _made(store, job_id=new_job_id())
        clock.advance(timedelta(hours=2))
        assert [await store.forget_webhooks(2) for _ in range(3)] == [2, 1, 0]


def _notices(count: int = 2) -> tuple[NewJob, ...]:
    return tuple(new_job(kind="test.notice", queue="notices") for _ in range(count))


class NoticeSuite(Suite):
    """Notices are inserted with the verdict that they tell, once, and never without it."""

    @pytest.mark.parametrize(
        "outcome",
        [SUCCEEDED, FAILED, FAILED_FOR_GOOD, Lost("gone"), Snoozed(1_000), Cancelled(), Released()],
    )
    async def test_they_come_with_every_verdict_and_once(
        self, store: Store, outcome: Outcome
    ) -> None:
        claimed = await start(store)
        notices = _notices()
        await accept(store, claimed, outcome, notices=notices)
        for notice in notices:
            found = await view(store, notice.id)
            assert (found.kind, found.queue) == ("test.notice", "notices")
            assert found.state is JobState.READY
        assert (await report(store, claimed, outcome, notices=_notices())).repeated
        assert sum((await counts(store)).values()) == 3

    async def test_they_do_not_come_with_a_stale_verdict(self, store: Store) -> None:
        claimed = await start(store)
        await accept(store, claimed, FAILED)
        settled = await report(store, claimed, SUCCEEDED, notices=_notices())
        assert not settled.accepted
        assert await counts(store) == {JobState.RETRYING: 1}

    async def test_a_cancel_that_turns_a_verdict_takes_its_notices(self, store: Store) -> None:
        claimed = await start(store)
        await store.cancel([claimed.job_id], reason="", force=False, actor="me")
        await accept(store, claimed, FAILED, notices=_notices())
        assert await counts(store) == {JobState.CANCELLED: 1}

    @pytest.mark.parametrize("outcome", [SUCCEEDED, FAILED_FOR_GOOD])
    async def test_an_end_in_spite_of_a_cancel_is_told(
        self, store: Store, outcome: Outcome
    ) -> None:
        claimed = await start(store)
        await store.cancel([claimed.job_id], reason="", force=False, actor="me")
        await accept(store, claimed, outcome, notices=_notices(1))
        assert (await counts(store))[JobState.READY] == 1

    async def test_they_come_beside_a_follow_up(self, store: Store) -> None:
        claimed = await start(store)
        follow_up = new_job(kind="test.bury")
        await accept(store, claimed, FAILED_FOR_GOOD, follow_up=follow_up, notices=_notices(1))
        assert await counts(store) == {JobState.DEAD: 1, JobState.READY: 2}

    async def test_some_of_a_batch_have_them(self, store: Store) -> None:
        await submit_many(store, 6)
        claimed = await claim(store, await open_worker(store))
        outcomes: list[Outcome] = [SUCCEEDED, SUCCEEDED, FAILED, FAILED_FOR_GOOD, SUCCEEDED, FAILED]
        batch = [
            verdict(job, outcome, notices=_notices(number % 2))
            for number, (job, outcome) in enumerate(zip(claimed, outcomes, strict=True))
        ]
        assert all(item.accepted for item in await store.settle(batch))
        assert await counts(store) == {
            JobState.SUCCEEDED: 3,
            JobState.DEAD: 1,
            JobState.RETRYING: 2,
            JobState.READY: 3,
        }
