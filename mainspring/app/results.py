"""Waiting for a job's end, and what its end means to who waits: a value or an error."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec

from mainspring.app.durations import milliseconds
from mainspring.domain.errors import (
    BlobUnavailable,
    JobCancelled,
    JobDead,
    JobFailed,
    ResultTimeout,
)
from mainspring.domain.ids import show_job
from mainspring.domain.job import JobView
from mainspring.domain.outcome import ErrorInfo
from mainspring.domain.states import FINAL, JobState
from mainspring.ports.clock import monotonic
from mainspring.ports.gateway import ClientGateway

if TYPE_CHECKING:
    from mainspring.app.codec import Codec

Duration = str | timedelta

_ASK_SECONDS: Final = 30.0
_ERRORS: Final = {JobState.DEAD: JobDead, JobState.CANCELLED: JobCancelled}


async def wait_for_end(gateway: ClientGateway, job_id: bytes, timeout: Duration | None) -> JobView:
    """Return a job once it has ended, however; raise ``ResultTimeout`` after the timeout."""
    until = None
    if timeout is not None:
        until = monotonic() + milliseconds(timeout, name="timeout") / 1_000
    job: JobView | None = None
    while job is None or job.state not in FINAL:
        left = _ASK_SECONDS if until is None else min(_ASK_SECONDS, until - monotonic())
        if job is not None and left <= 0:
            name = show_job(job_id)
            raise ResultTimeout(
                f"{name} is still {job.state.value} after {timeout}; it goes on",
                hint="wait again with the same handle, or cancel it",
                details={"job_id": name, "state": job.state.value},
            )
        job = await gateway.wait_for_change(job_id, job, max(left, 0.0))
    return job


def result_of(job: JobView, codec: "Codec | None") -> Any:
    """Return a final job's result in its handler's type, or raise ``JobFailed``."""
    if job.state is not JobState.SUCCEEDED:
        raise failure_of(job)
    if job.result_is_away:
        raise BlobUnavailable(
            f"the result of {show_job(job.id)} lies in the object store ({job.result_ref}), "
            "which was not read"
        )
    if codec is not None:
        return codec.decode_result(job.result)
    return None if job.result is None else msgspec.json.decode(job.result)


def failure_of(job: JobView) -> JobFailed:
    """Return what to raise for a job that ended without success; it carries the facts."""
    name = show_job(job.id)
    reason = job.reason or "no reason"
    error = None
    if job.error is not None:
        error = msgspec.json.decode(job.error, type=ErrorInfo)
    why = f": {error.headline}" if error else ""
    return _ERRORS.get(job.state, JobFailed)(
        f"{name} ended {job.state.value} ({reason}){why}",
        hint=f"mainspring jobs get {name} shows every attempt",
        error=error or ErrorInfo(job.state.value, reason),
        attempts=job.attempt,
        details={
            "job_id": name,
            "state": job.state.value,
            "reason": job.reason,
            "error_type": error.type if error else None,
            "error_message": error.message if error else None,
        },
    )
