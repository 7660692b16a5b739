"""Values with defaults: a test names only what it is about."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from mainspring.domain.job import Claimed, Held, NewJob, NewSession, Settlement
from mainspring.domain.outcome import LogLine, Outcome, Progress
from mainspring.domain.states import AttemptState, JobState
from mainspring.policies.verdict import judge
from mainspring.ports.entropy import new_job_id, new_worker_id
from mainspring.ports.store import ClaimAsk, Lane
from mainspring.testing.clock import BEGINNING

KIND: Final = "test.work"
#: So long that a session never ends by itself in a test that is not about sessions.
LONG_LEASE_MS: Final = 2_000_000_000

_VERSION_AND_VARIANT: Final = 7 << 76 | 0b10 << 62


def id_at(instant: datetime, number: int = 0) -> bytes:
    """Return the time-ordered id that a submitter could have made at an instant."""
    passed = (instant - datetime(1970, 1, 1, tzinfo=instant.tzinfo)) // timedelta(milliseconds=1)
    return (passed << 80 | _VERSION_AND_VARIANT | number).to_bytes(16, "big")


def ids_at(instant: datetime, count: int) -> list[bytes]:
    """Return ids of one millisecond, ascending."""
    return [id_at(instant, number) for number in range(count)]


def new_job(**changes: Any) -> NewJob:
    """Return a submission that is due at once, with a fresh id."""
    return NewJob(**{"id": new_job_id(), "kind": KIND, **changes})


def new_session(**changes: Any) -> NewSession:
    """Return a worker that asks for a session which outlasts the test."""
    given: dict[str, Any] = {
        "id": new_worker_id(),
        "name": "worker-1",
        "host": "host-1",
        "pid": 4711,
        "version": "0.1.0",
        "queues": {"default": 10},
        "kinds": (KIND,),
        "lease_ms": LONG_LEASE_MS,
    }
    return NewSession(**given | changes)


def claim_ask(worker_id: bytes, **changes: Any) -> ClaimAsk:
    """Return a claim of up to a hundred jobs of the default queue and kind."""
    given: dict[str, Any] = {
        "worker_id": worker_id,
        "child": 0,
        "lanes": (Lane("default", 100),),
        "kinds": (KIND,),
        "limit": 100,
    }
    return ClaimAsk(**given | changes)


def lanes(wants: Mapping[str, int]) -> tuple[Lane, ...]:
    """Return one lane a queue, without watermarks."""
    return tuple(Lane(queue, want) for queue, want in wants.items())


def settlement(job: Claimed | Held, **changes: Any) -> Settlement:
    """Return the plain success of an attempt, unless told otherwise."""
    given: dict[str, Any] = {
        "job_id": job.job_id,
        "attempt": job.attempt,
        "attempt_state": AttemptState.SUCCEEDED,
        "becomes": JobState.SUCCEEDED,
    }
    return Settlement(**given | changes)


def verdict(job: Claimed | Held, outcome: Outcome, **changes: Any) -> Settlement:
    """Return what the product decides about an outcome, with the dice at rest."""
    return msgspec.structs.replace(judge(job, outcome, 0.0), **changes)


def log_line(job: Claimed, sequence: int = 1, **changes: Any) -> LogLine:
    """Return one line that an attempt logged."""
    given: dict[str, Any] = {
        "job_id": job.job_id,
        "attempt": job.attempt,
        "sequence": sequence,
        "at": BEGINNING,
        "level": "info",
        "message": f"line {sequence}",
    }
    return LogLine(**given | changes)


def progress(job: Claimed, done: float, **changes: Any) -> Progress:
    """Return how far an attempt is."""
    return Progress(**{"job_id": job.job_id, "attempt": job.attempt, "done": done, **changes})
