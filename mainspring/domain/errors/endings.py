"""An awaited job did not succeed, or not yet."""

from collections.abc import Mapping

from mainspring.domain.errors.base import MainspringError
from mainspring.domain.outcome import ErrorInfo


class JobFailed(MainspringError):
    """The awaited job ended without success."""

    code = "job_failed"
    http_status = 424
    grpc_status = "ABORTED"
    exit_code = 5
    default_hint = "mainspring jobs get ID shows every attempt"

    def __init__(
        self,
        message: str | None = None,
        *,
        hint: str | None = None,
        details: Mapping[str, object] | None = None,
        error: ErrorInfo | None = None,
        attempts: int = 0,
    ) -> None:
        """Keep the last attempt's error, and how many attempts there were."""
        super().__init__(message, hint=hint, details=details)
        #: Why the last attempt failed; without one, the reason that the job has.
        self.error: ErrorInfo = error or ErrorInfo("", self.message)
        self.attempts = attempts


class JobDead(JobFailed):
    """The awaited job used up its attempts or failed for good; it rests as a dead letter."""

    code = "job_dead"
    default_hint = "mainspring dlq get ID shows why; mainspring dlq replay ID brings it back"


class JobCancelled(JobFailed):
    """The awaited job was cancelled."""

    code = "job_cancelled"


class ResultTimeout(MainspringError):
    """The wait ended before the job did; the job goes on."""

    code = "wait_timed_out"
    http_status = 504
    grpc_status = "DEADLINE_EXCEEDED"
    exit_code = 7
    default_hint = "mainspring jobs watch ID waits again"
