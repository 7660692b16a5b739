"""Who is told of what, and what it is told."""

from itertools import count
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.ids import SCHEDULE, WEBHOOK, show, show_job
from mainspring.domain.job import Held, NewJob, Settlement
from mainspring.domain.limits import WEBHOOK_BYTES_MAX
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
from mainspring.domain.states import JobState
from mainspring.domain.webhooks import (
    DELIVERY_ATTEMPTS,
    EVENTS,
    KIND,
    QUEUE,
    RETRY_SECONDS,
    Event,
    Listener,
    Message,
    Wanted,
)
from mainspring.policies.listening import NOBODY, Listeners, Subject
from mainspring.policies.notices import event_of, with_notices
from mainspring.policies.verdict import judge

BOOM = ErrorInfo("ValueError", "boom", "Traceback…", "app.py:31")
JOB, SCH = bytes(range(16)), bytes(range(16, 32))

_few_ids = st.sampled_from([None, JOB, SCH])
_few_words = st.sampled_from(["a", "b", "c"])
_filters = st.lists(_few_words, max_size=2).map(tuple)
_wanted = st.builds(
    Wanted,
    url=st.just("https://example.org"),
    events=st.lists(st.sampled_from(EVENTS), min_size=1, max_size=4).map(tuple),
    job_id=_few_ids,
    schedule_id=_few_ids,
    kinds=_filters,
    queues=_filters,
)
_listeners = st.lists(
    st.builds(Listener, id=st.binary(min_size=16, max_size=16), tenant=_few_words, wanted=_wanted),
    max_size=12,
    unique_by=lambda listener: listener.id,
)
_subjects = st.builds(
    Subject,
    tenant=_few_words,
    kind=_few_words,
    queue=_few_words,
    job_id=_few_ids,
    schedule_id=_few_ids,
)


def _is_told(listener: Listener, event: Event, subject: Subject) -> bool:
    """The rule, read from the guide: every filter that is set has to fit."""
    wanted = listener.wanted
    return (
        listener.tenant == subject.tenant
        and event in wanted.events
        and wanted.job_id in (None, subject.job_id)
        and wanted.schedule_id in (None, subject.schedule_id)
        and (wanted.kinds == () or subject.kind in wanted.kinds)
        and (wanted.queues == () or subject.queue in wanted.queues)
    )


@given(_listeners, st.sampled_from(EVENTS), _subjects)
def test_exactly_those_whose_every_filter_fits_are_told_once(
    listeners: list[Listener], event: Event, subject: Subject
) -> None:
    expected = sorted(each.id for each in listeners if _is_told(each, event, subject))
    found = Listeners(listeners).of(event, subject)
    assert sorted(each.id for each in found) == expected


@given(_listeners, st.sampled_from(EVENTS), _subjects)
def test_whoever_is_told_of_no_job_in_particular_is_known_to_listen(
    listeners: list[Listener], event: Event, subject: Subject
) -> None:
    index = Listeners(listeners)
    assert bool(index) is bool(listeners)
    if any(each.wanted.job_id is None for each in index.of(event, subject)):
        assert index.have(subject.tenant, event)


def test_nobody_listens_to_nothing() -> None:
    assert not NOBODY
    assert NOBODY.of(Event.JOB_DEAD, Subject("default", "k", "q")) == []


def _held(**changes: Any) -> Held:
    held = Held(
        job_id=JOB,
        attempt=3,
        kind="mail.send",
        tenant="default",
        queue="mail",
        state=JobState.RUNNING,
        tries=1,
        crashes=1,
        max_attempts=5,
        max_crashes=3,
        backoff=None,
        timeout_ms=1_000,
        on_exhausted=None,
        payload=b'{"secret":"of the payload"}',
        payload_ref=None,
        cause="session",
        schedule_id=SCH,
    )
    return msgspec.structs.replace(held, **changes)


def _everybody(*events: Event) -> Listeners:
    wanted = Wanted(url="https://example.org/T0/B0/key", events=events or EVENTS)
    return Listeners([Listener(bytes([n] * 16), "default", wanted) for n in (1, 2)])


def _new_ids() -> Any:
    numbers = count(1)
    return lambda: next(numbers).to_bytes(16)


