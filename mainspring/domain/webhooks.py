"""Endpoints that are told by webhook what becomes of jobs and schedules, as every room names them.

A notification is a *delivery job*: of the kind ``mainspring.webhook`` in a queue of its own,
inserted in the transaction that settles what it tells. Its payload names the endpoint and never
holds a secret.
"""

import difflib
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import msgspec

from mainspring.domain.errors import InvalidInput
from mainspring.domain.ids import WEBHOOK, show
from mainspring.domain.limits import URL_CHARACTERS_MAX, WEBHOOK_FILTER_ITEMS_MAX
from mainspring.domain.names import check_name, check_range

_SIMILAR: Final = 0.5
#: Kind and queue of delivery jobs.
KIND: Final = "mainspring.webhook"
QUEUE: Final = "mainspring.webhooks"
#: Kinds that begin so are the product's own: nobody submits them.
RESERVED: Final = "mainspring."
SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - how every secret begins, and none itself
#: Seconds from one failed try of a delivery to the next: ten tries within three days.
RETRY_SECONDS: Final = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
#: The first try and those above.
DELIVERY_ATTEMPTS: Final = len(RETRY_SECONDS) + 1
#: An endpoint to which nothing but failures went for so long is disabled.
FAILING_SECONDS_MAX: Final = 5 * 86_400
#: What the receiver has to answer within.
DELIVERY_SECONDS_MAX: Final = 15
#: Every process that judges reads the list of endpoints again after so long.
STALE_SECONDS_MAX: Final = 2.0


class Event(StrEnum):
    """What an endpoint may be told of."""

    JOB_SUCCEEDED = "job.succeeded"
    #: An attempt failed, timed out or was lost, and the job will be tried again.
    JOB_FAILED = "job.failed"
    JOB_DEAD = "job.dead"
    #: Fires were missed: left out, or made good later.
    SCHEDULE_MISFIRED = "schedule.misfired"
    #: Somebody asks whether it works. Nobody subscribes to it.
    TEST = "webhook.test"


#: What may be subscribed to.
EVENTS: Final = tuple(event for event in Event if event is not Event.TEST)


class EndpointState(StrEnum):
    """Whether an endpoint is told."""

    ACTIVE = "active"
    DISABLED = "disabled"


class Wanted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All of an endpoint that its user decides; kept as JSON text. Empty filters leave out nothing.

    Filters narrow together: one job, the jobs and fires of one schedule, kinds, queues.
    """

    url: str
    events: tuple[Event, ...]
    description: str = ""
    job_id: bytes | None = None
    schedule_id: bytes | None = None
    kinds: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()


class Secret(msgspec.Struct, frozen=True, omit_defaults=True):
    """A key that signs: ``whsec_`` and the base 64 of random bytes."""

    value: str
    #: While a newer one is taken up: until when this one signs as well.
    until: datetime | None = None


class NewWebhook(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint to be made."""

    id: bytes
    tenant: str
    wanted: Wanted
    secrets: tuple[Secret, ...]


class WebhookView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An endpoint as people see it: without its secrets."""

    id: bytes
    tenant: str
    wanted: Wanted
    state: EndpointState
    #: Grows with every change by people.
    version: int
    created_at: datetime
    changed_at: datetime
    #: Why it is disabled.
    reason: str = ""
    last_success_at: datetime | None = None
    last_failure_at: datetime | None = None
    #: Since when nothing but failures went to it.
    failing_since: datetime | None = None

    @property
    def webhook_id(self) -> str:
        """Return the id as people see it: ``whk_…``."""
        return show(WEBHOOK, self.id)


class Recipient(msgspec.Struct, frozen=True):
    """What a delivery needs of an endpoint. Holds secrets: it never leaves the signing side."""

    view: WebhookView
    secrets: tuple[Secret, ...]


class Listener(msgspec.Struct, frozen=True):
    """What the judging side needs of an active endpoint."""

    id: bytes
    tenant: str
    wanted: Wanted


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The payload of a delivery job."""

    #: The endpoint: ``whk_…``.
    endpoint: str
    event: Event
    #: What is told; thin, so that the receiver asks for more where it needs more.
    info: dict[str, Any] = {}
    #: When it happened, where that is not when the delivery job was made.
    at: datetime | None = None


def check_url(url: object) -> str:
    """Return an address, or raise where it is no text, or too much of it."""
    if not isinstance(url, str) or len(url) > URL_CHARACTERS_MAX:
        raise InvalidInput(f"url: it is to be text of at most {URL_CHARACTERS_MAX:,} characters")
    return url


def events_of(words: Sequence[str]) -> tuple[Event, ...]:
    """Return what an endpoint is to be told of, each once."""
    if isinstance(words, str) or not words:
        raise InvalidInput(
            "events: name what it shall be told of, in a list",
            hint=f"known: {', '.join(EVENTS)}",
        )
    return tuple(dict.fromkeys(_event(word) for word in words))


def filter_of(name: str, words: Sequence[str], most: int) -> tuple[str, ...]:
    """Return the kinds or queues that an endpoint is narrowed to, each once."""
    if isinstance(words, str):
        raise InvalidInput(f"{name}: give them in a list", hint=f"write [{words!r}]")
    check_range(name, len(words), 0, WEBHOOK_FILTER_ITEMS_MAX)
    return tuple(dict.fromkeys(check_name(name, word, most) for word in words))


def _event(word: str) -> Event:
    if word in EVENTS:
        return Event(word)
    near = difflib.get_close_matches(str(word), EVENTS, 1, _SIMILAR)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(EVENTS)}"
    raise InvalidInput(f"events: there is no event {word!r}", hint=hint)
