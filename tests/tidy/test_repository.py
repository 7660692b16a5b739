"""The repository keeps its own style: every rule, on the real tree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tidy import documented, rules, sql, vocabulary
from tests.tidy.tree import Tree

REPOSITORY = Tree(Path(__file__).resolve().parents[2])

RULES: list[Callable[[Tree], list[str]]] = [
    rules.long_functions,
    rules.long_files,
    rules.rooms_without_invariants,
    rules.pages_without_one_heading,
    rules.machine_paths,
    rules.registry_hosts,
    rules.large_files,
    rules.changelog_without_unreleased,
    sql.long_statements,
    sql.not_one_statement,
    vocabulary.banned_in_python,
    vocabulary.banned_in_sql,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_holds(rule: Callable[[Tree], list[str]]) -> None:
    findings = rule(REPOSITORY)
    assert not findings, "\n" + "\n".join(findings)


@pytest.mark.parametrize("page", documented.REFERENCE)
def test_reference_is_complete(page: str) -> None:
    findings = documented.undocumented(REPOSITORY, page)
    assert not findings, "\n" + "\n".join(findings)
