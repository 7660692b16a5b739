"""Schedules and calendars as users write them: in code, through a client, on the command line.

>>> app.schedule("nightly", "0 2 * * *", report.call(kind="daily"), zone="Europe/Berlin")
>>> app.calendar("holidays", ["12-25", "2027-04-05", "SUN"])

What is wrong with a rule is found when it is deployed; names, types and policies at once.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

import msgspec

from mainspring.app.durations import milliseconds
from mainspring.domain.errors import InvalidInput, InvalidSchedule, NaiveDatetime, UnknownOption
from mainspring.domain.limits import SCHEDULE_CHARACTERS_MAX
from mainspring.domain.names import check_name, suggestion
from mainspring.ports.gateway import Submission
from mainspring.ports.scheduling import CalendarDraft, ScheduleDraft

if TYPE_CHECKING:
    from mainspring.timetable.definition import Heeds

#: A rule, several that are united, or the time between two fires.
When = str | timedelta | Sequence[str]


class ScheduleOptions(TypedDict, total=False):
    """What may be said about a schedule. ``None`` is the same as not given."""

    #: The zone of the wall clock: ``"Europe/Berlin"``, ``"UTC"``, ``"+05:30"``.
    zone: str | None
    #: Of fires that come late: none, one job for all of them, or one job each.
    misfire: Literal["skip", "fire_once", "fire_all"] | None
    #: A fire that becomes a job later than this was missed.
    misfire_threshold: str | timedelta | None
    #: Fires missed by more than this are never caught up.
    catchup_window: str | timedelta | None
    #: ``fire_all`` catches up the newest so many,
    max_missed: int | None
    #: so many a minute.
    catchup_rate: int | None
    #: What becomes of a fire while the last job is live.
    overlap: Literal["allow", "defer", "skip", "cancel_running", "replace"] | None
    #: So many failures one after the other pause it.
    pause_after_failures: int | None
    #: Fires are spread over this window, each by its own dice or all alike.
    jitter: str | timedelta | None
    jitter_mode: Literal["per_fire", "fixed"] | None
    #: Calendars whose days are left out, and calendars whose days alone are kept to.
    calendars: str | Sequence[str] | None
    only_on: str | Sequence[str] | None
    on_excluded: Literal["skip", "next_business_day", "previous_business_day"] | None
    #: ``"report-{{week}}"``, rendered from the nominal instant.
    effect_key: str | None
    #: Where intervals and recurrence rules begin.
    anchor: str | None
    starts_at: datetime | None
    ends_at: datetime | None
    max_fires: int | None
    #: A wall time that the clock leaves out: by the misfire policy, at the gap's end, or not.
    dst_gap: Literal["policy", "shift", "skip"] | None
    #: A wall time that the clock shows twice.
    dst_fold: Literal["first", "second", "both"] | None
    #: What it is for.
    note: str | None
    tenant: str | None


OPTION_NAMES: Final = tuple(ScheduleOptions.__annotations__)
_PLAIN: Final = (
    "zone", "jitter_mode", "on_excluded", "anchor", "starts_at", "ends_at", "max_fires",
    "dst_gap", "dst_fold", "note",
)  # fmt: skip
_POLICIES: Final = ("misfire", "overlap", "max_missed", "catchup_rate", "pause_after_failures")
_SPANS: Final = {
    "misfire_threshold": "misfire_threshold_seconds",
    "catchup_window": "catchup_window_seconds",
}
#: Options of a submission that a schedule's times or policies decide.
_DECIDED: Final = {
    "delay_ms": ("delay", "jitter spreads fires"),
    "due_at": ("at", "the rule says when"),
    "key": ("key", "each fire has one job, by itself"),
    "unique_key": ("unique", "overlap says what becomes of a fire that meets a live job"),
}


def schedule_draft(
    name: str, when: When, work: Submission, options: Mapping[str, Any]
) -> ScheduleDraft:
    """Return a draft, or raise naming the option that is wrong."""
    fields, policies, of_work = read_schedule_options(options)
    return ScheduleDraft(
        name=check_name("name", name, SCHEDULE_CHARACTERS_MAX),
        when=rules_of(when),
        work=_with_options(work, of_work),
        policies=policies,
        **fields,
    )


def changed_draft(
    draft: ScheduleDraft,
    options: Mapping[str, Any],
    *,
    when: When | None = None,
    work: Submission | None = None,
) -> ScheduleDraft:
    """Return a draft with some of it changed."""
    fields, policies, of_work = read_schedule_options(options)
    # What the schedule said before is no contradiction to what it is to say now.
    kept = msgspec.structs.replace(draft.work, effect_key=None) if "effect_key" in of_work else None
    new_work = _with_options((kept or draft.work) if work is None else work, of_work)
    if work is not None and "effect_key" not in of_work and work.effect_key is None:
        new_work = msgspec.structs.replace(new_work, effect_key=draft.work.effect_key)
    return msgspec.structs.replace(
        draft,
        when=draft.when if when is None else rules_of(when),
        work=new_work,
        policies=draft.policies | policies,
        **fields,
    )


def read_schedule_options(
    given: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return members of a draft, policies, and members of its work; all that was given."""
    from mainspring.policies.firing import policies_of

    for name in given:
        if name not in OPTION_NAMES:
            raise UnknownOption(f"there is no option {name!r}", hint=suggestion(name, OPTION_NAMES))
    options = {name: value for name, value in given.items() if value is not None}
    for name in ("starts_at", "ends_at"):
        if name in options:
            _check_instant(name, options[name])
    fields: dict[str, Any] = {name: options[name] for name in _PLAIN if name in options}
    if "jitter" in options:
        fields["jitter_seconds"] = whole_seconds("jitter", options["jitter"])
    for name in ("calendars", "only_on"):
        if name in options:
            fields[name] = _names(name, options[name])
    policies: dict[str, Any] = {name: options[name] for name in _POLICIES if name in options}
    for name, member in _SPANS.items():
        if name in options:
            policies[member] = whole_seconds(name, options[name])
    policies_of(policies)
    return (
        fields,
        policies,
        {name: options[name] for name in ("effect_key", "tenant") if name in options},
    )


