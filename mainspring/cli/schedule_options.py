"""The options of a schedule on the command line, and the drafts that they make.

Files of schedules go through the same door (``Given``), so that a word means one thing everywhere.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from cyclopts import Group, Parameter

from mainspring.app.durations import milliseconds
from mainspring.cli.options import VALUE
from mainspring.cli.payloads import merged
from mainspring.cli.pointing import pointing_at
from mainspring.cli.submit import backoff_of
from mainspring.domain.errors import InvalidInput, InvalidSchedule, NaiveDatetime
from mainspring.domain.names import suggestion
from mainspring.domain.schedule import ScheduleView
from mainspring.ports.gateway import Submission
from mainspring.ports.scheduling import ScheduleDraft

if TYPE_CHECKING:
    from mainspring.timetable.text import Rule

_WHEN: Final = Group("When", sort_key=10)
_POLICY: Final = Group("Late fires and overlap", sort_key=20)
_WORK: Final = Group("The job of each fire", sort_key=30)
_MANY: Final = Parameter(negative="", allow_leading_hyphen=True)
_HOW: Final = (
    "--cron '0 9 * * MON-FRI', --every 90m, --at 2027-01-31T09:00, or --rrule 'FREQ=DAILY;BYHOUR=9'"
)
_EVERY: Final = "every "
_BEGINS_EVERY: Final = re.compile(r"\s*@?every\b", re.IGNORECASE)
Gap = Literal["policy", "shift", "skip"]
Fold = Literal["first", "second", "both"]
Excluded = Literal["skip", "next_business_day", "previous_business_day"]
JitterMode = Literal["per_fire", "fixed"]
_Text = Annotated[str | None, VALUE]
_Texts = Annotated[tuple[str, ...], _MANY]


def _named(*names: str) -> Parameter:
    return Parameter(name=list(names), allow_leading_hyphen=True, negative="")


@Parameter(name="*", group=_WHEN)
@dataclass(frozen=True, kw_only=True)
class Times:
    """When a schedule fires."""

    cron: _Texts = ()
    """Five fields, or six with seconds: '0 9 * * MON-FRI'; may be repeated, as every rule may."""
    every: _Texts = ()
    """Elapsed time between two fires: 90m, '1h from 2027-01-04T09:00'."""
    rrule: _Texts = ()
    """A recurrence rule: 'FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=18', with RDATE: and EXDATE:."""
    at: Annotated[tuple[str, ...], _named("--at", "--dates")] = ()
    """Single times, local or with a zone; several by commas or by repeating the option."""
    when: Annotated[tuple[str, ...], _named("--when", "--schedule")] = ()
    """A rule in any of these forms, told apart by how it begins; also R/2027-01-31T09:00/P1M."""
    zone: Annotated[str | None, _named("--zone", "--tz", "--timezone")] = None
    """The zone of the wall clock: Europe/Berlin, +05:30; UTC if not given."""
    anchor: _Text = None
    """Where intervals and recurrence rules begin: 2027-01-04T09:00."""
    starts_at: Annotated[str | None, _named("--start", "--starts-at", "--start-at")] = None
    """No fire before this instant, which has a zone: 2027-01-31T09:00:00+01:00."""
    ends_at: Annotated[str | None, _named("--end", "--ends-at", "--end-at")] = None
    """The last instant that may fire."""
    max_fires: Annotated[int | None, _named("--max-fires", "--max-runs")] = None
    """So many fires at most."""
    dst_gap: Gap | None = None
    """A wall time that the clock leaves out: by the misfire policy, at the gap's end, or never."""
    dst_fold: Fold | None = None
    """A wall time that the clock shows twice: at its first pass, its second, or both."""
    calendar: Annotated[tuple[str, ...], _named("--calendar", "--calendars", "--not-on")] = ()
    """Leave out the days of this calendar; may be repeated."""
    only_on: _Texts = ()
    """Keep to the days of this calendar; may be repeated."""
    on_excluded: Excluded | None = None
    """What becomes of a fire on a day that is left out."""
    jitter: _Text = None
    """Spread fires over this long: 10m."""
    jitter_mode: JitterMode | None = None
    """Another delay for each fire, or always the same."""


