"""What a reported outcome means: the table, and properties over all of it."""

import itertools
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.job import DEFAULT_BACKOFF, Backoff, Claimed, Held, Settlement
from mainspring.domain.outcome import (
    Cancelled,
    ErrorInfo,
    Failed,
    Lost,
    Outcome,
    Released,
    Snoozed,
    Succeeded,
    TimedOut,
)
from mainspring.domain.states import CLOSED_ATTEMPTS, FINAL, AttemptState, JobState, may_become
from mainspring.policies import verdict
from mainspring.policies.backoff import delay_ms
from mainspring.policies.verdict import judge

_NOW = datetime(2027, 1, 1, tzinfo=UTC)
_BOOM = ErrorInfo("ValueError", "boom", "Traceback", "app.py:31")
_DICE = st.floats(0, 1, exclude_max=True)
_ERRORS = st.builds(ErrorInfo, type=st.text(max_size=5), message=st.text(max_size=20))
_OUTCOMES: st.SearchStrategy[Outcome] = st.one_of(
    st.builds(Succeeded, st.none() | st.binary(max_size=5)),
    st.builds(
        Failed, _ERRORS, permanent=st.booleans(), retry_after_ms=st.none() | st.integers(0, 10**9)
    ),
    st.builds(Snoozed, st.integers(0, 10**9), st.text(max_size=5)),
    st.builds(TimedOut, st.integers(1, 10**9), st.booleans()),
    st.builds(Cancelled, st.text(max_size=5)),
    st.builds(Released, st.text(min_size=1, max_size=5)),
    st.builds(Lost, st.sampled_from(["session", "deadline", "child"])),
)
_CHARGED = _OUTCOMES.filter(lambda outcome: not isinstance(outcome, Snoozed | Released))
#: Outcomes that give the try back: only these may go on for ever, because a person asked for it.
_REFUNDING = (Snoozed, Released)


def _claimed(
    tries: int = 1,
    crashes: int = 1,
    max_attempts: int = 3,
    max_crashes: int = 3,
    backoff: Backoff | None = None,
) -> Claimed:
    return Claimed(
        job_id=b"j" * 16,
        attempt=7,
        kind="test.work",
        queue="default",
        tenant="default",
        priority=2,
        payload=b"{}",
        payload_ref=None,
        tries=tries,
        crashes=crashes,
        max_attempts=max_attempts,
        max_crashes=max_crashes,
        backoff=backoff,
        timeout_ms=1_000,
        due_at=_NOW,
        started_at=_NOW,
        deadline_at=_NOW,
        effect_key=None,
        on_exhausted=None,
        created_at=_NOW,
    )


_JOBS = st.builds(
    _claimed,
    tries=st.integers(1, 20),
    crashes=st.integers(1, 20),
    max_attempts=st.integers(1, 20),
    max_crashes=st.integers(1, 20),
    backoff=st.none() | st.just(Backoff(5, 3.0, 50, 0.0)),
)


def _judged(outcome: Outcome, *, dice: float = 0.0, **facts: int) -> Settlement:
    return judge(_claimed(**facts, backoff=None), outcome, dice)


@pytest.mark.parametrize(
    ("outcome", "facts", "becomes", "closed_as", "reason"),
    [
        (Succeeded(b"1"), {}, "succeeded", "succeeded", None),
        (Failed(_BOOM), {}, "retrying", "failed", verdict.FAILED),
        (Failed(_BOOM), {"tries": 3}, "dead", "failed", verdict.ATTEMPTS_EXHAUSTED),
        (Failed(_BOOM), {"crashes": 9}, "retrying", "failed", verdict.FAILED),
        (Failed(_BOOM, permanent=True), {}, "dead", "failed", verdict.FAILED_PERMANENTLY),
        (Failed(_BOOM, retry_after_ms=5), {}, "retrying", "failed", verdict.RETRY_ASKED),
        (
            Failed(_BOOM, retry_after_ms=5),
            {"tries": 3},
            "dead",
            "failed",
            verdict.ATTEMPTS_EXHAUSTED,
        ),
        (
            Failed(_BOOM, permanent=True, retry_after_ms=5),
            {},
            "dead",
            "failed",
            verdict.FAILED_PERMANENTLY,
        ),
        (TimedOut(5), {}, "retrying", "timed_out", verdict.TIMED_OUT),
        (TimedOut(5), {"tries": 4}, "dead", "timed_out", verdict.ATTEMPTS_EXHAUSTED),
        (Snoozed(5), {"tries": 3}, "scheduled", "released", verdict.SNOOZED),
        (Snoozed(5, "tea"), {}, "scheduled", "released", "tea"),
        (Cancelled(), {}, "cancelled", "cancelled", verdict.CANCELLED),
        (Cancelled("enough"), {"tries": 3}, "cancelled", "cancelled", "enough"),
        (Released(), {"tries": 3, "crashes": 3}, "ready", "released", "worker_stopped"),
        (Lost("session"), {}, "ready", "lost", "session"),
        (Lost("session"), {"crashes": 3}, "dead", "lost", verdict.CRASHES_EXHAUSTED),
        (Lost("session"), {"tries": 3}, "dead", "lost", verdict.ATTEMPTS_EXHAUSTED),
        (Lost("session"), {"tries": 3, "crashes": 3}, "dead", "lost", verdict.CRASHES_EXHAUSTED),
    ],
)
def test_the_table(
    outcome: Outcome, facts: dict[str, int], becomes: str, closed_as: str, reason: str | None
) -> None:
    found = _judged(outcome, **facts)
    assert (found.becomes, found.attempt_state, found.reason) == (becomes, closed_as, reason)


