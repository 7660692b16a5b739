"""Endpoints of webhooks, for code on an event loop; ``blocking_webhooks`` is the twin face."""

from collections.abc import Sequence
from datetime import timedelta

from mainspring.app.durations import milliseconds
from mainspring.client import hooking
from mainspring.domain.job import JobView, Page
from mainspring.domain.webhooks import WebhookView
from mainspring.ports.door import Door
from mainspring.ports.webhooks import Made, WebhookDraft, WebhookEdit

#: Inside the namespace ``list`` is a method.
list_ = list
_PAGE = 500


class AsyncWebhooks:
    """Endpoints that are told what becomes of jobs and schedules: ``client.webhooks``.

    Ids are as they are shown: ``whk_…``. With ``tenant``, an endpoint of another one does not
    exist.
    """

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    async def create(  # noqa: PLR0913 - options, all by name
        self,
        url: str,
        events: Sequence[str],
        /,
        *,
        description: str = "",
        job: str | None = None,
        schedule: str | None = None,
        kinds: Sequence[str] = (),
        queues: Sequence[str] = (),
        tenant: str | None = None,
    ) -> Made:
        """Make an endpoint; its secret is in the answer, and is never shown again.

        >>> made = await client.webhooks.create("https://example.org/hooks", ["job.dead"])
        >>> made.secret
        'whsec_…'
        """
        draft = WebhookDraft(
            url=url,
            events=events,
            description=description,
            job=job,
            schedule=schedule,
            kinds=kinds,
            queues=queues,
            tenant=tenant,
        )
        return await self._door.aask(hooking.create(self._door, draft))

    async def get(self, webhook: str, /, *, tenant: str | None = None) -> WebhookView:
        """Return an endpoint, or raise ``NotFound``."""
        return await self._door.aask(hooking.get(webhook, tenant))

    async def list(
        self, tenant: str | None = None, *, limit: int = _PAGE, after: bytes | None = None
    ) -> "list_[WebhookView]":
        """Return endpoints, oldest first; ``after`` the id of the last one seen."""
        return await self._door.aask(hooking.page(tenant, limit, after))

    async def edit(  # noqa: PLR0913 - options, all by name
        self,
        webhook: str,
        /,
        *,
        url: str | None = None,
        events: Sequence[str] | None = None,
        description: str | None = None,
        kinds: Sequence[str] | None = None,
        queues: Sequence[str] | None = None,
        version: int | None = None,
        tenant: str | None = None,
    ) -> WebhookView:
        """Change what is given; with ``version``, only if nobody else has changed it since."""
        wanted = WebhookEdit(
            url=url, events=events, description=description, kinds=kinds, queues=queues
        )
        return await self._door.aask(hooking.edit(self._door, webhook, wanted, version, tenant))

    async def rotate_secret(
        self, webhook: str, /, *, keep: str | timedelta = "24h", tenant: str | None = None
    ) -> Made:
        """Make a new secret; for so long the one before signs as well."""
        seconds = milliseconds(keep, name="keep") // 1_000
        return await self._door.aask(hooking.rotate(self._door, webhook, seconds, tenant))

    async def disable(
        self, webhook: str, /, *, reason: str = "", tenant: str | None = None
    ) -> bool:
        """Tell it nothing more. False: it was so."""
        return await self._door.aask(hooking.disable(self._door, webhook, reason, tenant))

    async def enable(self, webhook: str, /, *, tenant: str | None = None) -> bool:
        """Tell it again, of what happens from now on. False: it was so."""
        return await self._door.aask(hooking.enable(self._door, webhook, tenant))

    async def delete(self, webhook: str, /, *, tenant: str | None = None) -> bool:
        """Delete it for good."""
        return await self._door.aask(hooking.delete(self._door, webhook, tenant))

    async def deliveries(
        self,
        webhook: str,
        /,
        *,
        limit: int = 50,
        before: bytes | None = None,
        tenant: str | None = None,
    ) -> Page:
        """Return its delivery jobs, newest first; their attempts tell what was answered."""
        return await self._door.aask(hooking.deliveries(webhook, limit, before, tenant))

    async def redeliver(self, job_id: str, /, *, tenant: str | None = None) -> JobView:
        """Deliver again under the same ``webhook-id``; return the job that does it."""
        return await self._door.aask(hooking.redeliver(self._door, job_id, tenant))

    async def send_test(self, webhook: str, /, *, tenant: str | None = None) -> JobView:
        """Have a ``webhook.test`` delivered; return the job that does it."""
        return await self._door.aask(hooking.send_test(self._door, webhook, tenant))
