"""Endpoints through the desk: what is checked, what is kept, what is sent."""

import base64
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from mainspring.domain.errors import (
    Changed,
    Conflict,
    InvalidId,
    InvalidInput,
    LimitReached,
    MainspringError,
    NotFound,
    SubmissionKeyReused,
)
from mainspring.domain.ids import JOB, SCHEDULE, WEBHOOK, show, show_job
from mainspring.domain.job import JobView
from mainspring.domain.states import JobState
from mainspring.domain.webhooks import KIND, QUEUE, EndpointState, Event, Message, Secret
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import ClientGateway, Submission
from mainspring.ports.store import Store
from mainspring.ports.webhooks import WebhookDraft, WebhookEdit
from mainspring.registry import webhooks
from mainspring.registry.bound import bound_desk
from mainspring.registry.desk import FrontDesk
from mainspring.testing.builders import claim_ask, lanes, new_session, verdict
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import FAILED_FOR_GOOD, SUCCEEDED
from tests.registry.faults import Faulty

ADA = "ada"
URL = "https://example.org/hooks"


def draft(**changes: Any) -> WebhookDraft:
    given: dict[str, Any] = {"url": URL, "events": ["job.dead"]}
    return WebhookDraft(**given | changes)


async def test_an_endpoint_is_made_with_a_secret_that_is_shown_once(
    gateway: ClientGateway, store: Store
) -> None:
    job, schedule = show(JOB, bytes(16)), show(SCHEDULE, bytes(16))
    wanted = draft(
        events=["job.dead", "job.failed", "job.dead"],
        job=job,
        schedule=schedule,
        kinds=["a.b"],
        queues=["mail"],
        description="ops",
        tenant="acme",
    )
    made = await gateway.webhooks.create(wanted, actor=ADA)
    assert len(base64.b64decode(made.secret.removeprefix("whsec_"))) == 32
    view = await gateway.webhooks.get(made.webhook.webhook_id, tenant="acme")
    assert view == made.webhook
    assert (view.tenant, view.state) == ("acme", EndpointState.ACTIVE)
    assert view.wanted.events == (Event.JOB_DEAD, Event.JOB_FAILED)
    assert (view.wanted.job_id, view.wanted.schedule_id) == (bytes(16), bytes(16))
    assert made.secret not in repr(view)
    assert made.secret not in repr(await gateway.webhooks.list())
    other = await gateway.webhooks.create(draft(), actor=ADA)
    assert other.secret != made.secret


