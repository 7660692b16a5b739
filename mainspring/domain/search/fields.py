"""What the fields of a search are, and what their values mean for a job."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec

from mainspring.domain.ids import JOB, SCHEDULE, WORKER, show, window
from mainspring.domain.job import JobView, Priority
from mainspring.domain.names import suggestion
from mainspring.domain.outcome import ErrorInfo
from mainspring.domain.search import spans
from mainspring.domain.search.bounds import ANYTHING, Bounds
from mainspring.domain.search.nodes import Term, Value
from mainspring.domain.search.reader import broken
from mainspring.domain.states import STATE_WORDS

Test = Callable[[JobView], bool]


class Meaning(NamedTuple):
    """What one value requires: a test of a job, and what stores can look for."""

    test: Test
    bounds: Bounds = ANYTHING


class Field(NamedTuple):
    """A field: the sentence that documents it, and what a value of it means."""

    doc: str
    meaning: Callable[[str, Value, int, datetime], Meaning]


#: Names of the language that are promised for later.
LATER: Final = frozenset({"run", "tag", "meta"})
_PRIORITIES: Final = {level.name.lower(): level for level in Priority}
_errors: Final = msgspec.json.Decoder(ErrorInfo)


def checked(
    now: datetime, field: str, path: tuple[str, ...], values: list[tuple[int, Value]]
) -> Term:
    """Return the term if every value means something, or raise for the first that does not."""
    at = values[0][0]
    if path and field != "args":
        raise broken(at, f"{field}: has no members", f"write {field}:value")
    if field == "args" and not path:
        raise broken(at, "args: of which member?", "write args.user.id:42")
    plain = tuple(_plain(field, value) for _, value in values)
    for (place, _), value in zip(values, plain, strict=True):
        meaning(field, path, value, place, now)
    return Term(field, plain, path)


def _plain(field: str, value: Value) -> Value:
    """Return the value, marked as exact only where quotes change what it means."""
    text = value.text
    if not field:
        return Value(text.rstrip("*") or text)
    stars = text.endswith("*") and field in _WITH_STARS
    return Value(text, value.comparison, exact=value.exact and (stars or ".." in text))


def meaning(field: str, path: tuple[str, ...], value: Value, at: int, now: datetime) -> Meaning:
    """Return what a value of a field means at an instant."""
    if field == "args":
        return _member(path, value, at)
    if not field:
        return _bare(value)
    return FIELDS[field].meaning(field, value, at, now)


def _only_equal(field: str, value: Value, at: int) -> None:
    if value.comparison:
        raise broken(at, f"{field}: cannot be compared", f"write {field}:{value.text}")


def _state(field: str, value: Value, at: int, _now: datetime) -> Meaning:
    _only_equal(field, value, at)
    wanted = STATE_WORDS.get(value.text.lower())
    if wanted is None:
        raise broken(at, f"there is no state {value.text!r}", suggestion(value.text, STATE_WORDS))
    return Meaning(lambda job: job.state in wanted, Bounds(states=wanted))


def _priority(_field: str, value: Value, at: int, _now: datetime) -> Meaning:
    level = _PRIORITIES.get(value.text.lower())
    if level is None:
        raise broken(
            at, f"there is no priority {value.text!r}", suggestion(value.text, _PRIORITIES)
        )
    # Higher is sooner, and a smaller number.
    tests: dict[str, Test] = {
        "": lambda job: job.priority == level,
        "<": lambda job: job.priority > level,
        "<=": lambda job: job.priority >= level,
        ">": lambda job: job.priority < level,
        ">=": lambda job: job.priority <= level,
    }
    return Meaning(tests[value.comparison])


def _text(name: str, bound: str = "") -> Callable[[str, Value, int, datetime], Meaning]:
    def read(field: str, value: Value, at: int, _now: datetime) -> Meaning:
        _only_equal(field, value, at)
        text = value.text
        if text.endswith("*") and not value.exact:
            beginning = text[:-1]
            return Meaning(lambda job: (getattr(job, name) or "").startswith(beginning))
        bounds = Bounds(**{bound: frozenset({text})}) if bound else ANYTHING  # type: ignore[arg-type]  # a field that is a set of texts
        return Meaning(lambda job: getattr(job, name) == text, bounds)

    return read


def _number(name: str) -> Callable[[str, Value, int, datetime], Meaning]:
    def read(field: str, value: Value, at: int, _now: datetime) -> Meaning:
        span = spans.number_span(field, value, at)
        return Meaning(lambda job: spans.is_within(getattr(job, name), span))

    return read


def _instant(name: str, bound: str = "") -> Callable[[str, Value, int, datetime], Meaning]:
    def read(field: str, value: Value, at: int, now: datetime) -> Meaning:
        first, after = spans.instant_span(field, value, at, now)

        def test(job: JobView) -> bool:
            given: datetime | None = getattr(job, name)
            if given is None:
                return False
            return (first is None or first <= given) and (after is None or given < after)

        edges: dict[str, Any] = {f"{bound}_after": first, f"{bound}_before": after}
        return Meaning(test, Bounds(**edges) if bound else ANYTHING)

    return read


def _waited(field: str, value: Value, at: int, now: datetime) -> Meaning:
    span = spans.duration_span(field, value, at)

    def test(job: JobView) -> bool:
        until = job.started_at or job.finished_at or now
        return spans.is_within(max((until - job.due_at).total_seconds(), 0.0), span)

    return Meaning(test)


def _ran(field: str, value: Value, at: int, now: datetime) -> Meaning:
    span = spans.duration_span(field, value, at)

    def test(job: JobView) -> bool:
        if job.started_at is None:
            return False
        return spans.is_within(((job.finished_at or now) - job.started_at).total_seconds(), span)

    return Meaning(test)


def _error(field: str, value: Value, at: int, _now: datetime) -> Meaning:
    _only_equal(field, value, at)
    sought = value.text.lower()

    def test(job: JobView) -> bool:
        if job.error is None:
            return False
        try:
            error = _errors.decode(job.error)
        except msgspec.DecodeError:
            return False
        return sought in f"{error.type}: {error.message}".lower()

    return Meaning(test)


def _id(field: str, value: Value, at: int, _now: datetime) -> Meaning:
    _only_equal(field, value, at)
    found = window(JOB, value.text.rstrip("*"))
    if found is None:
        raise broken(at, f"{value.text!r} is not the beginning of an id", "write id:job_01JD3M")
    return Meaning(lambda job: _is_in(job.id, found), Bounds(id_from=found[0], id_before=found[1]))


def _worker(field: str, value: Value, at: int, _now: datetime) -> Meaning:
    _only_equal(field, value, at)
    found = window(WORKER, value.text.rstrip("*"))
    if found is None:
        raise broken(
            at, f"{value.text!r} is not the beginning of a worker's id", "write worker:wrk_01JD3M"
        )
    return Meaning(lambda job: job.worker_id is not None and _is_in(job.worker_id, found))


def _schedule(field: str, value: Value, at: int, _now: datetime) -> Meaning:
    _only_equal(field, value, at)
    found = window(SCHEDULE, value.text.rstrip("*"))
    if found is None:
        raise broken(
            at,
            f"{value.text!r} is not the beginning of a schedule's id",
            "write schedule:sch_01JD3M; mainspring jobs ls --schedule takes a name",
        )
    return Meaning(lambda job: job.schedule_id is not None and _is_in(job.schedule_id, found))


def _bare(value: Value) -> Meaning:
    """Look for an id or its beginning, or for the beginning of a kind."""
    text = value.text
    found = window(JOB, text)
    if found is None:
        return Meaning(lambda job: job.kind.startswith(text))
    if len(text) == len(show(JOB, bytes(16))):
        bounds = Bounds(id_from=found[0], id_before=found[1])
        return Meaning(lambda job: _is_in(job.id, found), bounds)
    return Meaning(lambda job: _is_in(job.id, found) or job.kind.startswith(text))


def _is_in(raw: bytes, ids: tuple[bytes, bytes | None]) -> bool:
    return ids[0] <= raw and (ids[1] is None or raw < ids[1])


def _member(path: tuple[str, ...], value: Value, at: int) -> Meaning:
    """Compare a member of the payload: as a number where both are, else as text."""
    text = value.text
    ranged = not value.exact and all(map(spans.is_number, text.split("..", 1)))
    span = None
    if value.comparison or (ranged and ".." in text):
        span = spans.number_span("args", value, at)
    prefix = text[:-1] if text.endswith("*") and not value.exact else None

    def test(job: JobView) -> bool:
        found = _walk(job.payload, path)
        if span is not None:
            is_number = isinstance(found, int | float) and not isinstance(found, bool)
            return is_number and spans.is_within(found, span)
        shown = found if isinstance(found, str) else msgspec.json.encode(found).decode()
        return found is not _ABSENT and (
            shown.startswith(prefix) if prefix is not None else shown == text
        )

    return Meaning(test)


_ABSENT: Final = msgspec.Raw(b"")


def _walk(payload: bytes, path: tuple[str, ...]) -> Any:
    try:
        found = msgspec.json.decode(payload)
    except (msgspec.DecodeError, RecursionError):
        return _ABSENT
    for step in path:
        if isinstance(found, dict) and step in found:
            found = found[step]
        elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        else:
            return _ABSENT
    return found


FIELDS: Final = {
    "state": Field("the state; also live, final, and failed (retrying or dead)", _state),
    "kind": Field("the name of the handler", _text("kind", "kinds")),
    "queue": Field("the queue", _text("queue", "queues")),
    "tenant": Field("the tenant", _text("tenant", "tenants")),
    "group": Field("the group of failures", _text("error_group", "groups")),
    "key": Field("the submission key", _text("submission_key")),
    "unique": Field("the unique key", _text("unique_key")),
    "effect": Field("the effect key", _text("effect_key")),
    "reason": Field("why it is in its state", _text("reason")),
    "error": Field("what the last error's type or message contains", _error),
    "id": Field("the id, or its beginning", _id),
    "worker": Field("the id of the worker of its last attempt, or its beginning", _worker),
    "schedule": Field("the id of the schedule that fired it, or its beginning", _schedule),
    "priority": Field("critical, high, normal or low; > means more urgent", _priority),
    "attempt": Field("the number of its last attempt", _number("attempt")),
    "tries": Field("how many attempts were charged", _number("tries")),
    "replays": Field("how often it was brought back", _number("replays")),
    "wait": Field("from due until the last attempt began, or until now", _waited),
    "ran": Field("how long the last attempt ran, or runs", _ran),
    "created": Field("when it was submitted", _instant("created_at", "created")),
    "due": Field("when it is due", _instant("due_at")),
    "started": Field("when the last attempt began", _instant("started_at")),
    "nominal": Field("the nominal instant of its fire", _instant("nominal_at")),
    "finished": Field("when it ended", _instant("finished_at", "finished")),
    "args": Field("a member of the payload: args.user.id:42", _text("payload")),
}
_WITH_STARS: Final = {
    "kind", "queue", "tenant", "group", "key", "unique", "effect", "reason", "args",
}  # fmt: skip
