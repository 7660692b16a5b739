import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mainspring.domain.errors import (
    ConnectionFailed,
    InvalidDuration,
    InvalidId,
    InvalidInput,
    InvalidPayload,
    LimitReached,
    MainspringError,
    NaiveDatetime,
    NotJson,
    OutcomeUnknown,
    PayloadTooLarge,
    SubmissionKeyReused,
    UnknownKind,
    UnknownOption,
)
from mainspring.domain.ids import parse_job, show_job
from mainspring.domain.job import Backoff, HandlerInfo, Priority
from mainspring.domain.limits import (
    DELAY_SECONDS_MAX,
    INLINE_BYTES_MAX,
    PAYLOAD_BYTES_MAX,
    SUBMIT_JOBS_MAX,
)
from mainspring.domain.states import JobState
from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.ports.entropy import new_job_id
from mainspring.ports.gateway import Accepted, Submission
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import counts
from tests.registry.faults import Faulty, files_below

KIND = "mail.send"
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"to": {"type": "string"}, "rows": {"type": "array", "items": {}}},
        "required": ["to"],
        "additionalProperties": False,
    }
)


def want(**changes: Any) -> Submission:
    return Submission(**{"kind": KIND, "kind_is_known": True, **changes})


async def declare(store: Store, **changes: Any) -> None:
    await store.declare_handlers([HandlerInfo(**{"kind": KIND, "schema": SCHEMA, **changes})])


