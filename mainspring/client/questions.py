"""What clients ask, once for both faces: each function makes a question for a door."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mainspring.app.codec import Codec
from mainspring.app.declare import Call, Job, work_of
from mainspring.app.files import FileRef
from mainspring.app.handles import Handle, cancel_job, handle_of
from mainspring.app.options import read_options
from mainspring.app.payloads import encoded
from mainspring.app.results import Duration, wait_for_end
from mainspring.domain.errors import InvalidInput, NotFound
from mainspring.domain.ids import ID_BYTES, WORKER, parse, parse_job
from mainspring.domain.job import (
    AttemptView,
    HandlerInfo,
    JobFilter,
    JobView,
    Page,
    QueueView,
    WorkerView,
)
from mainspring.domain.limits import KIND_CHARACTERS_MAX, PAGE_ITEMS_MAX, QUEUE_CHARACTERS_MAX
from mainspring.domain.names import (
    check_choice,
    check_flag,
    check_name,
    check_range,
    suggestion,
)
from mainspring.domain.outcome import LogLine
from mainspring.domain.states import JobState
from mainspring.ports.door import Asking, Door
from mainspring.ports.gateway import Accepted, ClientGateway, Submission

_STATES = tuple(state.value for state in JobState)


def submission_of(wanted: Call[Any] | str, payload: Any, options: Mapping[str, Any]) -> Submission:
    """Return what to submit: a call as it is, or a kind by its name with payload and options."""
    if isinstance(wanted, Call) and payload is None and options:
        return wanted.options(**options).submission
    submission = work_of(wanted, payload)
    if isinstance(wanted, Call):
        return submission
    return read_options(options).applied(submission, None)


def codec_of(wanted: Call[Any] | str) -> Codec | None:
    """Return the codec that reads the result, where the handler is known."""
    return wanted.job.handler.codec if isinstance(wanted, Call) else None


def handle_for(door: Door, job_id: str, job: Job[..., Any] | None) -> Handle[Any]:
    """Return a handle of a job that was submitted elsewhere, whose result its handler's types read.

    ``job`` is the handler, if it is known here.
    """
    given: object = job
    if given is None:
        return handle_of(door, job_id)
    if not isinstance(given, Job):
        raise InvalidInput(
            f"job: {given!r} is no job", hint="give what @app.job() made, or leave it out"
        )
    return handle_of(door, job_id, given.handler.codec)


def handle(door: Door, accepted: Accepted, codec: Codec | None) -> Handle[Any]:
    """Return a handle of what was accepted."""
    return Handle(door, accepted.job_id, codec=codec, created=accepted.created)


def get(job_id: str) -> Asking[JobView]:
    """Ask for a job."""
    raw = parse_job(job_id)
    return lambda gateway: gateway.get_job(raw)


def wait(job_id: str, timeout: Duration | None) -> Asking[JobView]:
    """Ask for a job once it has ended."""
    raw = parse_job(job_id)
    return lambda gateway: wait_for_end(gateway, raw, timeout)


def attempts(job_id: str) -> Asking[list[AttemptView]]:
    """Ask for a job's attempts."""
    raw = parse_job(job_id)
    return lambda gateway: gateway.list_attempts(raw)


def logs(job_id: str, after: tuple[int, int] | None, limit: int) -> Asking[list[LogLine]]:
    """Ask for a page of a job's log."""
    raw = parse_job(job_id)
    check_range("limit", limit, 1, PAGE_ITEMS_MAX)
    given: object = after
    if given is not None and not (
        isinstance(given, tuple) and list(map(type, given)) == [int, int]
    ):
        raise InvalidInput(
            f"after: {after!r} is no place in a log",
            hint="give the last line's: (line.attempt, line.sequence)",
        )
    return lambda gateway: gateway.list_logs(raw, after=after, limit=limit)


