"""Back-off: known numbers, and bounds for all others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.job import DEFAULT_BACKOFF, Backoff
from mainspring.policies.backoff import delay_ms

_DICE = st.floats(0, 1, exclude_max=True)
_TRIES = st.integers(-5, 1_000_000)


@pytest.mark.parametrize(
    ("tries", "expected"),
    [(0, 1_000), (1, 1_000), (2, 2_000), (3, 4_000), (9, 256_000), (10, 300_000), (999, 300_000)],
)
def test_the_defaults_double_up_to_five_minutes(tries: int, expected: int) -> None:
    assert delay_ms(DEFAULT_BACKOFF, tries, 0.0) == expected
    assert delay_ms(DEFAULT_BACKOFF, tries, 0.5) == round(expected * 1.15)


@given(
    st.builds(
        Backoff,
        initial_ms=st.integers(0, 10**9),
        factor=st.floats(1, 100),
        cap_ms=st.integers(0, 10**9),
        jitter=st.floats(0, 10),
    ),
    _TRIES,
    _DICE,
)
def test_never_above_the_cap_and_its_jitter(backoff: Backoff, tries: int, dice: float) -> None:
    found = delay_ms(backoff, tries, dice)
    assert 0 <= found <= round(backoff.cap_ms * (1 + backoff.jitter))
    # Rising: a later try never rests less, the dice being equal.
    assert delay_ms(backoff, tries + 1, dice) >= found


@given(_TRIES, _DICE)
def test_a_factor_of_one_is_a_fixed_rest(tries: int, dice: float) -> None:
    assert delay_ms(Backoff(700, 1.0, 5_000, 0.0), tries, dice) == 700


@given(_TRIES, _DICE)
def test_full_jitter_draws_from_all_of_the_rest(tries: int, dice: float) -> None:
    plain = delay_ms(Backoff(jitter=0.0), tries, 0.0)
    assert delay_ms(Backoff(full_jitter=True), tries, dice) == round(plain * dice)
