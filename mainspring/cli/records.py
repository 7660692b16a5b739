"""What machines read: one stable shape for each thing that is shown.

Instants are ISO 8601 in UTC, durations whole milliseconds, ids in their shown form; payloads and
results are the JSON that was given, digit for digit.
"""

from datetime import datetime, timedelta
from enum import Enum
from typing import Any

import msgspec

from mainspring.domain.ids import JOB, SCHEDULE, WORKER, show, show_attempt, show_job
from mainspring.domain.job import (
    AttemptView,
    Backoff,
    FailureGroup,
    HandlerInfo,
    JobView,
    Priority,
    QueueView,
    WorkerView,
)
from mainspring.domain.outcome import ErrorInfo, LogLine

Record = dict[str, Any]


def raw_json(value: bytes | None) -> msgspec.Raw | None:
    """Embed JSON text as it is."""
    return None if value is None else msgspec.Raw(value)


def error_of(error: bytes | None) -> ErrorInfo | None:
    """Return a stored error, or nothing."""
    if error is None:
        return None
    try:
        return msgspec.json.decode(error, type=ErrorInfo)
    except msgspec.DecodeError:
        # Written by another version: show the text rather than nothing.
        return ErrorInfo("Error", error.decode("utf-8", "replace"))


def record_of(document: msgspec.Struct) -> Record:
    """Return a document of the wire as the members that it has."""
    return {name: _plain(getattr(document, name)) for name in document.__struct_fields__}


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return record_of(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.value if isinstance(value, Enum) else value


def _error(error: bytes | None) -> Record | None:
    found = error_of(error)
    if found is None:
        return None
    return {
        "type": found.type,
        "message": found.message,
        "where": found.where,
        "traceback": found.traceback,
    }


def _backoff(backoff: Backoff | None) -> Record | None:
    return None if backoff is None else msgspec.structs.asdict(backoff)


def milliseconds_between(start: datetime | None, end: datetime | None) -> int | None:
    """Return the whole milliseconds between two instants, where both are known."""
    if start is None or end is None:
        return None
    return max(0, (end - start) // timedelta(milliseconds=1))


def job_record(job: JobView) -> Record:
    """Return a job."""
    progress = None
    if job.progress_done is not None:
        progress = {
            "done": job.progress_done,
            "total": job.progress_total,
            "note": job.progress_note or "",
        }
    return {
        "id": show_job(job.id),
        "kind": job.kind,
        "state": job.state.value,
        "tenant": job.tenant,
        "queue": job.queue,
        "priority": Priority(job.priority).name.lower(),
        "attempt": job.attempt,
        "tries": job.tries,
        "max_attempts": job.max_attempts,
        "crashes": job.crashes,
        "max_crashes": job.max_crashes,
        "replays": job.replays,
        "schedule_id": None if job.schedule_id is None else show(SCHEDULE, job.schedule_id),
        "nominal_at": job.nominal_at,
        "reason": job.reason,
        "blocked_reason": job.blocked_reason,
        "created_at": job.created_at,
        "due_at": job.due_at,
        "started_at": job.started_at,
        "deadline_at": job.deadline_at,
        "finished_at": job.finished_at,
        "timeout_ms": job.timeout_ms,
        "backoff": _backoff(job.backoff),
        "on_exhausted": job.on_exhausted,
        "effect_key": job.effect_key,
        "submission_key": job.submission_key,
        "worker_id": None if job.worker_id is None else show(WORKER, job.worker_id),
        "progress": progress,
        "payload": raw_json(job.payload),
        "payload_ref": job.payload_ref,
        "result": raw_json(job.result),
        "result_ref": job.result_ref,
        "error": _error(job.error),
        "group": job.error_group,
    }


def group_record(group: FailureGroup) -> Record:
    """Return a group of failures."""
    return {
        "group": group.group,
        "jobs": group.jobs,
        "kind": group.kind,
        "first_at": group.first_at,
        "last_at": group.last_at,
        "sample_id": show_job(group.sample_id),
        "error": _error(group.error),
        "trend": list(group.trend),
    }


def attempt_record(attempt: AttemptView) -> Record:
    """Return one attempt."""
    return {
        "id": show_attempt(attempt.job_id, attempt.attempt),
        "attempt": attempt.attempt,
        "state": attempt.state.value,
        "worker_id": None if attempt.worker_id is None else show(WORKER, attempt.worker_id),
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at,
        "duration_ms": milliseconds_between(attempt.started_at, attempt.ended_at),
        "reason": attempt.reason,
        "error": _error(attempt.error),
    }


def log_record(line: LogLine) -> Record:
    """Return one line of a handler's log."""
    return {
        "job_id": show(JOB, line.job_id),
        "attempt": line.attempt,
        "sequence": line.sequence,
        "at": line.at,
        "level": line.level,
        "message": line.message,
        "fields": msgspec.Raw(line.fields.encode()) if line.fields else {},
    }


def queue_record(queue: QueueView) -> Record:
    """Return a queue."""
    return {"paused": queue.paused_at is not None, **msgspec.structs.asdict(queue)}


def worker_record(worker: WorkerView) -> Record:
    """Return a worker session."""
    return msgspec.structs.asdict(worker) | {"id": show(WORKER, worker.id)}


def handler_record(handler: HandlerInfo) -> Record:
    """Return a declared kind."""
    return msgspec.structs.asdict(handler) | {
        "priority": Priority(handler.priority).name.lower(),
        "backoff": _backoff(handler.backoff),
        "schema": msgspec.Raw(handler.schema.encode()),
    }
