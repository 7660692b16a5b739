"""The table of transitions: closed, complete, and drawn as it is."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain import states
from mainspring.domain.states import (
    ALLOWED,
    CLAIMABLE,
    CLOSED_ATTEMPTS,
    FINAL,
    HELD,
    LIVE,
    TRANSITIONS,
    AttemptState,
    JobState,
    effective_state,
    may_become,
)

_PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "states.md"
_BEGIN = "<!-- begin: generated from mainspring.domain.states.mermaid() -->\n"
_END = "<!-- end: generated -->"
_NOW = datetime(2027, 1, 1, tzinfo=UTC)
_INSTANTS = st.datetimes(timezones=st.just(UTC))


def _reachable(start: JobState | None) -> set[JobState]:
    found: set[JobState] = set()
    edge: set[JobState | None] = {start}
    while edge:
        after = {step.after for step in TRANSITIONS if step.before in edge} - found
        found |= after
        edge = {*after}
    return found


def test_every_state_can_come_to_be() -> None:
    assert _reachable(None) == set(JobState)


def test_every_state_that_is_not_final_has_a_way_to_an_end() -> None:
    for state in LIVE:
        assert _reachable(state) & FINAL, state
    # A job can be cancelled from wherever it is.
    for state in LIVE:
        assert JobState.CANCELLED in _reachable(state), state


def test_a_final_state_is_left_by_a_replay_only() -> None:
    leaving = [step for step in TRANSITIONS if step.before in FINAL]
    assert leaving == [states.Transition(JobState.DEAD, "replay", JobState.READY)]


def test_sets_of_states_share_nothing_out_of_place() -> None:
    assert set(JobState) == FINAL | LIVE
    assert not FINAL & LIVE
    assert CLAIMABLE | HELD <= LIVE
    assert not CLAIMABLE & HELD
    assert set(AttemptState) - {AttemptState.RUNNING} == CLOSED_ATTEMPTS


def test_only_a_claim_begins_to_hold() -> None:
    for step in TRANSITIONS:
        begins = step.after in HELD and step.before not in HELD
        assert begins is (step.event == "claim"), step
        assert step.event != "claim" or step.before in CLAIMABLE


def test_the_table_has_no_doubles_and_no_standing_still() -> None:
    assert len(set(TRANSITIONS)) == len(TRANSITIONS)
    assert len({(step.before, step.event) for step in TRANSITIONS}) == len(TRANSITIONS)
    assert all(step.before is not step.after for step in TRANSITIONS)


def test_what_may_become_what_is_the_table() -> None:
    for before in (None, *JobState):
        for after in JobState:
            listed = any(step[::2] == (before, after) for step in TRANSITIONS)
            assert may_become(before, after) is ((before, after) in ALLOWED) is listed


@given(st.sampled_from(JobState), _INSTANTS, _INSTANTS)
def test_the_effective_state_is_the_stored_one_or_due(
    stored: JobState, due_at: datetime, now: datetime
) -> None:
    shown = effective_state(stored, due_at, now)
    if stored in CLAIMABLE and due_at <= now:
        assert shown is JobState.READY
    else:
        assert shown is stored
    assert shown is stored or may_become(stored, shown)


def test_due_begins_at_its_very_instant() -> None:
    early = _NOW - timedelta(microseconds=1)
    assert effective_state(JobState.RETRYING, _NOW, early) is JobState.RETRYING
    assert effective_state(JobState.RETRYING, _NOW, _NOW) is JobState.READY


def test_the_diagram_shows_every_transition() -> None:
    lines = states.mermaid().splitlines()
    assert lines[0] == "stateDiagram-v2"
    assert len(lines) == 1 + len(TRANSITIONS) + len(FINAL)
    assert "    [*] --> ready: submit" in lines
    assert "    dead --> ready: replay" in lines
    assert "    cancelled --> [*]" in lines


def test_the_page_shows_the_diagram_as_it_is() -> None:
    page = _PAGE.read_text(encoding="utf-8")
    drawn = f"```text\n{states.mermaid()}\n```\n"
    before, _, rest = page.partition(_BEGIN)
    shown, _, after = rest.partition(_END)
    assert shown == drawn, f"put this between the markers of {_PAGE.name}:\n{drawn}"
    assert before
    assert after


@pytest.mark.parametrize("state", list(JobState))
def test_the_page_explains_every_state(state: JobState) -> None:
    assert f"| `{state}` | " in _PAGE.read_text(encoding="utf-8")
