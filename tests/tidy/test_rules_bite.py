"""Every rule of the house can fail: a planted violation each, and the nearest good thing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.tidy import documented, rules, sql, vocabulary
from tests.tidy.test_repository import RULES
from tests.tidy.tree import Tree

Rule = Callable[[Tree], list[str]]


class Planted(NamedTuple):
    """A rule, a file that breaks it, and one that does not."""

    rule: Rule
    path: str
    bad: str
    good: str


def body(lines: int) -> str:
    return "".join(f"    a{number} = {number}\n" for number in range(lines))


def code(lines: int) -> str:
    return "".join(f"a{number} = {number}\n" for number in range(lines))


DOCSTRING = '    """' + "Long.\n" * 50 + '    """\n'
SLASH = "/"

PLANTED = [
    Planted(
        rules.long_functions,
        "mainspring/x/a.py",
        "def f() -> None:\n" + body(60),
        "def f() -> None:\n" + DOCSTRING + body(59),
    ),
    Planted(
        rules.long_files,
        "mainspring/x/a.py",
        code(401),
        '"""' + "Long.\n" * 50 + '"""\n# comment\n\n' + code(400),
    ),
    Planted(
        rules.rooms_without_invariants,
        "mainspring/x/__init__.py",
        '"""A room.\n\nIt holds the invariants.\n"""\n',
        '"""A room.\n\nInvariants\n----------\n* One.\n"""\n',
    ),
    Planted(
        rules.pages_without_one_heading,
        "docs/a.md",
        "# One\n\n# Two\n",
        "# One\n\n```sh\n# a comment\n```\n\n## Two\n",
    ),
    Planted(
        rules.machine_paths,
        "docs/a.md",
        f"see {SLASH}home{SLASH}somebody{SLASH}project",
        f"see https://example.org{SLASH}home{SLASH}somebody{SLASH}project and .{SLASH}root{SLASH}x",
    ),
    Planted(
        rules.registry_hosts,
        "requirements/a.txt",
        f"--index-url https://{rules.REGISTRY_HOSTS[0]}/simple\n",
        "msgspec==0.22.0\n",
    ),
    Planted(rules.large_files, "docs/a.txt", "x" * 400_001, "x" * 400_000),
    Planted(
        rules.changelog_without_unreleased,
        "CHANGELOG.md",
        "# Changelog\n\n## 1.0.0\n",
        "# Changelog\n\n## [Unreleased]\n\n## 1.0.0\n",
    ),
    Planted(
        sql.long_statements,
        "mainspring/store/sqlite/sql/a.sql",
        "SELECT 1\n" + "\n" * 80,
        "SELECT 1\n" + "\n" * 79,
    ),
    Planted(
        sql.not_one_statement,
        "mainspring/store/sqlite/sql/a.sql",
        "SELECT 1;\nSELECT 2;\n",
        "-- one; and only one\nSELECT ';' AS semicolon;\n",
    ),
    Planted(
        vocabulary.banned_in_python,
        "mainspring/x/a.py",
        "class NextTask:\n    pass\n",
        "import asyncio\nguard = asyncio.Lock()\ngroup = asyncio.TaskGroup()\nclock = block = 1\n",
    ),
    Planted(
        vocabulary.banned_in_sql,
        "mainspring/store/sqlite/sql/a.sql",
        "SELECT task_id FROM jobs;\n",
        "-- the lock\nSELECT 'task' FROM jobs FOR UPDATE SKIP LOCKED;\n",
    ),
]


def plant(root: Path, path: str, text: str) -> Tree:
    (root / "mainspring").mkdir(parents=True, exist_ok=True)
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return Tree(root)


def test_every_rule_has_a_planted_violation() -> None:
    assert {planted.rule for planted in PLANTED} == set(RULES)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.rule.__name__)
def test_rule_bites(planted: Planted, tmp_path: Path) -> None:
    assert planted.rule(plant(tmp_path / "bad", planted.path, planted.bad))
    assert planted.rule(plant(tmp_path / "good", planted.path, planted.good)) == []


@pytest.mark.parametrize(
    ("identifier", "word"),
    [
        ("task", "task"),
        ("tasks_done", "task"),
        ("_lock", "lock"),
        ("TriggerKind", "trigger"),
        ("executionCount", "execution"),
        ("clock", None),
        ("unlocked", None),
        ("executor", None),
        ("SKIP_LOCKED", None),
    ],
)
def test_words_in_identifiers(identifier: str, word: str | None) -> None:
    assert vocabulary.banned_word(identifier) == word


COMMANDS = """
@app.command
def submit_many(): ...

@app.command(name="list")
def list_jobs(): ...

app.command("mainspring.cli.queues:app", name="queues")
"""

REFERENCE_SOURCES = {
    "docs/reference/errors.md": (
        "mainspring/domain/errors/base.py",
        'class A(Exception):\n    code: str = "lease_lost"\n\nclass B(A):\n    code = "lease"\n',
        {"lease_lost", "lease"},
    ),
    "docs/reference/limits.md": (
        "mainspring/domain/limits.py",
        '_ALL = (Limit("page_items_max", 500, "A page."),)\n',
        {"page_items_max"},
    ),
    "docs/reference/settings.md": (
        "mainspring/runtime/setting_table.py",
        'ROWS = [Setting(name="lease_seconds")]\n\nclass WorkerSettings:\n    slots: int = 4\n',
        {"lease_seconds", "slots"},
    ),
    "docs/reference/cli.md": (
        "mainspring/cli/commands.py",
        COMMANDS,
        {"submit-many", "list", "queues"},
    ),
}


def test_every_page_of_the_reference_has_a_planted_source() -> None:
    assert set(REFERENCE_SOURCES) == set(documented.REFERENCE)


@pytest.mark.parametrize("page", documented.REFERENCE)
def test_undocumented_names_are_found(page: str, tmp_path: Path) -> None:
    source, text, names = REFERENCE_SOURCES[page]
    tree = plant(tmp_path, source, text)
    assert documented.REFERENCE[page](tree) == names
    assert len(documented.undocumented(tree, page)) == len(names)
    # A longer word that contains a name does not count as the name.
    plant(tmp_path, page, "# All\n" + "\n".join(f"`x{name}`" for name in names))
    assert len(documented.undocumented(tree, page)) == len(names)
    plant(tmp_path, page, "# All\n" + "\n".join(f"`{name}`" for name in names))
    assert documented.undocumented(tree, page) == []
