"""What fires a schedule, or leaves fires out, on the command line: now, next, and in the past."""

from typing import Annotated, Final

import msgspec
from cyclopts import Parameter

from mainspring.app.durations import milliseconds
from mainspring.cli.asking import actor, instant_of, open_gateway
from mainspring.cli.options import FLAG, VALUE, Given, Options
from mainspring.cli.output import (
    Change,
    check_change_columns,
    out,
    show_changes,
    show_one,
    tell,
    tell_dry_run,
)
from mainspring.cli.picking import check_columns
from mainspring.cli.schedule_backfills import BACKFILL_COLUMNS, show_backfilled, stay_with
from mainspring.cli.schedule_changes import there
from mainspring.cli.schedule_pages import spec_of
from mainspring.cli.schedule_tables import PREVIEW_COLUMNS, show_preview
from mainspring.cli.submit import COLUMNS, WAIT, show_end
from mainspring.cli.text import printable
from mainspring.cli.watching import watch
from mainspring.domain.ids import BACKFILL, parse, show_job
from mainspring.domain.limits import PREPARE_FIRES_MAX
from mainspring.domain.names import check_range
from mainspring.domain.schedule import ScheduleView
from mainspring.ports.scheduling import BackfillAsk, Order, Reprocess

_SHOWN_FIRES: Final = 5
_Flag = Annotated[bool, FLAG]

# --- fires --------------------------------------------------------------------------------------


async def fire_now(  # noqa: PLR0913 - a command's options are its arguments
    schedule: str,
    /,
    *,
    despite_overlap: _Flag = False,
    wait: Annotated[bool, Parameter(group=WAIT, negative="")] = False,
    follow: Annotated[bool, Parameter(group=WAIT, negative="")] = False,
    wait_timeout: Annotated[str | None, Parameter(group=WAIT, allow_leading_hyphen=True)] = None,
    tenant: Annotated[str | None, VALUE] = None,
    dry_run: _Flag = False,
    options: Given,
) -> None:
    """Fire once by hand, now, and print the id of the job; the timetable goes on as before.

    Parameters
    ----------
    schedule
        Its name or id; a paused one fires, too.
    despite_overlap
        Also beside a live job, where the schedule allows none.
    wait
        Stay until the job ends and print its result; exit 5 when it ends without success.
    follow
        As --wait, and show its log and progress.
    wait_timeout
        As --wait, but leave with exit 7 after this long; the job goes on.
    tenant
        Whose it is.
    dry_run
        Only say what would be submitted.
    """
    check_columns(options, dict.fromkeys(("id", "schedule", "payload", *COLUMNS)))
    patience = None
    if wait_timeout is not None:
        patience = milliseconds(wait_timeout, name="wait-timeout") / 1_000
    async with open_gateway(options) as gateway:
        view = await there(gateway, schedule, tenant)
        if dry_run:
            _show_by_hand(options, view)
            return
        job_id = await gateway.schedules.fire_now(
            view.schedule_id, despite_overlap=despite_overlap, actor=actor()
        )
        name = show_job(job_id)
        if not (wait or follow or patience is not None):
            record = {"id": name, "schedule": view.name}
            show_one(options, record, name=name, people=lambda: out(name))
            return
        if options.is_for_people:
            out(name)
        job = await watch(
            gateway, job_id, options, follow=follow, timeout_seconds=patience, after_attempt=0
        )
    show_end(options, job)


def _show_by_hand(options: Options, view: ScheduleView) -> None:
    work = spec_of(view).work
    record = {
        "schedule": view.name,
        "kind": work.kind,
        "queue": work.queue,
        "payload": msgspec.Raw(work.payload.encode()),
    }
    text = f"{work.kind} would be submitted to the queue {work.queue}: {work.payload}"
    show_one(options, record, name=view.name, people=lambda: out(printable(text)))
    tell_dry_run()


