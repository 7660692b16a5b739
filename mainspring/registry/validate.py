"""From what was asked for to what is stored: every option checked, every default filled in."""

import difflib
import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache, partial
from operator import attrgetter, is_
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec

from mainspring.app.durations import check_duration
from mainspring.app.uniqueness import key_as_unique, unique_key
from mainspring.domain import payload as payloads
from mainspring.domain.errors import (
    InvalidDuration,
    InvalidId,
    InvalidInput,
    InvalidPayload,
    NaiveDatetime,
    UnknownKind,
    UnknownOption,
)
from mainspring.domain.ids import created_at
from mainspring.domain.job import (
    DEFAULT_TENANT,
    ON_DUPLICATE,
    UNIQUE_WHILE,
    Backoff,
    HandlerInfo,
    NewJob,
    Priority,
)
from mainspring.domain.limits import (
    DELAY_SECONDS_MAX,
    KIND_CHARACTERS_MAX,
    MAX_ATTEMPTS_MAX,
    MAX_CRASHES_MAX,
    PAYLOAD_BYTES_MAX,
    QUEUE_CHARACTERS_MAX,
    TENANT_CHARACTERS_MAX,
    TIMEOUT_SECONDS_MAX,
)
from mainspring.domain.names import check_choice, check_key, check_name, check_range, priority_of
from mainspring.domain.webhooks import RESERVED
from mainspring.ports.gateway import Submission

_SIMILAR: Final = 0.6
_AHEAD_MAX: Final = timedelta(seconds=DELAY_SECONDS_MAX)
_UNEXPECTED: Final = re.compile(r"\('([^']+)' was unexpected\)")
_ID_BYTES: Final = 16
_DEFINITIONS: Final = "#/$defs/"
#: Texts of these formats are checked by whom a worker reads them with.
_READ_AS: Final[Mapping[str, Any]] = {
    "date-time": Annotated[datetime, msgspec.Meta(tz=True)],
    "date": date,
    "time": time,
    "duration": timedelta,
    "uuid": UUID,
    "decimal": Decimal,
}
#: Of these the handler's own model judges; other readers differ from it in the odd cases.
_LEFT_TO_WORKERS: Final = ("uri", "uri-reference", "iri", "iri-reference", "email", "idn-email",
                           "hostname", "idn-hostname", "ipv4", "ipv6", "regex")  # fmt: skip


class Forms:
    """Makes jobs of submissions. Of neighbours that ask for the same, one is checked in full.

    Calls of one bulk submission mostly differ in their payload alone. So what was made of the last
    call of each kind is kept as a form, and filled in again for calls with the very same values:
    the same objects, not equal ones, because 1 equals True.
    """

    def __init__(
        self,
        handlers: Mapping[str, HandlerInfo],
        new_id: Callable[[], bytes],
        payload_bytes: int = PAYLOAD_BYTES_MAX,
    ) -> None:
        """Know what workers have declared; make ids with ``new_id``."""
        self._handlers = handlers
        self._new_id = new_id
        self._payload_bytes = payload_bytes
        self._filled: dict[str, tuple[tuple[object, ...], NewJob]] = {}

    def job(self, wanted: Submission) -> NewJob:
        """Return the job to insert, or raise the error that names the option that is wrong."""
        if not wanted.kind_is_known or wanted.id is not None:
            return new_job(wanted, self._handlers, self._new_id, self._payload_bytes)
        asked = _ALL_BUT_PAYLOAD(wanted)
        before, form = self._filled.get(wanted.kind, _NO_FORM)
        if form is not None and all(map(is_, asked, before)):
            payloads.check(wanted.payload, bytes_max=self._payload_bytes)
            return msgspec.structs.replace(form, id=self._new_id(), payload=wanted.payload)
        job = new_job(wanted, self._handlers, self._new_id, self._payload_bytes)
        # An instant is judged by the id, and a body's hash by the payload.
        if job.due_at is None and job.submission_key is None:
            self._filled[wanted.kind] = (asked, job)
        return job


_ALL_BUT_PAYLOAD: Final = attrgetter(
    *(name for name in Submission.__struct_fields__ if name not in {"id", "payload"})
)
_NO_FORM: Final[tuple[tuple[object, ...], NewJob | None]] = ((), None)


