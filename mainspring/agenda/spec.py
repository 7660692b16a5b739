"""A schedule as it is kept: its times, the work of each fire, and its policies; as JSON text."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec

from mainspring.domain.job import (
    DEFAULT_MAX_ATTEMPTS,
    DEFAULT_MAX_CRASHES,
    DEFAULT_QUEUE,
    DEFAULT_TIMEOUT_MS,
    Backoff,
    Priority,
)
from mainspring.policies.firing import Policies
from mainspring.timetable.definition import (
    CalendarDefinition,
    Definition,
    compile_calendar,
    compile_timetable,
)
from mainspring.timetable.timetable import Timetable


class Work(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The job that a fire becomes, with every option resolved."""

    kind: str
    #: JSON text of the payload object.
    payload: str = "{}"
    queue: str = DEFAULT_QUEUE
    priority: int = Priority.NORMAL
    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    max_crashes: int = DEFAULT_MAX_CRASHES
    backoff: Backoff | None = None
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    on_exhausted: str | None = None
    #: ``report-{{week}}``, rendered from the nominal instant (``effect_keys``).
    effect_key: str | None = None


class Spec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All of a schedule that its user decides."""

    times: Definition
    work: Work
    policies: Policies = Policies()
    #: What it is for, in words.
    note: str = ""


_calendars: Final = msgspec.json.Decoder(tuple[CalendarDefinition, ...])


def spec_text(spec: Spec) -> bytes:
    """Return the one text of a spec: equal specs have equal texts."""
    return msgspec.json.encode(spec, order="deterministic")


@lru_cache(maxsize=65_536)
def read_spec(text: bytes) -> Spec:
    """Read what ``spec_text`` wrote."""
    return msgspec.json.decode(text, type=Spec)


def calendars_text(calendars: Sequence[CalendarDefinition]) -> bytes | None:
    """Return the text of the calendars that a schedule heeds; nothing when it heeds none."""
    ordered = sorted(calendars, key=lambda calendar: calendar.name)
    return msgspec.json.encode(ordered, order="deterministic") if ordered else None


def read_calendars(text: bytes | None) -> tuple[CalendarDefinition, ...]:
    """Read what ``calendars_text`` wrote."""
    return () if text is None else _calendars.decode(text)


@lru_cache(maxsize=65_536)
def timetable_of(spec: bytes, calendars: bytes | None) -> Timetable:
    """Return the timetable of a kept schedule; compiled once for equal texts."""
    compiled = {each.name: compile_calendar(each) for each in read_calendars(calendars)}
    return compile_timetable(read_spec(spec).times, compiled)