def test_results_and_errors_are_handed_on() -> None:
    assert _judged(Succeeded(b'"x"')).result == b'"x"'
    for failed in (Failed(_BOOM), Failed(_BOOM, permanent=True), Failed(_BOOM, retry_after_ms=1)):
        error = _judged(failed).error
        assert error is not None
        assert msgspec.json.decode(error, type=ErrorInfo) == _BOOM
    assert "1500 ms" in str(_judged(TimedOut(1_500)).error)
    assert "deadline" in str(_judged(Lost("deadline")).error)


def test_rests() -> None:
    assert _judged(Failed(_BOOM, retry_after_ms=1_234)).delay_ms == 1_234
    assert _judged(Snoozed(77)).delay_ms == 77
    assert _judged(Failed(_BOOM), tries=2, dice=0.5).delay_ms == delay_ms(DEFAULT_BACKOFF, 2, 0.5)
    slow = judge(_claimed(backoff=Backoff(9, 1.0, 9, 0.0)), TimedOut(1), 0.9)
    assert slow.delay_ms == 9
    assert _judged(Lost("session")).delay_ms == _judged(Released()).delay_ms == 0


@given(_JOBS, _OUTCOMES, _DICE)
def test_every_verdict_is_an_allowed_one(job: Claimed, outcome: Outcome, dice: float) -> None:
    found = judge(job, outcome, dice)
    assert (found.job_id, found.attempt) == (job.job_id, job.attempt)
    assert may_become(JobState.RUNNING, found.becomes)
    assert found.attempt_state in CLOSED_ATTEMPTS
    after_cancel = found.becomes if found.becomes in FINAL else JobState.CANCELLED
    assert may_become(JobState.CANCELLING, after_cancel)
    assert found.delay_ms >= 0
    assert found.delay_ms == 0 or found.becomes in {JobState.RETRYING, JobState.SCHEDULED}
    # Charges: a report, any report, gives the crash back; only what nobody reported keeps it.
    assert found.refund_crash is not isinstance(outcome, Lost)
    assert found.refund_try is isinstance(outcome, _REFUNDING)
    assert (found.error is not None) is isinstance(outcome, Failed | TimedOut | Lost)
    assert (found.attempt_state is AttemptState.LOST) is isinstance(outcome, Lost)
    assert found.follow_up is None


@given(_JOBS, _OUTCOMES, _DICE)
def test_recovery_judges_as_the_worker_would(job: Claimed, outcome: Outcome, dice: float) -> None:
    common = set(Claimed.__struct_fields__) & set(Held.__struct_fields__)
    facts = {name: getattr(job, name) for name in common}
    held = Held(**facts, state=JobState.RUNNING, cause="session")
    assert judge(held, outcome, dice) == judge(job, outcome, dice)


@given(st.integers(1, 8), st.integers(1, 8), st.lists(_CHARGED, min_size=1, max_size=8))
def test_every_chain_ends(max_attempts: int, max_crashes: int, outcomes: list[Outcome]) -> None:
    tries = crashes = 0
    for number, outcome in enumerate(itertools.cycle(outcomes), start=1):
        tries, crashes = tries + 1, crashes + 1
        job = _claimed(tries, crashes, max_attempts, max_crashes)
        found = judge(job, outcome, 0.0)
        tries -= found.refund_try
        crashes -= found.refund_crash
        assert 0 <= crashes <= max_crashes
        assert 0 <= tries <= max_attempts
        assert number <= max_attempts + max_crashes
        if found.becomes in FINAL:
            return


@given(st.integers(1, 5), st.lists(_OUTCOMES, max_size=60))
def test_what_is_refunded_brings_no_job_nearer_to_its_end(
    budget: int, outcomes: list[Outcome]
) -> None:
    tries = crashes = charged = 0
    for outcome in outcomes:
        tries, crashes = tries + 1, crashes + 1
        found = judge(_claimed(tries, crashes, budget, budget), outcome, 0.0)
        tries -= found.refund_try
        crashes -= found.refund_crash
        charged += not isinstance(outcome, _REFUNDING)
        assert tries == charged
        if found.becomes in FINAL:
            return
