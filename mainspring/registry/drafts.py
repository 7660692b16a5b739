"""Drafts of schedules and calendars are checked here, before anything is stored."""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from mainspring.agenda.effect_keys import check_template
from mainspring.agenda.spec import Spec, Work, calendars_text, read_spec, spec_text
from mainspring.domain.errors import InvalidInput, InvalidSchedule, MainspringError
from mainspring.domain.ids import SCHEDULE, parse
from mainspring.domain.job import NewJob
from mainspring.domain.limits import (
    INLINE_BYTES_MAX,
    INTERVAL_SECONDS_MIN,
    SCHEDULE_CHARACTERS_MAX,
    TENANT_CHARACTERS_MAX,
)
from mainspring.domain.names import check_name, check_note
from mainspring.policies.firing import policies_of
from mainspring.ports.scheduling import CalendarDraft, Difference, ScheduleDraft
from mainspring.timetable.cron_hash import has_hashes, resolve_hashes
from mainspring.timetable.definition import (
    CalendarDefinition,
    Definition,
    check_definition,
    compile_calendar,
    compile_timetable,
)
from mainspring.timetable.timetable import Timetable

T = TypeVar("T")


class Checked(NamedTuple):
    """A draft that can be stored."""

    draft: ScheduleDraft
    spec: Spec
    timetable: Timetable
    #: What is stored of both.
    text: bytes
    calendars: bytes | None


class Terms(NamedTuple):
    """What drafts are checked against."""

    #: The store's clock, in seconds.
    now: int
    #: The tenant's calendars by name.
    calendars: Mapping[str, CalendarDefinition]
    seconds_min: int = INTERVAL_SECONDS_MIN
    payload_bytes: int = INLINE_BYTES_MAX
    #: A rule of which no fire will come any more is taken as well.
    may_be_over: bool = False


def check_draft(draft: ScheduleDraft, job: NewJob, terms: Terms) -> Checked:
    """Return what is to be stored, or raise the error that names the member that is wrong.

    ``job`` is what the draft's work was validated to, options of its handler filled in.
    """
    check_schedule_name(draft.name)
    check_note("note", draft.note)
    times = _times(draft, job.tenant)
    names = {heeds.calendar for heeds in times.calendars}
    heeded = [terms.calendars[name] for name in sorted(names & terms.calendars.keys())]
    # All of them are offered as suggestions for a slip, so that names alone are not enough.
    known = {name: compile_calendar(terms.calendars[name]) for name in terms.calendars if names}
    if terms.may_be_over:
        timetable = compile_timetable(times, known)
    else:
        timetable = check_definition(times, terms.now, known, seconds_min=terms.seconds_min)
    if len(job.payload) > terms.payload_bytes:
        raise InvalidSchedule(
            f"payload: {len(job.payload):,} bytes; a schedule keeps at most "
            f"{terms.payload_bytes:,}",
            hint="store the bulk elsewhere and pass a reference",
            details={"field": "payload"},
        )
    spec = Spec(times=times, work=_work(job), policies=policies_of(draft.policies), note=draft.note)
    return Checked(draft, spec, timetable, spec_text(spec), calendars_text(heeded))


def check_schedule_name(name: object) -> str:
    """Return the name of a schedule; one that reads as an id would name two things."""
    found = check_name("name", name, SCHEDULE_CHARACTERS_MAX)
    if is_id(found):
        raise InvalidInput(f"name: {found!r} is an id", hint="choose a name that says what for")
    return found


def is_id(word: str) -> bool:
    """Say whether a word is the id of a schedule, as it is shown."""
    try:
        parse(SCHEDULE, word)
    except MainspringError:
        return False
    return True


def check_calendar(draft: CalendarDraft) -> CalendarDefinition:
    """Return a calendar that can be stored, or raise naming the entry that is wrong."""
    check_name("tenant", draft.home, TENANT_CHARACTERS_MAX)
    check_name("name", draft.name, SCHEDULE_CHARACTERS_MAX)
    found = converted(
        {
            "name": draft.name,
            "entries": draft.entries,
            "business_days": draft.business_days,
        },
        CalendarDefinition,
    )
    if not found.entries:
        raise InvalidSchedule("entries: a calendar without entries", hint="give at least one")
    compile_calendar(found)
    return found


def converted(given: Mapping[str, Any], wanted: type[T]) -> T:
    """Return plain values as a struct, or raise naming the member of the wrong type."""
    try:
        return msgspec.convert(dict(given), wanted)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        field = where.rstrip("`").partition("[")[0]
        raise InvalidSchedule(
            f"{field}: {what[:1].lower()}{what[1:]}" if field else str(error),
            hint=None,
            details={"field": field},
        ) from None


def _times(draft: ScheduleDraft, tenant: str) -> Definition:
    bearer = f"{tenant}/{draft.name}"
    found = converted(
        {
            "when": draft.when,
            "zone": draft.zone,
            "anchor": draft.anchor,
            "starts_at": draft.starts_at,
            "ends_at": draft.ends_at,
            "max_fires": draft.max_fires,
            "dst_gap": draft.dst_gap,
            "dst_fold": draft.dst_fold,
            "calendars": [
                *({"calendar": name} for name in draft.calendars),
                *({"calendar": name, "mode": "include"} for name in draft.only_on),
            ],
            "on_excluded": draft.on_excluded,
            "jitter_seconds": draft.jitter_seconds,
            "jitter_mode": draft.jitter_mode,
        },
        Definition,
    )
    when = tuple(resolve_hashes(text, bearer) if has_hashes(text) else text for text in found.when)
    return msgspec.structs.replace(found, when=when)


def _work(job: NewJob) -> Work:
    key = job.effect_key
    return Work(
        kind=job.kind,
        payload=msgspec.json.format(job.payload, indent=-1).decode(),
        queue=job.queue,
        priority=job.priority,
        max_attempts=job.max_attempts,
        max_crashes=job.max_crashes,
        backoff=job.backoff,
        timeout_ms=job.timeout_ms,
        on_exhausted=job.on_exhausted,
        effect_key=None if key is None else check_template(key),
    )


def differences(old: bytes, new: bytes) -> tuple[Difference, ...]:
    """Return the members in which two stored specs differ, in words."""
    before, after = _members(old), _members(new)
    return tuple(
        Difference(name, _word(before.get(name)), _word(after.get(name)))
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    )


def _members(text: bytes) -> dict[str, Any]:
    """Return all members of a spec, whichever part they belong to, in a stable order."""
    spec = read_spec(text)
    parts = (spec.times, spec.work, spec.policies)
    found = {name: value for part in parts for name, value in msgspec.structs.asdict(part).items()}
    return found | {"note": spec.note}


def _word(value: object) -> str:
    if value is None:
        return "-"
    plain = msgspec.to_builtins(value)
    if isinstance(plain, list | tuple):
        return ", ".join(_word(item) for item in plain) or "-"
    if isinstance(plain, dict):
        mode, name = plain.get("mode"), plain.get("calendar")
        if name is not None:
            return f"only on {name}" if mode == "include" else f"not on {name}"
        return msgspec.json.encode(plain).decode()
    return str(plain) or "-"
