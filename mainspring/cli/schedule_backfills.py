"""Backfills on the command line: what one takes up, and staying with it to its end."""

import asyncio
from typing import Final

from mainspring.cli.ledger_tables import backfill_columns, backfill_record
from mainspring.cli.options import Options
from mainspring.cli.output import out, show_one, show_table, tell
from mainspring.cli.records import Record, record_of
from mainspring.cli.schedule_tables import short_instant
from mainspring.cli.text import count_of, printable, span, styled
from mainspring.cli.watching import ProgressLine
from mainspring.domain.errors import JobFailed, ResultTimeout
from mainspring.domain.ids import BACKFILL, show
from mainspring.domain.schedule import BackfillView, ScheduleView
from mainspring.ports.clock import monotonic, pause_seconds, utc_now
from mainspring.ports.gateway import ClientGateway
from mainspring.ports.scheduling import Backfilled

_ASK_SECONDS: Final = 1.0
#: What ``--columns`` may name: of what a backfill takes up, or of the backfill that was awaited.
BACKFILL_COLUMNS: Final = (
    "id", "schedule", "fires", "first_at", "last_at", "left", "schedule_id", "from_at", "until_at",
    "order", "concurrency", "state", "created_at", "created_by", "waiting", "live", "succeeded",
    "failed",
)  # fmt: skip
#: Why fires of a range are left alone, for people.
_LEFT: Final = {
    "in_a_backfill": "wait in another backfill",
    "live": "have a live job",
    "succeeded": "succeeded",
    "failed": "had a job that failed (--reprocess failed takes them up)",
    "not_decided": "are not decided yet",
}


def backfilled_record(view: ScheduleView, found: Backfilled) -> Record:
    """Return what a backfill takes up."""
    from mainspring.wire.documents.ledger import backfilled_document

    return record_of(backfilled_document(view.name, found))


def show_backfilled(
    options: Options, view: ScheduleView, found: Backfilled, *, dry_run: bool
) -> None:
    """Say how many fires a backfill takes up, from when to when, and which it leaves alone."""
    name = "" if found.id is None else show(BACKFILL, found.id)

    def people() -> None:
        color = options.colors_data
        if name:
            out(styled(name, "bold", color=color))
        verb = "would be taken up" if dry_run else "taken up"
        text = f"{count_of(found.fires, 'fire')} of {printable(view.name)} {verb}"
        if found.first_at is not None and found.last_at is not None:
            text += f", {short_instant(found.first_at)} to {short_instant(found.last_at)} UTC"
        out(text)
        for why, count in found.left.items():
            out(f"  {count:,} left alone: {_LEFT.get(why, why)}")

    show_one(options, backfilled_record(view, found), name=name, people=people)


async def stay_with(
    gateway: ClientGateway,
    view: ScheduleView,
    backfill_id: bytes,
    options: Options,
    patience_seconds: float | None,
) -> None:
    """Show how far a backfill is until it ends; raise when one of its jobs did not succeed."""
    name = show(BACKFILL, backfill_id)
    until = None if patience_seconds is None else monotonic() + patience_seconds
    bar: ProgressLine | None = None
    try:
        while (found := await _look(gateway, view, backfill_id)).state == "active":
            bar = bar or ProgressLine(options, found.fires, "ended")
            bar.move(found.fires - found.waiting - found.live)
            if until is not None and monotonic() >= until:
                raise ResultTimeout(
                    f"{name} goes on: {found.waiting:,} waiting and {found.live:,} live after "
                    f"{span((patience_seconds or 0) * 1_000)}",
                    hint=f"mainspring schedules backfills {view.name}",
                )
            await pause_seconds(_ASK_SECONDS)
    except asyncio.CancelledError:
        tell(f"detached: {name} goes on   next: mainspring schedules backfills {view.name}")
        raise
    finally:
        if bar is not None:
            bar.end()
    if options.is_for_people:
        show_table(options, [found], backfill_columns(utc_now()))
    else:
        show_one(options, backfill_record(found), name=name, people=lambda: None)
    _judge(found, view, name)


async def _look(gateway: ClientGateway, view: ScheduleView, backfill_id: bytes) -> BackfillView:
    rows = await gateway.schedules.backfills(view.schedule_id)
    return next(row for row in rows if row.id == backfill_id)


def _judge(found: BackfillView, view: ScheduleView, name: str) -> None:
    failed = backfill_record(found)["failed"]
    if found.state == "done" and not failed:
        return
    what = f"{count_of(failed, 'job')} of {name} ended without success"
    if found.state != "done":
        what = f"{name} was {found.state}"
    raise JobFailed(what, hint=f"mainspring schedules history {view.name} --outcome backfilled")
