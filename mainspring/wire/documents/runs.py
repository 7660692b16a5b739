"""Runs: a schedule's fires and a job's attempts, by the names and words of other schedulers."""

from datetime import datetime
from typing import Final, Literal

import msgspec

from mainspring.domain.ids import show_attempt, show_job
from mainspring.domain.job import AttemptView, JobView
from mainspring.domain.schedule import FireView
from mainspring.domain.states import AttemptState, JobState

RunStatus = Literal[
    "pending",
    "running",
    "success",
    "failed",
    "dead",
    "cancelled",
    "expired",
    "skipped",
    "released",
]
_OF_JOBS: Final[dict[JobState, RunStatus]] = {
    JobState.BLOCKED: "pending",
    JobState.SCHEDULED: "pending",
    JobState.READY: "pending",
    JobState.RUNNING: "running",
    JobState.CANCELLING: "running",
    # It failed, and is tried again.
    JobState.RETRYING: "failed",
    JobState.SUCCEEDED: "success",
    JobState.DEAD: "dead",
    JobState.CANCELLED: "cancelled",
    JobState.EXPIRED: "expired",
    JobState.SKIPPED: "skipped",
}
_OF_ATTEMPTS: Final[dict[AttemptState, RunStatus]] = {
    AttemptState.RUNNING: "running",
    AttemptState.SUCCEEDED: "success",
    AttemptState.FAILED: "failed",
    AttemptState.TIMED_OUT: "failed",
    AttemptState.LOST: "failed",
    AttemptState.CANCELLED: "cancelled",
    AttemptState.RELEASED: "released",
}


class RunDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One run: of a schedule's fire, or one attempt of a job."""

    #: The job of a fire, ``job_…``; or an attempt of a job, ``job_…:2``.
    run_id: str
    scheduled_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    #: ``failed``: it is tried again; ``dead``: no more.
    status: RunStatus
    #: Of a fire the number of attempts so far; null: the job is gone, only the ledger knows of it.
    attempt: int | None = None


def run_of_fire(fire: FireView, job: JobView | None) -> RunDocument:
    """Return a fire that had a job of its own as a run."""
    assert fire.job_id is not None, "only those are asked for"
    if job is None:
        ended = fire.job_state
        return RunDocument(
            run_id=show_job(fire.job_id),
            scheduled_at=fire.nominal_at,
            finished_at=fire.job_ended_at,
            status="pending" if ended is None else _OF_JOBS[ended],
        )
    return RunDocument(
        run_id=show_job(fire.job_id),
        scheduled_at=fire.nominal_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        status=_OF_JOBS[job.state],
        attempt=job.attempt,
    )


def run_of_attempt(attempt: AttemptView, job: JobView) -> RunDocument:
    """Return an attempt of a job as a run."""
    status = _OF_ATTEMPTS[attempt.state]
    if status == "failed" and job.state is JobState.DEAD and attempt.attempt == job.attempt:
        status = "dead"
    return RunDocument(
        run_id=show_attempt(attempt.job_id, attempt.attempt),
        scheduled_at=job.nominal_at or job.due_at,
        started_at=attempt.started_at,
        finished_at=attempt.ended_at,
        status=status,
        attempt=attempt.attempt,
    )
