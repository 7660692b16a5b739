"""Submissions inside a transaction of the caller's: the front desk without a store of its own.

The same checks and the same answers as at the front desk; only that what was accepted here is
there if and only if the caller commits.
"""

from collections.abc import Callable, Sequence

from mainspring.domain.errors import MainspringError, UnknownKind, with_index
from mainspring.domain.job import NewJob
from mainspring.ports.gateway import Accepted, Submission
from mainspring.ports.guest import Guest, Queries
from mainspring.registry.acceptance import accepted, check_count
from mainspring.registry.validate import Forms


def checked_jobs(
    wanted: Sequence[Submission], new_id: Callable[[], bytes], payload_bytes: int
) -> list[NewJob]:
    """Return the jobs to insert, or raise the error that names the bad submission."""
    check_count(wanted)
    forms = Forms({}, new_id, payload_bytes)
    jobs: list[NewJob] = []
    for index, item in enumerate(wanted):
        try:
            if not item.kind_is_known:
                # Which kinds there are is known to the store, and that is not asked here.
                raise UnknownKind(
                    f"the kind {item.kind!r} was given by its name",
                    hint="in a transaction, submit by the handler: job.using(...).submit(...)",
                )
            jobs.append(forms.job(item))
        except MainspringError as error:
            raise with_index(error, index, len(wanted)) from None
    return jobs


def submit(guest: Guest, jobs: Sequence[NewJob]) -> Queries[list[Accepted]]:
    """Insert the jobs and return what their submitters are told."""
    receipts = yield from guest.submit(jobs)
    return accepted(jobs, receipts)
