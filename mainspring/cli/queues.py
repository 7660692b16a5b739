"""``mainspring queues``: look at queues; pause and resume them."""

from datetime import datetime
from typing import Final

from cyclopts import App

from mainspring.cli.asking import actor, open_gateway
from mainspring.cli.options import COMMANDS, Given, Options
from mainspring.cli.output import line, out, show_list
from mainspring.cli.records import queue_record
from mainspring.cli.tables import Cell, Column
from mainspring.cli.text import rough
from mainspring.domain.job import QueueView
from mainspring.domain.limits import QUEUE_CHARACTERS_MAX
from mainspring.domain.names import check_name
from mainspring.ports.clock import utc_now

app: Final = App(
    name="queues", help="Look at queues; pause and resume them.", group_commands=COMMANDS
)


@app.command
async def ls(*, options: Given) -> None:
    """List the queues that have jobs or a pause."""
    async with open_gateway(options) as gateway:
        queues = await gateway.list_queues()
    show_list(
        options,
        queues,
        columns=_columns(utc_now()),
        record=queue_record,
        name=lambda queue: queue.name,
        empty="no queue has jobs",
    )


def _columns(now: datetime) -> list[Column[QueueView]]:
    return [
        Column("QUEUE", lambda queue: queue.name, shrinks=True),
        Column("READY", lambda queue: f"{queue.ready:,}", right=True),
        Column("RUNNING", lambda queue: f"{queue.running:,}", right=True),
        Column("SCHEDULED", lambda queue: f"{queue.scheduled:,}", right=True),
        Column("RETRYING", lambda queue: f"{queue.retrying:,}", right=True),
        Column("OLDEST", lambda queue: _oldest(queue, now), right=True),
        Column("PAUSED", _paused, shrinks=True),
    ]


def _oldest(queue: QueueView, now: datetime) -> str:
    return rough(now - queue.oldest_ready_at) if queue.oldest_ready_at else "-"


def _paused(queue: QueueView) -> Cell:
    if queue.paused_at is None:
        return Cell("")
    return Cell(queue.paused_reason or "paused", "yellow")


@app.command
async def pause(queue: str, /, *, reason: str = "", options: Given) -> None:
    """Hand out nothing more of a queue; what runs goes on.

    Parameters
    ----------
    queue
        The queue.
    reason
        Shown wherever somebody wonders.
    """
    name = check_name("queue", queue, QUEUE_CHARACTERS_MAX)
    async with open_gateway(options) as gateway:
        changed = await gateway.pause_queue(name, reason=reason, actor=actor())
    _tell_change(options, name, "paused", changed=changed)


@app.command
async def resume(queue: str, /, *, options: Given) -> None:
    """Hand out jobs of a queue again.

    Parameters
    ----------
    queue
        The queue.
    """
    name = check_name("queue", queue, QUEUE_CHARACTERS_MAX)
    async with open_gateway(options) as gateway:
        changed = await gateway.resume_queue(name, actor=actor())
    _tell_change(options, name, "resumed", changed=changed)


def _tell_change(options: Options, name: str, state: str, *, changed: bool) -> None:
    if options.output in ("json", "jsonl"):
        out(line({"queue": name, "state": state, "changed": changed}))
    elif options.output == "name":
        out(name)
    elif options.output == "csv":
        out(f"{name},{state},{str(changed).lower()}")
    else:
        was = "" if changed else "  (it was already)"
        out(f"{name}  {state}{was}")
