"""A schedule and its ledger in memory: enough of a store to let the judge work for a while."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import msgspec

from mainspring.agenda import changes
from mainspring.agenda.book import instant, instant_of_ms
from mainspring.agenda.judge import advance
from mainspring.agenda.spec import Spec, Work, calendars_text, spec_text
from mainspring.agenda.standing import Change, Cursor, Live, Pause, Ruling, Standing
from mainspring.domain.schedule import (
    Cause,
    FireRow,
    FireView,
    Outcome,
    ScheduleState,
    VersionView,
    Withdrawn,
)
from mainspring.domain.states import JobState
from mainspring.policies.firing import Policies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mainspring.timetable.definition import CalendarDefinition, Definition

SCHEDULE = bytes(14) + b"\x12\x34"


class Ledger:
    """One schedule of which no job ever takes longer than until the next step."""

    def __init__(
        self,
        times: Definition,
        policies: Policies,
        now: int,
        calendars: Sequence[CalendarDefinition] = (),
    ) -> None:
        self._numbers = itertools.count(1)
        self.rows: dict[tuple[float, int], FireView] = {}
        self.jobs_due: dict[bytes, int] = {}
        self.versions: list[VersionView] = []
        spec = spec_text(Spec(times=times, work=Work(kind="k"), policies=policies))
        self.standing = Standing(
            id=SCHEDULE,
            tenant="default",
            name="s",
            state=ScheduleState.ACTIVE,
            version=1,
            spec=spec,
            calendars=calendars_text(calendars),
            cursor=Cursor(now),
            zones=202606,
            now_ms=now * 1000,
        )
        self._keep_version(now, "created")
        self.look_ms: int | None = now * 1000
        self.judge(now * 1000, changes.create)

    def judge(self, now_ms: int, rule: Callable[[Standing, Callable[[], bytes]], Ruling]) -> None:
        """Take back what is not due, judge, and carry it out."""
        withdrawn = self._take_back(now_ms)
        live = [job for job, due in self.jobs_due.items() if due > now_ms]
        self._rule(now_ms, rule, live, withdrawn)

    def step(self, now_ms: int, *, busy: bool) -> None:
        """Judge as the scheduler does; ``busy``: the last job is still live."""
        live = [job for job, due in self.jobs_due.items() if busy or due > now_ms]
        if self.standing.state in (ScheduleState.ACTIVE, ScheduleState.PAUSED):
            self._rule(now_ms, advance, live[-1:], ())

    def edit(self, now_ms: int, spec: Spec) -> None:
        change = Change(
            from_at=0,
            what="edited",
            spec=spec_text(spec),
            calendars=self.standing.calendars,
            zones=202606,
        )
        self.judge(now_ms, lambda standing, new_id: changes.edit(standing, new_id, change))

    def pause(self, now_ms: int) -> None:
        wanted = Pause("because", "tests")
        self.judge(now_ms, lambda standing, new_id: changes.pause(standing, new_id, wanted))

    def _rule(
        self,
        now_ms: int,
        rule: Callable[[Standing, Callable[[], bytes]], Ruling],
        live: list[bytes],
        withdrawn: tuple[Withdrawn, ...],
    ) -> None:
        alive = None
        if live:
            due = self.jobs_due[live[-1]]
            state = JobState.RUNNING if due <= now_ms else JobState.SCHEDULED
            alive = Live(live[-1], state, due)
        standing = msgspec.structs.replace(
            self.standing, now_ms=now_ms, live=alive, freed_ms=now_ms, withdrawn=withdrawn
        )
        ruling = rule(standing, lambda: next(self._numbers).to_bytes(16))
        for job in ruling.cancel:
            self.jobs_due.pop(job, None)
        for fire in ruling.fires:
            key = (fire.row.nominal_at, fire.row.sequence)
            if key in self.rows:
                continue
            self.rows[key] = view_of(fire.row, self.standing.version, now_ms)
            if fire.job is not None:
                self.jobs_due[fire.job.id] = fire.row.due_ms
        self.standing = msgspec.structs.replace(
            standing,
            cursor=ruling.cursor,
            state=ruling.state,
            waiting=ruling.waiting,
            live=None,
            withdrawn=(),
        )
        self.look_ms = ruling.look_at_ms
        if ruling.change is not None:
            self.standing = msgspec.structs.replace(
                self.standing,
                version=standing.version + 1,
                spec=ruling.change.spec,
                calendars=ruling.change.calendars,
            )
            self._keep_version(ruling.change.from_at, ruling.change.what)

    def _take_back(self, now_ms: int) -> tuple[Withdrawn, ...]:
        taken: list[FireView] = []
        gone: set[bytes] = set()
        for row in self.rows.values():
            is_regular = row.cause in (Cause.SCHEDULE, Cause.DST_GAP)
            due_ms = round(row.due_at.timestamp() * 1000)
            if row.outcome is Outcome.JOB and is_regular and due_ms > now_ms:
                assert row.job_id is not None
                taken.append(row)
                gone.add(row.job_id)
        for row in self.rows.values():
            is_ahead = row.job_id is None and row.nominal_at.timestamp() * 1000 > now_ms
            if row not in taken and (is_ahead or row.job_id in gone):
                taken.append(row)
        for row in taken:
            del self.rows[(row.nominal_at.timestamp(), row.sequence)]
        for job in gone:
            self.jobs_due.pop(job, None)
        return tuple(
            Withdrawn(
                int(row.nominal_at.timestamp()),
                row.sequence,
                row.outcome,
                row.outcome is Outcome.JOB,
            )
            for row in taken
        )

    def _keep_version(self, from_at: int, change: str) -> None:
        self.versions.append(
            VersionView(
                schedule_id=SCHEDULE,
                version=self.standing.version,
                spec=self.standing.spec,
                zones=202606,
                from_at=from_at,
                changed_at=instant(from_at),
                changed_by="tests",
                change=change,
                calendars=self.standing.calendars,
            )
        )


def view_of(row: FireRow, version: int, now_ms: int) -> FireView:
    return FireView(
        schedule_id=SCHEDULE,
        nominal_at=instant(row.nominal_at),
        sequence=row.sequence,
        outcome=row.outcome,
        cause=row.cause,
        due_at=instant_of_ms(row.due_ms),
        decided_at=instant_of_ms(now_ms),
        version=version,
        through=None if row.through is None else instant(row.through),
        count=row.count,
        job_id=row.job_id,
        backfill_id=row.backfill_id,
        local=row.local,
        note=row.note,
        missed=row.missed,
    )
