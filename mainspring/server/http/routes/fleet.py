"""Queues, workers, the kinds that they have declared, and files of handlers."""

from collections.abc import AsyncGenerator

import msgspec

from mainspring.domain.access import Right
from mainspring.domain.errors import (
    BlobDamaged,
    BlobUnavailable,
    ConfigError,
    InvalidId,
    NotFound,
)
from mainspring.domain.ids import WORKER, parse, show
from mainspring.domain.job import HandlerInfo, QueueView
from mainspring.domain.limits import QUEUE_CHARACTERS_MAX
from mainspring.domain.names import check_name, suggestion
from mainspring.server.http.calls import Call, Stream
from mainspring.server.http.routing import Routes
from mainspring.wire.documents.common import Listing
from mainspring.wire.documents.fleet import (
    HandlerDocument,
    PauseBody,
    QueueChanged,
    QueueDocument,
    WorkerDocument,
    handler_document,
    queue_document,
    worker_document,
)

queues = Routes("Queues")
workers = Routes("Workers")
handlers = Routes("Handlers")
files = Routes("Files")


class FileQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which file."""

    #: As the result of the job has it.
    reference: str


@queues.add("GET", "/api/v1/queues", Right.QUEUES_READ)
async def list_queues(call: Call) -> Listing[QueueDocument]:
    """List the queues that have jobs, or are paused."""
    return Listing(items=[queue_document(queue) for queue in await call.gateway.list_queues()])


@queues.add("GET", "/api/v1/queues/{queue}", Right.QUEUES_READ, errors=(NotFound,))
async def get_queue(call: Call, queue: str) -> QueueDocument:
    """Return a queue that has jobs, is paused, or that a handler or worker names."""
    name = check_name("queue", queue, QUEUE_CHARACTERS_MAX)
    known = {found.name: found for found in await call.gateway.list_queues()}
    if name in known:
        return queue_document(known[name])
    named = {found.queue for found in await call.gateway.list_handlers()}
    named |= {each for found in await call.gateway.list_workers() for each in found.queues}
    if name in named:
        return queue_document(QueueView(name, None, None, 0, 0, 0, 0, None))
    raise NotFound(
        f"nothing names the queue {name!r}", hint=suggestion(name, sorted({*known, *named}))
    )


@queues.add("POST", "/api/v1/queues/{queue}/pause", Right.QUEUES_OPERATE)
async def pause_queue(call: Call, queue: str, body: PauseBody) -> QueueChanged:
    """Hand out nothing more of a queue; what runs goes on."""
    changed = await call.gateway.pause_queue(queue, reason=body.reason, actor=call.actor)
    return QueueChanged(name=queue, paused=True, changed=changed)


@queues.add("POST", "/api/v1/queues/{queue}/resume", Right.QUEUES_OPERATE)
async def resume_queue(call: Call, queue: str) -> QueueChanged:
    """Hand out jobs of a queue again."""
    changed = await call.gateway.resume_queue(queue, actor=call.actor)
    return QueueChanged(name=queue, paused=False, changed=changed)


@workers.add("GET", "/api/v1/workers", Right.WORKERS_READ)
async def list_workers(call: Call) -> Listing[WorkerDocument]:
    """List worker sessions, newest first, those of the last hour that have ended included."""
    return Listing(items=[worker_document(found) for found in await call.gateway.list_workers()])


@workers.add("GET", "/api/v1/workers/{worker_id}", Right.WORKERS_READ, errors=(NotFound, InvalidId))
async def get_worker(call: Call, worker_id: str) -> WorkerDocument:
    """Return a worker session."""
    raw = parse(WORKER, worker_id)
    for found in await call.gateway.list_workers():
        if found.id == raw:
            return worker_document(found)
    raise _no_worker(raw)


@workers.add(
    "POST",
    "/api/v1/workers/{worker_id}/drain",
    Right.WORKERS_OPERATE,
    errors=(NotFound, InvalidId),
)
async def drain_worker(call: Call, worker_id: str) -> WorkerDocument:
    """Ask a worker to claim no more, finish what it runs, and end."""
    raw = parse(WORKER, worker_id)
    if not await call.gateway.drain_worker(raw, actor=call.actor):
        raise _no_worker(raw)
    return await get_worker(call, worker_id)


@handlers.add("GET", "/api/v1/handlers", Right.HANDLERS_READ)
async def list_handlers(call: Call) -> Listing[HandlerDocument]:
    """List the kinds that workers have declared, with their defaults and schemas."""
    return Listing(items=[handler_document(found) for found in await call.gateway.list_handlers()])


@handlers.add("GET", "/api/v1/handlers/{kind}", Right.HANDLERS_READ, errors=(NotFound,))
async def get_handler(call: Call, kind: str) -> HandlerDocument:
    """Return a kind with its defaults and its schema."""
    return handler_document(await _handler(call, kind))


@handlers.add("GET", "/api/v1/handlers/{kind}/schema", Right.HANDLERS_READ, errors=(NotFound,))
async def get_handler_schema(call: Call, kind: str) -> msgspec.Raw:
    """Return the JSON Schema of what a kind takes."""
    return msgspec.Raw((await _handler(call, kind)).schema.encode())


@files.add(
    "GET",
    "/api/v1/files",
    Right.JOBS_READ,
    media_type="application/octet-stream",
    errors=(NotFound, ConfigError, BlobUnavailable, BlobDamaged),
)
async def read_file(call: Call, query: FileQuery) -> Stream:
    """Return the bytes of a file that a handler saved."""
    body = await call.gateway.read_file(query.reference)

    async def chunks() -> AsyncGenerator[bytes, None]:
        yield body

    return Stream("application/octet-stream", chunks())


async def _handler(call: Call, kind: str) -> HandlerInfo:
    known = {found.kind: found for found in await call.gateway.list_handlers()}
    if kind not in known:
        raise NotFound(
            f"no worker has declared the kind {kind[:128]!r}",
            hint=suggestion(kind[:128], sorted(known)),
        )
    return known[kind]


def _no_worker(raw: bytes) -> NotFound:
    return NotFound(
        f"no worker {show(WORKER, raw)} is up", hint="GET /api/v1/workers lists those that are"
    )
