"""Every name that a policy has in the seeds, in Temporal, Kubernetes, Quartz and APScheduler."""

from __future__ import annotations

import pytest

from mainspring.domain.errors import InvalidInput, InvalidSchedule
from mainspring.policies.firing import Policies, misfire_of, overlap_of, policies_of

MISFIRE = {
    "skip": "skip discard ignore do_nothing DoNothing DO_NOTHING none SKIP Discard",
    "fire_once": "fire_once FIRE_ONCE_NOW fire_now FIRE_IMMEDIATELY RUN_ONCE once SMART coalesce"
    " fire-once",
    "fire_all": "fire_all RUN_ALL backfill BACKFILL_ALL catch_up CatchUp all IGNORE_MISFIRE"
    " fire-all",
}
OVERLAP = {
    "allow": "allow Allow AllowAll allow_all ALLOW_ALL true",
    "defer": "defer queue BufferOne buffer_one BUFFER_ALL BufferAll false",
    "skip": "skip Skip forbid Forbid",
    "cancel_running": "cancel_running CancelOther cancel_other cancel-running",
    "replace": "replace Replace TerminateOther terminate_other",
}


@pytest.mark.parametrize(
    ("name", "meaning"), [(name, key) for key, names in MISFIRE.items() for name in names.split()]
)
def test_names_of_misfire_policies(name: str, meaning: str) -> None:
    assert misfire_of(name) == meaning
    assert policies_of({"misfire": name}).misfire == meaning


@pytest.mark.parametrize(
    ("name", "meaning"), [(name, key) for key, names in OVERLAP.items() for name in names.split()]
)
def test_names_of_overlap_policies(name: str, meaning: str) -> None:
    assert overlap_of(name) == meaning
    assert policies_of({"overlap": name}).overlap == meaning


@pytest.mark.parametrize(("given", "meaning"), [(True, "allow"), (False, "defer")])
def test_overlap_may_be_said_with_yes_or_no(given: bool, meaning: str) -> None:
    assert overlap_of(given) == meaning


@pytest.mark.parametrize(
    ("overlap", "misfire"),
    [("BufferOne", "fire_once"), ("buffer_all", "fire_all"), ("defer", "fire_once")],
)
def test_buffering_says_what_becomes_of_those_that_waited(overlap: str, misfire: str) -> None:
    assert policies_of({"overlap": overlap}).misfire == misfire
    assert policies_of({"overlap": overlap, "misfire": "skip"}).misfire == "skip"


def test_nothing_given_is_one_fire_for_what_was_missed_and_no_overlap() -> None:
    found = policies_of({})
    assert found == Policies()
    assert (found.misfire, found.overlap, found.misfire_threshold_seconds) == (
        "fire_once",
        "defer",
        60,
    )
    assert (found.max_missed, found.catchup_rate, found.catchup_window_seconds) == (100, 60, None)
    assert found.is_exclusive


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"misfire": "fire_twice"}, "fire_once"),
        ({"overlap": "defer_all"}, "defer"),
        ({"max_mised": 3}, "max_missed"),
    ],
)
def test_what_does_not_exist_is_refused_with_the_nearest(
    given: dict[str, object], named: str
) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        policies_of(given)
    assert refused.value.hint is not None
    assert named in refused.value.hint


@pytest.mark.parametrize(
    "given",
    [
        {"misfire_threshold_seconds": -1},
        {"misfire_threshold_seconds": 86_401},
        {"catchup_window_seconds": -1},
        {"max_missed": 0},
        {"max_missed": 1001},
        {"catchup_rate": 0},
        {"catchup_rate": 60_001},
        {"pause_after_failures": 0},
        {"max_missed": True},
        {"catchup_rate": "60"},
    ],
)
def test_numbers_are_held_to_their_bounds(given: dict[str, object]) -> None:
    (name,) = given
    with pytest.raises(InvalidInput, match=name):
        policies_of(given)
