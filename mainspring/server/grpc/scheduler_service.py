"""``database.scheduler.v1.SchedulerDispatcher``: the two calls that came before this project."""

from typing import Any, Final

from mainspring.domain.access import Right
from mainspring.domain.errors import InvalidInput
from mainspring.domain.ids import show_job
from mainspring.domain.job import DEFAULT_TENANT, Claimed, HandlerInfo
from mainspring.domain.limits import CLAIM_JOBS_MAX, QUEUE_CHARACTERS_MAX, RESULT_BYTES_MAX
from mainspring.domain.names import check_name
from mainspring.domain.outcome import (
    Cancelled,
    ErrorInfo,
    Failed,
    Outcome,
    Released,
    Report,
    Succeeded,
    TimedOut,
)
from mainspring.domain.payload import check_text
from mainspring.server.grpc.anonymous import Anonymous, Wanted
from mainspring.server.grpc.calls import Ask, Caller, Method
from mainspring.wire.protobuf import dispatcher_pb2
from mainspring.wire.protobuf.scalars import (
    attempt_of,
    job_of,
    kept,
    show_attempt,
    show_schedule,
    stamp,
)
from mainspring.wire.protobuf.sessions import kinds_of

SERVICE: Final = "database.scheduler.v1.SchedulerDispatcher"
DEFAULT_LEASE_SECONDS: Final = 30
LEASE_SECONDS_MIN: Final = 5
LEASE_SECONDS_MAX: Final = 3_600
_NAME_CHARACTERS_MAX: Final = 256
_QUEUES_MAX: Final = 1_000
_RUNNING: Final = frozenset({"running", "claimed", "leased", "started"})
_STATUSES: Final = (
    "SUCCEEDED, FAILED, DEAD, TIMED_OUT, CANCELLED, RELEASED or RUNNING, in upper or lower case"
)


class SchedulerService:
    """Claims without a session, and reports by the attempt's id."""

    def __init__(self) -> None:
        """Begin without any session."""
        self._anonymous = Anonymous()

    async def claim_due(
        self, caller: Caller, given: dispatcher_pb2.ClaimTriggersRequest
    ) -> dispatcher_pb2.ClaimTriggersResponse:
        """Hand out what is due, for the lease that was asked for."""
        asked = given.lease_duration_seconds or DEFAULT_LEASE_SECONDS
        lease_seconds = min(max(asked, LEASE_SECONDS_MIN), LEASE_SECONDS_MAX)
        if given.max_tasks < 0:
            raise InvalidInput(f"max_tasks: {given.max_tasks} is less than 0")
        known = [handler.kind for handler in await caller.desk.list_handlers()]
        kinds = kinds_of(tuple(dict.fromkeys(given.kinds))) or tuple(known)
        tenant = caller.principal.tenant or DEFAULT_TENANT
        wanted = Wanted(
            name=kept(given.worker_id, _NAME_CHARACTERS_MAX) or "worker",
            lease_ms=lease_seconds * 1_000,
            queues=await _queues(caller, list(dict.fromkeys(given.queues))),
            kinds=kinds,
            declared=tuple(
                HandlerInfo(kind=kind, tenant=tenant) for kind in kinds if kind not in known
            ),
            limit=min(given.max_tasks or 1, CLAIM_JOBS_MAX),
        )
        claimed = await self._anonymous.claim(caller, wanted)
        answer = dispatcher_pb2.ClaimTriggersResponse(lease_duration_seconds=lease_seconds)
        for job in claimed:
            answer.tasks.append(await _message(caller, job))
        return answer

    async def update_status(
        self, caller: Caller, given: dispatcher_pb2.UpdateAttemptRequest
    ) -> dispatcher_pb2.UpdateAttemptResponse:
        """Take the outcome of one attempt."""
        fence = _fence(given)
        status = given.status.strip().lower()
        outcome = None if status in _RUNNING else _outcome(status, given, 0)
        if isinstance(outcome, TimedOut):
            job = await caller.desk.get_job(fence[0])
            outcome = _outcome(status, given, job.timeout_ms)
        worker_id = await self._anonymous.session_of(caller, fence)
        if worker_id is None:
            return dispatcher_pb2.UpdateAttemptResponse(success=False)
        seat = caller.seat(worker_id)
        if outcome is None:
            news = await seat.pulse(worker_id, [fence], [])
            return dispatcher_pb2.UpdateAttemptResponse(
                success=fence[0] not in news.lost, cancelling=fence[0] in news.cancelling
            )
        [accepted] = await seat.report([Report(*fence, outcome)])
        await self._anonymous.ended(caller, worker_id, fence)
        return dispatcher_pb2.UpdateAttemptResponse(success=accepted)

    def methods(self) -> list[Method[Any]]:
        """Return the rows of this service."""
        right = Right.WORK
        return [
            Ask(
                service=SERVICE,
                name="ClaimTriggers",
                right=right,
                takes=dispatcher_pb2.ClaimTriggersRequest,
                does=self.claim_due,
            ),
            Ask(
                service=SERVICE,
                name="UpdateAttemptStatus",
                right=right,
                takes=dispatcher_pb2.UpdateAttemptRequest,
                does=self.update_status,
            ),
        ]


