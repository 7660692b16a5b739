"""Steps before and after the code of a release, and code that meets the steps of another one."""

import pytest

from mainspring.domain.errors import InvalidInput, StoreNewer, StoreNotMigrated
from mainspring.store.migrations import Migration, refuse_unless_ready, status, wanted

FIRST, AFTER, SECOND = "0001_pre_jobs", "0002_post_tidy", "0003_pre_more"
KNOWN = tuple(
    Migration(name, name.split("_")[1], "SELECT 1;", "sum") for name in (FIRST, AFTER, SECOND)
)


@pytest.mark.parametrize(
    ("phase", "applied", "expected"),
    [
        ("all", (), [FIRST, AFTER, SECOND]),
        ("pre", (), [FIRST, SECOND]),
        ("post", (), [AFTER]),
        ("all", (FIRST, SECOND), [AFTER]),
        ("pre", (FIRST,), [SECOND]),
        ("post", (FIRST, AFTER), []),
    ],
)
def test_a_phase_applies_its_own_steps_in_order(
    phase: str, applied: tuple[str, ...], expected: list[str]
) -> None:
    assert [step.name for step in wanted(tuple(reversed(KNOWN)), applied, phase)] == expected


def test_there_is_no_other_phase() -> None:
    with pytest.raises(InvalidInput, match="there is no phase 'later'"):
        wanted(KNOWN, (), "later")


@pytest.mark.parametrize(
    "applied",
    [
        # What comes after this release is still to be done: the code works without.
        (FIRST, SECOND),
        (FIRST, AFTER, SECOND),
        # The next release prepares itself while this one still runs.
        (FIRST, AFTER, SECOND, "0004_pre_next"),
    ],
)
def test_code_that_fits_goes_on(applied: tuple[str, ...]) -> None:
    refuse_unless_ready(status(KNOWN, applied), "here")


@pytest.mark.parametrize(
    ("applied", "words"),
    [((), "here has no Mainspring tables"), ((FIRST, AFTER), r"here lacks 1 step\(s\)")],
)
def test_code_before_its_own_steps_is_refused(applied: tuple[str, ...], words: str) -> None:
    with pytest.raises(StoreNotMigrated, match=words) as caught:
        refuse_unless_ready(status(KNOWN, applied), "here")
    assert SECOND in str(caught.value.details["pending"])
    assert AFTER not in str(caught.value.details["pending"])


@pytest.mark.parametrize("unknown", ["0004_post_next", "a name of no known form"])
def test_code_after_its_time_is_refused(unknown: str) -> None:
    with pytest.raises(StoreNewer, match=unknown):
        refuse_unless_ready(status(KNOWN, (FIRST, AFTER, SECOND, unknown)), "here")
