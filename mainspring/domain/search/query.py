"""A parsed search: what it is written like, what it requires, and whether a job matches."""

from datetime import datetime
from functools import partial
from typing import Final, NamedTuple, assert_never

from mainspring.domain.job import JobFilter, JobView
from mainspring.domain.search.bounds import ANYTHING, Bounds, join_all, meet_all
from mainspring.domain.search.fields import FIELDS, LATER, Test, checked, meaning
from mainspring.domain.search.nodes import All, AnyOf, Node, Not, Term
from mainspring.domain.search.reader import Reader
from mainspring.domain.states import JobState

_EVERY_STATE: Final = frozenset(JobState)


class _Compiled(NamedTuple):
    test: Test
    bounds: Bounds


class Query:
    """A search that was understood, at the instant from which its durations count.

    >>> from datetime import UTC, datetime
    >>> query = parse("kind:mail.send state:dead", datetime(2026, 11, 1, tzinfo=UTC))
    >>> str(query), sorted(query.pushdown().kinds)
    ('kind:mail.send state:dead', ['mail.send'])
    """

    def __init__(self, node: Node, now: datetime) -> None:
        """Understand what was read."""
        self.node: Final = node
        self.now: Final = now
        self._compiled: Final = _compiled(node, now)

    def __str__(self) -> str:
        """Return the text that parses to this query."""
        return str(self.node)

    def __eq__(self, other: object) -> bool:
        """Tell whether both ask for the same in the same words."""
        return isinstance(other, Query) and (self.node, self.now) == (other.node, other.now)

    def __hash__(self) -> int:
        """Return the same for equal queries."""
        return hash((self.node, self.now))

    @property
    def is_impossible(self) -> bool:
        """Tell whether it is certain that no job matches."""
        return self._compiled.bounds.nothing

    def pushdown(self) -> JobFilter:
        """Return a filter that admits every job that matches, and perhaps more."""
        return self._compiled.bounds.filter()

    def matches(self, job: JobView) -> bool:
        """Tell whether a job, as it was seen at ``now``, is one that is asked for."""
        return self._compiled.test(job)


def parse(text: str, now: datetime) -> Query:
    """Return what a search means, or raise ``InvalidQuery`` with the offset of what is wrong."""
    return Query(Reader(text, FIELDS, LATER, partial(checked, now)).read(), now)


def _compiled(node: Node, now: datetime) -> _Compiled:
    match node:
        case Term():
            return _term(node, now)
        case Not(node=inner):
            found = _compiled(inner, now)
            return _Compiled(lambda job: not found.test(job), _excluded(inner, found.bounds))
        case All(nodes=nodes):
            parts = [_compiled(each, now) for each in nodes]
            tests = [part.test for part in parts]
            return _Compiled(
                lambda job: all(test(job) for test in tests),
                meet_all([part.bounds for part in parts]),
            )
        case AnyOf(nodes=nodes):
            parts = [_compiled(each, now) for each in nodes]
            return _either([part.test for part in parts], [part.bounds for part in parts])
        case _:
            assert_never(node)


def _term(term: Term, now: datetime) -> _Compiled:
    found = [meaning(term.field, term.path, value, 0, now) for value in term.values]
    bounds = [each.bounds for each in found]
    empty = [each._replace(nothing=each.nothing or each.is_contradiction) for each in bounds]
    return _either([each.test for each in found], empty)


def _either(tests: list[Test], bounds: list[Bounds]) -> _Compiled:
    return _Compiled(lambda job: any(test(job) for test in tests), join_all(bounds))


def _excluded(node: Node, bounds: Bounds) -> Bounds:
    """Return what the opposite requires; only of states everything that is left is known."""
    if isinstance(node, Term) and node.field == "state" and bounds.states is not None:
        left = _EVERY_STATE - bounds.states
        return Bounds(states=left, nothing=not left)
    return ANYTHING
