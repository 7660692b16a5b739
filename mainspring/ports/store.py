"""The store, as the roles see it: small protocols by role. Same meaning on every backend.

Time. Every statement reads one instant of the store's clock and uses it throughout. ``now`` in the
contracts below is that instant. A backend takes an optional ``Clock`` that replaces it in tests.

Unknown outcomes. A method raises ``OutcomeUnknown`` when its connection broke after the change was
sent; each contract says why repeating it is safe. ``ConnectionFailed`` means nothing was sent.

The fence. Whatever names ``(job id, attempt)`` changes something only while the job is *held*
(``running`` or ``cancelling``) under that very attempt number.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from mainspring.domain.changes import Changes
from mainspring.domain.job import (
    AttemptView,
    Claimed,
    FailureGroup,
    HandlerInfo,
    Held,
    JobFilter,
    JobView,
    NewJob,
    NewSession,
    Page,
    QueueView,
    Receipt,
    Settled,
    Settlement,
    Trend,
    WorkerView,
)
from mainspring.domain.outcome import LogLine, Progress
from mainspring.domain.states import JobState
from mainspring.ports.access import AuditStore, KeyStore, TenantStore
from mainspring.ports.operations import OperationStore
from mainspring.ports.schedules import ScheduleStore
from mainspring.ports.webhooks import WebhookStore


class Lane(msgspec.Struct, frozen=True):
    """One queue that a claim looks into.

    ``since`` maps a priority to the low watermark: rows due before it are left out, so that dead
    index entries at the head cost nothing. Left-out rows are found by the claimer's regular full
    sweep (no watermark). It is a hint for speed; it never changes what *may* be claimed for good.
    """

    queue: str
    want: int
    since: Mapping[int, datetime] = {}


class ClaimAsk(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs a worker's child wants: at most ``limit`` in all, ``want`` of each lane."""

    worker_id: bytes
    child: int
    lanes: tuple[Lane, ...]
    kinds: tuple[str, ...]
    limit: int
    #: Added to an attempt's timeout to make its hard deadline in the store.
    grace_ms: int = 10_000
    #: Said after a claim whose answer was lost: all attempts that this child knows it holds. What
    #: it was given besides, unseen, goes back first. A gateway heeds it; a store does not look.
    holding: tuple[tuple[bytes, int], ...] | None = None
    #: Only jobs of this tenant, for a session that is bound to it.
    tenant: str | None = None


class Beat(msgspec.Struct, frozen=True):
    """The answer to a heartbeat."""

    lease_ms: int
    #: True when somebody asked this worker to drain.
    drain: bool = False


class Pulse(msgspec.Struct, frozen=True):
    """What became of attempts that a child believes to hold."""

    cancelling: tuple[bytes, ...]
    #: No longer held under the attempt given: stop working on them.
    lost: tuple[bytes, ...]


class CancelResult(msgspec.Struct, frozen=True):
    """What a cancel did to one job: the state it has now, ``None`` when there is no such job."""

    job_id: bytes
    state: JobState | None
    changed: bool
    #: The worker to be told, when the job is ``cancelling`` now.
    worker_id: bytes | None = None


class SchemaStatus(msgspec.Struct, frozen=True):
    """Where the store's schema stands against this code."""

    applied: tuple[str, ...]
    pending: tuple[str, ...]
    #: Applied migrations that this code does not know: the store is newer.
    unknown: tuple[str, ...]
    #: True when this code must not touch the store (a ``post`` step that it does not know).
    too_new: bool


class SubmissionStore(Protocol):
    """Jobs come in."""

    async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
        """Insert all jobs in one transaction; receipts in the order given.

        A job is ``ready`` when due at or before now, else ``scheduled``. A job whose id is already
        known is not inserted again (``created=False``). A job with a submission key: if the key is
        known and unexpired for the tenant, nothing is inserted for it and the receipt names the
        first job (``created=False``), or is a ``conflict`` when ``body_hash`` differs; a conflict
        does not hinder the others. Two equal keys inside one call behave like two calls.

        A job with a unique key (of its tenant and ``unique_while``) is not inserted while another
        one holds it: ``live`` until that job is final, ``waiting`` until its first attempt begins.
        ``on_duplicate`` says what happens instead. ``existing``: the receipt names the holder.
        ``reject``: so it does, as a ``duplicate``, and a submission key is not kept. ``replace``:
        a holder without any attempt takes over all but id, tenant, keys and ``created_at``
        (``replaced``); one that was begun is left alone. A replayed job holds no key.

        ``repeated=True`` is for the repetition after an unknown outcome: ids that have meanwhile
        finished (and left the live table) count as known too.
        """
        ...