@pytest.mark.parametrize(
    ("outcome", "changes", "event"),
    [
        (Succeeded(), {}, Event.JOB_SUCCEEDED),
        (Failed(BOOM), {}, Event.JOB_FAILED),
        (TimedOut(1_000), {}, Event.JOB_FAILED),
        (Lost("lease_expired"), {}, Event.JOB_FAILED),
        (Failed(BOOM, retry_after_ms=5), {}, Event.JOB_FAILED),
        (Failed(BOOM, permanent=True), {}, Event.JOB_DEAD),
        (Failed(BOOM), {"tries": 5}, Event.JOB_DEAD),
        (Lost("gone"), {"crashes": 3}, Event.JOB_DEAD),
        (Snoozed(1_000), {}, None),
        (Released(), {}, None),
        (Cancelled(), {}, None),
    ],
)
def test_what_there_is_to_tell_of_a_verdict(
    outcome: Outcome, changes: dict[str, Any], event: Event | None
) -> None:
    job = _held(**changes)
    settlement = judge(job, outcome, 0.5)
    assert event_of(settlement) is event
    told = with_notices(settlement, job, _everybody(), _new_ids())
    assert len(told.notices) == (0 if event is None else 2)
    assert msgspec.structs.replace(told, notices=()) == settlement


def _notices(outcome: Outcome, **changes: Any) -> tuple[NewJob, ...]:
    job = _held(**changes)
    return with_notices(judge(job, outcome, 0.5), job, _everybody(), _new_ids()).notices


def test_a_notice_is_a_thin_job_of_its_own() -> None:
    first, second = _notices(Failed(BOOM, permanent=True))
    assert (first.kind, first.queue, first.tenant) == (KIND, QUEUE, "default")
    assert first.max_attempts == DELIVERY_ATTEMPTS == len(RETRY_SECONDS) + 1
    assert first.id != second.id
    assert first.on_exhausted is None
    endpoint = show(WEBHOOK, bytes([1] * 16))
    message = msgspec.json.decode(first.payload, type=Message)
    assert (message.endpoint, message.event) == (endpoint, Event.JOB_DEAD)
    assert message.info == {
        "job": {
            "id": show_job(JOB),
            "kind": "mail.send",
            "queue": "mail",
            "tenant": "default",
            "state": "dead",
            "attempt": 3,
            "attempt_state": "failed",
            "tries": 1,
            "max_attempts": 5,
            "schedule_id": show(SCHEDULE, SCH),
            "reason": "failed_permanently",
            "error": {"type": "ValueError", "message": "boom"},
        }
    }
    # Neither the payload of the job, nor a traceback, nor the address.
    for word in (b"secret", b"Traceback", b"example.org"):
        assert word not in first.payload


def test_the_key_of_a_notice_follows_from_what_it_tells() -> None:
    again = _notices(Failed(BOOM))
    keys = [notice.effect_key for notice in _notices(Failed(BOOM))]
    assert keys == [notice.effect_key for notice in again]
    assert len({*keys, *(notice.effect_key for notice in _notices(Succeeded()))}) == 4
    assert len({*keys, *(notice.effect_key for notice in _notices(Failed(BOOM), attempt=4))}) == 4
    # Receivers split what is signed at dots.
    assert all("." not in (key or "") for key in keys)


def test_a_delivery_tells_nobody_of_itself() -> None:
    for outcome in (Succeeded(), Failed(BOOM), Failed(BOOM, permanent=True), Lost("gone")):
        assert _notices(outcome, kind=KIND, queue=QUEUE) == ()


@given(st.text(max_size=20_000), st.text(max_size=20_000))
def test_a_notice_stays_small_whatever_the_error_says(name: str, message: str) -> None:
    error = ErrorInfo(name[:256], message, message, "")
    for notice in _notices(Failed(error), kind="k" * 128, queue="q" * 64):
        assert len(notice.payload) < WEBHOOK_BYTES_MAX - 1_000


def test_what_was_settled_for_others_is_not_told_to_a_tenant() -> None:
    job = _held(tenant="other")
    settlement: Settlement = judge(job, Succeeded(), 0.5)
    assert with_notices(settlement, job, _everybody(), _new_ids()) is settlement
