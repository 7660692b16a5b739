"""Work on its way in: ``Submission`` and ``Accepted``."""

import msgspec

from mainspring.domain.job import Priority
from mainspring.ports.gateway import Accepted, Submission
from mainspring.wire.protobuf import submission_pb2
from mainspring.wire.protobuf.attempts import backoff_of
from mainspring.wire.protobuf.scalars import instant, job_of, priority_of, show_job


def submission_of(given: submission_pb2.Job, tenant: str) -> Submission:
    """Read one job; its values are checked by whoever takes submissions."""
    due = given.WhichOneof("due")
    priority = priority_of(given.priority, "priority")
    return Submission(
        kind=given.kind,
        payload=given.payload_json.encode() or b"{}",
        tenant=tenant,
        queue=_text(given, "queue"),
        priority=None if priority is None else Priority(priority).name.lower(),
        delay_ms=given.delay_ms if due == "delay_ms" else None,
        due_at=instant(given.due_at, "due_at").isoformat() if due == "due_at" else None,
        max_attempts=given.max_attempts if given.HasField("max_attempts") else None,
        max_crashes=given.max_crashes if given.HasField("max_crashes") else None,
        backoff=msgspec.structs.asdict(backoff_of(given.backoff))
        if given.HasField("backoff")
        else None,
        timeout_ms=given.timeout_ms if given.HasField("timeout_ms") else None,
        on_exhausted=_text(given, "on_exhausted"),
        effect_key=_text(given, "effect_key"),
        key=_text(given, "key"),
        unique_key=_text(given, "unique_key"),
        unique_while=_text(given, "unique_while") or "live",
        on_duplicate=_text(given, "on_duplicate") or "existing",
        id=job_of(given.id) if given.HasField("id") else None,
    )


def accepted_message(item: Accepted) -> submission_pb2.SubmitResponse:
    """Return the answer to one submission."""
    return submission_pb2.SubmitResponse(
        job_id=show_job(item.job_id), created=item.created, replaced=item.replaced
    )


def submitted_message(item: Accepted) -> submission_pb2.Submitted:
    """Return the answer to one of several submissions."""
    return submission_pb2.Submitted(
        job_id=show_job(item.job_id), created=item.created, replaced=item.replaced
    )


def _text(given: submission_pb2.Job, field: str) -> str | None:
    value: str = getattr(given, field)
    return value if given.HasField(field) else None