@pytest.mark.parametrize(
    ("changes", "words", "hint"),
    [
        ({"url": "ftp://example.org/x"}, "not of http or https", "https://"),
        ({"url": "example.org"}, "not of http or https", "https://"),
        ({"url": "https:///path"}, "needs a host", "https://"),
        ({"url": "https://ada:pw@example.org"}, "user or password", "https://"),
        ({"url": "https://example.org/a b"}, "space", "https://"),
        ({"url": "https://example.org:99999/"}, "cannot be read", "https://"),
        ({"url": "https://" + "a" * 3_000}, "2,048 characters", ""),
        ({"url": 7}, "text of at most", ""),
        ({"url": "http://127.0.0.1/"}, "not in the public internet", "WEBHOOK_REACH"),
        ({"url": "http://localhost:80/"}, "not in the public internet", "WEBHOOK_REACH"),
        ({"url": "http://a.localhost./"}, "not in the public internet", "WEBHOOK_REACH"),
        ({"url": "http://[::1]/"}, "not in the public internet", "WEBHOOK_REACH"),
        ({"url": "http://[64:ff9b::a00:1]/"}, "not in the public internet", "WEBHOOK_REACH"),
        ({"url": "http://169.254.169.254/x"}, "not in the public internet", "WEBHOOK_REACH"),
        ({"url": "http://10.9.8.7/"}, "not in the public internet", "WEBHOOK_REACH"),
        ({"events": []}, "name what it shall be told of", "job.succeeded"),
        ({"events": "job.dead"}, "name what it shall be told of", "job.succeeded"),
        ({"events": ["job.succeed"]}, "no event 'job.succeed'", "did you mean job.succeeded?"),
        ({"events": ["webhook.test"]}, "no event 'webhook.test'", ""),
        ({"kinds": ["no good"]}, "kinds", ""),
        ({"kinds": "mail"}, "in a list", "['mail']"),
        ({"queues": ["q"] * 101}, "queues", ""),
        ({"tenant": "a b"}, "tenant", ""),
        ({"description": "x" * 1_001}, "description", ""),
    ],
)
async def test_what_cannot_be_is_refused(
    gateway: ClientGateway, changes: dict[str, Any], words: str, hint: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        await gateway.webhooks.create(draft(**changes), actor=ADA)
    assert words in caught.value.message
    assert hint in (caught.value.hint or "")
    assert await gateway.webhooks.list() == []


@pytest.mark.parametrize("changes", [{"job": "sch_1"}, {"schedule": "nightly"}])
async def test_ids_are_checked(gateway: ClientGateway, changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidId):
        await gateway.webhooks.create(draft(**changes), actor=ADA)


async def test_an_operator_may_allow_what_is_not_public(store: Store) -> None:
    desk = FrontDesk(
        store, blobs=None, new_id=new_job_id, webhook_reach=("10.1.0.0/16", "hooks.localhost")
    )
    for url in ("http://10.1.2.3/", "http://hooks.localhost/"):
        await desk.webhooks.create(draft(url=url), actor=ADA)
    with pytest.raises(InvalidInput):
        await desk.webhooks.create(draft(url="http://10.2.0.1/"), actor=ADA)


async def test_a_tenant_has_so_many_endpoints_and_no_more(
    gateway: ClientGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "WEBHOOKS_MAX", 2)
    for _ in range(2):
        await gateway.webhooks.create(draft(), actor=ADA)
    with pytest.raises(LimitReached, match="has 2 endpoints"):
        await gateway.webhooks.create(draft(), actor=ADA)
    await gateway.webhooks.create(draft(tenant="other"), actor=ADA)


async def test_another_tenants_endpoint_is_one_that_does_not_exist(gateway: ClientGateway) -> None:
    made = await gateway.webhooks.create(draft(tenant="acme"), actor=ADA)
    theirs = made.webhook.webhook_id
    unknown = show(WEBHOOK, new_job_id())
    for hook in (theirs, unknown):
        hooks = gateway.webhooks
        for ask in (
            hooks.get(hook, tenant="other"),
            hooks.edit(hook, WebhookEdit(description="x"), tenant="other", actor=ADA),
            hooks.rotate(hook, tenant="other", actor=ADA),
            hooks.disable(hook, tenant="other", actor=ADA),
            hooks.enable(hook, tenant="other", actor=ADA),
            hooks.delete(hook, tenant="other", actor=ADA),
            hooks.deliveries(hook, tenant="other"),
            hooks.send_test(hook, tenant="other", actor=ADA),
        ):
            with pytest.raises(NotFound) as caught:
                await ask
            assert caught.value.message == f"there is no webhook {hook}"
    assert await gateway.webhooks.list("other") == []
    assert await gateway.webhooks.get(theirs) == made.webhook


async def test_an_edit_changes_what_is_given(gateway: ClientGateway) -> None:
    made = await gateway.webhooks.create(draft(kinds=["a"]), actor=ADA)
    hook = made.webhook.webhook_id
    wanted = WebhookEdit(url="https://example.org/new", events=["job.succeeded"])
    edited = await gateway.webhooks.edit(hook, wanted, version=1, actor=ADA)
    assert (edited.version, edited.wanted.url) == (2, "https://example.org/new")
    assert (edited.wanted.events, edited.wanted.kinds) == ((Event.JOB_SUCCEEDED,), ("a",))
    # Nothing new: no new version.
    assert (await gateway.webhooks.edit(hook, wanted, actor=ADA)).version == 2
    with pytest.raises(Changed, match="version 2 by now"):
        await gateway.webhooks.edit(hook, WebhookEdit(description="x"), version=1, actor=ADA)
    for bad in (WebhookEdit(url="http://10.0.0.1"), WebhookEdit(events=["nope"])):
        with pytest.raises(InvalidInput):
            await gateway.webhooks.edit(hook, bad, actor=ADA)


async def test_a_new_secret_leaves_the_old_one_a_while(
    gateway: ClientGateway, store: Store, clock: SettableClock
) -> None:
    first = await gateway.webhooks.create(draft(), actor=ADA)
    hook = first.webhook.webhook_id

    async def secrets() -> tuple[Secret, ...]:
        found = await store.get_recipient(first.webhook.id)
        assert found is not None
        return found.secrets

    second = await gateway.webhooks.rotate(hook, keep_seconds=3_600, actor=ADA)
    until = clock.now() + timedelta(hours=1)
    assert await secrets() == (Secret(second.secret), Secret(first.secret, until))
    # Two at most: the oldest goes.
    third = await gateway.webhooks.rotate(hook, keep_seconds=3_600, actor=ADA)
    assert await secrets() == (Secret(third.secret), Secret(second.secret, until))
    fourth = await gateway.webhooks.rotate(hook, keep_seconds=0, actor=ADA)
    assert await secrets() == (Secret(fourth.secret),)
    assert fourth.webhook.version == 4
    with pytest.raises(InvalidInput):
        await gateway.webhooks.rotate(hook, keep_seconds=-1, actor=ADA)


async def test_a_secret_is_replaced_for_the_version_that_was_seen(
    gateway: ClientGateway, store: Store
) -> None:
    first = await gateway.webhooks.create(draft(), actor=ADA)
    hook = first.webhook.webhook_id
    second = await gateway.webhooks.rotate(hook, version=1, actor=ADA)
    # The same again, as after a lost answer: the secret that the receiver knows signs on.
    with pytest.raises(Changed):
        await gateway.webhooks.rotate(hook, version=1, actor=ADA)
    found = await store.get_recipient(first.webhook.id)
    assert found is not None
    assert [each.value for each in found.secrets] == [second.secret, first.secret]


async def test_an_endpoint_is_made_once_under_its_key(
    gateway: ClientGateway, clock: SettableClock
) -> None:
    first = await gateway.webhooks.create(draft(), key="pager", actor=ADA)
    clock.advance(timedelta(hours=23))
    assert await gateway.webhooks.create(draft(), key="pager", actor=ADA) == first
    other = await gateway.webhooks.create(draft(), key="other", actor=ADA)
    assert other.webhook.id != first.webhook.id
    theirs = await gateway.webhooks.create(draft(tenant="acme"), key="pager", actor=ADA)
    assert theirs.webhook.tenant == "acme"
    with pytest.raises(SubmissionKeyReused):
        await gateway.webhooks.create(draft(description="x"), key="pager", actor=ADA)
    await gateway.webhooks.rotate(first.webhook.webhook_id, actor=ADA)
    with pytest.raises(Conflict, match="changed since"):
        await gateway.webhooks.create(draft(), key="pager", actor=ADA)
    assert len(await gateway.webhooks.list("default")) == 2


async def test_disabling_and_enabling_say_whether_they_changed_anything(
    gateway: ClientGateway,
) -> None:
    hook = (await gateway.webhooks.create(draft(), actor=ADA)).webhook.webhook_id
    assert not await gateway.webhooks.enable(hook, actor=ADA)
    assert await gateway.webhooks.disable(hook, reason="moved", actor=ADA)
    assert not await gateway.webhooks.disable(hook, actor=ADA)
    assert (await gateway.webhooks.get(hook)).reason == "moved"
    assert await gateway.webhooks.enable(hook, actor=ADA)
    assert (await gateway.webhooks.get(hook)).state is EndpointState.ACTIVE
    assert await gateway.webhooks.delete(hook, actor=ADA)
    with pytest.raises(NotFound):
        await gateway.webhooks.delete(hook, actor=ADA)


async def test_two_who_change_at_once_both_have_their_way(
    shaky_desk: FrontDesk, faulty: Faulty, desk: FrontDesk
) -> None:
    hook = (await desk.webhooks.create(draft(), actor=ADA)).webhook.webhook_id
    await shaky_desk.webhooks.edit(hook, WebhookEdit(description="a"), actor=ADA)
    await desk.webhooks.edit(hook, WebhookEdit(events=["job.failed"]), actor=ADA)
    found = await desk.webhooks.get(hook)
    assert (found.wanted.description, found.wanted.events) == ("a", (Event.JOB_FAILED,))


async def _end(store: Store, job: JobView, *, well: bool) -> None:
    session = new_session()
    await store.open_session(session)
    ask = claim_ask(session.id, lanes=lanes({QUEUE: 1}), kinds=(KIND,))
    (claimed,) = await store.claim(ask)
    assert claimed.job_id == job.id
    await store.settle([verdict(claimed, SUCCEEDED if well else FAILED_FOR_GOOD)])


async def test_a_test_is_a_delivery_and_is_found_among_them(
    gateway: ClientGateway, store: Store
) -> None:
    hook = (await gateway.webhooks.create(draft(tenant="acme"), actor=ADA)).webhook.webhook_id
    other = (await gateway.webhooks.create(draft(), actor=ADA)).webhook.webhook_id
    listening = store.wakeups.subscribe({f"queue:{QUEUE}", "webhooks"})
    job = await gateway.webhooks.send_test(hook, actor=ADA)
    assert await listening.wait(30) == {f"queue:{QUEUE}", "webhooks"}
    listening.close()
    assert (job.kind, job.queue, job.tenant) == (KIND, QUEUE, "acme")
    message = msgspec.json.decode(job.payload, type=Message)
    assert (message.endpoint, message.event) == (hook, Event.TEST)
    assert message.info == {"asked_by": ADA}
    assert [each.id for each in await gateway.webhooks.deliveries(hook)] == [job.id]
    assert list(await gateway.webhooks.deliveries(other)) == []


@pytest.mark.parametrize("well", [True, False])
async def test_a_redelivery_keeps_its_webhook_id(
    gateway: ClientGateway, store: Store, clock: SettableClock, *, well: bool
) -> None:
    hook = (await gateway.webhooks.create(draft(), actor=ADA)).webhook.webhook_id
    job = await gateway.webhooks.send_test(hook, actor=ADA)
    with pytest.raises(Conflict, match="delivered without being asked"):
        await gateway.webhooks.redeliver(job.id, actor=ADA)
    await _end(store, job, well=well)
    clock.advance(timedelta(hours=1))
    again = await gateway.webhooks.redeliver(job.id, actor=ADA)
    assert again.state is JobState.READY
    assert again.effect_key == job.effect_key
    assert (again.id == job.id) is not well
    if well:
        # It is told when it happened, not when it was sent again.
        assert msgspec.json.decode(again.payload, type=Message).at == job.created_at
    for tenant in ("other",):
        with pytest.raises(NotFound):
            await gateway.webhooks.redeliver(job.id, tenant=tenant, actor=ADA)


async def test_only_deliveries_to_endpoints_that_are_there_are_redelivered(
    gateway: ClientGateway, store: Store
) -> None:
    unknown = new_job_id()
    with pytest.raises(NotFound, match=show_job(unknown)):
        await gateway.webhooks.redeliver(unknown, actor=ADA)
    hook = (await gateway.webhooks.create(draft(), actor=ADA)).webhook.webhook_id
    job = await gateway.webhooks.send_test(hook, actor=ADA)
    await _end(store, job, well=False)
    await gateway.webhooks.delete(hook, actor=ADA)
    with pytest.raises(NotFound, match=hook):
        await gateway.webhooks.redeliver(job.id, actor=ADA)


async def test_nobody_submits_what_would_be_signed_as_ours(gateway: ClientGateway) -> None:
    for kind in (KIND, "mainspring.other"):
        with pytest.raises(InvalidInput, match="of the product itself"):
            await gateway.submit([Submission(kind=kind, kind_is_known=True)])


async def test_a_desk_for_one_tenant_knows_no_other(desk: FrontDesk) -> None:
    theirs = (await desk.webhooks.create(draft(), actor=ADA)).webhook.webhook_id
    bound = bound_desk(desk, "acme")
    made = await bound.webhooks.create(draft(tenant="acme"), actor=ADA)
    assert made.webhook.tenant == "acme"
    assert [hook.id for hook in await bound.webhooks.list()] == [made.webhook.id]
    job = await bound.webhooks.send_test(made.webhook.webhook_id, actor=ADA)
    assert [each.id for each in await bound.webhooks.deliveries(made.webhook.webhook_id)] == [
        job.id
    ]
    other = await desk.webhooks.send_test(theirs, actor=ADA)
    for ask in (
        bound.webhooks.get(theirs),
        bound.webhooks.delete(theirs, actor=ADA),
        bound.webhooks.redeliver(other.id, actor=ADA),
    ):
        with pytest.raises(NotFound):
            await ask
    with pytest.raises(MainspringError):
        await bound.webhooks.create(draft(tenant="other"), actor=ADA)
    with pytest.raises(MainspringError):
        await bound.webhooks.list("other")
