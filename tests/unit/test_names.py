import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.domain.errors import InvalidInput, UnknownOption
from mainspring.domain.job import Priority
from mainspring.domain.names import check_name, check_range, priority_of

_LETTERS = "abcXYZ019_"


@settings(deadline=None)
@given(st.tuples(st.sampled_from(_LETTERS), st.text(_LETTERS + ".:/-", max_size=127)).map("".join))
def test_names_of_plain_characters_are_accepted(name: str) -> None:
    assert check_name("kind", name, 128) == name


@pytest.mark.parametrize(
    "name",
    ["", ".a", "-a", "/a", ":a", "a b", "a\n", "a\x00", "ä", "a\u0661", "a%", "é", None, 7, b"a"],
)
def test_other_names_are_refused_with_the_rule(name: object) -> None:
    with pytest.raises(InvalidInput, match=r"queue: .* is not a name") as caught:
        check_name("queue", name, 64)
    assert caught.value.hint == "use letters, digits and . _ : / - , at most 64 characters"


def test_a_name_at_its_limit() -> None:
    assert check_name("queue", "q" * 64, 64)
    with pytest.raises(InvalidInput):
        check_name("queue", "q" * 65, 64)


@pytest.mark.parametrize("value", [1, 2, 1_000])
def test_whole_numbers_in_range(value: int) -> None:
    assert check_range("max_attempts", value, 1, 1_000) == value


@pytest.mark.parametrize("value", [0, 1_001, -1, True, 1.0, "3", None, 10**30])
def test_others_are_refused_with_the_bounds(value: object) -> None:
    with pytest.raises(InvalidInput, match="is not a whole number from 1 to 1000"):
        check_range("max_attempts", value, 1, 1_000)


@pytest.mark.parametrize("level", list(Priority))
def test_priorities_by_name_and_number(level: Priority) -> None:
    for given_as in (level, int(level), level.name, level.name.lower(), level.name.title()):
        found = priority_of(given_as)
        assert found == level
        assert type(found) is int


@pytest.mark.parametrize("value", ["urgent", "", "0", 4, -1, True, 1.0, None, [], b"high"])
def test_unknown_priorities_name_the_known(value: object) -> None:
    with pytest.raises(UnknownOption, match="priority: there is no") as caught:
        priority_of(value)
    assert caught.value.hint == "use one of critical, high, normal, low"


def test_a_slip_in_a_priority_gets_its_suggestion() -> None:
    with pytest.raises(UnknownOption) as caught:
        priority_of("hgih")
    assert caught.value.hint == "did you mean high?"