async def _queues(caller: Caller, given: list[str]) -> tuple[str, ...]:
    if len(given) > _QUEUES_MAX:
        raise InvalidInput(f"queues: {len(given):,} are more than {_QUEUES_MAX:,}")
    for queue in given:
        check_name("queue", queue, QUEUE_CHARACTERS_MAX)
    if given:
        return tuple(given)
    return tuple(queue.name for queue in await caller.desk.list_queues())


async def _message(caller: Caller, job: Claimed) -> dispatcher_pb2.TaskPayload:
    payload = job.payload
    if job.payload_ref is not None:
        payload = (await caller.desk.get_job(job.job_id)).payload
    shown = show_job(job.job_id)
    return dispatcher_pb2.TaskPayload(
        trigger_id=shown,
        job_id=shown if job.schedule_id is None else show_schedule(job.schedule_id),
        tenant_id=job.tenant,
        job_type=job.kind,
        payload_json=payload.decode("utf-8", "replace"),
        scheduled_time_epoch=int((job.nominal_at or job.due_at).timestamp()),
        attempt_id=show_attempt(job.job_id, job.attempt),
        attempt=job.attempt,
        deadline=stamp(job.deadline_at),
        effect_key=job.effect_key or shown,
        queue=job.queue,
    )


def _fence(given: dispatcher_pb2.UpdateAttemptRequest) -> tuple[bytes, int]:
    if not given.attempt_id:
        raise InvalidInput(
            "attempt_id: it is missing, and a job alone does not tell who holds it",
            hint="send the attempt_id that came with the claim",
            details={"field": "attempt_id"},
        )
    fence = attempt_of(given.attempt_id)
    if given.trigger_id and job_of(given.trigger_id) != fence[0]:
        raise InvalidInput(
            "trigger_id: it names another job than attempt_id", details={"field": "trigger_id"}
        )
    return fence


def _outcome(status: str, given: dispatcher_pb2.UpdateAttemptRequest, timeout_ms: int) -> Outcome:
    message = given.error_message
    error = ErrorInfo(given.error_type or "Error", message)
    retry = given.retry_after_ms if given.HasField("retry_after_ms") else None
    result = given.result_json.encode() or None
    if result is not None:
        check_text(result, bytes_max=RESULT_BYTES_MAX, what="result_json")
    outcomes: dict[str, Outcome] = {
        **dict.fromkeys(("succeeded", "success", "completed", "done"), Succeeded(result)),
        "failed": Failed(error, retry_after_ms=retry),
        "dead": Failed(error, permanent=True),
        **dict.fromkeys(("timed_out", "timeout"), TimedOut(timeout_ms)),
        **dict.fromkeys(("cancelled", "canceled"), Cancelled(message)),
        **dict.fromkeys(("released", "pending"), Released(message or "released")),
    }
    found = outcomes.get(status)
    if found is None:
        raise InvalidInput(
            f"status: there is no {given.status[:80]!r}",
            hint=f"use {_STATUSES}",
            details={"field": "status"},
        )
    return found
