"""What people decide about schedules: the bodies that make and change them, and drafts of those.

A body has the words of files (``mainspring schedules apply``): one name a thing, the unit last.
"""

from datetime import datetime
from typing import Any, Final

import msgspec

from mainspring.agenda.spec import Spec, Work, read_spec, spec_text
from mainspring.domain.job import Backoff, HandlerInfo
from mainspring.domain.names import priority_of
from mainspring.policies.firing import Policies, policies_of
from mainspring.ports.gateway import Submission
from mainspring.ports.scheduling import ScheduleDraft
from mainspring.timetable.definition import Definition, Heeds
from mainspring.wire.documents.common import ObjectText, empty_object
from mainspring.wire.documents.jobs import PriorityName, priority_name

_NULL: Final = msgspec.Raw(b"null")
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_POLICIES: Final = Policies.__struct_fields__
_OPTIONS: Final = (
    "queue", "priority", "max_attempts", "max_crashes", "timeout_ms", "on_exhausted",
)  # fmt: skip
_TIMES: Final = (
    "zone", "anchor", "starts_at", "ends_at", "max_fires", "dst_gap", "dst_fold", "on_excluded",
    "jitter_seconds", "jitter_mode",
)  # fmt: skip


class ScheduleBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A schedule as somebody wants it. What is left out is as its handler declares, or usual."""

    #: Unique in its tenant.
    name: str
    #: For keys of the whole installation.
    tenant: str | None = None
    # The job of each fire.
    kind: str
    payload: ObjectText = msgspec.field(default_factory=empty_object)
    #: Rules that are united: cron, ``every 90m``, ``FREQ=…``, dates.
    when: str | list[str]
    zone: str = "UTC"
    #: Where intervals and recurrence rules begin.
    anchor: str | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    max_fires: int | None = None
    #: ``policy``, ``shift`` or ``skip``: a wall time that the clock leaves out.
    dst_gap: str = "policy"
    #: ``first``, ``second`` or ``both``: a wall time that the clock shows twice.
    dst_fold: str = "first"
    #: Calendars whose days are left out, and those whose days alone are kept to.
    calendars: list[str] = []
    only_on: list[str] = []
    #: ``skip``, ``next_business_day`` or ``previous_business_day``.
    on_excluded: str = "skip"
    jitter_seconds: int = 0
    #: ``per_fire`` or ``fixed``.
    jitter_mode: str = "per_fire"
    #: ``skip``, ``fire_once`` or ``fire_all``.
    misfire: str | None = None
    misfire_threshold_seconds: int | None = None
    catchup_window_seconds: int | None = None
    max_missed: int | None = None
    catchup_rate: int | None = None
    #: ``allow``, ``defer``, ``skip``, ``cancel_running`` or ``replace``; true and false as well.
    overlap: str | bool | None = None
    pause_after_failures: int | None = None
    #: ``report-{{week}}``, rendered from the nominal instant.
    effect_key: str | None = None
    queue: str | None = None
    priority: str | int | None = None
    max_attempts: int | None = None
    max_crashes: int | None = None
    backoff: dict[str, int | float | bool] | None = None
    timeout_ms: int | None = None
    on_exhausted: str | None = None
    note: str = ""
    #: Who keeps it up to date.
    owner: str | None = None
    #: The sender knows the handler itself: no worker needs to have declared the kind so far.
    kind_is_known: bool = False


class SchedulePatch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be another about a schedule, as a JSON merge patch: null makes it as usual.

    Members mean what they mean in a body; those of ``payload`` are merged one by one.
    """

    kind: str | msgspec.UnsetType = msgspec.UNSET
    payload: ObjectText | msgspec.UnsetType = msgspec.UNSET
    when: str | list[str] | msgspec.UnsetType = msgspec.UNSET
    zone: str | msgspec.UnsetType | None = msgspec.UNSET
    anchor: str | msgspec.UnsetType | None = msgspec.UNSET
    starts_at: datetime | msgspec.UnsetType | None = msgspec.UNSET
    ends_at: datetime | msgspec.UnsetType | None = msgspec.UNSET
    max_fires: int | msgspec.UnsetType | None = msgspec.UNSET
    dst_gap: str | msgspec.UnsetType | None = msgspec.UNSET
    dst_fold: str | msgspec.UnsetType | None = msgspec.UNSET
    calendars: list[str] | msgspec.UnsetType | None = msgspec.UNSET
    only_on: list[str] | msgspec.UnsetType | None = msgspec.UNSET
    on_excluded: str | msgspec.UnsetType | None = msgspec.UNSET
    jitter_seconds: int | msgspec.UnsetType | None = msgspec.UNSET
    jitter_mode: str | msgspec.UnsetType | None = msgspec.UNSET
    misfire: str | msgspec.UnsetType | None = msgspec.UNSET
    misfire_threshold_seconds: int | msgspec.UnsetType | None = msgspec.UNSET
    catchup_window_seconds: int | msgspec.UnsetType | None = msgspec.UNSET
    max_missed: int | msgspec.UnsetType | None = msgspec.UNSET
    catchup_rate: int | msgspec.UnsetType | None = msgspec.UNSET
    overlap: str | bool | msgspec.UnsetType | None = msgspec.UNSET
    pause_after_failures: int | msgspec.UnsetType | None = msgspec.UNSET
    effect_key: str | msgspec.UnsetType | None = msgspec.UNSET
    queue: str | msgspec.UnsetType | None = msgspec.UNSET
    priority: str | int | msgspec.UnsetType | None = msgspec.UNSET
    max_attempts: int | msgspec.UnsetType | None = msgspec.UNSET
    max_crashes: int | msgspec.UnsetType | None = msgspec.UNSET
    backoff: dict[str, int | float | bool] | msgspec.UnsetType | None = msgspec.UNSET
    timeout_ms: int | msgspec.UnsetType | None = msgspec.UNSET
    on_exhausted: str | msgspec.UnsetType | None = msgspec.UNSET
    note: str | msgspec.UnsetType | None = msgspec.UNSET
    owner: str | msgspec.UnsetType | None = msgspec.UNSET


