"""Endpoints of webhooks, as the roles see them in a store, and as clients see them.

Secrets leave the store in one way only: ``get_recipient``, for those who sign. No view has them.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

import msgspec

from mainspring.domain.job import JobView, Page
from mainspring.domain.webhooks import (
    EndpointState,
    Listener,
    NewWebhook,
    Recipient,
    Secret,
    Wanted,
    WebhookView,
)


class WebhookChange(msgspec.Struct, frozen=True, kw_only=True):
    """What an endpoint becomes; ``None`` leaves it as it is."""

    wanted: Wanted | None = None
    secrets: tuple[Secret, ...] | None = None
    state: EndpointState | None = None
    #: Why it is disabled; goes with ``state``.
    reason: str = ""
    #: For the audit: what happened, in a word and in JSON text.
    action: str
    detail: str = "{}"


class WebhookStore(Protocol):
    """Endpoints. Every change by people is in the audit, in the same transaction."""

    async def create_webhook(self, new: NewWebhook, *, most: int, actor: str) -> bool:
        """Insert an active endpoint, unless its tenant has ``most`` of them: then False.

        Repeating it with the same id after an unknown outcome changes nothing, and is True.
        """
        ...

    async def get_webhook(self, webhook_id: bytes) -> WebhookView | None:
        """Return an endpoint."""
        ...

    async def get_recipient(self, webhook_id: bytes) -> Recipient | None:
        """Return an endpoint with its secrets, newest first: for signing, and to rotate them."""
        ...

    async def list_webhooks(
        self, tenant: str | None, *, limit: int, after: bytes | None = None
    ) -> list[WebhookView]:
        """Return a tenant's endpoints (``None``: everybody's) by id, after the cursor."""
        ...

    async def list_listeners(self) -> list[Listener]:
        """Return every active endpoint, by id."""
        ...

    async def change_webhook(
        self, webhook_id: bytes, change: WebhookChange, *, version: int, actor: str
    ) -> bool:
        """Change it if it still has this version; one that becomes active has not failed yet.

        False: it has another version, or is gone.
        """
        ...

    async def delete_webhook(self, webhook_id: bytes, *, actor: str) -> bool:
        """Delete it with its secrets. False: there is none."""
        ...

    async def note_delivery(
        self, webhook_id: bytes, *, succeeded: bool, failing_max: timedelta, gone: str = ""
    ) -> bool:
        """Keep how a delivery went; say whether the endpoint became disabled by that.

        A success ends a row of failures. A failure disables an active endpoint when the row began
        longer ago than ``failing_max``, or at once with the reason ``gone``; the audit has it,
        in the name of ``mainspring``. Instants are kept to the second at most, so that many
        deliveries cost few writes.
        """
        ...

    async def forget_webhooks(self, limit: int) -> int:
        """Delete endpoints of one job that is gone; each stays for an hour at least."""
        ...


class WebhookDraft(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint as a client asks for it: names as given, not yet validated."""

    url: str
    events: Sequence[str] = ()
    description: str = ""
    #: Ids as they are shown.
    job: str | None = None
    schedule: str | None = None
    kinds: Sequence[str] = ()
    queues: Sequence[str] = ()
    #: ``None``: the asker's own, which is ``default`` for one that is bound to no tenant.
    tenant: str | None = None


class WebhookEdit(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be changed; ``None`` leaves it as it is."""

    url: str | None = None
    events: Sequence[str] | None = None
    description: str | None = None
    kinds: Sequence[str] | None = None
    queues: Sequence[str] | None = None


class Made(msgspec.Struct, frozen=True):
    """An endpoint with the secret that was made for it: shown here, and never again."""

    webhook: WebhookView
    secret: str


class WebhookGateway(Protocol):
    """All that a client can ask for about endpoints. Ids are as they are shown: ``whk_…``.

    With ``tenant``, an endpoint of another one is one that does not exist.
    """

    async def create(self, draft: WebhookDraft, *, key: str | None = None, actor: str) -> Made:
        """Check it, then make it with a secret of its own.

        ``key`` names an endpoint for a day: asked again, the same one is answered with its secret,
        unless it was changed meanwhile (``Conflict``).
        Raises ``InvalidInput`` for an address that can never be called, ``LimitReached``.
        """
        ...

    async def get(self, webhook: str, *, tenant: str | None = None) -> WebhookView:
        """Return an endpoint, or raise ``NotFound``."""
        ...

    async def list(
        self, tenant: str | None = None, *, limit: int = 500, after: bytes | None = None
    ) -> "list[WebhookView]":
        """Return endpoints by id, oldest first, after the cursor."""
        ...

    async def edit(
        self,
        webhook: str,
        wanted: WebhookEdit,
        *,
        version: int | None = None,
        tenant: str | None = None,
        actor: str,
    ) -> WebhookView:
        """Change it; with ``version``, only if it still has that one, else raise ``Changed``.

        What is so already is left so, whatever its version.
        """
        ...

    async def rotate(
        self,
        webhook: str,
        *,
        keep_seconds: int = 86_400,
        version: int | None = None,
        tenant: str | None = None,
        actor: str,
    ) -> Made:
        """Make a new secret; the one before signs as well for so long, and then no more.

        With ``version``, only if it still has that one, else raise ``Changed``.
        """
        ...

    async def disable(
        self, webhook: str, *, reason: str = "", tenant: str | None = None, actor: str
    ) -> bool:
        """Tell it nothing more; deliveries that wait end as dead letters. False: it was so."""
        ...

    async def enable(self, webhook: str, *, tenant: str | None = None, actor: str) -> bool:
        """Tell it again from now on. False: it was active."""
        ...

    async def delete(self, webhook: str, *, tenant: str | None = None, actor: str) -> bool:
        """Delete it for good."""
        ...

    async def deliveries(
        self,
        webhook: str,
        *,
        limit: int = 50,
        before: bytes | None = None,
        tenant: str | None = None,
    ) -> Page:
        """Return its delivery jobs, newest first: their attempts are the history."""
        ...

    async def redeliver(self, job_id: bytes, *, tenant: str | None = None, actor: str) -> JobView:
        """Deliver again under the same ``webhook-id``: a dead letter is replayed, else copied."""
        ...

    async def send_test(self, webhook: str, *, tenant: str | None = None, actor: str) -> JobView:
        """Have a ``webhook.test`` delivered, and return its delivery job."""
        ...
