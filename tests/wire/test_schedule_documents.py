"""Documents of schedules: what goes over the wire comes back as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.agenda.spec import Spec, Work, calendars_text, read_spec, spec_text
from mainspring.agenda.standing import Cursor
from mainspring.domain.audit import Audited
from mainspring.domain.errors import InvalidSchedule
from mainspring.domain.job import HandlerInfo, Priority
from mainspring.domain.schedule import (
    BackfillView,
    CalendarView,
    FireView,
    Missed,
    ScheduleView,
    VersionView,
)
from mainspring.policies.firing import Policies
from mainspring.ports.gateway import Submission
from mainspring.ports.scheduling import (
    Application,
    Backfilled,
    CalendarDraft,
    Planned,
    Preview,
    ScheduleAudit,
    ScheduleDraft,
)
from mainspring.timetable.definition import CalendarDefinition, Definition, Heeds
from mainspring.wire.documents import calendars, definitions, ledger, schedules
from tests.wire.made import OBJECTS, SECONDS, struct, values

few = settings(max_examples=25)
EPOCH_SECONDS = st.integers(0, 7_000_000_000)
HEEDS = st.tuples(
    st.lists(st.builds(Heeds, st.text(max_size=9)), max_size=2),
    st.lists(st.builds(Heeds, st.text(max_size=9), st.just("include")), max_size=2),
).map(lambda found: (*found[0], *found[1]))
PRIORITIES = st.sampled_from([int(level) for level in Priority])
SPECS = struct(
    Spec,
    times=struct(Definition, calendars=HEEDS),
    work=struct(Work, payload=OBJECTS, priority=PRIORITIES),
).map(spec_text)
HEEDED = st.lists(
    struct(CalendarDefinition), max_size=2, unique_by=lambda calendar: calendar.name
).map(calendars_text)
CURSORS = struct(
    Cursor,
    through=EPOCH_SECONDS,
    next_at=st.none() | EPOCH_SECONDS,
    released_ms=st.integers(0, 7_000_000_000_000),
).map(msgspec.json.encode)
MISSED = st.none() | struct(Missed, first_at=EPOCH_SECONDS, last_at=EPOCH_SECONDS)
SCHEDULES = struct(ScheduleView, spec=SPECS, calendars=HEEDED, cursor=CURSORS)
DEFINED_CALENDARS = struct(CalendarDefinition).map(
    lambda found: msgspec.json.encode(found, order="deterministic")
)


def named(view: CalendarView) -> CalendarView:
    """A calendar's definition has its name, too."""
    definition = msgspec.json.decode(view.definition, type=CalendarDefinition)
    return msgspec.structs.replace(view, name=definition.name)


def travelled(document: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(document), type=type(document))


ROUND_TRIPS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], Any], Callable[[Any], Any]]]
ROUND_TRIPS = {
    "schedule": (SCHEDULES, schedules.schedule_document, schedules.schedule_view),
    "version": (
        struct(VersionView, spec=SPECS, calendars=HEEDED, from_at=EPOCH_SECONDS),
        schedules.version_document,
        schedules.version_view,
    ),
    "fire": (struct(FireView, missed=MISSED), ledger.fire_document, ledger.fire_view),
    "backfill": (struct(BackfillView), ledger.backfill_document, ledger.backfill_view),
    "backfilled": (
        struct(Backfilled),
        lambda found: ledger.backfilled_document("nightly", found),
        ledger.backfilled_of,
    ),
    "preview": (struct(Preview), schedules.preview_document, schedules.preview_of),
    "planned": (struct(Planned), schedules.planned_document, schedules.planned_of),
    "calendar": (
        struct(CalendarView, definition=DEFINED_CALENDARS).map(named),
        calendars.calendar_document,
        calendars.calendar_view,
    ),
}


@pytest.mark.parametrize("what", ROUND_TRIPS)
def test_what_is_answered_is_read_back_as_it_was(what: str) -> None:
    examples, write, read = ROUND_TRIPS[what]

    @few
    @given(examples)
    def check(view: Any) -> None:
        assert read(travelled(write(view))) == view

    check()


@few
@given(struct(ScheduleAudit, schedule=SCHEDULES, audited=struct(Audited)))
def test_an_audit_is_read_back_with_the_schedule_that_comes_with_it(audit: ScheduleAudit) -> None:
    schedule = schedules.schedule_document(audit.schedule)
    found = travelled(ledger.audit_document(audit, schedule))
    assert ledger.audit_of(found, schedules.schedule_view(found.schedule)) == audit
    assert found.is_clean == audit.audited.is_clean


