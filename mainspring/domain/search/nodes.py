"""What a search consists of, and how it is written."""

import re
from typing import Final

import msgspec

_SPECIAL: Final = re.compile(r'[\s,()"\\]|^[<>-]')
_NAMED: Final = re.compile(r"-?[A-Za-z_][^\s:,()\"]*:")


class Value(msgspec.Struct, frozen=True):
    """One value of a term. ``comparison`` is empty or one of ``< <= > >=``."""

    text: str
    comparison: str = ""
    #: Written in quotes where that matters: a star or dots in it mean themselves.
    exact: bool = False

    def __str__(self) -> str:
        """Return the value as it is written."""
        plain = not (self.exact or not self.text or _SPECIAL.search(self.text))
        if plain and not _NAMED.match(self.text):
            return self.comparison + self.text
        escaped = self.text.replace("\\", "\\\\").replace('"', '\\"')
        return f'{self.comparison}"{escaped}"'


class Term(msgspec.Struct, frozen=True):
    """``field:value,value``, or bare text: a term without a field."""

    field: str
    values: tuple[Value, ...]
    #: Members on the way into a payload, for ``args.user.id``.
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the term as it is written."""
        values = ",".join(map(str, self.values))
        return f"{'.'.join((self.field, *self.path))}:{values}" if self.field else values


class Not(msgspec.Struct, frozen=True):
    """What is inside does not hold."""

    node: "Node"

    def __str__(self) -> str:
        """Return the negation as it is written."""
        return f"-{self.node}" if isinstance(self.node, Term) else f"-({self.node})"


class All(msgspec.Struct, frozen=True):
    """Everything inside holds; the empty search holds for every job."""

    nodes: tuple["Node", ...]

    def __str__(self) -> str:
        """Return the parts with spaces between them."""
        return " ".join(map(str, self.nodes))


class AnyOf(msgspec.Struct, frozen=True):
    """Something inside holds."""

    nodes: tuple["Node", ...]

    def __str__(self) -> str:
        """Return the parts with commas between them."""
        written: list[str] = []
        before: Node | None = None
        for node in self.nodes:
            # Bare text after a field would be another value of it.
            is_value = _has_field(before) and _has_field(node) is False
            written.append(f"({node})" if isinstance(node, All) or is_value else str(node))
            before = node
        return ",".join(written)


def _has_field(node: "Node | None") -> bool | None:
    """Tell of a term, negated or not, whether it has a field; nothing is told of others."""
    inner = node.node if isinstance(node, Not) else node
    return bool(inner.field) if isinstance(inner, Term) else None


Node = Term | Not | All | AnyOf


def all_of(nodes: list[Node]) -> Node:
    """Join nodes by and, without needless levels."""
    flat: list[Node] = []
    for node in nodes:
        flat += node.nodes if isinstance(node, All) else (node,)
    return flat[0] if len(flat) == 1 else All(tuple(flat))


def any_of(nodes: list[Node]) -> Node:
    """Join nodes by or, without needless levels."""
    flat: list[Node] = []
    for node in nodes:
        flat += node.nodes if isinstance(node, AnyOf) else (node,)
    return flat[0] if len(flat) == 1 else AnyOf(tuple(flat))
