"""A stateful test: random histories against the reference ``model``, compared after every step.

A backend is bound by a subclass that says where an example takes place (``enter``). Examples may
share one store: each works in queues of its own and leaves only final jobs behind.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from mainspring.domain.errors import SessionLost
from mainspring.domain.job import (
    ON_DUPLICATE,
    UNIQUE_WHILE,
    Claimed,
    JobFilter,
    JobView,
    NewJob,
    Receipt,
    Settlement,
)
from mainspring.domain.outcome import (
    Cancelled,
    ErrorInfo,
    Failed,
    Lost,
    Outcome,
    Released,
    Snoozed,
    Succeeded,
    TimedOut,
)
from mainspring.domain.states import FINAL, HELD, JobState, may_become
from mainspring.ports.store import Store
from mainspring.testing.builders import (
    claim_ask,
    id_at,
    lanes,
    new_job,
    new_session,
    settlement,
    verdict,
)
from mainspring.testing.clock import BEGINNING, SettableClock
from mainspring.testing.conformance.model import Model

_GRACE_MS = 500
_BOOM = ErrorInfo("ValueError", "boom")
_FAILED_FOR_GOOD = Failed(_BOOM, permanent=True)
_OUTCOMES: tuple[Outcome, ...] = (
    Succeeded(b"1"),
    Failed(_BOOM),
    _FAILED_FOR_GOOD,
    Failed(_BOOM, retry_after_ms=2_500),
    Snoozed(1_000),
    TimedOut(1_000),
    Cancelled(),
    Released(),
)
#: Far above what attempts and crashes of the jobs below allow.
_STEPS_TO_THE_END_MAX = 300
_MOST_JOBS = 400

_PICKS = st.integers(0, 7)
_Answer = TypeVar("_Answer")
#: Of a job: priority, delay, attempts and crashes that it may have, timeout.
Wish = tuple[int, int | None, int, int, int]


@dataclass
class Arena:
    """Where examples take place: a migrated store, its clock, and the loop that it lives in."""

    runner: asyncio.Runner
    store: Store
    clock: SettableClock
    numbers: "count[int]" = field(default_factory=count)


class StoreMachine(RuleBasedStateMachine):
    """Rules are the ports' methods: what the model answers, the store must answer too."""

    jobs: Bundle[bytes] = Bundle("jobs")
    settlements: Bundle[Settlement] = Bundle("settlements")

    def __init__(self) -> None:
        super().__init__()
        self.arena = self.enter()
        self.store, self.clock = self.arena.store, self.arena.clock
        self.model = Model(self.clock.now())
        number = next(self.arena.numbers)
        self.queues = (f"q{number}-a", f"q{number}-b")
        self.wanted = JobFilter(queues=frozenset(self.queues))
        self.last: dict[bytes, JobView] = {}
        self.seen: list[Claimed] = []
        self.sessions: list[bytes] = []
        self.claimer = self.worker(60_000)

    def enter(self) -> Arena:
        """Return the place of one example."""
        raise NotImplementedError

    def leave(self) -> None:
        """Let go of what ``enter`` made for this example alone."""

    def run(self, what: Coroutine[Any, Any, _Answer]) -> _Answer:
        """Wait for the store's answer."""
        return self.arena.runner.run(what)

    def job(self, **given: Any) -> NewJob:
        """Return a submission whose id falls where its number rises: ids must order ties."""
        number = 2**40 - next(self.arena.numbers)
        return new_job(id=id_at(BEGINNING, number), backoff=None, **given)

    # --- In ------------------------------------------------------------------------------------

    @rule(lease_ms=st.sampled_from([1_000, 60_000]))
    def open_session(self, lease_ms: int) -> None:
        """Another worker comes."""
        self.worker(lease_ms)

    def worker(self, lease_ms: int) -> bytes:
        """Open a session in the store and in the model."""
        worker_id = id_at(BEGINNING, next(self.arena.numbers))
        session = new_session(id=worker_id, lease_ms=lease_ms)
        self.run(self.store.open_session(session))
        self.model.open_session(session)
        self.sessions.append(worker_id)
        return worker_id

    def any_worker(self, pick: int) -> bytes:
        """Return a worker, counted from the newest."""
        return self.sessions[-1 - pick % len(self.sessions)]

    def held(self) -> list[Claimed]:
        """Return the attempts that are open, as they were claimed."""
        return [
            job
            for job in self.seen
            if (known := self.model.jobs.get(job.job_id)) is not None
            and known.state in HELD
            and known.attempt == job.attempt
        ]

    @initialize(target=jobs)
    def begin(self) -> MultipleResults[bytes]:
        """Begin with jobs of which some run, so that no history is about nothing."""
        batch = [
            self.job(queue=self.queues[number % 2], priority=number % 3, max_crashes=2)
            for number in range(6)
        ]
        assert all(receipt.created for receipt in self.run(self.store.submit(batch)))
        for job in batch:
            assert self.model.submit(job)
        for name in self.queues:
            self.claimed(self.claimer, name, 2)
        return multiple(*(job.id for job in batch))

    @rule(
        target=jobs,
        queue=st.integers(0, 1),
        wishes=st.lists(
            st.tuples(
                st.integers(0, 3),
                st.sampled_from([None, None, None, 0, 1_000, 60_000]),
                st.integers(1, 3),
                st.integers(1, 3),
                st.sampled_from([1_000, 3_600_000]),
            ),
            min_size=1,
            max_size=4,
        ),
    )
    def submit(self, queue: int, wishes: list[Wish]) -> MultipleResults[bytes]:
        """Jobs come in."""
        batch = [
            self.job(
                queue=self.queues[queue],
                priority=priority,
                delay_ms=delay_ms,
                max_attempts=max_attempts,
                max_crashes=max_crashes,
                timeout_ms=timeout_ms,
            )
            for priority, delay_ms, max_attempts, max_crashes, timeout_ms in wishes
        ]
        receipts = self.run(self.store.submit(batch))
        assert receipts == [Receipt(job.id) for job in batch]
        for job in batch:
            assert self.model.submit(job)
        return multiple(*(job.id for job in batch))

    @rule(
        target=jobs,
        key=st.integers(0, 1),
        unique_while=st.sampled_from(UNIQUE_WHILE),
        on_duplicate=st.sampled_from(ON_DUPLICATE),
        delay_ms=st.sampled_from([None, 1_000, 60_000]),
    )
    def submit_unique(
        self, key: int, unique_while: str, on_duplicate: str, delay_ms: int | None
    ) -> bytes:
        """A job comes in of which there may be one at a time."""
        job = self.job(
            queue=self.queues[key],
            priority=key,
            delay_ms=delay_ms,
            unique_key=f"{self.queues[0]}-{key}",
            unique_while=unique_while,
            on_duplicate=on_duplicate,
        )
        (receipt,) = self.run(self.store.submit([job]))
        assert receipt == self.model.submit_unique(job)
        return receipt.job_id

    @rule(job_id=jobs)
    def submit_again(self, job_id: bytes) -> None:
        """A job comes in again, because its receipt got lost."""
        known = self.model.jobs.get(job_id)
        if known is not None:
            (receipt,) = self.run(self.store.submit([known.given], repeated=True))
            assert (receipt.job_id, receipt.created) == (job_id, False)

    # --- Attempts ------------------------------------------------------------------------------

    @precondition(lambda self: self.waiting())
    @rule(pick=st.integers(0, 1), want=st.integers(1, 3))
    def claim(self, pick: int, want: int) -> None:
        """A worker that lives takes jobs of a queue in which some wait."""
        if not self.model.may_claim(self.claimer):
            self.claimer = self.worker(60_000)
        waiting = self.waiting()
        self.claimed(self.claimer, waiting[pick % len(waiting)], want)

    @precondition(lambda self: self.waiting())
    @rule(pick=_PICKS, want=st.integers(1, 3))
    def claim_for_anybody(self, pick: int, want: int) -> None:
        """A worker that may be lost, gone or draining tries to take jobs."""
        self.claimed(self.any_worker(pick), self.waiting()[0], want)

    def waiting(self) -> list[str]:
        """Name the queues in which something is due, paused or not."""
        shown = {job.queue for job in self.last.values() if job.state is JobState.READY}
        return sorted(shown)

    def claimed(self, worker_id: bytes, queue: str, want: int) -> list[Claimed]:
        """Claim in the store and in the model, and compare the answers."""
        ask = claim_ask(worker_id, lanes=lanes({queue: want}), grace_ms=_GRACE_MS)
        claimed = self.run(self.store.claim(ask))
        expected = self.model.claim(worker_id, queue, want, _GRACE_MS)
        assert [job.job_id for job in claimed] == [job.given.id for job in expected]
        for job, known in zip(claimed, expected, strict=True):
            assert (job.attempt, job.tries, job.crashes) == (
                known.attempt,
                known.tries,
                known.crashes,
            )
            assert (job.due_at, job.deadline_at) == (known.due_at, known.deadline_at)
        self.seen += claimed
        return claimed

    @precondition(lambda self: self.seen)
    @rule(
        target=settlements,
        pick=st.integers(0, 50),
        outcome=st.sampled_from(_OUTCOMES),
        follow_up=st.booleans(),
    )
    def report_any(self, pick: int, outcome: Outcome, *, follow_up: bool) -> Settlement:
        """An attempt ends, now or long ago."""
        return self.report(self.seen[-1 - pick % len(self.seen)], outcome, follow_up=follow_up)

    def report(self, job: Claimed, outcome: Outcome, *, follow_up: bool) -> Settlement:
        """Settle as the product judges, perhaps with a job to follow a death."""
        next_job = self.job(queue=self.queues[0], max_attempts=1) if follow_up else None
        given = verdict(job, outcome, follow_up=next_job)
        self.settle([given])
        return given

    @precondition(lambda self: self.held())
    @rule(
        target=settlements,
        pick=_PICKS,
        outcome=st.sampled_from(_OUTCOMES),
        follow_up=st.booleans(),
    )
    def report_held(self, pick: int, outcome: Outcome, *, follow_up: bool) -> Settlement:
        """An attempt ends that is open."""
        held = self.held()
        return self.report(held[pick % len(held)], outcome, follow_up=follow_up)

    @precondition(lambda self: self.held())
    @rule(pick=_PICKS, offset=st.sampled_from([-1, 1]))
    def report_beside_held(self, pick: int, offset: int) -> None:
        """A worker reports the attempt before or after the one that is open."""
        held = self.held()
        job = held[pick % len(held)]
        self.settle([settlement(job, attempt=job.attempt + offset)])

    @rule(given=settlements)
    def report_again(self, given: Settlement) -> None:
        """A report arrives twice."""
        self.settle([given])

    @rule(given=st.lists(settlements, max_size=4), count=st.integers(0, 4))
    def report_in_a_batch(self, given: list[Settlement], count: int) -> None:
        """Reports arrive together, each attempt once."""
        batch = {(one.job_id, one.attempt): one for one in given}
        batch |= {(one.job_id, one.attempt): settlement(one) for one in self.held()[:count]}
        self.settle(list(batch.values()))

    def settle(self, batch: list[Settlement]) -> None:
        """Settle in the store and in the model, and compare the answers."""
        answers = self.run(self.store.settle(batch))
        assert len(answers) == len(batch)
        for given, answer in zip(batch, answers, strict=True):
            known = self.model.jobs.get(given.job_id)
            closed_as = known.closed.get(given.attempt) if known else None
            accepted, repeated = self.model.settle(given)
            assert (answer.job_id, answer.attempt) == (given.job_id, given.attempt)
            assert answer.accepted is accepted
            if accepted:
                assert known is not None
                assert answer.state is known.state
            if repeated or closed_as is None or closed_as[0] != given.attempt_state:
                assert answer.repeated is repeated

    @rule(pick=_PICKS)
    def pulse(self, pick: int) -> None:
        """A worker asks after everything that it ever held, and more."""
        worker_id = self.any_worker(pick)
        held = [
            (job_id, attempt)
            for job_id, known in self.model.jobs.items()
            for attempt in range(1, known.attempt + 1)
            if known.worker_id == worker_id or attempt < known.attempt
        ]
        for job_id, attempt in held:
            known = self.model.jobs[job_id]
            pulse = self.run(self.store.pulse(worker_id, [(job_id, attempt)], []))
            is_held = known.state in HELD and known.attempt == attempt
            assert pulse.lost == (() if is_held else (job_id,))
            is_cancelling = is_held and known.state is JobState.CANCELLING
            assert pulse.cancelling == ((job_id,) if is_cancelling else ())

    # --- Time and death ------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.000_001, 0.5, 1.0, 2.0, 30.0, 90.0]))
    def pass_time(self, seconds: float) -> None:
        """The clock of the store goes on."""
        self.model.now = self.clock.advance(seconds)

    @rule(pick=_PICKS)
    def beat(self, pick: int) -> None:
        """A worker shows that it lives."""
        worker_id = self.any_worker(pick)
        try:
            self.run(self.store.beat(worker_id))
            lives = True
        except SessionLost:
            lives = False
        assert lives is self.model.beat(worker_id)

    @rule(pick=_PICKS, state=st.sampled_from(["draining", "gone"]))
    def end_session(self, pick: int, state: str) -> None:
        """A worker goes, if it is still there."""
        worker_id = self.any_worker(pick)
        known = self.model.sessions[worker_id]
        if known.state == "alive" and known.lease_until >= self.model.now:
            self.run(self.store.end_session(worker_id, state))
            self.model.end_session(worker_id, state)

    @rule()
    def recover(self) -> None:
        """Somebody closes the attempts that nobody will report."""
        expected = self.model.expired()
        held = self.run(self.store.expired(_MOST_JOBS))
        assert {one.job_id: one.cause for one in held} == expected
        self.settle([verdict(one, Lost(one.cause)) for one in held])

    # --- Control -------------------------------------------------------------------------------

    @precondition(lambda self: self.held())
    @rule(pick=_PICKS, force=st.booleans())
    def cancel_held(self, pick: int, *, force: bool) -> None:
        """Somebody cancels a job that runs."""
        held = self.held()
        self.cancelled(held[pick % len(held)].job_id, force=force)

    @rule(job_id=jobs, force=st.booleans())
    def cancel(self, job_id: bytes, *, force: bool) -> None:
        """Somebody cancels a job."""
        self.cancelled(job_id, force=force)

    def cancelled(self, job_id: bytes, *, force: bool) -> None:
        """Cancel in the store and in the model, and compare the answers."""
        (result,) = self.run(self.store.cancel([job_id], reason="stop", force=force, actor="me"))
        state, changed = self.model.cancel(job_id, force=force)
        assert (result.job_id, result.changed) == (job_id, changed)
        known = self.model.jobs.get(job_id)
        if known is None or known.state in HELD | FINAL:
            assert result.state is state

    @rule(job_id=jobs)
    def run_now(self, job_id: bytes) -> None:
        """Somebody is in a hurry."""
        expected = [job_id] if self.model.run_now(job_id) else []
        assert self.run(self.store.run_now([job_id], actor="me")) == expected

    @rule(job_ids=st.lists(jobs, max_size=5, unique=True))
    def replay(self, job_ids: list[bytes]) -> None:
        """Somebody brings dead jobs back."""
        expected = {job_id for job_id in job_ids if self.model.replay(job_id)}
        assert set(self.run(self.store.replay(job_ids, payload=None, actor="me"))) == expected

    @rule(job_id=jobs)
    def purge(self, job_id: bytes) -> None:
        """Somebody deletes a dead job."""
        self.run(self.store.purge([job_id], actor="me"))
        if self.model.purge(job_id):
            del self.last[job_id]
            assert self.run(self.store.get_job(job_id)) is None

    @rule(queue=st.integers(0, 1))
    def pause_or_resume(self, queue: int) -> None:
        """Somebody stops a queue, or lets it go on."""
        name = self.queues[queue]
        if name in self.model.paused:
            self.resume(name)
        else:
            assert self.run(self.store.pause_queue(name, reason="repair", actor="me"))
            assert not self.run(self.store.pause_queue(name, reason="again", actor="me"))
            self.model.paused.add(name)

    def resume(self, name: str) -> None:
        """Let a queue go on."""
        changed = self.run(self.store.resume_queue(name, actor="me"))
        assert changed is (name in self.model.paused)
        self.model.paused.discard(name)

    # --- After every step ----------------------------------------------------------------------

    @invariant()
    def looks_like_the_model(self) -> None:
        """Every job is as the model says; every change is allowed; nothing is lost or doubled."""
        page = self.run(self.store.list_jobs(self.wanted, limit=_MOST_JOBS, before=None))
        found = {job.id: job for job in page.items}
        assert len(found) == len(page.items) == self.model.submitted - self.model.purged
        assert found.keys() == self.model.jobs.keys()
        for job_id, job in found.items():
            known = self.model.jobs[job_id]
            shown = (job.state, job.attempt, job.tries, job.crashes, job.replays)
            assert shown == known.seen(self.model.now)
            assert (job.worker_id is not None) or job.state not in HELD
            if job.state not in FINAL:
                assert (job.due_at, job.worker_id) == (known.due_at, known.worker_id)
            before = self.last.get(job_id)
            if before is not None:
                assert before.attempt <= job.attempt
                assert before.state is job.state or may_become(before.state, job.state)
        self.last = found

    def teardown(self) -> None:
        """Every chain ends: fail whatever can be claimed until nothing lives."""
        try:
            for name in self.queues:
                self.resume(name)
            for _ in range(_STEPS_TO_THE_END_MAX):
                if all(job.state in FINAL for job in self.model.jobs.values()):
                    break
                self.pass_time(7_200.0)
                self.looks_like_the_model()
                self.recover()
                self.looks_like_the_model()
                worker_id = self.worker(60_000)
                for name in self.queues:
                    claimed = self.claimed(worker_id, name, 100)
                    self.looks_like_the_model()
                    self.settle([verdict(job, Failed(_BOOM)) for job in claimed])
                    self.looks_like_the_model()
            assert all(job.state in FINAL for job in self.model.jobs.values())
            assert all(job.state in FINAL for job in self.last.values())
        finally:
            self.leave()