_LARGE = b'{"a":"' + b"x" * INLINE_BYTES_MAX + b'"}'
_BAD: list[tuple[dict[str, Any], type[MainspringError], str]] = [
    ({"kind": "no spaces"}, InvalidInput, "kind: 'no spaces' is not a name"),
    ({"kind": ""}, InvalidInput, "kind: '' is not a name"),
    ({"tenant": "t" * 65}, InvalidInput, "tenant: "),
    ({"tenant": ""}, InvalidInput, "tenant: '' is not a name"),
    ({"queue": "a\x00b"}, InvalidInput, "queue: "),
    ({"queue": ""}, InvalidInput, "queue: '' is not a name"),
    ({"priority": "urgent"}, UnknownOption, "priority: there is no 'urgent'"),
    ({"priority": 4}, UnknownOption, "priority: there is no 4"),
    ({"delay_ms": -1}, InvalidDuration, "delay: -1 ms is negative"),
    ({"delay_ms": 1.5}, InvalidDuration, "delay: 1.5 is not a whole number of milliseconds"),
    ({"delay_ms": "5"}, InvalidDuration, "delay: '5' is not a whole number of milliseconds"),
    ({"delay_ms": DELAY_SECONDS_MAX * 1_000 + 1}, InvalidDuration, "delay: more than 3650 days"),
    ({"delay_ms": 0, "due_at": "2027-01-01T00:00:00Z"}, InvalidInput, "delay and at: both"),
    ({"due_at": "2027-01-01T00:00:00"}, NaiveDatetime, "at: '2027-01-01T00:00:00' has no time"),
    ({"due_at": "tomorrow"}, InvalidInput, "at: 'tomorrow' is not an instant"),
    ({"due_at": ""}, InvalidInput, "at: '' is not an instant"),
    ({"due_at": "0001-01-01T00:00:00+14:00"}, InvalidInput, "at: '0001-01-01T00:00:00+14:00' is "),
    ({"due_at": "9999-12-31T23:59:59-14:00"}, InvalidInput, "at: '9999-12-31T23:59:59-14:00' is "),
    ({"max_attempts": 0}, InvalidInput, "max_attempts: 0 is not a whole number from 1 to 1000"),
    ({"max_attempts": 2.5}, InvalidInput, "max_attempts: 2.5 is not a whole number"),
    ({"max_crashes": 101}, InvalidInput, "max_crashes: 101 is not a whole number from 1 to 100"),
    ({"timeout_ms": 0}, InvalidDuration, "timeout: 0 ms is not within 1 ms to 7 d"),
    ({"timeout_ms": 604_800_001}, InvalidDuration, "timeout: 604800.001 s "),
    ({"backoff": {"factr": 2}}, UnknownOption, "backoff: there is no 'factr'"),
    ({"backoff": {"initial_ms": 1.5}}, InvalidInput, "backoff: Expected `int`"),
    ({"backoff": {"initial_ms": -1}}, InvalidInput, "backoff.initial_ms: -1 is not a whole"),
    ({"backoff": {"cap_ms": 10**15}}, InvalidInput, "backoff.cap_ms: "),
    ({"backoff": {"factor": 0.5}}, InvalidInput, "backoff: factor must be 1 to 100"),
    ({"backoff": {"factor": float("nan")}}, InvalidInput, "backoff: factor must be 1 to 100"),
    ({"backoff": {"jitter": 1.5}}, InvalidInput, "backoff: factor must be 1 to 100 and jitter 0"),
    ({"on_exhausted": "no spaces"}, InvalidInput, "on_exhausted: 'no spaces' is not a name"),
    ({"on_exhausted": "a\x00"}, InvalidInput, "on_exhausted: "),
    ({"key": ""}, InvalidInput, "key: '' is not a key"),
    ({"key": "k" * 257}, InvalidInput, "key: "),
    ({"key": "a\x00b"}, InvalidInput, "key: "),
    ({"key": "\ud800"}, InvalidInput, "key: "),
    ({"effect_key": "a\nb"}, InvalidInput, "effect_key: 'a\\nb' is not a key"),
    ({"unique_key": ""}, InvalidInput, "unique: '' is not a key"),
    ({"unique_while": "always"}, UnknownOption, "unique_while: there is no 'always'"),
    ({"on_duplicate": "rejct"}, UnknownOption, "on_duplicate: there is no 'rejct'"),
    ({"payload": b"nope"}, NotJson, "the payload is not JSON"),
    ({"payload": b"[]"}, InvalidPayload, "the payload is a list"),
    ({"payload": b'{"a":1,"a":2}'}, InvalidPayload, "the payload repeats a key"),
    ({"payload": b" " * (PAYLOAD_BYTES_MAX + 1)}, PayloadTooLarge, "the payload has 1,048,577"),
    ({"id": b"short"}, InvalidId, "id: b'short' is not an id"),
    ({"id": b""}, InvalidId, "id: b'' is not an id"),
    ({"id": b"\xff" * 16}, InvalidId, "id: "),
    ({"kind": "other", "kind_is_known": False}, UnknownKind, "no handler of the kind 'other'"),
    (
        {"on_exhausted": "mail.sent", "kind_is_known": False},
        UnknownKind,
        "on_exhausted: no handler of the kind 'mail.sent' is known",
    ),
    ({"kind_is_known": False, "payload": b"{}"}, InvalidPayload, 'mail.send: "to" is a required'),
]


@pytest.mark.parametrize(
    ("changes", "error", "words"), _BAD, ids=[f"bad{number}" for number in range(len(_BAD))]
)
@pytest.mark.parametrize("place", [None, 0, 2])
async def test_a_bad_option_is_one_clear_error_and_nothing_is_written(
    desk: FrontDesk,
    store: Store,
    tmp_path: Path,
    changes: dict[str, Any],
    error: type[MainspringError],
    words: str,
    place: int | None,
) -> None:
    await declare(store)
    wanted = [want(**changes)]
    if place is not None:
        wanted = [want(payload=_LARGE, key="k-1"), want(payload=_LARGE)]
        wanted.insert(place, want(**changes))
    with pytest.raises(error) as caught:
        await desk.submit(wanted)
    at = "" if place is None else f"submission {place + 1} of 3: "
    assert str(caught.value).startswith(at + words)
    assert caught.value.details.get("index") == place
    assert caught.value.exit_code == 2
    assert await counts(store) == {}
    assert files_below(tmp_path) == []
    # The key was not taken either.
    assert (await desk.submit([want(key="k-1")]))[0].created


