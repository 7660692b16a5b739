"""``mainspring queues``: look at queues; pause and resume them."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final

from cyclopts import App

from mainspring.cli.asking import actor, known_queues, nearest, open_gateway
from mainspring.cli.options import COMMANDS, FLAG, Given, Options
from mainspring.cli.output import (
    Change,
    check_change_columns,
    out,
    show_changes,
    show_list,
    show_one,
    tell_dry_run,
)
from mainspring.cli.records import queue_record
from mainspring.cli.tables import Cell, Column
from mainspring.cli.text import absolute, printable, relative, rough, styled
from mainspring.domain.errors import NotFound
from mainspring.domain.job import QueueView, WorkerView
from mainspring.domain.limits import QUEUE_CHARACTERS_MAX
from mainspring.domain.names import check_name
from mainspring.ports.clock import utc_now
from mainspring.ports.gateway import ClientGateway

app: Final = App(
    name="queues", help="Look at queues; pause and resume them.", group_commands=COMMANDS
)


@app.command
async def ls(*, options: Given) -> None:
    """List queues: those with jobs or a pause, and those that a handler or worker names."""
    async with open_gateway(options) as gateway:
        queues = {item.name: item for item in await gateway.list_queues()}
        slots: Counter[str] = Counter()
        for worker in await gateway.list_workers():
            if worker.state == "alive":
                slots.update(worker.queues)
        names = {*queues, *slots, *(item.queue for item in await gateway.list_handlers())}
    show_list(
        options,
        [queues.get(name) or _empty(name) for name in sorted(names)],
        columns=_columns(utc_now(), slots),
        record=lambda queue: queue_record(queue) | {"slots": slots[queue.name]},
        name=lambda queue: queue.name,
        empty="no queue has jobs, and no worker or handler names one",
    )


def _empty(name: str) -> QueueView:
    return QueueView(name, None, None, 0, 0, 0, 0, None)


def _columns(now: datetime, slots: Mapping[str, int]) -> list[Column[QueueView]]:
    return [
        Column("QUEUE", lambda queue: queue.name, shrinks=True),
        Column("SLOTS", lambda queue: _slots(slots.get(queue.name, 0)), right=True),
        Column("READY", lambda queue: f"{queue.ready:,}", right=True),
        Column("RUNNING", lambda queue: f"{queue.running:,}", right=True),
        Column("SCHEDULED", lambda queue: f"{queue.scheduled:,}", right=True),
        Column("RETRYING", lambda queue: f"{queue.retrying:,}", right=True),
        Column("OLDEST", lambda queue: _oldest(queue, now), right=True),
        Column("PAUSED", _paused, shrinks=True),
    ]


def _slots(count: int) -> Cell:
    return Cell(f"{count:,}") if count else Cell("none", "yellow")


def _oldest(queue: QueueView, now: datetime) -> str:
    return rough(now - queue.oldest_ready_at) if queue.oldest_ready_at else "-"


def _paused(queue: QueueView) -> Cell:
    if queue.paused_at is None:
        return Cell("")
    return Cell(queue.paused_reason or "paused", "yellow")


@app.command
async def get(queue: str, /, *, options: Given) -> None:
    """Show one queue: what is in it, who serves it, and whether it is paused.

    Parameters
    ----------
    queue
        The queue.
    """
    name = check_name("queue", queue, QUEUE_CHARACTERS_MAX)
    async with open_gateway(options) as gateway:
        await _check_known(gateway, name, is_new=False)
        queues = {item.name: item for item in await gateway.list_queues()}
        workers = [item for item in await gateway.list_workers() if name in item.queues]
        handlers = [item.kind for item in await gateway.list_handlers() if item.queue == name]
    found = queues.get(name) or _empty(name)
    serving = [item for item in workers if item.state == "alive"]
    record = queue_record(found) | {
        "slots": sum(item.queues[name] for item in serving),
        "workers": [item.name for item in serving],
        "kinds": handlers,
    }
    show_one(
        options,
        record,
        name=name,
        people=lambda: _people(options, found, serving, handlers),
    )


def _people(
    options: Options, queue: QueueView, serving: list[WorkerView], kinds: list[str]
) -> None:
    color = options.colors_data
    now = utc_now()
    state = styled("open", "green", color=color)
    if queue.paused_at is not None:
        state = styled("paused", "yellow", color=color)
    out(f"{styled(printable(queue.name), 'bold', color=color)}  {state}\n")
    oldest = f", the oldest for {_oldest(queue, now)}" if queue.oldest_ready_at else ""
    slots = sum(item.queues[queue.name] for item in serving)
    names = ", ".join(printable(item.name) for item in serving)
    facts = [
        ("ready", f"{queue.ready:,}{oldest}"),
        ("running", f"{queue.running:,}"),
        ("scheduled", f"{queue.scheduled:,}"),
        ("retrying", f"{queue.retrying:,}"),
        ("slots", f"{slots:,} ({names})" if serving else "none: no worker serves it"),
        ("kinds", ", ".join(kinds) or "-"),
    ]
    if queue.paused_at is not None:
        when = f"{absolute(queue.paused_at)}  ({relative(queue.paused_at, now)})"
        facts.insert(0, ("paused", when))
        facts.insert(1, ("reason", printable(queue.paused_reason or "-")))
    for label, value in facts:
        out(f"  {styled(f'{label:<10}', 'dim', color=color)}{value}")


@app.command
async def pause(
    queue: str,
    /,
    *,
    reason: str = "",
    new: Annotated[bool, FLAG] = False,
    dry_run: Annotated[bool, FLAG] = False,
    options: Given,
) -> None:
    """Hand out nothing more of a queue; what runs goes on.

    Parameters
    ----------
    queue
        The queue.
    reason
        Shown wherever somebody wonders.
    new
        Also a queue that nothing names yet.
    dry_run
        Only say what would be done.
    """
    check_change_columns(options)
    name = check_name("queue", queue, QUEUE_CHARACTERS_MAX)
    async with open_gateway(options) as gateway:
        await _check_known(gateway, name, is_new=new)
        if dry_run:
            changed = not await _is_paused(gateway, name)
        else:
            changed = await gateway.pause_queue(name, reason=reason, actor=actor())
    _show(options, Change(name, "paused", changed), dry_run=dry_run)


@app.command
async def resume(queue: str, /, *, dry_run: Annotated[bool, FLAG] = False, options: Given) -> None:
    """Hand out jobs of a queue again.

    Parameters
    ----------
    queue
        The queue.
    dry_run
        Only say what would be done.
    """
    check_change_columns(options)
    name = check_name("queue", queue, QUEUE_CHARACTERS_MAX)
    async with open_gateway(options) as gateway:
        await _check_known(gateway, name, is_new=False)
        if dry_run:
            changed = await _is_paused(gateway, name)
        else:
            changed = await gateway.resume_queue(name, actor=actor())
    _show(options, Change(name, "resumed", changed), dry_run=dry_run)


async def _is_paused(gateway: ClientGateway, name: str) -> bool:
    return any(
        item.name == name and item.paused_at is not None for item in await gateway.list_queues()
    )


async def _check_known(gateway: ClientGateway, name: str, *, is_new: bool) -> None:
    """Refuse a queue that nothing names: it is a slip more often than a plan."""
    known = await known_queues(gateway)
    if is_new or name in known:
        return
    near = nearest(name, known)
    hint = f"did you mean {near}?" if near else "mainspring queues ls lists those that are"
    raise NotFound(f"no job, handler or worker names the queue {name!r}", hint=hint)


def _show(options: Options, change: Change, *, dry_run: bool) -> None:
    show_changes(options, [change], unchanged="it was already")
    if dry_run:
        tell_dry_run()
