import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from mainspring.wire.protobuf import error_pb2 as _error_pb2
from mainspring.wire.protobuf import job_pb2 as _job_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Job(_message.Message):
    __slots__ = ("kind", "payload_json", "tenant", "queue", "priority", "delay_ms", "due_at", "max_attempts", "max_crashes", "backoff", "timeout_ms", "on_exhausted", "effect_key", "key", "unique_key", "unique_while", "on_duplicate", "id")
    KIND_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_JSON_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    DELAY_MS_FIELD_NUMBER: _ClassVar[int]
    DUE_AT_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    MAX_CRASHES_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    ON_EXHAUSTED_FIELD_NUMBER: _ClassVar[int]
    EFFECT_KEY_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_KEY_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_WHILE_FIELD_NUMBER: _ClassVar[int]
    ON_DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    kind: str
    payload_json: str
    tenant: str
    queue: str
    priority: _job_pb2.Priority
    delay_ms: int
    due_at: _timestamp_pb2.Timestamp
    max_attempts: int
    max_crashes: int
    backoff: _job_pb2.Backoff
    timeout_ms: int
    on_exhausted: str
    effect_key: str
    key: str
    unique_key: str
    unique_while: str
    on_duplicate: str
    id: str
    def __init__(self, kind: _Optional[str] = ..., payload_json: _Optional[str] = ..., tenant: _Optional[str] = ..., queue: _Optional[str] = ..., priority: _Optional[_Union[_job_pb2.Priority, str]] = ..., delay_ms: _Optional[int] = ..., due_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., max_attempts: _Optional[int] = ..., max_crashes: _Optional[int] = ..., backoff: _Optional[_Union[_job_pb2.Backoff, _Mapping]] = ..., timeout_ms: _Optional[int] = ..., on_exhausted: _Optional[str] = ..., effect_key: _Optional[str] = ..., key: _Optional[str] = ..., unique_key: _Optional[str] = ..., unique_while: _Optional[str] = ..., on_duplicate: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class SubmitRequest(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: Job
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class SubmitResponse(_message.Message):
    __slots__ = ("job_id", "created", "replaced")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    REPLACED_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    created: bool
    replaced: bool
    def __init__(self, job_id: _Optional[str] = ..., created: _Optional[bool] = ..., replaced: _Optional[bool] = ...) -> None: ...

class SubmitBatchRequest(_message.Message):
    __slots__ = ("jobs",)
    JOBS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[Job]
    def __init__(self, jobs: _Optional[_Iterable[_Union[Job, _Mapping]]] = ...) -> None: ...

class SubmitBatchResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[Submitted]
    def __init__(self, results: _Optional[_Iterable[_Union[Submitted, _Mapping]]] = ...) -> None: ...

class Submitted(_message.Message):
    __slots__ = ("job_id", "created", "replaced", "error")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    REPLACED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    created: bool
    replaced: bool
    error: _error_pb2.ErrorDetail
    def __init__(self, job_id: _Optional[str] = ..., created: _Optional[bool] = ..., replaced: _Optional[bool] = ..., error: _Optional[_Union[_error_pb2.ErrorDetail, _Mapping]] = ...) -> None: ...