async def test_defaults_come_from_the_declared_handler(desk: FrontDesk, store: Store) -> None:
    backoff = Backoff(initial_ms=5)
    await declare(
        store,
        queue="mail",
        priority=Priority.HIGH,
        max_attempts=9,
        max_crashes=2,
        backoff=backoff,
        timeout_ms=7_000,
        on_exhausted="mail.lost",
    )
    body = b'{"to":"a"}'
    plain, chosen, without = await desk.submit(
        [
            want(kind_is_known=False, payload=body),
            want(
                kind_is_known=False,
                payload=body,
                queue="slow",
                priority="low",
                max_attempts=1,
                max_crashes=1,
                backoff={"jitter": 0},
                timeout_ms=1,
                on_exhausted=KIND,
            ),
            want(kind="new.kind"),
        ]
    )
    found = await desk.get_job(plain.job_id)
    assert (found.queue, found.priority, found.max_attempts) == ("mail", Priority.HIGH, 9)
    assert (found.max_crashes, found.backoff, found.timeout_ms) == (2, backoff, 7_000)
    assert found.on_exhausted == "mail.lost"
    found = await desk.get_job(chosen.job_id)
    assert (found.queue, found.priority, found.max_attempts) == ("slow", Priority.LOW, 1)
    assert (found.max_crashes, found.backoff, found.timeout_ms) == (1, Backoff(jitter=0), 1)
    assert found.on_exhausted == KIND
    found = await desk.get_job(without.job_id)
    assert (found.queue, found.max_attempts, found.backoff) == ("default", 5, None)


async def test_unknown_kinds_are_told_what_is_known(desk: FrontDesk, store: Store) -> None:
    with pytest.raises(UnknownKind) as caught:
        await desk.submit([want(kind_is_known=False)])
    assert caught.value.hint.startswith("no worker has declared any yet; start one:")
    await declare(store)
    with pytest.raises(UnknownKind) as caught:
        await desk.submit([want(kind="mial.send", kind_is_known=False)])
    assert caught.value.hint == "did you mean mail.send?"
    with pytest.raises(UnknownKind) as caught:
        await desk.submit([want(kind="zzz", kind_is_known=False)])
    assert caught.value.hint == "known kinds: mail.send"


async def test_a_kind_declared_a_moment_ago_is_known(desk: FrontDesk, store: Store) -> None:
    with pytest.raises(UnknownKind):
        await desk.submit([want(kind_is_known=False)])
    await declare(store)
    await desk.submit([want(kind_is_known=False, payload=b'{"to":"a"}')])


async def test_a_key_names_the_first_job(desk: FrontDesk, store: Store) -> None:
    first = (await desk.submit([want(key="k", payload=b'{"a":1}')]))[0]
    again = (await desk.submit([want(key="k", payload=b'{"a":1}')]))[0]
    assert first.created
    assert again == Accepted(first.job_id, created=False)
    other_tenant = (await desk.submit([want(key="k", tenant="other")]))[0]
    assert other_tenant.created
    assert await counts(store) == {JobState.READY: 2}


@pytest.mark.parametrize(
    "other",
    [
        {"payload": b'{"a":2}'},
        {"queue": "slow"},
        {"priority": "low"},
        {"delay_ms": 5},
        {"due_at": "2027-01-01T00:00:00Z"},
        {"max_attempts": 2},
        {"timeout_ms": 5},
        {"kind": "other"},
        {"effect_key": "e"},
    ],
)
async def test_a_key_with_another_body_is_refused(
    desk: FrontDesk, store: Store, other: dict[str, Any]
) -> None:
    first = (await desk.submit([want(key="k", payload=b'{"a":1}')]))[0]
    with pytest.raises(SubmissionKeyReused) as caught:
        await desk.submit([want(**{"key": "k", "payload": b'{"a":1}', **other})])
    shown = show_job(first.job_id)
    assert caught.value.details == {"job_id": shown, "key": "k", "accepted": [None]}
    assert await counts(store) == {JobState.READY: 1}


async def test_keys_inside_one_call_follow_its_order(desk: FrontDesk, store: Store) -> None:
    a, b, c = await desk.submit([want(key="k"), want(), want(key="k")])
    assert (a.created, b.created, c) == (True, True, Accepted(a.job_id, created=False))
    with pytest.raises(SubmissionKeyReused, match="submission 2 of 2: the key 'x' was used"):
        await desk.submit([want(key="x"), want(key="x", queue="slow")])


