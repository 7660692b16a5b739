"""Queues, workers and the kinds that they have declared."""

from datetime import datetime

import msgspec

from mainspring.domain.ids import WORKER, parse, show
from mainspring.domain.job import Backoff, HandlerInfo, QueueView, WorkerView
from mainspring.domain.names import priority_of
from mainspring.wire.documents.common import ObjectText
from mainspring.wire.documents.jobs import PriorityName, priority_name


class QueueDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A queue with what is in it now."""

    paused: bool
    name: str
    paused_at: datetime | None
    paused_reason: str | None
    ready: int
    scheduled: int
    retrying: int
    running: int
    #: Since when the oldest job that could run waits.
    oldest_ready_at: datetime | None


class PauseBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a queue is paused."""

    #: Shown wherever somebody wonders.
    reason: str = ""


class QueueChanged(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a queue that was to be paused or resumed."""

    name: str
    paused: bool
    #: False: it was so already.
    changed: bool


class WorkerDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A worker session."""

    id: str
    name: str
    host: str
    pid: int
    version: str
    #: How many jobs of each queue it runs at once.
    queues: dict[str, int]
    kinds: list[str]
    #: ``alive``, ``draining``, ``lost`` or ``gone``.
    state: str
    started_at: datetime
    beat_at: datetime
    lease_until: datetime
    running: int
    #: Whose jobs it does; null: everybody's.
    tenant: str | None = None


class HandlerDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A kind as its workers declare it: defaults for submissions, and the payload's schema."""

    kind: str
    tenant: str
    queue: str
    priority: PriorityName
    max_attempts: int
    max_crashes: int
    backoff: Backoff | None
    timeout_ms: int
    on_exhausted: str | None
    #: ``async``, ``thread`` or ``process``.
    mode: str
    #: What makes a second job one too many: a key, names of members that count, or true.
    unique: str | bool | list[str] | None
    unique_while: str
    on_duplicate: str
    delay_ms: int | None
    #: JSON Schema of the payload.
    schema: ObjectText
    doc: str


def queue_document(queue: QueueView) -> QueueDocument:
    """Return a queue as it is shown."""
    return QueueDocument(paused=queue.paused_at is not None, **msgspec.structs.asdict(queue))


def queue_view(queue: QueueDocument) -> QueueView:
    """Read a queue back."""
    members = msgspec.structs.asdict(queue)
    members.pop("paused")
    return QueueView(**members)


def worker_document(worker: WorkerView) -> WorkerDocument:
    """Return a worker as it is shown."""
    members = msgspec.structs.asdict(worker)
    members |= {"id": show(WORKER, worker.id), "kinds": list(worker.kinds)}
    return WorkerDocument(**members)


def worker_view(worker: WorkerDocument) -> WorkerView:
    """Read a worker back."""
    members = msgspec.structs.asdict(worker)
    return WorkerView(**members | {"id": parse(WORKER, worker.id), "kinds": tuple(worker.kinds)})


def handler_document(handler: HandlerInfo) -> HandlerDocument:
    """Return a kind as it is shown."""
    unique = handler.unique
    members = msgspec.structs.asdict(handler) | {
        "priority": priority_name(handler.priority),
        "unique": list(unique) if isinstance(unique, tuple) else unique,
        "schema": msgspec.Raw(handler.schema.encode()),
    }
    return HandlerDocument(**members)


def handler_info(handler: HandlerDocument) -> HandlerInfo:
    """Read a kind back."""
    unique = handler.unique
    members = msgspec.structs.asdict(handler) | {
        "priority": priority_of(handler.priority),
        "unique": tuple(unique) if isinstance(unique, list) else unique,
        "schema": bytes(handler.schema).decode(),
    }
    return HandlerInfo(**members)
