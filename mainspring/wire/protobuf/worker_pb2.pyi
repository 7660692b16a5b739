import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from mainspring.wire.protobuf import job_pb2 as _job_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Handler(_message.Message):
    __slots__ = ("kind", "queue", "priority", "max_attempts", "max_crashes", "backoff", "timeout_ms", "on_exhausted", "schema_json", "doc", "mode", "unique_template", "unique_members", "unique_payload", "unique_while", "on_duplicate", "delay_ms", "tenant")
    KIND_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    MAX_CRASHES_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    ON_EXHAUSTED_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    DOC_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_MEMBERS_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_WHILE_FIELD_NUMBER: _ClassVar[int]
    ON_DUPLICATE_FIELD_NUMBER: _ClassVar[int]
    DELAY_MS_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    kind: str
    queue: str
    priority: _job_pb2.Priority
    max_attempts: int
    max_crashes: int
    backoff: _job_pb2.Backoff
    timeout_ms: int
    on_exhausted: str
    schema_json: str
    doc: str
    mode: str
    unique_template: str
    unique_members: MemberNames
    unique_payload: bool
    unique_while: str
    on_duplicate: str
    delay_ms: int
    tenant: str
    def __init__(self, kind: _Optional[str] = ..., queue: _Optional[str] = ..., priority: _Optional[_Union[_job_pb2.Priority, str]] = ..., max_attempts: _Optional[int] = ..., max_crashes: _Optional[int] = ..., backoff: _Optional[_Union[_job_pb2.Backoff, _Mapping]] = ..., timeout_ms: _Optional[int] = ..., on_exhausted: _Optional[str] = ..., schema_json: _Optional[str] = ..., doc: _Optional[str] = ..., mode: _Optional[str] = ..., unique_template: _Optional[str] = ..., unique_members: _Optional[_Union[MemberNames, _Mapping]] = ..., unique_payload: _Optional[bool] = ..., unique_while: _Optional[str] = ..., on_duplicate: _Optional[str] = ..., delay_ms: _Optional[int] = ..., tenant: _Optional[str] = ...) -> None: ...

class MemberNames(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class OpenSessionRequest(_message.Message):
    __slots__ = ("worker_id", "name", "host", "pid", "version", "queues", "handlers", "lease_ms", "kinds")
    class QueuesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    HANDLERS_FIELD_NUMBER: _ClassVar[int]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    name: str
    host: str
    pid: int
    version: str
    queues: _containers.ScalarMap[str, int]
    handlers: _containers.RepeatedCompositeFieldContainer[Handler]
    lease_ms: int
    kinds: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, worker_id: _Optional[str] = ..., name: _Optional[str] = ..., host: _Optional[str] = ..., pid: _Optional[int] = ..., version: _Optional[str] = ..., queues: _Optional[_Mapping[str, int]] = ..., handlers: _Optional[_Iterable[_Union[Handler, _Mapping]]] = ..., lease_ms: _Optional[int] = ..., kinds: _Optional[_Iterable[str]] = ...) -> None: ...

class OpenSessionResponse(_message.Message):
    __slots__ = ("worker_id", "lease_ms", "drain")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    DRAIN_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    lease_ms: int
    drain: bool
    def __init__(self, worker_id: _Optional[str] = ..., lease_ms: _Optional[int] = ..., drain: _Optional[bool] = ...) -> None: ...

class BeatRequest(_message.Message):
    __slots__ = ("worker_id",)
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    def __init__(self, worker_id: _Optional[str] = ...) -> None: ...

class BeatResponse(_message.Message):
    __slots__ = ("lease_ms", "drain")
    LEASE_MS_FIELD_NUMBER: _ClassVar[int]
    DRAIN_FIELD_NUMBER: _ClassVar[int]
    lease_ms: int
    drain: bool
    def __init__(self, lease_ms: _Optional[int] = ..., drain: _Optional[bool] = ...) -> None: ...

class DrainSessionRequest(_message.Message):
    __slots__ = ("worker_id",)
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    def __init__(self, worker_id: _Optional[str] = ...) -> None: ...

class DrainSessionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CloseSessionRequest(_message.Message):
    __slots__ = ("worker_id",)
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    def __init__(self, worker_id: _Optional[str] = ...) -> None: ...

class CloseSessionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReportDeathRequest(_message.Message):
    __slots__ = ("worker_id", "child", "cause")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    CHILD_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    child: int
    cause: str
    def __init__(self, worker_id: _Optional[str] = ..., child: _Optional[int] = ..., cause: _Optional[str] = ...) -> None: ...

class ReportDeathResponse(_message.Message):
    __slots__ = ("lost",)
    LOST_FIELD_NUMBER: _ClassVar[int]
    lost: int
    def __init__(self, lost: _Optional[int] = ...) -> None: ...

class ClaimRequest(_message.Message):
    __slots__ = ("worker_id", "child", "queues", "kinds", "limit", "grace_ms", "holding")
    class QueuesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    CHILD_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    GRACE_MS_FIELD_NUMBER: _ClassVar[int]
    HOLDING_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    child: int
    queues: _containers.ScalarMap[str, int]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    limit: int
    grace_ms: int
    holding: Holding
    def __init__(self, worker_id: _Optional[str] = ..., child: _Optional[int] = ..., queues: _Optional[_Mapping[str, int]] = ..., kinds: _Optional[_Iterable[str]] = ..., limit: _Optional[int] = ..., grace_ms: _Optional[int] = ..., holding: _Optional[_Union[Holding, _Mapping]] = ...) -> None: ...

class Holding(_message.Message):
    __slots__ = ("attempt_ids",)
    ATTEMPT_IDS_FIELD_NUMBER: _ClassVar[int]
    attempt_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, attempt_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class ClaimResponse(_message.Message):
    __slots__ = ("attempts",)
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    attempts: _containers.RepeatedCompositeFieldContainer[_job_pb2.Attempt]
    def __init__(self, attempts: _Optional[_Iterable[_Union[_job_pb2.Attempt, _Mapping]]] = ...) -> None: ...

class StreamAttemptsRequest(_message.Message):
    __slots__ = ("open", "credits")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    CREDITS_FIELD_NUMBER: _ClassVar[int]
    open: OpenStream
    credits: Credits
    def __init__(self, open: _Optional[_Union[OpenStream, _Mapping]] = ..., credits: _Optional[_Union[Credits, _Mapping]] = ...) -> None: ...

class OpenStream(_message.Message):
    __slots__ = ("worker_id", "child", "kinds", "grace_ms", "holding")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    CHILD_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    GRACE_MS_FIELD_NUMBER: _ClassVar[int]
    HOLDING_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    child: int
    kinds: _containers.RepeatedScalarFieldContainer[str]
    grace_ms: int
    holding: Holding
    def __init__(self, worker_id: _Optional[str] = ..., child: _Optional[int] = ..., kinds: _Optional[_Iterable[str]] = ..., grace_ms: _Optional[int] = ..., holding: _Optional[_Union[Holding, _Mapping]] = ...) -> None: ...

class Credits(_message.Message):
    __slots__ = ("queues",)
    class QueuesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.ScalarMap[str, int]
    def __init__(self, queues: _Optional[_Mapping[str, int]] = ...) -> None: ...

class StreamAttemptsResponse(_message.Message):
    __slots__ = ("attempts", "nudge")
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    NUDGE_FIELD_NUMBER: _ClassVar[int]
    attempts: Attempts
    nudge: Nudge
    def __init__(self, attempts: _Optional[_Union[Attempts, _Mapping]] = ..., nudge: _Optional[_Union[Nudge, _Mapping]] = ...) -> None: ...

class Attempts(_message.Message):
    __slots__ = ("attempts",)
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    attempts: _containers.RepeatedCompositeFieldContainer[_job_pb2.Attempt]
    def __init__(self, attempts: _Optional[_Iterable[_Union[_job_pb2.Attempt, _Mapping]]] = ...) -> None: ...