@Parameter(name="*", group=_POLICY)
@dataclass(frozen=True, kw_only=True)
class Policy:
    """What becomes of fires that come late, or meet a live job."""

    misfire: Annotated[str | None, _named("--misfire", "--misfire-policy", "--missed-window")] = (
        None
    )
    """Of missed fires: skip, fire_once or fire_all; other schedulers' words are understood."""
    misfire_threshold: _Text = None
    """A fire that becomes a job later than this was missed; 60s if not given."""
    catchup_window: _Text = None
    """Fires missed by more than this are never caught up."""
    max_missed: int | None = None
    """fire_all catches up the newest so many; 100 if not given."""
    catchup_rate: int | None = None
    """Caught up and backfilled jobs a minute; 60 if not given."""
    overlap: Annotated[str | None, _named("--overlap", "--overlap-policy")] = None
    """A fire while the last job is live: allow, defer, skip, cancel_running or replace."""
    allow_overlap: Annotated[bool | None, Parameter(negative="--no-allow-overlap")] = None
    """The same as --overlap allow; with --no- as --overlap defer."""
    pause_after_failures: int | None = None
    """So many failures one after the other pause it."""
    effect_key: Annotated[str | None, _named("--effect-key", "--idempotency-key-template")] = None
    """What handlers hand on as their idempotency key: 'report-{{week}}', by the nominal time."""


@Parameter(name="*", group=_WORK)
@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """Options of the job that a fire becomes; what is not given is the handler's."""

    queue: _Text = None
    """Another queue than the handler's own."""
    priority: _Text = None
    """critical, high, normal or low."""
    max_attempts: int | None = None
    """How often it may be tried."""
    max_crashes: int | None = None
    """How often it may take its process down."""
    backoff: _Text = None
    """How long it rests before its next try: initial,factor,cap,jitter, for example 1s,2,5m,0.3."""
    timeout: _Text = None
    """How long one attempt may take."""
    on_exhausted: _Text = None
    """The kind of the job that follows when this one goes dead."""


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What was said about a schedule: its rules, its options, and options of its jobs."""

    rules: tuple[str, ...] = ()
    options: dict[str, Any] = {}
    work: dict[str, Any] = {}

    @property
    def zone(self) -> str:
        """Return the zone that was named."""
        return str(self.options.get("zone", "UTC"))


def given(times: Times | None, policy: Policy | None, job: JobOptions | None) -> Given:
    """Return what the options of a command say."""
    times, policy = times or Times(), policy or Policy()
    overlap: str | bool | None = policy.overlap
    if policy.allow_overlap is not None:
        if overlap is not None:
            raise InvalidInput("both --overlap and --allow-overlap were given", hint="give one")
        overlap = policy.allow_overlap
    zone = times.zone or "UTC"
    options = {
        "zone": times.zone,
        "anchor": times.anchor,
        "starts_at": instant(times.starts_at, name="start", zone=zone),
        "ends_at": instant(times.ends_at, name="end", zone=zone),
        "max_fires": times.max_fires,
        "dst_gap": times.dst_gap,
        "dst_fold": times.dst_fold,
        "calendars": times.calendar or None,
        "only_on": times.only_on or None,
        "on_excluded": times.on_excluded,
        "jitter": times.jitter,
        "jitter_mode": times.jitter_mode,
        "misfire": policy.misfire,
        "misfire_threshold": policy.misfire_threshold,
        "catchup_window": policy.catchup_window,
        "max_missed": policy.max_missed,
        "catchup_rate": policy.catchup_rate,
        "overlap": overlap,
        "pause_after_failures": policy.pause_after_failures,
        "effect_key": policy.effect_key,
    }
    return Given(
        rules=rules_of(times),
        options={name: value for name, value in options.items() if value is not None},
        work=work_options({} if job is None else vars(job)),
    )


def work_options(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return members of a submission from options as people write them."""
    work = {name: value for name, value in found.items() if value is not None}
    priority = work.get("priority")
    if isinstance(priority, str) and priority.isdecimal():
        work["priority"] = int(priority)
    if isinstance(work.get("backoff"), str):
        work["backoff"] = backoff_of(work["backoff"])
    if "timeout" in work:
        work["timeout_ms"] = milliseconds(work.pop("timeout"), name="timeout")
    return work


# --- rules --------------------------------------------------------------------------------------