async def test_instants_are_kept_in_utc(desk: FrontDesk) -> None:
    accepted = (await desk.submit([want(due_at="2030-01-31T09:00:00.000001+01:00")]))[0]
    found = await desk.get_job(accepted.job_id)
    assert found.due_at == datetime(2030, 1, 31, 8, 0, 0, 1, tzinfo=UTC)
    assert found.state is JobState.SCHEDULED


async def test_bulk_has_a_limit(desk: FrontDesk, store: Store) -> None:
    assert await desk.submit([]) == []
    with pytest.raises(LimitReached, match="10,001 submissions at once, the limit is 10,000"):
        await desk.submit([want()] * (SUBMIT_JOBS_MAX + 1))
    accepted = await desk.submit([want()] * SUBMIT_JOBS_MAX)
    assert len({item.job_id for item in accepted}) == SUBMIT_JOBS_MAX
    assert await counts(store) == {JobState.READY: SUBMIT_JOBS_MAX}


async def test_large_payloads_lie_in_the_object_store(
    desk: FrontDesk, store: Store, tmp_path: Path
) -> None:
    small = b'{"a":"' + b"x" * (INLINE_BYTES_MAX - 8) + b'"}'
    assert len(small) == INLINE_BYTES_MAX
    inline, large = await desk.submit([want(payload=small), want(payload=_LARGE)])
    kept = await store.get_job(inline.job_id)
    assert kept is not None
    assert (kept.payload, kept.payload_ref) == (small, None)
    kept = await store.get_job(large.job_id)
    assert kept is not None
    assert kept.payload == b"{}"
    assert kept.payload_ref is not None
    assert len(files_below(tmp_path)) == 1
    assert (await desk.get_job(large.job_id)).payload == _LARGE


async def test_without_an_object_store_large_payloads_stay_in_the_row(store: Store) -> None:
    desk = FrontDesk(store, blobs=None, new_id=new_job_id)
    accepted = (await desk.submit([want(payload=_LARGE)]))[0]
    assert (await desk.get_job(accepted.job_id)).payload == _LARGE


async def test_a_repeated_key_leaves_no_object_behind(desk: FrontDesk, tmp_path: Path) -> None:
    first = (await desk.submit([want(key="k", payload=_LARGE)]))[0]
    before = files_below(tmp_path)
    assert (await desk.submit([want(key="k", payload=_LARGE)]))[0].job_id == first.job_id
    with pytest.raises(SubmissionKeyReused):
        await desk.submit([want(key="k", payload=_LARGE + b" ")])
    assert files_below(tmp_path) == before
    assert (await desk.get_job(first.job_id)).payload == _LARGE


async def test_a_repeated_id_with_another_body_does_not_damage_the_first(desk: FrontDesk) -> None:
    chosen = new_job_id()
    await desk.submit([want(id=chosen, payload=_LARGE)])
    again = await desk.submit([want(id=chosen, payload=_LARGE.replace(b"x", b"y"))])
    assert again == [Accepted(chosen, created=False)]
    assert (await desk.get_job(chosen)).payload == _LARGE


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("key", [None, "k"])
async def test_an_unknown_outcome_ends_in_exactly_one_job(
    shaky_desk: FrontDesk, faulty: Faulty, store: Store, place: str, key: str | None
) -> None:
    faults: list[Exception] = [OutcomeUnknown(), OutcomeUnknown()]
    getattr(faulty, place).extend(faults)
    accepted = await shaky_desk.submit([want(key=key), want()])
    assert faulty.calls == [(2, False), (2, True), (2, True)]
    assert await counts(store) == {JobState.READY: 2}
    assert {item.job_id for item in accepted} == {
        job.id for job in (await shaky_desk.list_jobs(_all(), limit=9, before=None)).items
    }
    if key:
        assert await shaky_desk.submit([want(key=key)]) == [
            Accepted(accepted[0].job_id, created=False)
        ]


