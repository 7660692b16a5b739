"""The reference: what a store means, in plain dictionaries, from the domain's tables alone.

It says nothing of speed, SQL or concurrency. ``machine`` drives it beside a real store and
compares the two after every step.

Every change of a job's state goes through ``_become``, which refuses what the table of transitions
does not allow: the model itself is checked by that table.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from mainspring.domain.job import NewJob, NewSession, Receipt, Settlement
from mainspring.domain.states import (
    ALLOWED,
    CLAIMABLE,
    FINAL,
    HELD,
    JobState,
    effective_state,
    may_become,
)


@dataclass
class ModelJob:
    """A job as the contract describes it."""

    given: NewJob
    created_at: datetime
    due_at: datetime
    state: JobState
    attempt: int = 0
    tries: int = 0
    crashes: int = 0
    replays: int = 0
    worker_id: bytes | None = None
    deadline_at: datetime | None = None
    #: Unique key and while; nothing when it holds none.
    unique: tuple[str, str, str] | None = None
    #: How each closed attempt was settled: attempt state, and what it was to become.
    closed: dict[int, tuple[str, JobState]] = field(default_factory=dict)

    def seen(self, now: datetime) -> tuple[JobState, int, int, int, int]:
        """Return what people see and what a machine compares."""
        state = effective_state(self.state, self.due_at, now)
        return (state, self.attempt, self.tries, self.crashes, self.replays)


@dataclass
class ModelSession:
    """A worker's session."""

    lease: timedelta
    lease_until: datetime
    state: str = "alive"


