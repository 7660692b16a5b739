"""A whole Mainspring in one process: a store in memory, both doors to it, and a clock of its own.

The store, the dispatching side and the front desk are the real ones; only the place (memory), the
clock and the dice are a test's. Nothing here waits, so ``at_once`` may run any of it without an
event loop.
"""

import heapq
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from mainspring import __version__
from mainspring.agenda.standing import Ruling, Standing
from mainspring.dispatcher.gateway import LocalGateway
from mainspring.dispatcher.judgement import Judge, fixed_dice
from mainspring.dispatcher.recovery import Recovery
from mainspring.domain.declared import Declared
from mainspring.domain.errors import LimitReached, NotFound
from mainspring.domain.job import (
    Backoff,
    Claimed,
    HandlerInfo,
    Held,
    JobFilter,
    JobView,
    NewJob,
    NewSession,
    Receipt,
    Settled,
    Settlement,
)
from mainspring.domain.limits import PAGE_ITEMS_MAX, RECOVER_JOBS_MAX
from mainspring.domain.operation import OperationView
from mainspring.domain.outcome import LogLine, Outcome, Progress, Report
from mainspring.domain.states import AttemptState, JobState
from mainspring.maintenance.operations import Carrying
from mainspring.maintenance.retention import Housekeeping
from mainspring.ports.entropy import new_worker_id
from mainspring.ports.operations import NewOperation
from mainspring.ports.schedules import CalendarChange, Judged, NewSchedule, Release
from mainspring.ports.schedules import Judge as Judging
from mainspring.ports.store import CancelResult, ClaimAsk, Lane
from mainspring.registry.desk import FrontDesk
from mainspring.registry.waiting import ended_of
from mainspring.scheduler.firing import Firing
from mainspring.store.sqlite import SqliteStore
from mainspring.store.sqlite.direct import DirectEngine
from mainspring.testing.builders import id_at
from mainspring.testing.clock import SettableClock
from mainspring.testing.memory_blobs import FileKeeper, MemoryBlobs
from mainspring.timetable.zones import zone_data_number

T = TypeVar("T")

#: What a worker asks for; so long after its last beat others may have its jobs.
LEASE_MS: Final = 15_000
#: The kit's own worker outlives every test, until it is made to vanish.
_FOREVER_MS: Final = 200 * 366 * 86_400_000
_A_MOMENT: Final = timedelta(microseconds=1)
_SWEEP_EVERY: Final = timedelta(days=1)
#: Steps of the scheduler at one instant.
_FIRE_STEPS_MAX: Final = 10_000


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, without an event loop, and return its result."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise AssertionError(f"{work} waits for something")


def neutral_roll(backoff: Backoff | None) -> float:
    """Return what dice must show so that a back-off is what it is without jitter."""
    return 1.0 if backoff is not None and backoff.full_jitter else 0.0


class Sent(NamedTuple):
    """One submission as the store took it, all defaults filled in."""

    job: NewJob
    at: datetime
    #: The job that there is by it; an earlier one, when a key or unique key named that.
    job_id: bytes
    created: bool

    @property
    def due_at(self) -> datetime:
        """Return when it was meant to become due."""
        if self.job.due_at is not None:
            return self.job.due_at
        return self.at + timedelta(milliseconds=self.job.delay_ms or 0)

    def view(self) -> JobView:
        """Return what it was at first, for a job that the retention has dropped since."""
        job = self.job
        return JobView(
            id=self.job_id,
            kind=job.kind,
            tenant=job.tenant,
            queue=job.queue,
            priority=job.priority,
            state=JobState.SCHEDULED if self.due_at > self.at else JobState.READY,
            due_at=self.due_at,
            created_at=self.at,
            attempt=0,
            tries=0,
            crashes=0,
            max_attempts=job.max_attempts,
            max_crashes=job.max_crashes,
            timeout_ms=job.timeout_ms,
            payload=job.payload,
            reason="dropped_by_retention",
            submission_key=job.submission_key,
        )


class Ended(NamedTuple):
    """One attempt that was closed, and what became of its job by that."""

    job_id: bytes
    kind: str
    attempt: int
    closed_as: AttemptState
    state: JobState
    reason: str | None


