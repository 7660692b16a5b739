"""Rules for SQL files: short, and one statement a file where statements live."""

from __future__ import annotations

import re

from tests.tidy.tree import Tree

LINES_MAX = 80

# In this order: what begins first hides what begins inside it.
HIDDEN = re.compile(
    r"--[^\n]*"  # comment to the end of the line
    r"|/\*.*?\*/"  # comment in brackets
    r"|'(?:[^']|'')*'"  # text
    r"|\$(\w*)\$.*?\$\1\$",  # text between dollars
    re.DOTALL,
)


def without_comments_and_strings(text: str) -> str:
    """The statement with comments and texts blanked, lines kept."""
    return HIDDEN.sub(lambda match: " " + "\n" * match[0].count("\n"), text)


def statement_count(text: str) -> int:
    """How many statements a file holds."""
    return sum(1 for part in without_comments_and_strings(text).split(";") if part.strip())


def long_statements(tree: Tree) -> list[str]:
    """Statement files over the limit; migrations and schemas are as long as the schema is."""
    findings = []
    for path in tree.below("mainspring", suffix=".sql"):
        lines = path.read_text(encoding="utf-8").count("\n")
        if "sql" in path.parts and lines > LINES_MAX:
            findings.append(f"{tree.name(path)}: {lines} lines (limit {LINES_MAX})")
    return findings


def not_one_statement(tree: Tree) -> list[str]:
    """Files below a folder called sql that hold no statement, or several."""
    findings = []
    for path in tree.below("mainspring", suffix=".sql"):
        count = statement_count(path.read_text(encoding="utf-8"))
        if "sql" in path.parts and count != 1:
            findings.append(f"{tree.name(path)}: {count} statements (one a file)")
    return findings