def schedule_draft(body: ScheduleBody, tenant: str | None) -> ScheduleDraft:
    """Return the draft that a body is, for a tenant."""
    options = {name: getattr(body, name) for name in _OPTIONS}
    policies = {name: getattr(body, name) for name in _POLICIES}
    return ScheduleDraft(
        name=body.name,
        when=(body.when,) if isinstance(body.when, str) else tuple(body.when),
        work=Submission(
            kind=body.kind,
            payload=bytes(body.payload),
            tenant=tenant,
            backoff=body.backoff,
            effect_key=body.effect_key,
            kind_is_known=body.kind_is_known,
            **options,
        ),
        calendars=tuple(body.calendars),
        only_on=tuple(body.only_on),
        policies={name: value for name, value in policies.items() if value is not None},
        note=body.note,
        owner=body.owner,
        **{name: getattr(body, name) for name in _TIMES},
    )


def schedule_body(draft: ScheduleDraft) -> ScheduleBody:
    """Return the body of a draft; what its handler declares is said in so many words.

    Raises ``InvalidSchedule`` for policies that do not exist.
    """
    unknown = draft.policies.keys() - set(_POLICIES)
    if unknown:
        policies_of(draft.policies)
    work = _resolved(draft.work)
    policies: dict[str, Any] = dict(draft.policies)
    return ScheduleBody(
        name=draft.name,
        tenant=work.tenant,
        kind=work.kind,
        payload=msgspec.Raw(work.payload),
        when=list(draft.when),
        calendars=list(draft.calendars),
        only_on=list(draft.only_on),
        backoff=work.backoff,
        effect_key=work.effect_key,
        note=draft.note,
        owner=draft.owner,
        kind_is_known=work.kind_is_known,
        **{name: getattr(draft, name) for name in _TIMES},
        **{name: getattr(work, name) for name in _OPTIONS},
        **policies,
    )


