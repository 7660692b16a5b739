"""Formats for machines: YAML that others read, columns and jq that pick."""

import csv
import io
import json
from datetime import UTC, datetime

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mainspring.cli.yaml import to_yaml
from tests.cli.conftest import Commands

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def fits(value: object) -> bool:
    """Whether JSON can hold it at all."""
    try:
        msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return False
    return True


@given(PLAIN.filter(fits))
def test_yaml_says_the_same_to_others(value: object) -> None:
    assert yaml.safe_load(to_yaml(value)) == value


@given(PLAIN.filter(fits))
def test_embedded_json_says_the_same_to_others(value: object) -> None:
    record = {"payload": msgspec.Raw(msgspec.json.encode(value))}
    assert yaml.safe_load(to_yaml(record)) == {"payload": value}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([], "[]"),
        ({}, "{}"),
        ([{"a": 1, "b": [2, 3]}], "- a: 1\n  b:\n  - 2\n  - 3"),
        ({"on": "yes", "n": "12", "e": ""}, '"on": "yes"\n"n": "12"\ne: ""'),
        ({"at": datetime(2027, 1, 1, tzinfo=UTC)}, 'at: "2027-01-01T00:00:00Z"'),
        ({"p": msgspec.Raw(b'{"n":1.10}')}, 'p: {"n": 1.10}'),
        ({"words": "two words"}, "words: two words"),
    ],
)
def test_yaml_reads_well(value: object, text: str) -> None:
    assert to_yaml(value) == text


def test_a_list_in_yaml_equals_the_one_in_json(mainspring: Commands) -> None:
    mainspring("submit", "greet", "name=Ada", expect=0)
    for line in ("jobs ls", "handlers ls", "config ls", "help errors"):
        as_yaml = yaml.safe_load(mainspring(*line.split(), "-o", "yaml", expect=0).out)
        assert as_yaml == mainspring(*line.split(), "-o", "json", expect=0).json()


def test_columns_are_picked_in_every_format(mainspring: Commands) -> None:
    name = mainspring("submit", "greet", "name=Ada", expect=0).out.strip()
    pick = ("--columns", "state,id", "--columns", "payload")
    table = mainspring("jobs", "ls", *pick, expect=0).out.splitlines()
    assert [row.split() for row in table] == [
        ["STATE", "ID", "PAYLOAD"],
        ["ready", name, '{"name":"Ada"}'],
    ]
    expected = {"state": "ready", "id": name, "payload": {"name": "Ada"}}
    assert mainspring("jobs", "ls", *pick, "-o", "json", expect=0).json() == [expected]
    rows = list(csv.reader(io.StringIO(mainspring("jobs", "ls", *pick, "-o", "csv").out)))
    assert rows[0] == ["state", "id", "payload"]
    assert json.loads(rows[1][2]) == {"name": "Ada"}
    one = mainspring("jobs", "get", name, "--columns", "state,kind", expect=0).out
    assert one == "state  ready\nkind   greet\n"


def test_a_column_for_wide_tables_comes_when_asked_for(mainspring: Commands) -> None:
    mainspring("submit", "greet", expect=0)
    out = mainspring("jobs", "ls", "--columns", "queue,priority", expect=0).out
    assert out.split() == ["QUEUE", "PRIORITY", "default", "normal"]


def test_jq_picks_from_lists_and_single_things(mainspring: Commands) -> None:
    name = mainspring("submit", "greet", "name=Ada", expect=0).out.strip()
    assert mainspring("jobs", "ls", "--jq", ".[].id", expect=0).out == f"{name}\n"
    shown = mainspring("jobs", "get", name, "--jq", ".payload, .tries", expect=0).out
    assert shown == '{"name":"Ada"}\n0\n'
    assert mainspring("jobs", "cancel", name, "--jq", ".[0].state", expect=0).out == "cancelled\n"


def test_without_the_package_jq_says_what_to_install(mainspring: Commands) -> None:
    (mainspring.folder / "jq.py").write_text("raise ImportError\n")
    done = mainspring("jobs", "ls", "--jq", ".", env={"PYTHONPATH": str(mainspring.folder)})
    if "no module named" not in done.err.lower():
        assert (done.code, done.error_code) == (2, "invalid_setting"), done
        assert "pip install 'mainspring[jq]'" in done.err
