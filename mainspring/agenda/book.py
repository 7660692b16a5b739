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
from mainspring.domain.limits import COUNT_FIRES_MAX, PREVIEW_FIRES_MAX
from mainspring.domain.schedule import SPAN, Cause, FireRow, Missed, Outcome
from mainspring.timetable.civil import NEVER
from mainspring.timetable.timetable import Fire, Timetable

#: The sequence of a span of nominal times that do not fire at all (gaps, calendars). It has one of
#: its own because it may begin at the instant at which a span of fires begins.
SPAN_LEFT_OUT: Final = -3
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

    def last_due(self, edge_ms: int) -> int | None:
        """Return the last undecided instant that is due at or before an edge."""
        found = self.timetable.previous_at(edge_ms // 1000 + 1)
        # A fire is due before the next one, so only the last may be due after the edge.
        if found is not None and self.due_ms(found) > edge_ms:
            found = self.timetable.previous_at(found)
        return None if found is None or found <= self.through else found

    # --- what becomes of instants -------------------------------------------------------------

    def leave_out(self, last: int, outcome: Outcome, note: str | None = None) -> None:
        """Decide every instant up to ``last``, what is owed too: none of them becomes a job."""
        self.owe(last)
        owed, self._owed = self._owed, None
        if owed is not None:
            self._rows_of(owed, outcome, note=note)

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
        self, fires: Iterable[Fire], outcome: Outcome, *, job_id: bytes | None = None
    ) -> None:
        """Write down fires that become no job of their own."""
        for fire in fires:
            cause = Cause.DST_GAP if fire.is_missed else Cause.SCHEDULE
            due = self.due_ms(fire.nominal_at)
            self.fires.append(NewFire(self._row(fire, outcome, cause, due, job_id)))

    def advance(self, nominal_at: int) -> None:
        """Every fire up to this instant is decided; those that a gap or calendar took as well."""
        if nominal_at <= self.through:
            return
        self._left_out(self.through, nominal_at)
        self.through, self.partial = nominal_at, 0

    def advance_to_now(self) -> None:
        """Pass over the time that has no undecided fire: up to now, or to before the next one."""
        nominal, now = self.next_nominal(), self.now_ms // 1000
        self.advance(now if nominal is None else min(now, nominal - 1))

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
        found = sum(1 for _ in islice(self.timetable.instants(first - 1, last), COUNT_FIRES_MAX))
        return None if found >= COUNT_FIRES_MAX else found

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
        if first == last or partial:
            self.record(self.timetable.fires_at(first)[partial:], outcome, job_id=job_id)
            if first == last:
                return
            following = self.timetable.next_at(first)
            assert following is not None
            first = following
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
        found = self.timetable.not_fired(after, min(until, NEVER - 1), PREVIEW_FIRES_MAX)
        alike: list[Fire] = []
        for fire in found.fires:
            if alike and fire.reason != alike[-1].reason:
                self._left_out_rows(alike)
                alike = []
            alike.append(fire)
        if alike:
            self._left_out_rows(alike, None if found.is_complete else until)

    def _left_out_rows(self, fires: list[Fire], until: int | None = None) -> None:
        reason = Outcome(fires[0].reason or "")
        if len(fires) == 1 and until is None:
            self.record(fires, reason)
            return
        self.fires.append(
            NewFire(
                FireRow(
                    nominal_at=fires[0].nominal_at,
                    sequence=SPAN_LEFT_OUT,
                    outcome=reason,
                    due_ms=fires[0].nominal_at * 1000,
                    through=fires[-1].nominal_at if until is None else until,
                    count=len(fires) if until is None else None,
                )
            )
        )
