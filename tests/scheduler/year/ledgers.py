"""Judges a ledger against what should have fired, and each outcome against what really happened.

It knows the second opinion on times, the plan's policies, and what the world noted: when jobs began
and ended, when a schedule was paused. It shares no code with the judge, nor with the audit.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from mainspring.domain.job import JobView
from mainspring.domain.schedule import SPAN, Cause, FireView, Outcome
from mainspring.domain.states import FINAL, JobState
from tests.scheduler.year.expected import Expected
from tests.scheduler.year.plans import Plan

_SPANS = (SPAN, -3)
_HORIZON = 900
_LEFT_OUT = (Outcome.EXCLUDED_BY_CALENDAR, Outcome.DST_SKIPPED)
_WANTS_NEWEST = ("cancel_running", "replace")


@dataclass(frozen=True)
class Kept:
    """All that is kept of one schedule."""

    plan: Plan
    after: int
    #: Up to here everything must have been decided.
    now: int
    #: Up to here everything has been decided.
    through: int
    rows: Sequence[FireView]
    jobs: Mapping[bytes, JobView]
    #: From and until when it was paused.
    pauses: Sequence[tuple[float, float]] = ()


def wrong(kept: Kept) -> list[str]:
    """Return what is wrong, in words; nothing is the proof."""
    return [f"{kept.plan.name}: {text}" for text in _Looking(kept).all()]


class _Looking:
    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self.plan = kept.plan
        self.expected: Expected = kept.plan.expected(kept.after, max(kept.now, kept.through))
        self.instants = self.expected.instants
        self.own = [row for row in kept.rows if row.sequence not in _SPANS]
        self.spans = [row for row in kept.rows if row.sequence in _SPANS]
        self.job_rows = {
            row.job_id: row
            for row in self.own
            if row.outcome is Outcome.JOB and row.job_id is not None
        }

    def all(self) -> Iterator[str]:
        yield from self._coverage()
        yield from self._span_counts()
        yield from self._jobs_and_rows()
        yield from self._one_at_a_time()
        yield from self._maximum()
        yield from self._caught_up_once()
        for row in self.kept.rows:
            why = self._untrue(row)
            if why:
                at = f"{row.nominal_at:%Y-%m-%d %H:%M:%S}, {row.sequence}"
                decided = f"decided {row.decided_at:%Y-%m-%d %H:%M:%S}"
                yield f"{at}: {row.outcome.value} is not true: {why} ({decided})"

    # --- every nominal fire exactly once --------------------------------------------------------

    def _coverage(self) -> Iterator[str]:
        covered = Counter((_at(row), row.sequence) for row in self.own)
        fires, left_out = self.expected
        reasons = {(_at(row), row.sequence): row.outcome.value for row in self.own}
        in_spans = _Spans([row for row in self.spans if row.sequence == SPAN])
        out_spans = _Spans([row for row in self.spans if row.sequence != SPAN])
        last = self._last_wanted()
        for key in fires:
            count = covered.pop(key, 0) + in_spans.over(key[0])
            if count > 1:
                yield f"{_shown(key)} is accounted for {count} times"
            if count == 0 and key[0] <= last:
                yield f"{_shown(key)} has no row"
        for key, reason in left_out.items():
            count = covered.pop(key, 0) if reasons.get(key) == reason else 0
            if reason == "excluded_by_calendar":
                count += out_spans.over(key[0])
            if count != 1 and key[0] <= min(last, self.kept.through):
                yield f"{_shown(key)}, {reason}, is accounted for {count} times"
        for key in covered:
            yield f"{_shown(key)} is in the ledger as {reasons[key]}, and no rule names it"

    def _last_wanted(self) -> int:
        """Return up to which instant fires must be accounted for."""
        most = self.plan.draft.max_fires
        jobs = sorted(_at(row) for row in self.job_rows.values())
        if most is not None and len(jobs) >= most:
            return jobs[-1] - 1
        jitter = self.plan.draft.jitter_seconds
        return max(self.kept.through, self.kept.now - jitter)

    def _span_counts(self) -> Iterator[str]:
        out = sorted({instant for instant, _ in self.expected.left_out})
        for row in self.spans:
            among = self.instants if row.sequence == SPAN else out
            begin, end = _at(row), _end(row)
            held = bisect_right(among, end) - bisect_left(among, begin)
            if row.count is not None and row.sequence == SPAN and row.count != held:
                yield f"the span at {_shown((begin, row.sequence))} says {row.count}, it is {held}"
            if not held:
                yield f"the span at {_shown((begin, row.sequence))} holds nothing"

    # --- jobs -----------------------------------------------------------------------------------

    def _jobs_and_rows(self) -> Iterator[str]:
        for job_id, row in self.job_rows.items():
            job = self.kept.jobs.get(job_id)
            if job is None:
                yield f"{_shown((_at(row), row.sequence))} has lost its job"
            elif job.nominal_at != row.nominal_at:
                yield f"the job of {row.nominal_at} says that it is of {job.nominal_at}"
            elif job.state in FINAL and row.job_state is not job.state:
                yield f"the job of {row.nominal_at} is {job.state}, its row says {row.job_state}"
        for job_id, job in self.kept.jobs.items():
            if job_id not in self.job_rows:
                yield f"a job of {job.nominal_at} has no row"

    def _one_at_a_time(self) -> Iterator[str]:
        if self.plan.overlap == "allow":
            return
        lives = sorted(
            (job.created_at, job.finished_at or job.created_at.replace(year=9999))
            for job in self.kept.jobs.values()
        )
        for (_, ended), (made, _) in pairwise(lives):
            if made < ended:
                yield f"a job was made at {made} while another was live until {ended}"

    def _maximum(self) -> Iterator[str]:
        most = self.plan.draft.max_fires
        if most is not None and len(self.job_rows) > most:
            yield f"{len(self.job_rows)} jobs, and at most {most} are wanted"

    def _caught_up_once(self) -> Iterator[str]:
        """One job for all that was missed, where the plan says so."""
        if self.plan.misfire != "fire_once":
            return
        made = Counter(
            row.decided_at for row in self.job_rows.values() if row.cause is Cause.CATCH_UP
        )
        yield from (f"{count} jobs caught up at {at}" for at, count in made.items() if count > 1)

    # --- each outcome is true -------------------------------------------------------------------

    def _untrue(self, row: FireView) -> str | None:
        if row.outcome in _LEFT_OUT:
            return None
        # The judge counts whole milliseconds.
        late = (row.decided_at - row.nominal_at) // timedelta(milliseconds=1) / 1000
        match row.outcome:
            case Outcome.JOB:
                return self._untrue_job(row, late)
            case Outcome.COALESCED:
                return self._untrue_coalesced(row, late)
            case Outcome.SKIPPED_MISFIRE:
                is_gap = self.expected.fires.get((_at(row), row.sequence), False)
                fine = self.plan.misfire == "skip" and (is_gap or late > self.plan.threshold)
            case Outcome.SKIPPED_OVERLAP:
                policies = (self.plan.overlap, self.plan.misfire)
                fine = policies[0] == "skip" or policies == ("defer", "skip")
                fine = fine and self._was_blocked(row)
            case Outcome.EXPIRED:
                window = self.plan.window
                waited = self.plan.overlap == "defer" and self._was_blocked(row)
                is_missed = waited or late > self.plan.threshold
                fine = window is not None and late > window and is_missed
            case Outcome.DROPPED:
                fine = self.plan.misfire == "fire_all" and self._newer(row) >= self.plan.max_missed
            case Outcome.SKIPPED_PAUSED:
                edge = row.decided_at.timestamp()
                fine = any(begin <= edge <= end for begin, end in self.kept.pauses)
            case _:
                fine = False
        return None if fine else f"{late:.0f} s late under {self._policies()}"

    def _untrue_job(self, row: FireView, late: float) -> str | None:
        if late < -_HORIZON - self.plan.draft.jitter_seconds - 1:
            return f"made {-late} s ahead"
        # Somebody waited for it: the newest is wanted, or it was this one's turn.
        waited = self.plan.overlap in _WANTS_NEWEST
        jitter = self.plan.draft.jitter_seconds
        if self.plan.misfire == "skip" and not waited and late - jitter > self.plan.threshold:
            return f"{late} s late under {self._policies()}"
        window = self.plan.window
        if window is not None and late - jitter > max(window, self.plan.threshold):
            return f"{late} s late, and the window is {window} s"
        job = self.kept.jobs.get(row.job_id or b"")
        if job is not None and job.attempt and job.started_at and job.started_at < row.due_at:
            return f"its job began at {job.started_at}, before it was due"
        due = row.due_at.timestamp()
        if row.cause in (Cause.SCHEDULE, Cause.DST_GAP):
            place = bisect_right(self.instants, _at(row))
            following = self.instants[place] if place < len(self.instants) else due + 1
            if not _at(row) <= due <= max(_at(row), min(following, _at(row) + jitter)):
                return f"due at {row.due_at}, with {jitter} s of jitter"
        return None

    def _untrue_coalesced(self, row: FireView, late: float) -> str | None:
        head = self.job_rows.get(row.job_id or b"")
        if head is None:
            return "the job that stands for it is not there"
        if _at(head) < _end(row):
            return f"an earlier job, of {head.nominal_at}, stands for it"
        newest = self.plan.overlap in _WANTS_NEWEST
        if self.plan.misfire == "fire_all" and not newest:
            return f"under {self._policies()}"
        is_mate = _at(head) == _at(row)
        is_late = late > self.plan.threshold
        if is_mate or is_late or newest:
            return None
        if self.plan.overlap == "defer" and self._was_blocked(row):
            return None
        return f"{late} s late under {self._policies()}, and nothing was in its way"

    def _was_blocked(self, row: FireView) -> bool:
        """Say whether a job of the schedule was live between its instant and its verdict."""
        begin, end = row.nominal_at, row.decided_at
        return any(
            job.created_at <= end and (job.finished_at is None or job.finished_at >= begin)
            for job in self.kept.jobs.values()
        )

    def _newer(self, row: FireView) -> int:
        """Count the fires after this one up to the moment of its verdict."""
        edge = row.decided_at.timestamp()
        last = _end(row)
        same = sum(instant == _at(row) and row.sequence < seq for instant, seq in self._keys())
        return same + sum(last < instant <= edge for instant, _ in self._keys())

    def _keys(self) -> Iterator[tuple[int, int]]:
        return iter(self.expected.fires)

    def _policies(self) -> str:
        return f"{self.plan.misfire}, {self.plan.overlap}, threshold {self.plan.threshold} s"


class _Spans:
    """Counts the spans over an instant; asked in order."""

    def __init__(self, spans: Sequence[FireView]) -> None:
        self._bounds = sorted((_at(row), _end(row)) for row in spans)
        self._begins = [begin for begin, _ in self._bounds]

    def over(self, instant: int) -> int:
        upto = bisect_right(self._begins, instant)
        return sum(end >= instant for _, end in self._bounds[:upto][-8:])


def ends_well(jobs: Mapping[bytes, JobView]) -> list[str]:
    """Return the jobs that were due and have not ended."""
    return [
        f"the job of {job.nominal_at} is {job.state} at the end"
        for job in jobs.values()
        if job.state not in (*FINAL, JobState.SCHEDULED, JobState.RETRYING)
    ]


def by_schedule(jobs: Sequence[JobView]) -> dict[bytes, dict[bytes, JobView]]:
    """Sort jobs by their schedules."""
    found: defaultdict[bytes, dict[bytes, JobView]] = defaultdict(dict)
    for job in jobs:
        assert job.schedule_id is not None
        assert job.id not in found[job.schedule_id], "a job is there twice"
        found[job.schedule_id][job.id] = job
    return found


def _at(row: FireView) -> int:
    return int(row.nominal_at.timestamp())


def _end(row: FireView) -> int:
    return _at(row) if row.through is None else int(row.through.timestamp())


def _shown(key: tuple[int, int]) -> str:
    return f"{datetime.fromtimestamp(key[0]).astimezone():%Y-%m-%d %H:%M:%S}, {key[1]}"
