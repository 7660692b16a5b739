"""Why a job is not running: the causes that can be seen in the facts, the decisive one first.

The command line, and whoever else is asked, answer from here; nothing is guessed.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from mainspring.domain.ids import show_job
from mainspring.domain.job import JobView, QueueView, WorkerView
from mainspring.domain.states import CLAIMABLE, FINAL, HELD, JobState


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a job and its surroundings at one moment."""

    job: JobView
    now: datetime
    queue: QueueView | None = None
    workers: Sequence[WorkerView] = ()
    #: Ready jobs of the same queue that a claim would take before this one.
    ahead: int = 0
    #: Counting stopped there; more may be ahead.
    ahead_is_least: bool = False


class Why(msgspec.Struct, frozen=True):
    """One cause: a stable code, a sentence about the job, and what to type next, if anything."""

    code: str
    sentence: str
    hint: str = ""


def why(situation: Situation) -> list[Why]:
    """Return why the job is where it is; what would hold it up after that comes after it."""
    job = situation.job
    if job.state in FINAL:
        return [_ended(job)]
    if job.state in HELD:
        return [_held(situation)]
    if job.state is JobState.BLOCKED:
        return [Why("blocked", f"is blocked: {job.blocked_reason or 'no reason is known'}")]
    assert job.state in CLAIMABLE
    causes = [_not_due(job, situation.now)] if job.due_at > situation.now else []
    return [*causes, *_not_claimed(situation, is_due=not causes)]


def _ended(job: JobView) -> Why:
    name = show_job(job.id)
    reason = f" ({job.reason})" if job.reason else ""
    if job.state is JobState.DEAD:
        return Why(
            "dead",
            f"is dead{reason}: it rests until it is replayed",
            f"mainspring dlq get {name}",
        )
    return Why(job.state.value, f"has ended: {job.state.value}{reason}")


def _held(situation: Situation) -> Why:
    job = situation.job
    holder = next((item for item in situation.workers if item.id == job.worker_id), None)
    since = f" for {_rough(situation.now - job.started_at)}" if job.started_at else ""
    by = f" on the worker {holder.name}" if holder is not None else ""
    if holder is None or not _is_up(holder, situation.now):
        return Why(
            "worker_lost",
            f"was running{by}, which is lost; it goes back to the queue as soon as any worker "
            "or maintenance looks",
            "mainspring workers ls",
        )
    if job.state is JobState.CANCELLING:
        return Why("cancelling", f"is being stopped{by}; its handler has not ended yet")
    name = show_job(job.id)
    return Why("running", f"is running{since}{by}", f"mainspring jobs watch {name} --follow")


def _not_due(job: JobView, now: datetime) -> Why:
    at = f"due in {_rough(job.due_at - now)}, at {job.due_at:%Y-%m-%d %H:%M:%S} UTC"
    hint = f"mainspring jobs retry {show_job(job.id)}"
    if job.state is JobState.RETRYING:
        reason = f"try {job.tries} of {job.max_attempts} failed"
        return Why("retry_later", f"waits for its next try: {reason}; {at}", hint)
    return Why("due_later", f"is {at}", hint)


def _not_claimed(situation: Situation, *, is_due: bool) -> list[Why]:
    """Return what keeps a job from being claimed once it is due."""
    job, queue = situation.job, situation.queue
    if queue is not None and queue.paused_at is not None:
        reason = f" ({queue.paused_reason})" if queue.paused_reason else ""
        cause = Why(
            "queue_paused",
            f"waits because its queue {job.queue} is paused{reason}",
            f"mainspring queues resume {job.queue}",
        )
        return [cause, *_without_worker(situation)]
    missing = _without_worker(situation)
    if missing or not is_due:
        return missing
    return [_in_line(situation)]


def _without_worker(situation: Situation) -> list[Why]:
    job = situation.job
    up = [item for item in situation.workers if _is_up(item, situation.now)]
    alive = [item for item in up if item.state == "alive"]
    if not alive:
        draining = bool(up)
        more = ": those that are up are draining" if draining else ""
        return [
            Why(
                "no_worker",
                f"waits because no worker is up{more}",
                "mainspring worker start MODULE:APP",
            )
        ]
    serving = [item for item in alive if job.queue in item.queues]
    if not serving:
        return [
            Why(
                "no_worker_for_queue",
                f"waits because no worker serves its queue {job.queue} ({len(alive)} up)",
                f"mainspring worker start MODULE:APP --queues {job.queue}",
            )
        ]
    if any(job.kind in item.kinds for item in serving):
        return []
    return [
        Why(
            "no_worker_for_kind",
            f"waits because no worker of the queue {job.queue} has the kind {job.kind}",
            "start a worker whose app declares it: mainspring worker start MODULE:APP",
        )
    ]


def _in_line(situation: Situation) -> Why:
    job, queue = situation.job, situation.queue
    least = "at least " if situation.ahead_is_least else ""
    jobs = f"{least}{situation.ahead:,} job{'' if situation.ahead == 1 else 's'}"
    slots = sum(
        item.queues[job.queue]
        for item in situation.workers
        if _is_up(item, situation.now)
        and item.state == "alive"
        and job.queue in item.queues
        and job.kind in item.kinds
    )
    if queue is not None and queue.running >= slots:
        behind = f", behind {jobs}" if situation.ahead else ", and is next"
        return Why(
            "slots_busy",
            f"waits for a slot: all {slots} of the queue {job.queue} are busy{behind}",
            "raise --concurrency, or start another worker",
        )
    if situation.ahead:
        return Why("behind", f"waits behind {jobs} of the queue {job.queue}", "")
    return Why("next", "is next: a worker is about to take it", "")


def _is_up(worker: WorkerView, now: datetime) -> bool:
    """Tell whether a session holds its lease; one that ran out counts before anybody says so."""
    return worker.state in ("alive", "draining") and worker.lease_until > now


def _rough(duration: timedelta) -> str:
    seconds = max(0, int(duration / timedelta(seconds=1)))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            first, rest = divmod(seconds, size)
            part = {"d": (3_600, "h"), "h": (60, "m"), "m": (1, "s")}[unit]
            more = rest // part[0]
            return f"{first}{unit} {more}{part[1]}" if more else f"{first}{unit}"
    return f"{seconds}s"
