"""One call's view of its transaction: run statements by name, at one instant."""

import sqlite3
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar

import msgspec

from mainspring.store.sqlite.packing import as_json, pack, positions
from mainspring.store.statements import Ask, Statement, Steps, named, source

T = TypeVar("T")

PACKAGE: Final = "mainspring.store.sqlite"
Row = tuple[Any, ...]
Values = Mapping[str, object]
_NOTHING: Final[dict[str, object]] = {}


@cache
def statement(name: str) -> Statement:
    """Return ``sql/NAME.sql``."""
    return named(name, source(PACKAGE, name))


def ask(name: str, values: Values = _NOTHING) -> Ask:
    """Return the wish of some steps to have ``sql/NAME.sql`` run."""
    return Ask(statement(name), values)


def ask_ids(name: str, ids: Sequence[bytes], **values: object) -> Ask:
    """Return the wish to have a statement run on ids alone."""
    return ask(name, {"ids": pack(ids), "positions": positions(len(ids)), **values})


def ask_entries(name: str, ids: Sequence[bytes], entries: object, **values: object) -> Ask:
    """Return the wish to have a statement run on ids with one entry each."""
    return ask(name, {"ids": pack(ids), "entries": as_json(entries), **values})


class Unit:
    """What a call may do inside its transaction. ``now_us`` is its one instant."""

    __slots__ = ("_connection", "now_us")

    def __init__(self, connection: sqlite3.Connection, now_us: int) -> None:
        self._connection = connection
        self.now_us = now_us

    def change(self, name: str, values: Values = _NOTHING) -> int:
        """Run a statement that changes rows; return how many."""
        return self._connection.execute(statement(name).text, values).rowcount

    def rows(self, name: str, values: Values = _NOTHING) -> list[Row]:
        """Return every row."""
        return self._connection.execute(statement(name).text, values).fetchall()

    def row(self, name: str, values: Values = _NOTHING) -> Row | None:
        """Return the first row, if there is one."""
        # All of them: a RETURNING statement is complete only after its last row.
        found = self.rows(name, values)
        return found[0] if found else None

    def decoded(self, name: str, decoder: msgspec.json.Decoder[T], values: Values = _NOTHING) -> T:
        """Return the single JSON text that a statement answers, decoded and typed."""
        return decoder.decode(self._connection.execute(statement(name).text, values).fetchone()[0])

    def change_ids(self, name: str, ids: Sequence[bytes], **values: object) -> int:
        """Run a statement on ids alone; return how many rows it changed."""
        return self.change(name, {"ids": pack(ids), "positions": positions(len(ids)), **values})

    def change_entries(
        self, name: str, ids: Sequence[bytes], entries: object, **values: object
    ) -> int:
        """Run a statement on ids with one entry each; return how many rows it changed."""
        return self.change(name, {"ids": pack(ids), "entries": as_json(entries), **values})

    def follow(self, steps: Steps[T]) -> T:
        """Run what the steps ask for, and return their result."""
        rows: list[Row] | None = None
        while True:
            try:
                wish: Ask = next(steps) if rows is None else steps.send(rows)
            except StopIteration as end:
                result: T = end.value
                return result
            rows = self._connection.execute(wish.statement.text, wish.values).fetchall()

    def script(self, text: str) -> None:
        """Run the statements of a migration, one by one, inside this transaction."""
        part = ""
        for line in text.splitlines(keepends=True):
            part += line
            if sqlite3.complete_statement(part):
                self._connection.execute(part)
                part = ""
        assert not part.strip() or part.lstrip().startswith("--"), "a statement lacks its semicolon"
