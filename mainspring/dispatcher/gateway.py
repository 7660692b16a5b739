"""The worker's door to a store in the same process."""

import math
from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol

import msgspec

from mainspring.dispatcher.adoption import Adoption
from mainspring.dispatcher.audience import Audience, ListenerStore
from mainspring.dispatcher.judgement import Dice, Judge
from mainspring.dispatcher.recovery import Recovery, announce
from mainspring.dispatcher.texts import storable_line, storable_progress
from mainspring.dispatcher.watermarks import Watermarks
from mainspring.domain.declared import Declared
from mainspring.domain.errors import (
    ConfigError,
    LeaseLost,
    MainspringError,
    NotFound,
    OutcomeUnknown,
)
from mainspring.domain.ids import created_at, show_attempt
from mainspring.domain.job import Claimed, HandlerInfo, Held, NewSession, Settlement
from mainspring.domain.limits import CLAIM_JOBS_MAX, INLINE_BYTES_MAX
from mainspring.domain.outcome import LogLine, Progress, Report
from mainspring.domain.references import file_key
from mainspring.domain.schedule import FireOf
from mainspring.policies.unanswered import Unanswered
from mainspring.ports.blobs import BlobStore
from mainspring.ports.gateway import WorkerGateway
from mainspring.ports.store import (
    Beat,
    ClaimAsk,
    DispatchStore,
    Pulse,
    SessionStore,
    Subscription,
    Wakeups,
)

_RECOVER_SECONDS: Final = 1.0
_HANDLERS_SECONDS: Final = 10.0
_VAIN_MS_MAX: Final = 1_000
#: While hints end the waits, what falls due next is asked for no more often than this.
_TRUST_SECONDS: Final = 0.025
#: Settled attempts whose facts are kept, for reports that are repeated because an answer was lost.
_REMEMBERED_MAX: Final = 1_000


