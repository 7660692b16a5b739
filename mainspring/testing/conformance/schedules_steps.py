"""The words in which the suites about schedules are told."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from mainspring.agenda.changes import create
from mainspring.agenda.judge import advance
from mainspring.agenda.spec import Spec, Work, spec_text
from mainspring.agenda.standing import NewFire, Ruling, Standing
from mainspring.domain.job import JobFilter, JobView, NewJob
from mainspring.domain.schedule import Cause, FireRow, FireView, Outcome, ScheduleView
from mainspring.policies.firing import Policies
from mainspring.ports.entropy import new_job_id
from mainspring.ports.schedules import Judge, Judged, NewSchedule
from mainspring.ports.store import Store
from mainspring.testing.builders import KIND, new_job
from mainspring.timetable.definition import Definition

#: The zone data that these schedules were computed under.
ZONES: Final = 202_606
#: More than any test has.
MANY: Final = 500
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def seconds(instant: datetime) -> int:
    """Return an instant in whole seconds."""
    return (instant - _EPOCH) // timedelta(seconds=1)


def at(since_1970: float) -> datetime:
    """Return the instant of so many seconds."""
    return _EPOCH + timedelta(seconds=since_1970)


def spec(when: str = "0 * * * *", *, zone: str = "UTC", **given: Any) -> bytes:
    """Return a spec's text: options of work and of policies by name, the rest as it is."""
    work = {name: given.pop(name) for name in list(given) if name in Work.__struct_fields__}
    times = {name: given.pop(name) for name in list(given) if name in Definition.__struct_fields__}
    return spec_text(
        Spec(
            times=Definition(when=(when,), zone=zone, **times),
            work=Work(**{"kind": KIND, **work}),
            policies=Policies(**given),
        )
    )


def new_schedule(**changes: Any) -> NewSchedule:
    """Return a schedule to be made: every hour, one job at a time."""
    given: dict[str, Any] = {
        "id": new_job_id(),
        "tenant": "default",
        "name": "hourly",
        "spec": spec(),
        "calendars": None,
        "zones": ZONES,
    }
    return NewSchedule(**given | changes)


def creating(standing: Standing) -> Ruling:
    """Begin as the front desk has it begin."""
    return create(standing, new_job_id)


def advancing(standing: Standing) -> Ruling:
    """Judge as a scheduler does."""
    return advance(standing, new_job_id)


def rule(standing: Standing, **changes: Any) -> Ruling:
    """Return the ruling that leaves a schedule as it is, but for what is given."""
    given: dict[str, Any] = {
        "cursor": standing.cursor,
        "state": standing.state,
        "waiting": standing.waiting,
    }
    return Ruling(**given | changes)


def ruling(**changes: Any) -> Judge:
    """Return a judge that always rules the same."""
    return lambda standing: rule(standing, **changes)


