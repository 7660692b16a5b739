"""``mainspring dev``: store, worker and maintenance in one command, and what happens to jobs."""

import asyncio
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from mainspring import __version__
from mainspring.app.durations import milliseconds
from mainspring.cli.live import LiveLog
from mainspring.cli.options import Given, Options
from mainspring.cli.output import out
from mainspring.cli.text import count_of, span, styled
from mainspring.cli.worker import DEFAULT_SLOTS, queues_of
from mainspring.domain.errors import InvalidInput, StoreNotWritable
from mainspring.domain.job import HandlerInfo
from mainspring.domain.names import check_range
from mainspring.runtime.settings import Settings, sqlite_path

TOUR_APP: Final = "mainspring.cli.tour:app"
_Flag = Parameter(negative="")


async def dev(
    app_reference: Annotated[str | None, Parameter(name="MODULE:APP")] = None,
    /,
    *,
    tour: Annotated[bool, _Flag] = False,
    exit_: Annotated[bool, Parameter(name="--exit", negative="")] = False,
    concurrency: int = DEFAULT_SLOTS,
    drain_timeout: str = "10s",
    options: Given,
) -> int:
    """Run a store, a worker and maintenance here; show what happens to jobs.

    Parameters
    ----------
    app_reference
        Your app: shop:app is the attribute app of the module shop. Without one, an example.
    tour
        Submit one of each example job, and say what one sees.
    exit_
        End after the tour instead of staying on.
    concurrency
        Jobs at a time in each queue.
    drain_timeout
        How long running handlers may finish after Ctrl-C.
    """
    from mainspring.runtime.declared import declared_by
    from mainspring.runtime.node import run_node
    from mainspring.telemetry.logs import set_up_logging
    from mainspring.worker.config import WorkerConfig

    if tour and app_reference is not None:
        raise InvalidInput(
            "--tour shows the example app, and an app was given", hint="leave one of them out"
        )
    if exit_ and not tour:
        raise InvalidInput("--exit ends the tour, and there is none", hint="add --tour")
    reference = app_reference or TOUR_APP
    slots = check_range("concurrency", concurrency, 1, 10_000)
    settings = options.settings(log_level="warning")
    drain_seconds = milliseconds(drain_timeout, name="drain-timeout") / 1_000
    handlers = await asyncio.to_thread(declared_by, reference)
    await _prepare(settings)
    config = WorkerConfig(
        app=reference,
        queues=queues_of(handlers, slots),
        name="dev",
        drain_seconds=drain_seconds,
        log_level=settings.log_level,
    )
    set_up_logging(settings.log_level)
    _banner(options, reference, handlers, slots)
    first = "submit greet name=Ada --wait" if reference == TOUR_APP else "handlers ls"
    live = LiveLog(options, settings, first_command=first, tours=tour, ends_after_tour=exit_)
    code = await run_node(
        settings,
        config,
        companion=live.run,
        on_stop=lambda: live.say(
            "stopping: what runs may finish for "
            f"{span(drain_seconds * 1_000)}, then it is handed back; Ctrl-C again to hurry"
        ),
    )
    live.say("stopped; nothing is lost: mainspring dev goes on where it was")
    return code


async def _prepare(settings: Settings) -> None:
    """Make the folder and the tables."""
    from mainspring.runtime.assemble import open_store

    path = sqlite_path(settings.store_url)
    if path is not None and path != ":memory:":
        _make_folder(path)
    elif path is not None:
        raise InvalidInput(
            "a store in memory cannot be shared by processes", hint="name a file: sqlite:///FILE"
        )
    store = await open_store(settings)
    try:
        await store.migrate(phase="all")
        await store.check_ready()
    finally:
        await store.close()


def _make_folder(path: str) -> None:
    folder = Path(path).absolute().parent
    try:
        if folder.is_dir():
            return
        folder.mkdir(parents=True)
        if folder.name == ".mainspring":
            # What is in it belongs to this machine, not to anybody's repository.
            (folder / ".gitignore").write_text("*\n")
    except OSError as error:
        raise StoreNotWritable(
            f"the folder {folder} cannot be made: {error.strerror}",
            hint="run where you may write, or name another file: --store sqlite:///FILE",
        ) from error


def _banner(
    options: Options, reference: str, handlers: tuple[HandlerInfo, ...], slots: int
) -> None:
    color = options.colors_data
    title = styled(f"mainspring {__version__}", "bold", color=color)
    out(f"{title}  dev, data in {options.shown_store}")
    kinds = ", ".join(handler.kind for handler in handlers[:8])
    more = ", …" if len(handlers) > 8 else ""
    what = "the example app" if reference == TOUR_APP else reference
    out(f"  worker  {what}: {count_of(len(handlers), 'handler')} ({kinds}{more})")
    out(f"  slots   {slots} in each queue; isolated handlers get processes of their own")
    out("  stop    Ctrl-C\n")
