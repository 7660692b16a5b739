"""What users meet by name must stand in the reference: error codes, limits, settings, commands."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from tests.tidy.tree import Tree, syntax


def error_codes(tree: Tree) -> set[str]:
    """The value of `code` in every class of mainspring.domain.errors."""
    modules = [syntax(path) for path in (tree.root / "mainspring/domain/errors").glob("*.py")]
    nodes = [node for module in modules for node in ast.walk(module)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    return {code for node in classes for code in class_attribute(node, "code")}


def class_attribute(node: ast.ClassDef, name: str) -> Iterator[str]:
    """The text that a class body gives to a name."""
    for statement in node.body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            continue
        given = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        value = statement.value
        named = any(isinstance(target, ast.Name) and target.id == name for target in given)
        if named and isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.value


def calls(module: ast.Module, name: str) -> Iterator[ast.Call]:
    """Calls of a function, or of a method, with this name."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            called = node.func
            if name in {getattr(called, "id", None), getattr(called, "attr", None)}:
                yield node


def first_texts(module: ast.Module, name: str) -> set[str]:
    """The first argument, or `name=`, of every call of a table's row type."""
    found = set()
    for call in calls(module, name):
        values = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "name")]
        for value in values:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found.add(value.value)
    return found


def limits(tree: Tree) -> set[str]:
    """The names in the table of mainspring.domain.limits."""
    return first_texts(syntax(tree.root / "mainspring/domain/limits.py"), "Limit")


def settings(tree: Tree) -> set[str]:
    """The settings of mainspring.runtime: rows of a table, or fields of a Settings class."""
    found: set[str] = set()
    for path in tree.below("mainspring/runtime", suffix=".py"):
        if not path.stem.startswith("setting"):
            continue
        module = syntax(path)
        found |= first_texts(module, "Setting")
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef) and node.name.endswith("Settings"):
                fields = [item for item in node.body if isinstance(item, ast.AnnAssign)]
                found |= {item.target.id for item in fields if isinstance(item.target, ast.Name)}
    return {name for name in found if not name.startswith("_")}


def commands(tree: Tree) -> set[str]:
    """The commands of the command line: `@app.command` functions and `app.command(...)` groups."""
    found: set[str] = set()
    for path in tree.below("mainspring/cli", suffix=".py"):
        module = syntax(path)
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found |= {name for item in node.decorator_list for name in named(item, node.name)}
        decorators = {id(item) for node in ast.walk(module) for item in decorators_of(node)}
        for call in calls(module, "command"):
            if id(call) not in decorators:
                found |= set(explicit_names(call))
    return found


def decorators_of(node: ast.AST) -> list[ast.expr]:
    """The decorators of a function or class."""
    return getattr(node, "decorator_list", [])


def named(decorator: ast.expr, function_name: str) -> list[str]:
    """The command that a decorator makes of a function, if it makes one."""
    call = decorator if isinstance(decorator, ast.Call) else None
    target = call.func if call else decorator
    if not isinstance(target, ast.Attribute) or target.attr != "command":
        return []
    explicit = explicit_names(call) if call else []
    return explicit or [function_name.strip("_").replace("_", "-")]


def explicit_names(call: ast.Call) -> list[str]:
    """The `name=` of a command, a text or several."""
    for word in call.keywords:
        if word.arg == "name":
            return [
                item.value
                for item in ast.walk(word.value)
                if isinstance(item, ast.Constant) and isinstance(item.value, str)
            ]
    return []


# What is named where. A table that is not there yet names nothing.
REFERENCE: dict[str, Callable[[Tree], set[str]]] = {
    "docs/reference/errors.md": error_codes,
    "docs/reference/limits.md": limits,
    "docs/reference/settings.md": settings,
    "docs/reference/cli.md": commands,
}


def undocumented(tree: Tree, page: str) -> list[str]:
    """Names that the page of the reference does not mention."""
    path = tree.root / page
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    names = sorted(REFERENCE[page](tree))
    missing = [name for name in names if not re.search(rf"(?<![\w-]){name}(?![\w-])", text)]
    return [f"{page}: {name} is not mentioned" for name in missing]
