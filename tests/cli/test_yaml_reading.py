"""YAML as people write it is read as other readers read it, or refused with its line."""

from contextlib import suppress

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mainspring.cli.yaml import to_yaml
from mainspring.cli.yaml_reading import read_yaml
from mainspring.domain.errors import InvalidInput
from tests.cli.test_formats import fits

TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="\n\r\x85\u2028\u2029\t"), max_size=20
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
REFUSED = "(refused)"
WORDS = st.text("abcXYZ _-./:#'\"0123456789,[]{}*&!|>%@`?", max_size=12)


@given(PLAIN.filter(fits))
def test_what_we_write_we_read(value: object) -> None:
    assert read_yaml(to_yaml(value)) == value


@given(PLAIN.filter(fits))
def test_json_is_yaml(value: object) -> None:
    assert read_yaml(msgspec.json.encode(value).decode()) == value


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | WORDS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
        max_leaves=8,
    )
)
def test_what_others_write_means_the_same_or_is_refused(value: object) -> None:
    text = yaml.safe_dump(value, width=10_000).removesuffix("...\n")
    assert read_or_refused(text) in (value, REFUSED)


@given(st.text("ab:- \n\"'[]{},#|>&*!?%@~0", max_size=40))
def test_anything_is_read_or_refused_and_never_understood_otherwise(text: str) -> None:
    # More lenient here and there; what matters is that nothing is read in another way.
    with suppress(yaml.YAMLError):
        assert read_or_refused(text) in (yaml.safe_load(text), REFUSED)


def read_or_refused(text: str) -> object:
    try:
        return read_yaml(text)
    except InvalidInput:
        return REFUSED


FILE = """\
# what fires
---
calendars:
- name: holidays   # each year
  entries: ["12-25", SUN,   # a comment inside
    "2027-04-05"]
schedules:
  - name: nightly
    payload:
      day: 3
      nested: {a: [1, 2.5, {b: null}], "c d": 'it''s'}
    cron: "0 2 * * *"
    note: |
      first
        second

      third
    folded: >-
      one
      two
    empty:
    on_it: true
    url: http://x/y#z
  -
    name: other
  - - 1
    - -2
"""


def test_a_file_of_every_style_means_what_it_means_to_others() -> None:
    assert read_yaml(FILE) == yaml.safe_load(FILE)
    assert read_yaml(FILE.replace("\n", "\r\n")) == yaml.safe_load(FILE)
    assert read_yaml("") is None
    assert read_yaml("# nothing\n\n") is None


def test_dates_are_text() -> None:
    assert read_yaml("a: 2027-01-31\nb: 2027-01-31T09:00:00Z") == {
        "a": "2027-01-31",
        "b": "2027-01-31T09:00:00Z",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: yes", "line 1: 'yes' means different things"),
        ("a: 1\nb: Off", "line 2: 'Off' means different things"),
        ("a: 010", "line 1: '010' means different things"),
        ("a: 0x1f", "means different things"),
        ("a: 1_000", "means different things"),
        ("a: 01.5", "means different things"),
        ("a: 1.", "means different things"),
        ("a: .5", "means different things"),
        ("a: 1e5", "means different things"),
        ("a: 12:30", "means different things"),
        ("1: a", "the name 1 is no text"),
        ("a: {true: 1}", "the name true is no text"),
        ("a: >\n  b\n    c", "indented further"),
        ("a: *x", "line 1: '*x' begins with *"),
        ("cron: */5 * * * *", "begins with *"),
        ("cron: @daily", "begins with @"),
        ("a: &b 1", "begins with &"),
        ("a: !!python/object:os.system x", "begins with !"),
        ("a: %x", "begins with %"),
        ("a: b: c", "line 1: 'b: c' has a colon"),
        ("a: 1\na: 2", "line 2: 'a' is here twice"),
        ("a: {b: 1, b: 2}", "'b' is here twice"),
        ("a:\n\tb: 1", "line 2: a tab in front"),
        ('a: "x', "line 1: a quote is not closed"),
        ('a: "x" y', "behind the closing quote"),
        ('a: "\\q"', "cannot be read"),
        ("a: [1", "line 1: a bracket is not closed"),
        ("a: [1}", "'}' where , or ] belongs"),
        ("a: [1,,2]", "nothing in front of a comma"),
        ("a: {b}", "is no member"),
        ('a: {"b"}', "'b' has no value"),
        ("a: [1] x", "behind the bracket"),
        ("a: ['x]", "not closed"),
        ("a: x\n   y", "line 2: 'y' goes on with line 1"),
        ("a:\n    b: 1\n   c: 2", "line 3: 'c: 2' is indented too far"),
        ("- a\nb: 1", "line 2: 'b: 1' does not belong here"),
        ("a: 1\nb", "line 2: 'b' is no member"),
        ("a: 1\n---\nb: 2", "line 2"),
        ("[" * 80 + "]" * 80, "levels"),
        ("- " * 80 + "a", "levels"),
    ],
)
def test_what_is_not_clear_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_yaml(text)
    assert said in str(refused.value)
    assert refused.value.hint
    assert int(str(refused.value.details["line"])) >= 1
