"""Files of schedules and calendars, for ``schedules apply``: YAML, JSON or TOML.

>>> schedules:
...   - name: nightly
...     kind: report
...     payload: {day: 3}
...     cron: "0 2 * * *"
...     zone: Europe/Berlin
"""

import sys
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from mainspring.cli.schedule_options import (
    Given,
    Times,
    draft_from,
    instant,
    rules_of,
    work_options,
)
from mainspring.cli.schedule_pages import schedule_record
from mainspring.cli.yaml_reading import read_yaml
from mainspring.domain.errors import InvalidInput, MainspringError, NotJson, UnknownOption
from mainspring.domain.job import DEFAULT_TENANT
from mainspring.domain.names import check_choice, suggestion
from mainspring.domain.schedule import CalendarView, ScheduleView
from mainspring.ports.gateway import Submission
from mainspring.ports.scheduling import Application, CalendarDraft, ScheduleDraft

_BYTES_MAX: Final = 4_194_304
_RULES: Final[tuple[str, ...]] = ("cron", "every", "rrule", "at", "when")
_TIMES: Final[tuple[str, ...]] = (
    "zone", "anchor", "starts_at", "ends_at", "max_fires", "dst_gap", "dst_fold", "calendars",
    "only_on", "on_excluded", "jitter", "jitter_mode",
)  # fmt: skip
_POLICIES: Final[tuple[str, ...]] = (
    "misfire", "misfire_threshold", "catchup_window", "max_missed", "catchup_rate", "overlap",
    "pause_after_failures", "effect_key",
)  # fmt: skip
_WORK: Final[tuple[str, ...]] = (
    "queue", "priority", "max_attempts", "max_crashes", "backoff", "timeout", "on_exhausted",
)  # fmt: skip
_OWN: Final[tuple[str, ...]] = ("name", "tenant", "kind", "payload", "note")
MEMBERS: Final = (*_OWN, *_RULES, *_TIMES, *_POLICIES, *_WORK)
#: Other words for the same, as other schedulers and the options of commands have them.
_ALIASES: Final = {
    "job_name": "name",
    "job_type": "kind",
    "handler_type": "kind",
    "cron_expression": "cron",
    "schedule": "when",
    "schedule_expr": "when",
    "dates": "at",
    "tz": "zone",
    "timezone": "zone",
    "start": "starts_at",
    "start_at": "starts_at",
    "end": "ends_at",
    "end_at": "ends_at",
    "max_runs": "max_fires",
    "calendar": "calendars",
    "not_on": "calendars",
    "misfire_policy": "misfire",
    "missed_window": "misfire",
    "overlap_policy": "overlap",
    "allow_overlap": "overlap",
    "idempotency_key_template": "effect_key",
}
#: Names that say their unit; their values are whole numbers.
_WITH_UNIT: Final = {
    "misfire_threshold_seconds": ("misfire_threshold", "s"),
    "catchup_window_seconds": ("catchup_window", "s"),
    "jitter_seconds": ("jitter", "s"),
    "timeout_seconds": ("timeout", "s"),
    "timeout_ms": ("timeout", "ms"),
}
#: Members of a record (``schedules get -o json``) that a file has, too, in this order.
_EXPORTED: Final = (
    "name", "tenant", "note", "kind", "payload", "when", "zone", "anchor", "starts_at", "ends_at",
    "max_fires", "dst_gap", "dst_fold", "calendars", "only_on", "on_excluded", "jitter_seconds",
    "jitter_mode", "misfire", "misfire_threshold_seconds", "catchup_window_seconds", "max_missed",
    "catchup_rate", "overlap", "pause_after_failures", "effect_key", "queue", "priority",
    "max_attempts", "max_crashes", "backoff", "timeout_ms", "on_exhausted",
)  # fmt: skip
_CHOICES: Final = {
    "dst_gap": ("policy", "shift", "skip"),
    "dst_fold": ("first", "second", "both"),
    "on_excluded": ("skip", "next_business_day", "previous_business_day"),
    "jitter_mode": ("per_fire", "fixed"),
}
_WHOLE: Final = (
    "max_fires", "max_missed", "catchup_rate", "pause_after_failures", "max_attempts",
    "max_crashes",
)  # fmt: skip
_LISTS: Final = (*_RULES, "calendars", "only_on")
_CALENDAR: Final = ("name", "entries", "business_days", "tenant")
_TOP: Final = ("schedules", "calendars")
_EXAMPLE: Final = "write schedules: and below it one - name: … for each"


