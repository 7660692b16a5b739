"""The present state does not allow it."""

from typing import Any

from mainspring.domain.errors.base import Conflict


class SubmissionKeyReused(Conflict):
    """This submission key was used before with another body."""

    code = "submission_key_reused"
    http_status = 422
    default_hint = "use a new key for new work; the same key returns the first job"


class DuplicateJob(Conflict):
    """A job with this unique key is live already."""

    code = "duplicate_job"
    default_hint = "wait for it, or submit with on_duplicate existing or replace"
    #: The handle of the job that is live, where the SDK submitted.
    handle: Any = None

    @property
    def job_id(self) -> str:
        """Return the id of the job that is live, as people see it."""
        return str(self.details.get("job_id", ""))


class WouldOverlap(Conflict):
    """A job of the schedule is live, and the schedule allows no overlap."""

    code = "would_overlap"
    default_hint = "wait for that job's end, or cancel it"


class ScheduleExists(Conflict):
    """There is a schedule of this name already."""

    code = "schedule_exists"
    default_hint = "edit it, or choose another name"


class NotInTransaction(Conflict):
    """The connection that was given has no transaction open, so there is none to submit in."""

    code = "not_in_transaction"
    default_hint = "begin a transaction on it first; or submit without using(...)"


class LeaseLost(Conflict):
    """This attempt no longer holds its job; it changed nothing."""

    code = "lease_lost"
    grpc_status = "ABORTED"
    default_hint = "stop working on this attempt; another one owns the job"


class SessionLost(Conflict):
    """This worker's session has ended; its jobs were or will be given to others."""

    code = "session_lost"
    grpc_status = "ABORTED"
    default_hint = "open a new session"