class DispatchStore(Protocol):
    """Attempts begin and end."""

    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        """Hand out due jobs of the lanes' queues that are not paused, of the kinds given.

        Strict by priority inside a lane, then by ``due_at``, then by id. Never more than asked.
        Every claimed job gets attempt + 1, is charged one try and one crash, is ``running`` with
        worker, child, ``started_at`` = now and ``deadline_at`` = now + timeout + grace. Two
        claimers never get the same job. A session that is not alive gets nothing, and neither does
        one that is not bound to the tenant that the ask names.

        An unknown outcome needs no repetition: what was claimed unseen is recovered as lost at
        the session's end or the deadline. Callers therefore hand back what they cannot run.
        """
        ...

    async def next_due_ms(
        self, queues: Collection[str], kinds: Collection[str], tenant: str | None = None
    ) -> int | None:
        """Return how long until the earliest waiting job of these falls due (0: one is due).

        Rounded up to whole milliseconds, so that nobody looks a moment too early.
        Paused queues do not count. ``None``: nothing waits. A hint for how long to idle.
        """
        ...

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        """Carry out verdicts in one transaction; answers in the order given.

        Only while held under that attempt (the fence). Final: the row leaves the live table and
        enters history in the same statement, with its last attempt embedded. Not final: the attempt
        enters ``attempts``, the row is freed (no worker, no deadline), due at now + ``delay_ms``.
        Refunds apply to both. ``cancelling`` + non-final = ``cancelled``. A follow-up is inserted
        if and only if the job goes dead here, notices if and only if the verdict is accepted as it
        is, not turned into ``cancelled``; in the same transaction. Repeating the same settlement
        changes nothing and answers ``repeated``, also when a cancel had turned it into
        ``cancelled``. Of two verdicts on one attempt in one call exactly one is accepted. What is
        still held may be settled although its session has ended: whoever commits first wins.
        """
        ...

    async def pulse(
        self, worker_id: bytes, held: Sequence[tuple[bytes, int]], progress: Sequence[Progress]
    ) -> Pulse:
        """Store progress of held attempts and tell which of ``held`` are cancelling or lost."""
        ...

    async def append_logs(self, lines: Sequence[LogLine]) -> int:
        """Keep log lines of held attempts; return how many were kept.

        Lines of stale attempts are dropped. A line already kept (job, attempt, sequence) is not
        kept twice.
        """
        ...

    async def expired(self, limit: int) -> list[Held]:
        """Return up to ``limit`` held attempts whose right has run out, worst first.

        First every session with ``lease_until`` < now is marked ``lost``, so that it can never
        beat again. Then: attempts of sessions that are lost or gone (cause ``session``), and
        attempts past ``deadline_at`` of living sessions (cause ``deadline``). Changes no job.
        """
        ...

    async def held_by(self, worker_id: bytes, child: int | None = None) -> list[Held]:
        """Return the attempts that a worker (or one child of it) holds now.

        The cause is ``child``, or ``overtime`` for those that have used up their timeout.
        """
        ...


class RosterStore(Protocol):
    """Who works here, and what they can do."""

    async def ask_drain(self, worker_id: bytes, *, actor: str) -> bool:
        """Ask a worker to drain; it learns so with its next beat. False: no such worker."""
        ...

    async def is_session_of(self, worker_id: bytes, tenant: str) -> bool:
        """Say whether there is such a session, alive or not, and it is bound to that tenant."""
        ...

    async def list_workers(self, tenant: str | None = None) -> list[WorkerView]:
        """Return sessions that live, and those that ended within the last hour, newest first.

        With a tenant only those that are bound to it.
        """
        ...

    async def list_handlers(self, tenant: str | None = None) -> list[HandlerInfo]:
        """Return every declared kind, by name; with a tenant what that one has declared."""
        ...


class SessionStore(RosterStore, Protocol):
    """Workers come, beat and go. One row a worker session, never one a job."""

    async def open_session(self, session: NewSession) -> Beat:
        """Begin a session, alive until now + lease. Repeating it with the same id renews it.

        Its tenant never changes: under the id of a session of another one it is ``SessionLost``.
        """
        ...

    async def beat(self, worker_id: bytes) -> Beat:
        """Extend to now + lease, if and only if it is alive or draining and not run out.

        A lease is good at its last instant and run out one microsecond later, whether or not
        ``expired`` has said so. Otherwise raise ``SessionLost``; a lost session never comes back.
        """
        ...

    async def end_session(self, worker_id: bytes, state: str) -> None:
        """Mark it ``draining`` (still beats, claims nothing) or ``gone`` (holds nothing more)."""
        ...

    async def declare_handlers(self, handlers: Sequence[HandlerInfo]) -> None:
        """Write down the kinds that a worker declares; the last declaration counts."""
        ...


