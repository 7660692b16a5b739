"""The options of a submission: one set of names for decorator, ``.options()``, clients and CLI."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

import msgspec

from mainspring.app.durations import milliseconds
from mainspring.app.retries import Retry, check_retry
from mainspring.app.uniqueness import Unique, check_unique, key_as_unique, unique_key
from mainspring.domain.errors import InvalidInput, NaiveDatetime, UnknownOption
from mainspring.domain.job import ON_DUPLICATE, UNIQUE_WHILE
from mainspring.domain.limits import (
    KIND_CHARACTERS_MAX,
    QUEUE_CHARACTERS_MAX,
    TENANT_CHARACTERS_MAX,
)
from mainspring.domain.names import check_choice, check_key, check_name, suggestion
from mainspring.ports.gateway import Submission

if TYPE_CHECKING:
    from mainspring.app.codec import Codec
    from mainspring.app.declare import Job


class Options(TypedDict, total=False):
    """What may be chosen for a submission. ``None`` is the same as not given."""

    queue: str | None
    priority: str | int | None
    #: Not before this much time has passed: ``"15m"`` or a ``timedelta``.
    delay: str | timedelta | None
    #: Not before this instant, which must have a zone.
    at: datetime | None
    #: The submission key: repeated with the same body it names the same job.
    key: str | None
    #: At most one live job: of this text, of equal payloads (``True``), or of equal members.
    unique: str | bool | tuple[str, ...] | None
    #: Until when ``unique`` holds: while the job is ``live``, or ``waiting`` (not yet begun).
    unique_while: Literal["live", "waiting"] | None
    #: What a second one does: return the ``existing``, ``reject``, or ``replace`` a waiting one.
    on_duplicate: Literal["existing", "reject", "replace"] | None
    timeout: str | timedelta | None
    max_attempts: int | None
    retry: Retry | None
    #: The job that is submitted, in the same transaction, when this one goes dead; it receives a
    #: ``Failure``.
    on_exhausted: "str | Job[..., Any] | None"
    #: What handlers pass on as their idempotency key; the job's id if not given.
    effect_key: str | None
    tenant: str | None


class Chosen(msgspec.Struct, frozen=True):
    """Options as they were read: members of a ``Submission``, and what ``unique`` asks for."""

    fields: dict[str, Any] = {}
    unique: Unique | None = None

    def extended(self, more: "Chosen") -> "Chosen":
        """Return these options with others on top."""
        unique = self.unique if more.unique is None else more.unique
        fields = self.fields | more.fields
        if more.fields.get("delay_ms") is not None:
            fields["due_at"] = None
        if more.fields.get("due_at") is not None:
            fields["delay_ms"] = None
        return Chosen(fields, unique)

    def applied(self, submission: Submission, codec: "Codec | None") -> Submission:
        """Return a submission with these options; without a codec nothing knows defaults."""
        if self is NOTHING:
            return submission
        fields = dict(self.fields)
        if self.unique is not None:
            members = codec.members(submission.payload) if codec else _members(submission.payload)
            fields["unique_key"] = unique_key(self.unique, submission.kind, members)
        elif "on_duplicate" in fields and (codec is not None or "key" in fields):
            # By name alone, only the registry knows what the handler declares.
            fields["unique_key"] = key_as_unique(fields.pop("key", None))
        return msgspec.structs.replace(submission, **fields)


NOTHING: Final = Chosen()
OPTION_NAMES: Final = tuple(Options.__annotations__)


def read_options(given: Mapping[str, Any]) -> Chosen:
    """Return the options that were given, checked, or raise naming the one that is wrong."""
    for name in given:
        if name not in OPTION_NAMES:
            raise UnknownOption(f"there is no option {name!r}", hint=suggestion(name, OPTION_NAMES))
    options = {name: value for name, value in given.items() if value is not None}
    if "delay" in options and "at" in options:
        raise InvalidInput("delay and at: both were given", hint="give one of them")
    fields = _read_names(options)
    if "priority" in options:
        fields["priority"] = options["priority"]
    _read_times(options, fields)
    _read_retry(options, fields)
    if "on_exhausted" in options:
        fields["on_exhausted"] = _kind("on_exhausted", options["on_exhausted"])
    unique = check_unique(options["unique"]) if "unique" in options else None
    if "unique_while" in options:
        chosen = check_choice("unique_while", options["unique_while"], UNIQUE_WHILE)
        fields["unique_while"] = chosen
    if "on_duplicate" in options:
        chosen = check_choice("on_duplicate", options["on_duplicate"], ON_DUPLICATE)
        fields["on_duplicate"] = chosen
    return Chosen(fields, unique)


def _read_names(options: Mapping[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name in ("key", "effect_key"):
        if name in options:
            fields[name] = check_key(name, options[name])
    for name, most in (("queue", QUEUE_CHARACTERS_MAX), ("tenant", TENANT_CHARACTERS_MAX)):
        if name in options:
            fields[name] = check_name(name, options[name], most)
    return fields


def _kind(name: str, given: object) -> str:
    """Return the kind of a job that is given itself or by its name."""
    kind = getattr(given, "kind", given)
    if isinstance(kind, str):
        return check_name(name, kind, KIND_CHARACTERS_MAX)
    raise InvalidInput(f"{name}: {given!r} is no job", hint=f'write {name}=job or {name}="kind"')


def _members(payload: bytes) -> dict[str, Any]:
    found = msgspec.json.decode(payload)
    return found if isinstance(found, dict) else {}


def _read_times(options: Mapping[str, Any], fields: dict[str, Any]) -> None:
    for name in ("delay", "timeout"):
        if name in options:
            fields[f"{name}_ms"] = milliseconds(options[name], name=name)
    at = options.get("at")
    if at is None:
        return
    if not isinstance(at, datetime):
        raise InvalidInput(
            f"at: {at!r} is not an instant", hint="give a datetime with a zone, or use delay"
        )
    if at.tzinfo is None:
        raise NaiveDatetime(f"at: {at.isoformat()} has no time zone")
    fields["due_at"] = at.isoformat()


def _read_retry(options: Mapping[str, Any], fields: dict[str, Any]) -> None:
    retry = options.get("retry")
    if retry is not None:
        check_retry(retry)
        if retry.on:
            raise InvalidInput(
                "retry: on= cannot be chosen for one submission",
                hint="which errors are retried is the handler's: give it to @app.job",
            )
        fields["max_attempts"] = retry.max_attempts
        fields["max_crashes"] = retry.max_crashes
        fields["backoff"] = msgspec.structs.asdict(retry.wait)
    if "max_attempts" in options:
        fields["max_attempts"] = options["max_attempts"]
