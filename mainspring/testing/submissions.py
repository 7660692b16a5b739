"""What was submitted against what a test expects, and the words that tell the difference."""

import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from mainspring.app.durations import milliseconds
from mainspring.app.handlers import Handler
from mainspring.app.uniqueness import check_unique, unique_key
from mainspring.domain.errors import InvalidInput, InvalidPayload, MainspringError, NaiveDatetime
from mainspring.domain.job import Priority
from mainspring.domain.names import priority_of, suggestion
from mainspring.ports.gateway import Submission
from mainspring.testing.snapshots import duration_words
from mainspring.testing.world import Sent

#: What may be asked of a submission besides its arguments.
OPTION_NAMES: Final = (
    "delay",
    "at",
    "queue",
    "priority",
    "key",
    "unique",
    "tenant",
    "effect_key",
    "timeout",
    "max_attempts",
)
_SHOWN_MAX: Final = 10
_MISSING: Final = object()


class Expected:
    """A submission as a test expects it: some arguments, some options; the rest is not looked at.

    A name that is a parameter of the handler means the argument; then the option of that name is
    given by a call: ``assert_submitted(job.call(queue="x").options(queue="bulk"))``.
    """

    def __init__(self, handler: Handler, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Sort what was given into arguments and options; refuse what can never match."""
        self.handler = handler
        self.kind = handler.kind
        signature = handler.codec.signature
        options = {
            name: value
            for name, value in kwargs.items()
            if name in OPTION_NAMES and name not in signature.parameters
        }
        given = {name: value for name, value in kwargs.items() if name not in options}
        for name in given:
            if name not in signature.parameters:
                raise InvalidPayload(
                    f"{handler.kind}: there is no parameter and no option {name!r}",
                    hint=suggestion(name, [*signature.parameters, *OPTION_NAMES, "times"]),
                )
        try:
            bound = signature.bind_partial(*args, **given)
        except TypeError as error:
            raise InvalidPayload(f"{handler.kind}: {error}", hint=handler.codec.usage()) from None
        self.arguments: dict[str, Any] = dict(bound.arguments)
        self.options = {
            name: _wanted(name, value) for name, value in options.items() if value is not None
        }

    def take(self, wanted: Submission) -> None:
        """Expect what a call would submit: all of its arguments, and the options it names."""
        self.arguments = self.handler.decode(wanted.payload) | self.arguments
        given: dict[str, Any] = {
            "queue": wanted.queue,
            "priority": None if wanted.priority is None else priority_of(wanted.priority),
            "delay": _duration(wanted.delay_ms),
            "at": None if wanted.due_at is None else datetime.fromisoformat(wanted.due_at),
            "timeout": _duration(wanted.timeout_ms),
            "max_attempts": wanted.max_attempts,
            "effect_key": wanted.effect_key,
            "key": wanted.key,
            "unique": wanted.unique_key,
        }
        chosen = {name: value for name, value in given.items() if value is not None}
        self.options = chosen | self.options

    def differences(self, sent: Sent) -> list[str]:
        """Return what differs, in words; nothing when the submission is as expected."""
        found = self._argument_differences(sent)
        for name, given in self.options.items():
            actual = _actual(name, sent)
            is_asked = name == "unique" and isinstance(given, bool | tuple)
            wanted = self._unique(given, sent) if is_asked else given
            if actual != wanted:
                found.append(f"{name}: {_shown(name, actual)}, expected {_shown(name, wanted)}")
        return found

    def _unique(self, wanted: bool | tuple[str, ...], sent: Sent) -> str | None:  # noqa: FBT001 - what unique= takes
        if wanted is False:
            return None
        return unique_key(wanted, self.kind, self.handler.codec.members(sent.job.payload))

    def _argument_differences(self, sent: Sent) -> list[str]:
        if not self.arguments:
            return []
        raw: dict[str, Any] = msgspec.json.decode(sent.job.payload)
        try:
            typed: dict[str, Any] = self.handler.decode(sent.job.payload)
        except MainspringError:
            typed = raw
        found = []
        for name, wanted in self.arguments.items():
            actual = typed.get(name, self._default(name))
            if actual == wanted or self._same_json(raw.get(name, _MISSING), wanted):
                continue
            shown = "not given" if actual is _MISSING else repr(actual)
            found.append(f"{name}: {shown}, expected {wanted!r}")
        return found

    def _same_json(self, raw: Any, wanted: Any) -> bool:
        """Compare as JSON: a parameter without a type comes back as text where a date went in."""
        if raw is _MISSING:
            return False
        try:
            return bool(raw == self.handler.codec.plain(wanted))
        except MainspringError:
            return False

    def _default(self, name: str) -> Any:
        default = self.handler.codec.signature.parameters[name].default
        return _MISSING if default is inspect.Parameter.empty else default

    def __str__(self) -> str:
        """Write the expectation like a call."""
        given = [f"{name}={value!r}" for name, value in self.arguments.items()]
        options = [f"{name}={_shown(name, value)}" for name, value in self.options.items()]
        return f"{self.kind}({', '.join(given)})" + _with(options)


def _wanted(name: str, value: Any) -> Any:
    match name:
        case "delay":
            return timedelta(milliseconds=milliseconds(value, name="delay"))
        case "timeout":
            return timedelta(milliseconds=milliseconds(value, name="timeout"))
        case "at":
            if not isinstance(value, datetime):
                raise InvalidInput(f"at: {value!r} is not an instant", hint="give a datetime")
            if value.tzinfo is None:
                raise NaiveDatetime(f"at: {value.isoformat()} has no time zone")
            return value
        case "priority":
            return priority_of(value)
        case "unique":
            return False if value is False else check_unique(value)
        case _:
            return value


def _actual(name: str, sent: Sent) -> Any:
    job = sent.job
    match name:
        case "delay":
            return sent.due_at - sent.at
        case "timeout":
            return timedelta(milliseconds=job.timeout_ms)
        case "at":
            return sent.due_at
        case "key":
            return job.submission_key
        case "unique":
            return job.unique_key
        case _:
            return getattr(job, name)


def _duration(found_ms: int | None) -> timedelta | None:
    return None if found_ms is None else timedelta(milliseconds=found_ms)


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, timedelta):
        return duration_words(value) if value else "none"
    if isinstance(value, datetime):
        return value.isoformat()
    if name == "priority":
        return Priority(value).name.lower()
    return repr(value)


def _with(options: Sequence[str]) -> str:
    return f" with {', '.join(options)}" if options else ""


def sent_words(sent: Sent) -> str:
    """Write a submission like a call, with the options that say something."""
    raw = msgspec.json.decode(sent.job.payload)
    given = [f"{name}={value!r}" for name, value in raw.items()] if isinstance(raw, dict) else []
    options = []
    if sent.due_at != sent.at:
        options.append(f"delay={duration_words(sent.due_at - sent.at)}")
    if sent.job.queue != "default":
        options.append(f"queue={sent.job.queue!r}")
    if sent.job.priority != Priority.NORMAL:
        options.append(f"priority={Priority(sent.job.priority).name.lower()}")
    if sent.job.submission_key is not None:
        options.append(f"key={sent.job.submission_key!r}")
    if not sent.created:
        options.append("found the earlier job")
    return f"{sent.job.kind}({', '.join(given)})" + _with(options)


def missing_words(expected: Expected, of_kind: Sequence[Sent], all_sent: Sequence[Sent]) -> str:
    """Tell that nothing matched: what came nearest first, with what differs."""
    lines = [f"{expected} was not submitted"]
    if not of_kind:
        if not all_sent:
            return f"{lines[0]}; nothing was"
        counts = Counter(sent.job.kind for sent in all_sent)
        shown = ", ".join(f"{kind} x {count}" for kind, count in counts.most_common(_SHOWN_MAX))
        return f"{lines[0]}; no {expected.kind} was. Submitted: {shown}"
    ranked = sorted(of_kind, key=lambda sent: len(expected.differences(sent)))
    lines.append(f"{len(of_kind)} of {expected.kind} {_were(len(of_kind))}:")
    for sent in ranked[:_SHOWN_MAX]:
        lines.append(f"  {sent_words(sent)}")
        lines += [f"    {difference}" for difference in expected.differences(sent)]
    if len(ranked) > _SHOWN_MAX:
        lines.append(f"  and {len(ranked) - _SHOWN_MAX} more")
    return "\n".join(lines)


def counted_words(expected: Expected, matching: Sequence[Sent], times: int) -> str:
    """Tell that something matched, but not as often as expected."""
    lines = [f"{expected} was submitted {_times(len(matching))}, expected {_times(times)}:"]
    lines += [f"  {sent_words(sent)}" for sent in matching[:_SHOWN_MAX]]
    return "\n".join(lines)


def unwanted_words(expected: Expected, matching: Sequence[Sent]) -> str:
    """Tell what was submitted although it should not have been."""
    lines = [f"{expected} was submitted, and should not have been:"]
    lines += [f"  {sent_words(sent)}" for sent in matching[:_SHOWN_MAX]]
    return "\n".join(lines)


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
