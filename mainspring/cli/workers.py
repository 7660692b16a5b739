"""``mainspring workers``: look at worker sessions."""

from datetime import datetime
from typing import Annotated, Final

from cyclopts import App, Parameter

from mainspring.cli.asking import open_gateway
from mainspring.cli.job_tables import state_cell
from mainspring.cli.options import COMMANDS, Given
from mainspring.cli.output import show_list, tell
from mainspring.cli.records import worker_record
from mainspring.cli.tables import Column
from mainspring.cli.text import relative, rough
from mainspring.domain.errors import NotFound
from mainspring.domain.ids import WORKER, parse, show
from mainspring.domain.job import WorkerView
from mainspring.ports.clock import utc_now

app: Final = App(name="workers", help="Look at worker sessions.", group_commands=COMMANDS)


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
async def drain(worker: Annotated[str, Parameter(name="WORKER")], /, *, options: Given) -> None:
    """Ask a worker to claim no more, finish what it runs and end.

    Parameters
    ----------
    worker
        Its id, wrk_…
    """
    worker_id = parse(WORKER, worker)
    async with open_gateway(options) as gateway:
        asked = await gateway.drain_worker(worker_id)
    if not asked:
        raise NotFound(
            f"no worker {worker} is up", hint="mainspring workers ls lists those that are"
        )
    tell(f"{worker} drains as soon as it has heard of it")


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
