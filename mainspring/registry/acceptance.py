"""What happens around an insert, on the store's own connections and on a caller's alike."""

import hashlib
from collections.abc import Sequence

import msgspec

from mainspring.domain.errors import (
    DuplicateJob,
    LimitReached,
    MainspringError,
    SubmissionKeyReused,
    with_index,
)
from mainspring.domain.ids import created_at, show_job
from mainspring.domain.job import NewJob, Receipt
from mainspring.domain.limits import SUBMIT_JOBS_MAX
from mainspring.ports.blobs import BlobStore
from mainspring.ports.gateway import Accepted, Submission


def check_count(wanted: Sequence[Submission]) -> None:
    """Refuse more submissions than one call may bring."""
    if len(wanted) > SUBMIT_JOBS_MAX:
        raise LimitReached(
            f"{len(wanted):,} submissions at once, the limit is {SUBMIT_JOBS_MAX:,}",
            hint="send them in several calls",
        )


async def offloaded(job: NewJob, blobs: BlobStore, inline_bytes: int) -> NewJob:
    """Return the job with a large payload put into the object store, before any row names it."""
    if len(job.payload) <= inline_bytes:
        return job
    day = created_at(job.id).date().isoformat()
    # The digest keeps a repeated id with another body from damaging the first one's object.
    digest = hashlib.sha256(job.payload).hexdigest()[:16]
    reference = await blobs.put(
        f"payload/{job.tenant}/{day}/{show_job(job.id)}-{digest}", job.payload
    )
    return msgspec.structs.replace(job, payload=b"{}", payload_ref=reference)


def accepted(jobs: Sequence[NewJob], receipts: Sequence[Receipt]) -> list[Accepted]:
    """Return the answers to submitters, or raise for the first that was refused."""
    for index, receipt in enumerate(receipts):
        if receipt.conflict or receipt.duplicate:
            raise _refused(index, jobs, receipts)
    return [Accepted(item.job_id, item.created, item.replaced) for item in receipts]


def _refused(index: int, jobs: Sequence[NewJob], receipts: Sequence[Receipt]) -> MainspringError:
    """Return the error for the first refused job; its details name what was accepted beside it."""
    first = show_job(receipts[index].job_id)
    details: dict[str, object] = {
        "job_id": first,
        "accepted": [
            None if item.conflict or item.duplicate else show_job(item.job_id) for item in receipts
        ],
    }
    if receipts[index].duplicate:
        key = jobs[index].unique_key
        message = f"the unique key {key!r} is held by {first}"
        error: MainspringError = DuplicateJob(message, details=details | {"key": key})
    else:
        key = jobs[index].submission_key
        message = f"the key {key!r} was used for {first}, with another body"
        error = SubmissionKeyReused(message, details=details | {"key": key})
    return with_index(error, index, len(jobs))


def unused(jobs: Sequence[NewJob], receipts: Sequence[Receipt]) -> list[str]:
    """Return references that no row names after this call.

    A submission that is repeated finds in the job that it replaces what it has put there itself:
    that is in use.
    """
    references: list[str | None] = []
    named: dict[bytes, str | None] = {}
    for job, receipt in zip(jobs, receipts, strict=True):
        references.append(receipt.unused_ref)
        if receipt.replaced or receipt.job_id == job.id:
            named[receipt.job_id] = job.payload_ref
        else:
            references.append(job.payload_ref)
    in_use = set(named.values())
    return [
        reference for reference in references if reference is not None and reference not in in_use
    ]
