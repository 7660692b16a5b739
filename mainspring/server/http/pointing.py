"""Errors point at the member that the sender wrote, under whatever name."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from mainspring.domain.errors import InvalidInput, InvalidSchedule, UnknownKind
from mainspring.wire.documents.definitions import ScheduleBody
from mainspring.wire.documents.schedules import ApplicationBody
from mainspring.wire.documents.submissions import SubmissionBody

_MEMBERS: Final = frozenset(ScheduleBody.__struct_fields__)
#: What a member of a schedule may be called in a body of ``POST /jobs``, beside its own name.
_CALLED: Final = {
    "when": ("cron_expression", "schedule"),
    "zone": ("timezone",),
    "misfire": ("misfire_policy", "missed_window"),
    "overlap": ("overlap_policy", "allow_overlap"),
    "effect_key": ("idempotency_key_template", "effect_key"),
    "kind": ("kind", "job_type", "type", "job_name", "name"),
    "name": ("name", "job_name"),
}


@contextmanager
def pointing_at(pointer: str, kind: type[InvalidInput] = InvalidInput) -> Iterator[None]:
    """Let errors of a kind point at one member, or with ``?`` at a parameter."""
    try:
        yield
    except kind as error:
        error.details.setdefault("pointer", pointer)
        raise


@contextmanager
def pointing(before: str = "") -> Iterator[None]:
    """Let errors point into a body of a schedule; ``before`` is where that stands."""
    try:
        yield
    except InvalidInput as error:
        _point(error, before, _member(error))
        raise


@contextmanager
def pointing_into_set(body: ApplicationBody) -> Iterator[None]:
    """Let errors point into a set of schedules and calendars."""
    try:
        yield
    except InvalidInput as error:
        place = _place("schedules", error.details.get("schedule"), body.schedules)
        if place:
            _point(error, place, _member(error))
        place = _place("calendars", error.details.get("calendar"), body.calendars)
        if place:
            _point(error, place, str(error.details.get("field", "")).partition("[")[0])
        raise


@contextmanager
def pointing_at_given(body: SubmissionBody) -> Iterator[None]:
    """Let errors point at what a schedule's members are called in a body of ``POST /jobs``."""
    try:
        yield
    except InvalidInput as error:
        member = _member(error)
        given = [name for name in _CALLED.get(member, ()) if getattr(body, name) is not None]
        _point(error, "", given[0] if given else member)
        raise


def _member(error: InvalidInput) -> str:
    """Return the member of a schedule that an error is about; parts of a rule are in ``when``."""
    field = str(error.details.get("field") or error.message.partition(":")[0]).partition("[")[0]
    if field in _MEMBERS:
        return field
    if isinstance(error, UnknownKind):
        return "kind"
    return "when" if isinstance(error, InvalidSchedule) else ""


def _point(error: InvalidInput, before: str, member: str) -> None:
    inside = error.details.get("pointer")
    if isinstance(inside, str):
        # Into the payload, where a handler's schema says what belongs there.
        error.details.pop("kind", None)
        error.details["pointer"] = f"{before}/payload{inside.rstrip('/')}"
    elif before or member:
        error.details["pointer"] = f"{before}/{member}".rstrip("/")


def _place(members: str, name: object, items: Sequence[object]) -> str:
    for index, item in enumerate(items):
        if name is not None and getattr(item, "name", None) == name:
            return f"/{members}/{index}"
    return ""
