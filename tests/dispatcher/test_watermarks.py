"""Watermarks against a queue that is searched without any."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mainspring.dispatcher.watermarks import MARGIN, SWEEP_SECONDS, Watermarks
from mainspring.domain.job import Claimed, Priority
from mainspring.ports.store import Lane
from mainspring.testing.clock import BEGINNING

QUEUES = ("a", "b")


@dataclass(order=True)
class Row:
    priority: int
    due_at: datetime
    number: int
    queue: str = field(compare=False)
    kept_until: float | None = field(default=None, compare=False)


def claimed_of(row: Row, now: datetime) -> Claimed:
    return Claimed(
        job_id=row.number.to_bytes(16, "big"),
        attempt=1,
        kind="k",
        queue=row.queue,
        tenant="default",
        priority=row.priority,
        payload=b"{}",
        payload_ref=None,
        tries=1,
        crashes=1,
        max_attempts=5,
        max_crashes=3,
        backoff=None,
        timeout_ms=1,
        due_at=row.due_at,
        started_at=now,
        deadline_at=now,
        effect_key=None,
        on_exhausted=None,
        created_at=now,
    )


class Model:
    """A queue and one claimer, with time that is moved by hand."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.rows: list[Row] = []
        self.count = 0
        self.marks = Watermarks(lambda: self.passed)

    @property
    def now(self) -> datetime:
        return BEGINNING + timedelta(seconds=self.passed)

    def add(self, queue: str, priority: int, due_in: float) -> Row:
        self.count += 1
        row = Row(priority, self.now + timedelta(seconds=due_in), self.count, queue)
        self.rows.append(row)
        return row

    def due(self, queue: str) -> list[Row]:
        return sorted(row for row in self.rows if row.queue == queue and row.due_at <= self.now)

    def claim(self, wants: dict[str, int], limit: int, *, skip: frozenset[int]) -> list[Row]:
        """Claim as the port says; ``skip`` are rows that another claimer is looking at."""
        lanes = [Lane(queue, want) for queue, want in wants.items()]
        found: list[Row] = []
        for lane in self.marks.apply(lanes):
            seen = [
                row
                for row in self.due(lane.queue)
                if row.number not in skip
                and (row.priority not in lane.since or row.due_at >= lane.since[row.priority])
            ]
            found += seen[: lane.want]
        taken = sorted(found)[:limit]
        self.marks.learn(lanes, [claimed_of(row, self.now) for row in taken])
        for row in taken:
            self.rows.remove(row)
        return taken


class Claiming(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.model = Model()

    @rule(seconds=st.sampled_from([0.0, 0.001, 0.2, 0.5, 0.7, 1.0, 5.0]))
    def time_passes(self, seconds: float) -> None:
        self.model.passed += seconds

    @rule(
        queue=st.sampled_from(QUEUES),
        priority=st.sampled_from(list(Priority)),
        due_in=st.sampled_from([-3_600.0, -2.0, -0.499, 0.0, 0.3, 2.0]),
        count=st.integers(1, 3),
    )
    def rows_come(self, queue: str, priority: int, due_in: float, count: int) -> None:
        for _ in range(count):
            self.model.add(queue, priority, due_in)

    @rule(
        want=st.integers(0, 4),
        other=st.integers(0, 4),
        limit=st.integers(1, 6),
        skipped=st.frozensets(st.integers(1, 40), max_size=4),
    )
    def somebody_claims(self, want: int, other: int, limit: int, skipped: frozenset[int]) -> None:
        self.model.claim({"a": want, "b": other}, limit, skip=skipped)

    @precondition(lambda self: self.model.rows)
    @rule()
    def a_sweep_strands_nothing(self) -> None:
        """Whatever happened: after a sweep's time the best of all due rows is claimed."""
        self.model.passed += SWEEP_SECONDS + 0.001  # sums of floats fall short
        best = {queue: self.model.due(queue)[:2] for queue in QUEUES}
        taken = self.model.claim({"a": 2, "b": 2}, 4, skip=frozenset())
        assert sorted(taken) == sorted(best["a"] + best["b"])

    @precondition(lambda self: self.model.rows)
    @rule()
    def a_wait_strands_nothing(self) -> None:
        self.model.marks.forget()
        best = self.model.due("a")[:3]
        assert self.model.claim({"a": 3}, 3, skip=frozenset()) == best

    @invariant()
    def no_watermark_lies_in_the_last_half_second(self) -> None:
        for low in self.model.marks._low.values():
            assert all(instant <= self.model.now - MARGIN for instant in low.values())


TestClaiming = Claiming.TestCase
TestClaiming.settings = settings(
    max_examples=settings().max_examples * 3 // 5, stateful_step_count=40
)


_STEP = st.tuples(
    st.sampled_from([0.0, 0.1, 0.4, 0.9]),  # seconds that pass before it
    st.lists(
        st.tuples(st.sampled_from(list(Priority)), st.sampled_from([-0.4, 0.0, 0.25, 2.0])),
        max_size=4,
    ),
    st.integers(1, 5),  # how much is wanted
)


@settings(deadline=None)
@given(st.lists(_STEP, max_size=30))
def test_for_rows_that_come_in_time_a_watermark_changes_nothing(
    steps: list[tuple[float, list[tuple[Priority, float]], int]],
) -> None:
    """Nobody else claims and no row is late by more than the margin: order is strict, always."""
    model = Model()
    for passes, comes, want in steps:
        model.passed += passes
        for priority, due_in in comes:
            model.add("a", priority, due_in)
        expected = model.due("a")[:want]
        assert model.claim({"a": want}, want, skip=frozenset()) == expected


def test_between_sweeps_a_claim_begins_behind_what_was_seen() -> None:
    model = Model()
    model.marks.apply([Lane("a", 1)])
    for _ in range(3):
        model.add("a", Priority.NORMAL, -100)
    model.add("a", Priority.LOW, -50)
    assert len(model.claim({"a": 4}, 4, skip=frozenset())) == 4
    [lane] = model.marks.apply([Lane("a", 4)])
    assert lane.since == {
        Priority.CRITICAL: model.now - MARGIN,
        Priority.HIGH: model.now - MARGIN,
        Priority.NORMAL: model.now - MARGIN,
        Priority.LOW: model.now - timedelta(seconds=50) - MARGIN,
    }
    model.passed += SWEEP_SECONDS
    assert model.marks.apply([Lane("a", 4)]) == (Lane("a", 4),)


def test_a_claim_that_brought_nothing_teaches_nothing() -> None:
    model = Model()
    model.claim({"a": 4}, 4, skip=frozenset())
    assert model.marks.apply([Lane("a", 4)]) == (Lane("a", 4),)


def test_a_job_may_be_due_since_the_first_moment_of_the_calendar() -> None:
    """Whoever submits one must not take down the worker that claims it."""
    marks = Watermarks(lambda: 0.0)
    lane = Lane("a", 1)
    assert marks.apply([lane]) == (lane,)
    first = datetime.min.replace(tzinfo=UTC)
    marks.learn([lane], [claimed_of(Row(2, first, 1, "a"), BEGINNING)])
    [later] = marks.apply([lane])
    assert later.since[2] == first
