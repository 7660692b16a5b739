"""One root, stable codes, and the one table from code to HTTP, gRPC and exit codes.

Every error says what is wrong (the message), and what to do next (the hint). ``details`` carries
machine-readable facts: field paths, ids, limits.

Exit codes of the command line: 0 done; 1 failed; 2 usage or bad input; 3 not found; 4 not allowed;
5 the awaited job ended unsuccessfully; 6 conflict or precondition; 7 a wait timed out; 8 findings;
9 store or server unreachable; 130 interrupted.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from mainspring.domain.outcome import ErrorInfo


class MainspringError(Exception):
    """Something went wrong inside Mainspring."""

    code: ClassVar[str] = "internal"
    http_status: ClassVar[int] = 500
    grpc_status: ClassVar[str] = "INTERNAL"
    exit_code: ClassVar[int] = 1
    default_hint: ClassVar[str] = "run again with --debug and report what it prints"

    def __init__(
        self,
        message: str | None = None,
        *,
        hint: str | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        """Keep the message (the class docstring's first line by default), hint and details."""
        first_line = (self.__doc__ or "").strip().partition("\n")[0]
        self.message: str = message or first_line
        self.hint: str = hint or self.default_hint
        self.details: dict[str, object] = dict(details or {})
        super().__init__(self.message)

    def __str__(self) -> str:
        """Return the message alone; code and hint are printed by whoever shows the error."""
        return self.message


class InvalidInput(MainspringError):
    """A value that was given cannot be accepted."""

    code = "invalid_input"
    http_status = 422
    grpc_status = "INVALID_ARGUMENT"
    exit_code = 2
    default_hint = "correct the value and try again; nothing was changed"


class InvalidId(InvalidInput):
    """This text is not an id."""

    code = "invalid_id"


class InvalidPayload(InvalidInput):
    """The payload does not match what the handler takes."""

    code = "invalid_payload"


class PayloadTooLarge(InvalidInput):
    """The payload is larger than the limit."""

    code = "payload_too_large"
    http_status = 413


class PayloadTooDeep(InvalidInput):
    """The payload is nested deeper than the limit."""

    code = "payload_too_deep"


class NotJson(InvalidInput):
    """The payload is not JSON."""

    code = "not_json"
    http_status = 400


class NaiveDatetime(InvalidInput):
    """A datetime without a time zone was given."""

    code = "naive_datetime"
    default_hint = "give an instant with its zone, for example 2027-01-31T09:00:00+01:00"


class InvalidDuration(InvalidInput):
    """A duration cannot be read, is negative or is out of bounds."""

    code = "invalid_duration"
    default_hint = "write a duration as 90s, 5m, 2h, 1d or 250ms"


class InvalidSchedule(InvalidInput):
    """A schedule's rule cannot be read, or contradicts itself.

    ``details`` name the ``field`` and, where the trouble has a place, the ``position`` in the
    text (from 0) and the ``token`` found there.
    """

    code = "invalid_schedule"
    default_hint = "mainspring cron explain shows what a rule means, for example '0 9 * * MON-FRI'"


class UnknownZone(InvalidSchedule):
    """There is no time zone of this name."""

    code = "unknown_zone"
    default_hint = "use a name such as Europe/Berlin, UTC, or an offset such as +05:30"


class NeverFires(InvalidSchedule):
    """The schedule has no fire within its bounds."""

    code = "never_fires"
    default_hint = "change the rule or its bounds so that one instant matches all of them"


class FiresTooOften(InvalidSchedule):
    """The schedule fires more often than is allowed."""

    code = "fires_too_often"
    default_hint = "give a longer interval, or raise the minimum"


class UnknownKind(InvalidInput):
    """No handler of this kind is known."""

    code = "unknown_kind"
    http_status = 422
    default_hint = "start a worker that declares it, or correct the name"


class UnknownOption(InvalidInput):
    """An option that does not exist was given."""

    code = "unknown_option"


class ConfigError(InvalidInput):
    """A setting or store address cannot be used."""

    code = "invalid_setting"


class InvalidQuery(InvalidInput):
    """This search cannot be read."""

    code = "invalid_query"


class NotFound(MainspringError):
    """There is no such thing."""

    code = "not_found"
    http_status = 404
    grpc_status = "NOT_FOUND"
    exit_code = 3
    default_hint = "check the id; history older than the retention is gone"


class Conflict(MainspringError):
    """The present state does not allow this."""

    code = "conflict"
    http_status = 409
    grpc_status = "FAILED_PRECONDITION"
    exit_code = 6
    default_hint = "look at the present state, then decide again"


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


class LimitReached(MainspringError):
    """A limit was reached."""

    code = "limit_reached"
    http_status = 429
    grpc_status = "RESOURCE_EXHAUSTED"
    exit_code = 6
    default_hint = "send less, or raise the limit that the message names"


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


class ConnectionFailed(MainspringError):
    """The store cannot be reached."""

    code = "store_unreachable"
    http_status = 503
    grpc_status = "UNAVAILABLE"
    exit_code = 9
    default_hint = "check the address, that the server runs, and that this machine may connect"


class StoreNotWritable(MainspringError):
    """The store cannot be written."""

    code = "store_not_writable"
    http_status = 507
    grpc_status = "UNAVAILABLE"
    exit_code = 9
    default_hint = "free some space or give write access; what was acknowledged is safe"


class StoreNotMigrated(Conflict):
    """The store's tables are missing or older than this version needs."""

    code = "store_not_migrated"
    http_status = 503
    default_hint = "run: mainspring db migrate"


class StoreNewer(Conflict):
    """The store was migrated by a newer version that this one cannot work with."""

    code = "store_newer"
    http_status = 503
    default_hint = "install the newer version here, or use another store"


class OutcomeUnknown(MainspringError):
    """The connection broke while a change was under way: it may or may not have happened."""

    code = "outcome_unknown"
    http_status = 503
    grpc_status = "UNAVAILABLE"
    exit_code = 9
    default_hint = "repeat it: the same key or fence makes the repetition harmless"


class BlobUnavailable(MainspringError):
    """The object store that holds this payload or result cannot be read from here."""

    code = "blob_unavailable"
    http_status = 503
    grpc_status = "UNAVAILABLE"
    exit_code = 9
    default_hint = "name the object store that the workers use: --blobs, MAINSPRING_BLOBS"


class BlobDamaged(MainspringError):
    """What the object store returned is not what was stored."""

    code = "blob_damaged"
    default_hint = "restore the object from a backup; its key is in the message"


class AppNotLoaded(InvalidInput):
    """The application module cannot be imported."""

    code = "app_not_loaded"
    default_hint = "give it as module:attribute, importable from the current folder"


def all_errors() -> tuple[type[MainspringError], ...]:
    """Return every error class, root first: the table of the documentation and its test."""
    found: list[type[MainspringError]] = [MainspringError]
    for known in found:
        found.extend(known.__subclasses__())
    return tuple(found)


BY_CODE: Final[Mapping[str, type[MainspringError]]] = {known.code: known for known in all_errors()}
