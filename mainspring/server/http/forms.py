"""The three meanings of ``POST /jobs``: which one a body has, and what it asks for.

A body with a cron is a schedule; one with an instant or without any is a job. Members that say the
same in other words are read here and nowhere else.
"""

import re
from datetime import UTC, datetime
from operator import attrgetter
from typing import Final, TypeVar

import msgspec

from mainspring.app.durations import milliseconds
from mainspring.domain.errors import InvalidInput, UnknownZone
from mainspring.domain.job import HandlerInfo
from mainspring.domain.names import check_choice, priority_of
from mainspring.ports.gateway import Submission
from mainspring.ports.scheduling import ScheduleDraft
from mainspring.server.http.calls import Call, job_named
from mainspring.server.http.pointing import pointing_at
from mainspring.wire.documents.submissions import DefaultsBody, SubmissionBody

T = TypeVar("T")

_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\d")
_ZONED: Final = re.compile(r"(?:[Zz]|[+-]\d\d:?\d\d)$")
_BACKOFFS: Final = {
    "exponential": None,
    "fixed": {"factor": 1},
    "constant": {"factor": 1},
}
#: Members that few submissions have; asked for at once, because a submission must be quick.
_RARE: Final = [
    "job_type",
    "type",
    "tenant_id",
    "delay",
    "delay_ms",
    "run_at",
    "scheduled_at",
    "max_retries",
    "retry_backoff",
    "timeout",
    "timeout_seconds",
    "idempotency_key",
    "idempotency_key_template",
    "id",
    "name",
    "job_name",
    "schedule_type",
    "cron_expression",
    "schedule",
    "timezone",
    "allow_overlap",
    "overlap_policy",
    "misfire_policy",
    "missed_window",
]
_rare: Final = attrgetter(*_RARE)
_NONE: Final = (None,) * len(_RARE)
#: What only a job has; nothing that was asked for is left out in silence.
_OF_JOBS: Final = (
    "id",
    "key",
    "idempotency_key",
    "unique_key",
    "delay",
    "delay_ms",
    "due_at",
    "run_at",
    "scheduled_at",
    "defaults",
)
#: The names of the instant at which a job is due.
_INSTANTS: Final = ("due_at", "run_at", "scheduled_at", "schedule")
_OF_SCHEDULES: Final = (
    "allow_overlap",
    "overlap_policy",
    "misfire_policy",
    "missed_window",
    "idempotency_key_template",
)


def is_plain(body: SubmissionBody) -> bool:
    """Say whether a body uses Mainspring's own words alone."""
    return _rare(body) == _NONE


def plain_submission(body: SubmissionBody, call: Call, key: str | None) -> Submission:
    """Return the submission of a plain body."""
    assert body.kind is not None, "asked for before"
    return Submission(
        kind=body.kind,
        payload=bytes(body.payload),
        payload_is_checked=True,
        tenant=call.tenant(body.tenant),
        queue=body.queue,
        priority=body.priority,
        due_at=body.due_at,
        max_attempts=body.max_attempts,
        max_crashes=body.max_crashes,
        backoff=body.backoff,
        timeout_ms=body.timeout_ms,
        on_exhausted=body.on_exhausted,
        effect_key=body.effect_key,
        key=_one("key", key=body.key, idempotency_key=key),
        unique_key=body.unique_key,
        unique_while=body.unique_while,
        on_duplicate=body.on_duplicate,
        kind_is_known=body.defaults is not None,
        declared=None if body.defaults is None else _declared(body.kind, body.defaults),
    )


def cron_of(body: SubmissionBody) -> str | None:
    """Return the cron expression of a body that is a schedule."""
    if body.schedule_type is not None:
        wanted = check_choice("schedule_type", body.schedule_type.upper(), ("CRON", "ONCE"))
        if wanted == "CRON":
            found = _one(
                "cron_expression", cron_expression=body.cron_expression, schedule=body.schedule
            )
            if found is None:
                raise _missing("cron_expression", "a schedule of type CRON has one")
            return found
        if body.cron_expression is not None:
            raise InvalidInput(
                "cron_expression: a job of type ONCE has none", hint="give run_at, or type CRON"
            )
        return None
    found = body.cron_expression
    if body.schedule is not None and not _INSTANT.match(body.schedule):
        found = _one("schedule", cron_expression=found, schedule=body.schedule)
    return found


def submission(body: SubmissionBody, call: Call, key: str | None) -> Submission:
    """Return the submission of any body."""
    if body.kind is not None and is_plain(body):
        return plain_submission(body, call, key)
    for member in _OF_SCHEDULES:
        if (
            getattr(body, member) is not None
            and body.schedule_type is None
            and body.schedule is None
        ):
            raise InvalidInput(
                f"{member}: this is an option of schedules",
                hint="give cron_expression as well, or leave it out",
            )
    work = _work(body, call)
    return msgspec.structs.replace(
        work,
        delay_ms=_delay(body),
        due_at=_due(body),
        key=_one("key", key=body.key, idempotency_key=_key(body, key)),
        unique_key=body.unique_key,
        unique_while=body.unique_while,
        on_duplicate=body.on_duplicate,
        kind_is_known=body.defaults is not None,
        declared=None if body.defaults is None else _declared(work.kind, body.defaults),
        id=None if body.id is None else job_named("id", body.id),
    )