def read_file(name: str, *, tenant: str | None = None) -> Application:
    """Return what a file declares; ``-`` is stdin. Raises naming the schedule that is wrong."""
    shown = "stdin" if name == "-" else name
    text = _text(name)
    try:
        document = _parsed(name, text)
    except MainspringError as error:
        raise _at(error, shown) from None
    schedules, calendars = _parts(document, shown)
    drafts = [_in(f"{shown}: schedule", each, _schedule, tenant) for each in schedules]
    drawn = [_in(f"{shown}: calendar", each, _calendar, tenant) for each in calendars]
    if not drafts and not drawn:
        raise InvalidInput(f"{shown}: there is nothing in it", hint=_EXAMPLE)
    return Application(schedules=tuple(drafts), calendars=tuple(drawn))


# --- reading ------------------------------------------------------------------------------------


def _text(name: str) -> str:
    if name == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise InvalidInput(
                "- reads the schedules from stdin, which is a terminal",
                hint="pipe them: cat schedules.yaml | mainspring schedules apply -",
            )
        raw = sys.stdin.buffer.read(_BYTES_MAX + 1)
    else:
        try:
            with Path(name).open("rb") as file:
                raw = file.read(_BYTES_MAX + 1)
        except OSError as error:
            raise InvalidInput(
                f"{name!r} cannot be read: {error.strerror}",
                hint="give a file of schedules, or - for stdin",
            ) from None
    if len(raw) > _BYTES_MAX:
        raise InvalidInput(f"{name}: more than {_BYTES_MAX:,} bytes", hint="apply it in parts")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{name}: this is not UTF-8", hint="save it as UTF-8") from None


