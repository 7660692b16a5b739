"""The live log of ``mainspring dev``: a line for each thing that happens to a job.

It looks at the store as any client does, a few times a second; what came and went between two
looks is told from the attempts.
"""

import asyncio
import os
import sys
from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from typing import Final

from mainspring.cli.guide import Guide, program
from mainspring.cli.job_tables import note
from mainspring.cli.options import Options
from mainspring.cli.output import out
from mainspring.cli.tables import terminal_width
from mainspring.cli.text import count_of, cut, printable, span, state_style, styled, width_of
from mainspring.cli.watching import attempt_text, is_behind, progress_text
from mainspring.domain.errors import MainspringError, NotFound
from mainspring.domain.ids import show_job
from mainspring.domain.job import JobFilter, JobView
from mainspring.domain.states import FINAL, LIVE, AttemptState, JobState
from mainspring.ports.clock import utc_now
from mainspring.ports.gateway import ClientGateway
from mainspring.runtime.assemble import open_client_gateway
from mainspring.runtime.loop import wait_unless
from mainspring.runtime.setting_table import Settings
from mainspring.wire.documents.jobs import milliseconds_between

_LOOK_SECONDS: Final = 0.1
_IDLE_SECONDS: Final = 0.25
_PAGE: Final = 100
_KNOWN_MAX: Final = 5_000
_LINES_A_LOOK: Final = 40
_KIND_COLUMNS: Final = 8
_RESULT_COLUMNS: Final = 40
#: Time, id, kind and attempt of a line, and what follows the error.
_LINE_COLUMNS: Final = 98
_WHY_COLUMNS_MIN: Final = 24
#: Where the error gets a line of its own: below the id, with room for what follows it.
_NARROW_BEGIN: Final = "\n" + " " * 9
_NARROW_COLUMNS: Final = 40
#: Time and id of a line, and the gap after them.
_BEGIN_COLUMNS: Final = 41
_PROGRESS_STEP: Final = 0.25
#: States that are told as they are; the others are told by the attempts, or not at all.
_TOLD: Final = frozenset(
    {JobState.SCHEDULED, JobState.BLOCKED, JobState.RUNNING, JobState.CANCELLING}
)


def _why_place() -> tuple[int, str]:
    """Return how much of an error fits, and what comes before it: a new line if that is little."""
    width = terminal_width()
    if width - _LINE_COLUMNS >= _WHY_COLUMNS_MIN:
        return width - _LINE_COLUMNS, ": "
    return max(_WHY_COLUMNS_MIN, width - _NARROW_COLUMNS), _NARROW_BEGIN