class WorkerStore(DispatchStore, SessionStore, ListenerStore, Protocol):
    """The part of a store that workers need."""

    @property
    def wakeups(self) -> Wakeups:
        """Return the hints of this store."""
        ...

    async def fires_of(self, claimed: Sequence[Claimed]) -> dict[bytes, FireOf]:
        """Return by job what handlers may know of their fires."""
        ...

    async def tenants_of(self, job_ids: Collection[bytes]) -> dict[bytes, str]:
        """Return whose those jobs are that exist."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class LocalGateway:
    """A ``WorkerGateway`` on a store. One a process; owns the store it is given."""

    def __init__(
        self,
        store: WorkerStore,
        *,
        blobs: BlobStore | None,
        dice: Dice,
        monotonic: Callable[[], float],
        inline_bytes: int = INLINE_BYTES_MAX,
        adoption: Adoption | None = None,
    ) -> None:
        """Judge with these dice; keep results over ``inline_bytes`` in ``blobs``.

        With an ``adoption`` it stands for a process elsewhere, whose attempts may have been handed
        out by another one of its kind; the store and the object store are then somebody else's.
        """
        self._store = store
        self._adoption = adoption
        self._blobs = blobs
        audience = Audience(store, monotonic)
        self._judge = Judge(dice, blobs, inline_bytes=inline_bytes, audience=audience)
        self._recovery = Recovery(store, store.wakeups, self._judge)
        self._watermarks = Watermarks(monotonic)
        self._unanswered = Unanswered(monotonic)
        self._monotonic = monotonic
        #: What this process claimed and has not settled: the facts that a judgement needs.
        self._claimed: dict[tuple[bytes, int], Claimed | Held] = {}
        #: What it settled lately, oldest first.
        self._settled: dict[tuple[bytes, int], Claimed | Held] = {}
        self._kinds: tuple[str, ...] = ()
        self._handlers = Declared()
        self._handlers_until = float("-inf")
        self._recover_at = float("-inf")
        self._vain_waits = 0
        self._subscription: tuple[frozenset[str], Subscription] | None = None
        #: The last wait was ended by a hint; until when its look at what falls due may be trusted.
        self._hinted = False
        self._trusted_until = float("-inf")
        self._inline_bytes = inline_bytes
        self._dice = dice
        #: Those for one tenant alone, on the same store.
        self.bound: dict[str, WorkerGateway] = {}

    async def open_session(self, session: NewSession, handlers: Sequence[HandlerInfo]) -> Beat:
        """Begin a session and declare its handlers."""
        await self._store.declare_handlers(handlers)
        return await self._store.open_session(session)

    async def beat(self, worker_id: bytes) -> Beat:
        """Keep the session alive for another lease."""
        return await self._store.beat(worker_id)

    async def drain_session(self, worker_id: bytes) -> None:
        """Claim no more."""
        await self._store.end_session(worker_id, "draining")

    async def close_session(self, worker_id: bytes) -> None:
        """End the session; what it still holds is judged as lost."""
        await self._store.end_session(worker_id, "gone")
        held = await self._store.held_by(worker_id)
        await self._recovery.close(held, await self._known_handlers(), cause="session_closed")

    async def child_died(self, worker_id: bytes, child: int, cause: str) -> int:
        """Judge what a dead child held as lost."""
        held = await self._store.held_by(worker_id, child)
        return await self._recovery.close(held, await self._known_handlers(), cause=cause)

    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        """Get due jobs; now and then recover what others lost, first."""
        self._kinds = ask.kinds
        now = self._monotonic()
        if now - self._recover_at >= _RECOVER_SECONDS:
            self._recover_at = now
            await self.recover()
        if ask.holding is not None:
            await self._hand_back_all_but(ask, frozenset(ask.holding))
        if self._unanswered.is_look_due():
            await self._hand_back_all_but(ask, self._claimed)
            self._unanswered.looked()
        lanes = self._watermarks.apply(ask.lanes)
        limit = min(ask.limit, CLAIM_JOBS_MAX)
        try:
            claimed = await self._store.claim(
                msgspec.structs.replace(ask, lanes=lanes, limit=limit)
            )
        except OutcomeUnknown:
            if self._adoption is None:
                self._unanswered.note()
            # A process elsewhere knows best what it has; it says so when it asks again.
            raise
        self._watermarks.learn(ask.lanes, claimed)
        self._vain_waits = 0 if claimed else self._vain_waits
        for job in claimed:
            self._claimed[job.job_id, job.attempt] = job
        return await self._with_fires(claimed)

    async def recover(self) -> None:
        """Close some attempts whose right has run out, whoever held them."""
        await self._recovery.step(await self._known_handlers())

    async def _with_fires(self, claimed: list[Claimed]) -> list[Claimed]:
        """Tell scheduled jobs what fires they are; those of which that is unknown go back."""
        fired = [job for job in claimed if job.schedule_id is not None]
        if not fired:
            return claimed
        try:
            fires = await self._store.fires_of(fired)
        except MainspringError:
            return [_unread(job) for job in claimed]
        return [msgspec.structs.replace(job, fire=fires.get(job.job_id)) for job in claimed]

    async def _hand_back_all_but(self, ask: ClaimAsk, seen: Collection[tuple[bytes, int]]) -> None:
        """Hand back what the store says this child holds, but no answer ever brought."""
        held = await self._store.held_by(ask.worker_id, ask.child)
        unseen = [job for job in held if (job.job_id, job.attempt) not in seen]
        await self._recovery.hand_back(unseen, await self._known_handlers())

    async def payload(self, claimed: Claimed) -> bytes:
        """Return the payload, from the row or from the object store."""
        if claimed.payload_ref is None:
            return claimed.payload
        if self._blobs is None:
            raise NotFound(
                f"the payload lies in the object store ({claimed.payload_ref}), "
                "but this worker has none configured",
                hint="give the worker the same --blobs as the submitters",
            )
        return await self._blobs.get(claimed.payload_ref)

    async def save_file(self, job_id: bytes, attempt: int, name: str, body: bytes) -> str:
        """Keep a file under the name of its job: whether it is kept follows from the job."""
        await self._adopt([(job_id, attempt)])
        job = self._claimed.get((job_id, attempt))
        if job is None:
            raise LeaseLost(f"{show_attempt(job_id, attempt)} is not held here")
        if self._blobs is None:
            raise ConfigError(
                "a file cannot be saved: this worker has no object store",
                hint="give it one: --blobs file:///FOLDER or s3://BUCKET, or MAINSPRING_BLOBS",
            )
        day = created_at(job_id).date().isoformat()
        shown = show_attempt(job_id, attempt)
        return await self._blobs.put(file_key(job.tenant, day, shown, name, body), body)

    async def report(self, reports: Sequence[Report]) -> list[bool]:
        """Judge and settle; False for attempts that no longer hold their job."""
        declared = await self._known_handlers()
        await self._adopt([(report.job_id, report.attempt) for report in reports])
        settlements: list[Settlement] = []
        places: list[int] = []
        queues: dict[bytes, str] = {}
        answers = [False] * len(reports)
        failure: MainspringError | None = None
        for place, report in enumerate(reports):
            fence = (report.job_id, report.attempt)
            job = self._claimed.get(fence) or self._settled.get(fence)
            if job is None:
                continue
            queues[job.job_id] = job.queue
            try:
                settlements.append(await self._judge.settle(job, report.outcome, declared))
                places.append(place)
            except MainspringError as error:
                # The object store is away: that must not hold up those that do not need it.
                failure = error
        settled = await self._store.settle(settlements)
        for place, item in zip(places, settled, strict=True):
            answers[place] = item.accepted or item.repeated
            self._put_aside(item.job_id, item.attempt)
        announce(self._store.wakeups, queues, settlements, settled)
        if failure is not None:
            # The caller repeats all of them; those that are settled answer as repeated.
            raise failure
        return answers

    async def pulse(
        self, worker_id: bytes, held: Sequence[tuple[bytes, int]], progress: Sequence[Progress]
    ) -> Pulse:
        """Store progress; learn what is cancelled or lost."""
        told = [storable_progress(item) for item in progress]
        pulse = await self._store.pulse(worker_id, held, told)
        lost = frozenset(pulse.lost)
        for job_id, attempt in held if lost else ():
            if job_id in lost and (job_id, attempt) in self._claimed:
                self._put_aside(job_id, attempt)
        return pulse

    async def append_logs(self, lines: Sequence[LogLine]) -> None:
        """Keep log lines."""
        await self._store.append_logs([storable_line(line) for line in lines])

    async def wait_for_work(
        self, worker_id: bytes, queues: Collection[str], timeout_seconds: float
    ) -> bool:
        """Wait for a hint, for the next job to fall due, or for the timeout."""
        topics = frozenset({f"queue:{queue}" for queue in queues} | {f"worker:{worker_id.hex()}"})
        # Listen first and look second: what is announced between the two is not missed.
        subscription = self._listen(topics)
        if await self._hinted_again(subscription, timeout_seconds):
            return True
        due_ms = await self._store.next_due_ms(queues, self._kinds)
        if due_ms == 0:
            # Something is due that the last claim did not bring: it came just now, or it lies
            # behind a watermark, or another claimer is at it. Look at once, everywhere; if that
            # was in vain, ever less eagerly.
            self._watermarks.forget()
            due_ms = min(_VAIN_MS_MAX, 0 if not self._vain_waits else 10 << self._vain_waits)
            self._vain_waits = min(self._vain_waits + 1, 10)
        else:
            trusted_ms = min(_TRUST_SECONDS * 1_000, due_ms or math.inf)
            self._trusted_until = self._monotonic() + trusted_ms / 1_000
        falls_due = due_ms is not None and due_ms / 1_000 <= timeout_seconds
        if due_ms is not None and falls_due:
            timeout_seconds = due_ms / 1_000
        if timeout_seconds <= 0:
            return falls_due
        self._hinted = bool(await subscription.wait(timeout_seconds))
        return self._hinted or falls_due

    async def _hinted_again(self, subscription: Subscription, timeout_seconds: float) -> bool:
        """Wait for a hint alone, as long as the last look at what falls due may be trusted.

        In a trickle of submissions a hint follows the other: to look before each would cost more
        than to claim. A job that is submitted due within these milliseconds is late by them.
        """
        seconds = min(self._trusted_until - self._monotonic(), timeout_seconds)
        if self._hinted and seconds > 0:
            self._hinted = bool(await subscription.wait(seconds))
            return self._hinted
        return False

    async def _adopt(self, fences: Sequence[tuple[bytes, int]]) -> None:
        """Learn the facts of attempts that another process handed out to this one's worker."""
        if self._adoption is None:
            return
        known = (self._claimed, self._settled)
        unknown = [fence for fence in fences if not any(fence in those for those in known)]
        if unknown:
            held, closed = await self._adoption.find(unknown)
            self._claimed.update(held)
            self._settled.update(closed)

    async def close(self) -> None:
        """Let go of the store."""
        for gateway in self.bound.values():
            await gateway.close()
        if self._subscription is not None:
            self._subscription[1].close()
        if self._adoption is not None:
            return
        if self._blobs is not None:
            await self._blobs.close()
        await self._store.close()

    def _put_aside(self, job_id: bytes, attempt: int) -> None:
        """Stop tracking an attempt, but remember it for a while."""
        fence = (job_id, attempt)
        job = self._claimed.pop(fence, None)
        if job is None:
            return
        while len(self._settled) >= _REMEMBERED_MAX:
            del self._settled[next(iter(self._settled))]
        self._settled[fence] = job

    def _listen(self, topics: frozenset[str]) -> Subscription:
        if self._subscription is None or self._subscription[0] != topics:
            if self._subscription is not None:
                self._subscription[1].close()
            self._subscription = (topics, self._store.wakeups.subscribe(topics))
            self._hinted = False
        return self._subscription[1]

    async def _known_handlers(self) -> Declared:
        """Return the declared kinds, read again every few seconds."""
        now = self._monotonic()
        if now >= self._handlers_until:
            self._handlers = Declared(await self._store.list_handlers())
            self._handlers_until = now + _HANDLERS_SECONDS
        return self._handlers


def _unread(job: Claimed) -> Claimed:
    return msgspec.structs.replace(job, fire_is_unread=job.schedule_id is not None)