def rules_of(times: Times) -> tuple[str, ...]:
    """Return the rules that were given, each checked to be what its option says."""
    found = list(times.when)
    for option, texts in (("cron", times.cron), ("every", times.every), ("rrule", times.rrule)):
        for text in texts:
            lead = _EVERY if option == "every" and not _BEGINS_EVERY.match(text) else ""
            found.append(_checked(option, text, lead, times))
    if times.at:
        text = ", ".join(text.removeprefix("at ") for text in times.at)
        found.append(_checked("at", text, "at ", times))
    return tuple(found)


def _checked(option: str, text: str, lead: str, times: Times) -> str:
    """Return a rule; refuse one of another kind than its option says."""
    from mainspring.timetable.cron import cron
    from mainspring.timetable.cron_hash import has_hashes
    from mainspring.timetable.text import parse_rule
    from mainspring.timetable.zones import zone

    there = zone(times.zone or "UTC")
    if not text.strip():
        raise InvalidSchedule(f"{option}: nothing was given", hint=f"give {_HOW}")
    if option == "cron" and has_hashes(text):
        return text
    with pointing_at(text, others={"anchor": times.anchor or ""}):
        try:
            meant = _option_of(parse_rule(lead + text, there, times.anchor))
        except InvalidSchedule as error:
            if option == "cron":
                cron(text)
            raise _moved(error, len(lead)) from None
    if meant != option:
        raise InvalidSchedule(
            f"{option}: {text[:64]!r} is another kind of rule",
            hint=f"did you mean --{meant} '{text[:64].removeprefix(_EVERY)}'?",
            details={"field": option},
        )
    return lead + text


def _moved(error: InvalidSchedule, by: int) -> InvalidSchedule:
    """Count a position from where the text begins that was given."""
    position = error.details.get("position")
    if by and isinstance(position, int):
        there = max(0, position - by)
        error.message = error.message.replace(f"(position {position})", f"(position {there})")
        error.args = (error.message,)
        error.details["position"] = there
    return error


def _option_of(rule: "Rule") -> str:
    from mainspring.timetable.cron import Cron
    from mainspring.timetable.dates import Instants, WallDates
    from mainspring.timetable.intervals import Every
    from mainspring.timetable.recurrence import Recurrence

    match rule:
        case Cron():
            return "cron"
        case Every():
            return "every"
        case Recurrence():
            return "rrule"
        case Instants() | WallDates():
            return "at"
        case _:
            return "when"


def need_rules(found: Given) -> None:
    """Refuse a schedule without a rule."""
    if not found.rules:
        raise InvalidSchedule("when: no rule was given", hint=f"give {_HOW}")


def hint_at_rule(words: Sequence[str]) -> None:
    """Refuse a word of the payload that is a rule whose option was forgotten."""
    for word in words:
        is_rule = "=" not in word and (" " in word.strip() or word.startswith("@"))
        if is_rule or word.upper().startswith(("FREQ=", "RRULE:")):
            option = "rrule" if "=" in word else "cron"
            raise InvalidInput(
                f"{word[:64]!r} is no member of the payload",
                hint=f"did you mean --{option} '{word[:64]}'?",
            )


# --- instants -----------------------------------------------------------------------------------


