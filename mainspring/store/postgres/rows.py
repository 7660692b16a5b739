"""From rows to records. The hot ones are built by position: the statement selects in field order.

JSON columns are text in the store, so that people can read them in psql, and bytes in the product.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

import asyncpg
import msgspec

from mainspring.domain.changes import Change
from mainspring.domain.ids import created_at
from mainspring.domain.job import (
    AttemptView,
    Backoff,
    Claimed,
    FailureGroup,
    HandlerInfo,
    Held,
    JobView,
    QueueView,
    WorkerView,
)
from mainspring.domain.outcome import LogLine
from mainspring.domain.states import AttemptState, JobState

_Item = TypeVar("_Item")

_BACKOFF = msgspec.json.Decoder(Backoff)
_QUEUES = msgspec.json.Decoder(dict[str, int])
_KINDS = msgspec.json.Decoder(tuple[str, ...])
_TREND = msgspec.json.Decoder(dict[int, int])
_HANDLER = msgspec.json.Decoder(HandlerInfo)

_CLAIMED_BACKOFF = Claimed.__struct_fields__.index("backoff")
_HELD_BACKOFF = Held.__struct_fields__.index("backoff")
_HELD_STATE = Held.__struct_fields__.index("state")

#: How far the clock that made an id may be ahead of the store's before a look-up needs two steps.
_CLOCK_SLACK = timedelta(days=1)


def claimed(row: asyncpg.Record) -> Claimed:
    """Read a row of ``claim.sql``."""
    if row[_CLAIMED_BACKOFF] is None:
        return Claimed(*row)
    fields = list(row)
    fields[_CLAIMED_BACKOFF] = backoff(row[_CLAIMED_BACKOFF])
    return Claimed(*fields)


def held(row: asyncpg.Record) -> Held:
    """Read a row of ``held_by.sql`` or ``expired.sql``."""
    fields = list(row)
    fields[_HELD_BACKOFF] = backoff(row[_HELD_BACKOFF])
    fields[_HELD_STATE] = JobState(row[_HELD_STATE])
    return Held(*fields)


def job_view(row: asyncpg.Record) -> JobView:
    """Read a row of ``get_job.sql`` or ``list_jobs.sql``; columns are named like the fields."""
    fields = dict(row)
    fields["state"] = JobState(fields["state"])
    fields["backoff"] = backoff(fields["backoff"])
    for name in ("payload", "result", "error"):
        fields[name] = as_bytes(fields[name])
    return JobView(**fields)


def failure_group(row: asyncpg.Record, buckets: int) -> FailureGroup:
    """Read a row of ``list_groups.sql``."""
    group, jobs, kind, first_at, last_at, sample_id, error, trend = row
    counts = {} if trend is None else _TREND.decode(trend)
    return FailureGroup(
        group, jobs, kind, first_at, last_at, sample_id, error.encode(),
        tuple(counts.get(number, 0) for number in range(buckets)),
    )  # fmt: skip


def attempt_view(row: asyncpg.Record) -> AttemptView:
    """Read a row of ``list_attempts.sql``."""
    job_id, attempt, state, worker_id, started_at, ended_at, reason, error = row
    return AttemptView(
        job_id, attempt, AttemptState(state), worker_id, started_at, ended_at, reason,
        as_bytes(error),
    )  # fmt: skip


def change(row: asyncpg.Record) -> Change:
    """Read a row of ``list_changes.sql``."""
    at, job_id, attempt, state, tenant, kind, queue = row
    return Change(
        at=at, job_id=job_id, attempt=attempt, state=JobState(state), tenant=tenant, kind=kind,
        queue=queue,
    )  # fmt: skip


def log_line(row: asyncpg.Record) -> LogLine:
    """Read a row of ``list_logs.sql``."""
    return LogLine(*row)


def queue_view(row: asyncpg.Record) -> QueueView:
    """Read a row of ``list_queues.sql``."""
    return QueueView(*row)


def worker_view(row: asyncpg.Record) -> WorkerView:
    """Read a row of ``list_workers.sql``."""
    fields = dict(row)
    fields["queues"] = _QUEUES.decode(fields["queues"])
    fields["kinds"] = _KINDS.decode(fields["kinds"])
    return WorkerView(**fields)


def handler_info(row: asyncpg.Record) -> HandlerInfo:
    """Read a row of ``list_handlers.sql``."""
    return _HANDLER.decode(row["info"])


def as_text(raw: bytes | None) -> str | None:
    """Return JSON bytes as the text that the store keeps."""
    return None if raw is None else raw.decode()


def as_bytes(text: str | None) -> bytes | None:
    """Return kept JSON text as bytes."""
    return None if text is None else text.encode()


def json_text(value: object) -> str:
    """Return a value as JSON text."""
    return msgspec.json.encode(value).decode()


def backoff(text: str | None) -> Backoff | None:
    """Read a kept back-off."""
    return None if text is None else _BACKOFF.decode(text)


def keepable(text: str) -> str:
    """Return text as PostgreSQL can keep it: users log NUL characters and half surrogates."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def oldest_finish(job_ids: Iterable[bytes]) -> datetime:
    """Return the instant before which none of these jobs can have finished, by their ids."""
    return created_at(min(job_ids)) - _CLOCK_SLACK


def folded(column: Sequence[_Item]) -> tuple[Sequence[_Item], _Item | None]:
    """Return a column as an array, or as an empty array and the one value all of it has."""
    first = column[0]
    if column.count(first) == len(column):
        return (), first
    return column, None


def unless_empty(column: Sequence[_Item | None]) -> Sequence[_Item | None]:
    """Return a column of optional values; an empty array when all of them are missing."""
    return () if column.count(None) == len(column) else column