def new_job(
    wanted: Submission,
    handlers: Mapping[str, HandlerInfo],
    new_id: Callable[[], bytes],
    payload_bytes: int = PAYLOAD_BYTES_MAX,
) -> NewJob:
    """Return the job to insert, or raise the error that names the option that is wrong."""
    kind = check_name("kind", wanted.kind, KIND_CHARACTERS_MAX)
    if kind.startswith(RESERVED):
        raise InvalidInput(
            f"kind: {kind!r} is of the product itself", hint=f"no kind begins with {RESERVED}"
        )
    declared = wanted.declared or handlers.get(kind)
    if declared is None and not wanted.kind_is_known:
        raise unknown_kind(kind, handlers)
    after = _on_exhausted(wanted.on_exhausted)
    if after is not None and after not in handlers and not wanted.kind_is_known:
        error = unknown_kind(after, handlers)
        error.message = f"on_exhausted: {error.message}"
        raise error
    look = payloads.read if wanted.payload_is_checked else payloads.check
    body = look(wanted.payload, bytes_max=payload_bytes)
    asked = wanted
    if declared is not None and not wanted.kind_is_known:
        check_schema(kind, body, declared.schema)
        # The hash of a body is of what was asked for, without this.
        wanted = with_declared(wanted, declared, body)
    info = declared or HandlerInfo(kind=kind)
    job = NewJob(
        id=new_id() if wanted.id is None else _id(wanted.id),
        kind=kind,
        payload=wanted.payload,
        tenant=check_name("tenant", _or(wanted.tenant, DEFAULT_TENANT), TENANT_CHARACTERS_MAX),
        queue=check_name("queue", _or(wanted.queue, info.queue), QUEUE_CHARACTERS_MAX),
        priority=priority_of(_or(wanted.priority, info.priority)),
        delay_ms=_delay(wanted),
        due_at=_due(wanted),
        max_attempts=check_range(
            "max_attempts", _or(wanted.max_attempts, info.max_attempts), 1, MAX_ATTEMPTS_MAX
        ),
        max_crashes=check_range(
            "max_crashes", _or(wanted.max_crashes, info.max_crashes), 1, MAX_CRASHES_MAX
        ),
        backoff=_backoff(wanted.backoff) if wanted.backoff is not None else info.backoff,
        timeout_ms=check_duration(
            "timeout", _or(wanted.timeout_ms, info.timeout_ms), 1, TIMEOUT_SECONDS_MAX * 1_000
        ),
        on_exhausted=_on_exhausted(_or(wanted.on_exhausted, info.on_exhausted)),
        effect_key=_key("effect_key", wanted.effect_key),
        submission_key=_key("key", wanted.key),
        unique_key=_key("unique", wanted.unique_key),
        unique_while=check_choice("unique_while", wanted.unique_while, UNIQUE_WHILE),
        on_duplicate=check_choice("on_duplicate", wanted.on_duplicate, ON_DUPLICATE),
    )
    if job.due_at is not None and job.due_at > created_at(job.id) + _AHEAD_MAX:
        raise InvalidInput(f"at: {wanted.due_at!r} is more than {_AHEAD_MAX.days} days ahead")
    if job.submission_key is None:
        return job
    return msgspec.structs.replace(job, body_hash=body_hash(asked, job))


def with_declared(wanted: Submission, declared: HandlerInfo, body: object) -> Submission:
    """Return a submission by name with what its handler declares of delays and uniqueness.

    The typed SDK has done the same already, with the handler itself at hand.
    """
    changes: dict[str, Any] = {}
    if wanted.delay_ms is None and wanted.due_at is None:
        changes["delay_ms"] = declared.delay_ms
    if declared.unique is not None and wanted.unique_key is None:
        members = members_of(declared, body)
        changes["unique_key"] = unique_key(declared.unique, wanted.kind, members)
        changes["unique_while"] = declared.unique_while
        if wanted.on_duplicate == ON_DUPLICATE[0]:
            changes["on_duplicate"] = declared.on_duplicate
    elif wanted.unique_key is None and wanted.on_duplicate != ON_DUPLICATE[0]:
        changes["unique_key"] = key_as_unique(wanted.key)
        changes["key"] = None
    return msgspec.structs.replace(wanted, **changes) if changes else wanted