# --- drafts ---------------------------------------------------------------------------------------

POLICIES = st.fixed_dictionaries(
    {},
    optional={
        field.name: values(field.type).filter(lambda value: value is not None)
        for field in msgspec.structs.fields(Policies)
    },
)
WORK = struct(
    Submission,
    payload=OBJECTS.map(str.encode),
    backoff=st.none() | st.just({"initial_ms": 5, "factor": 1.5, "full_jitter": True}),
    declared=st.none(),
    **{
        name: st.just(getattr(Submission(kind=""), name))
        for name in (
            *("delay_ms", "due_at", "key", "unique_key", "unique_while", "on_duplicate", "id"),
            # What this end has found out, and the other finds out for itself.
            "payload_is_checked",
        )
    },
)
DRAFTS = struct(ScheduleDraft, work=WORK, policies=POLICIES, starts_at=st.none() | SECONDS)


@few
@given(DRAFTS)
def test_a_draft_is_the_same_at_the_other_end(draft: ScheduleDraft) -> None:
    body = travelled(definitions.schedule_body(draft))
    assert definitions.schedule_draft(body, draft.work.tenant) == draft


def test_what_a_handler_declares_goes_along_in_so_many_words() -> None:
    declared = HandlerInfo(kind="report", queue="reports", max_attempts=7)
    work = Submission(kind="report", kind_is_known=True, declared=declared, max_attempts=2)
    body = definitions.schedule_body(ScheduleDraft(name="n", when=("@daily",), work=work))
    assert (body.queue, body.max_attempts, body.kind_is_known) == ("reports", 2, True)


def test_a_policy_that_does_not_exist_never_leaves() -> None:
    draft = ScheduleDraft(
        name="n", when=("@daily",), work=Submission(kind="k"), policies={"overlop": "skip"}
    )
    with pytest.raises(InvalidSchedule) as found:
        definitions.schedule_body(draft)
    assert "overlap" in found.value.hint


@few
@given(struct(Application, schedules=st.just(()), calendars=st.just(())))
def test_how_a_set_is_applied_goes_along(wanted: Application) -> None:
    body = travelled(schedules.application_body(wanted))
    assert (body.owner, body.prune, body.adopt) == (wanted.owner, wanted.prune, wanted.adopt)


@few
@given(struct(CalendarDraft))
def test_a_calendar_is_the_same_at_the_other_end(draft: CalendarDraft) -> None:
    body = travelled(calendars.calendar_body(draft))
    assert calendars.calendar_draft(body, draft.name, draft.tenant) == draft


@few
@given(SPECS)
def test_an_empty_patch_changes_nothing(spec: bytes) -> None:
    body = definitions.patched_body("nightly", spec, definitions.SchedulePatch())
    kept = read_spec(spec)
    draft = definitions.schedule_draft(body, "default")
    assert draft.when == kept.times.when
    assert draft.work.payload == kept.work.payload.encode()
    assert draft.policies == {
        name: value
        for name, value in msgspec.structs.asdict(kept.policies).items()
        if value is not None
    }


@pytest.mark.parametrize(
    ("old", "patch", "expected"),
    [
        (b'{"a":"b"}', b'{"a":"c"}', b'{"a":"c"}'),
        (b'{"a":"b"}', b'{"b":"c"}', b'{"a":"b","b":"c"}'),
        (b'{"a":"b"}', b'{"a":null}', b"{}"),
        (b'{"a":["b"]}', b'{"a":"c"}', b'{"a":"c"}'),
        (b'{"a":{"b":"c"}}', b'{"a":{"b":"d","c":null}}', b'{"a":{"b":"d"}}'),
        (b'{"a":[{"b":"c"}]}', b'{"a":[1]}', b'{"a":[1]}'),
        (b'["a","b"]', b'["c","d"]', b'["c","d"]'),
        (b'{"e":null}', b'{"a":1}', b'{"e":null,"a":1}'),
        (b"[1,2]", b'{"a":"b","c":null}', b'{"a":"b"}'),
        (b"{}", b'{"a":{"bb":{"ccc":null}}}', b'{"a":{"bb":{}}}'),
        (b'{"n":1.10}', b'{"m":1E400}', b'{"n":1.10,"m":1E400}'),
    ],
)
def test_a_merge_patch_does_what_its_standard_shows(
    old: bytes, patch: bytes, expected: bytes
) -> None:
    assert definitions.merged(old, patch) == expected
