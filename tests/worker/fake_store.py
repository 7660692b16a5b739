"""A store in the test's memory, behind a socket: what workers see of one."""

import asyncio
import contextlib
import json
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from mainspring.domain.errors import BY_CODE, ConnectionFailed, MainspringError, SessionLost
from mainspring.domain.job import Backoff, Claimed, HandlerInfo, NewSession
from mainspring.domain.outcome import (
    UNRESPONSIVE,
    LogLine,
    Lost,
    Outcome,
    Progress,
    Report,
    TimedOut,
)
from mainspring.domain.states import JobState
from mainspring.policies.verdict import judge
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Beat, ClaimAsk, Pulse

PATIENCE_SECONDS = 20.0


class FakeJob:
    """A job with everything that ever happened to it."""

    def __init__(self, claimed: Claimed) -> None:
        self.claimed = claimed
        self.state = JobState.READY
        self.outcomes: list[Outcome] = []
        self.worker_id: bytes | None = None
        self.child = 0
        self.children: list[int] = []
        self.lines: list[LogLine] = []
        self.steps: list[Progress] = []
        self.cancelling = False

    @property
    def is_final(self) -> bool:
        return self.state in (JobState.SUCCEEDED, JobState.DEAD, JobState.CANCELLED)


class FakeStore:
    """Law-abiding as far as workers can see: fences, sessions, verdicts. Can be told to fail."""

    def __init__(self) -> None:
        self.jobs: dict[bytes, FakeJob] = {}
        self.sessions: dict[bytes, float] = {}
        self.opened: list[NewSession] = []
        self.handlers: list[HandlerInfo] = []
        self.closed: list[bytes] = []
        self.draining: list[bytes] = []
        self.deaths: list[tuple[int, str]] = []
        self.stale: list[Report] = []
        self.files: dict[str, bytes] = {}
        self.beats = 0
        self.drain_wanted = False
        self.calls: list[str] = []
        self.said: list[str] = []
        #: Methods that fail before (``ConnectionFailed``) or after (``OutcomeUnknown``) they act.
        self.failing: set[str] = set()
        self.forgetful: set[str] = set()
        self.version = 0
        self.connections: set[asyncio.StreamWriter] = set()
        self._moved = asyncio.Event()

    # --- For tests ------------------------------------------------------------------------------

    def submit(self, kind: str, *, crashes: int = 0, **options: Any) -> FakeJob:
        now = datetime.now(UTC)
        payload = options.pop("payload", {})
        job = FakeJob(
            Claimed(
                job_id=new_job_id(),
                attempt=0,
                kind=kind,
                queue=options.pop("queue", "default"),
                tenant="default",
                priority=2,
                payload=json.dumps(payload).encode(),
                payload_ref=None,
                tries=0,
                crashes=crashes,
                max_attempts=options.pop("max_attempts", 1),
                max_crashes=options.pop("max_crashes", 3),
                backoff=Backoff(),
                timeout_ms=options.pop("timeout_ms", 60_000),
                due_at=now,
                started_at=now,
                deadline_at=now,
                effect_key=None,
                on_exhausted=None,
                created_at=now,
                schedule_id=b"s" * 16 if "fire" in options else None,
                fire=options.pop("fire", None),
                fire_is_unread=options.pop("fire_is_unread", False),
            )
        )
        assert not options, options
        self.jobs[job.claimed.job_id] = job
        self.announce()
        return job

    def cancel(self, job: FakeJob) -> None:
        job.cancelling = True
        self.announce()

    def announce(self) -> None:
        self.version += 1
        self.stir()

    def stir(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    async def until(
        self, condition: Callable[[], object], seconds: float = PATIENCE_SECONDS
    ) -> None:
        """Wait until something is so; it is looked at after every call and every word said."""
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    await self._moved.wait()
        except TimeoutError:
            states = {job.claimed.kind: (job.state, job.outcomes) for job in self.jobs.values()}
            raise AssertionError(f"waited in vain: {states} {self.said} {self.deaths}") from None

    async def finished(self, job: FakeJob, seconds: float = PATIENCE_SECONDS) -> Outcome:
        """Wait for the end of the job's next attempt."""
        await self.until(lambda: job.outcomes, seconds)
        return job.outcomes[-1]

    def heard(self, word: str) -> list[str]:
        return [said.partition(" ")[2] for said in self.said if said.partition(" ")[0] == word]

    # --- WorkerGateway --------------------------------------------------------------------------

    def _check(self, worker_id: bytes) -> None:
        if self.sessions.get(worker_id, -math.inf) < time.monotonic():
            self.sessions.pop(worker_id, None)
            self._lose(lambda job: job.worker_id == worker_id, "session")
            raise SessionLost

    def _lose(self, which: Callable[[FakeJob], bool], cause: str) -> int:
        lost = [job for job in self.jobs.values() if job.worker_id is not None and which(job)]
        for job in lost:
            self._settle(job, Lost(cause))
        return len(lost)

    def _settle(self, job: FakeJob, outcome: Outcome) -> None:
        verdict = judge(job.claimed, outcome, 0.5)
        job.outcomes.append(outcome)
        job.worker_id = None
        job.state = verdict.becomes
        if job.cancelling and not job.is_final:
            job.state = JobState.CANCELLED
        job.claimed = msgspec.structs.replace(
            job.claimed,
            tries=job.claimed.tries - verdict.refund_try,
            crashes=job.claimed.crashes - verdict.refund_crash,
            # The next claim can read it.
            fire_is_unread=False,
        )
        self.version += 1

    async def open_session(self, session: NewSession, handlers: Sequence[HandlerInfo]) -> Beat:
        self.opened.append(session)
        self.handlers = list(handlers)
        self.sessions[session.id] = time.monotonic() + session.lease_ms / 1_000
        return Beat(session.lease_ms)

    async def beat(self, worker_id: bytes) -> Beat:
        self._check(worker_id)
        self.beats += 1
        lease_ms = self.opened[-1].lease_ms
        self.sessions[worker_id] = time.monotonic() + lease_ms / 1_000
        return Beat(lease_ms, self.drain_wanted)

    async def drain_session(self, worker_id: bytes) -> None:
        self.draining.append(worker_id)

    async def close_session(self, worker_id: bytes) -> None:
        self.closed.append(worker_id)
        self.sessions.pop(worker_id, None)
        self._lose(lambda job: job.worker_id == worker_id, "session_closed")

    async def child_died(self, worker_id: bytes, child: int, cause: str) -> int:
        self.deaths.append((child, cause))
        held = [
            job for job in self.jobs.values() if (job.worker_id, job.child) == (worker_id, child)
        ]
        for job in held:
            overtime = cause == UNRESPONSIVE and job.claimed.deadline_at <= datetime.now(UTC)
            timeout = TimedOut(job.claimed.timeout_ms, took_process=True)
            self._settle(job, timeout if overtime else Lost(cause))
        return len(held)

    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        self._check(ask.worker_id)
        if ask.worker_id in self.draining:
            return []
        want = {lane.queue: lane.want for lane in ask.lanes}
        claimed: list[Claimed] = []
        for job in self.jobs.values():
            is_due = job.state in (JobState.READY, JobState.RETRYING) and not job.cancelling
            if is_due and job.claimed.kind in ask.kinds and want.get(job.claimed.queue, 0) > 0:
                want[job.claimed.queue] -= 1
                job.state = JobState.RUNNING
                job.worker_id, job.child = ask.worker_id, ask.child
                job.children.append(ask.child)
                now = datetime.now(UTC)
                job.claimed = msgspec.structs.replace(
                    job.claimed,
                    attempt=job.claimed.attempt + 1,
                    tries=job.claimed.tries + 1,
                    crashes=job.claimed.crashes + 1,
                    started_at=now,
                    deadline_at=now + timedelta(milliseconds=job.claimed.timeout_ms),
                )
                claimed.append(job.claimed)
        return claimed[: ask.limit]

    async def payload(self, claimed: Claimed) -> bytes:
        return claimed.payload

    async def save_file(self, job_id: bytes, attempt: int, name: str, body: bytes) -> str:
        if name == "refused":
            raise BY_CODE["invalid_setting"]("no object store", hint="give it one")
        self.files[name] = body
        return f"kept-{name}"

    async def report(self, reports: Sequence[Report]) -> list[bool]:
        answers = []
        for report in reports:
            job = self.jobs[report.job_id]
            holds = job.worker_id is not None and job.claimed.attempt == report.attempt
            repeats = not holds and job.outcomes[-1:] == [report.outcome]
            if holds:
                self._settle(job, report.outcome)
            elif not repeats:
                self.stale.append(report)
            answers.append(holds or repeats)
        return answers

    async def pulse(
        self, worker_id: bytes, held: Sequence[tuple[bytes, int]], progress: Sequence[Progress]
    ) -> Pulse:
        for step in progress:
            self.jobs[step.job_id].steps.append(step)
        cancelling, lost = [], []
        for job_id, attempt in held:
            job = self.jobs[job_id]
            if job.worker_id != worker_id or job.claimed.attempt != attempt:
                lost.append(job_id)
            elif job.cancelling:
                cancelling.append(job_id)
        return Pulse(tuple(cancelling), tuple(lost))

    async def append_logs(self, lines: Sequence[LogLine]) -> None:
        for line in lines:
            job = self.jobs[line.job_id]
            known = {(kept.attempt, kept.sequence) for kept in job.lines}
            is_held = job.worker_id is not None and job.claimed.attempt == line.attempt
            if is_held and (line.attempt, line.sequence) not in known:
                job.lines.append(line)

    async def wait_for_work(
        self, worker_id: bytes, queues: Collection[str], timeout_seconds: float
    ) -> bool:
        raise NotImplementedError  # each connection keeps its own place

    # --- The server -----------------------------------------------------------------------------

    async def call(self, method: str, given: list[Any]) -> Any:
        if method in self.failing or "*" in self.failing:
            raise ConnectionFailed
        types = _TYPES[method]
        arguments = [msgspec.convert(raw, kind) for raw, kind in zip(given, types, strict=True)]
        answer = await getattr(self, method)(*arguments)
        if method in self.forgetful:
            raise BY_CODE["outcome_unknown"]
        return answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen = 0

        async def answer(number: int, method: str, given: list[Any]) -> None:
            nonlocal seen
            try:
                if method == "wait_for_work":
                    if method in self.failing or "*" in self.failing:
                        raise ConnectionFailed
                    found = await self._hint(seen, given[2])
                    seen, result = self.version, found
                else:
                    result = await self.call(method, given)
                reply: list[Any] = [number, None, result]
            except MainspringError as error:
                reply = [number, error.code, error.message]
            self.calls.append(method)
            raw = msgspec.msgpack.encode(reply)
            writer.write(len(raw).to_bytes(4, "big") + raw)
            self.stir()

        answering: set[asyncio.Task[None]] = set()
        self.connections.add(writer)
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                number, method, given = msgspec.msgpack.decode(await reader.readexactly(size))
                answering.add(asyncio.create_task(answer(number, method, given)))
        except (asyncio.IncompleteReadError, ConnectionError):
            for late in answering:
                late.cancel()
        finally:
            self.connections.discard(writer)
            writer.close()

    async def hang_up(self) -> None:
        """Close what is still connected: processes that were killed go in their own time."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.connections:
                writer = self.connections.pop()
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()

    async def _hint(self, seen: int, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                while self.version <= seen:
                    await self._moved.wait()
        except TimeoutError:
            return False
        return True


_TYPES: Mapping[str, tuple[Any, ...]] = {
    "open_session": (NewSession, list[HandlerInfo]),
    "beat": (bytes,),
    "drain_session": (bytes,),
    "close_session": (bytes,),
    "child_died": (bytes, int, str),
    "claim": (ClaimAsk,),
    "payload": (Claimed,),
    "report": (list[Report],),
    "save_file": (bytes, int, str, bytes),
    "pulse": (bytes, list[tuple[bytes, int]], list[Progress]),
    "append_logs": (list[LogLine],),
    "wait_for_work": (bytes, list[str], float),
}
ANSWERS: Mapping[str, Any] = {
    "open_session": Beat,
    "beat": Beat,
    "claim": list[Claimed],
    "pulse": Pulse,
}
