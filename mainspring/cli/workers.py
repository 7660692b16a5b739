"""``mainspring workers``: look at worker sessions; drain them."""

from datetime import datetime
from typing import Annotated, Final

from cyclopts import App, Parameter

from mainspring.cli.asking import actor, every, nearest, open_gateway
from mainspring.cli.job_tables import job_columns, state_cell
from mainspring.cli.options import COMMANDS, FLAG, Given, Options
from mainspring.cli.output import (
    Change,
    check_change_columns,
    out,
    show_changes,
    show_list,
    show_one,
    show_table,
    tell,
    tell_dry_run,
)
from mainspring.cli.records import job_record, worker_record
from mainspring.cli.tables import Column
from mainspring.cli.text import absolute, printable, relative, rough, state_style, styled
from mainspring.domain.errors import NotFound
from mainspring.domain.ids import WORKER, parse, show
from mainspring.domain.job import JobFilter, JobView, WorkerView
from mainspring.domain.states import HELD
from mainspring.ports.clock import utc_now
from mainspring.ports.gateway import ClientGateway

app: Final = App(name="workers", help="Look at workers; drain them.", group_commands=COMMANDS)
_RUNNING_MAX: Final = 10_000


@app.command
async def ls(*, options: Given) -> None:
    """List worker sessions, those of the last hour that have ended included."""
    async with open_gateway(options) as gateway:
        workers = await gateway.list_workers()
    show_list(
        options,
        workers,
        columns=_columns(utc_now()),
        record=worker_record,
        name=lambda worker: show(WORKER, worker.id),
        empty="no worker has come up yet; start one: mainspring worker start MODULE:APP",
    )


@app.command
async def get(worker: Annotated[str, Parameter(name="WORKER")], /, *, options: Given) -> None:
    """Show one worker: what it serves, and what it runs now.

    Parameters
    ----------
    worker
        Its id, wrk_…, or its name.
    """
    async with open_gateway(options) as gateway:
        found = await _find(gateway, worker)
        running = await _held_by(gateway, found)
    record = worker_record(found) | {"jobs": [job_record(job) for job in running]}
    show_one(
        options,
        record,
        name=show(WORKER, found.id),
        people=lambda: _people(options, found, running),
    )


async def _held_by(gateway: ClientGateway, worker: WorkerView) -> list[JobView]:
    """Return what a worker runs; the list of running jobs is short."""
    wanted = JobFilter(states=HELD)
    return [
        job
        async for job in every(gateway, wanted, limit=_RUNNING_MAX)
        if job.worker_id == worker.id
    ]


def _people(options: Options, worker: WorkerView, running: list[JobView]) -> None:
    color = options.colors_data
    now = utc_now()
    state = styled(worker.state, state_style(worker.state), color=color)
    name = styled(printable(worker.name), "bold", color=color)
    out(f"{show(WORKER, worker.id)}  {name}  {state}\n")
    for label, value in (
        ("host", f"{worker.host}, process {worker.pid}"),
        ("version", worker.version),
        ("started", f"{absolute(worker.started_at)}  ({relative(worker.started_at, now)})"),
        ("beat", relative(worker.beat_at, now)),
        ("lease", f"until {absolute(worker.lease_until)}"),
        ("queues", _queues(worker)),
        ("kinds", ", ".join(worker.kinds)),
        ("running", f"{worker.running:,}"),
    ):
        out(f"  {styled(f'{label:<10}', 'dim', color=color)}{printable(value)}")
    if running:
        out("")
        show_table(options, running, job_columns(now))


async def _find(gateway: ClientGateway, word: str) -> WorkerView:
    """Return the worker of this id or name; of several with one name, the newest that lives."""
    workers = await gateway.list_workers()
    if word.startswith(f"{WORKER}_"):
        worker_id = parse(WORKER, word)
        found = [item for item in workers if item.id == worker_id]
    else:
        found = [item for item in workers if item.name == word]
        found.sort(key=lambda item: item.state != "alive")
    if found:
        return found[0]
    near = nearest(word, {item.name for item in workers})
    hint = f"did you mean {near}?" if near else "mainspring workers ls lists those that are"
    raise NotFound(f"no worker {word} is up", hint=hint)


@app.command
async def drain(
    worker: Annotated[str, Parameter(name="WORKER")],
    /,
    *,
    dry_run: Annotated[bool, FLAG] = False,
    options: Given,
) -> None:
    """Ask a worker to claim no more, finish what it runs and end.

    Parameters
    ----------
    worker
        Its id, wrk_…, or its name.
    dry_run
        Only say what would be done.
    """
    check_change_columns(options)
    async with open_gateway(options) as gateway:
        found = await _find(gateway, worker)
        is_up = found.state in ("alive", "draining")
        asked = is_up if dry_run else await gateway.drain_worker(found.id, actor=actor())
    if not asked:
        raise NotFound(
            f"no worker {worker} is up", hint="mainspring workers ls lists those that are"
        )
    show_changes(options, [Change(show(WORKER, found.id), "draining", found.state == "alive")])
    if dry_run:
        tell_dry_run()
    elif options.is_for_people:
        tell("it stops claiming as soon as it has heard of it, and ends when its jobs have")


def _columns(now: datetime) -> list[Column[WorkerView]]:
    return [
        Column("ID", lambda worker: show(WORKER, worker.id)),
        Column("NAME", lambda worker: worker.name, shrinks=True),
        Column("STATE", lambda worker: state_cell(worker.state)),
        Column("RUNNING", lambda worker: str(worker.running), right=True),
        Column("UP", lambda worker: rough(now - worker.started_at), right=True),
        Column("BEAT", lambda worker: relative(worker.beat_at, now), right=True),
        Column("QUEUES", _queues, from_width=100, shrinks=True),
        Column("HOST", lambda worker: f"{worker.host}:{worker.pid}", from_width=120),
        Column("VERSION", lambda worker: worker.version, wide=True),
        Column("KINDS", lambda worker: ",".join(worker.kinds), wide=True),
    ]


def _queues(worker: WorkerView) -> str:
    return ",".join(f"{name}:{slots}" for name, slots in worker.queues.items())
