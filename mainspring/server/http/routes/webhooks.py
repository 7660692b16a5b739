"""Endpoints of webhooks and their deliveries. Secrets are in the answers that make them alone."""

import msgspec

from mainspring.domain.access import Right
from mainspring.domain.errors import (
    Changed,
    Conflict,
    InvalidCursor,
    InvalidId,
    LimitReached,
    NotFound,
    SubmissionKeyReused,
)
from mainspring.domain.ids import JOB, SCHEDULE, WEBHOOK, parse, parse_job, show_job
from mainspring.domain.job import JobView
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.names import check_range
from mainspring.domain.webhooks import WebhookView
from mainspring.server.http.calls import Answer, Call, Cursor, header_key
from mainspring.server.http.editing import check_version, version_meant, with_tag
from mainspring.server.http.pointing import pointing_at
from mainspring.server.http.routing import Routes
from mainspring.wire.documents.common import Listing
from mainspring.wire.documents.control import JobListing
from mainspring.wire.documents.jobs import JobDocument, job_document
from mainspring.wire.documents.webhooks import (
    DisableBody,
    MadeWebhookDocument,
    RotateSecretBody,
    WebhookBody,
    WebhookChanged,
    WebhookDeleted,
    WebhookDocument,
    WebhookPatch,
    made_document,
    webhook_document,
    webhook_draft,
    webhook_edit,
)

routes = Routes("Webhooks")


class OwnerQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose an endpoint is; left out: whoever's the key may reach."""

    tenant: str | None = None


class WebhooksQuery(OwnerQuery, frozen=True, kw_only=True):
    """Which endpoints a list has."""

    limit: int = 50
    cursor: str | None = None
    #: In place of a cursor: behind the endpoint with this id.
    after: str | None = None


class DeliveriesQuery(OwnerQuery, frozen=True, kw_only=True):
    """Which deliveries of an endpoint."""

    limit: int = 50
    cursor: str | None = None
    #: In place of a cursor: behind this job.
    before: str | None = None


@routes.add("GET", "/api/v1/webhooks", Right.WEBHOOKS_READ, errors=(InvalidCursor, InvalidId))
async def list_webhooks(call: Call, query: WebhooksQuery) -> Listing[WebhookDocument]:
    """List endpoints, oldest first, without their secrets."""
    check_range("limit", query.limit, 1, PAGE_ITEMS_MAX)
    tenant = call.any_tenant(query.tenant)
    cursor = Cursor("webhooks", tenant)
    after = cursor.read_id(query.cursor)
    if after is None and query.after is not None:
        with pointing_at("?after"):
            after = parse(WEBHOOK, query.after)
    found = await call.gateway.webhooks.list(tenant, limit=query.limit, after=after)
    more = found[-1].id if len(found) == query.limit else None
    return Listing(items=[webhook_document(view) for view in found], next_cursor=cursor.text(more))


@routes.add(
    "POST",
    "/api/v1/webhooks",
    Right.WEBHOOKS_WRITE,
    status=201,
    errors=(InvalidId, LimitReached, Conflict, SubmissionKeyReused),
    headers=("Idempotency-Key",),
)
async def create_webhook(call: Call, body: WebhookBody) -> Answer[MadeWebhookDocument]:
    """Make an endpoint; the answer shows its secret, this once.

    With the header ``Idempotency-Key`` the same request may be sent again for a day: it is answered
    with the same endpoint and secret, unless that was changed meanwhile.
    """
    with pointing_at("/job"):
        if body.job is not None:
            parse(JOB, body.job.partition(":")[0])
    with pointing_at("/schedule"):
        if body.schedule is not None:
            parse(SCHEDULE, body.schedule)
    draft = webhook_draft(body, call.tenant(body.tenant))
    made = await call.gateway.webhooks.create(draft, key=header_key(call), actor=call.actor)
    where = f"/api/v1/webhooks/{made.webhook.webhook_id}"
    return with_tag(call, made_document(made), made.webhook.version, location=where)


@routes.add(
    "GET",
    "/api/v1/webhooks/{webhook_id}",
    Right.WEBHOOKS_READ,
    statuses=(304,),
    errors=(NotFound, InvalidId),
    headers=("If-None-Match",),
)
async def get_webhook(call: Call, webhook_id: str, query: OwnerQuery) -> Answer[WebhookDocument]:
    """Return an endpoint, without its secret."""
    view = await _found(call, webhook_id, query)
    return with_tag(call, webhook_document(view), view.version)


@routes.add(
    "PATCH",
    "/api/v1/webhooks/{webhook_id}",
    Right.WEBHOOKS_WRITE,
    errors=(NotFound, InvalidId, Changed),
    headers=("If-Match",),
)
async def change_webhook(
    call: Call, webhook_id: str, body: WebhookPatch, query: OwnerQuery
) -> Answer[WebhookDocument]:
    """Change some of an endpoint by a JSON merge patch; the job or schedule of one stays."""
    view = await _found(call, webhook_id, query)
    version = version_meant(call)
    if version is None:
        version = check_version(call, f"the webhook {webhook_id}", view.version)
    edited = await call.gateway.webhooks.edit(
        webhook_id, webhook_edit(body), version=version, tenant=view.tenant, actor=call.actor
    )
    return with_tag(call, webhook_document(edited), edited.version)


