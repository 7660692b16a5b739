"""Operations on the command line: how they are begun, shown and followed."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
from cyclopts import Group, Parameter

from mainspring.app.rates import per_second
from mainspring.cli.asking import actor, confirm
from mainspring.cli.job_tables import state_cell
from mainspring.cli.options import FLAG, VALUE, Options
from mainspring.cli.output import out, show_one, tell
from mainspring.cli.picking import check_columns
from mainspring.cli.records import Record
from mainspring.cli.tables import Column
from mainspring.cli.text import absolute, count_of, printable, relative, span, styled
from mainspring.cli.watching import ProgressLine
from mainspring.domain.errors import InvalidInput, JobFailed, ResultTimeout
from mainspring.domain.ids import show_job
from mainspring.domain.job import JobFilter
from mainspring.domain.operation import MemberView, OperationOptions, OperationState, OperationView
from mainspring.ports.clock import monotonic
from mainspring.ports.gateway import ClientGateway
from mainspring.ports.operations import OperationAsk

_BACKGROUND: Final = Group("In the background", sort_key=10)
_ASK_SECONDS: Final = 2.0
_DOES: Final = {
    "retry": "retries",
    "cancel": "cancels",
    "replay": "replays",
    "purge": "deletes for good",
}
#: What ``--columns`` may name of an operation.
OPERATION_COLUMNS: Final = (
    "id", "action", "query", "tenant", "state", "reason", "until", "goal", "matched",
    "matched_is_least", "is_frozen", "looked_at", "changed", "left_alone", "failed", "report",
    "errors", "options", "version", "created_at", "created_by", "started_at", "ended_at",
    "turned_at", "turned_by",
)  # fmt: skip


@Parameter(name="*", group=_BACKGROUND)
@dataclass(frozen=True, kw_only=True)
class Background:
    """How a bulk command is handed to the nodes that maintain."""

    detach: Annotated[bool, FLAG] = False
    """With a search: make it an operation that goes on without this command, and print its id."""
    rate: Annotated[str | None, VALUE] = None
    """With --detach: at most so many changes: 50/s, 600/m."""
    canary: int | None = None
    """With --detach: after so many changes it pauses by itself."""


def is_detached(background: Background | None, *, is_search: bool, dry_run: bool) -> bool:
    """Tell whether an operation is to be made; refuse what goes with nothing else."""
    given = background or Background()
    if not given.detach:
        if given.rate is not None or given.canary is not None:
            raise InvalidInput("--rate and --canary are for --detach", hint="add --detach")
        return False
    if not is_search:
        raise InvalidInput("--detach is for a search", hint="give -q 'kind:charge' instead of ids")
    return not dry_run


def query_of(wanted: JobFilter) -> str:
    """Return the search that means the same as a filter."""
    terms: list[str] = []
    for field, values in (
        ("state", wanted.states),
        ("kind", wanted.kinds),
        ("queue", wanted.queues),
    ):
        if values:
            quoted = (f'"{value}"' for value in sorted(values))
            terms.append(f"{field}:{','.join(quoted)}")
    if wanted.finished_after is not None:
        terms.append(f"finished:>{wanted.finished_after.isoformat()}")
    if wanted.finished_before is not None:
        terms.append(f"finished:<{wanted.finished_before.isoformat()}")
    return " ".join(terms)


async def detach(  # noqa: PLR0913 - what the commands were given
    gateway: ClientGateway,
    action: str,
    query: str,
    background: Background | None,
    options: Options,
    *,
    limit: int | None,
    yes: bool,
    noun: str,
    **more: Any,
) -> None:
    """Begin an operation, agreed to by whoever types, and print it."""
    given = background or Background()
    check_columns(options, OPERATION_COLUMNS)
    chosen = OperationOptions(
        limit=limit,
        rate=None if given.rate is None else per_second(given.rate),
        canary=given.canary,
        **more,
    )
    ask = OperationAsk(action=action, query=query, options=chosen)
    told = await gateway.operations.preview(ask, actor=actor())
    count = told.operation.goal or 0
    if not count:
        tell(f"no {noun} matches that this could change; nothing was changed")
        return
    confirm(count, action, yes=yes or (count == 1 and action != "purge"), noun=noun)
    begun = await gateway.operations.confirm(told.operation.id, actor=actor())
    show_operation(options, begun)
    if options.is_for_people:
        tell(f"next: mainspring operations watch {begun.operation_id}")


def operation_record(view: OperationView) -> Record:
    """Return an operation."""
    fields = msgspec.structs.asdict(view)
    progress = msgspec.structs.asdict(view.progress)
    errors = [
        {"job_id": show_job(error.job_id), "message": error.message}
        for error in view.progress.errors
    ]
    every = fields | progress | {"id": view.operation_id, "goal": view.goal, "errors": errors}
    return {name: every[name] for name in OPERATION_COLUMNS}


def member_record(member: MemberView) -> Record:
    """Return what became of one job."""
    return {
        "job_id": show_job(member.job_id),
        "before": member.state.value,
        "outcome": member.outcome.value,
        "reason": member.reason,
    }


def member_columns() -> list[Column[MemberView]]:
    """Return what a list of members shows."""
    return [
        Column("JOB_ID", lambda member: show_job(member.job_id)),
        Column("BEFORE", lambda member: member.state.value),
        Column("OUTCOME", lambda member: member.outcome.value.replace("_", " ")),
        Column("REASON", lambda member: member.reason or "", shrinks=True),
    ]


def operation_columns(now: datetime) -> list[Column[OperationView]]:
    """Return what a list of operations shows."""
    return [
        Column("ID", lambda view: view.operation_id),
        Column("ACTION", lambda view: view.action),
        Column("STATE", lambda view: state_cell(view.state.value)),
        Column("CHANGED", _of, right=True),
        Column("LEFT", lambda view: f"{view.progress.left_alone:,}", right=True),
        Column("FAILED", lambda view: f"{view.progress.failed:,}", right=True),
        Column("BEGAN", lambda view: relative(view.created_at, now), right=True),
        Column("BY", lambda view: view.created_by, from_width=120),
        Column("QUERY", lambda view: view.query, shrinks=True),
    ]


def _of(view: OperationView) -> str:
    if view.goal is None:
        return f"{view.progress.changed:,}"
    least = "+" if view.progress.matched_is_least else ""
    return f"{view.progress.changed:,}/{view.goal:,}{least}"


def show_operation(options: Options, view: OperationView) -> None:
    """Show one operation: how far it is, and what became of its jobs."""

    def people() -> None:
        color = options.colors_data
        out(f"{styled(view.operation_id, 'bold', color=color)}  {state_text(view)}")
        least = " or more" if view.progress.matched_is_least else ""
        jobs = "jobs" if view.goal is None else f"{count_of(view.goal, 'job')}{least}"
        out(f"  {_DOES[view.action]} {jobs}: {printable(view.query)}")
        out(f"  as they stood at {absolute(view.until)}, by {printable(view.created_by)}")
        for state, outcomes in sorted(view.progress.report.items()):
            for told, count in sorted(outcomes.items()):
                out(f"  {state:<10} {told.replace('_', ' '):<24} {count:>9,}")
        for error in view.progress.errors:
            out(f"  {show_job(error.job_id)}  {printable(error.message)}")

    show_one(options, operation_record(view), name=view.operation_id, people=people)


def state_text(view: OperationView) -> str:
    """Return the state with its reason."""
    return view.state.value + (f" ({printable(view.reason)})" if view.reason else "")


async def follow(
    gateway: ClientGateway, operation_id: bytes, options: Options, patience_seconds: float | None
) -> OperationView:
    """Show how far an operation is until it does not run any more; Ctrl-C lets go of it."""
    until = None if patience_seconds is None else monotonic() + patience_seconds
    view = await gateway.operations.get(operation_id)
    bar: ProgressLine | None = None
    try:
        while view.state is OperationState.RUNNING:
            if view.is_frozen and view.goal:
                bar = bar or ProgressLine(options, view.goal, "decided")
                bar.move(view.progress.decided)
            left = _ASK_SECONDS if until is None else min(_ASK_SECONDS, until - monotonic())
            if left <= 0:
                raise ResultTimeout(
                    f"{view.operation_id} goes on: {_of(view)} changed after "
                    f"{span((patience_seconds or 0) * 1_000)}",
                    hint=f"mainspring operations get {view.operation_id}",
                )
            view = await gateway.operations.wait_for_change(operation_id, view, left)
    except asyncio.CancelledError:
        name = view.operation_id
        tell(f"detached: {name} goes on   next: mainspring operations watch {name}")
        raise
    finally:
        if bar is not None:
            bar.end()
    return view


def judge(view: OperationView) -> None:
    """Raise unless it did all that it was to do."""
    name = view.operation_id
    next_words: Mapping[OperationState, str] = {
        OperationState.PAUSED: f"mainspring operations resume {name}",
        OperationState.FAILED: f"mainspring operations resume {name}",
    }
    if view.state is not OperationState.DONE:
        hint = next_words.get(view.state, f"mainspring operations get {name}")
        raise JobFailed(f"{name} is {state_text(view)}", hint=hint)
    if view.progress.failed:
        raise JobFailed(
            f"{count_of(view.progress.failed, 'job')} of {name} could not be changed",
            hint=f"mainspring operations get {name} --jobs --outcome failed",
        )
