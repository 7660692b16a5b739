"""The client: submits calls of handlers, and hands out handles of what it submitted.

>>> handle = await client.submit(send_receipt.call(order_id=7))
>>> await handle.result(timeout="1m")
'msg-1'
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final, Generic, TypeVar, overload

import msgspec

from mainspring.app.declare import Call, Job
from mainspring.app.durations import milliseconds
from mainspring.domain.errors import InvalidPayload, JobFailed, WaitTimedOut
from mainspring.domain.ids import parse_job, show_job
from mainspring.domain.job import AttemptView, JobView
from mainspring.domain.outcome import ErrorInfo, LogLine
from mainspring.domain.payload import check_finite
from mainspring.domain.states import FINAL, JobState
from mainspring.ports.clock import monotonic
from mainspring.ports.gateway import Accepted, ClientGateway, Submission

R = TypeVar("R")
_ASK_SECONDS: Final = 30.0
Duration = str | timedelta


class Handle(Generic[R]):
    """A submitted job: its id, and ways to ask about it. ``R`` is what its handler returns."""

    __slots__ = ("_client", "_job", "created", "id")

    def __init__(
        self, client: "AsyncClient", job_id: str, *, job: Job[..., R] | None, created: bool
    ) -> None:
        """Name a job; made by ``AsyncClient``."""
        self._client = client
        self._job = job
        self.id = job_id
        #: False when a submission key found an earlier job.
        self.created = created

    async def result(self, timeout: Duration | None = None) -> R:
        """Wait for the job's end and return what its handler returned.

        Raises ``JobFailed`` when it ended otherwise, ``WaitTimedOut`` after the timeout.
        """
        job = await self._client.wait(self.id, timeout)
        found: R = result_of(job, self._job)
        return found

    async def get(self) -> JobView:
        """Return the job as it is now."""
        return await self._client.get(self.id)

    async def attempts(self) -> list[AttemptView]:
        """Return every attempt in order."""
        return await self._client.attempts(self.id)

    async def cancel(self, *, reason: str = "", force: bool = False) -> JobState:
        """Cancel the job; return the state it has now."""
        return await self._client.cancel(self.id, reason=reason, force=force)

    def __repr__(self) -> str:
        """Name the job."""
        return f"<Handle {self.id}>"


class AsyncClient:
    """All that an application asks of Mainspring, over one gateway."""

    def __init__(self, gateway: ClientGateway, *, actor: str = "sdk") -> None:
        """Speak through ``gateway``, which its opener closes; ``actor`` stands in the audit."""
        self._gateway = gateway
        self._actor = actor

    @property
    def gateway(self) -> ClientGateway:
        """Return the gateway, for what this client does not offer."""
        return self._gateway

    @overload
    async def submit(self, wanted: Call[R], /) -> Handle[R]: ...

    @overload
    async def submit(self, wanted: str, payload: Any = None, /, **options: Any) -> Handle[Any]: ...

    async def submit(
        self, wanted: Call[Any] | str, payload: Any = None, /, **options: Any
    ) -> Handle[Any]:
        """Submit a call of a handler, or a kind by its name with a payload and options.

        >>> await client.submit(greet.call("Ada").options(delay="15m"))
        >>> await client.submit("greet", {"name": "Ada"}, queue="mail", key="hello-ada")

        Options by name are those of ``Submission``: ``queue``, ``priority``, ``delay_ms``,
        ``due_at``, ``max_attempts``, ``timeout_ms``, ``key``, ``effect_key`` and so on.
        """
        if isinstance(wanted, str):
            submission = _by_name(wanted, payload, options)
            job = None
        else:
            submission = wanted.submission
            job = wanted.job
        accepted = (await self._gateway.submit([submission]))[0]
        return self._handle(accepted, job)

    async def submit_many(self, calls: Sequence[Call[R]]) -> list[Handle[R]]:
        """Submit calls in one transaction: all of them or none."""
        accepted = await self._gateway.submit([call.submission for call in calls])
        return [self._handle(item, call.job) for item, call in zip(accepted, calls, strict=True)]

    def handle(self, job_id: str, job: Job[..., R] | None = None) -> Handle[R]:
        """Return a handle of a job that was submitted elsewhere."""
        return Handle(self, show_job(parse_job(job_id)), job=job, created=False)

    async def get(self, job_id: str) -> JobView:
        """Return a job, or raise ``NotFound``."""
        return await self._gateway.get_job(parse_job(job_id))

    async def attempts(self, job_id: str) -> list[AttemptView]:
        """Return every attempt of a job in order."""
        return await self._gateway.list_attempts(parse_job(job_id))

    async def logs(
        self, job_id: str, *, after: tuple[int, int] | None = None, limit: int = 500
    ) -> list[LogLine]:
        """Return a page of what a job's handler logged, after (attempt, sequence)."""
        return await self._gateway.list_logs(parse_job(job_id), after=after, limit=limit)

    async def wait(self, job_id: str, timeout: Duration | None = None) -> JobView:
        """Return a job once it has ended, however; raise ``WaitTimedOut`` after the timeout."""
        raw = parse_job(job_id)
        until = None
        if timeout is not None:
            until = monotonic() + milliseconds(timeout, name="timeout") / 1_000
        job: JobView | None = None
        while job is None or job.state not in FINAL:
            left = _ASK_SECONDS if until is None else min(_ASK_SECONDS, until - monotonic())
            if job is not None and left <= 0:
                raise WaitTimedOut(
                    f"{show_job(raw)} is still {job.state.value} after {timeout}; it goes on",
                    hint="wait again with the same handle, or cancel it",
                    details={"job_id": show_job(raw), "state": job.state.value},
                )
            job = await self._gateway.wait_for_change(raw, job, max(left, 0.0))
        return job

    async def result(self, job_id: str, timeout: Duration | None = None) -> Any:
        """Wait for a job's end and return its result as plain JSON values."""
        return result_of(await self.wait(job_id, timeout), None)

    async def cancel(self, job_id: str, *, reason: str = "", force: bool = False) -> JobState:
        """Cancel a job; return the state it has now. A job that has ended stays as it is."""
        raw = parse_job(job_id)
        results = await self._gateway.cancel([raw], reason=reason, force=force, actor=self._actor)
        state = results[0].state
        return state if state is not None else (await self._gateway.get_job(raw)).state

    async def replay(self, job_id: str, *, payload: Any = None) -> bool:
        """Bring a dead letter back, with another payload if one is given; False: it is none."""
        body = None if payload is None else _encoded(payload)
        changed = await self._gateway.replay([parse_job(job_id)], payload=body, actor=self._actor)
        return bool(changed)

    def _handle(self, accepted: Accepted, job: Job[..., R] | None) -> Handle[R]:
        return Handle(self, show_job(accepted.job_id), job=job, created=accepted.created)


