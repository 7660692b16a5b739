"""What a reported outcome means: the next state of the job, and why.

One function from facts to a ``Settlement``. It is the only place that knows when a job is retried
and when it rests as a dead letter.
"""

from typing import Final, NamedTuple, assert_never

import msgspec

from mainspring.domain.job import DEFAULT_BACKOFF, Backoff, Claimed, Held, Settlement
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
from mainspring.domain.states import AttemptState, JobState
from mainspring.policies.backoff import delay_ms
from mainspring.policies.fingerprint import group_of

#: Reasons, as stored with the attempt and the job and printed to people.
FAILED_PERMANENTLY: Final = "failed_permanently"
ATTEMPTS_EXHAUSTED: Final = "attempts_exhausted"
CRASHES_EXHAUSTED: Final = "crashes_exhausted"
FAILED: Final = "failed"
RETRY_ASKED: Final = "retry_asked"
TIMED_OUT: Final = "timed_out"
HEARTBEAT_MISSED: Final = "heartbeat_missed"
SNOOZED: Final = "snoozed"
CANCELLED: Final = "cancelled"
RELEASED: Final = "released"


class _Facts(NamedTuple):
    """What the judgement needs to know of the job; both Claimed and Held carry it."""

    tries: int
    crashes: int
    max_attempts: int
    max_crashes: int
    backoff: Backoff


_BY_INTENT: Final = {
    Snoozed: (AttemptState.RELEASED, JobState.SCHEDULED, SNOOZED),
    Cancelled: (AttemptState.CANCELLED, JobState.CANCELLED, CANCELLED),
    Released: (AttemptState.RELEASED, JobState.READY, RELEASED),
}


def judge(job: Claimed | Held, outcome: Outcome, dice: float) -> Settlement:
    """Return what the store shall do, given that the attempt of ``job`` ended in ``outcome``."""
    if isinstance(outcome, Succeeded):
        return Settlement(
            job_id=job.job_id,
            attempt=job.attempt,
            attempt_state=AttemptState.SUCCEEDED,
            becomes=JobState.SUCCEEDED,
            result=outcome.result,
        )
    facts = _Facts(
        job.tries, job.crashes, job.max_attempts, job.max_crashes, job.backoff or DEFAULT_BACKOFF
    )
    match outcome:
        case Failed():
            return _failed(job, facts, outcome, dice)
        case TimedOut():
            reason, error = _overtime(outcome)
            settled = _again_or_dead(job, facts, AttemptState.TIMED_OUT, reason, error, dice)
            return _charged(job, facts, settled, error) if outcome.took_process else settled
        case Snoozed() | Cancelled() | Released():
            return _gave_up_the_lease(job, outcome)
        case Lost(cause=cause):
            return _lost(job, facts, cause)
        case _:
            assert_never(outcome)


def _overtime(outcome: TimedOut) -> tuple[str, ErrorInfo]:
    limit_ms = outcome.timeout_ms
    if outcome.is_silence:
        words = f"the attempt showed no sign of life for {limit_ms} ms"
        return HEARTBEAT_MISSED, ErrorInfo("HeartbeatMissed", words)
    words = f"the attempt ran longer than {limit_ms} ms"
    if outcome.took_process:
        words += ", and its process had to be killed"
    return TIMED_OUT, ErrorInfo("TimedOut", words)


def _charged(
    job: Claimed | Held, facts: _Facts, settled: Settlement, error: ErrorInfo
) -> Settlement:
    """Return a settlement that keeps the charge of a crash, and ends what has used them up."""
    if facts.crashes >= facts.max_crashes:
        return _dead(job, settled.attempt_state, CRASHES_EXHAUSTED, error, refund_crash=False)
    return msgspec.structs.replace(settled, refund_crash=False)


def _gave_up_the_lease(job: Claimed | Held, outcome: Snoozed | Cancelled | Released) -> Settlement:
    """Judge an attempt that ended before the work did, by intent; it costs no try."""
    closed_as, becomes, usual = _BY_INTENT[type(outcome)]
    return Settlement(
        job_id=job.job_id,
        attempt=job.attempt,
        attempt_state=closed_as,
        becomes=becomes,
        delay_ms=outcome.delay_ms if isinstance(outcome, Snoozed) else 0,
        reason=outcome.reason or usual,
        refund_try=becomes is not JobState.CANCELLED,
    )


def _failed(job: Claimed | Held, facts: _Facts, failed: Failed, dice: float) -> Settlement:
    if failed.permanent:
        return _dead(job, AttemptState.FAILED, FAILED_PERMANENTLY, failed.error)
    if failed.retry_after_ms is None:
        return _again_or_dead(job, facts, AttemptState.FAILED, FAILED, failed.error, dice)
    if facts.tries >= facts.max_attempts:
        return _dead(job, AttemptState.FAILED, ATTEMPTS_EXHAUSTED, failed.error)
    return Settlement(
        job_id=job.job_id,
        attempt=job.attempt,
        attempt_state=AttemptState.FAILED,
        becomes=JobState.RETRYING,
        delay_ms=failed.retry_after_ms,
        reason=RETRY_ASKED,
        error=msgspec.json.encode(failed.error),
        error_group=group_of(job.kind, failed.error),
    )


def _again_or_dead(
    job: Claimed | Held,
    facts: _Facts,
    closed_as: AttemptState,
    reason: str,
    error: ErrorInfo,
    dice: float,
) -> Settlement:
    if facts.tries >= facts.max_attempts:
        return _dead(job, closed_as, ATTEMPTS_EXHAUSTED, error)
    return Settlement(
        job_id=job.job_id,
        attempt=job.attempt,
        attempt_state=closed_as,
        becomes=JobState.RETRYING,
        delay_ms=delay_ms(facts.backoff, facts.tries, dice),
        reason=reason,
        error=msgspec.json.encode(error),
        error_group=group_of(job.kind, error),
    )


def _lost(job: Claimed | Held, facts: _Facts, cause: str) -> Settlement:
    """Judge an attempt that nobody reported: run it again at once, unless it is poison.

    No back-off: a worker's death is rarely the job's fault, and the crash budget bounds the rest.
    """
    error = ErrorInfo("AttemptLost", f"the worker did not report the attempt: {cause}")
    if facts.crashes >= facts.max_crashes:
        return _dead(job, AttemptState.LOST, CRASHES_EXHAUSTED, error, refund_crash=False)
    if facts.tries >= facts.max_attempts:
        return _dead(job, AttemptState.LOST, ATTEMPTS_EXHAUSTED, error, refund_crash=False)
    return Settlement(
        job_id=job.job_id,
        attempt=job.attempt,
        attempt_state=AttemptState.LOST,
        becomes=JobState.READY,
        reason=cause,
        error=msgspec.json.encode(error),
        error_group=group_of(job.kind, error),
        refund_crash=False,
    )


def _dead(
    job: Claimed | Held,
    closed_as: AttemptState,
    reason: str,
    error: ErrorInfo,
    *,
    refund_crash: bool = True,
) -> Settlement:
    return Settlement(
        job_id=job.job_id,
        attempt=job.attempt,
        attempt_state=closed_as,
        becomes=JobState.DEAD,
        reason=reason,
        error=msgspec.json.encode(error),
        error_group=group_of(job.kind, error),
        refund_crash=refund_crash,
    )
