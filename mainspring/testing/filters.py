"""What a filter means, in plain words: the stores' lists and the search are compared with it."""

from datetime import datetime

from mainspring.domain.job import JobFilter, JobView


def admits(wanted: JobFilter, job: JobView) -> bool:
    """Tell whether a job, as it was seen, is one that the filter means."""
    by_finish = wanted.finished_after is not None or wanted.finished_before is not None
    if by_finish and job.finished_at is None:
        return False
    return (
        (not wanted.states or job.state in wanted.states)
        and (not wanted.kinds or job.kind in wanted.kinds)
        and (not wanted.queues or job.queue in wanted.queues)
        and (not wanted.groups or job.error_group in wanted.groups)
        and wanted.tenant in (None, job.tenant)
        and _is_in(job.created_at, wanted.created_after, wanted.created_before)
        and (wanted.id_from is None or wanted.id_from <= job.id)
        and (wanted.id_before is None or job.id < wanted.id_before)
        and (
            job.finished_at is None
            or _is_in(job.finished_at, wanted.finished_after, wanted.finished_before)
        )
    )


def _is_in(at: datetime, first: datetime | None, after: datetime | None) -> bool:
    return (first is None or first <= at) and (after is None or at < after)
