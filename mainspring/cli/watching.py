"""Stays with a job until it ends, and says what happens to it: on stderr, as it happens."""

import asyncio
import sys
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Final

from mainspring.cli.options import Options, wants_color
from mainspring.cli.output import tell
from mainspring.cli.text import (
    absolute,
    count_of,
    cut,
    printable,
    span,
    state_style,
    styled,
    width_of,
)
from mainspring.domain.errors import JobFailed, ResultTimeout
from mainspring.domain.ids import show_job
from mainspring.domain.job import AttemptView, JobView
from mainspring.domain.outcome import LogLine
from mainspring.domain.states import FINAL, AttemptState, JobState
from mainspring.ports.clock import monotonic
from mainspring.ports.gateway import ClientGateway
from mainspring.wire.documents.common import error_of
from mainspring.wire.documents.jobs import milliseconds_between

_ASK_SECONDS: Final = 5.0
_FOLLOW_SECONDS: Final = 0.2
_BAR_CELLS: Final = 20
_BAR_AFTER_SECONDS: Final = 0.5
#: Attempts that end so need no line: the job's state says it.
_QUIET: Final = frozenset({AttemptState.SUCCEEDED, AttemptState.CANCELLED})
#: Once attempts are told, these states add nothing.
_TOLD_BY_ATTEMPTS: Final = frozenset(
    {JobState.READY, JobState.SCHEDULED, JobState.RUNNING, JobState.RETRYING, JobState.DEAD}
)
#: In these states the next attempt is still to come.
_NOT_YET: Final = frozenset({JobState.READY, JobState.SCHEDULED, JobState.BLOCKED})
#: A job in these states has been running, although nobody may have looked at that moment.
_RAN: Final = frozenset({JobState.SUCCEEDED, JobState.DEAD, JobState.RETRYING})


class Watcher:
    """Tells the story of one job, line by line; with ``follow`` also its log and progress."""

    def __init__(
        self,
        gateway: ClientGateway,
        job_id: bytes,
        options: Options,
        *,
        follow: bool = False,
        after_attempt: int | None = None,
    ) -> None:
        """Watch this job; nothing is printed before ``until_end``.

        With ``after_attempt`` the story begins behind that attempt, even if it is over already.
        """
        self._gateway = gateway
        self._job_id = job_id
        self._follow = follow
        self._after_attempt = after_attempt
        self._color = wants_color(options.color, error=True)
        self._pen = _Pen()
        self._states: list[JobState] = []
        self._told_attempt = 0
        self._has_told_attempts = False
        self._log_cursor: tuple[int, int] | None = None

    async def until_end(self, timeout_seconds: float | None) -> JobView:
        """Return the job in its final state, or raise ``ResultTimeout``."""
        until = None if timeout_seconds is None else monotonic() + timeout_seconds
        longest = _FOLLOW_SECONDS if self._follow else _ASK_SECONDS
        job = await self._gateway.get_job(self._job_id)
        self._told_attempt = self._first_attempt(job)
        try:
            while True:
                await self._tell(job)
                if job.state in FINAL:
                    return job
                left = longest if until is None else min(longest, until - monotonic())
                if left <= 0:
                    raise self._timed_out(job, timeout_seconds or 0)
                job = await self._gateway.wait_for_change(self._job_id, job, left)
        finally:
            self._pen.end_line()

    def _first_attempt(self, job: JobView) -> int:
        """Return the attempt behind which the story begins: all of it, or the present one."""
        if self._after_attempt is not None:
            return self._after_attempt
        if job.state in FINAL:
            return 0
        return job.attempt if job.state in _NOT_YET else max(0, job.attempt - 1)

    async def _tell(self, job: JobView) -> None:
        self._pen.name(printable(job.kind))
        if not self._states and job.state not in _RAN:
            self._tell_state(job)
        if self._follow:
            self._begin(job)
            await self._tell_logs()
        if job.attempt > self._told_attempt:
            await self._tell_attempts(job)
        self._tell_state(job)
        if self._follow and job.state is JobState.RUNNING and job.progress_done is not None:
            self._pen.bar(progress_text(job))

    async def _tell_attempts(self, job: JobView) -> None:
        """Tell every attempt that has ended since, unless its job's state says it all."""
        attempts = await self._gateway.list_attempts(self._job_id)
        for attempt, following in pairwise([*attempts, None]):
            if attempt is None or attempt.state is AttemptState.RUNNING:
                continue
            if attempt.attempt <= self._told_attempt:
                continue
            if is_behind(job, attempt):
                # What became of the job will be known at the next look.
                return
            self._told_attempt = attempt.attempt
            if attempt.state not in _QUIET:
                if not self._has_told_attempts:
                    self._begin(job)
                    self._add_state(JobState.RUNNING)
                self._has_told_attempts = True
                self._pen.line(attempt_text(attempt, following, job, color=self._color))

    def _tell_state(self, job: JobView) -> None:
        if self._has_told_attempts and job.state in _TOLD_BY_ATTEMPTS:
            return
        self._begin(job)
        if job.state in _RAN and job.attempt and JobState.RUNNING not in self._states:
            self._add_state(JobState.RUNNING)
        if job.state is JobState.DEAD and self._has_told_attempts:
            return
        due = f" (due {absolute(job.due_at)})" if job.state is JobState.SCHEDULED else ""
        took = None
        if job.state in FINAL:
            took = milliseconds_between(job.started_at, job.finished_at)
        self._add_state(job.state, due if took is None else f"  {span(took)}")

    def _begin(self, job: JobView) -> None:
        """Tell that the job was ready once, if it ran or ended before anybody looked."""
        is_late = job.state in FINAL or self._after_attempt is not None
        if not self._states and is_late and job.attempt:
            self._add_state(JobState.READY)

    def _add_state(self, state: JobState, more: str = "") -> None:
        if self._states and self._states[-1] is state:
            return
        self._states.append(state)
        text = styled(state.value, state_style(state.value), color=self._color)
        self._pen.word(text + more)

    async def _tell_logs(self) -> None:
        while True:
            lines = await self._gateway.list_logs(self._job_id, after=self._log_cursor)
            for found in lines:
                self._pen.line(log_text(found, color=self._color))
                self._log_cursor = (found.attempt, found.sequence)
            if not lines:
                return

    def _timed_out(self, job: JobView, seconds: float) -> ResultTimeout:
        name = show_job(self._job_id)
        return ResultTimeout(
            f"{name} is still {job.state.value} after {span(seconds * 1_000)}; it goes on",
            hint=f"mainspring jobs watch {name}",
            details={"job_id": name, "state": job.state.value},
        )


