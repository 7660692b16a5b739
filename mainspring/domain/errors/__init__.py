"""One root, stable codes, and the one table from code to HTTP, gRPC and exit codes.

Every error says what is wrong (the message), and what to do next (the hint). ``details`` carries
machine-readable facts: field paths, ids, limits.

Exit codes of the command line: 0 done; 1 failed; 2 usage or bad input; 3 not found; 4 not allowed;
5 the awaited job ended unsuccessfully; 6 conflict or precondition; 7 a wait timed out; 8 findings;
9 store or server unreachable; 130 interrupted.
"""

from collections.abc import Mapping
from typing import Final

from mainspring.domain.errors.backends import (
    BlobDamaged,
    BlobUnavailable,
    ConnectionFailed,
    OutcomeUnknown,
    StoreNewer,
    StoreNotMigrated,
    StoreNotWritable,
)
from mainspring.domain.errors.bad_input import (
    AppNotLoaded,
    ConfigError,
    FiresTooOften,
    InvalidCursor,
    InvalidDuration,
    InvalidId,
    InvalidInput,
    InvalidPayload,
    InvalidQuery,
    InvalidSchedule,
    NaiveDatetime,
    NeverFires,
    NotJson,
    PayloadTooDeep,
    PayloadTooLarge,
    UnknownKind,
    UnknownOption,
    UnknownZone,
)
from mainspring.domain.errors.base import (
    Conflict,
    LimitReached,
    MainspringError,
    NotFound,
    with_index,
)
from mainspring.domain.errors.doors import (
    Changed,
    Forbidden,
    KeyExpired,
    MethodNotAllowed,
    RateLimited,
    ServerUnreachable,
    TenantSuspended,
    Unauthenticated,
    UnsupportedMedia,
)
from mainspring.domain.errors.endings import (
    JobCancelled,
    JobDead,
    JobFailed,
    ResultTimeout,
)
from mainspring.domain.errors.refusals import (
    DuplicateJob,
    LeaseLost,
    NotInTransaction,
    ScheduleExists,
    SessionLost,
    SubmissionKeyReused,
    WouldOverlap,
)

__all__ = [
    "BY_CODE",
    "AppNotLoaded",
    "BlobDamaged",
    "BlobUnavailable",
    "Changed",
    "ConfigError",
    "Conflict",
    "ConnectionFailed",
    "DuplicateJob",
    "FiresTooOften",
    "Forbidden",
    "InvalidCursor",
    "InvalidDuration",
    "InvalidId",
    "InvalidInput",
    "InvalidPayload",
    "InvalidQuery",
    "InvalidSchedule",
    "JobCancelled",
    "JobDead",
    "JobFailed",
    "KeyExpired",
    "LeaseLost",
    "LimitReached",
    "MainspringError",
    "MethodNotAllowed",
    "NaiveDatetime",
    "NeverFires",
    "NotFound",
    "NotInTransaction",
    "NotJson",
    "OutcomeUnknown",
    "PayloadTooDeep",
    "PayloadTooLarge",
    "RateLimited",
    "ResultTimeout",
    "ScheduleExists",
    "ServerUnreachable",
    "SessionLost",
    "StoreNewer",
    "StoreNotMigrated",
    "StoreNotWritable",
    "SubmissionKeyReused",
    "TenantSuspended",
    "Unauthenticated",
    "UnknownKind",
    "UnknownOption",
    "UnknownZone",
    "UnsupportedMedia",
    "WouldOverlap",
    "all_errors",
    "with_index",
]


def all_errors() -> tuple[type[MainspringError], ...]:
    """Return every error class, root first: the table of the documentation and its test."""
    found: list[type[MainspringError]] = [MainspringError]
    for known in found:
        found.extend(known.__subclasses__())
    return tuple(found)


BY_CODE: Final[Mapping[str, type[MainspringError]]] = {known.code: known for known in all_errors()}