def looking_at(look_at: datetime) -> Judge:
    """Return a judge that wants to see the schedule again, to the millisecond."""
    return ruling(look_at_ms=(look_at - _EPOCH) // timedelta(milliseconds=1))


def firing(*fires: Callable[[Standing], NewFire], **changes: Any) -> Judge:
    """Return a judge that rules these fires."""
    return lambda standing: rule(standing, fires=tuple(make(standing) for make in fires), **changes)


def fire(nominal_at: float, **changes: Any) -> Callable[[Standing], NewFire]:
    """Return what makes a fire with a job of its own, due at its nominal instant."""
    job = {name: changes.pop(name) for name in list(changes) if name in _OF_JOBS}

    def make(standing: Standing) -> NewFire:
        given: dict[str, Any] = {"due_at": at(nominal_at), "kind": KIND, **job}
        made = new_job(
            tenant=standing.tenant, schedule_id=standing.id, nominal_at=at(nominal_at), **given
        )
        return NewFire(row(nominal_at, job=made, **changes), made)

    return make


_OF_JOBS: Final = frozenset(NewJob.__struct_fields__) - {"nominal_at", "schedule_id"}


def row(nominal_at: float, *, job: NewJob | None = None, **changes: Any) -> FireRow:
    """Return a row of the ledger."""
    due = at(nominal_at) if job is None or job.due_at is None else job.due_at
    given: dict[str, Any] = {
        "nominal_at": nominal_at,
        "outcome": Outcome.JOB if job is not None else Outcome.SKIPPED_MISFIRE,
        "cause": Cause.SCHEDULE,
        "due_ms": (due - _EPOCH) // timedelta(milliseconds=1),
        "job_id": None if job is None else job.id,
    }
    return FireRow(**given | changes)


def jobless(nominal_at: float, **changes: Any) -> Callable[[Standing], NewFire]:
    """Return what makes a fire that became no job."""
    return lambda _standing: NewFire(row(nominal_at, **changes))


class Watching:
    """A judge that remembers what it was shown."""

    def __init__(self, judge: Judge | None = None) -> None:
        """Watch what this judge sees; without one, everything stays as it is."""
        self.seen: list[Standing] = []
        self._judge: Judge = judge or ruling()

    def __call__(self, standing: Standing) -> Ruling:
        """Judge, and remember."""
        self.seen.append(standing)
        return self._judge(standing)

    @property
    def one(self) -> Standing:
        """Return what must be the only standing that was seen."""
        assert len(self.seen) == 1
        return self.seen[0]


async def make_schedule(store: Store, judge: Judge | None = None, **changes: Any) -> bytes:
    """Create a schedule; without a judge nothing is decided, and nobody looks at it again."""
    new = new_schedule(**changes)
    judged = await store.create_schedule(new, judge or ruling(), actor="me")
    assert judged.schedules == 1
    return new.id


async def change(store: Store, schedule_id: bytes, judge: Judge, **changes: Any) -> Judged:
    """Have one schedule judged by name."""
    return await store.judge_named([schedule_id], judge, actor="me", **changes)


async def look(store: Store, judge: Judge | None = None, *, limit: int = MANY) -> Judged:
    """Have everything judged that is due."""
    return await store.judge_due(judge or advancing, zones=ZONES, limit=limit)


async def schedule_of(store: Store, schedule_id: bytes) -> ScheduleView:
    """Look at a schedule that must exist."""
    found = await store.get_schedule(schedule_id)
    assert found is not None
    return found


async def ledger(store: Store, schedule_id: bytes) -> list[FireView]:
    """Return a schedule's ledger, oldest first."""
    return await store.list_fires(schedule_id, limit=10_000, newest_first=False)


async def outcomes(store: Store, schedule_id: bytes) -> dict[int, Outcome]:
    """Return what became of fires by nominal second, where no instant has two."""
    rows = await ledger(store, schedule_id)
    found = {seconds(each.nominal_at): each.outcome for each in rows}
    assert len(found) == len(rows)
    return found


async def fire_at(store: Store, schedule_id: bytes, nominal_at: float) -> FireView:
    """Return the one row of a nominal instant."""
    (found,) = [
        each for each in await ledger(store, schedule_id) if each.nominal_at == at(nominal_at)
    ]
    return found


async def jobs_of(store: Store, schedule_id: bytes) -> list[JobView]:
    """Return a schedule's jobs, live or final, by nominal instant."""
    page = await store.list_jobs(JobFilter(), limit=MANY, before=None)
    assert page.next_before is None
    found = [job for job in page.items if job.schedule_id == schedule_id]
    return sorted(found, key=lambda job: (job.nominal_at or _EPOCH, job.id))


async def agrees(store: Store, schedule_id: bytes) -> None:
    """Hold that every job has its row, and every row's own job exists."""
    rows = [each for each in await ledger(store, schedule_id) if each.outcome in _OWN]
    of_rows = {each.job_id for each in rows} - {None}
    jobs = await jobs_of(store, schedule_id)
    assert {job.id for job in jobs} == of_rows
    by_id = {each.job_id: each for each in rows}
    for job in jobs:
        assert by_id[job.id].nominal_at == job.nominal_at
        assert by_id[job.id].job_state == (job.state if job.finished_at else None)
        assert by_id[job.id].job_ended_at == job.finished_at


_OWN: Final = (Outcome.JOB, Outcome.BACKFILLED)