class Model:
    """All jobs, sessions and pauses. Methods are named after those of the ports."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.jobs: dict[bytes, ModelJob] = {}
        self.sessions: dict[bytes, ModelSession] = {}
        self.paused: set[str] = set()
        self.submitted = 0
        self.purged = 0

    def submit(self, job: NewJob) -> bool:
        """Take a job in, unless its id is known."""
        if job.id in self.jobs:
            return False
        due_at = job.due_at or self.now + timedelta(milliseconds=job.delay_ms or 0)
        state = JobState.READY if due_at <= self.now else JobState.SCHEDULED
        assert may_become(None, state)
        unique = None
        if job.unique_key is not None:
            unique = (job.tenant, job.unique_key, job.unique_while)
        self.jobs[job.id] = ModelJob(job, self.now, due_at, state, unique=unique)
        self.submitted += 1
        return True

    def submit_unique(self, job: NewJob) -> Receipt:
        """Take a job in, unless another one holds its key."""
        holder = self.holder(job)
        if holder is None:
            assert self.submit(job)
            return Receipt(job.id)
        first = holder.given.id
        if job.on_duplicate != "replace" or holder.attempt:
            return Receipt(first, created=False, duplicate=job.on_duplicate == "reject")
        holder.given = msgspec.structs.replace(job, id=first)
        holder.due_at = job.due_at or self.now + timedelta(milliseconds=job.delay_ms or 0)
        state = JobState.READY if holder.due_at <= self.now else JobState.SCHEDULED
        if holder.state is not state:
            self._become(holder, state)
        return Receipt(first, created=False, replaced=True)

    def holder(self, job: NewJob) -> ModelJob | None:
        """Return the job that holds the unique key of another one."""
        sought = (job.tenant, job.unique_key, job.unique_while)
        found = [
            known
            for known in self.jobs.values()
            if known.unique == sought
            and known.state not in FINAL
            and (job.unique_while == "live" or known.attempt == 0)
        ]
        assert len(found) <= 1
        return found[0] if found else None

    def open_session(self, session: NewSession) -> None:
        """Begin a session."""
        lease = timedelta(milliseconds=session.lease_ms)
        self.sessions[session.id] = ModelSession(lease, self.now + lease)

    def beat(self, worker_id: bytes) -> bool:
        """Renew a lease; false when the session is lost."""
        session = self.sessions[worker_id]
        if session.state not in {"alive", "draining"} or session.lease_until < self.now:
            return False
        session.lease_until = self.now + session.lease
        return True

    def end_session(self, worker_id: bytes, state: str) -> None:
        """Drain a session that lives, or end it."""
        session = self.sessions[worker_id]
        if session.state in {"alive", "draining"}:
            session.state = state

    def claimable(self, queue: str) -> list[ModelJob]:
        """Return what a claim would pick from one queue, in its order."""
        if queue in self.paused:
            return []
        found = [
            job
            for job in self.jobs.values()
            if job.given.queue == queue and job.state in CLAIMABLE and job.due_at <= self.now
        ]
        return sorted(found, key=lambda job: (job.given.priority, job.due_at, job.given.id))

    def may_claim(self, worker_id: bytes) -> bool:
        """Tell whether a session may claim now."""
        session = self.sessions[worker_id]
        return session.state == "alive" and self.now <= session.lease_until

    def claim(self, worker_id: bytes, queue: str, want: int, grace_ms: int) -> list[ModelJob]:
        """Begin attempts."""
        if not self.may_claim(worker_id):
            return []
        picked = self.claimable(queue)[:want]
        for job in picked:
            self._become(job, JobState.RUNNING)
            job.attempt += 1
            job.tries += 1
            job.crashes += 1
            job.worker_id = worker_id
            job.deadline_at = self.now + timedelta(milliseconds=job.given.timeout_ms + grace_ms)
        return picked

    def settle(self, given: Settlement) -> tuple[bool, bool]:
        """End an attempt; return (accepted, repeated)."""
        job = self.jobs.get(given.job_id)
        way = (given.attempt_state.value, given.becomes)
        if job is None:
            return False, False
        if job.state not in HELD or job.attempt != given.attempt:
            return False, job.closed.get(given.attempt) == way
        after = given.becomes
        if job.state is JobState.CANCELLING and after not in FINAL:
            after = JobState.CANCELLED
        self._become(job, after)
        job.closed[given.attempt] = way
        job.tries -= given.refund_try
        job.crashes -= given.refund_crash
        self._free(job)
        if after not in FINAL:
            job.due_at = self.now + timedelta(milliseconds=given.delay_ms)
        elif after is JobState.DEAD and given.follow_up is not None:
            self.submit(given.follow_up)
        return True, False

    def expired(self) -> dict[bytes, str]:
        """Mark sessions that ran out; return expired attempts with their causes."""
        for session in self.sessions.values():
            if session.state in {"alive", "draining"} and session.lease_until < self.now:
                session.state = "lost"
        found: dict[bytes, str] = {}
        for job in self.jobs.values():
            if job.state not in HELD:
                continue
            assert job.worker_id is not None
            assert job.deadline_at is not None
            if self.sessions[job.worker_id].state in {"lost", "gone"}:
                found[job.given.id] = "session"
            elif job.deadline_at < self.now:
                found[job.given.id] = "deadline"
        return found

    def cancel(self, job_id: bytes, *, force: bool) -> tuple[JobState | None, bool]:
        """Cancel one job; return (state now, changed)."""
        job = self.jobs.get(job_id)
        if job is None:
            return None, False
        if job.state in FINAL or (job.state is JobState.CANCELLING and not force):
            return job.state, False
        if job.state is JobState.RUNNING and not force:
            self._become(job, JobState.CANCELLING)
        else:
            if job.state in HELD:
                job.closed[job.attempt] = ("cancelled", JobState.CANCELLED)
            self._become(job, JobState.CANCELLED)
            self._free(job)
        return job.state, True

    def run_now(self, job_id: bytes) -> bool:
        """Make a waiting job due."""
        job = self.jobs.get(job_id)
        if job is None or job.state not in CLAIMABLE or job.due_at <= self.now:
            return False
        self._become(job, JobState.READY)
        job.due_at = self.now
        return True

    def replay(self, job_id: bytes) -> bool:
        """Bring a dead job back."""
        job = self.jobs.get(job_id)
        if job is None or job.state is not JobState.DEAD:
            return False
        self._become(job, JobState.READY)
        job.due_at = self.now
        job.tries = job.crashes = 0
        job.unique = None
        job.replays += 1
        return True

    def purge(self, job_id: bytes) -> bool:
        """Delete a dead job."""
        job = self.jobs.get(job_id)
        if job is None or job.state is not JobState.DEAD:
            return False
        del self.jobs[job_id]
        self.purged += 1
        return True

    def counts(self) -> dict[JobState, int]:
        """Return how many jobs are in each effective state that has any."""
        found: dict[JobState, int] = {}
        for job in self.jobs.values():
            state = effective_state(job.state, job.due_at, self.now)
            found[state] = found.get(state, 0) + 1
        return found

    def _become(self, job: ModelJob, after: JobState) -> None:
        before = job.state
        shown = effective_state(before, job.due_at, self.now)
        assert (before, after) in ALLOWED or (shown, after) in ALLOWED, (before, after)
        job.state = after

    @staticmethod
    def _free(job: ModelJob) -> None:
        job.worker_id = None
        job.deadline_at = None
