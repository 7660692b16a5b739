import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ClaimTriggersRequest(_message.Message):
    __slots__ = ("worker_id", "max_tasks", "lease_duration_seconds", "kinds", "queues")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    MAX_TASKS_FIELD_NUMBER: _ClassVar[int]
    LEASE_DURATION_SECONDS_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    max_tasks: int
    lease_duration_seconds: int
    kinds: _containers.RepeatedScalarFieldContainer[str]
    queues: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, worker_id: _Optional[str] = ..., max_tasks: _Optional[int] = ..., lease_duration_seconds: _Optional[int] = ..., kinds: _Optional[_Iterable[str]] = ..., queues: _Optional[_Iterable[str]] = ...) -> None: ...

class TaskPayload(_message.Message):
    __slots__ = ("trigger_id", "job_id", "tenant_id", "job_type", "payload_json", "scheduled_time_epoch", "attempt_id", "attempt", "deadline", "effect_key", "queue")
    TRIGGER_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_TYPE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_JSON_FIELD_NUMBER: _ClassVar[int]
    SCHEDULED_TIME_EPOCH_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    EFFECT_KEY_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    trigger_id: str
    job_id: str
    tenant_id: str
    job_type: str
    payload_json: str
    scheduled_time_epoch: int
    attempt_id: str
    attempt: int
    deadline: _timestamp_pb2.Timestamp
    effect_key: str
    queue: str
    def __init__(self, trigger_id: _Optional[str] = ..., job_id: _Optional[str] = ..., tenant_id: _Optional[str] = ..., job_type: _Optional[str] = ..., payload_json: _Optional[str] = ..., scheduled_time_epoch: _Optional[int] = ..., attempt_id: _Optional[str] = ..., attempt: _Optional[int] = ..., deadline: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., effect_key: _Optional[str] = ..., queue: _Optional[str] = ...) -> None: ...

class ClaimTriggersResponse(_message.Message):
    __slots__ = ("tasks", "lease_duration_seconds")
    TASKS_FIELD_NUMBER: _ClassVar[int]
    LEASE_DURATION_SECONDS_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[TaskPayload]
    lease_duration_seconds: int
    def __init__(self, tasks: _Optional[_Iterable[_Union[TaskPayload, _Mapping]]] = ..., lease_duration_seconds: _Optional[int] = ...) -> None: ...

class UpdateAttemptRequest(_message.Message):
    __slots__ = ("attempt_id", "trigger_id", "status", "error_message", "result_json", "error_type", "retry_after_ms")
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RESULT_JSON_FIELD_NUMBER: _ClassVar[int]
    ERROR_TYPE_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    attempt_id: str
    trigger_id: str
    status: str
    error_message: str
    result_json: str
    error_type: str
    retry_after_ms: int
    def __init__(self, attempt_id: _Optional[str] = ..., trigger_id: _Optional[str] = ..., status: _Optional[str] = ..., error_message: _Optional[str] = ..., result_json: _Optional[str] = ..., error_type: _Optional[str] = ..., retry_after_ms: _Optional[int] = ...) -> None: ...

class UpdateAttemptResponse(_message.Message):
    __slots__ = ("success", "cancelling")
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    CANCELLING_FIELD_NUMBER: _ClassVar[int]
    success: bool
    cancelling: bool
    def __init__(self, success: _Optional[bool] = ..., cancelling: _Optional[bool] = ...) -> None: ...
