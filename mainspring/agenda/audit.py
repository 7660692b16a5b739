"""The audit: what should have fired, computed anew, against what the ledger says.

It knows timetables and rows and nothing of the judge, so that it finds the judge's mistakes, too.
Every nominal fire of a schedule has exactly one row of its own or lies in exactly one span; what a
clock change or a calendar took away likewise. Fires by hand are nobody's expectation, and a fire
that a backfill took up may lie in the span that left it out.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from mainspring.agenda.book import SPAN_LEFT_OUT
from mainspring.agenda.spec import timetable_of
from mainspring.domain.audit import Audited, Finding, FindingKind
from mainspring.domain.limits import AUDIT_FIRES_MAX, AUDIT_ITEMS_MAX, PREVIEW_FIRES_MAX
from mainspring.domain.schedule import SPAN, Cause, FireView, Outcome, VersionView
from mainspring.timetable.civil import NEVER, moment
from mainspring.timetable.timetable import Fire, Timetable


def audit(
    versions: Sequence[VersionView],
    rows: Sequence[FireView],
    after: int,
    until: int,
    *,
    fired: int = 0,
    fires_max: int = AUDIT_FIRES_MAX,
) -> Audited:
    """Compare the rows of a range with what its versions name in it; instants are seconds.

    ``rows`` are those after one instant and up to the other, and spans that reach into the range.
    ``fired``: how many jobs the schedule had made before the range, for those with a maximum.
    """
    looking = _Look(rows, after, until, fired)
    looking.left = looking.left_taken = fires_max
    through, is_complete = until, True
    for version, begins, ends in _reigns(versions, after, until):
        reached = looking.compare(version, begins, ends)
        if reached < ends:
            through, is_complete = reached, False
            break
    return looking.answer(through, is_complete=is_complete)


def _reigns(
    versions: Sequence[VersionView], after: int, until: int
) -> Iterator[tuple[VersionView, int, int]]:
    """Give each version with the part of the range in which it was in force."""
    ends = [version.from_at for version in versions[1:]]
    for version, end in zip(versions, [*ends, NEVER], strict=True):
        first, last = max(version.from_at, after), min(end, until)
        if first < last:
            yield version, first, last


class _Cover:
    """Spans of one sort; asked for instants in order."""

    def __init__(self, rows: Sequence[FireView], sequence: int) -> None:
        self.spans: Final = [row for row in rows if row.sequence == sequence]
        self.spans.sort(key=_begin)
        self._starts = [_begin(row) for row in self.spans]
        #: How many fires were found in each.
        self.found = [0] * len(self.spans)
        self._open: list[int] = []
        self._next = 0

    def over(self, nominal: int, reason: str | None = None) -> list[int]:
        """Return the places of the spans that hold an instant."""
        upto = bisect_right(self._starts, nominal)
        self._open += range(self._next, upto)
        self._next = max(self._next, upto)
        self._open = [place for place in self._open if _end(self.spans[place]) >= nominal]
        return [
            place
            for place in self._open
            if reason is None or self.spans[place].outcome.value == reason
        ]


class _Look:
    """One audit in the making."""

    def __init__(self, rows: Sequence[FireView], after: int, until: int, fired: int) -> None:
        self._after = after
        self._until = until
        self._fired = fired
        #: How many fires may be computed yet, and how many that were taken away.
        self.left = self.left_taken = 0
        self._own: dict[tuple[int, int], FireView] = {}
        self._matched: set[tuple[int, int]] = set()
        self._spans = _Cover(rows, SPAN)
        self._left_out = _Cover(rows, SPAN_LEFT_OUT)
        self._expected = self._accounted = 0
        self._outcomes: Counter[str] = Counter()
        self._kinds: Counter[FindingKind] = Counter()
        self._findings: list[Finding] = []
        for row in rows:
            if row.sequence >= 0:
                key = (_begin(row), row.sequence)
                if key in self._own:
                    self._tell("double", key, "two rows have the same instant and sequence")
                self._own[key] = row

    # --- one version --------------------------------------------------------------------------

    def compare(self, version: VersionView, after: int, until: int) -> int:
        """Compare one version's range; return how far it came."""
        timetable = timetable_of(version.spec, version.calendars)
        reached = until
        for instant in timetable.instants(after, until):
            if self.left <= 0:
                reached = instant - 1
                break
            self.left -= 1
            self._instant(timetable, instant)
        return self._not_fired(timetable, after, reached)

    def _instant(self, timetable: Timetable, instant: int) -> None:
        most = timetable.bounds.max_fires
        covers = self._spans.over(instant)
        for place in covers:
            self._spans.found[place] += 1
        for fire in timetable.fires_at(instant):
            row = self._own.get((instant, fire.sequence))
            if row is None and not covers and most is not None and self._fired >= most:
                continue
            self._fire(fire, row, covers)
            if row is not None and row.outcome is Outcome.JOB and row.cause is not Cause.MANUAL:
                self._fired += 1

    def _fire(self, fire: Fire, row: FireView | None, covers: list[int]) -> None:
        self._expected += 1
        key = (fire.nominal_at, fire.sequence)
        outcomes = [self._spans.spans[place].outcome for place in covers]
        if row is not None:
            self._matched.add(key)
            if row.outcome is Outcome.BACKFILLED:
                # It was taken up out of the span that had left it out.
                outcomes = outcomes[1:]
            outcomes = [row.outcome, *outcomes]
        self._judge(key, outcomes, fire.local)

    def _not_fired(self, timetable: Timetable, after: int, until: int) -> int:
        """Compare what clock changes and calendars took away."""
        while after < until and self.left_taken > 0:
            found = timetable.not_fired(after, min(until, NEVER - 1), PREVIEW_FIRES_MAX)
            for fire in found.fires:
                self._taken(fire)
            self.left_taken -= len(found.fires)
            after = until if found.is_complete else found.through
        return after

    def _taken(self, fire: Fire) -> None:
        self._expected += 1
        key = (fire.nominal_at, fire.sequence)
        covers = self._left_out.over(fire.nominal_at, fire.reason)
        for place in covers:
            self._left_out.found[place] += 1
        outcomes = [self._left_out.spans[place].outcome for place in covers]
        row = self._own.get(key)
        if row is not None and row.outcome.value == fire.reason:
            self._matched.add(key)
            outcomes.append(row.outcome)
        self._judge(key, outcomes, fire.local)

    def _judge(self, key: tuple[int, int], outcomes: list[Outcome], local: str) -> None:
        if len(outcomes) == 1:
            self._accounted += 1
            self._outcomes[outcomes[0].value] += 1
        elif not outcomes:
            self._tell("gap", key, "no row of the ledger says what became of it", local)
        else:
            words = " and ".join(outcome.value for outcome in outcomes)
            self._tell("double", key, f"accounted for {len(outcomes)} times: {words}", local)

    # --- the end ------------------------------------------------------------------------------

    def answer(self, through: int, *, is_complete: bool) -> Audited:
        """Look at what nobody expected, and sum up."""
        for key, row in self._own.items():
            is_inside = self._after < key[0] <= through
            if is_inside and key not in self._matched and row.outcome is not Outcome.BACKFILLED:
                detail = f"the ledger says {row.outcome.value}, but no rule names this instant"
                self._tell("unexpected", key, detail, row.local or "")
        for cover in (self._spans, self._left_out):
            self._check_spans(cover, through)
        self._findings.sort(key=lambda finding: (finding.nominal_at, finding.sequence))
        return Audited(
            after=moment(self._after),
            through=moment(through),
            expected=self._expected,
            accounted=self._accounted,
            outcomes=dict(self._outcomes),
            gaps=self._kinds["gap"],
            doubles=self._kinds["double"],
            unexpected=self._kinds["unexpected"],
            findings=tuple(self._findings),
            is_complete=is_complete,
        )

    def _check_spans(self, cover: _Cover, through: int) -> None:
        for row, found in zip(cover.spans, cover.found, strict=True):
            if _begin(row) <= self._after or _end(row) > through:
                continue
            if row.count is not None and row.count != found:
                key = (_begin(row), row.sequence)
                detail = f"a span of {row.count} times {row.outcome.value} holds {found}"
                self._tell("unexpected", key, detail)
        for one, other in pairwise(cover.spans):
            if _begin(one) == _begin(other) and one.outcome is other.outcome:
                self._tell("double", (_begin(one), one.sequence), "two spans begin here")

    def _tell(self, kind: FindingKind, key: tuple[int, int], detail: str, local: str = "") -> None:
        self._kinds[kind] += 1
        if len(self._findings) < AUDIT_ITEMS_MAX:
            nominal, sequence = key
            self._findings.append(
                Finding(
                    kind=kind,
                    nominal_at=moment(nominal),
                    sequence=sequence,
                    detail=detail,
                    local=local,
                )
            )


def _begin(row: FireView) -> int:
    return int(row.nominal_at.timestamp())


def _end(row: FireView) -> int:
    return _begin(row) if row.through is None else int(row.through.timestamp())