def schedule_draft(body: SubmissionBody, cron: str, call: Call) -> ScheduleDraft:
    """Return the schedule that a body with a cron asks for."""
    name = _one("name", name=body.name, job_name=body.job_name)
    if name is None:
        raise _missing("name", "a schedule has a name")
    for member in _OF_JOBS:
        if getattr(body, member) is not None:
            raise InvalidInput(f"{member}: this is no option of a schedule", hint="leave it out")
    overlap = _one(
        "overlap_policy",
        overlap_policy=body.overlap_policy,
        allow_overlap=None if body.allow_overlap is None else str(body.allow_overlap).lower(),
    )
    misfire = _one(
        "misfire_policy", misfire_policy=body.misfire_policy, missed_window=body.missed_window
    )
    return ScheduleDraft(
        name=name,
        when=(cron,),
        # What is left decides how each fire's job is done.
        work=_work(body, call),
        zone=body.timezone or "UTC",
        policies={"overlap": overlap, "misfire": misfire},
    )


def _work(body: SubmissionBody, call: Call) -> Submission:
    """Return what is to be done, and how often it is tried: of a job, or of each fire."""
    attempts = _attempts(body)
    return Submission(
        kind=_kind(body),
        payload=bytes(body.payload),
        payload_is_checked=True,
        tenant=call.tenant(_one("tenant", tenant=body.tenant, tenant_id=body.tenant_id)),
        queue=body.queue,
        priority=body.priority,
        max_attempts=attempts,
        max_crashes=body.max_crashes,
        backoff=_backoff(body),
        timeout_ms=_timeout(body),
        on_exhausted=body.on_exhausted,
        effect_key=_one(
            "effect_key",
            effect_key=body.effect_key,
            idempotency_key_template=body.idempotency_key_template,
        ),
    )


def _declared(kind: str, defaults: DefaultsBody) -> HandlerInfo:
    """Return the declaration of a handler that only the submitter knows."""
    given = {
        name: value for name, value in msgspec.structs.asdict(defaults).items() if value is not None
    }
    if "priority" in given:
        given["priority"] = priority_of(given["priority"])
    return HandlerInfo(kind=kind, **given)


def _kind(body: SubmissionBody) -> str:
    found = _one("kind", kind=body.kind, job_type=body.job_type, type=body.type)
    # Some say by its name what a schedule does.
    if found is None:
        found = _one("name", name=body.name, job_name=body.job_name)
    if found is None:
        raise _missing("kind", "a job is of a kind: the name of its handler")
    return found


def _key(body: SubmissionBody, header: str | None) -> str | None:
    return _one("idempotency_key", idempotency_key=body.idempotency_key, header=header)


def _attempts(body: SubmissionBody) -> int | None:
    if body.max_retries is None:
        return body.max_attempts
    if body.max_retries < 0:
        raise InvalidInput(f"max_retries: {body.max_retries} is negative")
    if body.max_attempts is not None and body.max_attempts != body.max_retries + 1:
        raise InvalidInput(
            f"max_retries: {body.max_retries} retries are {body.max_retries + 1} attempts, "
            f"and max_attempts says {body.max_attempts}",
            hint="give one of them: max_attempts counts the first attempt, too",
        )
    return body.max_retries + 1


def _backoff(body: SubmissionBody) -> dict[str, int | float] | None:
    if body.retry_backoff is None:
        return body.backoff
    word = check_choice("retry_backoff", body.retry_backoff.lower(), tuple(_BACKOFFS))
    named = _BACKOFFS[word]
    if body.backoff is None:
        return None if named is None else dict(named)
    return {**(named or {}), **body.backoff}


def _timeout(body: SubmissionBody) -> int | None:
    seconds = body.timeout_seconds
    return _one(
        "timeout_ms",
        timeout_ms=body.timeout_ms,
        timeout_seconds=None if seconds is None else seconds * 1_000,
        timeout=None if body.timeout is None else milliseconds(body.timeout, name="timeout"),
    )


def _delay(body: SubmissionBody) -> int | None:
    return _one(
        "delay_ms",
        delay_ms=body.delay_ms,
        delay=None if body.delay is None else milliseconds(body.delay, name="delay"),
    )


def _due(body: SubmissionBody) -> str | None:
    found = _one("due_at", **{name: getattr(body, name) for name in _INSTANTS})
    if found is None and body.schedule_type is not None:
        raise _missing("run_at", "a job of type ONCE is due at an instant")
    if body.timezone is None:
        return found
    given = next((name for name in _INSTANTS if getattr(body, name) is not None), "run_at")
    with pointing_at(f"/{given}"), pointing_at("/timezone", UnknownZone):
        if found is None or _ZONED.search(found):
            # It changes nothing here, and is a mistake all the same where there is no such zone.
            from mainspring.timetable.zones import zone

            zone(body.timezone)
            return found
        return _in_zone(found, body.timezone, given)


def _in_zone(text: str, zone: str, name: str) -> str:
    """Return the instant at which clocks of a zone show what was given without one."""
    from mainspring.timetable.definition import Definition, compile_timetable

    try:
        local = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{name}: {text[:80]!r} is no instant", hint="write it as 2026-06-07T09:00:00Z"
        ) from None
    # One rule for wall times, the schedules' one: a skipped one is due at the end of the gap.
    timetable = compile_timetable(
        Definition(when=(local.isoformat(timespec="seconds"),), zone=zone)
    )
    instant = timetable.next_at(0)
    assert instant is not None, "a date has a fire"
    return datetime.fromtimestamp(instant, UTC).isoformat()


def _one(option: str, **given: T | None) -> T | None:
    """Return the one value that was given under any of its names."""
    found: T | None = None
    first = ""
    for name, value in given.items():
        if value is None:
            continue
        if found is not None and value != found:
            raise InvalidInput(
                f"{option}: {first} says {found!r} and {name} says {value!r}",
                hint="give one of them",
            )
        found, first = value, first or name
    return found


def _missing(member: str, why: str) -> InvalidInput:
    return InvalidInput(
        f"{member}: it is missing; {why}", hint="add it", details={"pointer": f"/{member}"}
    )