async def skip_next(
    schedule: str,
    /,
    *,
    count: Annotated[int, Parameter(name=["--count", "-n"])] = 1,
    tenant: Annotated[str | None, VALUE] = None,
    dry_run: _Flag = False,
    options: Given,
) -> None:
    """Leave out the next fires, and show which; the ledger says that it was on request.

    Parameters
    ----------
    schedule
        Its name or id.
    count
        So many fires; 0 takes back what was asked for before.
    tenant
        Whose it is.
    dry_run
        Only say which fires these would be.
    """
    check_columns(options, PREVIEW_COLUMNS)
    check_range("count", count, 0, PREPARE_FIRES_MAX)
    async with open_gateway(options) as gateway:
        view = await there(gateway, schedule, tenant)
        if not dry_run:
            await gateway.schedules.skip_next(view.schedule_id, count, actor=actor())
        seen = await gateway.schedules.next(view.schedule_id, count=max(count + 1, _SHOWN_FIRES))
        now = await gateway.now()
    if dry_run:
        marked = (
            msgspec.structs.replace(each, note="would be left out" if place < count else "")
            for place, each in enumerate(seen.upcoming)
        )
        seen = msgspec.structs.replace(seen, upcoming=tuple(marked))
    show_preview(options, seen, now)
    if dry_run:
        tell_dry_run()


# --- the past -----------------------------------------------------------------------------------


async def backfill(  # noqa: PLR0913 - a command's options are its arguments
    schedule: str,
    /,
    *,
    from_: Annotated[str, Parameter(name=["--from", "--since"], allow_leading_hyphen=True)],
    to: Annotated[
        str | None, Parameter(name=["--to", "--until"], allow_leading_hyphen=True)
    ] = None,
    order: Order = "oldest",
    concurrency: int = 1,
    reprocess: Reprocess = "none",
    wait: Annotated[bool, Parameter(group=WAIT, negative="")] = False,
    wait_timeout: Annotated[str | None, Parameter(group=WAIT, allow_leading_hyphen=True)] = None,
    tenant: Annotated[str | None, VALUE] = None,
    dry_run: _Flag = False,
    options: Given,
) -> None:
    """Take up fires of the past, by the present rule; what comes next is not touched.

    Parameters
    ----------
    schedule
        Its name or id.
    from_
        From this instant on, or from so long ago: 7d.
    to
        Up to this instant, which counts; now if not given.
    order
        The oldest first, or the newest.
    concurrency
        So many of its jobs at once.
    reprocess
        Of fires that had a job: none, those whose job failed, or all.
    wait
        Stay until its jobs have ended; exit 5 when one ends without success.
    wait_timeout
        As --wait, but leave with exit 7 after this long; the backfill goes on.
    tenant
        Whose it is.
    dry_run
        Only say which fires would be taken up.
    """
    check_columns(options, BACKFILL_COLUMNS)
    begin = instant_of(from_, name="from")
    end = None if to is None else instant_of(to, name="to")
    patience = None
    if wait_timeout is not None:
        patience = milliseconds(wait_timeout, name="wait-timeout") / 1_000
    async with open_gateway(options) as gateway:
        view = await there(gateway, schedule, tenant)
        wanted = BackfillAsk(
            from_at=begin,
            until_at=end or await gateway.now(),
            order=order,
            concurrency=concurrency,
            reprocess=reprocess,
        )
        found = await gateway.schedules.backfill(
            view.schedule_id, wanted, dry_run=dry_run, actor=actor()
        )
        stays = (wait or patience is not None) and found.id is not None
        if options.is_for_people or not stays:
            show_backfilled(options, view, found, dry_run=dry_run)
        if stays and found.id is not None:
            await stay_with(gateway, view, found.id, options, patience)
    if dry_run:
        tell_dry_run()
    elif found.id is not None and not stays and options.is_for_people:
        tell(f"how far it is: mainspring schedules backfills {printable(view.name)}")


async def cancel_backfill(backfill: str, /, *, dry_run: _Flag = False, options: Given) -> None:
    """Take back what a backfill has not begun; its live jobs go on.

    Parameters
    ----------
    backfill
        Its id, as backfills lists it.
    dry_run
        Only check the id.
    """
    check_change_columns(options)
    raw = parse(BACKFILL, backfill)
    async with open_gateway(options) as gateway:
        changed = dry_run or await gateway.schedules.cancel_backfill(raw, actor=actor())
    show_changes(
        options,
        [Change(backfill, "cancelled", changed)],
        unchanged="it had ended, or never was",
    )
    if dry_run:
        tell_dry_run()
