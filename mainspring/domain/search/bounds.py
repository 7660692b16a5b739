"""What a search certainly requires, in terms that every store can look for.

Never too narrow: a part that cannot be told in these terms requires nothing.
"""

from datetime import datetime
from functools import reduce
from typing import Any, Final, NamedTuple, TypeVar

from mainspring.domain.job import JobFilter
from mainspring.domain.states import JobState

_Edge = TypeVar("_Edge", datetime, bytes)


class Bounds(NamedTuple):
    """Requirements, each absent or a set or an edge. ``nothing``: no job can satisfy them."""

    states: frozenset[JobState] | None = None
    kinds: frozenset[str] | None = None
    queues: frozenset[str] | None = None
    groups: frozenset[str] | None = None
    tenants: frozenset[str] | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    finished_after: datetime | None = None
    finished_before: datetime | None = None
    id_from: bytes | None = None
    id_before: bytes | None = None
    nothing: bool = False

    def meet(self, other: "Bounds") -> "Bounds":
        """Return what both require together."""
        met: dict[str, Any] = {
            name: _common(getattr(self, name), getattr(other, name)) for name in _SETS
        }
        met |= {name: _later(getattr(self, name), getattr(other, name)) for name in _BEGINS}
        met |= {name: _earlier(getattr(self, name), getattr(other, name)) for name in _ENDS}
        found = Bounds(**met, nothing=self.nothing or other.nothing)
        return found._replace(nothing=found.nothing or found.is_contradiction)

    def join(self, other: "Bounds") -> "Bounds":
        """Return what either of them requires in any case."""
        if self.nothing or other.nothing:
            return self if other.nothing else other
        joined: dict[str, Any] = {}
        for name in (*_SETS, *_BEGINS, *_ENDS):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine is None or theirs is None:
                joined[name] = None
            elif name in _SETS:
                joined[name] = mine | theirs
            else:
                joined[name] = min(mine, theirs) if name in _BEGINS else max(mine, theirs)
        return Bounds(**joined)

    @property
    def is_contradiction(self) -> bool:
        """Tell whether a set is empty or a window ends before it begins."""
        if any(getattr(self, name) == frozenset() for name in _SETS):
            return True
        windows = zip(_BEGINS, _ENDS, strict=True)
        edges = ((getattr(self, begin), getattr(self, end)) for begin, end in windows)
        return any(begin is not None and end is not None and begin >= end for begin, end in edges)

    def filter(self) -> JobFilter:
        """Return them as stores take them."""
        one_tenant = self.tenants is not None and len(self.tenants) == 1
        return JobFilter(
            states=self.states or frozenset(),
            kinds=self.kinds or frozenset(),
            queues=self.queues or frozenset(),
            groups=self.groups or frozenset(),
            tenant=next(iter(self.tenants)) if self.tenants and one_tenant else None,
            created_after=self.created_after,
            created_before=self.created_before,
            finished_after=self.finished_after,
            finished_before=self.finished_before,
            id_from=self.id_from,
            id_before=self.id_before,
        )


_SETS: Final = ("states", "kinds", "queues", "groups", "tenants")
_BEGINS: Final = ("created_after", "finished_after", "id_from")
_ENDS: Final = ("created_before", "finished_before", "id_before")
ANYTHING: Final = Bounds()
NOTHING: Final = Bounds(nothing=True)


def meet_all(parts: list[Bounds]) -> Bounds:
    """Return what all require together."""
    return reduce(Bounds.meet, parts, ANYTHING)


def join_all(parts: list[Bounds]) -> Bounds:
    """Return what one of them requires in any case."""
    return reduce(Bounds.join, parts, NOTHING)


def _common(mine: frozenset[str] | None, theirs: frozenset[str] | None) -> frozenset[str] | None:
    if mine is None or theirs is None:
        return theirs if mine is None else mine
    return mine & theirs


def _later(mine: _Edge | None, theirs: _Edge | None) -> _Edge | None:
    if mine is None or theirs is None:
        return theirs if mine is None else mine
    return max(mine, theirs)


def _earlier(mine: _Edge | None, theirs: _Edge | None) -> _Edge | None:
    if mine is None or theirs is None:
        return theirs if mine is None else mine
    return min(mine, theirs)