def result_of(job: JobView, declared: Job[..., Any] | None) -> Any:
    """Return a final job's result in its handler's type, or raise ``JobFailed``."""
    if job.state is not JobState.SUCCEEDED:
        raise failure_of(job)
    if declared is not None:
        return declared.handler.codec.decode_result(job.result)
    return None if job.result is None else msgspec.json.decode(job.result)


def failure_of(job: JobView) -> JobFailed:
    """Return what to raise for a job that ended without success; ``details`` has the facts."""
    name = show_job(job.id)
    error = None
    if job.error is not None:
        error = msgspec.json.decode(job.error, type=ErrorInfo)
    why = f": {error.type}: {error.message}" if error else ""
    return JobFailed(
        f"{name} ended {job.state.value} ({job.reason or 'no reason'}){why}",
        hint=f"mainspring jobs get {name} shows every attempt",
        details={
            "job_id": name,
            "state": job.state.value,
            "reason": job.reason,
            "error_type": error.type if error else None,
            "error_message": error.message if error else None,
        },
    )


def _by_name(kind: str, payload: Any, options: dict[str, Any]) -> Submission:
    return Submission(kind=kind, payload=_encoded({} if payload is None else payload), **options)


def _encoded(payload: Any) -> bytes:
    """Return a payload as JSON text; what JSON cannot hold is refused, not bent."""
    if isinstance(payload, bytes):
        return payload
    check_finite(payload)
    try:
        return msgspec.json.encode(payload)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidPayload(
            f"the payload: {error}", hint="use values that JSON can hold"
        ) from None
