"""What a worker says of itself and asks for: sessions, handlers, claims."""

from collections.abc import Mapping
from typing import Final

from mainspring.domain.job import (
    DEFAULT_MAX_ATTEMPTS,
    DEFAULT_MAX_CRASHES,
    DEFAULT_QUEUE,
    DEFAULT_TENANT,
    DEFAULT_TIMEOUT_MS,
    ON_DUPLICATE,
    UNIQUE_WHILE,
    HandlerInfo,
    NewSession,
    Priority,
)
from mainspring.domain.limits import (
    CLAIM_JOBS_MAX,
    DELAY_SECONDS_MAX,
    KIND_CHARACTERS_MAX,
    MAX_ATTEMPTS_MAX,
    MAX_CRASHES_MAX,
    QUEUE_CHARACTERS_MAX,
    TENANT_CHARACTERS_MAX,
    TIMEOUT_SECONDS_MAX,
)
from mainspring.domain.names import check_choice, check_name, check_range
from mainspring.domain.payload import check
from mainspring.ports.store import ClaimAsk, Lane
from mainspring.wire.protobuf import worker_pb2
from mainspring.wire.protobuf.attempts import (
    backoff_message,
    backoff_of,
    holding_message,
    holding_of,
)
from mainspring.wire.protobuf.scalars import (
    kept,
    priority_of,
    priority_word,
    show_worker,
    utf8,
    worker_of,
)

DEFAULT_LEASE_MS: Final = 15_000
LEASE_MS_MIN: Final = 1_000
LEASE_MS_MAX: Final = 3_600_000
DEFAULT_GRACE_MS: Final = 10_000
GRACE_MS_MAX: Final = 3_600_000
#: Stores keep the number of a child in two bytes.
CHILD_MAX: Final = 32_767
_WORDS_MAX: Final = 256
_SCHEMA_BYTES_MAX: Final = 262_144
_DOC_CHARACTERS_MAX: Final = 20_000
_KINDS_MAX: Final = 10_000
_QUEUES_MAX: Final = 1_000
_INT32_MAX: Final = 2**31 - 1


# --- Sessions -------------------------------------------------------------------------------------


def session_message(
    session: NewSession, handlers: list[HandlerInfo]
) -> worker_pb2.OpenSessionRequest:
    """Return a worker that comes up as it travels."""
    return worker_pb2.OpenSessionRequest(
        worker_id=show_worker(session.id),
        name=utf8(session.name),
        host=utf8(session.host),
        pid=session.pid,
        version=utf8(session.version),
        queues=session.queues,
        kinds=session.kinds,
        handlers=[handler_message(handler) for handler in handlers],
        lease_ms=session.lease_ms,
    )


def session_of(given: worker_pb2.OpenSessionRequest, worker_id: bytes) -> NewSession:
    """Read a worker that comes up, under the id that it has or is given."""
    kinds = tuple(given.kinds) or tuple(handler.kind for handler in given.handlers)
    lease_ms = given.lease_ms or DEFAULT_LEASE_MS
    check_range("lease_ms", lease_ms, LEASE_MS_MIN, LEASE_MS_MAX)
    check_range("pid", given.pid, 0, _INT32_MAX)
    return NewSession(
        id=worker_id,
        name=kept(given.name, _WORDS_MAX) or "worker",
        host=kept(given.host, _WORDS_MAX),
        pid=given.pid,
        version=kept(given.version, _WORDS_MAX),
        queues=queues_of(given.queues),
        kinds=kinds_of(kinds),
        lease_ms=lease_ms,
    )


def queues_of(given: Mapping[str, int]) -> dict[str, int]:
    """Read numbers by queue."""
    check_range("queues", len(given), 0, _QUEUES_MAX)
    for name, count in given.items():
        check_name("queue", name, QUEUE_CHARACTERS_MAX)
        check_range(f"queues.{name}", count, 0, _INT32_MAX)
    return dict(given)


def kinds_of(given: tuple[str, ...]) -> tuple[str, ...]:
    """Read kinds."""
    check_range("kinds", len(given), 0, _KINDS_MAX)
    for kind in given:
        check_name("kind", kind, KIND_CHARACTERS_MAX)
    return given


# --- Handlers -------------------------------------------------------------------------------------


def handler_message(info: HandlerInfo) -> worker_pb2.Handler:
    """Return a kind as it travels."""
    made = worker_pb2.Handler(
        kind=info.kind,
        queue=info.queue,
        priority=priority_word(info.priority),  # type: ignore[arg-type]  # the enum's number
        max_attempts=info.max_attempts,
        max_crashes=info.max_crashes,
        timeout_ms=info.timeout_ms,
        on_exhausted=info.on_exhausted,
        schema_json=utf8(info.schema),
        doc=utf8(info.doc),
        mode=info.mode,
        unique_while=info.unique_while,
        on_duplicate=info.on_duplicate,
        delay_ms=info.delay_ms,
        tenant=info.tenant,
    )
    if info.backoff is not None:
        made.backoff.CopyFrom(backoff_message(info.backoff))
    match info.unique:
        case bool(all_of_it):
            made.unique_payload = all_of_it
        case str(template):
            made.unique_template = template
        case None:
            pass
        case members:
            made.unique_members.names.extend(members)
            made.unique_members.SetInParent()
    return made