class Nudge(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WaitForWorkRequest(_message.Message):
    __slots__ = ("worker_id", "child", "queues", "timeout_ms")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    CHILD_FIELD_NUMBER: _ClassVar[int]
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    child: int
    queues: _containers.RepeatedScalarFieldContainer[str]
    timeout_ms: int
    def __init__(self, worker_id: _Optional[str] = ..., child: _Optional[int] = ..., queues: _Optional[_Iterable[str]] = ..., timeout_ms: _Optional[int] = ...) -> None: ...

class WaitForWorkResponse(_message.Message):
    __slots__ = ("is_hint",)
    IS_HINT_FIELD_NUMBER: _ClassVar[int]
    is_hint: bool
    def __init__(self, is_hint: _Optional[bool] = ...) -> None: ...

class ReadPayloadRequest(_message.Message):
    __slots__ = ("worker_id", "attempt_id")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    attempt_id: str
    def __init__(self, worker_id: _Optional[str] = ..., attempt_id: _Optional[str] = ...) -> None: ...

class ReadPayloadResponse(_message.Message):
    __slots__ = ("piece",)
    PIECE_FIELD_NUMBER: _ClassVar[int]
    piece: bytes
    def __init__(self, piece: _Optional[bytes] = ...) -> None: ...

class SaveFileRequest(_message.Message):
    __slots__ = ("name", "piece")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PIECE_FIELD_NUMBER: _ClassVar[int]
    name: FileName
    piece: bytes
    def __init__(self, name: _Optional[_Union[FileName, _Mapping]] = ..., piece: _Optional[bytes] = ...) -> None: ...

class FileName(_message.Message):
    __slots__ = ("worker_id", "child", "attempt_id", "name")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    CHILD_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    child: int
    attempt_id: str
    name: str
    def __init__(self, worker_id: _Optional[str] = ..., child: _Optional[int] = ..., attempt_id: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class SaveFileResponse(_message.Message):
    __slots__ = ("reference",)
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    reference: str
    def __init__(self, reference: _Optional[str] = ...) -> None: ...

class ReportRequest(_message.Message):
    __slots__ = ("worker_id", "child", "reports")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    CHILD_FIELD_NUMBER: _ClassVar[int]
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    child: int
    reports: _containers.RepeatedCompositeFieldContainer[_job_pb2.Report]
    def __init__(self, worker_id: _Optional[str] = ..., child: _Optional[int] = ..., reports: _Optional[_Iterable[_Union[_job_pb2.Report, _Mapping]]] = ...) -> None: ...

class ReportResponse(_message.Message):
    __slots__ = ("accepted",)
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    accepted: _containers.RepeatedScalarFieldContainer[bool]
    def __init__(self, accepted: _Optional[_Iterable[bool]] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("attempt_id", "done", "total", "note")
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    attempt_id: str
    done: float
    total: float
    note: str
    def __init__(self, attempt_id: _Optional[str] = ..., done: _Optional[float] = ..., total: _Optional[float] = ..., note: _Optional[str] = ...) -> None: ...

class PulseRequest(_message.Message):
    __slots__ = ("worker_id", "child", "holding", "progress")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    CHILD_FIELD_NUMBER: _ClassVar[int]
    HOLDING_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    child: int
    holding: Holding
    progress: _containers.RepeatedCompositeFieldContainer[Progress]
    def __init__(self, worker_id: _Optional[str] = ..., child: _Optional[int] = ..., holding: _Optional[_Union[Holding, _Mapping]] = ..., progress: _Optional[_Iterable[_Union[Progress, _Mapping]]] = ...) -> None: ...

class PulseResponse(_message.Message):
    __slots__ = ("cancelling", "lost")
    CANCELLING_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    cancelling: _containers.RepeatedScalarFieldContainer[str]
    lost: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, cancelling: _Optional[_Iterable[str]] = ..., lost: _Optional[_Iterable[str]] = ...) -> None: ...

class LogLine(_message.Message):
    __slots__ = ("attempt_id", "sequence", "at", "level", "message", "fields_json")
    ATTEMPT_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIELDS_JSON_FIELD_NUMBER: _ClassVar[int]
    attempt_id: str
    sequence: int
    at: _timestamp_pb2.Timestamp
    level: str
    message: str
    fields_json: str
    def __init__(self, attempt_id: _Optional[str] = ..., sequence: _Optional[int] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., level: _Optional[str] = ..., message: _Optional[str] = ..., fields_json: _Optional[str] = ...) -> None: ...

class AppendLogsRequest(_message.Message):
    __slots__ = ("worker_id", "lines")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    lines: _containers.RepeatedCompositeFieldContainer[LogLine]
    def __init__(self, worker_id: _Optional[str] = ..., lines: _Optional[_Iterable[_Union[LogLine, _Mapping]]] = ...) -> None: ...

class AppendLogsResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
