"""Endpoints of webhooks as they travel. A secret travels once, to whoever had it made."""

from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from mainspring.domain.ids import JOB, SCHEDULE, WEBHOOK, parse, show
from mainspring.domain.webhooks import EndpointState, Event, Wanted, WebhookView
from mainspring.ports.webhooks import Made, WebhookDraft, WebhookEdit


class WebhookBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An endpoint as somebody wants it. Filters narrow together."""

    #: A public address of http or https.
    url: str
    #: ``job.succeeded``, ``job.failed``, ``job.dead``, ``schedule.misfired``.
    events: list[str]
    description: str = ""
    #: Only of this job.
    job: str | None = None
    #: Only of this schedule, by its id, and of its jobs.
    schedule: str | None = None
    kinds: list[str] = []
    queues: list[str] = []
    #: Left out: that of the key, or ``default``.
    tenant: str | None = None


class WebhookPatch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What of an endpoint is to be changed; what is left out stays."""

    url: str | UnsetType = UNSET
    events: list[str] | UnsetType = UNSET
    description: str | UnsetType | None = UNSET
    #: Null, or none: of all kinds.
    kinds: list[str] | UnsetType | None = UNSET
    #: Null, or none: of all queues.
    queues: list[str] | UnsetType | None = UNSET


class RotateSecretBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a secret is replaced."""

    #: For how long the old one signs as well.
    keep_seconds: int = 86_400


class DisableBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why an endpoint is disabled."""

    reason: str = ""


class WebhookDocument(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint, without its secret."""

    id: str
    url: str
    events: list[Event]
    state: EndpointState
    #: Why it is disabled.
    reason: str
    description: str
    tenant: str
    job: str | None
    schedule: str | None
    kinds: list[str]
    queues: list[str]
    #: Grows with every change by people.
    version: int
    created_at: datetime
    changed_at: datetime
    last_success_at: datetime | None
    last_failure_at: datetime | None
    #: Since when nothing but failures went to it.
    failing_since: datetime | None


class MadeWebhookDocument(WebhookDocument, frozen=True, kw_only=True):
    """An endpoint with a new secret: the only time that it is shown."""

    secret: str


class WebhookChanged(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an endpoint that was to be disabled or enabled."""

    id: str
    #: False: it was so already.
    changed: bool
    state: EndpointState


class WebhookDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an endpoint that was to be deleted."""

    id: str
    #: False: somebody else was quicker.
    changed: bool


def webhook_draft(body: WebhookBody, tenant: str) -> WebhookDraft:
    """Return what is asked for; whose it is was decided before."""
    members = msgspec.structs.asdict(body) | {"tenant": tenant}
    return WebhookDraft(**members)


def webhook_edit(body: WebhookPatch) -> WebhookEdit:
    """Return what is to be changed."""
    empty: dict[str, Any] = {"description": "", "kinds": (), "queues": ()}
    given: dict[str, Any] = {
        name: empty[name] if value is None else value
        for name, value in msgspec.structs.asdict(body).items()
        if value is not UNSET
    }
    return WebhookEdit(**given)


def webhook_document(view: WebhookView) -> WebhookDocument:
    """Return an endpoint as it travels."""
    return WebhookDocument(**_members(view))


def made_document(made: Made) -> MadeWebhookDocument:
    """Return an endpoint with its new secret as it travels, once."""
    return MadeWebhookDocument(**_members(made.webhook), secret=made.secret)


def webhook_view(found: WebhookDocument) -> WebhookView:
    """Read an endpoint back."""
    names = WebhookView.__struct_fields__
    members = {name: getattr(found, name) for name in names if name not in ("id", "wanted")}
    return WebhookView(
        id=parse(WEBHOOK, found.id),
        wanted=Wanted(
            url=found.url,
            events=tuple(found.events),
            description=found.description,
            job_id=None if found.job is None else parse(JOB, found.job),
            schedule_id=None if found.schedule is None else parse(SCHEDULE, found.schedule),
            kinds=tuple(found.kinds),
            queues=tuple(found.queues),
        ),
        **members,
    )


def made_of(found: MadeWebhookDocument) -> Made:
    """Read an endpoint with its new secret back."""
    return Made(webhook_view(found), found.secret)


def _members(view: WebhookView) -> dict[str, Any]:
    wanted = view.wanted
    members: dict[str, Any] = msgspec.structs.asdict(view)
    del members["wanted"]
    return members | {
        "id": view.webhook_id,
        "url": wanted.url,
        "events": list(wanted.events),
        "description": wanted.description,
        "job": None if wanted.job_id is None else show(JOB, wanted.job_id),
        "schedule": None if wanted.schedule_id is None else show(SCHEDULE, wanted.schedule_id),
        "kinds": list(wanted.kinds),
        "queues": list(wanted.queues),
    }
