"""The records that travel between rooms: jobs, attempts, leases, workers, handlers.

Payloads and results are JSON text as UTF-8 bytes; only the ends (SDK, handler) decode them.
Large ones are replaced by a reference into the object store (``*_ref``). Durations are integers of
milliseconds; instants are aware datetimes in UTC, given by the store's clock.
"""

from collections.abc import Iterator
from datetime import datetime
from enum import IntEnum
from typing import Final

import msgspec

from mainspring.domain.ids import show_job
from mainspring.domain.schedule import FireOf
from mainspring.domain.states import AttemptState, JobState


class Priority(IntEnum):
    """Smaller is sooner; strict between levels, first in first out inside one."""

    CRITICAL = 0
    HIGH = 1
    NORMAL = 2
    LOW = 3


DEFAULT_TENANT: Final = "default"
DEFAULT_QUEUE: Final = "default"
DEFAULT_TIMEOUT_MS: Final = 300_000
DEFAULT_MAX_ATTEMPTS: Final = 5
DEFAULT_MAX_CRASHES: Final = 3

#: For how long a unique key holds: until the job has ended, or until it begins.
UNIQUE_WHILE: Final = ("live", "waiting")
#: What a second job with a unique key does.
ON_DUPLICATE: Final = ("existing", "reject", "replace")


class Backoff(msgspec.Struct, frozen=True, omit_defaults=True):
    """How long to wait before the next try: ``min(cap, initial * factor**(n-1)) * (1+U(0,j))``.

    With ``full_jitter`` the wait is drawn between nothing and all of it: ``… * U(0,1)``.
    """

    initial_ms: int = 1_000
    factor: float = 2.0
    cap_ms: int = 300_000
    jitter: float = 0.3
    full_jitter: bool = False


DEFAULT_BACKOFF: Final = Backoff()


