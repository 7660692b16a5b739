"""Endpoints of webhooks, for code without an event loop: the same questions, each waits."""

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


class BlockingWebhooks:
    """Endpoints that are told what becomes of jobs and schedules: ``client.webhooks``.

    Ids are as they are shown: ``whk_…``. With ``tenant``, an endpoint of another one does not
    exist.
    """

    def __init__(self, door: Door) -> None:
        """Ask through ``door``."""
        self._door = door

    def create(  # noqa: PLR0913 - options, all by name
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

        >>> made = client.webhooks.create("https://example.org/hooks", ["job.dead"])
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
        return self._door.ask(hooking.create(self._door, draft))

    def get(self, webhook: str, /, *, tenant: str | None = None) -> WebhookView:
        """Return an endpoint, or raise ``NotFound``."""
        return self._door.ask(hooking.get(webhook, tenant))

    def list(
        self, tenant: str | None = None, *, limit: int = _PAGE, after: bytes | None = None
    ) -> "list_[WebhookView]":
        """Return endpoints, oldest first; ``after`` the id of the last one seen."""
        return self._door.ask(hooking.page(tenant, limit, after))

    def edit(  # noqa: PLR0913 - options, all by name
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
        return self._door.ask(hooking.edit(self._door, webhook, wanted, version, tenant))

    def rotate_secret(
        self, webhook: str, /, *, keep: str | timedelta = "24h", tenant: str | None = None
    ) -> Made:
        """Make a new secret; for so long the one before signs as well."""
        seconds = milliseconds(keep, name="keep") // 1_000
        return self._door.ask(hooking.rotate(self._door, webhook, seconds, tenant))

    def disable(self, webhook: str, /, *, reason: str = "", tenant: str | None = None) -> bool:
        """Tell it nothing more. False: it was so."""
        return self._door.ask(hooking.disable(self._door, webhook, reason, tenant))

    def enable(self, webhook: str, /, *, tenant: str | None = None) -> bool:
        """Tell it again, of what happens from now on. False: it was so."""
        return self._door.ask(hooking.enable(self._door, webhook, tenant))

    def delete(self, webhook: str, /, *, tenant: str | None = None) -> bool:
        """Delete it for good."""
        return self._door.ask(hooking.delete(self._door, webhook, tenant))

    def deliveries(
        self,
        webhook: str,
        /,
        *,
        limit: int = 50,
        before: bytes | None = None,
        tenant: str | None = None,
    ) -> Page:
        """Return its delivery jobs, newest first; their attempts tell what was answered."""
        return self._door.ask(hooking.deliveries(webhook, limit, before, tenant))

    def redeliver(self, job_id: str, /, *, tenant: str | None = None) -> JobView:
        """Deliver again under the same ``webhook-id``; return the job that does it."""
        return self._door.ask(hooking.redeliver(self._door, job_id, tenant))

    def send_test(self, webhook: str, /, *, tenant: str | None = None) -> JobView:
        """Have a ``webhook.test`` delivered; return the job that does it."""
        return self._door.ask(hooking.send_test(self._door, webhook, tenant))
