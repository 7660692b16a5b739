"""Loads SQL statements: one a file, named by its verb, parameters written ``:name``.

SQLite takes ``:name`` as it is. PostgreSQL numbers parameters, so there the names are replaced by
``$1``, ``$2`` … in the order in which they first appear; ``params`` tells that order.
"""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from mainspring.ports.guest import Queries, Query, Row

_Result = TypeVar("_Result")

# Not preceded by a colon (a ``::type`` cast) or a word character; not inside quotes by convention.
_PARAMETER: Final = re.compile(r"(?<![:\w]):([a-z][a-z0-9_]*)")
_COMMENT: Final = re.compile(r"--[^\n]*")


class Statement(NamedTuple):
    """One statement, ready for its driver."""

    name: str
    text: str
    params: tuple[str, ...]


class Ask(NamedTuple):
    """A statement that steps want to be run, with its values by name."""

    statement: Statement
    values: Mapping[str, object]


#: Logic without a driver: asks for statements, is sent their rows, and returns its result. The
#: store runs it on its own connections, and ``guest`` on one that belongs to the caller.
Steps: TypeAlias = Generator[Ask, Sequence[Any], _Result]


def as_queries(steps: Steps[_Result], query_of: Callable[[Ask], Query]) -> Queries[_Result]:
    """Run steps by queries that any driver takes."""
    rows: Sequence[Row] | None = None
    while True:
        try:
            ask: Ask = next(steps) if rows is None else steps.send(rows)
        except StopIteration as end:
            result: _Result = end.value
            return result
        rows = yield query_of(ask)


def named(name: str, source: str) -> Statement:
    """Return the statement with its ``:name`` parameters as written (SQLite)."""
    text = _COMMENT.sub("", source).strip().rstrip(";")
    return Statement(name, text, tuple(dict.fromkeys(_PARAMETER.findall(text))))


def numbered(name: str, source: str) -> Statement:
    """Return the statement with its parameters numbered (PostgreSQL)."""
    plain = named(name, source)
    number = {param: index for index, param in enumerate(plain.params, start=1)}
    text = _PARAMETER.sub(lambda found: f"${number[found.group(1)]}", plain.text)
    return Statement(name, text, plain.params)


def pyformat(name: str, source: str) -> Statement:
    """Return the statement with its parameters as ``%(name)s`` (most drivers of Python)."""
    plain = named(name, source)
    text = _PARAMETER.sub(r"%(\1)s", plain.text.replace("%", "%%"))
    return Statement(name, text, plain.params)


@cache
def source(package: str, name: str) -> str:
    """Return the text of ``sql/NAME.sql`` in a store's package."""
    return files(package).joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
