"""What machines read: the documents of REST, so that ``-o json`` and a server say the same.

Instants are ISO 8601 in UTC, durations whole milliseconds, ids in their shown form; payloads and
results are the JSON that was given, digit for digit.
"""

from enum import Enum
from typing import Any

import msgspec

from mainspring.domain.job import (
    AttemptView,
    FailureGroup,
    HandlerInfo,
    JobView,
    QueueView,
    WorkerView,
)
from mainspring.domain.outcome import LogLine
from mainspring.wire.documents.fleet import handler_document, queue_document, worker_document
from mainspring.wire.documents.jobs import (
    attempt_document,
    group_document,
    job_document,
    log_document,
)

Record = dict[str, Any]
_NOTHING = msgspec.Raw(b"null")


def record_of(document: msgspec.Struct) -> Record:
    """Return a document of the wire as the members that it has."""
    return {name: _plain(getattr(document, name)) for name in document.__struct_fields__}


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return record_of(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, msgspec.Raw) and value == _NOTHING:
        return None
    return value.value if isinstance(value, Enum) else value


def job_record(job: JobView) -> Record:
    """Return a job."""
    return record_of(job_document(job))


def group_record(group: FailureGroup) -> Record:
    """Return a group of failures."""
    return record_of(group_document(group))


def attempt_record(attempt: AttemptView) -> Record:
    """Return one attempt."""
    return record_of(attempt_document(attempt))


def log_record(line: LogLine) -> Record:
    """Return one line of a handler's log."""
    return record_of(log_document(line))


def queue_record(queue: QueueView) -> Record:
    """Return a queue."""
    return record_of(queue_document(queue))


def worker_record(worker: WorkerView) -> Record:
    """Return a worker session."""
    return record_of(worker_document(worker))


def handler_record(handler: HandlerInfo) -> Record:
    """Return a declared kind."""
    return record_of(handler_document(handler))