@routes.add(
    "DELETE",
    "/api/v1/webhooks/{webhook_id}",
    Right.WEBHOOKS_WRITE,
    errors=(NotFound, InvalidId, Changed),
    headers=("If-Match",),
)
async def delete_webhook(call: Call, webhook_id: str, query: OwnerQuery) -> WebhookDeleted:
    """Delete an endpoint for good, with its secrets."""
    view = await _found(call, webhook_id, query)
    check_version(call, f"the webhook {webhook_id}", view.version)
    changed = await call.gateway.webhooks.delete(webhook_id, tenant=view.tenant, actor=call.actor)
    return WebhookDeleted(id=view.webhook_id, changed=changed)


@routes.add(
    "POST",
    "/api/v1/webhooks/{webhook_id}/rotate-secret",
    Right.WEBHOOKS_WRITE,
    status=201,
    errors=(NotFound, InvalidId, Changed),
    headers=("If-Match",),
)
async def rotate_secret(
    call: Call, webhook_id: str, body: RotateSecretBody, query: OwnerQuery
) -> Answer[MadeWebhookDocument]:
    """Make a new secret, which the answer shows, this once; the old one signs as well for a while.

    Two secrets sign at most. Send ``If-Match``: then a repetition after a lost answer is refused,
    and does not replace the secret that the receiver knows.
    """
    view = await _found(call, webhook_id, query)
    made = await call.gateway.webhooks.rotate(
        webhook_id,
        keep_seconds=body.keep_seconds,
        version=check_version(call, f"the webhook {webhook_id}", view.version),
        tenant=view.tenant,
        actor=call.actor,
    )
    return with_tag(call, made_document(made), made.webhook.version)


@routes.add(
    "POST",
    "/api/v1/webhooks/{webhook_id}/disable",
    Right.WEBHOOKS_WRITE,
    errors=(NotFound, InvalidId, Changed),
)
async def disable_webhook(
    call: Call, webhook_id: str, body: DisableBody, query: OwnerQuery
) -> WebhookChanged:
    """Tell an endpoint nothing more; deliveries that wait end as dead letters."""
    view = await _found(call, webhook_id, query)
    changed = await call.gateway.webhooks.disable(
        webhook_id, reason=body.reason, tenant=view.tenant, actor=call.actor
    )
    return await _now(call, view, changed=changed)


@routes.add(
    "POST",
    "/api/v1/webhooks/{webhook_id}/enable",
    Right.WEBHOOKS_WRITE,
    errors=(NotFound, InvalidId, Changed),
)
async def enable_webhook(call: Call, webhook_id: str, query: OwnerQuery) -> WebhookChanged:
    """Tell an endpoint again from now on."""
    view = await _found(call, webhook_id, query)
    changed = await call.gateway.webhooks.enable(webhook_id, tenant=view.tenant, actor=call.actor)
    return await _now(call, view, changed=changed)


@routes.add(
    "GET",
    "/api/v1/webhooks/{webhook_id}/deliveries",
    Right.WEBHOOKS_READ,
    errors=(NotFound, InvalidId, InvalidCursor),
)
async def list_deliveries(call: Call, webhook_id: str, query: DeliveriesQuery) -> JobListing:
    """List the delivery jobs of an endpoint, newest first; their attempts are the history."""
    check_range("limit", query.limit, 1, PAGE_ITEMS_MAX)
    view = await _found(call, webhook_id, query)
    cursor = Cursor("deliveries", view.id)
    before = cursor.read_id(query.cursor)
    if before is None and query.before is not None:
        with pointing_at("?before"):
            before = parse_job(query.before)
    page = await call.gateway.webhooks.deliveries(
        webhook_id, limit=query.limit, before=before, tenant=view.tenant
    )
    return JobListing(
        items=[job_document(job) for job in page.items],
        next_cursor=cursor.text(page.next_before),
        next_before=None if page.next_before is None else show_job(page.next_before),
    )


@routes.add(
    "POST",
    "/api/v1/deliveries/{job_id}/redeliver",
    Right.WEBHOOKS_WRITE,
    status=202,
    errors=(NotFound, InvalidId, Conflict),
)
async def redeliver(call: Call, job_id: str, query: OwnerQuery) -> Answer[JobDocument]:
    """Deliver again under the same ``webhook-id``, by the job that is returned."""
    job = await call.gateway.webhooks.redeliver(
        parse_job(job_id), tenant=call.any_tenant(query.tenant), actor=call.actor
    )
    return _delivered(job)


@routes.add(
    "POST",
    "/api/v1/webhooks/{webhook_id}/test",
    Right.WEBHOOKS_WRITE,
    status=202,
    errors=(NotFound, InvalidId),
)
async def send_test(call: Call, webhook_id: str, query: OwnerQuery) -> Answer[JobDocument]:
    """Have a ``webhook.test`` delivered, by the job that is returned."""
    job = await call.gateway.webhooks.send_test(
        webhook_id, tenant=call.any_tenant(query.tenant), actor=call.actor
    )
    return _delivered(job)


async def _found(call: Call, webhook_id: str, query: OwnerQuery) -> WebhookView:
    return await call.gateway.webhooks.get(webhook_id, tenant=call.any_tenant(query.tenant))


async def _now(call: Call, view: WebhookView, *, changed: bool) -> WebhookChanged:
    after = await call.gateway.webhooks.get(view.webhook_id, tenant=view.tenant)
    return WebhookChanged(id=after.webhook_id, changed=changed, state=after.state)


def _delivered(job: JobView) -> Answer[JobDocument]:
    return Answer(job_document(job), headers=[("location", f"/api/v1/jobs/{show_job(job.id)}")])
