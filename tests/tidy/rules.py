"""The style by the numbers (STYLE.md): each rule gives its findings on a tree, nothing else."""

from __future__ import annotations

import ast
import re

from tests.tidy.tree import (
    PYTHON_FOLDERS,
    Tree,
    code_lines,
    docstring_lines,
    docstring_of,
    syntax,
)

FUNCTION_LINES_MAX = 60
FILE_LINES_MAX = 400
FILE_BYTES_MAX = 400_000

# Written in two halves, so that this file does not find itself.
REGISTRY_HOSTS = tuple(
    "".join(halves)
    for halves in [
        ("pypi", ".org"),
        ("python", "hosted.org"),
        ("npm", "js.org"),
        ("npm", "js.com"),
        ("yarn", "pkg.com"),
        ("deb.", "debian.org"),
        ("security.", "debian.org"),
        ("crates", ".io"),
        ("docker", ".io"),
        ("gh", "cr.io"),
    ]
)
MACHINE_PATHS = tuple(
    re.compile(r"(?<![\w./~-])" + "/" + rest)
    for rest in (r"home/\w+/", r"Users/\w+/", r"root/[\w.]", r"work/\w+", r"tmp/\w+/\w+")
)


def long_functions(tree: Tree) -> list[str]:
    """Functions over the limit, their docstring not counted."""
    findings = []
    for path in tree.below(*PYTHON_FOLDERS, suffix=".py"):
        for node in ast.walk(syntax(path)):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            docstring = docstring_of(node)
            hidden = len(docstring_lines(ast.Module([node], []))) if docstring else 0
            lines = (node.end_lineno or node.lineno) - node.lineno + 1 - hidden
            if lines > FUNCTION_LINES_MAX:
                where = f"{tree.name(path)}:{node.lineno}: {node.name}"
                findings.append(f"{where}: {lines} lines (limit {FUNCTION_LINES_MAX})")
    return findings


def long_files(tree: Tree) -> list[str]:
    """Python files with more lines of code than the limit."""
    findings = []
    for path in tree.below(*PYTHON_FOLDERS, suffix=".py"):
        lines = len(code_lines(path))
        if lines > FILE_LINES_MAX:
            findings.append(f"{tree.name(path)}: {lines} lines of code (limit {FILE_LINES_MAX})")
    return findings


def rooms_without_invariants(tree: Tree) -> list[str]:
    """Rooms whose docstring does not say what is always true in them."""
    findings = []
    for folder in sorted((tree.root / "mainspring").iterdir()):
        if not folder.is_dir() or folder.name == "__pycache__":
            continue
        front = folder / "__init__.py"
        text = (ast.get_docstring(syntax(front)) or "") if front.exists() else ""
        if not re.search(r"^(Invariants|Always true)\b", text, re.MULTILINE):
            findings.append(f"{tree.name(front)}: no line begins with Invariants or Always true")
    return findings


def headings(text: str) -> list[str]:
    """The first-level headings of a Markdown page, code blocks left out."""
    found, fence = [], ""
    for line in text.splitlines():
        mark = re.match(r"\s*(`{3,}|~{3,}|:{3,})", line)
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip() == fence:
            fence = ""
        elif not fence and line.startswith("# "):
            found.append(line)
    return found


def pages_without_one_heading(tree: Tree) -> list[str]:
    """Markdown pages with no first-level heading, or several."""
    pages = [path for path in tree.files if path.suffix == ".md"]
    counts = {path: len(headings(path.read_text(encoding="utf-8"))) for path in pages}
    return [f"{tree.name(path)}: {n} first-level headings" for path, n in counts.items() if n != 1]


def machine_paths(tree: Tree) -> list[str]:
    """Absolute paths of somebody's machine."""
    return [
        f"{tree.name(path)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for path, text in tree.texts()
        for pattern in MACHINE_PATHS
        for match in pattern.finditer(text)
    ]


def registry_hosts(tree: Tree) -> list[str]:
    """Names of package registries: a file that names one does not serve behind a mirror."""
    return [
        f"{tree.name(path)}: {host}"
        for path, text in tree.texts()
        for host in REGISTRY_HOSTS
        if host in text
    ]


def large_files(tree: Tree) -> list[str]:
    """Files that make every clone slower for ever."""
    sizes = {path: path.stat().st_size for path in tree.files}
    return [f"{tree.name(path)}: {n} bytes" for path, n in sizes.items() if n > FILE_BYTES_MAX]


def changelog_without_unreleased(tree: Tree) -> list[str]:
    """The changelog must offer the place where the next change is told."""
    text = (tree.root / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    if sections and sections[0].strip("[]").startswith("Unreleased"):
        return []
    return ["CHANGELOG.md: the first section is not Unreleased"]
