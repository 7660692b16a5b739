"""Names and bounds of time partitions: pure arithmetic on UTC days.

A partition is called like its parent and the day on which it begins, ``attempts_20261116``; the
name alone tells its bounds.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Final, NamedTuple

from mainspring.domain.states import FINAL, JobState


class Span(Enum):
    """How much time one partition covers."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class Parent(NamedTuple):
    """A table that is partitioned by time."""

    name: str
    time_column: str
    span: Span
    #: The state of the jobs in it; ``None`` for tables that are no history of jobs.
    state: JobState | None = None


class Partition(NamedTuple):
    """One partition: what it is called and what it covers, ``begins_at <= t < ends_at``."""

    parent: Parent
    name: str
    begins_at: datetime
    ends_at: datetime


def _history(state: JobState) -> Parent:
    # Dead letters are few and kept long; everything else is many and dropped soon.
    span = Span.WEEK if state is JobState.DEAD else Span.DAY
    return Parent(f"jobs_history_{state.value}", "finished_at", span, state)


HISTORY: Final = tuple(_history(state) for state in sorted(FINAL))
ATTEMPTS: Final = Parent("attempts", "ended_at", Span.WEEK)
JOB_LOGS: Final = Parent("job_logs", "at", Span.WEEK)
AUDIT: Final = Parent("audit", "at", Span.MONTH)
PARENTS: Final = (*HISTORY, ATTEMPTS, JOB_LOGS, AUDIT)


def covering(parent: Parent, instant: datetime) -> Partition:
    """Return the partition that an instant falls into."""
    day = instant.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if parent.span is Span.WEEK:
        day -= timedelta(days=day.weekday())
    elif parent.span is Span.MONTH:
        day = day.replace(day=1)
    return _beginning(parent, day)


def wanted(now: datetime, days_ahead: int) -> Iterator[Partition]:
    """Return every partition needed from now until so many days ahead."""
    until = now + timedelta(days=days_ahead)
    for parent in PARENTS:
        partition = covering(parent, now)
        while partition.begins_at <= until:
            yield partition
            partition = _beginning(parent, partition.ends_at)


def named(parent: Parent, name: str) -> Partition | None:
    """Read a partition's bounds off its name; ``None`` for one that is not ours (the default)."""
    suffix = name.removeprefix(f"{parent.name}_")
    try:
        day = datetime.strptime(suffix, "%Y%m%d").replace(tzinfo=UTC)
    except ValueError:
        return None
    return _beginning(parent, day)


def _beginning(parent: Parent, day: datetime) -> Partition:
    match parent.span:
        case Span.DAY:
            ends_at = day + timedelta(days=1)
        case Span.WEEK:
            ends_at = day + timedelta(days=7)
        case _:
            ends_at = (day + timedelta(days=31)).replace(day=1)
    return Partition(parent, f"{parent.name}_{day:%Y%m%d}", day, ends_at)