def instant(text: str | None, *, name: str, zone: str = "UTC") -> datetime | None:
    """Read an instant with its zone; say what a local time would be."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput(
            f"{name}: {text[:64]!r} is not an instant",
            hint="write it like 2027-01-31T09:00:00Z, or with +01:00 instead of Z",
        ) from None
    if found.tzinfo is None:
        raise NaiveDatetime(
            f"{name}: {text!r} has no time zone",
            hint=f"in {zone} it is {_in_zone(found, zone)}",
        )
    return found.astimezone(UTC)


def _in_zone(local: datetime, zone: str) -> str:
    from mainspring.timetable.zones import zone as zone_of

    there = zone_of(zone)
    wall = int(local.replace(tzinfo=UTC).timestamp())
    ahead = there.offset_at(wall - there.offset_at(wall))
    sign, minutes = ("-" if ahead < 0 else "+"), abs(ahead) // 60
    return f"{local:%Y-%m-%dT%H:%M:%S}{sign}{minutes // 60:02d}:{minutes % 60:02d}"


def instant_or_span(text: str | None, *, name: str, now: datetime) -> datetime | None:
    """Read an instant, or how long from now: ``2h``."""
    if text is None:
        return None
    if text[:4].isdigit() and "-" in text:
        return instant(text, name=name)
    return now + timedelta(milliseconds=milliseconds(text, name=name))


# --- drafts -------------------------------------------------------------------------------------


def draft_from(
    name: str, kind: str, payload: bytes, found: Given, *, note: str = ""
) -> ScheduleDraft:
    """Return the draft of a new schedule."""
    from mainspring.app.schedules import schedule_draft

    need_rules(found)
    work = Submission(kind=kind, payload=payload, **found.work)
    return schedule_draft(name, found.rules, work, {**found.options, "note": note or None})


#: What ``edit --reset`` may name, and where it is kept: in the times, the policies, or the work.
_IN_DRAFT: Final = {
    "zone": "zone",
    "anchor": "anchor",
    "start": "starts_at",
    "end": "ends_at",
    "max-fires": "max_fires",
    "dst-gap": "dst_gap",
    "dst-fold": "dst_fold",
    "calendar": "calendars",
    "only-on": "only_on",
    "on-excluded": "on_excluded",
    "jitter": "jitter_seconds",
    "jitter-mode": "jitter_mode",
    "note": "note",
}
_IN_POLICIES: Final = {
    "misfire": "misfire",
    "misfire-threshold": "misfire_threshold_seconds",
    "catchup-window": "catchup_window_seconds",
    "max-missed": "max_missed",
    "catchup-rate": "catchup_rate",
    "overlap": "overlap",
    "pause-after-failures": "pause_after_failures",
}
_IN_WORK: Final = {
    "queue": "queue",
    "priority": "priority",
    "max-attempts": "max_attempts",
    "max-crashes": "max_crashes",
    "backoff": "backoff",
    "timeout": "timeout_ms",
    "on-exhausted": "on_exhausted",
    "effect-key": "effect_key",
}
RESETTABLE: Final = (*_IN_DRAFT, *_IN_POLICIES, *_IN_WORK)


def reset(draft: ScheduleDraft, names: Sequence[str]) -> ScheduleDraft:
    """Return a draft with some of it as it is when nothing is said about it."""
    fresh = ScheduleDraft(name=draft.name, when=draft.when, work=draft.work)
    plain = Submission(kind=draft.work.kind)
    for given_name in (part for word in names for part in word.split(",") if part):
        name = given_name.strip().removeprefix("--").replace("_", "-")
        if name in _IN_DRAFT:
            member = _IN_DRAFT[name]
            draft = msgspec.structs.replace(draft, **{member: getattr(fresh, member)})
        elif name in _IN_POLICIES:
            left = {key: kept for key, kept in draft.policies.items() if key != _IN_POLICIES[name]}
            draft = msgspec.structs.replace(draft, policies=left)
        elif name in _IN_WORK:
            member = _IN_WORK[name]
            work = msgspec.structs.replace(draft.work, **{member: getattr(plain, member)})
            draft = msgspec.structs.replace(draft, work=work)
        else:
            raise InvalidInput(
                f"reset: there is no option {given_name!r}", hint=suggestion(name, RESETTABLE)
            )
    return draft


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be another about a schedule."""

    given: Given
    #: Members of the payload, or another payload as a whole.
    members: dict[str, Any] = {}
    payload: bytes | None = None
    kind: str | None = None
    note: str | None = None
    reset: tuple[str, ...] = ()

    def checked(self) -> "Wish":
        """Refuse a wish for nothing."""
        said = self.given
        if said.rules or said.options or said.work or self.members or self.reset:
            return self
        if self.payload is None and self.kind is None and self.note is None:
            raise InvalidInput(
                "nothing was given that is to change",
                hint="mainspring schedules edit --help shows what can be",
            )
        return self

    def draft(self, view: ScheduleView) -> ScheduleDraft:
        """Return the schedule as it is wished for."""
        from mainspring.app.schedules import changed_draft, draft_of

        before = draft_of(view.name, view.tenant, view.spec)
        draft = reset(before, self.reset)
        options = dict(self.given.options)
        if self.note is not None:
            options["note"] = self.note
        draft = changed_draft(draft, options, when=self.given.rules or None)
        work = msgspec.structs.replace(draft.work, tenant=view.tenant, **self.given.work)
        if self.kind is not None:
            work = msgspec.structs.replace(work, kind=self.kind)
        body = merged(work.payload, self.members) if self.payload is None else self.payload
        return msgspec.structs.replace(draft, work=msgspec.structs.replace(work, payload=body))
