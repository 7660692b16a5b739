"""The part of a client's door that is about endpoints: ``WebhookGateway`` over REST."""

from collections.abc import Callable
from typing import Any

import msgspec

from mainspring.domain.errors import NotFound
from mainspring.domain.ids import WEBHOOK, parse_job, show, show_job
from mainspring.domain.job import JobView, Page
from mainspring.domain.limits import (
    KIND_CHARACTERS_MAX,
    PAGE_ITEMS_MAX,
    QUEUE_CHARACTERS_MAX,
)
from mainspring.domain.names import check_note, check_range
from mainspring.domain.webhooks import WebhookView, check_url, events_of, filter_of
from mainspring.ports.webhooks import Made, WebhookDraft, WebhookEdit
from mainspring.remote.http import RemoteHttp, path_of
from mainspring.wire.documents.common import Listing
from mainspring.wire.documents.control import JobListing
from mainspring.wire.documents.jobs import JobDocument, job_view
from mainspring.wire.documents.webhooks import (
    MadeWebhookDocument,
    WebhookChanged,
    WebhookDeleted,
    WebhookDocument,
    made_of,
    webhook_view,
)

#: Below, ``list`` is a method.
list_ = list


class RemoteWebhooks:
    """A ``WebhookGateway`` on a server, which knows by the key who acts."""

    def __init__(self, http: RemoteHttp, *, new_id: Callable[[], bytes]) -> None:
        """Ask through ``http``; make keys of ``new_id``."""
        self._http = http
        self._new_id = new_id

    # --- making and changing ------------------------------------------------------------------

    async def create(self, draft: WebhookDraft, *, key: str | None = None, actor: str) -> Made:
        """Make an endpoint, under a key of its own, so that it may be sent again."""
        del actor
        found = await self._http.ask(
            "POST",
            path_of("webhooks"),
            body=_checked(msgspec.structs.asdict(draft)),
            key=key or self._new_id().hex(),
            answer=MadeWebhookDocument,
        )
        return made_of(found)

    async def edit(
        self,
        webhook: str,
        wanted: WebhookEdit,
        *,
        version: int | None = None,
        tenant: str | None = None,
        actor: str,
    ) -> WebhookView:
        """Change what is given."""
        del actor
        given = msgspec.structs.asdict(wanted).items()
        found = await self._http.fetch(
            "PATCH",
            path_of("webhooks", webhook),
            body=_checked({name: value for name, value in given if value is not None}),
            query={"tenant": tenant},
            headers=_for_version(version),
        )
        return webhook_view(self._http.read(found, WebhookDocument))

    async def rotate(
        self,
        webhook: str,
        *,
        keep_seconds: int = 86_400,
        version: int | None = None,
        tenant: str | None = None,
        actor: str,
    ) -> Made:
        """Make a new secret for the version that is there, so that two are never made of one."""
        del actor
        if version is None:
            version = (await self.get(webhook, tenant=tenant)).version
        found = await self._http.fetch(
            "POST",
            path_of("webhooks", webhook, "rotate-secret"),
            body={"keep_seconds": keep_seconds},
            query={"tenant": tenant},
            headers=_for_version(version),
        )
        return made_of(self._http.read(found, MadeWebhookDocument))

    async def disable(
        self, webhook: str, *, reason: str = "", tenant: str | None = None, actor: str
    ) -> bool:
        """Tell it nothing more."""
        del actor
        body = {"reason": check_note("reason", reason)}
        return await self._turn(webhook, "disable", body, tenant)

    async def enable(self, webhook: str, *, tenant: str | None = None, actor: str) -> bool:
        """Tell it again."""
        del actor
        return await self._turn(webhook, "enable", None, tenant)

    async def _turn(self, webhook: str, verb: str, body: object, tenant: str | None) -> bool:
        found = await self._http.ask(
            "POST",
            path_of("webhooks", webhook, verb),
            body=body,
            query={"tenant": tenant},
            answer=WebhookChanged,
        )
        return found.changed

    async def delete(self, webhook: str, *, tenant: str | None = None, actor: str) -> bool:
        """Delete it for good."""
        del actor
        await self.get(webhook, tenant=tenant)
        try:
            found = await self._http.ask(
                "DELETE",
                path_of("webhooks", webhook),
                query={"tenant": tenant},
                answer=WebhookDeleted,
            )
        except NotFound:
            # It was there; the answer that said it is gone may have been lost.
            return True
        return found.changed

    # --- looking ------------------------------------------------------------------------------

    async def get(self, webhook: str, *, tenant: str | None = None) -> WebhookView:
        """Return an endpoint."""
        found = await self._http.ask(
            "GET", path_of("webhooks", webhook), query={"tenant": tenant}, answer=WebhookDocument
        )
        return webhook_view(found)

    async def list(
        self, tenant: str | None = None, *, limit: int = PAGE_ITEMS_MAX, after: bytes | None = None
    ) -> list_[WebhookView]:
        """Return endpoints by id, oldest first."""
        check_range("limit", limit, 1, PAGE_ITEMS_MAX)
        place = None if after is None else show(WEBHOOK, after)
        found = await self._http.ask(
            "GET",
            path_of("webhooks"),
            query={"tenant": tenant, "limit": limit, "after": place},
            answer=Listing[WebhookDocument],
        )
        return [webhook_view(each) for each in found.items]

    # --- deliveries ---------------------------------------------------------------------------

    async def deliveries(
        self,
        webhook: str,
        *,
        limit: int = 50,
        before: bytes | None = None,
        tenant: str | None = None,
    ) -> Page:
        """Return its delivery jobs, newest first."""
        check_range("limit", limit, 1, PAGE_ITEMS_MAX)
        place = None if before is None else show_job(before)
        found = await self._http.ask(
            "GET",
            path_of("webhooks", webhook, "deliveries"),
            query={"tenant": tenant, "limit": limit, "before": place},
            answer=JobListing,
        )
        further = found.next_before
        return Page(
            tuple(job_view(job) for job in found.items),
            None if further is None else parse_job(further),
        )

    async def redeliver(self, job_id: bytes, *, tenant: str | None = None, actor: str) -> JobView:
        """Deliver again; sent twice it has the same ``webhook-id``."""
        del actor
        path = path_of("deliveries", show_job(job_id), "redeliver")
        query = {"tenant": tenant}
        return job_view(await self._http.ask("POST", path, query=query, answer=JobDocument))

    async def send_test(self, webhook: str, *, tenant: str | None = None, actor: str) -> JobView:
        """Have a test delivered."""
        del actor
        path = path_of("webhooks", webhook, "test")
        query = {"tenant": tenant}
        return job_view(await self._http.ask("POST", path, query=query, answer=JobDocument))


def _for_version(version: int | None) -> dict[str, str]:
    return {} if version is None else {"If-Match": f'"{version}"'}


def _checked(members: dict[str, Any]) -> dict[str, Any]:
    """Return what is to be sent, or raise what would not arrive as it is meant."""
    checked = dict(members)
    if "url" in members:
        check_url(members["url"])
    if "events" in members:
        checked["events"] = events_of(members["events"])
    for name, most in (("kinds", KIND_CHARACTERS_MAX), ("queues", QUEUE_CHARACTERS_MAX)):
        if name in members:
            checked[name] = filter_of(name, members[name], most)
    return checked
