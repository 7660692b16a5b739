"""Stores with one guard removed each. The suites must see every one of them.

Each wraps a sound store and spoils one answer or one change on the way through.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import msgspec

from mainspring.domain.errors import SessionLost
from mainspring.domain.job import (
    AttemptView,
    Claimed,
    FailureGroup,
    Held,
    JobFilter,
    JobView,
    NewJob,
    NewSession,
    Page,
    Receipt,
    Settled,
    Settlement,
    Trend,
)
from mainspring.domain.outcome import LogLine, Progress
from mainspring.domain.states import FINAL, HELD, JobState
from mainspring.domain.webhooks import Listener
from mainspring.ports.clock import Clock
from mainspring.ports.store import Beat, CancelResult, ClaimAsk, Lane, Pulse, Retained, Store
from mainspring.testing.builders import new_job

_change = msgspec.structs.replace
_RUNNING = JobFilter(states=frozenset(HELD))


class Spoiled:
    """A sound store, as long as nobody overrides anything."""

    def __init__(self, sound: Store, clock: Clock) -> None:
        self.sound = sound
        self.clock = clock
        self.sessions: dict[bytes, NewSession] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sound, name)

    async def open_session(self, session: NewSession) -> Beat:
        self.sessions[session.id] = session
        return await self.sound.open_session(session)


# --- Jobs come in --------------------------------------------------------------------------------


class IgnoresSubmissionKeys(Spoiled):
    async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
        plain = [_change(job, submission_key=None, body_hash=None) for job in jobs]
        return await self.sound.submit(plain, repeated=repeated)


class IgnoresUniqueKeys(Spoiled):
    async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
        plain = [_change(job, unique_key=None) for job in jobs]
        return await self.sound.submit(plain, repeated=repeated)


class HoldsUniqueKeysWhileLive(Spoiled):
    async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
        longer = [_change(job, unique_while="live") for job in jobs]
        return await self.sound.submit(longer, repeated=repeated)


class NeverReplaces(Spoiled):
    async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
        as_they_are = [
            _change(job, on_duplicate="existing") if job.on_duplicate == "replace" else job
            for job in jobs
        ]
        receipts = await self.sound.submit(as_they_are, repeated=repeated)
        return [
            _change(receipt, replaced=job.on_duplicate == "replace" and not receipt.created)
            for job, receipt in zip(jobs, receipts, strict=True)
        ]


class KeepsKeysOfTheRefused(Spoiled):
    async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
        quiet = [_change(job, on_duplicate="existing") for job in jobs]
        receipts = await self.sound.submit(quiet, repeated=repeated)
        return [
            _change(receipt, duplicate=job.on_duplicate == "reject" and not receipt.created)
            for job, receipt in zip(jobs, receipts, strict=True)
        ]


class IgnoresBodies(Spoiled):
    async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
        plain = [_change(job, body_hash=bytes(32)) for job in jobs]
        return await self.sound.submit(plain, repeated=repeated)


class ForgetsTheFinished(Spoiled):
    async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
        known = await self.sound.get_states([job.id for job in jobs])
        copies = [
            _change(job, id=new_job().id) if known.get(job.id) in FINAL else job for job in jobs
        ]
        receipts = await self.sound.submit(copies, repeated=repeated)
        return [
            _change(receipt, job_id=job.id) for receipt, job in zip(receipts, jobs, strict=True)
        ]


class RoundsToMilliseconds(Spoiled):
    async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
        rounded = [
            job
            if job.due_at is None
            else _change(
                job, due_at=job.due_at - timedelta(microseconds=job.due_at.microsecond % 1_000)
            )
            for job in jobs
        ]
        return await self.sound.submit(rounded, repeated=repeated)


class LosesTheLastOfABatch(Spoiled):
    async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
        receipts = await self.sound.submit(jobs[:999], repeated=repeated)
        return receipts + [Receipt(job.id) for job in jobs[999:]]


# --- Attempts begin ------------------------------------------------------------------------------


class IgnoresPriority(Spoiled):
    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        page = await self.sound.list_jobs(JobFilter(), limit=500, before=None)
        oldest = [job.priority for job in page.items if job.state is JobState.READY][-1:]
        far = self.clock.now() + timedelta(days=40_000)
        since = {level: far for level in range(4) if level not in oldest}
        lanes = tuple(Lane(lane.queue, lane.want, since | dict(lane.since)) for lane in ask.lanes)
        return await self.sound.claim(_change(ask, lanes=lanes)) or await self.sound.claim(ask)


class IgnoresPauses(Spoiled):
    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        paused = [queue for queue in await self.sound.list_queues() if queue.paused_at]
        for queue in paused:
            await self.sound.resume_queue(queue.name, actor="")
        claimed = await self.sound.claim(ask)
        for queue in paused:
            await self.sound.pause_queue(queue.name, reason=queue.paused_reason or "", actor="")
        return claimed


class IgnoresKinds(Spoiled):
    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        page = await self.sound.list_jobs(JobFilter(), limit=500, before=None)
        kinds = tuple({*ask.kinds, *(job.kind for job in page.items)})
        return await self.sound.claim(_change(ask, kinds=kinds))


class IgnoresTheLimit(Spoiled):
    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        return await self.sound.claim(_change(ask, limit=1_000))


class IgnoresWants(Spoiled):
    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        lanes = tuple(_change(lane, want=1_000) for lane in ask.lanes)
        return await self.sound.claim(_change(ask, lanes=lanes))


class IgnoresWatermarks(Spoiled):
    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        lanes = tuple(_change(lane, since={}) for lane in ask.lanes)
        return await self.sound.claim(_change(ask, lanes=lanes))


class IgnoresGrace(Spoiled):
    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        return await self.sound.claim(_change(ask, grace_ms=10_000))


class GivesToTheDead(Spoiled):
    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        if ask.worker_id in self.sessions:
            with suppress(SessionLost):
                await self.sound.open_session(self.sessions[ask.worker_id])
        return await self.sound.claim(ask)


class HandsOutTwice(Spoiled):
    last: tuple[Claimed, ...] = ()

    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        found = await self.sound.claim(ask)
        doubled, self.last = [*found, *self.last[:1]], tuple(found)
        return doubled[: ask.limit]


# --- Attempts end --------------------------------------------------------------------------------


class IgnoresTheAttemptNumber(Spoiled):
    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        current = []
        for given in settlements:
            job = await self.sound.get_job(given.job_id)
            current.append(_change(given, attempt=job.attempt) if job else given)
        answers = await self.sound.settle(current)
        return [
            _change(answer, attempt=given.attempt)
            for given, answer in zip(settlements, answers, strict=True)
        ]


class AcceptsWhatIsNotHeld(Spoiled):
    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        answers = await self.sound.settle(settlements)
        return [
            answer if answer.repeated else _change(answer, accepted=True, state=given.becomes)
            for given, answer in zip(settlements, answers, strict=True)
        ]


class TakesRepetitionsForStale(Spoiled):
    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        return [_change(answer, repeated=False) for answer in await self.sound.settle(settlements)]


class TakesStaleForRepetitions(Spoiled):
    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        return [
            _change(answer, repeated=not answer.accepted)
            for answer in await self.sound.settle(settlements)
        ]


class KeepsCharges(Spoiled):
    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        return await self.sound.settle([_change(given, refund_try=False) for given in settlements])


class RefundsCrashes(Spoiled):
    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        return await self.sound.settle([_change(given, refund_crash=True) for given in settlements])


class RetriesAtOnce(Spoiled):
    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        return await self.sound.settle([_change(given, delay_ms=0) for given in settlements])


class AnswersInAnotherOrder(Spoiled):
    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        answers = await self.sound.settle(settlements)
        return sorted(answers, key=lambda answer: not answer.accepted)


class FollowsUpTwice(Spoiled):
    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        answers = await self.sound.settle(settlements)
        for given, answer in zip(settlements, answers, strict=True):
            if given.follow_up and answer.state is JobState.DEAD:
                await self.sound.submit([_change(given.follow_up, id=new_job().id)])
        return answers


class FollowsUpAlways(Spoiled):
    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        answers = await self.sound.settle(settlements)
        for given, answer in zip(settlements, answers, strict=True):
            if given.follow_up and answer.accepted:
                await self.sound.submit([given.follow_up])
        return answers


class NeverFollowsUp(Spoiled):
    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        return await self.sound.settle([_change(given, follow_up=None) for given in settlements])


class LosesNotices(Spoiled):
    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        return await self.sound.settle([_change(given, notices=()) for given in settlements])


class TellsWhateverIsReported(Spoiled):
    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        answers = await self.sound.settle([_change(given, notices=()) for given in settlements])
        for given in settlements:
            await self.sound.submit(given.notices)
        return answers


class TellsWhatACancelTurned(Spoiled):
    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        answers = await self.sound.settle([_change(given, notices=()) for given in settlements])
        for given, answer in zip(settlements, answers, strict=True):
            if answer.accepted:
                await self.sound.submit(given.notices)
        return answers


class NeverDisablesWebhooks(Spoiled):
    async def note_delivery(
        self, webhook_id: bytes, *, succeeded: bool, failing_max: timedelta, gone: str = ""
    ) -> bool:
        return await self.sound.note_delivery(
            webhook_id, succeeded=succeeded, failing_max=timedelta(days=10_000)
        )


class ListensToDisabledWebhooks(Spoiled):
    async def list_listeners(self) -> list[Listener]:
        every = await self.sound.list_webhooks(None, limit=500)
        return [Listener(hook.id, hook.tenant, hook.wanted) for hook in every]


class RetriesWhatIsCancelled(Spoiled):
    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        answers = await self.sound.settle(settlements)
        for given, answer in zip(settlements, answers, strict=True):
            if answer.state is JobState.CANCELLED and given.becomes not in FINAL:
                job = await self.sound.get_job(given.job_id)
                if job is not None:
                    again = new_job(kind=job.kind, queue=job.queue)
                    await self.sound.submit([again])
        return answers


class KeepsLogsOfStaleAttempts(Spoiled):
    async def append_logs(self, lines: Sequence[LogLine]) -> int:
        current = []
        for line in lines:
            job = await self.sound.get_job(line.job_id)
            current.append(_change(line, attempt=job.attempt) if job else line)
        return await self.sound.append_logs(current)


class CountsLogsTwice(Spoiled):
    async def append_logs(self, lines: Sequence[LogLine]) -> int:
        await self.sound.append_logs(lines)
        return len(lines)


class TellsNoCancels(Spoiled):
    async def pulse(
        self, worker_id: bytes, held: Sequence[tuple[bytes, int]], progress: Sequence[Progress]
    ) -> Pulse:
        found = await self.sound.pulse(worker_id, held, progress)
        return _change(found, cancelling=())


class TakesEveryAttemptForHeld(Spoiled):
    async def pulse(
        self, worker_id: bytes, held: Sequence[tuple[bytes, int]], progress: Sequence[Progress]
    ) -> Pulse:
        found = await self.sound.pulse(worker_id, held, progress)
        return _change(found, lost=())


# --- Recovery and sessions -----------------------------------------------------------------------


class ExpiresByAge(Spoiled):
    async def expired(self, limit: int) -> list[Held]:
        await self.sound.expired(limit)
        long_ago = self.clock.now() - timedelta(seconds=60)
        found: list[Held] = []
        for worker in await self.sound.list_workers():
            for held in await self.sound.held_by(worker.id):
                job = await self.sound.get_job(held.job_id)
                if job and job.started_at and job.started_at < long_ago:
                    found.append(_change(held, cause="session"))
        return found[:limit]


class ExpiresNoDeadlines(Spoiled):
    async def expired(self, limit: int) -> list[Held]:
        return [held for held in await self.sound.expired(limit) if held.cause != "deadline"]


class ExpiresInAnyOrder(Spoiled):
    async def expired(self, limit: int) -> list[Held]:
        return (await self.sound.expired(1_000))[::-1][:limit]


class RevivesTheLost(Spoiled):
    async def beat(self, worker_id: bytes) -> Beat:
        try:
            return await self.sound.beat(worker_id)
        except SessionLost:
            return Beat(1_000)


class TellsNoDrains(Spoiled):
    async def beat(self, worker_id: bytes) -> Beat:
        return _change(await self.sound.beat(worker_id), drain=False)


class MixesUpChildren(Spoiled):
    async def held_by(self, worker_id: bytes, child: int | None = None) -> list[Held]:
        return await self.sound.held_by(worker_id)


# --- Control and queries -------------------------------------------------------------------------


class CancelsWithoutForce(Spoiled):
    async def cancel(
        self, job_ids: Sequence[bytes], *, reason: str, force: bool, actor: str
    ) -> list[CancelResult]:
        return await self.sound.cancel(job_ids, reason=reason, force=False, actor=actor)


class CancelsWithForce(Spoiled):
    async def cancel(
        self, job_ids: Sequence[bytes], *, reason: str, force: bool, actor: str
    ) -> list[CancelResult]:
        return await self.sound.cancel(job_ids, reason=reason, force=True, actor=actor)


class ReplaysTheOldPayload(Spoiled):
    async def replay(
        self, job_ids: Sequence[bytes], *, payload: bytes | None, actor: str
    ) -> list[bytes]:
        return await self.sound.replay(job_ids, payload=None, actor=actor)


class PurgesNothing(Spoiled):
    async def purge(self, job_ids: Sequence[bytes], *, actor: str) -> list[str]:
        return []


class ForgetsTheLastAttempt(Spoiled):
    async def list_attempts(self, job_id: bytes) -> list[AttemptView]:
        found = await self.sound.list_attempts(job_id)
        return found if len(found) < 2 else found[:-1]


class ShowsStoredStates(Spoiled):
    async def get_job(self, job_id: bytes) -> JobView | None:
        found = await self.sound.get_job(job_id)
        if found and found.state is JobState.READY and found.due_at > found.created_at:
            return _change(found, state=JobState.SCHEDULED)
        return found


class LosesRowsBetweenPages(Spoiled):
    async def list_jobs(self, wanted: JobFilter, *, limit: int, before: bytes | None) -> Page:
        found = await self.sound.list_jobs(wanted, limit=limit, before=before)
        if before is None or len(found.items) < 2:
            return found
        return _change(found, items=found.items[1:])


class GroupsOverAllTenants(Spoiled):
    async def list_groups(
        self, wanted: JobFilter, *, trend: Trend, limit: int
    ) -> list[FailureGroup]:
        everybodys = _change(wanted, tenant=None)
        return await self.sound.list_groups(everybodys, trend=trend, limit=limit)


class ForgetsGroups(Spoiled):
    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        plain = [_change(given, error_group=None) for given in settlements]
        return await self.sound.settle(plain)


class CountsLiveJobsOnly(Spoiled):
    async def count_states(self) -> dict[JobState, int]:
        found = await self.sound.count_states()
        return {state: count for state, count in found.items() if state not in FINAL}


class DropsWhatIsYoung(Spoiled):
    async def apply_retention(self, keep_days: Mapping[JobState, int], *, limit: int) -> Retained:
        return await self.sound.apply_retention(dict.fromkeys(keep_days, 0), limit=limit)