def rules_of(when: When) -> tuple[str, ...]:
    """Return the rules of a schedule as texts."""
    given: object = when
    if isinstance(given, str):
        return (given,)
    if isinstance(given, timedelta):
        return (f"every {whole_seconds('when', given)}s",)
    if isinstance(given, Sequence) and given and all(isinstance(one, str) for one in given):
        return tuple(given)
    raise InvalidSchedule(
        f"when: {given!r} is no rule",
        hint='write "0 9 * * MON-FRI", "every 90m", a list of such, or a timedelta',
        details={"field": "when"},
    )


def whole_seconds(name: str, given: str | timedelta) -> int:
    """Return a duration in seconds; parts of one are refused, not rounded."""
    found = milliseconds(given, name=name)
    if found % 1_000:
        raise InvalidSchedule(
            f"{name}: {found} ms is no whole number of seconds",
            hint="give whole seconds",
            details={"field": name},
        )
    return found // 1_000


def calendar_draft(
    name: str, entries: Sequence[str], *, business_days: str = "MON-FRI", tenant: str | None = None
) -> CalendarDraft:
    """Return a calendar, or raise naming what is wrong."""
    given: object = entries
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidSchedule(
            f"entries: {given!r} is no list", hint='write ["12-25", "2027-04-05", "SUN"]'
        )
    return CalendarDraft(
        name=check_name("name", name, SCHEDULE_CHARACTERS_MAX),
        entries=tuple(entries),
        business_days=business_days,
        tenant=tenant,
    )


def draft_of(name: str, tenant: str, text: bytes, *, owner: str | None = None) -> ScheduleDraft:
    """Return the draft that a stored spec could have come from: to change some of it."""
    from mainspring.agenda.spec import read_spec

    spec = read_spec(text)
    times, work = spec.times, spec.work
    backoff = None if work.backoff is None else msgspec.structs.asdict(work.backoff)
    return ScheduleDraft(
        name=name,
        when=times.when,
        work=Submission(
            kind=work.kind,
            payload=work.payload.encode(),
            tenant=tenant,
            queue=work.queue,
            priority=work.priority,
            max_attempts=work.max_attempts,
            max_crashes=work.max_crashes,
            backoff=backoff,
            timeout_ms=work.timeout_ms,
            on_exhausted=work.on_exhausted,
            effect_key=work.effect_key,
        ),
        zone=times.zone,
        anchor=times.anchor,
        starts_at=times.starts_at,
        ends_at=times.ends_at,
        max_fires=times.max_fires,
        dst_gap=times.dst_gap,
        dst_fold=times.dst_fold,
        calendars=_named(times.calendars, "exclude"),
        only_on=_named(times.calendars, "include"),
        on_excluded=times.on_excluded,
        jitter_seconds=times.jitter_seconds,
        jitter_mode=times.jitter_mode,
        policies=msgspec.structs.asdict(spec.policies),
        note=spec.note,
        owner=owner,
    )


def _named(heeds: "Sequence[Heeds]", mode: str) -> tuple[str, ...]:
    return tuple(each.calendar for each in heeds if each.mode == mode)


def _with_options(work: Submission, options: Mapping[str, Any]) -> Submission:
    if "effect_key" in options and work.effect_key not in (None, options["effect_key"]):
        raise InvalidInput(
            "effect_key: the call has one already", hint="give it to the schedule alone"
        )
    return msgspec.structs.replace(work, **options) if options else work


def _check_instant(name: str, given: object) -> None:
    if not isinstance(given, datetime):
        raise InvalidInput(f"{name}: {given!r} is not an instant", hint="give a datetime")
    if given.tzinfo is None:
        raise NaiveDatetime(f"{name}: {given.isoformat()} has no time zone")


def _names(name: str, given: object) -> tuple[str, ...]:
    found = (given,) if isinstance(given, str) else given
    if isinstance(found, Sequence) and all(isinstance(one, str) for one in found):
        return tuple(found)
    raise InvalidInput(f"{name}: {given!r} names no calendars", hint=f'write {name}=["holidays"]')


def check_work(work: Submission) -> None:
    """Refuse options of a submission that mean nothing in a schedule."""
    for member, (option, instead) in _DECIDED.items():
        if getattr(work, member) is not None:
            raise InvalidSchedule(
                f"{option}: this is no option of a schedule's job",
                hint=f"leave it out; {instead}",
                details={"field": option},
            )
