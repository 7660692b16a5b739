"""Attempts on their way to a worker: ``Claimed`` and what belongs to it."""

from typing import Final

from mainspring.domain.errors import InvalidInput
from mainspring.domain.job import Backoff, Claimed, Priority
from mainspring.domain.schedule import Cause, FireOf, Missed
from mainspring.wire.protobuf import job_pb2
from mainspring.wire.protobuf.scalars import (
    attempt_of,
    instant,
    job_of,
    priority_of,
    priority_word,
    schedule_of,
    seconds_stamp,
    show_attempt,
    show_job,
    show_schedule,
    stamp,
    utf8,
)

#: Stands at the receiver for the reference of a payload that is to be read by its attempt.
AWAY: Final = "away"


def attempt_message(job: Claimed, *, payload_bytes_max: int | None = None) -> job_pb2.Attempt:
    """Return an attempt as it travels; a payload that is longer stays behind."""
    is_long = payload_bytes_max is not None and len(job.payload) > payload_bytes_max
    is_away = is_long or job.payload_ref is not None
    shown = show_job(job.job_id)
    made = job_pb2.Attempt(
        attempt_id=f"{shown}:{job.attempt}",
        job_id=shown,
        attempt=job.attempt,
        kind=job.kind,
        queue=job.queue,
        tenant=job.tenant,
        priority=priority_word(job.priority),  # type: ignore[arg-type]  # the enum's number
        payload_json="" if is_away else job.payload.decode("utf-8", "replace"),
        payload_is_away=is_away,
        tries=job.tries,
        crashes=job.crashes,
        max_attempts=job.max_attempts,
        max_crashes=job.max_crashes,
        timeout_ms=job.timeout_ms,
        due_at=stamp(job.due_at),
        started_at=stamp(job.started_at),
        deadline_at=stamp(job.deadline_at),
        effect_key=job.effect_key or shown,
        on_exhausted=job.on_exhausted,
        created_at=stamp(job.created_at),
        fire_is_unread=job.fire_is_unread,
    )
    if job.backoff is not None:
        made.backoff.CopyFrom(backoff_message(job.backoff))
    if job.schedule_id is not None:
        made.schedule_id = show_schedule(job.schedule_id)
    if job.nominal_at is not None:
        made.nominal_at.CopyFrom(stamp(job.nominal_at))
    if job.fire is not None:
        made.fire.CopyFrom(_fire_message(job.fire))
    return made


def claimed_of(given: job_pb2.Attempt) -> Claimed:
    """Read an attempt."""
    priority = priority_of(given.priority, "priority")
    return Claimed(
        job_id=job_of(given.job_id),
        attempt=given.attempt,
        kind=given.kind,
        queue=given.queue,
        tenant=given.tenant,
        priority=Priority.NORMAL if priority is None else priority,
        payload=b"{}" if given.payload_is_away else given.payload_json.encode(),
        payload_ref=AWAY if given.payload_is_away else None,
        tries=given.tries,
        crashes=given.crashes,
        max_attempts=given.max_attempts,
        max_crashes=given.max_crashes,
        backoff=backoff_of(given.backoff) if given.HasField("backoff") else None,
        timeout_ms=given.timeout_ms,
        due_at=instant(given.due_at, "due_at"),
        started_at=instant(given.started_at, "started_at"),
        deadline_at=instant(given.deadline_at, "deadline_at"),
        effect_key=given.effect_key,
        on_exhausted=given.on_exhausted if given.HasField("on_exhausted") else None,
        created_at=instant(given.created_at, "created_at"),
        schedule_id=schedule_of(given.schedule_id) if given.HasField("schedule_id") else None,
        nominal_at=instant(given.nominal_at, "nominal_at")
        if given.HasField("nominal_at")
        else None,
        fire=_fire_of(given.fire) if given.HasField("fire") else None,
        fire_is_unread=given.fire_is_unread,
    )


def backoff_message(backoff: Backoff) -> job_pb2.Backoff:
    """Return a back-off as it travels."""
    return job_pb2.Backoff(
        initial_ms=backoff.initial_ms,
        factor=backoff.factor,
        cap_ms=backoff.cap_ms,
        jitter=backoff.jitter,
        full_jitter=backoff.full_jitter,
    )


def backoff_of(given: job_pb2.Backoff) -> Backoff:
    """Read a back-off."""
    return Backoff(given.initial_ms, given.factor, given.cap_ms, given.jitter, given.full_jitter)


def holding_message(held: list[tuple[bytes, int]]) -> list[str]:
    """Return the names of attempts."""
    return [show_attempt(job_id, attempt) for job_id, attempt in held]


def holding_of(names: list[str]) -> list[tuple[bytes, int]]:
    """Read the names of attempts."""
    return [attempt_of(name) for name in names]


def _fire_message(fire: FireOf) -> job_pb2.Fire:
    made = job_pb2.Fire(
        schedule_id=show_schedule(fire.schedule_id),
        schedule=utf8(fire.schedule),
        nominal_at=stamp(fire.nominal_at),
        due_at=stamp(fire.due_at),
        zone=fire.zone,
        cause=fire.cause.value,
        sequence=fire.sequence,
        local=fire.local,
    )
    if fire.missed is not None:
        made.missed.CopyFrom(
            job_pb2.Missed(
                count=fire.missed.count,
                first_at=seconds_stamp(fire.missed.first_at),
                last_at=seconds_stamp(fire.missed.last_at),
                is_least=fire.missed.is_least,
            )
        )
    if fire.previous_success_at is not None:
        made.previous_success_at.CopyFrom(stamp(fire.previous_success_at))
    return made


def _fire_of(given: job_pb2.Fire) -> FireOf:
    missed = given.missed
    return FireOf(
        schedule_id=schedule_of(given.schedule_id),
        schedule=given.schedule,
        nominal_at=instant(given.nominal_at, "fire.nominal_at"),
        due_at=instant(given.due_at, "fire.due_at"),
        zone=given.zone,
        cause=_cause_of(given.cause),
        sequence=given.sequence,
        local=given.local if given.HasField("local") else None,
        missed=Missed(
            missed.count, missed.first_at.seconds, missed.last_at.seconds, missed.is_least
        )
        if given.HasField("missed")
        else None,
        previous_success_at=instant(given.previous_success_at, "fire.previous_success_at")
        if given.HasField("previous_success_at")
        else None,
    )


def _cause_of(text: str) -> Cause:
    try:
        return Cause(text)
    except ValueError:
        raise InvalidInput(f"fire.cause: there is no {text[:80]!r}") from None