def members_of(declared: HandlerInfo, body: object) -> dict[str, Any]:
    """Return what a handler is given for a payload: its members, and the defaults of the rest."""
    defaults = {
        name: found["default"]
        for name, found in parameters_of(declared.schema).items()
        if "default" in found
    }
    return defaults | (body if isinstance(body, dict) else {})


def parameters_of(schema: str) -> Mapping[str, Any]:
    """Return the schema of each parameter of a handler by its name."""
    found = root = msgspec.json.decode(schema)
    name = str(found.get("$ref", ""))
    if name.startswith(_DEFINITIONS):
        found = root.get("$defs", {}).get(name.removeprefix(_DEFINITIONS), {})
    properties: Mapping[str, Any] = found.get("properties", {})
    return properties


def body_hash(wanted: Submission, job: NewJob) -> bytes:
    """Return what a submission key promises to be the same: all that was asked for.

    Not what the handler's declaration adds: a deployment between two honest repetitions must not
    make them differ. One instant is the same in every zone.
    """
    same = msgspec.structs.replace(
        wanted,
        id=None,
        key=None,
        due_at=None,
        kind_is_known=False,
        payload_is_checked=False,
        declared=None,
        tenant=job.tenant,
    )
    return hashlib.sha256(msgspec.msgpack.encode((same, job.due_at))).digest()


def names_unknown(wanted: Submission, handlers: Mapping[str, HandlerInfo]) -> bool:
    """Tell whether a submission by name says a kind that is not among the handlers."""
    after = wanted.on_exhausted
    return not wanted.kind_is_known and (
        wanted.kind not in handlers or (after is not None and after not in handlers)
    )


def unknown_kind(kind: str, handlers: Mapping[str, HandlerInfo]) -> UnknownKind:
    """Return the error for a kind that no worker has declared, with the nearest names."""
    near = difflib.get_close_matches(kind, handlers, 3, _SIMILAR)
    if near:
        hint = "did you mean " + " or ".join(near) + "?"
    elif handlers:
        hint = f"known kinds: {', '.join(sorted(handlers)[:10])}"
    else:
        hint = "no worker has declared any yet; start one: mainspring worker start MODULE:APP"
    return UnknownKind(f"no handler of the kind {kind!r} is known", hint=hint)


def check_schema(kind: str, body: object, schema: str) -> None:
    """Raise ``InvalidPayload`` naming the member that does not fit the handler's schema."""
    validator = _validator(schema)
    if validator is None:
        return
    for found in validator.iter_errors(body):
        error = _closest(found)
        pointer = "/" + "/".join(str(step) for step in error.instance_path)
        where = "" if pointer == "/" else f" at {pointer}"
        details: dict[str, object] = {"pointer": pointer, "kind": kind}
        if _lacks_zone(error):
            raise NaiveDatetime(
                f"{kind}: {error.instance!r}{where} has no time zone", details=details
            )
        message, hint = error.message, f"mainspring handlers schema {kind} shows what it takes"
        if unexpected := _UNEXPECTED.search(message):
            name = unexpected.group(1)
            message = f"there is no parameter {name!r}"
            if near := difflib.get_close_matches(name, _members(schema), 1, _SIMILAR):
                hint = f"did you mean {near[0]!r}? {hint}"
        raise InvalidPayload(f"{kind}: {message}{where}", hint=hint, details=details)


def _closest(error: Any) -> Any:
    """Return what is wrong with the one choice that the value could have been."""
    while error.kind.name == "anyOf":
        alike = [found[0] for found in error.kind.context if found[0].kind.name != "type"]
        if len(alike) != 1:
            break
        error = alike[0]
    return error


def _lacks_zone(error: Any) -> bool:
    if error.kind.name != "format" or error.kind.format != "date-time":
        return False
    return _can_read(error.instance, datetime)


def _can_read(text: str, wanted: Any) -> bool:
    try:
        msgspec.convert(text, wanted)
    except (msgspec.ValidationError, OverflowError):
        return False
    return True


