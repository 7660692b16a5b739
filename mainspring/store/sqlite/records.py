"""Rows as they leave the database, and the records that they become."""

from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from mainspring.domain.job import Backoff, Claimed, FailureGroup, Held, JobView
from mainspring.domain.states import JobState, effective_state
from mainspring.store.sqlite.instants import from_us, from_us_or_none
from mainspring.store.sqlite.packing import raw
from mainspring.store.sqlite.unit import Row

_backoffs: Final = msgspec.json.Decoder(Backoff)
_trends: Final = msgspec.json.Decoder(dict[int, int])
_encoder: Final = msgspec.json.Encoder()


def backoff_text(backoff: Backoff | None) -> str | None:
    """Return a back-off as kept."""
    return None if backoff is None else _encoder.encode(backoff).decode()


def backoff_of(kept: str | None) -> Backoff | None:
    """Return a kept back-off."""
    return None if kept is None else _backoffs.decode(kept)


class PickedRow(msgspec.Struct, array_like=True, frozen=True):
    """What ``pick_jobs`` answers of a job."""

    id: str
    attempt: int
    kind: str
    tenant: str
    payload: str
    payload_ref: str | None
    tries: int
    crashes: int
    max_attempts: int
    max_crashes: int
    backoff: str | None
    timeout_ms: int
    due_at: int
    effect_key: str | None
    on_exhausted: str | None
    created_at: int
    #: In hexadecimal; empty where it is the job of no fire.
    schedule_id: str
    nominal_at: int | None

    def claimed(self, queue: str, priority: int, started_at: datetime, grace_ms: int) -> Claimed:
        """Return the job as it is after ``start_jobs``."""
        return Claimed(
            job_id=bytes.fromhex(self.id),
            attempt=self.attempt + 1,
            kind=self.kind,
            queue=queue,
            tenant=self.tenant,
            priority=priority,
            payload=self.payload.encode(),
            payload_ref=self.payload_ref,
            tries=self.tries + 1,
            crashes=self.crashes + 1,
            max_attempts=self.max_attempts,
            max_crashes=self.max_crashes,
            backoff=backoff_of(self.backoff),
            timeout_ms=self.timeout_ms,
            due_at=from_us(self.due_at),
            started_at=started_at,
            deadline_at=started_at + timedelta(milliseconds=self.timeout_ms + grace_ms),
            effect_key=self.effect_key,
            on_exhausted=self.on_exhausted,
            created_at=from_us(self.created_at),
            schedule_id=bytes.fromhex(self.schedule_id) or None,
            nominal_at=from_us_or_none(self.nominal_at),
        )


class HeldRow(msgspec.Struct, array_like=True, frozen=True):
    """What ``list_orphans``, ``list_overdue`` and ``list_held`` answer of a job."""

    id: str
    attempt: int
    kind: str
    tenant: str
    queue: str
    state: JobState
    tries: int
    crashes: int
    max_attempts: int
    max_crashes: int
    backoff: str | None
    timeout_ms: int
    on_exhausted: str | None
    payload: str
    payload_ref: str | None
    #: Empty: it is of none.
    schedule_id: str
    #: Told by ``list_held``: the attempt has used up its timeout.
    is_overtime: int = 0

    def held(self, cause: str) -> Held:
        """Return the attempt, with the reason why somebody asks."""
        return Held(
            job_id=bytes.fromhex(self.id),
            attempt=self.attempt,
            kind=self.kind,
            tenant=self.tenant,
            queue=self.queue,
            state=self.state,
            tries=self.tries,
            crashes=self.crashes,
            max_attempts=self.max_attempts,
            max_crashes=self.max_crashes,
            backoff=backoff_of(self.backoff),
            timeout_ms=self.timeout_ms,
            on_exhausted=self.on_exhausted,
            payload=self.payload.encode(),
            payload_ref=self.payload_ref,
            cause=cause,
            schedule_id=bytes.fromhex(self.schedule_id) or None,
        )


picked_rows: Final = msgspec.json.Decoder(list[PickedRow])
held_rows: Final = msgspec.json.Decoder(list[HeldRow])

#: The columns of ``get_live``, ``get_final`` and the lists, in order.
_VIEW_COLUMNS: Final = (
    "id",
    "kind",
    "tenant",
    "queue",
    "priority",
    "state",
    "due_at",
    "created_at",
    "attempt",
    "tries",
    "crashes",
    "max_attempts",
    "max_crashes",
    "timeout_ms",
    "payload",
    "payload_ref",
    "backoff",
    "reason",
    "blocked_reason",
    "worker_id",
    "started_at",
    "deadline_at",
    "finished_at",
    "result",
    "result_ref",
    "error",
    "error_group",
    "effect_key",
    "submission_key",
    "unique_key",
    "unique_while",
    "on_exhausted",
    "replays",
    "progress_done",
    "progress_total",
    "progress_note",
    "schedule_id",
    "nominal_at",
)


def job_view(row: Row, now_us: int) -> JobView:
    """Return a job as people see it."""
    values: dict[str, Any] = dict(zip(_VIEW_COLUMNS, row, strict=True))
    due_at = from_us(values["due_at"])
    return JobView(
        **values
        | {
            "state": effective_state(JobState(values["state"]), due_at, from_us(now_us)),
            "due_at": due_at,
            "created_at": from_us(values["created_at"]),
            "payload": values["payload"].encode(),
            "backoff": backoff_of(values["backoff"]),
            "started_at": from_us_or_none(values["started_at"]),
            "deadline_at": from_us_or_none(values["deadline_at"]),
            "finished_at": from_us_or_none(values["finished_at"]),
            "nominal_at": from_us_or_none(values["nominal_at"]),
            "result": raw(values["result"]),
            "error": raw(values["error"]),
        }
    )


def failure_group(row: Row, buckets: int) -> FailureGroup:
    """Return a row of ``list_groups``."""
    group, jobs, kind, first_us, last_us, sample_id, error, trend = row
    counts = _trends.decode(trend)
    return FailureGroup(
        group=group,
        jobs=jobs,
        kind=kind,
        first_at=from_us(first_us),
        last_at=from_us(last_us),
        sample_id=sample_id,
        error=error.encode(),
        trend=tuple(counts.get(number, 0) for number in range(buckets)),
    )
