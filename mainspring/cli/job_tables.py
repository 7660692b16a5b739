"""Jobs as people see them: a row of a list, and a page of their own."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from mainspring.cli.fires import Fired, fire_facts, fire_of, fire_record
from mainspring.cli.options import Options
from mainspring.cli.output import out, show_one, show_table
from mainspring.cli.records import attempt_record, job_record
from mainspring.cli.tables import Cell, Column
from mainspring.cli.text import (
    absolute,
    printable,
    relative,
    rough,
    span,
    sparkline,
    state_style,
    styled,
)
from mainspring.cli.watching import progress_text, reason_text
from mainspring.domain.ids import WORKER, show, show_job
from mainspring.domain.job import AttemptView, FailureGroup, JobView, Priority
from mainspring.domain.states import FINAL, JobState
from mainspring.ports.clock import utc_now
from mainspring.ports.gateway import ClientGateway
from mainspring.wire.documents.common import error_of
from mainspring.wire.documents.jobs import milliseconds_between

_NOTE_FROM_WIDTH: Final = 100


def state_cell(state: str) -> Cell:
    """Return a state in its colour."""
    return Cell(state, state_style(state))


def job_columns(now: datetime) -> list[Column[JobView]]:
    """Return the columns of a list of jobs."""
    return [
        Column("ID", lambda job: show_job(job.id)),
        Column("KIND", lambda job: job.kind, shrinks=True),
        Column("QUEUE", lambda job: job.queue, wide=True),
        Column("PRIORITY", lambda job: Priority(job.priority).name.lower(), wide=True),
        Column("STATE", lambda job: state_cell(job.state.value)),
        Column("TRIES", lambda job: f"{job.tries}/{job.max_attempts}", right=True),
        Column("AGE", lambda job: rough(now - job.created_at), right=True),
        Column("DUE", lambda job: absolute(job.due_at), wide=True),
        Column(
            "FINISHED",
            lambda job: absolute(job.finished_at) if job.finished_at else "",
            wide=True,
        ),
        Column("NOTE", lambda job: note(job, now), from_width=_NOTE_FROM_WIDTH, shrinks=True),
    ]


def group_columns(now: datetime) -> list[Column[FailureGroup]]:
    """Return the columns of a list of groups of failures."""
    return [
        Column("GROUP", lambda group: group.group),
        Column("COUNT", lambda group: f"{group.jobs:,}", right=True),
        Column("HANDLER", lambda group: group.kind),
        Column("ERROR", _group_error, shrinks=True),
        Column("MESSAGE", _group_message, from_width=_NOTE_FROM_WIDTH, shrinks=True),
        Column("FIRST", lambda group: relative(group.first_at, now), wide=True, right=True),
        Column("LAST", lambda group: relative(group.last_at, now), right=True),
        Column("SAMPLE", lambda group: show_job(group.sample_id), wide=True),
        Column("TREND", lambda group: sparkline(group.trend)),
    ]


def _group_error(group: FailureGroup) -> str:
    error = error_of(group.error)
    return "" if error is None else f"{error.type} {error.where}".strip()


def _group_message(group: FailureGroup) -> str:
    error = error_of(group.error)
    return "" if error is None else error.message


def note(job: JobView, now: datetime) -> str:
    """Return the one thing that is worth knowing about a job in this state."""
    show = _NOTES.get(job.state)
    return (job.reason or "") if show is None else show(job, now)


def _error_note(job: JobView, _: datetime) -> str:
    error = error_of(job.error)
    return error.headline if error else job.reason or ""


def _running_note(job: JobView, now: datetime) -> str:
    if job.progress_done is not None:
        return progress_text(job)
    return f"for {rough(now - job.started_at)}" if job.started_at else ""


def _due_note(job: JobView, now: datetime) -> str:
    return f"due {relative(job.due_at, now)}"


_NOTES: Final[Mapping[JobState, Callable[[JobView, datetime], str]]] = {
    JobState.SCHEDULED: _due_note,
    JobState.RETRYING: _due_note,
    JobState.BLOCKED: lambda job, _: job.blocked_reason or "",
    JobState.READY: lambda job, now: f"waiting {rough(now - job.due_at)}",
    JobState.RUNNING: _running_note,
    JobState.CANCELLING: _running_note,
    JobState.SUCCEEDED: lambda job, _: f"took {_took(job)}" if job.started_at else "",
    JobState.DEAD: _error_note,
}


def _took(job: JobView) -> str:
    took = milliseconds_between(job.started_at, job.finished_at)
    return "" if took is None else span(took)


class JobPage(msgspec.Struct, frozen=True):
    """Everything that is known about one job."""

    job: JobView
    attempts: Sequence[AttemptView]
    fired: Fired | None


async def job_page(gateway: ClientGateway, job: JobView) -> JobPage:
    """Ask for everything about a job."""
    return JobPage(job, await gateway.list_attempts(job.id), await fire_of(gateway, job))


def show_job_page(options: Options, page: JobPage) -> None:
    """Show one job with everything that is known about it."""
    job = page.job
    attempts = [attempt_record(item) for item in page.attempts]
    record = job_record(job) | {"attempts": attempts, "fire": fire_record(page.fired, job)}
    show_one(
        options, record, name=show_job(job.id), people=lambda: _people(options, page, utc_now())
    )


def _people(options: Options, page: JobPage, now: datetime) -> None:
    job, attempts = page.job, page.attempts
    color = options.colors_data
    state = styled(job.state.value, state_style(job.state.value), color=color)
    kind = styled(printable(job.kind), "bold", color=color)
    out(f"{show_job(job.id)}  {kind}  {state}\n")
    for name, value in _facts(page, now):
        label = styled(f"{name:<12}", "dim", color=color)
        first, *rest = printable(value, lines=True).splitlines() or [""]
        out(f"  {label}{first}")
        for text in rest:
            out(f"  {'':<12}{text}")
    if attempts:
        out("")
        show_table(options, attempts, _attempt_columns(wide_errors=options.is_wide))
    if job.state is not JobState.SUCCEEDED or options.is_wide:
        _show_tracebacks(options, attempts, color=color)


def _facts(page: JobPage, now: datetime) -> list[tuple[str, str]]:
    """Return what there is to say, each with its name."""
    job = page.job
    priority = Priority(job.priority).name.lower()
    facts = [
        ("queue", f"{job.queue}, priority {priority}"),
        ("tries", _tries(job)),
        ("created", _when(job.created_at, now)),
    ]
    if page.fired is not None:
        facts = [*fire_facts(page.fired, job, now), *facts]
    if job.state not in FINAL and job.state not in (JobState.RUNNING, JobState.CANCELLING):
        facts.append(("due", _when(job.due_at, now)))
    if job.started_at is not None:
        facts.append(("started", _when(job.started_at, now)))
    if job.deadline_at is not None:
        facts.append(("deadline", _when(job.deadline_at, now)))
    if job.finished_at is not None:
        took = _took(job)
        more = f", the last attempt took {took}" if took else ""
        facts.append(("finished", _when(job.finished_at, now) + more))
    optional = (
        ("reason", job.reason),
        ("blocked", job.blocked_reason),
        ("progress", progress_text(job) if job.progress_done is not None else None),
        ("worker", show(WORKER, job.worker_id) if job.worker_id else None),
        ("key", job.submission_key),
        ("effect", job.effect_key),
        ("exhausted", f"submits {job.on_exhausted}" if job.on_exhausted else None),
        ("group", job.error_group),
        ("payload", _away(job.payload_ref) if job.payload_is_away else _json(job.payload)),
        ("result", _away(job.result_ref) if job.result_is_away else _json(job.result)),
    )
    return facts + [(name, value) for name, value in optional if value]


def _tries(job: JobView) -> str:
    text = f"{job.tries} of {job.max_attempts}"
    if job.crashes:
        text += f", {job.crashes} of {job.max_crashes} crashes"
    if job.replays:
        text += f", replayed {job.replays} times" if job.replays > 1 else ", replayed once"
    return text


def _when(instant: datetime, now: datetime) -> str:
    return f"{absolute(instant)}  ({relative(instant, now)})"


def _away(reference: str | None) -> str:
    return f"not read from the object store: {reference}   next: --blobs, MAINSPRING_BLOBS"


def _json(text: bytes | None) -> str | None:
    if text is None:
        return None
    try:
        return msgspec.json.format(text, indent=-1).decode()
    except msgspec.DecodeError:
        return text.decode("utf-8", "replace")


def _attempt_columns(*, wide_errors: bool) -> list[Column[AttemptView]]:
    return [
        Column("ATTEMPT", lambda item: str(item.attempt), right=True),
        Column("STATE", lambda item: state_cell(item.state.value.replace("_", " "))),
        Column("STARTED (UTC)", lambda item: absolute(item.started_at).removesuffix(" UTC")),
        Column("TOOK", _attempt_took, right=True),
        Column("WORKER", _worker, wide=True),
        Column("WHERE", _where, wide=wide_errors, from_width=_NOTE_FROM_WIDTH),
        Column("WHY", reason_text, shrinks=True),
    ]


def _attempt_took(attempt: AttemptView) -> str:
    if attempt.ended_at is None:
        return "-"
    return span(max(attempt.ended_at - attempt.started_at, timedelta(0)))


def _worker(attempt: AttemptView) -> str:
    return "" if attempt.worker_id is None else show(WORKER, attempt.worker_id)


def _where(attempt: AttemptView) -> str:
    error = error_of(attempt.error)
    return "" if error is None else error.where


def _show_tracebacks(options: Options, attempts: Sequence[AttemptView], *, color: bool) -> None:
    """Print the traceback of the last failure; with ``-o wide`` that of each."""
    failed = [item for item in attempts if (error := error_of(item.error)) and error.traceback]
    for item in failed if options.is_wide else failed[-1:]:
        error = error_of(item.error)
        if error is not None:
            out("\n" + styled(f"attempt {item.attempt}:", "dim", color=color))
            out(printable(error.traceback.rstrip(), lines=True))