def _resolved(work: Submission) -> Submission:
    """Return a submission that needs no declaration any more."""
    declared: HandlerInfo | None = work.declared
    if declared is None:
        return work
    found: dict[str, Any] = {
        name: getattr(declared, name) for name in _OPTIONS if getattr(work, name) is None
    }
    if work.backoff is None and declared.backoff is not None:
        found["backoff"] = msgspec.structs.asdict(declared.backoff)
    return msgspec.structs.replace(work, declared=None, **found)


class DefinedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What a schedule's user decided, with every option resolved; by the names of a body."""

    kind: str
    payload: ObjectText = msgspec.field(default_factory=empty_object)
    when: list[str]
    zone: str
    anchor: str | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    max_fires: int | None = None
    dst_gap: str
    dst_fold: str
    calendars: list[str] = []
    only_on: list[str] = []
    on_excluded: str
    jitter_seconds: int
    jitter_mode: str
    misfire: str
    misfire_threshold_seconds: int
    catchup_window_seconds: int | None = None
    max_missed: int
    catchup_rate: int
    overlap: str
    pause_after_failures: int | None = None
    effect_key: str | None = None
    queue: str
    priority: PriorityName
    max_attempts: int
    max_crashes: int
    backoff: Backoff | None = None
    timeout_ms: int
    on_exhausted: str | None = None
    note: str = ""


def defined(text: bytes) -> dict[str, Any]:
    """Return the members of a ``DefinedDocument`` by what a store keeps."""
    spec = read_spec(text)
    times, work = spec.times, spec.work
    return {
        **{name: getattr(times, name) for name in _TIMES},
        **{name: getattr(work, name) for name in (*_OPTIONS, "kind", "backoff", "effect_key")},
        **msgspec.structs.asdict(spec.policies),
        "priority": priority_name(work.priority),
        "payload": msgspec.Raw(work.payload.encode()),
        "when": list(times.when),
        "calendars": [each.calendar for each in times.calendars if each.mode == "exclude"],
        "only_on": [each.calendar for each in times.calendars if each.mode == "include"],
        "note": spec.note,
    }


def defined_text(document: DefinedDocument) -> bytes:
    """Return what a store keeps of a definition."""
    members = {name: getattr(document, name) for name in document.__struct_fields__}
    times = {name: members[name] for name in ("when", *_TIMES)}
    heeds = [Heeds(name) for name in document.calendars]
    heeds += [Heeds(name, "include") for name in document.only_on]
    work = {name: members[name] for name in (*_OPTIONS, "kind", "backoff", "effect_key")}
    work["priority"] = priority_of(document.priority)
    spec = Spec(
        times=msgspec.convert({**times, "calendars": tuple(heeds)}, Definition),
        work=Work(payload=bytes(document.payload).decode(), **work),
        policies=msgspec.convert({name: members[name] for name in _POLICIES}, Policies),
        note=document.note,
    )
    return spec_text(spec)


def patched_body(name: str, spec: bytes, patch: SchedulePatch) -> ScheduleBody:
    """Return the body of a stored schedule with some of it changed."""
    stored = msgspec.json.encode({"name": name, **defined(spec)})
    return msgspec.json.decode(merged(stored, msgspec.json.encode(patch)), type=ScheduleBody)


def merged(old: bytes, patch: bytes) -> bytes:
    """Return JSON text with a merge patch (RFC 7396) applied; all else stays digit for digit.

    >>> merged(b'{"a": {"b": 1.10, "c": 2}, "d": 3}', b'{"a": {"c": null}, "d": [4]}')
    b'{"a":{"b":1.10},"d":[4]}'
    """
    if not patch.startswith(b"{"):
        return patch
    found = _members.decode(old) if old.startswith(b"{") else {}
    for name, value in _members.decode(patch).items():
        if value == _NULL:
            found.pop(name, None)
        else:
            before = found.get(name)
            text = merged(b"" if before is None else bytes(before), bytes(value))
            found[name] = msgspec.Raw(text)
    return msgspec.json.encode(found)
