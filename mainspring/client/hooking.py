"""What clients ask about endpoints of webhooks, once for both faces."""

from mainspring.domain.ids import parse_job
from mainspring.domain.job import JobView, Page
from mainspring.domain.webhooks import WebhookView
from mainspring.ports.door import Asking, Door
from mainspring.ports.gateway import ClientGateway
from mainspring.ports.webhooks import Made, WebhookDraft, WebhookEdit


def create(door: Door, draft: WebhookDraft) -> Asking[Made]:
    """Ask to make an endpoint."""

    async def ask(gateway: ClientGateway) -> Made:
        return await gateway.webhooks.create(draft, actor=door.actor)

    return ask


def get(webhook: str, tenant: str | None) -> Asking[WebhookView]:
    """Ask for an endpoint."""

    async def ask(gateway: ClientGateway) -> WebhookView:
        return await gateway.webhooks.get(webhook, tenant=tenant)

    return ask


def page(tenant: str | None, limit: int, after: bytes | None) -> Asking[list[WebhookView]]:
    """Ask for endpoints."""

    async def ask(gateway: ClientGateway) -> list[WebhookView]:
        return await gateway.webhooks.list(tenant, limit=limit, after=after)

    return ask


def edit(
    door: Door, webhook: str, wanted: WebhookEdit, version: int | None, tenant: str | None
) -> Asking[WebhookView]:
    """Ask to change an endpoint."""

    async def ask(gateway: ClientGateway) -> WebhookView:
        return await gateway.webhooks.edit(
            webhook, wanted, version=version, tenant=tenant, actor=door.actor
        )

    return ask


def rotate(door: Door, webhook: str, keep_seconds: int, tenant: str | None) -> Asking[Made]:
    """Ask for a new secret."""

    async def ask(gateway: ClientGateway) -> Made:
        return await gateway.webhooks.rotate(
            webhook, keep_seconds=keep_seconds, tenant=tenant, actor=door.actor
        )

    return ask


def disable(door: Door, webhook: str, reason: str, tenant: str | None) -> Asking[bool]:
    """Ask to disable an endpoint."""

    async def ask(gateway: ClientGateway) -> bool:
        return await gateway.webhooks.disable(
            webhook, reason=reason, tenant=tenant, actor=door.actor
        )

    return ask


def enable(door: Door, webhook: str, tenant: str | None) -> Asking[bool]:
    """Ask to enable an endpoint."""

    async def ask(gateway: ClientGateway) -> bool:
        return await gateway.webhooks.enable(webhook, tenant=tenant, actor=door.actor)

    return ask


def delete(door: Door, webhook: str, tenant: str | None) -> Asking[bool]:
    """Ask to delete an endpoint."""

    async def ask(gateway: ClientGateway) -> bool:
        return await gateway.webhooks.delete(webhook, tenant=tenant, actor=door.actor)

    return ask


def deliveries(webhook: str, limit: int, before: bytes | None, tenant: str | None) -> Asking[Page]:
    """Ask for delivery jobs."""

    async def ask(gateway: ClientGateway) -> Page:
        return await gateway.webhooks.deliveries(webhook, limit=limit, before=before, tenant=tenant)

    return ask


def redeliver(door: Door, job_id: str, tenant: str | None) -> Asking[JobView]:
    """Ask to deliver again."""
    wanted = parse_job(job_id)

    async def ask(gateway: ClientGateway) -> JobView:
        return await gateway.webhooks.redeliver(wanted, tenant=tenant, actor=door.actor)

    return ask


def send_test(door: Door, webhook: str, tenant: str | None) -> Asking[JobView]:
    """Ask for a test."""

    async def ask(gateway: ClientGateway) -> JobView:
        return await gateway.webhooks.send_test(webhook, tenant=tenant, actor=door.actor)

    return ask
