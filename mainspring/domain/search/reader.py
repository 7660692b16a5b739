"""From text to nodes, by one pass from left to right."""

import re
from collections.abc import Callable, Collection
from typing import Final

from mainspring.domain.errors import InvalidQuery
from mainspring.domain.limits import QUERY_BYTES_MAX, QUERY_DEPTH_MAX, QUERY_ITEMS_MAX
from mainspring.domain.names import suggestion
from mainspring.domain.search.nodes import Node, Not, Term, Value, all_of, any_of

_SPACE: Final = re.compile(r"\s*")
_NAME: Final = re.compile(r"([A-Za-z_]+)((?:\.[^\s:,()\".]+)*):")
_PLAIN: Final = re.compile(r'[^\s,()"]+')
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_COMPARISON: Final = re.compile(r"[<>]=?")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)

#: Makes a term of what was read, or raises for the value at an offset.
Checked = Callable[[str, tuple[str, ...], list[tuple[int, Value]]], Term]


def broken(at: int, message: str, hint: str) -> InvalidQuery:
    """Return the error for what stands at an offset."""
    return InvalidQuery(
        f"the search, at character {at + 1}: {message}", hint=hint, details={"offset": at}
    )


class Reader:
    """Reads one search. ``fields`` are the names that terms may have."""

    def __init__(
        self, text: str, fields: Collection[str], later: Collection[str], checked: Checked
    ) -> None:
        """``later``: names that will mean something one day."""
        self._text = text
        self._fields = fields
        self._later = later
        self._checked = checked
        self._at = 0
        self._terms = 0

    def read(self) -> Node:
        """Return the whole search."""
        size = len(self._text.encode("utf-8", "replace"))
        if size > QUERY_BYTES_MAX:
            raise broken(
                0, f"it has {size:,} bytes, the limit is {QUERY_BYTES_MAX:,}", "shorten it"
            )
        node = self._all(0)
        if self._at < len(self._text):
            raise broken(self._at, "there is no ( for this )", "remove it, or quote the text")
        return node

    def _all(self, depth: int) -> Node:
        nodes: list[Node] = []
        while self._skip() and not self._sees(")"):
            nodes.append(self._either(depth))
        return all_of(nodes)

    def _either(self, depth: int) -> Node:
        nodes = [self._one(depth)]
        while self._takes_comma():
            nodes.append(self._one(depth))
        return any_of(nodes)

    def _one(self, depth: int) -> Node:
        if self._sees("-"):
            self._at += 1
            if not self._text[self._at : self._at + 1].strip("- \t\r\n,)"):
                raise broken(self._at, "there is nothing to exclude after -", "write -queue:bulk")
            return Not(self._one(depth))
        if self._sees("("):
            return self._group(depth + 1)
        return self._term()

    def _group(self, depth: int) -> Node:
        begin = self._at
        if depth > QUERY_DEPTH_MAX:
            raise broken(begin, f"more than {QUERY_DEPTH_MAX} levels of ( )", "write it flatter")
        self._at += 1
        node = self._all(depth)
        if not self._sees(")"):
            raise broken(begin, "this ( is not closed", "add a ), or quote the text")
        if not self._text[begin + 1 : self._at].strip():
            raise broken(begin, "there is nothing between ( and )", "remove them")
        self._at += 1
        return node

    def _term(self) -> Term:
        self._terms += 1
        if self._terms > QUERY_ITEMS_MAX:
            raise broken(
                self._at, f"more than {QUERY_ITEMS_MAX} terms", "one field may have many values"
            )
        named = _NAME.match(self._text, self._at)
        if named is None:
            return self._checked("", (), [(self._at, self._value("", bare=True))])
        field = self._known(named[1].lower())
        self._at = named.end()
        values = [(self._at, self._value(field))]
        while self._takes_comma(values_only=True):
            values.append((self._at, self._value(field)))
        return self._checked(field, tuple(named[2].split(".")[1:]), values)

    def _known(self, field: str) -> str:
        if field in self._fields:
            return field
        if field in self._later:
            raise broken(
                self._at, f"{field}: there are no such things in this version yet",
                "leave this term out",
            )  # fmt: skip
        raise broken(
            self._at, f"there is no field {field!r}", suggestion(field, sorted(self._fields))
        )

    def _value(self, field: str, *, bare: bool = False) -> Value:
        comparison = ""
        if not bare and (compared := _COMPARISON.match(self._text, self._at)):
            comparison = compared[0]
            self._at = compared.end()
        if quoted := _QUOTED.match(self._text, self._at):
            self._at = quoted.end()
            self._ends_here()
            return Value(_ESCAPED.sub(r"\1", quoted[1]), comparison, exact=True)
        if self._sees('"'):
            raise broken(self._at, "this quotation is not closed", 'add a "')
        if not bare and self._begins_term():
            raise broken(self._at, f"{field}: has no value", 'write a value, or "quote" it')
        found = _PLAIN.match(self._text, self._at)
        if found is None:
            what = f"{field}: has no value" if field else "something is missing"
            raise broken(self._at, what, "write it, or remove what stands before")
        self._at = found.end()
        self._ends_here()
        return Value(found[0], comparison)

    def _ends_here(self) -> None:
        """Insist on a space, comma or ) after a value."""
        if self._text[self._at : self._at + 1] not in ("", ",", ")") and self._skips_nothing():
            raise broken(self._at, "there is no space before this", "add one, or quote it all")

    def _skips_nothing(self) -> bool:
        return not self._text[self._at].isspace()

    def _takes_comma(self, *, values_only: bool = False) -> bool:
        """Step over a comma, and with ``values_only`` not over one that a term follows."""
        begin = self._at
        self._skip()
        if self._sees(","):
            self._at += 1
            self._skip()
            if not values_only or not self._begins_term():
                return True
        self._at = begin
        return False

    def _begins_term(self) -> bool:
        """Tell whether a term or group begins here rather than another value."""
        at = self._at + self._sees("-")
        named = _NAME.match(self._text, at)
        return self._text[at : at + 1] == "(" or (
            named is not None and named[1].lower() in self._fields
        )

    def _sees(self, letter: str) -> bool:
        return self._text.startswith(letter, self._at)

    def _skip(self) -> bool:
        """Go to what comes next; tell whether there is anything."""
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._at < len(self._text)
