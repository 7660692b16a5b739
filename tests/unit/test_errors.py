"""The table of errors: stable codes, hints, and statuses from known sets."""

import re

import pytest

from mainspring.domain import errors
from mainspring.domain.errors import BY_CODE, MainspringError, all_errors

# As the module's own documentation lists them.
_EXIT_CODES = {int(code) for code in re.findall(r"(\d+) [a-z]", errors.__doc__ or "")}
_NO_ERROR = {0, 130}
_GRPC_STATUSES = {
    "INTERNAL",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "FAILED_PRECONDITION",
    "ABORTED",
    "RESOURCE_EXHAUSTED",
    "DEADLINE_EXCEEDED",
    "UNAVAILABLE",
    "UNAUTHENTICATED",
    "PERMISSION_DENIED",
    "UNIMPLEMENTED",
}


def test_the_documentation_lists_the_exit_codes() -> None:
    assert {*range(10), 130} == _EXIT_CODES


def test_codes_are_unique() -> None:
    assert len(BY_CODE) == len(all_errors())
    assert all(BY_CODE[known.code] is known for known in all_errors())


@pytest.mark.parametrize("known", all_errors())
def test_every_error_can_be_told_to_everyone(known: type[MainspringError]) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", known.code)
    assert 400 <= known.http_status <= 599
    assert known.grpc_status in _GRPC_STATUSES
    assert known.exit_code in _EXIT_CODES - _NO_ERROR
    assert known.default_hint
    assert not known.default_hint.endswith(".")
    assert "code" in vars(known), "a code that is inherited is not its own"
    raised = known()
    assert str(raised) == raised.message == (known.__doc__ or "").partition("\n")[0]
    assert raised.hint == known.default_hint
    assert raised.details == {}


def test_message_hint_and_details_are_kept() -> None:
    details = {"limit": 5}
    raised = errors.LimitReached("too many", hint="send 5", details=details)
    assert (str(raised), raised.message, raised.hint) == ("too many", "too many", "send 5")
    assert raised.details == details
    assert raised.details is not details


def test_families() -> None:
    assert issubclass(errors.InvalidPayload, errors.InvalidInput)
    assert issubclass(errors.SessionLost, errors.Conflict)
    assert not issubclass(errors.ConnectionFailed, errors.Conflict)
    assert all(issubclass(known, MainspringError) for known in all_errors())