async def test_an_unknown_outcome_of_an_unreachable_store_is_asked_again(
    shaky_desk: FrontDesk, faulty: Faulty, store: Store
) -> None:
    faulty.before += [OutcomeUnknown(), ConnectionFailed()]
    await shaky_desk.submit([want()])
    assert await counts(store) == {JobState.READY: 1}


async def test_a_store_that_was_never_reached_is_told_at_once(
    shaky_desk: FrontDesk, faulty: Faulty, store: Store
) -> None:
    faulty.before.append(ConnectionFailed())
    with pytest.raises(ConnectionFailed):
        await shaky_desk.submit([want()])
    assert faulty.calls == [(1, False)]
    assert await counts(store) == {}


async def test_an_outcome_that_stays_unknown_names_the_jobs(
    shaky_desk: FrontDesk, faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.wire.settling.SETTLE_SECONDS", 0.01)
    faulty.before += [OutcomeUnknown()] * 9
    chosen = new_job_id()
    with pytest.raises(OutcomeUnknown) as caught:
        await shaky_desk.submit([want(id=chosen)])
    assert caught.value.details == {"job_ids": [show_job(chosen)]}
    assert show_job(chosen) in caught.value.hint


async def test_submitting_wakes_the_queue(
    desk: FrontDesk, store: Store, clock: SettableClock, blobs: LocalBlobs
) -> None:
    listening = store.wakeups.subscribe({"queue:mail", "queue:other"})
    await desk.submit([want(queue="mail"), want(queue="mail")])
    assert await listening.wait(30) == {"queue:mail"}
    listening.close()


def _all() -> Any:
    from mainspring.domain.job import JobFilter

    return JobFilter()


def test_every_option_of_a_submission_is_tried() -> None:
    tried = {name for changes, _, _ in _BAD for name in changes}
    # These are no user input: both were checked where they come from.
    assert tried == set(msgspec.structs.asdict(want())) - {"declared", "payload_is_checked"}


async def test_a_new_declaration_does_not_make_an_honest_repetition_another_body(
    desk: FrontDesk,
) -> None:
    before, after = (
        HandlerInfo(kind="test.work", timeout_ms=1_000),
        HandlerInfo(kind="test.work", timeout_ms=2_000, queue="slow"),
    )
    first = (await desk.submit([want(key="k", kind="test.work", declared=before)]))[0]
    again = (await desk.submit([want(key="k", kind="test.work", declared=after)]))[0]
    assert again == Accepted(first.job_id, created=False)


async def test_one_instant_is_the_same_body_in_every_zone(desk: FrontDesk) -> None:
    first = (await desk.submit([want(key="k", due_at="2030-01-31T09:00:00+01:00")]))[0]
    again = (await desk.submit([want(key="k", due_at="2030-01-31T08:00:00Z")]))[0]
    assert again == Accepted(first.job_id, created=False)


async def test_a_reused_key_in_a_batch_names_what_was_accepted(desk: FrontDesk) -> None:
    first = (await desk.submit([want(key="k")]))[0]
    with pytest.raises(SubmissionKeyReused) as caught:
        await desk.submit([want(), want(key="k", payload=b'{"a":2}'), want()])
    accepted = caught.value.details["accepted"]
    assert isinstance(accepted, list)
    assert accepted[1] is None
    for shown in (accepted[0], accepted[2]):
        assert (await desk.get_job(parse_job(shown))).id != first.job_id


async def test_an_instant_too_far_ahead_is_refused(desk: FrontDesk, store: Store) -> None:
    with pytest.raises(InvalidInput, match="days ahead"):
        await desk.submit([want(due_at="9999-01-01T00:00:00Z")])
    assert await counts(store) == {}


async def test_a_misspelt_parameter_gets_a_suggestion(desk: FrontDesk, store: Store) -> None:
    await declare(store)
    with pytest.raises(InvalidPayload) as caught:
        await desk.submit([want(kind="mail.send", payload=b'{"too":"a"}', kind_is_known=False)])
    assert "did you mean 'to'?" in caught.value.hint
