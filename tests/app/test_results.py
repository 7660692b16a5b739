"""What the end of a job means to who waits for it."""

from datetime import UTC, datetime

import msgspec
import pytest

from mainspring.app.results import failure_of, result_of
from mainspring.domain.errors import BlobUnavailable
from mainspring.domain.job import JobView
from mainspring.domain.outcome import ErrorInfo
from mainspring.domain.states import JobState

_THEN = datetime(2027, 3, 14, tzinfo=UTC)
_JOB = JobView(
    id=b"j" * 16,
    kind="k",
    tenant="default",
    queue="default",
    priority=2,
    state=JobState.SUCCEEDED,
    due_at=_THEN,
    created_at=_THEN,
    attempt=1,
    tries=1,
    crashes=0,
    max_attempts=5,
    max_crashes=3,
    timeout_ms=1_000,
    payload=b'{"a":1}',
)


def test_a_result_that_was_not_read_is_no_empty_result() -> None:
    assert result_of(_JOB, None) is None
    away = msgspec.structs.replace(_JOB, result_ref="result/default/x#2#ab")
    with pytest.raises(BlobUnavailable, match="result/default/x"):
        result_of(away, None)
    assert result_of(msgspec.structs.replace(away, result=b"[1]"), None) == [1]


def test_a_payload_that_was_not_read_says_so() -> None:
    away = msgspec.structs.replace(_JOB, payload=b"{}", payload_ref="payload/x")
    assert away.payload_is_away
    assert not _JOB.payload_is_away
    assert not msgspec.structs.replace(away, payload=b'{"a":1}').payload_is_away


@pytest.mark.parametrize(
    ("message", "told"), [("no", "dead (gave_up): KeyError: no"), ("", "dead (gave_up): KeyError")]
)
def test_an_error_without_a_message_is_its_type(message: str, told: str) -> None:
    error = msgspec.json.encode(ErrorInfo("KeyError", message))
    job = msgspec.structs.replace(_JOB, state=JobState.DEAD, reason="gave_up", error=error)
    assert str(failure_of(job)).endswith(told)
