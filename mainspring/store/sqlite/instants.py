"""Instants as SQLite keeps them: integers of microseconds since 1970 in UTC, without any float."""

from datetime import UTC, datetime, timedelta
from typing import Final

from mainspring.domain.job import NewJob

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
HOUR_US: Final = 3_600_000_000
DAY_US: Final = 24 * HOUR_US


def to_us(instant: datetime) -> int:
    """Return an aware instant as microseconds."""
    return (instant - _EPOCH) // _MICROSECOND


def from_us(count_us: int) -> datetime:
    """Return the aware instant in UTC."""
    return _EPOCH + timedelta(microseconds=count_us)


def from_us_or_none(count_us: int | None) -> datetime | None:
    """Return the instant, if there is one."""
    return None if count_us is None else from_us(count_us)


def due_us(job: NewJob, now_us: int) -> int:
    """Return when a new job is due."""
    if job.due_at is not None:
        return to_us(job.due_at)
    return now_us + (job.delay_ms or 0) * 1_000
