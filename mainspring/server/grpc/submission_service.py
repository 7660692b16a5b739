"""``mainspring.v1.SubmissionService``: work comes in."""

from typing import Any, Final

import msgspec

from mainspring.domain.access import Right
from mainspring.domain.errors import DuplicateJob, InvalidInput, LimitReached, SubmissionKeyReused
from mainspring.domain.ids import show_job
from mainspring.domain.job import DEFAULT_TENANT
from mainspring.domain.limits import SUBMIT_JOBS_MAX
from mainspring.ports.gateway import Submission
from mainspring.server.grpc.calls import Ask, Caller, Method
from mainspring.wire.protobuf import submission_pb2
from mainspring.wire.protobuf.errors import error_message
from mainspring.wire.protobuf.submissions import (
    accepted_message,
    submission_of,
    submitted_message,
)

SERVICE: Final = "mainspring.v1.SubmissionService"


async def submit(
    caller: Caller, given: submission_pb2.SubmitRequest
) -> submission_pb2.SubmitResponse:
    """Take one job."""
    if not given.HasField("job"):
        raise InvalidInput("job: it is missing", details={"field": "job"})
    [accepted] = await caller.desk.submit([_submission(caller, given.job)])
    return accepted_message(accepted)


async def submit_batch(
    caller: Caller, given: submission_pb2.SubmitBatchRequest
) -> submission_pb2.SubmitBatchResponse:
    """Take many jobs."""
    if len(given.jobs) > SUBMIT_JOBS_MAX:
        raise LimitReached(
            f"{len(given.jobs):,} submissions at once, the limit is {SUBMIT_JOBS_MAX:,}",
            hint="send them in several calls",
        )
    wanted = [_indexed(caller, job, index) for index, job in enumerate(given.jobs)]
    try:
        accepted = await caller.desk.submit(wanted)
    except (DuplicateJob, SubmissionKeyReused) as error:
        # These come after the insert: all others are in. Those that were refused are asked for
        # again, each alone, by the id that it has by now.
        named = error.details.get("accepted")
        shown: list[str | None] = named if isinstance(named, list) else [None] * len(wanted)
        results = [await _told(caller, one, name) for one, name in zip(wanted, shown, strict=True)]
    else:
        results = [submitted_message(item) for item in accepted]
    return submission_pb2.SubmitBatchResponse(results=results)


async def _told(caller: Caller, wanted: Submission, shown: str | None) -> submission_pb2.Submitted:
    """Return what became of one of several submissions, of which others were refused."""
    if shown is not None and wanted.id is not None and shown == show_job(wanted.id):
        return submission_pb2.Submitted(job_id=shown, created=True)
    return await _alone(caller, wanted)


async def _alone(caller: Caller, wanted: Submission) -> submission_pb2.Submitted:
    try:
        [accepted] = await caller.desk.submit([wanted])
    except (DuplicateJob, SubmissionKeyReused) as error:
        job_id = str(error.details.get("job_id", ""))
        return submission_pb2.Submitted(job_id=job_id, error=error_message(error))
    return submitted_message(accepted)


def _indexed(caller: Caller, job: submission_pb2.Job, index: int) -> Submission:
    try:
        wanted = _submission(caller, job)
        if wanted.id is None:
            return msgspec.structs.replace(wanted, id=caller.backroom.new_job_id())
        return wanted
    except InvalidInput as error:
        error.message = f"jobs[{index}]: {error.message}"
        error.details["index"] = index
        raise


def _submission(caller: Caller, job: submission_pb2.Job) -> Submission:
    asked = job.tenant if job.HasField("tenant") else None
    return submission_of(job, caller.principal.tenant_of(asked, DEFAULT_TENANT))


def methods() -> list[Method[Any]]:
    """Return the rows of this service."""
    right = Right.JOBS_SUBMIT
    return [
        Ask(
            service=SERVICE,
            name="Submit",
            right=right,
            takes=submission_pb2.SubmitRequest,
            does=submit,
        ),
        Ask(
            service=SERVICE,
            name="SubmitBatch",
            right=right,
            takes=submission_pb2.SubmitBatchRequest,
            does=submit_batch,
        ),
    ]
