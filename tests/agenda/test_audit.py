"""The audit finds whatever is missing, doubled or out of place, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.agenda import changes
from mainspring.agenda.audit import audit
from mainspring.agenda.judge import resume
from mainspring.agenda.spec import Spec, read_spec
from mainspring.domain.schedule import MANUAL, Cause, FireView, Outcome, ScheduleState
from mainspring.policies.firing import Policies
from mainspring.timetable.definition import CalendarDefinition, Definition, Heeds
from tests.agenda.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mainspring.domain.audit import Audited

#: Two days before the clocks of New York go forward.
BEGIN = int(datetime(2027, 3, 12, tzinfo=UTC).timestamp())
HOUR_MS = 3_600_000
HOLIDAYS = CalendarDefinition(name="holidays", entries=("2027-03-15", "SUN"))
OPEN = CalendarDefinition(name="open", entries=("MON,TUE,SUN",))

WHENS = [
    "*/20 * * * *",
    "30 2 * * *",
    "0,30 2 * * *",
    "every 45m",
    "0 9 * * MON-FRI",
    "*/7 1-4 * * *",
]
times = st.builds(
    Definition,
    when=st.lists(st.sampled_from(WHENS), min_size=1, max_size=2, unique=True).map(tuple),
    zone=st.sampled_from(["America/New_York", "UTC", "Australia/Lord_Howe"]),
    dst_gap=st.sampled_from(["policy", "shift", "skip"]),
    dst_fold=st.sampled_from(["first", "second", "both"]),
    calendars=st.sampled_from([(), (Heeds("holidays"),), (Heeds("open", "include"),)]),
    jitter_seconds=st.sampled_from([0, 0, 600]),
    max_fires=st.sampled_from([None, None, 9]),
)
policies = st.builds(
    Policies,
    misfire=st.sampled_from(["skip", "fire_once", "fire_all"]),
    overlap=st.sampled_from(["allow", "defer", "skip", "cancel_running", "replace"]),
    max_missed=st.sampled_from([2, 100]),
    catchup_window_seconds=st.sampled_from([None, 3600]),
)
events = st.lists(
    st.tuples(
        st.integers(1, 14 * HOUR_MS),
        st.sampled_from(["step", "busy", "edit", "pause", "resume", "catch_up", "skip", "manual"]),
    ),
    min_size=1,
    max_size=12,
)


def lived(times: Definition, policies: Policies, events: Iterable[tuple[int, str]]) -> Ledger:
    """Return a ledger after a life: the scheduler steps between, before and after the events."""
    ledger = Ledger(times, policies, BEGIN, [HOLIDAYS, OPEN])
    now = BEGIN * 1000
    for away, event in events:
        until = now + away
        # Some steps come when they should, the rest of the time nobody is there.
        for _ in range(6):
            look = ledger.look_ms
            if look is None or look > until:
                break
            now = max(now, look)
            ledger.step(now, busy=False)
        now = until
        happen(ledger, now, event)
    ledger.step(now + 1, busy=False)
    return ledger


def happen(ledger: Ledger, now: int, event: str) -> None:
    state = ledger.standing.state
    spec = read_spec(ledger.standing.spec)
    match event:
        case "edit":
            other = msgspec.structs.replace(spec.times, when=("*/30 * * * *",))
            ledger.edit(now, Spec(times=other, work=spec.work, policies=spec.policies))
        case "pause" if state is ScheduleState.ACTIVE:
            ledger.pause(now)
        case "resume" | "catch_up" if state is ScheduleState.PAUSED:
            ledger.judge(now, lambda at, new: resume(at, new, catch_up=event == "catch_up"))
        case "skip":
            ledger.judge(now, lambda at, new: changes.skip_next(at, new, 2))
        case "manual":
            ledger.judge(now, lambda at, new: changes.fire_now(at, new, despite_overlap=True))
        case _:
            ledger.step(now, busy=event == "busy")


def audited(ledger: Ledger, rows: Iterable[FireView] | None = None, **options: Any) -> Audited:
    through = ledger.standing.cursor.through
    found = list(ledger.rows.values() if rows is None else rows)
    within = [row for row in found if row.nominal_at.timestamp() <= through]
    jobs = sum(
        row.outcome is Outcome.JOB and row.cause is not Cause.MANUAL
        for row in ledger.rows.values()
        if row.nominal_at.timestamp() <= through
    )
    before = ledger.standing.cursor.fired - jobs
    return audit(ledger.versions, within, BEGIN, through, fired=max(0, before), **options)


@given(times, policies, events)
def test_the_judge_leaves_neither_gap_nor_double(
    times: Definition, policies: Policies, events: list[tuple[int, str]]
) -> None:
    found = audited(lived(times, policies, events))
    assert found.findings == ()
    assert found.is_clean
    assert found.expected == found.accounted == sum(found.outcomes.values())


@given(times, policies, events, st.randoms(use_true_random=False))
def test_a_row_that_is_missing_is_found(
    times: Definition, policies: Policies, events: list[tuple[int, str]], dice: Any
) -> None:
    ledger = lived(msgspec.structs.replace(times, max_fires=None), policies, events)
    through = ledger.standing.cursor.through
    rows = [
        row
        for row in ledger.rows.values()
        if row.sequence != MANUAL and row.nominal_at.timestamp() <= through
    ]
    if not rows:
        return
    lost = dice.choice(rows)
    found = audited(ledger, [row for row in rows if row is not lost])
    assert found.gaps >= 1
    assert min(finding.nominal_at for finding in found.findings) == lost.nominal_at


@given(times, policies, events, st.randoms(use_true_random=False))
def test_a_row_that_is_doubled_is_found(
    times: Definition, policies: Policies, events: list[tuple[int, str]], dice: Any
) -> None:
    ledger = lived(times, policies, events)
    through = ledger.standing.cursor.through
    rows = [
        row
        for row in ledger.rows.values()
        if row.sequence != MANUAL and row.nominal_at.timestamp() <= through
    ]
    if not rows:
        return
    found = audited(ledger, [*rows, dice.choice(rows)])
    assert found.doubles >= 1


def plain(when: str = "0 * * * *") -> Ledger:
    times = Definition(when=(when,))
    ledger = Ledger(times, Policies(overlap="allow"), BEGIN)
    ledger.step((BEGIN + 5 * 3600) * 1000, busy=False)
    return ledger


def test_an_instant_that_no_rule_names_is_unexpected() -> None:
    ledger = plain()
    moved = [
        msgspec.structs.replace(row, nominal_at=row.nominal_at - timedelta(seconds=1))
        if row.sequence >= 0
        else row
        for row in ledger.rows.values()
    ]
    found = audited(ledger, moved)
    assert found.unexpected == found.gaps >= 1
    assert "no rule names this instant" in found.findings[0].detail


def test_a_fire_that_a_backfill_took_up_may_lie_in_a_span() -> None:
    ledger = plain()
    (span,) = [row for row in ledger.rows.values() if row.sequence < 0]
    taken = msgspec.structs.replace(
        span, sequence=0, outcome=Outcome.BACKFILLED, through=None, count=1
    )
    assert audited(ledger, [*ledger.rows.values(), taken]).is_clean
    wrong = msgspec.structs.replace(taken, outcome=Outcome.JOB)
    assert audited(ledger, [*ledger.rows.values(), wrong]).doubles == 1


def test_a_span_that_counts_wrongly_is_found() -> None:
    ledger = plain()
    rows = [
        msgspec.structs.replace(row, count=(row.count or 0) + 1) if row.sequence < 0 else row
        for row in ledger.rows.values()
    ]
    found = audited(ledger, rows)
    assert (found.gaps, found.unexpected) == (0, 1)
    assert "holds" in found.findings[0].detail


def test_an_audit_is_bounded_and_can_be_gone_on_with() -> None:
    ledger = plain("* * * * *")
    first = audited(ledger, fires_max=100)
    assert not first.is_complete
    assert first.expected == 100
    assert first.is_clean
    begins = int(first.through.timestamp())
    rest = audit(
        ledger.versions, list(ledger.rows.values()), begins, ledger.standing.cursor.through
    )
    assert rest.is_complete
    assert rest.is_clean
    assert first.expected + rest.expected == audited(ledger).expected


@pytest.mark.parametrize("gone", ["gap", "calendar"])
def test_times_that_are_taken_away_are_accounted_for_as_well(gone: str) -> None:
    times = Definition(
        when=("30 2 * * *",),
        zone="America/New_York",
        dst_gap="skip",
        calendars=(Heeds("holidays"),) if gone == "calendar" else (),
    )
    ledger = Ledger(times, Policies(overlap="allow"), BEGIN, [HOLIDAYS, OPEN])
    ledger.step((BEGIN + 5 * 86_400) * 1000, busy=False)
    reason = Outcome.DST_SKIPPED if gone == "gap" else Outcome.EXCLUDED_BY_CALENDAR
    assert audited(ledger).outcomes[reason.value] >= 1
    kept = [row for row in ledger.rows.values() if row.outcome is not reason]
    assert audited(ledger, kept).gaps >= 1
