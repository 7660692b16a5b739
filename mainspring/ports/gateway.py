"""The two doors: what a worker knows of the world, and what a client knows of it.

A worker knows nothing but its gateway (law 7): it claims, beats, reports. The dispatching side
behind the gateway decides what a report means. Local gateways sit on a store; remote ones on a
wire; workers and clients cannot tell.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

import msgspec

from mainspring.domain.job import (
    AttemptView,
    Claimed,
    FailureGroup,
    HandlerInfo,
    JobFilter,
    JobView,
    NewSession,
    Page,
    QueueView,
    Trend,
    WorkerView,
)
from mainspring.domain.limits import BULK_JOBS_MAX
from mainspring.domain.outcome import LogLine, Progress, Report
from mainspring.domain.states import JobState
from mainspring.ports.store import Beat, CancelResult, ClaimAsk, Pulse

if TYPE_CHECKING:
    from mainspring.ports.access import AccessGateway
    from mainspring.ports.operations import OperationGateway
    from mainspring.ports.scheduling import ScheduleGateway
    from mainspring.ports.webhooks import WebhookGateway


class WorkerGateway(Protocol):
    """All that a worker can ask for. Every call may be repeated.

    Raises ``SessionLost`` when the session has ended (stop everything, open a new one);
    ``StoreUnreachable`` and ``OutcomeUnknown`` when the other side cannot be reached (try again).
    """

    async def open_session(self, session: NewSession, handlers: Sequence[HandlerInfo]) -> Beat:
        """Begin a session and declare what this worker can run."""
        ...

    async def beat(self, worker_id: bytes) -> Beat:
        """Keep the session alive for another lease."""
        ...

    async def drain_session(self, worker_id: bytes) -> None:
        """Say that this worker claims no more."""
        ...

    async def close_session(self, worker_id: bytes) -> None:
        """End the session; what it still holds goes back to others at once, as lost."""
        ...

    async def child_died(self, worker_id: bytes, child: int, cause: str) -> int:
        """Tell that a child process ended without reporting; its attempts are judged as lost.

        Returns how many attempts that were.
        """
        ...

    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        """Get due jobs; payloads that live in the object store are fetched by ``payload``."""
        ...

    async def payload(self, claimed: Claimed) -> bytes:
        """Return the payload as JSON text, wherever it lives."""
        ...

    async def save_file(self, job_id: bytes, attempt: int, name: str, body: bytes) -> str:
        """Keep a file of a running attempt in the object store; return its reference.

        Raises ``LeaseLost`` for an attempt that is not held, ``ConfigError`` without a store.
        """
        ...

    async def report(self, reports: Sequence[Report]) -> list[bool]:
        """Hand in outcomes; False for each attempt that no longer held its job (``LeaseLost``).

        An answer that was lost may be asked for again: the repetition says True as well.
        """
        ...

    async def pulse(
        self, worker_id: bytes, held: Sequence[tuple[bytes, int]], progress: Sequence[Progress]
    ) -> Pulse:
        """Store progress; learn which attempts are to be cancelled and which are lost."""
        ...

    async def append_logs(self, lines: Sequence[LogLine]) -> None:
        """Keep the handlers' log lines."""
        ...

    async def wait_for_work(
        self, worker_id: bytes, queues: Collection[str], timeout_seconds: float
    ) -> bool:
        """Return early when there may be work or a message; False after the timeout."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class Submission(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a client wants to be done: names and values as given, not yet validated.

    ``None`` means: as the handler declares, else the product's default.
    """

    kind: str
    payload: bytes = b"{}"
    #: ``None``: the submitter's own, which is ``default`` for one that is bound to no tenant.
    tenant: str | None = None
    queue: str | None = None
    priority: str | int | None = None
    delay_ms: int | None = None
    due_at: str | None = None
    max_attempts: int | None = None
    max_crashes: int | None = None
    backoff: dict[str, int | float] | None = None
    timeout_ms: int | None = None
    on_exhausted: str | None = None
    effect_key: str | None = None
    key: str | None = None
    #: While a job with this key is live (or waiting), no second one is made.
    unique_key: str | None = None
    unique_while: str = "live"
    #: What a second one does: ``existing``, ``reject`` or ``replace``.
    on_duplicate: str = "existing"
    #: True when the payload was part of a text that ``domain.payload.check`` has seen.
    payload_is_checked: bool = False
    #: True when the submitter knows the handler itself (typed SDK): no look-up of the kind.
    kind_is_known: bool = False
    #: What that handler declares; ``None`` options are filled in from it.
    declared: HandlerInfo | None = None
    #: Chosen by the submitter, so that a repetition after an unknown outcome is harmless.
    id: bytes | None = None


class Accepted(msgspec.Struct, frozen=True, gc=False):
    """One acknowledged submission. ``created`` is false when a key of it named an existing job.

    ``replaced``: that job holds the unique key, and waits with what was submitted now.
    """

    job_id: bytes
    created: bool
    replaced: bool = False


class Replayed(msgspec.Struct, frozen=True):
    """What a bulk action did: how many matched, and which jobs it changed."""

    matched: int
    changed: tuple[bytes, ...]


class Bulk(msgspec.Struct, frozen=True, kw_only=True):
    """An action on everything that a search finds."""

    #: ``replay`` and ``purge`` (dead letters), ``retry`` (scheduled, retrying, dead), ``cancel``.
    action: str
    query: str
    #: Jobs that were submitted, or ended, later are left out: a preview's own instant.
    until: datetime | None = None
    limit: int = BULK_JOBS_MAX
    #: At most so many jobs a second.
    rate: float | None = None
    #: For ``cancel``.
    reason: str = ""
    force: bool = False


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """What an action on a search is about, and what it did."""

    action: str
    #: The search as it was understood.
    query: str
    until: datetime
    matched: int
    #: There may be more: the limit was reached, or too many jobs would have to be looked at.
    capped: bool
    states: dict[JobState, int]
    #: The newest of them.
    sample: tuple[JobView, ...]
    changed: tuple[bytes, ...] = ()
    dry_run: bool = True