class LiveLog:
    """Prints what happens to jobs until the node has stopped; gives the tour if asked to."""

    def __init__(
        self,
        options: Options,
        settings: Settings,
        *,
        first_command: str,
        tours: bool,
        ends_after_tour: bool,
    ) -> None:
        """Watch nothing yet; ``first_command`` is what people are told to type."""
        self._first_command = first_command
        self._settings = settings
        self._color = options.colors_data
        self._tours = tours
        self._ends_after_tour = ends_after_tour
        self._known: dict[bytes, JobView] = {}
        self._told_attempt: dict[bytes, int] = {}
        self._told_progress: dict[bytes, float] = {}
        self._lines: list[str] = []
        self._is_silent = False
        #: Set when jobs can be submitted, and the tour is over.
        self.ready: Final = asyncio.Event()

    def say(self, text: str) -> None:
        """Print a line of the node itself."""
        out(f"{self._time()} {text}")
        sys.stdout.flush()

    async def run(self, stopping: asyncio.Event, stopped: asyncio.Event) -> None:
        """Look and tell until ``stopped``; returning earlier stops the node."""
        async with open_client_gateway(self._settings) as gateway:
            await self._begin(gateway)
            await self._wait_for_worker(gateway, stopping)
            if not self._tours and not stopping.is_set():
                self.say(f"ready; in a second terminal: {program()} {self._first_command}")
            over = asyncio.Event()
            async with asyncio.TaskGroup() as group:
                looking = group.create_task(self._look_until(over, gateway))
                if self._tours:
                    await self._give_tour(gateway, stopping)
                if not (self._tours and self._ends_after_tour):
                    self.ready.set()
                    await stopped.wait()
                over.set()
                await looking

    async def _wait_for_worker(self, gateway: ClientGateway, stopping: asyncio.Event) -> None:
        """Return once this process's worker has its session, or has given up."""
        while not stopping.is_set():
            workers = await gateway.list_workers()
            if any(item.pid == os.getpid() and item.state == "alive" for item in workers):
                return
            await wait_unless(stopping, _LOOK_SECONDS / 2)

    async def _give_tour(self, gateway: ClientGateway, stopping: asyncio.Event) -> None:
        guide = Guide(gateway, self._settings, stopping, color=self._color)
        await guide.show_around(told=self._has_told)
        if not stopping.is_set():
            guide.say_goodbye(stays=not self._ends_after_tour)

    async def _has_told(self, job: JobView, stopping: asyncio.Event) -> None:
        """Return once the log has told this state, so that words and lines keep their order."""
        while not stopping.is_set():
            known = self._known.get(job.id)
            if known is not None and known.state is job.state and known.attempt == job.attempt:
                return
            await wait_unless(stopping, _LOOK_SECONDS / 4)

    async def _begin(self, gateway: ClientGateway) -> None:
        """Take what is there already as known."""
        for job in await self._look(gateway):
            self._known[job.id] = job
            self._told_attempt[job.id] = job.attempt

    async def _look_until(self, over: asyncio.Event, gateway: ClientGateway) -> None:
        while True:
            is_last = over.is_set()
            try:
                changed = await self._step(gateway)
                self._is_silent = False
            except MainspringError as error:
                changed = False
                if not self._is_silent:
                    self.say(f"the store cannot be asked: {error} (the log goes on when it can)")
                self._is_silent = True
            if is_last:
                return
            await wait_unless(over, _LOOK_SECONDS if changed else _IDLE_SECONDS)

    async def _step(self, gateway: ClientGateway) -> bool:
        """Look once, and tell what is new; return whether anything is going on."""
        jobs = await self._look(gateway)
        for job in sorted(jobs, key=lambda found: (found.finished_at or utc_now(), found.id)):
            before = self._known.get(job.id)
            if before != job:
                await self._tell(gateway, job, before)
                self._known[job.id] = job
        self._flush()
        self._forget(job.id for job in jobs)
        return any(job.state in LIVE for job in jobs)

    async def _look(self, gateway: ClientGateway) -> list[JobView]:
        """Return the newest jobs, those that are live, and those that were at the last look."""
        newest = await gateway.list_jobs(JobFilter(), limit=_PAGE, before=None)
        found = {job.id: job for job in newest.items}
        if newest.next_before is not None:
            live = await gateway.list_jobs(JobFilter(states=LIVE), limit=_PAGE, before=None)
            found |= {job.id: job for job in live.items}
        gone = [
            job.id for job in self._known.values() if job.state not in FINAL and job.id not in found
        ]
        for job_id in gone[:_PAGE]:
            try:
                found[job_id] = await gateway.get_job(job_id)
            except NotFound:
                # It was taken back before it was due: its schedule is another now.
                del self._known[job_id]
        return list(found.values())

    async def _tell(self, gateway: ClientGateway, job: JobView, before: JobView | None) -> None:
        if before is not None and before.state is JobState.DEAD and job.state is not JobState.DEAD:
            self._line(job, styled("replayed", "blue", color=self._color))
        if job.attempt > self._told_attempt.get(job.id, 0):
            await self._tell_attempts(gateway, job)
        is_new_state = before is None or before.state is not job.state
        if job.state in FINAL and is_new_state:
            self._tell_end(job)
        elif job.state in _TOLD and is_new_state and not _is_prepared(job):
            text = note(job, utc_now()) if job.state is JobState.SCHEDULED else ""
            at = job.started_at if job.state is JobState.RUNNING else None
            self._line(job, f"{self._state(job)}  {text}".rstrip(), at)
        self._tell_progress(job)

    async def _tell_attempts(self, gateway: ClientGateway, job: JobView) -> None:
        if job.attempt == 1 and job.state in (JobState.RUNNING, JobState.SUCCEEDED):
            return
        attempts = await gateway.list_attempts(job.id)
        for attempt, following in pairwise([*attempts, None]):
            if attempt is None or attempt.state is AttemptState.RUNNING:
                continue
            if is_behind(job, attempt):
                # What became of the job will be known at the next look.
                return
            if attempt.attempt > self._told_attempt.get(job.id, 0):
                self._told_attempt[job.id] = attempt.attempt
                if attempt.state not in (AttemptState.SUCCEEDED, AttemptState.CANCELLED):
                    columns, before = _why_place()
                    text = attempt_text(
                        attempt,
                        following,
                        job,
                        color=self._color,
                        why_columns=columns,
                        before_why=before,
                    )
                    self._line(job, text, attempt.ended_at)

    def _tell_end(self, job: JobView) -> None:
        if job.state is JobState.DEAD and job.attempt:
            return
        took = milliseconds_between(job.started_at, job.finished_at)
        lasted = f"  {span(took)}" if took is not None else ""
        text = self._state(job) + lasted
        if job.result is not None:
            shown = cut(printable(job.result.decode("utf-8", "replace")), _RESULT_COLUMNS)
            kind = max(_KIND_COLUMNS, width_of(printable(job.kind)))
            columns = _BEGIN_COLUMNS + kind + len(job.state.value + lasted) + 4 + width_of(shown)
            between = "  " if columns <= terminal_width() else _NARROW_BEGIN
            text += between + styled(shown, "dim", color=self._color)
        self._line(job, text, job.finished_at)

    def _tell_progress(self, job: JobView) -> None:
        if job.state is not JobState.RUNNING or not job.progress_total:
            return
        part = (job.progress_done or 0.0) / job.progress_total
        if part - self._told_progress.get(job.id, 0.0) >= _PROGRESS_STEP:
            self._told_progress[job.id] = part
            self._line(job, progress_text(job))

    def _state(self, job: JobView) -> str:
        return styled(job.state.value, state_style(job.state.value), color=self._color)

    def _line(self, job: JobView, text: str, at: datetime | None = None) -> None:
        kind = printable(job.kind)
        padding = " " * max(0, _KIND_COLUMNS - width_of(kind))
        name = styled(show_job(job.id), "dim", color=self._color)
        self._lines.append(f"{self._time(at)} {name}  {kind}{padding}  {text}")

    def _flush(self) -> None:
        """Print what has come together; of a flood only the beginning."""
        for text in self._lines[:_LINES_A_LOOK]:
            out(text)
        more = len(self._lines) - _LINES_A_LOOK
        if more > 0:
            out(f"{self._time()} … and {count_of(more, 'more line')}: mainspring jobs ls")
        self._lines.clear()
        sys.stdout.flush()

    def _forget(self, present: Iterable[bytes]) -> None:
        """Keep the memory bounded: what has ended and is no longer looked at is dropped."""
        if len(self._known) <= _KNOWN_MAX:
            return
        kept = set(present)
        for job_id in [raw for raw in self._known if raw not in kept]:
            del self._known[job_id]
            self._told_attempt.pop(job_id, None)
            self._told_progress.pop(job_id, None)

    def _time(self, at: datetime | None = None) -> str:
        return styled(f"{at or utc_now():%H:%M:%S}", "dim", color=self._color)


def _is_prepared(job: JobView) -> bool:
    """Say whether it is a fire that is not due yet: there are many, and they may be taken back."""
    return job.state is JobState.SCHEDULED and job.schedule_id is not None