def _members(schema: str) -> list[str]:
    """Return the names of all parameters that a schema mentions, nested ones included."""
    return [
        name
        for _, found in payloads.walk(msgspec.json.decode(schema), "$")
        if isinstance(found, dict) and isinstance(found.get("properties"), dict)
        for name in found["properties"]
    ]


@lru_cache(maxsize=1_024)
def _validator(schema: str) -> Any:
    # Imported late: only those who submit by name need it, and it is the largest dependency.
    import jsonschema_rs

    if schema in ("", "{}"):
        return None
    try:
        return jsonschema_rs.validator_for(
            msgspec.json.decode(schema),
            retriever=_stay_here,
            formats={name: partial(_can_read, wanted=kind) for name, kind in _READ_AS.items()}
            | dict.fromkeys(_LEFT_TO_WORKERS, _accept),
            validate_formats=True,
        )
    except ValueError:
        # A handler that declares a schema we cannot read is still checked by its worker.
        return None


def _accept(_text: str) -> bool:
    return True


def _stay_here(uri: str) -> Any:
    """Fetch no other schema: a declaration must not make this process call somebody."""
    raise ValueError(f"{uri} is not part of the schema")


def _or(given: Any, default: Any) -> Any:
    return default if given is None else given


def _id(given: object) -> bytes:
    try:
        if isinstance(given, bytes) and len(given) == _ID_BYTES:
            created_at(given)
            return given
    except OverflowError:
        pass  # its time lies beyond every calendar
    raise InvalidId(f"id: {given!r} is not an id", hint="leave it out, or give a UUIDv7's 16 bytes")


def _on_exhausted(kind: str | None) -> str | None:
    return None if kind is None else check_name("on_exhausted", kind, KIND_CHARACTERS_MAX)


def _key(option: str, value: str | None) -> str | None:
    return None if value is None else check_key(option, value)


def _delay(wanted: Submission) -> int | None:
    if wanted.delay_ms is None:
        return None
    if wanted.due_at is not None:
        raise InvalidInput("delay and at: both were given", hint="give one of them")
    given: object = wanted.delay_ms
    if not isinstance(given, int) or isinstance(given, bool):
        raise InvalidDuration(f"delay: {given!r} is not a whole number of milliseconds")
    if wanted.delay_ms < 0:
        raise InvalidDuration(f"delay: {wanted.delay_ms} ms is negative", hint="give zero or more")
    if wanted.delay_ms > DELAY_SECONDS_MAX * 1_000:
        raise InvalidDuration(f"delay: more than {DELAY_SECONDS_MAX // 86_400} days ahead")
    return wanted.delay_ms


def _due(wanted: Submission) -> datetime | None:
    if wanted.due_at is None:
        return None
    try:
        instant = datetime.fromisoformat(wanted.due_at)
    except ValueError:
        raise InvalidInput(
            f"at: {wanted.due_at!r} is not an instant",
            hint="write it like 2027-01-31T09:00:00+01:00 or 2027-01-31T08:00:00Z",
        ) from None
    if instant.tzinfo is None:
        raise NaiveDatetime(f"at: {wanted.due_at!r} has no time zone")
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"at: {wanted.due_at!r} is outside of the calendar in UTC") from None


def _backoff(given: Mapping[str, int | float]) -> Backoff:
    try:
        found = msgspec.convert(dict(given), Backoff)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"backoff: {error}") from None
    unknown = set(given) - set(Backoff.__struct_fields__)
    if unknown:
        raise UnknownOption(
            f"backoff: there is no {min(unknown)!r}",
            hint=f"it has {', '.join(Backoff.__struct_fields__)}",
        )
    check_range("backoff.initial_ms", found.initial_ms, 0, DELAY_SECONDS_MAX * 1_000)
    check_range("backoff.cap_ms", found.cap_ms, 0, DELAY_SECONDS_MAX * 1_000)
    if not 1 <= found.factor <= 100 or not 0 <= found.jitter <= 1:
        raise InvalidInput("backoff: factor must be 1 to 100 and jitter 0 to 1")
    return found


PRIORITIES: Final = tuple(level.name.lower() for level in Priority)
