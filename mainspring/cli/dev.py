"""``mainspring dev``: store and all roles in one command, and what happens to jobs."""

import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from cyclopts import Parameter

from mainspring import __version__
from mainspring.app.durations import milliseconds
from mainspring.cli.apps import project_app
from mainspring.cli.dev_desk import KEYS, DevDesk, deployed, first_command
from mainspring.cli.dev_door import DevDoor, dev_address
from mainspring.cli.live import LiveLog
from mainspring.cli.options import VALUE, Given, Options
from mainspring.cli.output import out
from mainspring.cli.tables import terminal_width
from mainspring.cli.text import count_of, printable, span, styled
from mainspring.cli.worker import DEFAULT_SLOTS, queues_of
from mainspring.domain.errors import InvalidInput
from mainspring.domain.job import HandlerInfo
from mainspring.domain.names import check_range
from mainspring.ports.scheduling import Planned
from mainspring.runtime.setting_table import Settings
from mainspring.runtime.settings import sqlite_path

if TYPE_CHECKING:
    from mainspring.worker.config import WorkerConfig

TOUR_APP: Final = "mainspring.cli.tour:app"
_SCHEDULES_SHOWN: Final = 8
_Flag = Parameter(negative="")


async def dev(  # noqa: PLR0913 - a command's options are its arguments
    app_reference: Annotated[str | None, Parameter(name="MODULE:APP")] = None,
    /,
    *,
    tour: Annotated[bool, _Flag] = False,
    exit_: Annotated[bool, Parameter(name="--exit", negative="")] = False,
    concurrency: int = DEFAULT_SLOTS,
    drain_timeout: Annotated[str, VALUE] = "10s",
    reload: bool = True,
    http: Annotated[str | None, VALUE] = None,
    server: bool = True,
    options: Given,
) -> int:
    """Run a store, a worker, a scheduler and maintenance here; show what happens to jobs.

    Parameters
    ----------
    app_reference
        Your app: shop:app is the attribute app of the module shop. Without one that of
        mainspring.toml; without that an example.
    tour
        Submit one of each example job, and say what one sees.
    exit_
        End after the tour instead of staying on.
    concurrency
        Jobs at a time in each queue.
    drain_timeout
        How long running handlers may finish after Ctrl-C, and after a save.
    reload
        Take up every save of a Python file below the project's folder.
    http
        Where REST listens, on this machine: HOST:PORT; by default 127.0.0.1:8470.
    server
        Serve REST as well, once all is ready; where the port is taken, go on without.
    """
    if tour and app_reference is not None:
        raise InvalidInput(
            "--tour shows the example app, and an app was given", hint="leave one of them out"
        )
    if exit_ and not tour:
        raise InvalidInput("--exit ends the tour, and there is none", hint="add --tour")
    reference = app_reference or (None if tour else project_app(options)) or TOUR_APP
    if http is not None:
        if not server:
            raise InvalidInput(
                "--http says where, and --no-server not at all", hint="give one of them"
            )
        http = str(dev_address(http))
    settings = options.settings(log_level="warning")
    plan = _Plan(
        reference=reference,
        slots=check_range("concurrency", concurrency, 1, 10_000),
        drain_seconds=milliseconds(drain_timeout, name="drain-timeout") / 1_000,
        reloads=reload and reference != TOUR_APP,
        tours=tour,
        ends_after_tour=exit_,
        http=(http or settings.http_address) if server else None,
    )
    return await _run(plan, options, settings)


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for."""

    reference: str
    slots: int
    drain_seconds: float
    reloads: bool
    tours: bool
    ends_after_tour: bool
    #: Where REST is to be, if anywhere.
    http: str | None

    def config(self, handlers: Sequence[HandlerInfo], settings: Settings) -> "WorkerConfig":
        """Return how a worker with these handlers runs."""
        from mainspring.worker.config import WorkerConfig

        return WorkerConfig(
            app=self.reference,
            queues=queues_of(handlers, self.slots),
            name="dev",
            drain_seconds=self.drain_seconds,
            log_level=settings.log_level,
        )


async def _run(plan: _Plan, options: Options, settings: Settings) -> int:
    from mainspring.cli.keys import can_listen
    from mainspring.runtime.declared import declarations
    from mainspring.runtime.node import Moments, run_node
    from mainspring.runtime.prepare import prepare_store
    from mainspring.runtime.succession import Succession
    from mainspring.telemetry.logs import set_up_logging

    found = await asyncio.to_thread(declarations, plan.reference)
    handlers = found.handlers
    await prepare_store(settings)
    schedules = await deployed(found, settings)
    set_up_logging(settings.log_level)
    _banner(options, plan, handlers, settings, has_keys=can_listen())
    _tell_schedules(schedules)
    succession = Succession()
    live = LiveLog(
        options,
        settings,
        first_command=first_command(handlers),
        tours=plan.tours,
        ends_after_tour=plan.ends_after_tour,
    )
    desk = DevDesk(live, options, settings, succession, plan.config, reference=plan.reference)
    door = None if plan.http is None else DevDoor(live, settings, plan.http)
    code = await run_node(
        settings,
        plan.config(handlers, settings),
        companion=desk.companion(handlers, reloads=plan.reloads, door=door),
        succession=succession,
        moments=Moments(
            on_stop=lambda: live.say(
                f"stopping: what runs may finish for {span(plan.drain_seconds * 1_000)}; "
                "Ctrl-C again hands it back"
            )
        ),
    )
    live.say("stopped; nothing is lost, mainspring dev goes on from here")
    return code


def _banner(
    options: Options,
    plan: _Plan,
    handlers: Sequence[HandlerInfo],
    settings: Settings,
    *,
    has_keys: bool,
) -> None:
    color = options.colors_data
    path = sqlite_path(settings.store_url)
    store = options.shown_store if path is None else f"{path} (SQLite)"
    title = styled(f"mainspring {__version__}", "bold", color=color)
    out(f" {title}  dev mode, data in {printable(store)}")
    kinds = ", ".join(handler.kind for handler in handlers[:8])
    more = ", …" if len(handlers) > 8 else ""
    whose = "the example app" if plan.reference == TOUR_APP else plan.reference
    slots = f"{plan.slots} slots"
    reload = "   reload on" if plan.reloads else ""
    what = count_of(len(handlers), "handler")
    told = f" worker dev: {whose}, {what} ({kinds}{more}), {slots}{reload}"
    is_wide_enough = len(told) <= terminal_width()
    out(told if is_wide_enough else f" worker dev: {whose}, {what}, {slots}{reload}")
    if has_keys:
        out(" " + "  ".join(f"({_key(key, color=color)}) {word}" for key, word in KEYS.items()))
    else:
        out(" Ctrl-C stops")
    out("")
    sys.stdout.flush()


def _tell_schedules(plan: Sequence[Planned]) -> None:
    """Say what fires here: what the app declares is deployed, as it would be in production."""
    there = [step for step in plan if step.what == "schedule" and step.action != "remove"]
    for step in there[:_SCHEDULES_SHOWN]:
        paused = " (paused)" if step.is_paused else ""
        out(f" schedule {printable(step.name)}: {step.sentence}{paused}")
    if len(there) > _SCHEDULES_SHOWN:
        out(f" … and {len(there) - _SCHEDULES_SHOWN:,} more: mainspring schedules ls")
    if there:
        out("")
        sys.stdout.flush()


def _key(key: str, *, color: bool) -> str:
    return styled(key, "bold", color=color)
