"""Every limit has a name with its unit, a default and a reason."""

import pytest

from mainspring.domain import limits
from mainspring.domain.job import DEFAULT_MAX_ATTEMPTS, DEFAULT_MAX_CRASHES, DEFAULT_TIMEOUT_MS
from mainspring.domain.limits import LIMITS, Limit

_UNITS = {"bytes", "characters", "jobs", "items", "seconds", "lines", "hours", "calls"}
_UNITS |= {
    "dates",
    "count",
    "rules",
    "calendars",
    "entries",
    "years",
    "days",
    "fires",
    "schedules",
    "failures",
    "findings",
    "filters",
    "webhooks",
    "elements",
    "second",  # so many in each
}
_COUNTED_BY_THEIR_NAME = {"payload_depth_max", "payload_elements_max"}
_COUNTED_BY_THEIR_NAME |= {"max_attempts_max", "max_crashes_max", "query_depth_max"}


@pytest.mark.parametrize("limit", LIMITS.values(), ids=lambda limit: limit.name)
def test_a_limit_is_complete(limit: Limit) -> None:
    assert limit.default > 0
    assert limit.why.endswith(".")
    unit = limit.name.removesuffix("_max").removesuffix("_min").rpartition("_")[2]
    assert unit in _UNITS or limit.name in _COUNTED_BY_THEIR_NAME
    # The constant of the same name is the same number.
    assert getattr(limits, limit.name.upper()) == limit.default


def test_no_constant_without_a_limit() -> None:
    constants = {name for name in vars(limits) if name.isupper() and not name.startswith("_")}
    assert constants - {"LIMITS"} == {name.upper() for name in LIMITS}


def test_defaults_of_jobs_are_within_the_limits() -> None:
    assert DEFAULT_MAX_ATTEMPTS <= limits.MAX_ATTEMPTS_MAX
    assert DEFAULT_MAX_CRASHES <= limits.MAX_CRASHES_MAX
    assert limits.TIMEOUT_SECONDS_MAX * 1_000 >= DEFAULT_TIMEOUT_MS
    assert limits.INLINE_BYTES_MAX <= limits.PAYLOAD_BYTES_MAX <= limits.RESULT_BYTES_MAX