class RecordedStore(SqliteStore):
    """The store in memory, which remembers what came in and what ended."""

    def __init__(self, engine: DirectEngine, clock: SettableClock, blobs: MemoryBlobs) -> None:
        """Begin with empty books."""
        super().__init__(engine)
        self._clock = clock
        self._blobs = blobs
        self.sent: list[Sent] = []
        self.ended: list[Ended] = []
        self.kinds: dict[bytes, str] = {}
        self.queues: set[str] = set()
        #: Somebody made a schedule: from then on time brings about more than what was submitted.
        self.has_schedules = False
        #: Somebody made an operation: it is carried on whenever schedules would be.
        self.has_operations = False
        #: What the dice must show so that the next judgements add no jitter.
        self.neutral: deque[float] = deque()

    async def create_operation(self, new: NewOperation, *, actor: str) -> OperationView:
        """Make it, and write down that there is one."""
        self.has_operations = True
        return await super().create_operation(new, actor=actor)

    async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
        """Insert, and write down."""
        receipts = await super().submit(jobs, repeated=repeated)
        for job, receipt in zip(jobs, receipts, strict=True):
            if not receipt.conflict and not receipt.duplicate:
                self._note(job, receipt)
        return receipts

    async def expired(self, limit: int) -> list[Held]:
        """Find them, and prepare for their judgement."""
        return self._prepared(await super().expired(limit))

    async def held_by(self, worker_id: bytes, child: int | None = None) -> list[Held]:
        """Find them, and prepare for their judgement."""
        return self._prepared(await super().held_by(worker_id, child))

    def _prepared(self, held: list[Held]) -> list[Held]:
        self.neutral = deque(neutral_roll(job.backoff) for job in held)
        return held

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        """Settle, and write down."""
        settled = await super().settle(settlements)
        for wanted, item in zip(settlements, settled, strict=True):
            if not item.accepted or item.state is None:
                continue
            kind = self.kinds.get(item.job_id, "")
            ended = Ended(
                item.job_id, kind, item.attempt, wanted.attempt_state, item.state, wanted.reason
            )
            self.ended.append(ended)
            if item.state is JobState.DEAD and wanted.follow_up is not None:
                self._note(wanted.follow_up, Receipt(wanted.follow_up.id))
        return settled

    async def create_schedule(self, new: NewSchedule, judge: Judging, *, actor: str) -> Judged:
        """Make it, and write down."""
        self.has_schedules = True
        return await super().create_schedule(new, self._noting(judge), actor=actor)

    async def judge_due(self, judge: Judging, *, zones: int, limit: int) -> Judged:
        """Judge, and write down."""
        return await super().judge_due(self._noting(judge), zones=zones, limit=limit)

    async def judge_named(
        self,
        schedule_ids: Sequence[bytes],
        judge: Judging,
        *,
        actor: str,
        rows: tuple[int, int] | None = None,
        calendar: CalendarChange | None = None,
    ) -> Judged:
        """Judge, and write down."""
        return await super().judge_named(
            schedule_ids, self._noting(judge), actor=actor, rows=rows, calendar=calendar
        )

    async def release_backfills(self, make: Callable[[Release], NewJob], *, limit: int) -> Judged:
        """Release, and write down."""
        return await super().release_backfills(
            lambda release: self._known(make(release)), limit=limit
        )

    def _noting(self, judge: Judging) -> Judging:
        def note(standing: Standing) -> Ruling:
            ruling = judge(standing)
            for fire in ruling.fires:
                if fire.job is not None:
                    self._known(fire.job)
            return ruling

        return note

    def _known(self, job: NewJob) -> NewJob:
        self.kinds[job.id] = job.kind
        self.queues.add(job.queue)
        return job

    def _note(self, job: NewJob, receipt: Receipt) -> None:
        if job.payload_ref is not None:
            # It may be gone by the time that somebody asks what was submitted.
            job = msgspec.structs.replace(job, payload=at_once(self._blobs.get(job.payload_ref)))
        self.sent.append(Sent(job, self._clock.now(), receipt.job_id, receipt.created))
        self.queues.add(job.queue)
        if receipt.created:
            self._known(job)


class KitDesk(FrontDesk):
    """The front desk of a test: it never waits, and tells the kit of running jobs' cancels."""

    #: Called with the job when somebody waits for its end: runs what is due, or raises.
    on_wait: Callable[[JobView], Coroutine[Any, Any, None]]
    #: Called with a running job that is being cancelled.
    on_cancel: Callable[[bytes], None]

    async def _insert(self, jobs: Sequence[NewJob]) -> list[Receipt]:
        # In memory no answer is lost, and nobody waits whose jobs could share the insert.
        return await self._store.submit(jobs)

    async def wait_for_change(
        self, job_id: bytes, seen: JobView | None, timeout_seconds: float
    ) -> JobView:
        """Return the job once it differs from what was seen; let the kit work on that."""
        found = await self.get_job(job_id)
        if found == seen:
            await self.on_wait(found)
            found = await self.get_job(job_id)
        return found

    async def wait_for_ends(self, job_ids: Sequence[bytes], timeout_seconds: float) -> list[bytes]:
        """Return those that have ended; if none has, let the kit work on the first."""
        while not (ended := await ended_of(self._store, job_ids)):
            await self.on_wait(await self.get_job(job_ids[0]))
        return ended

    async def cancel(
        self, job_ids: Sequence[bytes], *, reason: str = "", force: bool = False, actor: str
    ) -> list[CancelResult]:
        """Cancel; attempts that run know it at once."""
        results = await super().cancel(job_ids, reason=reason, force=force, actor=actor)
        for item in results:
            if item.changed and item.worker_id is not None:
                self.on_cancel(item.job_id)
        return results


