"""The files that the tidy rules look at, and how they are read."""

from __future__ import annotations

import ast
import io
import os
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# Made by tools, never by hand, and ignored by git.
NOT_OURS = {
    ".git",
    ".venv",
    ".tools",
    ".cache",
    ".mainspring",
    ".hypothesis",
    ".import_linter_cache",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    "__pycache__",
    "_build",
    "build",
    "dist",
    "node_modules",
}
PYTHON_FOLDERS = ("mainspring", "tests", "tools", "benchmarks", "examples")


@dataclass(frozen=True)
class Tree:
    """A repository, real or planted for a test."""

    root: Path

    @cached_property
    def files(self) -> list[Path]:
        """All files that belong to the repository, sorted."""
        found: list[Path] = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in NOT_OURS]
            # In a second worktree .git is a file, with an absolute path in it.
            found += [Path(folder, name) for name in names if name not in NOT_OURS]
        return sorted(path for path in found if not path.is_symlink())

    def below(self, *folders: str, suffix: str) -> list[Path]:
        """Files with a suffix below some folders of the root."""
        roots = tuple(self.root / folder for folder in folders)
        return [
            path
            for path in self.files
            if path.suffix == suffix and any(path.is_relative_to(root) for root in roots)
        ]

    def name(self, path: Path) -> str:
        """The path as a finding shows it."""
        return path.relative_to(self.root).as_posix()

    def texts(self) -> Iterator[tuple[Path, str]]:
        """All files that are text, with their text."""
        for path in self.files:
            try:
                yield path, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def syntax(path: Path) -> ast.Module:
    """The syntax tree of a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def docstring_lines(module: ast.Module) -> set[int]:
    """The numbers of the lines that docstrings take."""
    lines: set[int] = set()
    for node in ast.walk(module):
        docstring = docstring_of(node)
        if docstring is not None:
            lines.update(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    return lines


def docstring_of(node: ast.AST) -> ast.Expr | None:
    """The statement that is the docstring of a module, class or function."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    if not node.body:
        return None
    first = node.body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    if is_text and isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return first if isinstance(first.value.value, str) else None
    return None


def code_lines(path: Path) -> set[int]:
    """The numbers of the lines that hold code: not blank, not comment, not docstring."""
    text = path.read_text(encoding="utf-8")
    silent = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in silent:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines - docstring_lines(ast.parse(text))