def handler_of(given: worker_pb2.Handler) -> HandlerInfo:
    """Read a kind, or raise ``InvalidInput`` with what is wrong with it."""
    check_name("kind", given.kind, KIND_CHARACTERS_MAX)
    _check_handler(given)
    priority = priority_of(given.priority, "priority")
    return HandlerInfo(
        kind=given.kind,
        tenant=given.tenant or DEFAULT_TENANT,
        queue=given.queue or DEFAULT_QUEUE,
        priority=Priority.NORMAL if priority is None else priority,
        max_attempts=given.max_attempts if given.HasField("max_attempts") else DEFAULT_MAX_ATTEMPTS,
        max_crashes=given.max_crashes if given.HasField("max_crashes") else DEFAULT_MAX_CRASHES,
        backoff=backoff_of(given.backoff) if given.HasField("backoff") else None,
        timeout_ms=given.timeout_ms if given.HasField("timeout_ms") else DEFAULT_TIMEOUT_MS,
        on_exhausted=given.on_exhausted if given.HasField("on_exhausted") else None,
        mode=kept(given.mode, _WORDS_MAX) or "async",
        unique=_unique_of(given),
        unique_while=given.unique_while or UNIQUE_WHILE[0],
        on_duplicate=given.on_duplicate or ON_DUPLICATE[0],
        delay_ms=given.delay_ms if given.HasField("delay_ms") else None,
        schema=given.schema_json or "{}",
        doc=kept(given.doc, _DOC_CHARACTERS_MAX),
    )


def _check_handler(given: worker_pb2.Handler) -> None:
    check_name("queue", given.queue or DEFAULT_QUEUE, QUEUE_CHARACTERS_MAX)
    check_name("tenant", given.tenant or DEFAULT_TENANT, TENANT_CHARACTERS_MAX)
    check_range("max_attempts", given.max_attempts, 0, MAX_ATTEMPTS_MAX)
    check_range("max_crashes", given.max_crashes, 0, MAX_CRASHES_MAX)
    check_range("timeout_ms", given.timeout_ms, 0, TIMEOUT_SECONDS_MAX * 1_000)
    check_range("delay_ms", given.delay_ms, 0, DELAY_SECONDS_MAX * 1_000)
    if given.HasField("on_exhausted"):
        check_name("on_exhausted", given.on_exhausted, KIND_CHARACTERS_MAX)
    if given.HasField("schema_json"):
        check(given.schema_json.encode(), bytes_max=_SCHEMA_BYTES_MAX, what="schema")
    check_choice("unique_while", given.unique_while or UNIQUE_WHILE[0], UNIQUE_WHILE)
    check_choice("on_duplicate", given.on_duplicate or ON_DUPLICATE[0], ON_DUPLICATE)


def _unique_of(given: worker_pb2.Handler) -> str | tuple[str, ...] | bool | None:
    match given.WhichOneof("unique"):
        case "unique_template":
            return kept(given.unique_template, _WORDS_MAX)
        case "unique_members":
            return tuple(kept(name, _WORDS_MAX) for name in given.unique_members.names)
        case "unique_payload":
            return given.unique_payload
        case _:
            return None


# --- Claims ---------------------------------------------------------------------------------------


def claim_message(ask: ClaimAsk) -> worker_pb2.ClaimRequest:
    """Return what is wanted as it travels; watermarks are the server's own."""
    made = worker_pb2.ClaimRequest(
        worker_id=show_worker(ask.worker_id),
        child=ask.child,
        queues={lane.queue: lane.want for lane in ask.lanes},
        kinds=ask.kinds,
        limit=ask.limit,
        grace_ms=ask.grace_ms,
    )
    if ask.holding is not None:
        made.holding.attempt_ids.extend(holding_message(list(ask.holding)))
        made.holding.SetInParent()
    return made


def ask_of(given: worker_pb2.ClaimRequest) -> ClaimAsk:
    """Read what is wanted."""
    wants = queues_of(given.queues)
    check_range("child", given.child, 0, CHILD_MAX)
    check_range("limit", given.limit, 0, _INT32_MAX)
    grace_ms = given.grace_ms if given.HasField("grace_ms") else DEFAULT_GRACE_MS
    check_range("grace_ms", grace_ms, 0, GRACE_MS_MAX)
    return ClaimAsk(
        worker_id=worker_of(given.worker_id),
        child=given.child,
        lanes=tuple(Lane(name, min(want, CLAIM_JOBS_MAX)) for name, want in wants.items()),
        kinds=kinds_of(tuple(given.kinds)),
        limit=min(given.limit or sum(wants.values()), CLAIM_JOBS_MAX),
        grace_ms=grace_ms,
        holding=tuple(holding_of(list(given.holding.attempt_ids)))
        if given.HasField("holding")
        else None,
    )
