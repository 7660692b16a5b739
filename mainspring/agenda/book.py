"""One ruling in the making: the fires that were decided so far, and how far the cursor has come."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from mainspring.agenda.effect_keys import Bearer, effect_key
from mainspring.agenda.spec import Spec, read_spec, timetable_of
from mainspring.agenda.standing import Cursor, NewFire, Standing
from mainspring.domain.job import NewJob, Priority
from mainspring.domain.limits import COUNT_FIRES_MAX
from mainspring.domain.schedule import SPAN, Cause, FireRow, Missed, Outcome
from mainspring.timetable.civil import NEVER
from mainspring.timetable.timetable import (
    DST_SKIPPED,
    EXCLUDED_BY_CALENDAR,
    Fire,
    Fires,
    Timetable,
)

#: The sequence of a span of nominal times that do not fire at all (gaps, calendars). It has one of
#: its own because it may begin at the instant at which a span of fires begins.
SPAN_LEFT_OUT: Final = -3
#: What calendars take away is counted up to so many; each has to be looked at by itself.
_LISTED_MAX: Final = 200
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTE_MS: Final = 60_000


def instant(seconds: float) -> datetime:
    """Return the datetime of an instant in seconds."""
    return _EPOCH + timedelta(seconds=seconds)


def instant_of_ms(milliseconds: int) -> datetime:
    """Return the datetime of an instant in milliseconds."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def job_of(
    standing: Standing, job_id: bytes, nominal_at: int, *, due_ms: int, sequence: int = 0
) -> NewJob:
    """Return the job of a fire; whether it is exclusive and how urgent is the caller's to say."""
    spec = read_spec(standing.spec)
    work = spec.work
    bearer = Bearer(standing.id, standing.name, standing.tenant, spec.times.zone)
    return NewJob(
        id=job_id,
        kind=work.kind,
        payload=work.payload.encode(),
        tenant=standing.tenant,
        queue=work.queue,
        priority=work.priority,
        due_at=instant_of_ms(due_ms),
        max_attempts=work.max_attempts,
        max_crashes=work.max_crashes,
        backoff=work.backoff,
        timeout_ms=work.timeout_ms,
        on_exhausted=work.on_exhausted,
        effect_key=effect_key(work.effect_key, bearer, nominal_at, sequence),
        schedule_id=standing.id,
        nominal_at=instant(nominal_at),
    )


class _Owed(NamedTuple):
    """Fires that the next job stands for; of the first instant so many have their rows."""

    first: int
    last: int
    partial: int


