"""Operations and webhooks behind a server: what is sent again when an answer is lost on the way."""

from __future__ import annotations

import pytest

from mainspring.domain.errors import Changed, NotFound
from mainspring.domain.operation import OperationState
from mainspring.ports.entropy import new_job_id
from mainspring.ports.operations import OperationAsk
from mainspring.ports.store import Store
from mainspring.ports.webhooks import WebhookDraft, WebhookEdit
from mainspring.remote.operations import RemoteOperations
from mainspring.remote.webhooks import RemoteWebhooks
from mainspring.testing.conformance.steps import make_dead
from tests.registry.drafts import ADA
from tests.remote.conftest import Losing


async def test_an_operation_is_begun_once_and_turned_as_it_was_said(
    losing: Losing, store: Store
) -> None:
    operations = RemoteOperations(losing, new_id=new_job_id)
    await make_dead(store)
    ask = OperationAsk(action="replay", query="kind:test.*")
    losing.losses = 2
    first = await operations.start(ask, actor=ADA)
    losing.losses = 2
    made = await operations.start(ask, key="tonight", actor=ADA)
    assert [each.id for each in await operations.list()] == [made.id, first.id]
    for say, state in (
        (operations.pause, OperationState.PAUSED),
        (operations.resume, OperationState.RUNNING),
        (operations.abort, OperationState.ABORTED),
    ):
        losing.losses = 1
        assert (await say(made.id, actor=ADA)).state is state
    preview = await operations.preview(OperationAsk(action="purge", query="kind:test.*"), actor=ADA)
    losing.losses = 1
    begun = await operations.confirm(preview.operation.id, actor=ADA)
    assert begun.state is OperationState.RUNNING


async def test_an_endpoint_is_made_once_and_keeps_the_secret_that_is_known(
    losing: Losing, store: Store
) -> None:
    webhooks = RemoteWebhooks(losing, new_id=new_job_id)
    losing.losses = 2
    made = await webhooks.create(
        WebhookDraft(url="https://example.org/hooks", events=["job.dead"]), actor=ADA
    )
    hook = made.webhook.webhook_id
    recipient = await store.get_recipient(made.webhook.id)
    assert recipient is not None
    assert [secret.value for secret in recipient.secrets] == [made.secret]
    assert await webhooks.list() == [made.webhook]
    losing.losses = 1
    edited = await webhooks.edit(hook, WebhookEdit(description="x"), version=1, actor=ADA)
    assert edited.version == 2

    losing.losses = 1
    with pytest.raises(Changed):
        await webhooks.rotate(hook, version=2, actor=ADA)
    recipient = await store.get_recipient(made.webhook.id)
    assert recipient is not None
    assert recipient.secrets[1].value == made.secret
    assert await webhooks.delete(hook, actor=ADA)
    with pytest.raises(NotFound):
        await webhooks.get(hook)


async def test_a_deletion_whose_answer_was_lost_has_happened(losing: Losing) -> None:
    webhooks = RemoteWebhooks(losing, new_id=new_job_id)
    made = await webhooks.create(
        WebhookDraft(url="https://example.org/hooks", events=["job.dead"]), actor=ADA
    )
    hook = made.webhook.webhook_id
    losing.losses_of = "DELETE"
    losing.losses = 1
    assert await webhooks.delete(hook, actor=ADA)
    assert await webhooks.list() == []