class World:
    """Store, desk, gateway, one worker, scheduler, recovery, housekeeping, clock and dice."""

    def __init__(self, start: datetime) -> None:
        """Build all of it, at an instant."""
        self.clock: Final = SettableClock(start)
        self.start: Final = self.clock.now()
        #: What the dice of jitter show; ``None``: what leaves each back-off as it is declared.
        self.dice: float | None = None
        self._made = 0
        engine = DirectEngine(self.clock)
        blobs = MemoryBlobs()
        self.store: Final = RecordedStore(engine, self.clock, blobs)
        at_once(engine.open())
        at_once(self.store.migrate(phase="all"))
        dice = fixed_dice(self._roll, self.new_id)
        self.desk: Final = KitDesk(self.store, blobs=blobs, new_id=self.new_id)
        self.gateway: Final = LocalGateway(
            self.store, blobs=blobs, dice=dice, monotonic=self._seconds
        )
        self._recovery = Recovery(self.store, self.store.wakeups, Judge(dice, blobs))
        self._house = Housekeeping(self.store, blobs=blobs)
        self._carrying = Carrying(self.store, blobs=blobs)
        self._firing = Firing(self.store, new_id=self.new_id, roll=lambda: 0.5)
        self.files: Final = FileKeeper(self._save_file)
        self._swept_at = self.start
        self._worker_id = b""
        self._handlers: tuple[HandlerInfo, ...] = ()
        #: When something that a vanished worker held may be given to others.
        self._lapses: list[datetime] = []

    def _save_file(self, claimed: Claimed, name: str, body: bytes) -> str:
        return at_once(self.gateway.save_file(claimed.job_id, claimed.attempt, name, body))

    def new_id(self) -> bytes:
        """Return a time-ordered id of the kit's clock; equal tests make equal ids."""
        self._made += 1
        return id_at(self.clock.now(), self._made)

    def _roll(self) -> float:
        neutral = self.store.neutral.popleft() if self.store.neutral else 0.0
        return neutral if self.dice is None else self.dice

    def _seconds(self) -> float:
        return (self.clock.now() - self.start).total_seconds()

    def close(self) -> None:
        """Let go of the store."""
        at_once(self.store.close())

    # --- The worker -----------------------------------------------------------------------------

    async def declare(self, handlers: tuple[HandlerInfo, ...]) -> None:
        """Let the worker be one that has these handlers."""
        if handlers == self._handlers and self._worker_id:
            return
        self._handlers = handlers
        # Follow-ups are judged by what is declared now.
        self.gateway._handlers_until = float("-inf")
        await self._open_session(new_worker_id(), _FOREVER_MS)

    async def _open_session(self, worker_id: bytes, lease_ms: int) -> None:
        self._worker_id = worker_id
        session = NewSession(
            id=worker_id,
            name="testing",
            host="localhost",
            pid=0,
            version=__version__,
            queues=dict.fromkeys(sorted(self.queues()), 1),
            kinds=self.kinds(),
            lease_ms=lease_ms,
        )
        await self.gateway.open_session(session, self._handlers)

    def kinds(self) -> tuple[str, ...]:
        """Return what the worker can run."""
        return tuple(handler.kind for handler in self._handlers)

    def queues(self) -> set[str]:
        """Return every queue that a job may be in."""
        return self.store.queues | {handler.queue for handler in self._handlers}

    async def claim(
        self, kinds: Collection[str] | None = None, queues: Collection[str] | None = None
    ) -> Claimed | None:
        """Take the most urgent job that is due, as a worker with one slot does."""
        asked = sorted(self.queues() if queues is None else queues)
        wanted = self.kinds() if kinds is None else tuple(kinds)
        ask = ClaimAsk(
            worker_id=self._worker_id,
            child=0,
            lanes=tuple(Lane(queue, 1) for queue in asked),
            kinds=wanted,
            limit=1,
        )
        # To look first is cheaper than to claim in vain.
        while await self.store.next_due_ms(asked, wanted) == 0:
            claimed = await self.gateway.claim(ask)
            if claimed:
                return claimed[0]
            # It lies behind a watermark: this is where a worker loses faith in those.
            if not await self.gateway.wait_for_work(self._worker_id, asked, 0.0):
                return None
        return None

    async def tell(self, progress: Progress | None, lines: Sequence[LogLine]) -> None:
        """Keep what a handler showed of itself."""
        if lines:
            now = self.clock.now()
            await self.gateway.append_logs([msgspec.structs.replace(one, at=now) for one in lines])
        if progress is not None:
            held = [(progress.job_id, progress.attempt)]
            await self.gateway.pulse(self._worker_id, held, [progress])

    async def report(self, claimed: Claimed, outcome: Outcome) -> bool:
        """Hand in an outcome; False when the attempt no longer held its job."""
        self.store.neutral = deque([neutral_roll(claimed.backoff)])
        report = Report(claimed.job_id, claimed.attempt, outcome)
        return (await self.gateway.report([report]))[0]

    async def holds(self, claimed: Claimed) -> bool:
        """Tell whether an attempt still holds its job."""
        pulse = await self.gateway.pulse(self._worker_id, [(claimed.job_id, claimed.attempt)], [])
        return not pulse.lost

    async def go(self, claimed: Claimed, *, is_silent: bool) -> None:
        """Let the process that ran an attempt go, without a report.

        Silent: with its keeper; the lease has to run out, and another worker takes its place. Else
        its keeper tells at once, and starts another process.
        """
        if not is_silent:
            await self.gateway.child_died(self._worker_id, 0, "killed by the test")
            return
        now = self.clock.now()
        # The last beat it ever makes.
        await self._open_session(self._worker_id, LEASE_MS)
        until = min(now + timedelta(milliseconds=LEASE_MS), claimed.deadline_at)
        heapq.heappush(self._lapses, until + _A_MOMENT)
        await self._open_session(new_worker_id(), _FOREVER_MS)

    # --- Time -----------------------------------------------------------------------------------

    def next_lapse(self) -> datetime | None:
        """Return when the next lease of a vanished worker is over."""
        return self._lapses[0] if self._lapses else None

    async def next_due(self) -> datetime | None:
        """Return when the next waiting job falls due; now, if one has."""
        due_ms = await self.store.next_due_ms(self.queues(), self.kinds())
        if due_ms is None:
            return None
        try:
            return self.clock.now() + timedelta(milliseconds=due_ms)
        except OverflowError:
            return datetime.max.replace(tzinfo=UTC)

    async def next_look(self) -> datetime | None:
        """Return when the scheduler has something to do next."""
        if not self.store.has_schedules:
            return None
        look_ms = await self.store.next_look_ms(zones=zone_data_number())
        return None if look_ms is None else self.clock.now() + timedelta(milliseconds=look_ms)

    async def fire(self) -> None:
        """Let operations and the scheduler do all that they have to do now."""
        while self.store.has_operations and (await self.store.pick_operations(1)).ids:
            await self._carrying.step()
        if not self.store.has_schedules:
            return
        for _ in range(_FIRE_STEPS_MAX):
            if await self._firing.step():
                return
        raise LimitReached("the schedules of this test never rest", hint="they fire too often")

    async def move(self, instant: datetime) -> None:
        """Set the clock; fire, recover and clean what has become so by that."""
        self.clock.set(instant)
        await self.fire()
        if self._lapses and self._lapses[0] <= instant:
            while self._lapses and self._lapses[0] <= instant:
                heapq.heappop(self._lapses)
            await self.recover()
        if instant - self._swept_at >= _SWEEP_EVERY:
            await self.sweep()

    async def recover(self) -> int:
        """Close what ran out, all of it."""
        declared = Declared(await self.store.list_handlers())
        closed = 0
        while True:
            step = await self._recovery.step(declared)
            closed += step
            if step < RECOVER_JOBS_MAX:
                return closed

    async def sweep(self) -> None:
        """Drop what the retention no longer keeps, all of it."""
        self._swept_at = self.clock.now()
        while True:
            swept = await self._house.sweep()
            if not swept.dropped and not swept.forgotten:
                return

    # --- Looking --------------------------------------------------------------------------------

    async def view(self, job_id: bytes) -> JobView | None:
        """Return a job with its payload and result, wherever they lie; ``None``: it is gone."""
        with suppress(NotFound):
            return await self.desk.get_job(job_id)
        return None

    async def views(self, wanted: JobFilter) -> list[JobView]:
        """Return every job that matches, in the order of submission."""
        found: list[JobView] = []
        before: bytes | None = None
        while True:
            page = await self.store.list_jobs(wanted, limit=PAGE_ITEMS_MAX, before=before)
            found += page.items
            before = page.next_before
            if before is None:
                return [await self._whole(view) for view in reversed(found)]

    async def _whole(self, view: JobView) -> JobView:
        is_whole = view.payload_ref is None and view.result_ref is None
        return view if is_whole else await self.view(view.id) or view