class Book:
    """What a ruling has decided so far. Instants are only ever taken in order."""

    def __init__(self, standing: Standing, new_id: Callable[[], bytes]) -> None:
        self.standing: Final = standing
        self.spec: Final[Spec] = read_spec(standing.spec)
        self.timetable: Final[Timetable] = timetable_of(standing.spec, standing.calendars)
        self.now_ms: Final = standing.now_ms
        self.fires: list[NewFire] = []
        #: Due instants of the jobs that were made.
        self.dues: list[int] = []
        self._new_id = new_id
        self._jitter_name = standing.id.hex()
        cursor = standing.cursor
        self.through = cursor.through
        self.partial = cursor.partial
        self.fired = cursor.fired
        self.skip_next = cursor.skip_next
        self.released_ms = cursor.released_ms
        #: Missed fires that the next job stands for.
        self._owed: _Owed | None = None
        self._counts: dict[tuple[int, int], int | None] = {}
        #: No gap and no calendar takes a time away between the cursor and this instant.
        self._next_left_out = self.timetable.next_not_fired(self.through)
        self.last_job: bytes | None = None

    @property
    def cursor(self) -> Cursor:
        """Return how far this has come."""
        return Cursor(
            through=self.through,
            partial=self.partial,
            fired=self.fired,
            skip_next=self.skip_next,
            released_ms=self.released_ms,
        )

    def next_nominal(self) -> int | None:
        """Return the first instant that is not decided."""
        return self.timetable.next_at(self.through, fired=self.fired)

    def due_ms(self, nominal_at: int) -> int:
        """Return when a nominal instant is due, with its jitter."""
        return self.timetable.due_ms(self._jitter_name, nominal_at)

    @property
    def is_full(self) -> bool:
        """Say whether it has fired as often as it may: no fire is left to decide."""
        most = self.timetable.bounds.max_fires
        return most is not None and self.fired >= most

    def last_due(self, edge_ms: int) -> int | None:
        """Return the last undecided instant that is due at or before an edge."""
        if self.is_full:
            return None
        found = self.timetable.previous_at(edge_ms // 1000 + 1)
        # A fire is due before the next one, so only the last may be due after the edge.
        if found is not None and self.due_ms(found) > edge_ms:
            found = self.timetable.previous_at(found)
        return None if found is None or found <= self.through else found

    def forget_wishes(self, last: int) -> None:
        """Take back the wishes to leave out instants that pass by anyway, up to this one."""
        passed = islice(self.timetable.instants(self.through, last), self.skip_next)
        self.skip_next -= sum(1 for _ in passed)

    # --- what becomes of instants -------------------------------------------------------------

    def leave_out(self, last: int, outcome: Outcome, note: str | None = None) -> None:
        """Decide every instant up to ``last``, what is owed too: none of them becomes a job."""
        self.owe(last)
        owed, self._owed = self._owed, None
        if owed is not None:
            self._rows_of(owed, outcome, note=note)

    def leave_out_of(self, nominal_at: int, fires: int, outcome: Outcome) -> None:
        """Decide the first so many of the next instant's fires: they become no job."""
        begun = self.partial
        self.record(self.timetable.fires_at(nominal_at)[begun : begun + fires], outcome)
        self.partial += fires

    def undecided_at(self, nominal_at: int) -> list[Fire]:
        """Return the fires of an instant that nothing was decided about."""
        fires = self.timetable.fires_at(nominal_at)
        if not self.partial or nominal_at != self.next_nominal():
            return fires
        return fires[self.partial :]

    def owe(self, last: int) -> None:
        """Decide every instant up to ``last``: the next job stands for all of them."""
        first = self.next_nominal()
        if first is not None and first <= last:
            earlier = self._owed or _Owed(first, last, self.partial)
            self._owed = earlier._replace(last=last)
        self.advance(last)

    def fire(
        self, fire: Fire, cause: Cause, *, due_ms: int, lower: bool = False, exclusive: bool = False
    ) -> bytes:
        """Make a fire a job; it stands for what is owed."""
        job_id = self._new_id()
        missed = self._pay(job_id)
        job = job_of(self.standing, job_id, fire.nominal_at, due_ms=due_ms, sequence=fire.sequence)
        priority = min(job.priority + 1, int(Priority.LOW)) if lower else job.priority
        job = msgspec.structs.replace(job, priority=priority, alone=exclusive)
        self.fires.append(NewFire(self._row(fire, Outcome.JOB, cause, due_ms, job_id, missed), job))
        self.dues.append(due_ms)
        self.fired += 1
        self.last_job = job_id
        return job_id

    def record(
        self,
        fires: Iterable[Fire],
        outcome: Outcome,
        *,
        job_id: bytes | None = None,
        note: str | None = None,
    ) -> None:
        """Write down fires that become no job of their own."""
        for fire in fires:
            cause = Cause.DST_GAP if fire.is_missed else Cause.SCHEDULE
            due = self.due_ms(fire.nominal_at)
            row = self._row(fire, outcome, cause, due, job_id)
            if note is not None:
                row = msgspec.structs.replace(row, note=note)
            self.fires.append(NewFire(row))

    def advance(self, nominal_at: int) -> None:
        """Every fire up to this instant is decided; those that a gap or calendar took as well."""
        if nominal_at <= self.through:
            return
        self._left_out(self.through, nominal_at)
        self.through, self.partial = nominal_at, 0

    def advance_to_now(self) -> None:
        """Pass over the time that has no undecided fire: up to now, or to before the next one."""
        nominal, now, partial = self.next_nominal(), self.now_ms // 1000, self.partial
        self.advance(now if nominal is None else min(now, nominal - 1))
        self.partial = partial

    def release_ms(self) -> int:
        """Return when the next caught-up job may be due, and remember it."""
        gap = _MINUTE_MS // self.spec.policies.catchup_rate
        self.released_ms = max(self.now_ms, self.released_ms + gap)
        return self.released_ms

    # --- rows ---------------------------------------------------------------------------------

    def _row(
        self,
        fire: Fire,
        outcome: Outcome,
        cause: Cause,
        due_ms: int,
        job_id: bytes | None = None,
        missed: Missed | None = None,
    ) -> FireRow:
        return FireRow(
            nominal_at=fire.nominal_at,
            sequence=fire.sequence,
            outcome=outcome,
            cause=cause,
            due_ms=due_ms,
            job_id=job_id,
            local=fire.local if fire.is_missed or fire.moved_from or fire.reason else None,
            note=f"moved from {fire.moved_from} by a calendar" if fire.moved_from else None,
            missed=missed,
        )

    def _pay(self, job_id: bytes) -> Missed | None:
        owed, self._owed = self._owed, None
        if owed is None:
            return None
        self._rows_of(owed, Outcome.COALESCED, job_id=job_id)
        found = self._count(owed.first, owed.last)
        if found is None:
            return Missed(COUNT_FIRES_MAX, owed.first, owed.last, is_least=True)
        return Missed(found, owed.first, owed.last)

    def _count(self, first: int, last: int) -> int | None:
        """Return how many instants there are, or ``None`` for too many to count."""
        if (first, last) not in self._counts:
            instants = islice(self.timetable.instants(first - 1, last), COUNT_FIRES_MAX)
            found = sum(1 for _ in instants)
            self._counts[first, last] = None if found >= COUNT_FIRES_MAX else found
        return self._counts[first, last]

    def _rows_of(
        self,
        owed: _Owed,
        outcome: Outcome,
        *,
        job_id: bytes | None = None,
        note: str | None = None,
    ) -> None:
        """Write rows for the fires of one instant, or a span for those of several."""
        first, last, partial = owed
        if partial and first < last:
            self._rows_of(_Owed(first, first, partial), outcome, job_id=job_id, note=note)
            following = self.timetable.next_at(first)
            assert following is not None
            first = following
        if first == last:
            undecided = self.timetable.fires_at(first)[partial if first == owed.first else 0 :]
            self.record(undecided, outcome, job_id=job_id, note=note)
            return
        self.fires.append(
            NewFire(
                FireRow(
                    nominal_at=first,
                    sequence=SPAN,
                    outcome=outcome,
                    due_ms=self.due_ms(first),
                    through=last,
                    count=self._count(first, last),
                    job_id=job_id,
                    note=note,
                )
            )
        )

    def _left_out(self, after: int, until: int) -> None:
        """Write down the nominal times in a range that gaps and calendars took away."""
        if until < self._next_left_out:
            return
        until = min(until, NEVER - 1)
        lost = self.timetable.not_fired(after, until, COUNT_FIRES_MAX, reason=DST_SKIPPED)
        # One by one: a span of them could begin where one of the calendars' begins.
        self.record(lost.fires, Outcome.DST_SKIPPED)
        taken = self.timetable.not_fired(after, until, _LISTED_MAX, reason=EXCLUDED_BY_CALENDAR)
        if len(taken.fires) == 1 and taken.is_complete:
            self.record(taken.fires, Outcome.EXCLUDED_BY_CALENDAR)
        elif taken.fires:
            self.fires.append(NewFire(_span_of(taken, until)))
        self._next_left_out = self.timetable.next_not_fired(until)


def _span_of(taken: Fires, until: int) -> FireRow:
    """Return one row for what calendars took away; counted if it could be listed."""
    first, last = taken.fires[0].nominal_at, taken.fires[-1].nominal_at
    return FireRow(
        nominal_at=first,
        sequence=SPAN_LEFT_OUT,
        outcome=Outcome.EXCLUDED_BY_CALENDAR,
        due_ms=first * 1000,
        through=last if taken.is_complete else until,
        count=len(taken.fires) if taken.is_complete else None,
    )