def _parsed(name: str, text: str) -> Any:
    if name.endswith(".toml"):
        try:
            return _plain(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise InvalidInput(str(error)[:1].lower() + str(error)[1:], hint=_EXAMPLE) from None
    if name.endswith(".json"):
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise NotJson(f"this is not JSON: {error}", hint="or name the file .yaml") from None
    # JSON is YAML, too.
    return read_yaml(text)


def _plain(value: Any) -> Any:
    """Return what TOML says as JSON would: instants are text."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, datetime | date) else value


def _parts(document: Any, shown: str) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the schedules and the calendars of a document, whichever of its forms it has."""
    if isinstance(document, list):
        return document, ()
    if not isinstance(document, dict):
        raise InvalidInput(f"{shown}: there are no schedules in it", hint=_EXAMPLE)
    if any(_own_name(member)[0] in ("name", "kind") for member in document):
        return [document], ()
    for name in document:
        if name not in _TOP:
            raise UnknownOption(f"{shown}: there is no {name!r}", hint=suggestion(name, _TOP))
    found = [_items(document.get(name), f"{shown}: {name}") for name in _TOP]
    return found[0], found[1]


def _items(value: Any, where: str) -> Sequence[Any]:
    """Return a list of things; a mapping has their names in front."""
    if value is None:
        return ()
    if isinstance(value, Mapping):
        return [
            {"name": name, **item} if isinstance(item, Mapping) else item
            for name, item in value.items()
        ]
    if isinstance(value, list):
        return value
    raise InvalidInput(f"{where} is no list", hint=_EXAMPLE)


# --- writing ------------------------------------------------------------------------------------


def exported(views: Sequence[ScheduleView], calendars: Sequence[CalendarView]) -> dict[str, Any]:
    """Return what ``read_file`` makes the same schedules of; what nobody chose is left out."""
    from mainspring.policies.firing import Policies
    from mainspring.registry.calendars import definitions_of

    draft = ScheduleDraft(name="", when=(), work=Submission(kind=""))
    plain = msgspec.structs.asdict(draft) | msgspec.structs.asdict(Policies())
    plain["tenant"] = DEFAULT_TENANT
    heeded: set[str] = set()
    schedules = []
    for view in views:
        record = schedule_record(view)
        heeded.update(record["calendars"], record["only_on"])
        schedules.append(
            {
                name: record[name]
                for name in _EXPORTED
                if record[name] not in (None, "", []) and record[name] != plain.get(name)
            }
        )
    kept = definitions_of([view for view in calendars if view.name in heeded])
    found: dict[str, Any] = {"schedules": schedules}
    if kept:
        found = {"calendars": [msgspec.structs.asdict(each) for each in kept.values()], **found}
    return found


# --- one of them --------------------------------------------------------------------------------


def _in(where: str, item: Any, make: Any, tenant: str | None) -> Any:
    """Make one of the things, with its name in front of what is wrong."""
    if not isinstance(item, Mapping):
        raise InvalidInput(f"{where} {str(item)[:40]!r} has no members", hint=_EXAMPLE)
    try:
        return make(item, tenant)
    except MainspringError as error:
        raise _at(error, f"{where} {str(item.get('name', '?'))[:64]}") from None


def _at(error: MainspringError, where: str) -> MainspringError:
    error.message = f"{where}: {error.message}"
    error.args = (error.message,)
    return error


def _calendar(item: Mapping[str, Any], tenant: str | None) -> CalendarDraft:
    from mainspring.app.schedules import calendar_draft

    for member in item:
        if member not in _CALENDAR:
            raise UnknownOption(f"there is no {member!r}", hint=suggestion(member, _CALENDAR))
    return calendar_draft(
        _string("name", item.get("name")),
        [_string("entries", each) for each in _list("entries", item.get("entries", []))],
        business_days=_string("business_days", item.get("business_days", "MON-FRI")),
        tenant=_tenant(item, tenant),
    )


def _tenant(item: Mapping[str, Any], otherwise: str | None) -> str | None:
    """Return whose it is by its own word, else by the command's; nobody may be named at all."""
    return _string("tenant", item["tenant"]) if "tenant" in item else otherwise


def _schedule(item: Mapping[str, Any], tenant: str | None) -> ScheduleDraft:
    found = _renamed(item)
    payload = found.get("payload")
    if payload is not None and not isinstance(payload, dict):
        raise InvalidInput("payload: this is no mapping", hint="write payload: {name: value}")
    zone = found.get("zone")
    texts: dict[str, Any] = {name: tuple(found[name]) for name in _RULES if name in found}
    rules = rules_of(Times(zone=zone, anchor=found.get("anchor"), **texts))
    options: dict[str, Any] = {name: found[name] for name in (*_TIMES, *_POLICIES) if name in found}
    for name in ("starts_at", "ends_at"):
        if name in options:
            options[name] = instant(_string(name, options[name]), name=name, zone=zone or "UTC")
    if (home := _tenant(found, tenant)) is not None:
        options["tenant"] = home
    return draft_from(
        _string("name", found.get("name")),
        _string("kind", found.get("kind")),
        msgspec.json.encode(payload or {}),
        Given(
            rules=rules,
            options=options,
            work=work_options({name: found[name] for name in _WORK if name in found}),
        ),
        note=found.get("note", ""),
    )


def _renamed(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members by their own names, each of the type that it must have."""
    found: dict[str, Any] = {}
    for given_name, value in item.items():
        name, unit = _own_name(given_name)
        if name not in MEMBERS:
            raise UnknownOption(f"there is no {given_name!r}", hint=suggestion(name, MEMBERS))
        if name in found:
            raise InvalidInput(f"{name} was given twice, also as {given_name}", hint="give it once")
        if value is None:
            continue
        found[name] = _typed(given_name, name, value, unit)
    return found


def _own_name(given_name: str) -> tuple[str, str]:
    """Return our name of a member, and the unit of its values where the given name says one."""
    folded = given_name.replace("-", "_")
    return _WITH_UNIT.get(folded, (_ALIASES.get(folded, folded), ""))


def _typed(given_name: str, name: str, value: Any, unit: str) -> Any:
    if unit:
        return f"{_number(given_name, value)}{unit}"
    if name in _WHOLE:
        return _number(name, value)
    if name in _CHOICES:
        return check_choice(name, value, _CHOICES[name])
    if name in _LISTS:
        return [_string(name, each) for each in _list(name, value)]
    is_bool = name == "overlap" and isinstance(value, bool)
    is_mapping = name == "backoff" and isinstance(value, Mapping)
    if name in ("payload", "priority") or is_bool or is_mapping:
        return value
    return _string(given_name, value)


def _list(name: str, value: Any) -> list[Any]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and value:
        return value
    raise InvalidInput(f"{name}: this is no list", hint=f"write {name}: [a, b], or one text")


def _string(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        raise InvalidInput(f"{name} is missing", hint=f"write {name}: …")
    raise InvalidInput(f"{name}: {value!r} is no text", hint=f'quote it: {name}: "{value}"')


def _number(name: str, value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise InvalidInput(f"{name}: {value!r} is not a whole number", hint=f"write {name}: 10")