class _Pen:
    """Writes on stderr: words on one growing line, lines of their own, and a bar at the bottom."""

    def __init__(self) -> None:
        self._indent = "  "
        self._name = ""
        self._is_first = True
        self._is_open = False
        self._bar = ""

    def name(self, kind: str) -> None:
        """Begin the first line with the job's kind; later ones stand below its states."""
        if not self._name:
            self._name = kind
            self._indent = " " * (width_of(kind) + 4)

    def word(self, text: str) -> None:
        """Add a word to the line of states, or begin a new one."""
        self._erase_bar()
        if self._is_open:
            self._write(f" -> {text}")
        elif self._is_first:
            self._write(f"  {self._name}  {text}")
        else:
            self._write(f"{self._indent}{text}")
        self._is_first = False
        self._is_open = True

    def line(self, text: str) -> None:
        """Write a line of its own."""
        self.end_line()
        self._erase_bar()
        tell(f"{self._indent}{text}")

    def bar(self, text: str) -> None:
        """Show progress: at the bottom of a terminal, as lines elsewhere."""
        if text == self._bar:
            return
        self.end_line()
        self._erase_bar()
        self._bar = text
        self._write(f"{self._indent}{text}" + ("" if sys.stderr.isatty() else "\n"))

    def end_line(self) -> None:
        """End the line of states, if it is open."""
        if self._is_open:
            self._write("\n")
        self._is_open = False

    def _erase_bar(self) -> None:
        if self._bar and sys.stderr.isatty():
            self._write("\r\x1b[K")
            self._bar = ""

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def attempt_text(
    attempt: AttemptView,
    following: AttemptView | None,
    job: JobView,
    *,
    color: bool,
    why_columns: int = 200,
    before_why: str = ": ",
) -> str:
    """Return how an attempt ended, why, and what comes next; a long why is cut."""
    # Where replays and hand-backs made attempts outnumber tries, "of 5" would mislead.
    of = f"/{job.max_attempts}" if job.attempt == job.tries else ""
    state = attempt.state.value.replace("_", " ")
    text = styled(
        f"attempt {attempt.attempt}{of} {state}", state_style(attempt.state.value), color=color
    )
    why = cut(reason_text(attempt), why_columns)
    if why:
        text += f"{before_why}{why}"
    if attempt.ended_at is None:
        return text
    if following is not None:
        return f"{text}   retried after {span(following.started_at - attempt.ended_at)}"
    if job.state is JobState.DEAD:
        return f"{text}   {styled('-> dead letter', 'red', color=color)}"
    if job.state not in FINAL:
        wait = (job.due_at - attempt.ended_at) // timedelta(milliseconds=1)
        text += f"   retry in {span(wait)}" if wait > 0 else "   retry now"
    return text


def reason_text(attempt: AttemptView) -> str:
    """Return why an attempt ended as it did, on one line."""
    error = error_of(attempt.error)
    return printable(error.headline if error else attempt.reason or "").strip()


def is_behind(job: JobView, attempt: AttemptView) -> bool:
    """Tell whether the job was read before this attempt was closed."""
    is_held = job.state in (JobState.RUNNING, JobState.CANCELLING)
    return attempt.attempt > job.attempt or (is_held and attempt.attempt == job.attempt)