class ClientGateway(Protocol):
    """All that a client can ask for: the same over a store and over a server."""

    @property
    def access(self) -> "AccessGateway":
        """Return the part that is about keys, tenants and the audit."""
        ...

    @property
    def schedules(self) -> "ScheduleGateway":
        """Return the part that is about schedules."""
        ...

    @property
    def operations(self) -> "OperationGateway":
        """Return the part that is about operations: bulk actions that outlive their callers."""
        ...

    @property
    def webhooks(self) -> "WebhookGateway":
        """Return the part that is about endpoints of webhooks."""
        ...

    async def submit(self, wanted: Sequence[Submission]) -> list[Accepted]:
        """Validate all, then insert all in one transaction; nothing is inserted if one is bad.

        Raises ``InvalidInput`` and its kin with the index of the bad one in ``details``. Safe to
        repeat: unknown outcomes are settled inside by the id. ``SubmissionKeyReused`` comes after
        the insert: the others are in, and ``details["accepted"]`` has their ids in order. So does
        ``DuplicateJob``, for a unique key that another job holds (``on_duplicate="reject"``).
        """
        ...

    async def get_job(self, job_id: bytes) -> JobView:
        """Return a job, its payload and result fetched from wherever they live."""
        ...

    async def list_jobs(self, wanted: JobFilter, *, limit: int, before: bytes | None) -> Page:
        """Return a page of jobs, newest first."""
        ...

    async def find(self, query: str, *, limit: int = 50, before: bytes | None = None) -> Page:
        """Return a page of jobs that a search finds, newest first.

        A page may end before it is full, when many jobs had to be looked at; ``next_before`` goes
        on. Raises ``InvalidQuery`` with the offset of what cannot be read.
        """
        ...

    async def operate(self, wanted: Bulk, *, dry_run: bool, actor: str) -> Operation:
        """Do something with everything that a search finds; with ``dry_run`` only say with what.

        The set is frozen by ``until``: pass the one of the preview. Oldest first, in batches; what
        meanwhile went on by itself is left alone. May be repeated: what was changed is eligible no
        more, or was changed after ``until``. It ends with its caller; what is to outlive that, or
        is more than ``bulk_jobs_max``, goes through ``operations``.
        """
        ...

    async def list_groups(
        self, wanted: JobFilter, *, limit: int = 50, trend: Trend | None = None
    ) -> list[FailureGroup]:
        """Return groups of failures, most jobs first; without states those of dead letters.

        Without a trend the last 24 hours are told by the hour.
        """
        ...

    async def list_attempts(self, job_id: bytes) -> list[AttemptView]:
        """Return all attempts of a job in order."""
        ...

    async def list_logs(
        self, job_id: bytes, *, after: tuple[int, int] | None = None, limit: int = 500
    ) -> list[LogLine]:
        """Return the log lines of a job's attempts, after the cursor."""
        ...

    async def wait_for_change(
        self, job_id: bytes, seen: JobView | None, timeout_seconds: float
    ) -> JobView:
        """Return the job as soon as it differs from what was seen, or as it is after a while."""
        ...

    async def wait_for_ends(self, job_ids: Sequence[bytes], timeout_seconds: float) -> list[bytes]:
        """Return those that have ended, as soon as there are any, or none after a while.

        Raises ``NotFound`` when one of them does not exist.
        """
        ...

    async def read_file(self, reference: str) -> bytes:
        """Return a file that a handler saved; raise ``NotFound`` when it is gone."""
        ...

    async def cancel(
        self, job_ids: Sequence[bytes], *, reason: str = "", force: bool = False, actor: str
    ) -> list[CancelResult]:
        """Cancel jobs; the workers that run them are told."""
        ...

    async def run_now(self, job_ids: Sequence[bytes], *, actor: str) -> list[bytes]:
        """Make waiting jobs due now."""
        ...

    async def replay(
        self,
        job_ids: Sequence[bytes],
        *,
        payload: bytes | None = None,
        actor: str,
    ) -> list[bytes]:
        """Bring dead letters back; with ``payload``, changed (validated first)."""
        ...

    async def replay_matching(
        self, wanted: JobFilter, *, limit: int, dry_run: bool, actor: str
    ) -> Replayed:
        """Bring back every dead letter that matches, oldest first, at most ``limit``."""
        ...

    async def purge(self, job_ids: Sequence[bytes], *, actor: str) -> int:
        """Delete dead letters for good; return how many."""
        ...

    async def list_queues(self) -> list[QueueView]:
        """Return the queues."""
        ...

    async def pause_queue(self, queue: str, *, reason: str, actor: str) -> bool:
        """Hand out nothing more of this queue."""
        ...

    async def resume_queue(self, queue: str, *, actor: str) -> bool:
        """Hand out jobs of this queue again."""
        ...

    async def list_workers(self) -> list[WorkerView]:
        """Return worker sessions, newest first."""
        ...

    async def drain_worker(self, worker_id: bytes, *, actor: str) -> bool:
        """Ask a worker to claim no more, finish what it runs and end. False: no such worker."""
        ...

    async def list_handlers(self) -> list[HandlerInfo]:
        """Return every declared kind."""
        ...

    async def count_states(self) -> dict[JobState, int]:
        """Return how many jobs are in each state."""
        ...

    async def now(self) -> datetime:
        """Return the store's clock, by which dues and leases are judged."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