class NewJob(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A validated submission, ready to be inserted. The id is made by the submitter.

    Exactly one of ``delay_ms`` and ``due_at`` may be given; with neither the job is due at once.
    """

    id: bytes
    kind: str
    payload: bytes = b"{}"
    payload_ref: str | None = None
    tenant: str = DEFAULT_TENANT
    queue: str = DEFAULT_QUEUE
    priority: int = Priority.NORMAL
    delay_ms: int | None = None
    due_at: datetime | None = None
    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    max_crashes: int = DEFAULT_MAX_CRASHES
    backoff: Backoff | None = None
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    #: Kind of the job to submit, in the same transaction, when this one goes dead.
    on_exhausted: str | None = None
    #: What handlers pass downstream as their idempotency key; the job's id if not given.
    effect_key: str | None = None
    submission_key: str | None = None
    #: SHA-256 of everything that the submission key promises to be the same.
    body_hash: bytes | None = None
    #: At most one job of the tenant with this key is live (``waiting``: not yet started).
    unique_key: str | None = None
    unique_while: str = "live"
    #: What happens to this job when there is one: ``existing``, ``reject`` or ``replace``.
    on_duplicate: str = "existing"
    #: The schedule whose fire this is, and that fire's nominal instant.
    schedule_id: bytes | None = None
    nominal_at: datetime | None = None
    #: At most one such job of its schedule is live.
    alone: bool = False


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """The answer to one submission, given only after its commit.

    ``created`` is false when the submission key (or a repeated id) named an existing job.
    ``conflict`` is true when the key exists with another body: nothing was inserted.
    ``duplicate``: the job named here holds the unique key, and the submission asked to be refused.
    ``replaced``: the job named here waits with what was submitted now.
    """

    job_id: bytes
    created: bool = True
    conflict: bool = False
    duplicate: bool = False
    replaced: bool = False
    #: With ``replaced``: the object that the former payload lay in; no row names it any more.
    unused_ref: str | None = None


class Claimed(msgspec.Struct, frozen=True, gc=False):
    """One attempt handed to a worker, with what is needed to run it and to judge its outcome."""

    job_id: bytes
    attempt: int
    kind: str
    queue: str
    tenant: str
    priority: int
    payload: bytes
    payload_ref: str | None
    tries: int
    crashes: int
    max_attempts: int
    max_crashes: int
    backoff: Backoff | None
    timeout_ms: int
    due_at: datetime
    started_at: datetime
    deadline_at: datetime
    effect_key: str | None
    on_exhausted: str | None
    created_at: datetime
    schedule_id: bytes | None = None
    nominal_at: datetime | None = None
    #: What the dispatching side tells of the fire that it is; a store leaves this out.
    fire: FireOf | None = None
    #: That could not be read just now: the attempt is to be handed back.
    fire_is_unread: bool = False


class Held(msgspec.Struct, frozen=True):
    """A running attempt as recovery sees it: enough to judge it without its worker."""

    job_id: bytes
    attempt: int
    kind: str
    tenant: str
    queue: str
    state: JobState
    tries: int
    crashes: int
    max_attempts: int
    max_crashes: int
    backoff: Backoff | None
    timeout_ms: int
    on_exhausted: str | None
    payload: bytes
    payload_ref: str | None
    #: ``session`` (its lease ran out or its worker was declared dead), ``deadline`` (the session
    #: lives but the attempt overran its hard deadline), ``child`` (the keeper saw it die), or
    #: ``overtime`` (likewise, when the attempt had already used up its timeout).
    cause: str
    schedule_id: bytes | None = None


class Settlement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What an outcome means, decided by ``policies.verdict``: the store only carries it out.

    The store applies it if and only if the job still is held under ``attempt``. When the job is
    ``cancelling``, a non-final ``becomes`` turns into ``cancelled`` (the cancel wins over a retry).
    """

    job_id: bytes
    attempt: int
    attempt_state: AttemptState
    becomes: JobState
    reason: str | None = None
    #: For ``retrying`` and ``scheduled``: due at the store's now plus this.
    delay_ms: int = 0
    error: bytes | None = None
    #: The group of failures that the error belongs to.
    error_group: str | None = None
    result: bytes | None = None
    result_ref: str | None = None
    #: The try was charged at claim; give it back (snooze, hand-back).
    refund_try: bool = False
    #: The crash was charged at claim; a report, any report, proves that there was none.
    refund_crash: bool = True
    #: Inserted in the same transaction when the job really goes dead.
    follow_up: NewJob | None = None
    #: Inserted in the same transaction when the verdict is carried out as it is.
    notices: tuple[NewJob, ...] = ()


class Settled(msgspec.Struct, frozen=True, gc=False):
    """How one settlement went.

    ``accepted``: applied now. ``repeated``: this very attempt was already closed in the same way
    (an answer had been lost). Neither: the attempt is stale and nothing was changed.
    """

    job_id: bytes
    attempt: int
    accepted: bool
    repeated: bool = False
    #: The job's state now, where it was applied.
    state: JobState | None = None


class JobView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A job as people see it, live or final. ``state`` is the effective state."""

    id: bytes
    kind: str
    tenant: str
    queue: str
    priority: int
    state: JobState
    due_at: datetime
    created_at: datetime
    attempt: int
    tries: int
    crashes: int
    max_attempts: int
    max_crashes: int
    timeout_ms: int
    payload: bytes
    payload_ref: str | None = None
    backoff: Backoff | None = None
    reason: str | None = None
    blocked_reason: str | None = None
    worker_id: bytes | None = None
    started_at: datetime | None = None
    deadline_at: datetime | None = None
    finished_at: datetime | None = None
    result: bytes | None = None
    result_ref: str | None = None
    error: bytes | None = None
    #: Names errors of one cause (``policies.fingerprint``).
    error_group: str | None = None
    effect_key: str | None = None
    submission_key: str | None = None
    #: Of a final job it only tells what was held.
    unique_key: str | None = None
    #: ``None`` when no unique key is held (any more).
    unique_while: str | None = None
    on_exhausted: str | None = None
    #: The schedule that fired it, and for which nominal instant.
    schedule_id: bytes | None = None
    nominal_at: datetime | None = None
    replays: int = 0
    progress_done: float | None = None
    progress_total: float | None = None
    progress_note: str | None = None

    @property
    def job_id(self) -> str:
        """Return the id as people see it, and as clients take it: ``job_…``."""
        return show_job(self.id)

    @property
    def payload_is_away(self) -> bool:
        """Tell whether ``payload`` only holds the place of an object that was not read."""
        return self.payload_ref is not None and self.payload == b"{}"

    @property
    def result_is_away(self) -> bool:
        """Tell whether there is a result, but in an object that was not read."""
        return self.result_ref is not None and self.result is None

    @property
    def as_stored(self) -> "JobView":
        """Return the job without what lies in the object store."""
        return msgspec.structs.replace(
            self,
            payload=self.payload if self.payload_ref is None else b"{}",
            result=self.result if self.result_ref is None else None,
        )


class AttemptView(msgspec.Struct, frozen=True, omit_defaults=True):
    """One attempt of a job, open or closed."""

    job_id: bytes
    attempt: int
    state: AttemptState
    worker_id: bytes | None
    started_at: datetime
    ended_at: datetime | None = None
    reason: str | None = None
    error: bytes | None = None


class NewSession(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that comes up and asks for a session."""

    id: bytes
    name: str
    host: str
    pid: int
    version: str
    queues: dict[str, int]
    kinds: tuple[str, ...]
    lease_ms: int = 15_000
    #: Works for this tenant alone; ``None``: for the whole installation.
    tenant: str | None = None


class WorkerView(msgspec.Struct, frozen=True):
    """A worker session as people see it: ``alive``, ``draining``, ``lost`` or ``gone``."""

    id: bytes
    name: str
    host: str
    pid: int
    version: str
    queues: dict[str, int]
    kinds: tuple[str, ...]
    state: str
    started_at: datetime
    beat_at: datetime
    lease_until: datetime
    running: int
    #: The tenant that it works for; ``None``: the whole installation.
    tenant: str | None = None


class HandlerInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A kind as its workers declare it: defaults for submissions, and the payload's schema."""

    kind: str
    tenant: str = DEFAULT_TENANT
    queue: str = DEFAULT_QUEUE
    priority: int = Priority.NORMAL
    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    max_crashes: int = DEFAULT_MAX_CRASHES
    backoff: Backoff | None = None
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    on_exhausted: str | None = None
    mode: str = "async"
    #: What makes a second job one too many: a key, names of members that count, or ``True``.
    unique: str | tuple[str, ...] | bool | None = None
    unique_while: str = "live"
    on_duplicate: str = "existing"
    delay_ms: int | None = None
    #: JSON Schema of the payload object, as text.
    schema: str = "{}"
    doc: str = ""


class QueueView(msgspec.Struct, frozen=True):
    """A queue with what is in it now."""

    name: str
    paused_at: datetime | None
    paused_reason: str | None
    ready: int
    scheduled: int
    retrying: int
    running: int
    oldest_ready_at: datetime | None


class Trend(msgspec.Struct, frozen=True):
    """A row of equal spans of time, into which failures are counted."""

    begins_at: datetime
    bucket_ms: int
    buckets: int


class FailureGroup(msgspec.Struct, frozen=True):
    """Final jobs that failed in the same way, and the newest of them as an example."""

    group: str
    jobs: int
    kind: str
    first_at: datetime
    last_at: datetime
    sample_id: bytes
    error: bytes
    #: How many of them ended in each span of the trend that was asked for.
    trend: tuple[int, ...]


class Page(msgspec.Struct, frozen=True):
    """One page of jobs, newest first; ``next_before`` continues it."""

    items: tuple[JobView, ...]
    next_before: bytes | None

    def __iter__(self) -> Iterator[JobView]:
        """Go through the jobs of this page."""
        return iter(self.items)

    def __len__(self) -> int:
        """Return how many jobs this page has."""
        return len(self.items)


class JobFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs a list, replay or purge means. An empty filter means every job.

    Windows begin at their first instant or id and end before their last. A window of ends is about
    final jobs alone.
    """

    states: frozenset[JobState] = frozenset()
    kinds: frozenset[str] = frozenset()
    queues: frozenset[str] = frozenset()
    tenant: str | None = None
    finished_after: datetime | None = None
    finished_before: datetime | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    #: Groups of failures, as ``JobView.error_group`` names them.
    groups: frozenset[str] = frozenset()
    id_from: bytes | None = None
    id_before: bytes | None = None