def log_text(line: LogLine, *, color: bool) -> str:
    """Return a log line for people."""
    style = {"warning": "yellow", "error": "red", "debug": "dim"}.get(line.level, "")
    level = styled(f"{line.level.upper():<7}", style, color=color)
    at = styled(f"{line.at:%H:%M:%S}.{line.at.microsecond // 1_000:03d}", "dim", color=color)
    fields = f"  {styled(printable(line.fields), 'dim', color=color)}" if line.fields else ""
    return f"{at} {level} {printable(line.message)}{fields}"


def progress_text(job: JobView) -> str:
    """Return ``[#######---] 70 %  rows``, or how many without a total."""
    return bar_text(job.progress_done or 0.0, job.progress_total, job.progress_note or "")


def bar_text(done: float, total: float | None, note: str) -> str:
    """Return a bar, the share and the note; without a total only how many."""
    words = f"  {printable(note)}" if note else ""
    if not total:
        return f"{done:g} done{words}"
    part = min(1.0, max(0.0, done / total))
    filled = round(part * _BAR_CELLS)
    bar = "#" * filled + "-" * (_BAR_CELLS - filled)
    return f"[{bar}] {part * 100:.0f} %{words}"


def ended_badly(job: JobView) -> JobFailed:
    """Return the error for a job that was awaited and did not succeed."""
    name = show_job(job.id)
    error = error_of(job.error)
    why = f": {error.headline}" if error else ""
    group = "dlq" if job.state is JobState.DEAD else "jobs"
    return JobFailed(
        f"{name} ended {job.state.value} ({job.reason or 'no reason'}){why}",
        hint=f"mainspring {group} get {name}",
        details={"job_id": name, "state": job.state.value},
    )


async def watch(
    gateway: ClientGateway,
    job_id: bytes,
    options: Options,
    *,
    follow: bool = False,
    timeout_seconds: float | None = None,
    after_attempt: int | None = None,
) -> JobView:
    """Watch a job to its end; Ctrl-C lets go of it, says so, and leaves it running."""
    watcher = Watcher(gateway, job_id, options, follow=follow, after_attempt=after_attempt)
    try:
        return await watcher.until_end(timeout_seconds)
    except asyncio.CancelledError:
        name = show_job(job_id)
        tell(f"detached: {name} goes on   next: mainspring jobs watch {name}")
        raise


async def wait_for_all(
    gateway: ClientGateway,
    job_ids: Sequence[bytes],
    options: Options,
    *,
    timeout_seconds: float | None = None,
) -> list[JobView]:
    """Wait until every job has ended, and show how many have; Ctrl-C lets go of them."""
    until = None if timeout_seconds is None else monotonic() + timeout_seconds
    bar = ProgressLine(options, len(job_ids), "ended")
    ended: list[JobView] = []
    try:
        for job_id in job_ids:
            job = await gateway.get_job(job_id)
            while job.state not in FINAL:
                left = _ASK_SECONDS if until is None else min(_ASK_SECONDS, until - monotonic())
                if left <= 0:
                    raise ResultTimeout(
                        f"{len(ended):,} of {count_of(len(job_ids), 'job')} have ended after "
                        f"{span((timeout_seconds or 0) * 1_000)}; the others go on",
                        hint=f"mainspring jobs explain {show_job(job_id)}",
                    )
                job = await gateway.wait_for_change(job_id, job, left)
            ended.append(job)
            bar.move(len(ended))
    except asyncio.CancelledError:
        bar.end()
        rest = len(job_ids) - len(ended)
        tell(f"detached: {count_of(rest, 'job')} of {len(job_ids):,} still to end; they go on")
        raise
    finally:
        bar.end()
    return ended


class ProgressLine:
    """``[####------] 40 %  400/1,000 replayed`` at the bottom of a terminal; nothing elsewhere."""

    def __init__(self, options: Options, total: int, verb: str) -> None:
        """Show nothing before the first move; short work shows nothing at all."""
        self._total = total
        self._verb = verb
        self._shows = (
            total > 1 and sys.stderr is not None and sys.stderr.isatty() and options.is_for_people
        )
        self._begun = monotonic()
        self._is_up = False

    def move(self, done: int) -> None:
        """Show how far it is, once it takes long."""
        if not self._shows or monotonic() - self._begun < _BAR_AFTER_SECONDS:
            return
        part = done / self._total
        filled = round(part * _BAR_CELLS)
        bar = "#" * filled + "-" * (_BAR_CELLS - filled)
        sys.stderr.write(
            f"\r\x1b[K[{bar}] {part * 100:.0f} %  {done:,}/{self._total:,} {self._verb}"
        )
        sys.stderr.flush()
        self._is_up = True

    def end(self) -> None:
        """Take it away."""
        if self._is_up:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        self._is_up = False
