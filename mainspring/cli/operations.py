"""``mainspring operations``: look at bulk actions; pause, resume and abort them."""

from typing import Annotated, Final

from cyclopts import App, Parameter

from mainspring.app.durations import milliseconds
from mainspring.cli.asking import actor, open_gateway
from mainspring.cli.operating import (
    OPERATION_COLUMNS,
    follow,
    judge,
    member_columns,
    member_record,
    operation_columns,
    operation_record,
    show_operation,
)
from mainspring.cli.options import COMMANDS, FLAG, Given
from mainspring.cli.output import show_list, tell
from mainspring.cli.picking import check_columns
from mainspring.domain.ids import JOB, OPERATION, parse, show_job
from mainspring.ports.clock import utc_now

app: Final = App(
    name="operations",
    help="Look at bulk actions; pause, resume and abort them.",
    group_commands=COMMANDS,
)
_PATIENCE: Final = Parameter(name=["--timeout", "--wait-timeout"], allow_leading_hyphen=True)


@app.command
async def ls(
    *,
    state: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    limit: int = 50,
    before: str | None = None,
    options: Given,
) -> None:
    """List operations, newest first.

    Parameters
    ----------
    state
        Only those that are previewed, running, paused, done, aborted or failed; may be repeated.
    limit
        At most so many, up to 500.
    before
        Go on after this operation of an earlier list.
    """
    cursor = None if before is None else parse(OPERATION, before)
    async with open_gateway(options) as gateway:
        found = await gateway.operations.list(states=state, limit=limit, before=cursor)
    show_list(
        options,
        found,
        columns=operation_columns(utc_now()),
        record=operation_record,
        name=lambda view: view.operation_id,
        empty="no operations" + (" match" if state else " yet"),
    )


@app.command
async def get(
    operation: str,
    /,
    *,
    jobs: Annotated[bool, FLAG] = False,
    outcome: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    limit: int = 500,
    after: str | None = None,
    options: Given,
) -> None:
    """Show an operation: how far it is, and what became of its jobs.

    Parameters
    ----------
    operation
        Its id, op_….
    jobs
        List the jobs that were decided so far instead, oldest first.
    outcome
        With --jobs: only those that were changed, left_alone or failed; may be repeated.
    limit
        With --jobs: at most so many, up to 500.
    after
        With --jobs: go on after this job of an earlier list.
    """
    raw = parse(OPERATION, operation)
    if not jobs:
        check_columns(options, OPERATION_COLUMNS)
    async with open_gateway(options) as gateway:
        if not jobs:
            show_operation(options, await gateway.operations.get(raw))
            return
        cursor = None if after is None else parse(JOB, after)
        found = await gateway.operations.members(raw, outcomes=outcome, limit=limit, after=cursor)
    show_list(
        options,
        found,
        columns=member_columns(),
        record=member_record,
        name=lambda member: show_job(member.job_id),
        empty="no job was decided" + (" so" if outcome else " yet"),
    )
    if len(found) == limit:
        tell(f"there may be more: --after {show_job(found[-1].job_id)}")


@app.command
async def watch(
    operation: str,
    /,
    *,
    timeout: Annotated[str | None, _PATIENCE] = None,
    options: Given,
) -> None:
    """Stay with an operation until it does not run any more; exit 5 unless it is done.

    Parameters
    ----------
    operation
        Its id, op_….
    timeout
        Leave after this long with exit 7; the operation goes on.
    """
    raw = parse(OPERATION, operation)
    check_columns(options, OPERATION_COLUMNS)
    patience = None if timeout is None else milliseconds(timeout, name="timeout") / 1_000
    async with open_gateway(options) as gateway:
        view = await follow(gateway, raw, options, patience)
    show_operation(options, view)
    judge(view)


@app.command
async def pause(operation: str, /, *, reason: str = "", options: Given) -> None:
    """Change nothing more until it is resumed; the batch that is under way is finished.

    Parameters
    ----------
    operation
        Its id, op_….
    reason
        Shown with it.
    """
    raw = parse(OPERATION, operation)
    check_columns(options, OPERATION_COLUMNS)
    async with open_gateway(options) as gateway:
        show_operation(options, await gateway.operations.pause(raw, reason=reason, actor=actor()))


@app.command
async def resume(operation: str, /, *, options: Given) -> None:
    """Go on with an operation that is paused or failed.

    Parameters
    ----------
    operation
        Its id, op_….
    """
    raw = parse(OPERATION, operation)
    check_columns(options, OPERATION_COLUMNS)
    async with open_gateway(options) as gateway:
        show_operation(options, await gateway.operations.resume(raw, actor=actor()))


@app.command
async def abort(operation: str, /, *, reason: str = "", options: Given) -> None:
    """Change nothing more for good; what was changed stays so.

    Parameters
    ----------
    operation
        Its id, op_….
    reason
        Shown with it.
    """
    raw = parse(OPERATION, operation)
    check_columns(options, OPERATION_COLUMNS)
    async with open_gateway(options) as gateway:
        show_operation(options, await gateway.operations.abort(raw, reason=reason, actor=actor()))