class ControlStore(Protocol):
    """People and clients change what is under way.

    Every change is in the audit, in its own transaction: by whom (``actor``), from where
    (``domain.access.source_of``), and what it was before and after.
    """

    async def cancel(
        self, job_ids: Sequence[bytes], *, reason: str, force: bool, actor: str
    ) -> list[CancelResult]:
        """Cancel jobs. Waiting: final at once. Running: ``cancelling``, the worker is told.

        ``force``: running ones are final at once too (their attempt closes as ``cancelled`` and is
        stale from then on). A job that is final stays as it is (``changed=False``).
        """
        ...

    async def run_now(self, job_ids: Sequence[bytes], *, actor: str) -> list[bytes]:
        """Make waiting jobs (scheduled, retrying) due now; return those that were.

        One that has fallen due already keeps its place in the queue.
        """
        ...

    async def replay(
        self, job_ids: Sequence[bytes], *, payload: bytes | None, actor: str
    ) -> list[bytes]:
        """Bring dead jobs back as ready: same id, attempt number goes on, tries and crashes 0.

        They hold no unique key: another job may hold it by now.

        The last attempt joins ``attempts``, so the full history stays. With ``payload`` the body
        is replaced; the audit keeps the old one. Returns those that came back.
        """
        ...

    async def purge(self, job_ids: Sequence[bytes], *, actor: str) -> list[str]:
        """Delete dead jobs with attempts and logs for good; return blob references to delete."""
        ...

    async def pause_queue(self, queue: str, *, reason: str, actor: str) -> bool:
        """From this commit on nothing of the queue is claimed. False: it was paused already."""
        ...

    async def resume_queue(self, queue: str, *, actor: str) -> bool:
        """Undo a pause. False: it was not paused."""
        ...


class QueryStore(Protocol):
    """Look, without changing anything. Never takes a row that a claim may want."""

    async def now(self) -> datetime:
        """Return the store's clock."""
        ...

    async def get_job(self, job_id: bytes) -> JobView | None:
        """Return a job, live or final."""
        ...

    async def get_states(self, job_ids: Collection[bytes]) -> dict[bytes, JobState]:
        """Return the effective states of those jobs that exist."""
        ...

    async def tenants_of(self, job_ids: Collection[bytes]) -> dict[bytes, str]:
        """Return whose those jobs are that exist, live or final. A job never changes its tenant."""
        ...

    async def list_jobs(self, wanted: JobFilter, *, limit: int, before: bytes | None) -> Page:
        """Return jobs by id, newest first, live and final together, after the cursor."""
        ...

    async def list_groups(
        self, wanted: JobFilter, *, trend: Trend, limit: int
    ) -> list[FailureGroup]:
        """Return groups of final jobs that match and have an error: most jobs first.

        The newest ``group_jobs_max`` of them are counted. Equal counts: the one that failed last
        first. The example is the job of the group that ended last. Without states all are meant.
        """
        ...

    async def list_attempts(self, job_id: bytes) -> list[AttemptView]:
        """Return every attempt in order: closed ones, the final one, and the open one."""
        ...

    async def list_logs(
        self, job_id: bytes, *, after: tuple[int, int] | None, limit: int
    ) -> list[LogLine]:
        """Return log lines by (attempt, sequence), after the cursor."""
        ...

    async def list_queues(self, tenant: str | None = None) -> list[QueueView]:
        """Return every queue that has jobs or a pause.

        With a tenant only its jobs are counted, and queues without any are left out.
        """
        ...

    async def count_states(self, tenant: str | None = None) -> dict[JobState, int]:
        """Return how many jobs are in each effective state, history included."""
        ...


class ChangeStore(Protocol):
    """Watch what happens to jobs."""

    async def list_changes(self, since: datetime, *, limit: int) -> Changes:
        """Return what happened to jobs from an instant on, in order of time.

        Of changes that follow each other quickly only the last one may be told, and a dead letter
        that was brought back is told when it begins. Times are those of transactions, which commit
        later: ask from ``through`` on, and expect what was told already. Who took longer than
        ``CHANGE_PATIENCE_SECONDS`` from a change to its commit is not told of.
        """
        ...


