"""Banned words, and the one list of places where they are right (docs/concepts/glossary.md)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.tidy import sql
from tests.tidy.tree import Tree, syntax

BANNED = {
    "task": "job, attempt or handler",
    "trigger": "schedule or fire",
    "execution": "attempt",
    "lock": "lease, guard or mutex",
}

# (path or "*", identifier): why it is right there. Names of other people's interfaces only.
EXEMPT: dict[tuple[str, str], str] = {
    ("*", "lock_timeout"): "PostgreSQL's setting",
    ("*", "pg_advisory_lock"): "PostgreSQL's function",
    ("*", "pg_advisory_unlock"): "PostgreSQL's function",
    ("*", "pg_advisory_xact_lock"): "PostgreSQL's function",
    ("*", "pg_try_advisory_lock"): "PostgreSQL's function",
    ("*", "pg_try_advisory_xact_lock"): "PostgreSQL's function",
    ("mainspring/store/postgres/migrations/0006_pre_access.sql", "trigger"): "PostgreSQL's type",
    ("mainspring/store/postgres/schema.sql", "trigger"): "PostgreSQL's type",
}

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def banned_word(identifier: str) -> str | None:
    """The banned word in an identifier, singular or plural, in snake or camel case."""
    for word in WORD.findall(identifier):
        for candidate in (word.lower(), word.lower().removesuffix("s")):
            if candidate in BANNED:
                return str(candidate)
    return None


def defined_names(module: ast.Module) -> Iterator[tuple[int, str]]:
    """The names that a module gives; names that it only uses are their owners' business."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.alias) and node.asname:
            yield node.lineno, node.asname


def is_exempt(path: str, identifier: str) -> bool:
    """Say whether the list above argues for it."""
    return (path, identifier) in EXEMPT or ("*", identifier) in EXEMPT


def banned_in_python(tree: Tree) -> list[str]:
    """Identifiers of product code, and names of its files, that use a banned word."""
    findings = []
    for path in tree.below("mainspring", suffix=".py"):
        name = tree.name(path)
        for line, identifier in [(1, path.stem), *defined_names(syntax(path))]:
            word = banned_word(identifier)
            if word and not is_exempt(name, identifier):
                findings.append(f"{name}:{line}: {identifier}: say {BANNED[word]}, not {word}")
    return findings


def banned_in_sql(tree: Tree) -> list[str]:
    """Identifiers in SQL, and names of SQL files, that use a banned word.

    Keywords are upper case (sqlfluff holds them to it), so that lower case words are identifiers:
    SKIP LOCKED and CREATE TRIGGER are SQL's own words.
    """
    findings = []
    for path in tree.below("mainspring", suffix=".sql"):
        name = tree.name(path)
        bare = sql.without_comments_and_strings(path.read_text(encoding="utf-8"))
        found = {(bare.count("\n", 0, m.start()) + 1, m[0]) for m in re.finditer(r"\w+", bare)}
        for line, identifier in sorted({(1, path.stem), *found}):
            word = banned_word(identifier)
            if identifier.isupper() or not word or is_exempt(name, identifier):
                continue
            findings.append(f"{name}:{line}: {identifier}: say {BANNED[word]}, not {word}")
    return findings
