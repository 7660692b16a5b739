"""The state machine as data: the one table that SQL, documentation and tests are checked against.

``due`` is an event without a write: a ``scheduled`` or ``retrying`` row whose ``due_at`` has
passed *is* ready, and is shown so (``effective_state``). Nothing has to be promoted at midnight.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple


class JobState(StrEnum):
    """Where a job stands. The last five are final."""

    BLOCKED = "blocked"
    SCHEDULED = "scheduled"
    READY = "ready"
    RUNNING = "running"
    RETRYING = "retrying"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    SKIPPED = "skipped"


class AttemptState(StrEnum):
    """How one execution of a job stands. All but ``running`` are closed."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    LOST = "lost"
    CANCELLED = "cancelled"
    RELEASED = "released"


class Transition(NamedTuple):
    """One allowed change of a job's state, and the event that makes it."""

    before: JobState | None
    event: str
    after: JobState


_S = JobState

TRANSITIONS: Final[tuple[Transition, ...]] = (
    Transition(None, "submit", _S.READY),
    Transition(None, "submit_for_later", _S.SCHEDULED),
    Transition(None, "submit_waiting", _S.BLOCKED),
    Transition(None, "skip", _S.SKIPPED),
    Transition(_S.BLOCKED, "release", _S.READY),
    Transition(_S.BLOCKED, "release_for_later", _S.SCHEDULED),
    Transition(_S.BLOCKED, "skip", _S.SKIPPED),
    Transition(_S.BLOCKED, "cancel", _S.CANCELLED),
    Transition(_S.BLOCKED, "expire", _S.EXPIRED),
    Transition(_S.SCHEDULED, "due", _S.READY),
    Transition(_S.SCHEDULED, "claim", _S.RUNNING),
    Transition(_S.SCHEDULED, "block", _S.BLOCKED),
    Transition(_S.SCHEDULED, "skip", _S.SKIPPED),
    Transition(_S.SCHEDULED, "cancel", _S.CANCELLED),
    Transition(_S.SCHEDULED, "expire", _S.EXPIRED),
    Transition(_S.READY, "claim", _S.RUNNING),
    Transition(_S.READY, "block", _S.BLOCKED),
    Transition(_S.READY, "skip", _S.SKIPPED),
    Transition(_S.READY, "cancel", _S.CANCELLED),
    Transition(_S.READY, "expire", _S.EXPIRED),
    Transition(_S.RUNNING, "succeed", _S.SUCCEEDED),
    Transition(_S.RUNNING, "fail", _S.RETRYING),
    Transition(_S.RUNNING, "give_up", _S.DEAD),
    Transition(_S.RUNNING, "lose", _S.READY),
    Transition(_S.RUNNING, "hand_back", _S.READY),
    Transition(_S.RUNNING, "snooze", _S.SCHEDULED),
    Transition(_S.RUNNING, "cancel", _S.CANCELLING),
    Transition(_S.RUNNING, "force_cancel", _S.CANCELLED),
    Transition(_S.CANCELLING, "succeed", _S.SUCCEEDED),
    Transition(_S.CANCELLING, "stop", _S.CANCELLED),
    Transition(_S.CANCELLING, "give_up", _S.DEAD),
    Transition(_S.CANCELLING, "force_cancel", _S.CANCELLED),
    Transition(_S.RETRYING, "due", _S.READY),
    Transition(_S.RETRYING, "claim", _S.RUNNING),
    Transition(_S.RETRYING, "retry_now", _S.READY),
    Transition(_S.RETRYING, "cancel", _S.CANCELLED),
    Transition(_S.RETRYING, "expire", _S.EXPIRED),
    Transition(_S.SCHEDULED, "run_now", _S.READY),
    Transition(_S.SCHEDULED, "replace", _S.READY),
    Transition(_S.READY, "replace", _S.SCHEDULED),
    Transition(_S.DEAD, "replay", _S.READY),
)

FINAL: Final = frozenset({_S.SUCCEEDED, _S.DEAD, _S.CANCELLED, _S.EXPIRED, _S.SKIPPED})
LIVE: Final = frozenset(JobState) - FINAL
#: States that a claim may pick from, once ``due_at`` has passed.
CLAIMABLE: Final = frozenset({_S.SCHEDULED, _S.READY, _S.RETRYING})
#: States in which a worker holds the job; exactly these rows name a worker.
HELD: Final = frozenset({_S.RUNNING, _S.CANCELLING})
CLOSED_ATTEMPTS: Final = frozenset(AttemptState) - {AttemptState.RUNNING}

#: What people ask for: each state, names for several of them, and words of other schedulers.
STATE_WORDS: Final[Mapping[str, frozenset[JobState]]] = {
    **{state.value: frozenset({state}) for state in JobState},
    "live": LIVE,
    "final": FINAL,
    "failed": frozenset({_S.RETRYING, _S.DEAD}),
    "pending": frozenset({_S.SCHEDULED, _S.READY, _S.RETRYING}),
    "claimed": frozenset({_S.RUNNING}),
    "done": frozenset({_S.SUCCEEDED}),
    "completed": frozenset({_S.SUCCEEDED}),
    "success": frozenset({_S.SUCCEEDED}),
}

ALLOWED: Final = frozenset((step.before, step.after) for step in TRANSITIONS)


def may_become(before: JobState | None, after: JobState) -> bool:
    """Tell whether the table allows this change (``before=None``: a job that comes to be)."""
    return (before, after) in ALLOWED


def effective_state(stored: JobState, due_at: datetime, now: datetime) -> JobState:
    """Return the state that people see: a waiting row that has fallen due is ready."""
    if stored in CLAIMABLE and due_at <= now:
        return JobState.READY
    return stored


def mermaid() -> str:
    """Return the state diagram of the documentation, drawn from the table."""
    lines = ["stateDiagram-v2"]
    for step in TRANSITIONS:
        before = step.before.value if step.before else "[*]"
        lines.append(f"    {before} --> {step.after.value}: {step.event}")
    lines += [f"    {state.value} --> [*]" for state in sorted(FINAL)]
    return "\n".join(lines)
