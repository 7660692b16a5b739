"""Codecs of gRPC: there and back is the same; what cannot be read is refused by name."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.errors import (
    BY_CODE,
    InvalidId,
    InvalidInput,
    MainspringError,
    NotJson,
    PayloadTooLarge,
    SessionLost,
)
from mainspring.domain.ids import show_job
from mainspring.domain.job import Backoff, Claimed, HandlerInfo, NewSession
from mainspring.domain.outcome import (
    Cancelled,
    ErrorInfo,
    Failed,
    LogLine,
    Lost,
    Outcome,
    Progress,
    Released,
    Report,
    Snoozed,
    Succeeded,
    TimedOut,
)
from mainspring.domain.schedule import Cause, FireOf, Missed
from mainspring.ports.store import ClaimAsk, Lane
from mainspring.wire.protobuf import job_pb2, submission_pb2, worker_pb2
from mainspring.wire.protobuf.attempts import AWAY, attempt_message, claimed_of
from mainspring.wire.protobuf.errors import error_metadata, error_of
from mainspring.wire.protobuf.outcomes import (
    line_message,
    line_of,
    progress_message,
    progress_of,
    report_message,
    report_of,
)
from mainspring.wire.protobuf.scalars import attempt_of, instant, stamp
from mainspring.wire.protobuf.sessions import (
    ask_of,
    claim_message,
    handler_message,
    handler_of,
    session_message,
    session_of,
)
from mainspring.wire.protobuf.submissions import submission_of

ids = st.binary(min_size=16, max_size=16)
int32s = st.integers(0, 2**31 - 1)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
names = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,30}", fullmatch=True)
instants = st.datetimes(timezones=st.just(UTC))
numbers = st.floats(allow_nan=False, allow_infinity=False)
backoffs = st.builds(Backoff, int32s, numbers, st.integers(0, 2**40), numbers, st.booleans())
json_texts = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
).map(lambda value: json.dumps(value).encode())
fires = st.builds(
    FireOf,
    schedule_id=ids,
    schedule=words,
    nominal_at=instants,
    due_at=instants,
    zone=words,
    cause=st.sampled_from(Cause),
    sequence=int32s,
    local=st.none() | words,
    missed=st.none()
    | st.builds(
        Missed, int32s, st.integers(-(10**9), 10**10), st.integers(0, 10**10), st.booleans()
    ),
    previous_success_at=st.none() | instants,
)
attempts = st.builds(
    Claimed,
    job_id=ids,
    attempt=int32s,
    kind=names,
    queue=names,
    tenant=names,
    priority=st.integers(0, 3),
    payload=json_texts,
    payload_ref=st.none(),
    tries=int32s,
    crashes=int32s,
    max_attempts=int32s,
    max_crashes=int32s,
    backoff=st.none() | backoffs,
    timeout_ms=st.integers(0, 2**40),
    due_at=instants,
    started_at=instants,
    deadline_at=instants,
    effect_key=words.filter(bool),
    on_exhausted=st.none() | names,
    created_at=instants,
    schedule_id=st.none() | ids,
    nominal_at=st.none() | instants,
    fire=st.none() | fires,
    fire_is_unread=st.booleans(),
)
int64s = st.integers(-(2**63) + 1, 2**63 - 1)
filled = words.filter(bool)
outcomes: st.SearchStrategy[Outcome] = st.one_of(
    st.builds(Succeeded, st.none() | json_texts),
    st.builds(
        Failed,
        st.builds(ErrorInfo, filled, words, words, words),
        st.booleans(),
        st.none() | int64s,
    ),
    st.builds(Snoozed, int64s, words),
    st.builds(TimedOut, int64s, st.booleans(), st.booleans(), st.booleans()),
    st.builds(Cancelled, words),
    st.builds(Released, filled),
    st.builds(Lost, filled),
)
handlers = st.builds(
    HandlerInfo,
    kind=names,
    tenant=names,
    queue=names,
    priority=st.integers(0, 3),
    max_attempts=st.integers(0, 1_000),
    max_crashes=st.integers(0, 100),
    backoff=st.none() | backoffs,
    timeout_ms=st.integers(0, 10**8),
    on_exhausted=st.none() | names,
    mode=names,
    unique=st.none() | st.booleans() | names | st.lists(names, max_size=3).map(tuple),
    unique_while=st.sampled_from(["live", "waiting"]),
    on_duplicate=st.sampled_from(["existing", "reject", "replace"]),
    delay_ms=st.none() | st.integers(0, 10**9),
    schema=st.just('{"type":"object"}'),
    doc=words.filter(lambda text: "\0" not in text),
)


def travelled(message: Any) -> Any:
    """What arrives of a message."""
    return type(message).FromString(message.SerializeToString())


@given(attempts)
def test_an_attempt_arrives_as_it_was(job: Claimed) -> None:
    assert claimed_of(travelled(attempt_message(job))) == job


@given(attempts)
def test_without_an_effect_key_the_jobs_id_arrives(job: Claimed) -> None:
    plain = msgspec.structs.replace(job, effect_key=None)
    arrived = claimed_of(travelled(attempt_message(plain)))
    assert arrived.effect_key == show_job(job.job_id)


@given(attempts)
def test_a_long_payload_stays_behind(job: Claimed) -> None:
    large = msgspec.structs.replace(job, payload=b'{"a":' + b"1" * 100 + b"}")
    arrived = claimed_of(travelled(attempt_message(large, payload_bytes_max=99)))
    assert (arrived.payload, arrived.payload_ref) == (b"{}", AWAY)
    referred = msgspec.structs.replace(job, payload_ref="somewhere")
    assert claimed_of(travelled(attempt_message(referred))).payload_ref == AWAY


@given(ids, int32s, outcomes)
def test_an_outcome_arrives_as_it_was(job_id: bytes, attempt: int, outcome: Outcome) -> None:
    report = Report(job_id, attempt, outcome)
    assert report_of(travelled(report_message(report))) == report


def test_what_utf8_cannot_carry_is_replaced() -> None:
    error = ErrorInfo("a\ud800", "b\udcff", "c\ud800", "d\ud800")
    for outcome in (Failed(error), Snoozed(10**30, "\ud800"), Released("\ud800"), Lost("\ud800")):
        arrived = report_of(travelled(report_message(Report(bytes(16), 1, outcome)))).outcome
        assert type(arrived) is type(outcome)
        assert "\ud800" not in repr(arrived)


def test_a_report_without_an_outcome_is_refused() -> None:
    name = f"{show_job(bytes(16))}:1"
    with pytest.raises(InvalidInput, match="has no outcome"):
        report_of(job_pb2.Report(attempt_id=name))


@pytest.mark.parametrize("text", ["{", "nul", '{"a":}', "[" * 100_000])
def test_a_result_that_is_no_json_is_refused(text: str) -> None:
    name = f"{show_job(bytes(16))}:1"
    given_report = job_pb2.Report(attempt_id=name, succeeded=job_pb2.Succeeded(result_json=text))
    with pytest.raises(NotJson):
        report_of(given_report)


def test_a_result_over_the_limit_is_refused() -> None:
    name = f"{show_job(bytes(16))}:1"
    text = '"' + "x" * 8_388_608 + '"'
    with pytest.raises(PayloadTooLarge):
        report_of(job_pb2.Report(attempt_id=name, succeeded=job_pb2.Succeeded(result_json=text)))


@given(st.builds(Progress, ids, int32s, numbers, st.none() | numbers, words))
def test_progress_arrives_as_it_was(told: Progress) -> None:
    assert progress_of(travelled(progress_message(told))) == told


@given(st.builds(LogLine, ids, int32s, st.integers(1, 2**31 - 1), instants, filled, words))
def test_a_line_arrives_as_it_was(line: LogLine) -> None:
    assert line_of(travelled(line_message(line)), lambda: line.at) == line


def test_a_line_without_an_instant_is_of_now() -> None:
    now = datetime(2027, 1, 31, tzinfo=UTC)
    name = f"{show_job(bytes(16))}:1"
    bare = worker_pb2.LogLine(attempt_id=name, sequence=1, message="m", fields_json='{"a":1}')
    line = line_of(bare, lambda: now)
    assert (line.at, line.level, line.fields) == (now, "info", '{"a":1}')
    with pytest.raises(InvalidInput, match="sequence"):
        line_of(worker_pb2.LogLine(attempt_id=name), lambda: now)


@given(handlers)
def test_a_handler_arrives_as_it_was(info: HandlerInfo) -> None:
    assert handler_of(travelled(handler_message(info))) == info


def test_a_handler_that_says_little_gets_the_defaults() -> None:
    assert handler_of(worker_pb2.Handler(kind="a.b")) == HandlerInfo(kind="a.b")


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": ""},
        {"kind": "a b"},
        {"kind": "a", "queue": "\0"},
        {"kind": "a", "priority": 77},
        {"kind": "a", "max_attempts": -1},
        {"kind": "a", "timeout_ms": 2**62},
        {"kind": "a", "schema_json": "[]"},
        {"kind": "a", "unique_while": "never"},
        {"kind": "a", "on_duplicate": "never"},
        {"kind": "a", "on_exhausted": " "},
    ],
    ids=str,
)
def test_a_handler_that_nobody_could_keep_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises((InvalidInput, MainspringError)) as caught:
        handler_of(worker_pb2.Handler(**changes))
    assert caught.value.grpc_status == "INVALID_ARGUMENT"


@given(
    st.builds(
        NewSession,
        id=ids,
        name=names,
        host=names,
        pid=int32s,
        version=names,
        queues=st.dictionaries(names, int32s, max_size=4),
        kinds=st.lists(names, max_size=4).map(tuple),
        lease_ms=st.integers(1_000, 3_600_000),
    )
)
def test_a_session_arrives_as_it_was(session: NewSession) -> None:
    assert session_of(travelled(session_message(session, [])), session.id) == session


@given(
    st.builds(
        ClaimAsk,
        worker_id=ids,
        child=st.integers(0, 32_767),
        lanes=st.dictionaries(names, st.integers(1, 1_000), min_size=1, max_size=4).map(
            lambda wants: tuple(Lane(name, want) for name, want in sorted(wants.items()))
        ),
        kinds=st.lists(names, max_size=4).map(tuple),
        limit=st.integers(1, 1_000),
        grace_ms=st.integers(0, 3_600_000),
        holding=st.none() | st.lists(st.tuples(ids, int32s), max_size=4).map(tuple),
    )
)
def test_a_claim_arrives_as_it_was(ask: ClaimAsk) -> None:
    arrived = ask_of(travelled(claim_message(ask)))
    lanes = tuple(sorted(arrived.lanes, key=lambda lane: lane.queue))
    assert msgspec.structs.replace(arrived, lanes=lanes) == ask


@given(instants)
def test_an_instant_arrives_to_the_microsecond(at: datetime) -> None:
    assert instant(travelled(stamp(at)), "at") == at


@pytest.mark.parametrize("seconds", [2**62, -(2**62), 253_402_300_800])
def test_an_instant_beyond_the_calendar_is_refused(seconds: int) -> None:
    with pytest.raises(InvalidInput, match="calendar"):
        instant(Timestamp(seconds=seconds), "at")


@pytest.mark.parametrize(
    "text",
    ["", ":", "job_:1", "x:1", f"{show_job(bytes(16))}", f"{show_job(bytes(16))}:", "a" * 999]
    + [f"{show_job(bytes(16))}:{tail}" for tail in ("-1", "1.5", "²", "9" * 99, "2147483648")],
)
def test_what_names_no_attempt_is_refused(text: str) -> None:
    with pytest.raises(InvalidId):
        attempt_of(text)


def test_a_submission_is_read_whole() -> None:
    job = submission_pb2.Job(
        kind="a.b",
        payload_json='{"n":1}',
        queue="q",
        priority=job_pb2.PRIORITY_HIGH,
        due_at=stamp(datetime(2027, 1, 31, tzinfo=UTC)),
        max_attempts=3,
        backoff=job_pb2.Backoff(initial_ms=5, factor=2, cap_ms=9),
        key="k",
        unique_key="u",
        on_duplicate="reject",
        id=show_job(bytes(16)),
    )
    wanted = submission_of(job, "acme")
    assert (wanted.kind, wanted.payload, wanted.tenant) == ("a.b", b'{"n":1}', "acme")
    assert (wanted.queue, wanted.priority, wanted.max_attempts) == ("q", "high", 3)
    assert wanted.due_at == "2027-01-31T00:00:00+00:00"
    assert wanted.backoff is not None
    assert wanted.backoff["initial_ms"] == 5
    assert (wanted.key, wanted.unique_key, wanted.on_duplicate) == ("k", "u", "reject")
    assert wanted.id == bytes(16)
    assert submission_of(submission_pb2.Job(kind="a"), "t").payload == b"{}"


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_every_error_arrives_as_what_it_was(code: str) -> None:
    error = BY_CODE[code]("what \u20ac", hint="do", details={"n": 1, "at": timedelta(seconds=1)})
    arrived = error_of(error_metadata(error))
    assert type(arrived) is type(error)
    assert arrived is not None
    assert (arrived.message, arrived.hint, arrived.details["n"]) == ("what \u20ac", "do", 1)


def test_details_that_fill_the_metadata_stay_behind() -> None:
    error = SessionLost("m" * 100_000, hint="h" * 100_000, details={"ids": ["x" * 30] * 10_000})
    metadata = error_metadata(error)
    assert sum(len(key) + len(value) for key, value in metadata) < 6_000
    arrived = error_of(metadata)
    assert isinstance(arrived, SessionLost)
    assert arrived.details == {}


def test_metadata_without_an_error_tells_none() -> None:
    assert error_of([]) is None
    assert error_of([("mainspring-error-bin", b"\xff\xff")]) is None
    assert error_of([("mainspring-code", "session_lost")]) is None


def test_lines_of_fields_that_are_no_json_are_refused() -> None:
    name = f"{show_job(bytes(16))}:1"
    with pytest.raises(NotJson):
        line_of(
            worker_pb2.LogLine(attempt_id=name, sequence=1, fields_json="{"),
            lambda: datetime(2027, 1, 1, tzinfo=UTC),
        )