def job_filter(
    states: Collection[JobState | str], kinds: Collection[str], queues: Collection[str]
) -> JobFilter:
    """Return which jobs are meant, or raise naming the state that does not exist."""
    for name, value in (("states", states), ("kinds", kinds), ("queues", queues)):
        if isinstance(value, str) or not isinstance(value, Collection):
            raise InvalidInput(f"{name}: {value!r} is no list", hint=f"write {name}=[{value!r}]")
    kinds = [check_name("kinds", kind, KIND_CHARACTERS_MAX) for kind in kinds]
    queues = [check_name("queues", queue, QUEUE_CHARACTERS_MAX) for queue in queues]
    wanted = frozenset(JobState(check_choice("states", str(state), _STATES)) for state in states)
    return JobFilter(states=wanted, kinds=frozenset(kinds), queues=frozenset(queues))


def page(wanted: JobFilter, limit: int, before: bytes | None) -> Asking[Page]:
    """Ask for a page of jobs."""
    check_range("limit", limit, 1, PAGE_ITEMS_MAX)
    check_place(before)
    return lambda gateway: gateway.list_jobs(wanted, limit=limit, before=before)


def check_place(before: object) -> None:
    """Refuse what no page has given as the place of the next one."""
    if before is not None and not (isinstance(before, bytes) and len(before) == ID_BYTES):
        raise InvalidInput(
            f"before: {before!r} is no place in a list", hint="give the last page's next_before"
        )


def cancel(door: Door, job_id: str, reason: str, *, force: bool) -> Asking[JobState]:
    """Ask to cancel a job."""
    raw = parse_job(job_id)
    check_flag("force", force)
    return lambda gateway: cancel_job(gateway, raw, reason=reason, force=force, actor=door.actor)


def retry(door: Door, job_id: str) -> Asking[bool]:
    """Ask to make a waiting job due now."""
    raw = parse_job(job_id)

    async def ask(gateway: ClientGateway) -> bool:
        return bool(await gateway.run_now([raw], actor=door.actor))

    return ask


def replay(door: Door, job_id: str, payload: Any) -> Asking[bool]:
    """Ask to bring a dead letter back."""
    raw = parse_job(job_id)
    body = None if payload is None else encoded(payload)

    async def ask(gateway: ClientGateway) -> bool:
        return bool(await gateway.replay([raw], payload=body, actor=door.actor))

    return ask


def purge(door: Door, job_ids: Sequence[str]) -> Asking[int]:
    """Ask to delete dead letters."""
    raw = [parse_job(job_id) for job_id in job_ids]
    return lambda gateway: gateway.purge(raw, actor=door.actor)


async def queues(gateway: ClientGateway) -> list[QueueView]:
    """Ask for the queues."""
    return await gateway.list_queues()


def pause(door: Door, queue: str, reason: str) -> Asking[bool]:
    """Ask to pause a queue."""
    return lambda gateway: gateway.pause_queue(queue, reason=reason, actor=door.actor)


def resume(door: Door, queue: str) -> Asking[bool]:
    """Ask to resume a queue."""
    return lambda gateway: gateway.resume_queue(queue, actor=door.actor)


async def workers(gateway: ClientGateway) -> list[WorkerView]:
    """Ask for the workers."""
    return await gateway.list_workers()


def drain(door: Door, worker_id: str) -> Asking[bool]:
    """Ask a worker to finish and end."""
    raw = parse(WORKER, worker_id)
    return lambda gateway: gateway.drain_worker(raw, actor=door.actor)


async def handlers(gateway: ClientGateway) -> list[HandlerInfo]:
    """Ask for every declared kind."""
    return await gateway.list_handlers()


def handler(kind: str) -> Asking[HandlerInfo]:
    """Ask for one declared kind."""
    check_name("kind", kind, KIND_CHARACTERS_MAX)

    async def ask(gateway: ClientGateway) -> HandlerInfo:
        known = {found.kind: found for found in await gateway.list_handlers()}
        if kind not in known:
            hint = suggestion(kind, sorted(known)) if known else "no worker has declared any yet"
            raise NotFound(f"no handler of the kind {kind!r} is known", hint=hint)
        return known[kind]

    return ask


def file(reference: FileRef) -> Asking[bytes]:
    """Ask for the bytes of a file that a handler saved."""
    given: object = reference
    if not isinstance(given, FileRef):
        raise InvalidInput(
            f"{given!r} is no FileRef", hint="give what the handler returned, in its type"
        )
    return lambda gateway: gateway.read_file(reference.reference)
