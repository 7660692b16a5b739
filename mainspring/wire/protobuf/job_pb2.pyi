import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Priority(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PRIORITY_UNSPECIFIED: _ClassVar[Priority]
    PRIORITY_CRITICAL: _ClassVar[Priority]
    PRIORITY_HIGH: _ClassVar[Priority]
    PRIORITY_NORMAL: _ClassVar[Priority]
    PRIORITY_LOW: _ClassVar[Priority]
PRIORITY_UNSPECIFIED: Priority
PRIORITY_CRITICAL: Priority
PRIORITY_HIGH: Priority
PRIORITY_NORMAL: Priority
PRIORITY_LOW: Priority

class Backoff(_message.Message):
    __slots__ = ("initial_ms", "factor", "cap_ms", "jitter", "full_jitter")
    INITIAL_MS_FIELD_NUMBER: _ClassVar[int]
    FACTOR_FIELD_NUMBER: _ClassVar[int]
    CAP_MS_FIELD_NUMBER: _ClassVar[int]
    JITTER_FIELD_NUMBER: _ClassVar[int]
    FULL_JITTER_FIELD_NUMBER: _ClassVar[int]
    initial_ms: int
    factor: float
    cap_ms: int
    jitter: float
    full_jitter: bool
    def __init__(self, initial_ms: _Optional[int] = ..., factor: _Optional[float] = ..., cap_ms: _Optional[int] = ..., jitter: _Optional[float] = ..., full_jitter: _Optional[bool] = ...) -> None: ...

class Attempt(_message.Message):
    __slots__ = ("attempt_id", "job_id", "attempt", "kind", "queue", "tenant", "priority", "payload_json", "payload_is_away", "tries", "crashes", "max_attempts", "max_crashes", "backoff", "timeout_ms", "due_at", "started_at", "deadline_at", "effect_key", "on_exhausted", "created_at", "schedule_id", "nominal_at", "fire", "fire_is_unread")
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_JSON_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_IS_AWAY_FIELD_NUMBER: _ClassVar[int]
    TRIES_FIELD_NUMBER: _ClassVar[int]
    CRASHES_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    MAX_CRASHES_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    DUE_AT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_AT_FIELD_NUMBER: _ClassVar[int]
    EFFECT_KEY_FIELD_NUMBER: _ClassVar[int]
    ON_EXHAUSTED_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_ID_FIELD_NUMBER: _ClassVar[int]
    NOMINAL_AT_FIELD_NUMBER: _ClassVar[int]
    FIRE_FIELD_NUMBER: _ClassVar[int]
    FIRE_IS_UNREAD_FIELD_NUMBER: _ClassVar[int]
    attempt_id: str
    job_id: str
    attempt: int
    kind: str
    queue: str
    tenant: str
    priority: Priority
    payload_json: str
    payload_is_away: bool
    tries: int
    crashes: int
    max_attempts: int
    max_crashes: int
    backoff: Backoff
    timeout_ms: int
    due_at: _timestamp_pb2.Timestamp
    started_at: _timestamp_pb2.Timestamp
    deadline_at: _timestamp_pb2.Timestamp
    effect_key: str
    on_exhausted: str
    created_at: _timestamp_pb2.Timestamp
    schedule_id: str
    nominal_at: _timestamp_pb2.Timestamp
    fire: Fire
    fire_is_unread: bool
    def __init__(self, attempt_id: _Optional[str] = ..., job_id: _Optional[str] = ..., attempt: _Optional[int] = ..., kind: _Optional[str] = ..., queue: _Optional[str] = ..., tenant: _Optional[str] = ..., priority: _Optional[_Union[Priority, str]] = ..., payload_json: _Optional[str] = ..., payload_is_away: _Optional[bool] = ..., tries: _Optional[int] = ..., crashes: _Optional[int] = ..., max_attempts: _Optional[int] = ..., max_crashes: _Optional[int] = ..., backoff: _Optional[_Union[Backoff, _Mapping]] = ..., timeout_ms: _Optional[int] = ..., due_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., deadline_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., effect_key: _Optional[str] = ..., on_exhausted: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., schedule_id: _Optional[str] = ..., nominal_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., fire: _Optional[_Union[Fire, _Mapping]] = ..., fire_is_unread: _Optional[bool] = ...) -> None: ...

class Fire(_message.Message):
    __slots__ = ("schedule_id", "schedule", "nominal_at", "due_at", "zone", "cause", "sequence", "local", "missed", "previous_success_at")
    SCHEDULE_ID_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    NOMINAL_AT_FIELD_NUMBER: _ClassVar[int]
    DUE_AT_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    LOCAL_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_SUCCESS_AT_FIELD_NUMBER: _ClassVar[int]
    schedule_id: str
    schedule: str
    nominal_at: _timestamp_pb2.Timestamp
    due_at: _timestamp_pb2.Timestamp
    zone: str
    cause: str
    sequence: int
    local: str
    missed: Missed
    previous_success_at: _timestamp_pb2.Timestamp
    def __init__(self, schedule_id: _Optional[str] = ..., schedule: _Optional[str] = ..., nominal_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., due_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., zone: _Optional[str] = ..., cause: _Optional[str] = ..., sequence: _Optional[int] = ..., local: _Optional[str] = ..., missed: _Optional[_Union[Missed, _Mapping]] = ..., previous_success_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Missed(_message.Message):
    __slots__ = ("count", "first_at", "last_at", "is_least")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    FIRST_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_AT_FIELD_NUMBER: _ClassVar[int]
    IS_LEAST_FIELD_NUMBER: _ClassVar[int]
    count: int
    first_at: _timestamp_pb2.Timestamp
    last_at: _timestamp_pb2.Timestamp
    is_least: bool
    def __init__(self, count: _Optional[int] = ..., first_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., is_least: _Optional[bool] = ...) -> None: ...

class HandlerError(_message.Message):
    __slots__ = ("type", "message", "traceback", "where")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    TRACEBACK_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    type: str
    message: str
    traceback: str
    where: str
    def __init__(self, type: _Optional[str] = ..., message: _Optional[str] = ..., traceback: _Optional[str] = ..., where: _Optional[str] = ...) -> None: ...

class Succeeded(_message.Message):
    __slots__ = ("result_json",)
    RESULT_JSON_FIELD_NUMBER: _ClassVar[int]
    result_json: str
    def __init__(self, result_json: _Optional[str] = ...) -> None: ...

class Failed(_message.Message):
    __slots__ = ("error", "permanent", "retry_after_ms")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    PERMANENT_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    error: HandlerError
    permanent: bool
    retry_after_ms: int
    def __init__(self, error: _Optional[_Union[HandlerError, _Mapping]] = ..., permanent: _Optional[bool] = ..., retry_after_ms: _Optional[int] = ...) -> None: ...

class Snoozed(_message.Message):
    __slots__ = ("delay_ms", "reason")
    DELAY_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    delay_ms: int
    reason: str
    def __init__(self, delay_ms: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class TimedOut(_message.Message):
    __slots__ = ("timeout_ms", "left_running", "took_process", "is_silence")
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    LEFT_RUNNING_FIELD_NUMBER: _ClassVar[int]
    TOOK_PROCESS_FIELD_NUMBER: _ClassVar[int]
    IS_SILENCE_FIELD_NUMBER: _ClassVar[int]
    timeout_ms: int
    left_running: bool
    took_process: bool
    is_silence: bool
    def __init__(self, timeout_ms: _Optional[int] = ..., left_running: _Optional[bool] = ..., took_process: _Optional[bool] = ..., is_silence: _Optional[bool] = ...) -> None: ...

class Cancelled(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class Released(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class Lost(_message.Message):
    __slots__ = ("cause",)
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    cause: str
    def __init__(self, cause: _Optional[str] = ...) -> None: ...

class Report(_message.Message):
    __slots__ = ("attempt_id", "succeeded", "failed", "snoozed", "timed_out", "cancelled", "released", "lost")
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    SUCCEEDED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    SNOOZED_FIELD_NUMBER: _ClassVar[int]
    TIMED_OUT_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    RELEASED_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    attempt_id: str
    succeeded: Succeeded
    failed: Failed
    snoozed: Snoozed
    timed_out: TimedOut
    cancelled: Cancelled
    released: Released
    lost: Lost
    def __init__(self, attempt_id: _Optional[str] = ..., succeeded: _Optional[_Union[Succeeded, _Mapping]] = ..., failed: _Optional[_Union[Failed, _Mapping]] = ..., snoozed: _Optional[_Union[Snoozed, _Mapping]] = ..., timed_out: _Optional[_Union[TimedOut, _Mapping]] = ..., cancelled: _Optional[_Union[Cancelled, _Mapping]] = ..., released: _Optional[_Union[Released, _Mapping]] = ..., lost: _Optional[_Union[Lost, _Mapping]] = ...) -> None: ...