class Retained(msgspec.Struct, frozen=True):
    """What one step of retention did."""

    #: In words.
    dropped: list[str]
    #: Objects that were named by what is gone.
    references: list[str]
    #: The step came to its bound: there may be more to drop.
    is_partial: bool = False


class MaintenanceStore(Protocol):
    """Keep the house clean, in small steps."""

    async def prepare_partitions(self, days_ahead: int) -> list[str]:
        """Create the time partitions to come; return their names. Nothing to do on SQLite."""
        ...

    async def apply_retention(self, keep_days: Mapping[JobState, int], *, limit: int) -> Retained:
        """Drop history older than kept (whole partitions; bounded deletes on SQLite)."""
        ...

    async def retain_audit(self, keep_days: int, *, limit: int) -> Retained:
        """Drop the audit of older days (whole partitions; bounded deletes on SQLite)."""
        ...

    async def forget_expired(self, limit: int) -> int:
        """Drop expired submission keys and sessions long ended; return how many."""
        ...


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What a store knows of itself that hurts before it breaks; ``None`` where it has no such."""

    #: Product and version: ``PostgreSQL 18.6``.
    product: str
    wal_bytes: int | None = None
    connections: int | None = None
    connections_max: int | None = None
    #: The oldest transaction that is held open: dead rows pile up behind its snapshot.
    oldest_snapshot_seconds: float | None = None
    oldest_snapshot_by: str = ""
    #: The server itself keeps tenants apart: row-level security, by a role that can be used.
    is_walled: bool | None = None


class HealthStore(Protocol):
    """Look at the store itself. Works on a store that was never migrated, too."""

    async def diagnose(self) -> Diagnosis:
        """Return what can be seen at a glance."""
        ...

    async def find_damage(self) -> list[str]:
        """Return what is broken, in words; reads everything there is on SQLite."""
        ...


class SchemaStore(Protocol):
    """Migrations. ``pre`` steps run before new code, ``post`` steps after the old has gone."""

    async def schema_status(self) -> SchemaStatus:
        """Compare the store with the migrations that this code carries."""
        ...

    async def migrate(self, *, phase: str) -> list[str]:
        """Apply pending steps (``pre``, ``post`` or ``all``), once, whoever else tries as well."""
        ...

    def migration_sql(self, *, pending: tuple[str, ...] | None) -> str:
        """Return the text that ``migrate`` would run, for those who run it by hand."""
        ...

    async def check_ready(self) -> None:
        """Raise ``StoreNotMigrated`` or ``StoreNewer`` unless this code may use the store."""
        ...


class Subscription(Protocol):
    """A place to wait for hints."""

    async def wait(self, timeout_seconds: float) -> frozenset[str]:
        """Return the topics announced since the last call, or nothing after the timeout."""
        ...

    def close(self) -> None:
        """Stop listening."""
        ...


class Wakeups(Protocol):
    """Hints that something happened. They may be lost, late or doubled (law 6).

    Topics: ``queue:NAME`` (there may be work), ``worker:HEX`` (look at your attempts),
    ``done`` (some jobs ended), ``schedules`` (one was made or changed, or a backfill),
    ``operations`` (one was made or turned), ``webhooks`` (somebody listens, or wants a delivery).
    """

    def announce(self, topics: Collection[str]) -> None:
        """Tell everyone soon; coalesced, after the caller's commit. Never raises."""
        ...

    def subscribe(self, topics: Collection[str]) -> Subscription:
        """Begin to listen; topics are exact names."""
        ...


class Store(
    SubmissionStore,
    DispatchStore,
    SessionStore,
    ControlStore,
    QueryStore,
    ChangeStore,
    ScheduleStore,
    WebhookStore,
    OperationStore,
    KeyStore,
    TenantStore,
    AuditStore,
    MaintenanceStore,
    HealthStore,
    SchemaStore,
    Protocol,
):
    """Everything that a backend must do. Roles ask for the part they need."""

    @property
    def wakeups(self) -> Wakeups:
        """Return the hints of this store."""
        ...

    def bound(self, tenant: str) -> "Store":
        """Return this store behind a wall: the backend itself keeps it to what is one tenant's.

        The wall is the second one; a backend that has none returns itself. Whoever uses the store
        for a tenant asks for that tenant's things alone. It needs no closing.
        """
        ...

    async def close(self) -> None:
        """Let go of connections, threads and files."""
        ...
