"""What clients ask, once for both faces: each function makes a question for a door."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mainspring.app.codec import Codec
from mainspring.app.declare import Call, work_of
from mainspring.app.files import FileRef
from mainspring.app.handles import Handle, cancel_job
from mainspring.app.options import read_options
from mainspring.app.payloads import encoded
from mainspring.app.results import Duration, wait_for_end
from mainspring.domain.errors import InvalidInput, NotFound
from mainspring.domain.ids import WORKER, parse, parse_job
from mainspring.domain.job import (
    AttemptView,
    HandlerInfo,
    JobFilter,
    JobView,
    Page,
    QueueView,
    WorkerView,
)
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.names import check_choice, check_range, suggestion
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
    return lambda gateway: gateway.list_logs(raw, after=after, limit=limit)


def job_filter(
    states: Collection[JobState | str], kinds: Collection[str], queues: Collection[str]
) -> JobFilter:
    """Return which jobs are meant, or raise naming the state that does not exist."""
    for name, value in (("states", states), ("kinds", kinds), ("queues", queues)):
        if isinstance(value, str) or not isinstance(value, Collection):
            raise InvalidInput(f"{name}: {value!r} is no list", hint=f"write {name}=[{value!r}]")
    wanted = frozenset(JobState(check_choice("states", str(state), _STATES)) for state in states)
    return JobFilter(states=wanted, kinds=frozenset(kinds), queues=frozenset(queues))


def page(wanted: JobFilter, limit: int, before: bytes | None) -> Asking[Page]:
    """Ask for a page of jobs."""
    check_range("limit", limit, 1, PAGE_ITEMS_MAX)
    return lambda gateway: gateway.list_jobs(wanted, limit=limit, before=before)


def cancel(door: Door, job_id: str, reason: str, *, force: bool) -> Asking[JobState]:
    """Ask to cancel a job."""
    raw = parse_job(job_id)
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


def drain(worker_id: str) -> Asking[bool]:
    """Ask a worker to finish and end."""
    raw = parse(WORKER, worker_id)
    return lambda gateway: gateway.drain_worker(raw)


async def handlers(gateway: ClientGateway) -> list[HandlerInfo]:
    """Ask for every declared kind."""
    return await gateway.list_handlers()


def handler(kind: str) -> Asking[HandlerInfo]:
    """Ask for one declared kind."""

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
