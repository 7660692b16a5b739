"""Notices: the delivery jobs that tell endpoints of a verdict.

A notice names its endpoint and holds what is told, thin; it never holds a secret. Its effect key,
which the receiver gets as ``webhook-id``, follows from what it tells: whoever judges an attempt
once more makes a notice of the same key.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec

from mainspring.domain.ids import SCHEDULE, WEBHOOK, show, show_job
from mainspring.domain.job import Claimed, Held, NewJob, Priority, Settlement
from mainspring.domain.limits import PAYLOAD_BYTES_MAX
from mainspring.domain.outcome import ErrorInfo
from mainspring.domain.states import AttemptState, JobState
from mainspring.domain.webhooks import (
    DELIVERY_ATTEMPTS,
    DELIVERY_SECONDS_MAX,
    KIND,
    QUEUE,
    Event,
    Listener,
    Message,
)
from mainspring.policies.listening import Listeners, Subject

_MESSAGE_CHARACTERS_MAX: Final = 1_000
#: Resolving a name, connecting, waiting and keeping the books; the call itself has its own limit.
_TIMEOUT_MS: Final = (DELIVERY_SECONDS_MAX + 15) * 1_000
_CRASHES_MAX: Final = 20
_FAILURES: Final = frozenset({AttemptState.FAILED, AttemptState.TIMED_OUT, AttemptState.LOST})
_AGAIN: Final = frozenset({JobState.RETRYING, JobState.READY, JobState.SCHEDULED})
_error: Final = msgspec.json.Decoder(ErrorInfo)


def delivery(
    message: Message, *, job_id: bytes, tenant: str, effect_key: str, delay_ms: int | None = None
) -> NewJob:
    """Return the job that delivers a message."""
    payload = msgspec.json.encode(message)
    assert len(payload) < PAYLOAD_BYTES_MAX
    return NewJob(
        id=job_id,
        kind=KIND,
        payload=payload,
        tenant=tenant,
        queue=QUEUE,
        priority=Priority.NORMAL,
        delay_ms=delay_ms,
        max_attempts=DELIVERY_ATTEMPTS,
        max_crashes=_CRASHES_MAX,
        timeout_ms=_TIMEOUT_MS,
        effect_key=effect_key,
    )


def event_of(settlement: Settlement) -> Event | None:
    """Return what there is to tell of a verdict; snoozes, hand-backs and cancels are no news."""
    if settlement.becomes is JobState.SUCCEEDED:
        return Event.JOB_SUCCEEDED
    if settlement.becomes is JobState.DEAD:
        return Event.JOB_DEAD
    if settlement.becomes in _AGAIN and settlement.attempt_state in _FAILURES:
        return Event.JOB_FAILED
    return None


def with_notices(
    settlement: Settlement,
    job: Claimed | Held,
    listeners: Listeners,
    new_id: Callable[[], bytes],
) -> Settlement:
    """Return a settlement with a notice for everybody who is to be told of it.

    A delivery tells nobody of itself: that would go on for ever.
    """
    event = event_of(settlement)
    if event is None or job.kind == KIND:
        return settlement
    subject = Subject(job.tenant, job.kind, job.queue, job.job_id, job.schedule_id)
    found = listeners.of(event, subject)
    if not found:
        return settlement
    info = _about_job(settlement, job)
    what = f"{show_job(job.job_id)}_{job.attempt}_{event.value.replace('.', '_')}"
    notices = tuple(_notice(each, event, info, what, new_id()) for each in found)
    return msgspec.structs.replace(settlement, notices=notices)


def _notice(
    listener: Listener, event: Event, info: dict[str, Any], what: str, job_id: bytes
) -> NewJob:
    endpoint = show(WEBHOOK, listener.id)
    return delivery(
        Message(endpoint=endpoint, event=event, info=info),
        job_id=job_id,
        tenant=listener.tenant,
        effect_key=f"{what}_{endpoint}",
    )


def _about_job(settlement: Settlement, job: Claimed | Held) -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": show_job(job.job_id),
        "kind": job.kind,
        "queue": job.queue,
        "tenant": job.tenant,
        "state": settlement.becomes.value,
        "attempt": job.attempt,
        "attempt_state": settlement.attempt_state.value,
        "tries": job.tries,
        "max_attempts": job.max_attempts,
    }
    if job.schedule_id is not None:
        told["schedule_id"] = show(SCHEDULE, job.schedule_id)
    if settlement.reason is not None:
        told["reason"] = settlement.reason[:_MESSAGE_CHARACTERS_MAX]
    if settlement.error is not None:
        error = _error.decode(settlement.error)
        # No traceback: it is asked for by those who may see it.
        told["error"] = {"type": error.type, "message": error.message[:_MESSAGE_CHARACTERS_MAX]}
    if settlement.becomes in _AGAIN:
        told["retry_in_seconds"] = settlement.delay_ms / 1_000
    return {"job": told}


class Misfire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Fires that were missed, and what became of them: a row of the ledger, or some alike."""

    outcome: str
    nominal_at: datetime
    through: datetime | None = None
    count: int | None = None
    job_id: str | None = None


def misfire_notices(
    listeners: Listeners,
    subject: Subject,
    schedule: str,
    misfires: list[Misfire],
    new_id: Callable[[], bytes],
) -> tuple[NewJob, ...]:
    """Return a notice for everybody who is to be told that a schedule missed fires."""
    assert subject.schedule_id is not None
    found = listeners.of(Event.SCHEDULE_MISFIRED, subject)
    if not found or not misfires:
        return ()
    shown = show(SCHEDULE, subject.schedule_id)
    about = {"id": shown, "name": schedule, "tenant": subject.tenant, "kind": subject.kind}
    listed = msgspec.to_builtins(misfires[:_LISTED_MAX], builtin_types=(datetime,))
    info = {"schedule": about, "fires": listed, "is_cut": len(misfires) > _LISTED_MAX}
    first = misfires[0]
    instant = int(first.nominal_at.timestamp())
    what = f"{shown}_{instant}_{first.outcome}_schedule_misfired"
    return tuple(_notice(each, Event.SCHEDULE_MISFIRED, info, what, new_id()) for each in found)


#: In one notice; the ledger has them all.
_LISTED_MAX: Final = 20
