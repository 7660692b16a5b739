"""The client's door to a store in the same process."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol, cast

import msgspec

from mainspring.domain.declared import Declared
from mainspring.domain.errors import (
    ConfigError,
    InvalidInput,
    MainspringError,
    NotFound,
    with_index,
)
from mainspring.domain.ids import show_job
from mainspring.domain.job import (
    AttemptView,
    FailureGroup,
    HandlerInfo,
    JobFilter,
    JobView,
    NewJob,
    Page,
    QueueView,
    Receipt,
    Trend,
    WorkerView,
)
from mainspring.domain.limits import (
    DELAY_SECONDS_MAX,
    INLINE_BYTES_MAX,
    INTERVAL_SECONDS_MIN,
    PAGE_ITEMS_MAX,
    PAYLOAD_BYTES_MAX,
    QUEUE_CHARACTERS_MAX,
    TREND_ITEMS_MAX,
)
from mainspring.domain.names import check_name, check_note, check_range
from mainspring.domain.outcome import LogLine
from mainspring.domain.payload import check
from mainspring.domain.references import FILES, parse_reference
from mainspring.domain.states import FINAL, JobState
from mainspring.ports.blobs import BlobStore
from mainspring.ports.clock import monotonic, pause_seconds
from mainspring.ports.entropy import random_bytes
from mainspring.ports.gateway import Accepted, Bulk, Operation, Replayed, Submission
from mainspring.ports.operations import Acts
from mainspring.ports.store import (
    CancelResult,
    ControlStore,
    QueryStore,
    RosterStore,
    SubmissionStore,
    Wakeups,
)
from mainspring.registry import finding, waiting
from mainspring.registry.acceptance import accepted, check_count, offloaded, unused
from mainspring.registry.coalesce import Coalescer
from mainspring.registry.validate import Forms, check_schema, names_unknown
from mainspring.wire.settling import settled

if TYPE_CHECKING:
    from mainspring.registry.access import AccessDesk, AccessStore
    from mainspring.registry.finding import FindingStore
    from mainspring.registry.operating import OperationDesk
    from mainspring.registry.schedule_questions import SchedulingStore
    from mainspring.registry.scheduling import ScheduleDesk
    from mainspring.registry.webhooks import EndpointStore, WebhookDesk

_HANDLERS_SECONDS: Final = 2.0
_MILLISECOND: Final = timedelta(milliseconds=1)
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)


class ClientStore(SubmissionStore, ControlStore, QueryStore, RosterStore, Protocol):
    """The part of a store that clients need."""

    @property
    def wakeups(self) -> Wakeups:
        """Return the hints of this store."""
        ...

    def bound(self, tenant: str) -> "ClientStore":
        """Return the same store as one tenant may see it, as far as the backend itself keeps it."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class FrontDesk:
    """A ``ClientGateway`` on a store. One a process and event loop; owns the store."""

    def __init__(  # noqa: PLR0913 - what a desk is made of, all but the store by name
        self,
        store: ClientStore,
        *,
        blobs: BlobStore | None,
        new_id: Callable[[], bytes],
        inline_bytes: int = INLINE_BYTES_MAX,
        payload_bytes: int = PAYLOAD_BYTES_MAX,
        seconds_min: int = INTERVAL_SECONDS_MIN,
        webhook_reach: Sequence[str] = (),
    ) -> None:
        """Keep payloads over ``inline_bytes`` in ``blobs``; name new jobs with ``new_id``.

        ``webhook_reach``: where webhooks may go although it is not public.
        """
        self._webhook_reach = webhook_reach
        self._webhooks: WebhookDesk | None = None
        self._store = store
        #: What is not bound to a tenant, where ``store`` is: for secrets, which a bound one hides.
        self._whole_store = store
        self._blobs = blobs
        self._inline_bytes = inline_bytes
        self._payload_bytes = payload_bytes
        self._new_id = new_id
        self._coalescer = Coalescer(store)
        self._handlers = Declared()
        self._handlers_until = float("-inf")
        self._seconds_min = seconds_min
        self._schedules: ScheduleDesk | None = None
        #: The tenant that this desk is bound to.
        self._only: str | None = None
        self._operations: OperationDesk | None = None

    @property
    def access(self) -> "AccessDesk":
        """Return the desk for keys, tenants and the audit."""
        # Imported late, like that for schedules.
        from mainspring.registry.access import AccessDesk

        return AccessDesk(cast("AccessStore", self._store))

    @property
    def schedules(self) -> "ScheduleDesk":
        """Return the desk for schedules; made when first asked for."""
        if self._schedules is None:
            # Imported late: most clients only submit, and rules of time are much to load.
            from mainspring.registry.scheduling import ScheduleDesk

            self._schedules = ScheduleDesk(
                cast("SchedulingStore", self._store),
                new_id=self._new_id,
                validated=self._validated,
                seconds_min=self._seconds_min,
                payload_bytes=min(self._inline_bytes or INLINE_BYTES_MAX, self._payload_bytes),
                only=self._only,
            )
        return self._schedules

    @property
    def operations(self) -> "OperationDesk":
        """Return the desk for operations; made when first asked for."""
        if self._operations is None:
            from mainspring.registry.operating import OperationDesk

            self._operations = OperationDesk(
                cast("FindingStore", self._store),
                new_id=self._new_id,
                handlers=self._known_handlers,
                payload_bytes=min(self._inline_bytes or INLINE_BYTES_MAX, self._payload_bytes),
                only=self._only,
            )
        return self._operations

    @property
    def webhooks(self) -> "WebhookDesk":
        """Return the desk for endpoints of webhooks; made when first asked for."""
        if self._webhooks is None:
            from mainspring.registry.webhooks import WebhookDesk

            self._webhooks = WebhookDesk(
                cast("EndpointStore", self._whole_store),
                new_id=self._new_id,
                random_bytes=random_bytes,
                reachable=self._webhook_reach,
                only=self._only,
            )
        return self._webhooks

    async def submit(self, wanted: Sequence[Submission]) -> list[Accepted]:
        """Validate all, then insert all, then answer."""
        check_count(wanted)
        if not wanted:
            return []
        jobs = await self._validated(wanted)
        if self._blobs is not None:
            jobs = [await self._offload(job) for job in jobs]
        receipts = await self._insert(jobs)
        self._store.wakeups.announce({f"queue:{job.queue}" for job in jobs})
        await self._forget_unused(jobs, receipts)
        return accepted(jobs, receipts)

    async def _forget_unused(self, jobs: Sequence[NewJob], receipts: Sequence[Receipt]) -> None:
        """Delete objects that no row will ever name: the key named another job, or replaced it."""
        forgotten = unused(jobs, receipts)
        if forgotten and self._blobs is not None:
            with suppress(MainspringError):  # the submission stands, whatever becomes of these
                await self._blobs.delete(forgotten)

    async def get_job(self, job_id: bytes) -> JobView:
        """Return a job with payload and result, wherever they live."""
        return await self._with_objects(await self._row(job_id))

    async def _row(self, job_id: bytes) -> JobView:
        found = await self._store.get_job(job_id)
        if found is None:
            raise NotFound(f"there is no job {show_job(job_id)}")
        return found

    async def _with_objects(self, found: JobView) -> JobView:
        if self._blobs is None:
            return found
        changes: dict[str, bytes] = {}
        for member, reference in (("payload", found.payload_ref), ("result", found.result_ref)):
            if reference is not None:
                # The row is worth showing without its object; the reference says what is missing.
                with suppress(MainspringError):
                    changes[member] = await self._blobs.get(reference)
        return msgspec.structs.replace(found, **changes) if changes else found

    async def list_jobs(self, wanted: JobFilter, *, limit: int, before: bytes | None) -> Page:
        """Return a page of jobs, newest first."""
        return await self._store.list_jobs(wanted, limit=_page(limit), before=before)

    async def find(self, query: str, *, limit: int = 50, before: bytes | None = None) -> Page:
        """Return a page of jobs that a search finds, newest first."""
        return await finding.find(self._store, query, limit=_page(limit), before=before)

    async def operate(self, wanted: Bulk, *, dry_run: bool, actor: str) -> Operation:
        """Do something with everything that a search finds."""
        return await finding.operate(
            cast("FindingStore", self._store), self._tell, wanted, dry_run=dry_run, actor=actor
        )

    async def _tell(self, acts: Acts) -> None:
        """Announce a batch, and delete the objects that it left without a name."""
        if acts.topics:
            self._store.wakeups.announce(acts.topics)
        if acts.references and self._blobs is not None:
            await self._blobs.delete(list(acts.references))

    async def list_groups(
        self, wanted: JobFilter, *, limit: int = 50, trend: Trend | None = None
    ) -> list[FailureGroup]:
        """Return groups of failures, most jobs first; without states those of dead letters."""
        if trend is None:
            # What ends at this very moment is in the last span.
            begins_at = await self._store.now() - _DAY + _MILLISECOND
            trend = Trend(begins_at, _HOUR // _MILLISECOND, _DAY // _HOUR)
        check_range("trend.buckets", trend.buckets, 1, TREND_ITEMS_MAX)
        check_range("trend.bucket_ms", trend.bucket_ms, 1, DELAY_SECONDS_MAX * 1_000)
        if not wanted.states:
            wanted = msgspec.structs.replace(wanted, states=frozenset({JobState.DEAD}))
        return await self._store.list_groups(wanted, trend=trend, limit=_page(limit))

    async def list_attempts(self, job_id: bytes) -> list[AttemptView]:
        """Return all attempts in order."""
        return await self._store.list_attempts(job_id)

    async def list_logs(
        self, job_id: bytes, *, after: tuple[int, int] | None = None, limit: int = PAGE_ITEMS_MAX
    ) -> list[LogLine]:
        """Return log lines after the cursor."""
        return await self._store.list_logs(job_id, after=after, limit=_page(limit))

    async def wait_for_change(
        self, job_id: bytes, seen: JobView | None, timeout_seconds: float
    ) -> JobView:
        """Return the job once it differs from what was seen, or as it is at the timeout."""
        until = monotonic() + timeout_seconds
        rest = waiting.FIRST_POLL_SECONDS
        # Objects never change; to fetch them at each look would cost more than all the rest.
        known = None if seen is None else seen.as_stored
        subscription = self._store.wakeups.subscribe({"done"})
        try:
            while True:
                found = await self._row(job_id)
                left = until - monotonic()
                if found != known or found.state in FINAL or left <= 0:
                    return await self._with_objects(found)
                if await subscription.wait(min(left, rest)):
                    # Under load something ends all the time; do not ask more often than this.
                    await pause_seconds(waiting.HINT_REST_SECONDS)
                # Short jobs are seen at once even where hints do not come; long ones cost little.
                rest = min(rest * 2, waiting.POLL_SECONDS)
        finally:
            subscription.close()

    async def wait_for_ends(self, job_ids: Sequence[bytes], timeout_seconds: float) -> list[bytes]:
        """Return those that have ended, as soon as there are any."""
        return await waiting.for_ends(self._store, job_ids, timeout_seconds)

    async def read_file(self, reference: str) -> bytes:
        """Return a file that a handler saved; nothing else of the object store is given out."""
        self._checked_file(reference)
        if self._blobs is None:
            raise ConfigError(
                "files cannot be read: no object store is configured here",
                hint="give the same --blobs or MAINSPRING_BLOBS as the workers have",
            )
        return await self._blobs.get(reference)

    def _checked_file(self, reference: str) -> str:
        """Return the key of the file that a reference names."""
        try:
            found = parse_reference(reference)
        except ValueError:
            found = None
        if found is None or not found.key.startswith(FILES) or "#" in found.key:
            raise InvalidInput(
                f"{reference[:80]!r} is no reference to a file",
                hint="give the FileRef that the handler returned",
            )
        return found.key

    async def cancel(
        self, job_ids: Sequence[bytes], *, reason: str = "", force: bool = False, actor: str
    ) -> list[CancelResult]:
        """Cancel jobs, and tell the workers that run them."""
        check_note("reason", reason)
        results = await self._store.cancel(job_ids, reason=reason, force=force, actor=actor)
        topics = {f"worker:{item.worker_id.hex()}" for item in results if item.worker_id}
        if any(item.changed and item.state in FINAL for item in results):
            topics.add("done")
        if topics:
            self._store.wakeups.announce(topics)
        return results

    async def run_now(self, job_ids: Sequence[bytes], *, actor: str) -> list[bytes]:
        """Make waiting jobs due now."""
        changed = await self._store.run_now(job_ids, actor=actor)
        await self._wake_queues(changed)
        return changed

    async def replay(
        self, job_ids: Sequence[bytes], *, payload: bytes | None = None, actor: str
    ) -> list[bytes]:
        """Bring dead letters back, with another payload if one is given."""
        if payload is not None:
            await self._check_replacement(job_ids, payload)
        changed = await self._store.replay(job_ids, payload=payload, actor=actor)
        await self._wake_queues(changed)
        return changed

    async def replay_matching(
        self, wanted: JobFilter, *, limit: int, dry_run: bool, actor: str
    ) -> Replayed:
        """Bring back what matches, at most ``limit``; with ``dry_run`` only count."""
        dead = msgspec.structs.replace(wanted, states=frozenset({JobState.DEAD}))
        if limit < 1:
            raise InvalidInput(f"limit: {limit} is not at least 1")
        found = await finding.oldest(self._store, dead, limit)
        if dry_run:
            return Replayed(len(found), ())
        changed: list[bytes] = []
        for start in range(0, len(found), PAGE_ITEMS_MAX):
            part = found[start : start + PAGE_ITEMS_MAX]
            changed += await self.replay(part, actor=actor)
        return Replayed(len(found), tuple(changed))

    async def purge(self, job_ids: Sequence[bytes], *, actor: str) -> int:
        """Delete dead letters for good."""
        before = await self._store.get_states(job_ids)
        references = await self._store.purge(job_ids, actor=actor)
        if references and self._blobs is not None:
            await self._blobs.delete(references)
        after = await self._store.get_states(job_ids)
        return len(before) - len(after)

    async def list_queues(self) -> list[QueueView]:
        """Return the queues."""
        return await self._store.list_queues()

    async def pause_queue(self, queue: str, *, reason: str, actor: str) -> bool:
        """Hand out nothing more of this queue."""
        check_name("queue", queue, QUEUE_CHARACTERS_MAX)
        check_note("reason", reason)
        return await self._store.pause_queue(queue, reason=reason, actor=actor)

    async def resume_queue(self, queue: str, *, actor: str) -> bool:
        """Hand out jobs of this queue again."""
        check_name("queue", queue, QUEUE_CHARACTERS_MAX)
        changed = await self._store.resume_queue(queue, actor=actor)
        self._store.wakeups.announce({f"queue:{queue}"})
        return changed

    async def list_workers(self) -> list[WorkerView]:
        """Return worker sessions."""
        return await self._store.list_workers()

    async def drain_worker(self, worker_id: bytes, *, actor: str) -> bool:
        """Ask a worker to drain."""
        asked = await self._store.ask_drain(worker_id, actor=actor)
        self._store.wakeups.announce({f"worker:{worker_id.hex()}"})
        return asked

    async def list_handlers(self) -> list[HandlerInfo]:
        """Return every declared kind."""
        return await self._store.list_handlers()

    async def count_states(self) -> dict[JobState, int]:
        """Return how many jobs are in each state."""
        return await self._store.count_states()

    async def now(self) -> datetime:
        """Return the store's clock."""
        return await self._store.now()

    async def close(self) -> None:
        """Let go of the store."""
        if self._blobs is not None:
            await self._blobs.close()
        await self._store.close()

    async def _validated(self, wanted: Sequence[Submission]) -> list[NewJob]:
        declared = Declared()
        if not all(item.kind_is_known for item in wanted):
            declared = await self._known_handlers()
            if any(names_unknown(item, declared.of(item.tenant)) for item in wanted):
                # A worker may have declared it a moment ago: look again before refusing.
                self._handlers_until = float("-inf")
                declared = await self._known_handlers()
        forms = {
            tenant: Forms(declared.of(tenant), self._new_id, self._payload_bytes)
            for tenant in {item.tenant for item in wanted}
        }
        jobs: list[NewJob] = []
        for index, item in enumerate(wanted):
            try:
                jobs.append(forms[item.tenant].job(item))
            except MainspringError as error:
                raise with_index(error, index, len(wanted)) from None
        return jobs

    async def _offload(self, job: NewJob) -> NewJob:
        return job if self._blobs is None else await offloaded(job, self._blobs, self._inline_bytes)

    async def _insert(self, jobs: Sequence[NewJob]) -> list[Receipt]:
        """Insert; after an unknown outcome ask again, by the same ids, until it is known."""

        async def again() -> list[Receipt]:
            receipts = await self._store.submit(jobs, repeated=True)
            # What is found under the id that was made here, was made by the first try.
            return [
                msgspec.structs.replace(receipt, created=True)
                if receipt.job_id == job.id
                else receipt
                for receipt, job in zip(receipts, jobs, strict=True)
            ]

        return await settled(
            lambda: self._coalescer.submit(jobs),
            again,
            hint="submit again with the same key, or look for "
            + ", ".join(show_job(job.id) for job in jobs[:3]),
            details={"job_ids": [show_job(job.id) for job in jobs]},
        )

    async def _check_replacement(self, job_ids: Sequence[bytes], payload: bytes) -> None:
        body = check(payload, bytes_max=self._payload_bytes)
        if len(payload) > self._inline_bytes and self._blobs is not None:
            raise InvalidInput(
                f"a replacement payload may have at most {self._inline_bytes:,} bytes",
                hint="submit a new job instead",
            )
        declared = await self._known_handlers()
        for job_id in job_ids:
            job = await self._store.get_job(job_id)
            if job is None:
                raise NotFound(f"there is no job {show_job(job_id)}")
            handlers = declared.of(job.tenant)
            if job.kind in handlers:
                check_schema(job.kind, body, handlers[job.kind].schema)

    async def _wake_queues(self, job_ids: Sequence[bytes]) -> None:
        queues: set[str] = set()
        for job_id in job_ids[:PAGE_ITEMS_MAX]:
            job = await self._store.get_job(job_id)
            if job is not None:
                queues.add(f"queue:{job.queue}")
        if queues:
            self._store.wakeups.announce(queues)

    async def _known_handlers(self) -> Declared:
        now = monotonic()
        if now >= self._handlers_until:
            self._handlers = Declared(await self._store.list_handlers())
            self._handlers_until = now + _HANDLERS_SECONDS
        return self._handlers


def _page(limit: int) -> int:
    return check_range("limit", limit, 1, PAGE_ITEMS_MAX)
