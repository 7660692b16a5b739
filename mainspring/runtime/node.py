"""One process that runs roles together: a worker's keeper, the scheduler, recovery, housekeeping.

What ``mainspring worker start``, ``scheduler start`` and ``mainspring dev`` are made of. Signals
stop it: the first SIGTERM or SIGINT drains, a second one stops the handlers, a third kills them.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

import msgspec

from mainspring import __version__
from mainspring.dispatcher.audience import Audience
from mainspring.dispatcher.judgement import Judge
from mainspring.dispatcher.recovery import Recovery
from mainspring.domain.declared import Declared
from mainspring.domain.errors import ConfigError
from mainspring.domain.limits import RECOVER_JOBS_MAX
from mainspring.maintenance.operations import TOPICS as OPERATION_TOPICS
from mainspring.maintenance.operations import Carrying
from mainspring.maintenance.retention import Housekeeping
from mainspring.ports.clock import monotonic
from mainspring.ports.entropy import new_job_id, roll
from mainspring.ports.store import Store
from mainspring.runtime.assemble import (
    dice,
    is_remote,
    open_blobs,
    open_ready_store,
    open_worker_gateway,
)
from mainspring.runtime.delivering import deliver
from mainspring.runtime.loop import Ear, run_role
from mainspring.runtime.setting_table import Settings
from mainspring.runtime.settings import keep_days
from mainspring.runtime.succession import Runs, Succession
from mainspring.runtime.worker_process import CHILD_COMMAND, stopped_by_signals, with_signals
from mainspring.scheduler.firing import TOPICS, Firing
from mainspring.scheduler.rezoning import Rezoning
from mainspring.worker.config import WorkerConfig
from mainspring.worker.keeper import Keeper

_RECOVER_SECONDS: Final = 1.0
_HANDLERS_SECONDS: Final = 10.0

#: Something that lives beside the roles. The first event says that the node is stopping, the
#: second that the worker has stopped; after that it is to end.
Companion = Callable[[asyncio.Event, asyncio.Event], Awaitable[None]]


def _nobody() -> None:
    """Tell nobody."""


class Moments(NamedTuple):
    """Who is to be told, and when."""

    #: The store is open, and from now on signals stop the node in order.
    on_start: Callable[[], None] = _nobody
    #: The first signal has come.
    on_stop: Callable[[], None] = _nobody


NO_MOMENTS: Final = Moments()


class Duties(NamedTuple):
    """What a node does besides its main task."""

    #: Recover what others lost, and drop old history.
    maintains: bool = True
    #: Fire schedules.
    fires: bool = True


ALL_DUTIES: Final = Duties()


async def run_node(
    settings: Settings,
    config: WorkerConfig,
    *,
    duties: Duties = ALL_DUTIES,
    moments: Moments = NO_MOMENTS,
    companion: Companion | None = None,
    succession: Succession | None = None,
) -> int:
    """Run the roles until a signal or the companion's end stops them; return the exit status.

    All nodes may have all duties: nothing is done twice by that. A companion that returns stops the
    node in order; one that raises stops it and is raised. With a ``succession`` the worker can be
    replaced while the node runs.
    """
    async with open_worker_gateway(settings) as gateway:

        def make(chosen: WorkerConfig) -> Keeper:
            return Keeper(
                config=chosen,
                settings=msgspec.json.encode(settings).decode(),
                command=CHILD_COMMAND,
                gateway=gateway,
                version=__version__,
            )

        keeper: Runs
        if succession is None:
            keeper = make(config)
        else:
            succession.begin(config, make)
            keeper = succession
        stopping, stopped = asyncio.Event(), asyncio.Event()

        def ask_stop() -> None:
            if not stopping.is_set():
                stopping.set()
                moments.on_stop()
            keeper.ask_stop()

        with_signals(ask_stop)
        moments.on_start()
        async with asyncio.TaskGroup() as group:
            group.create_task(do_duties(duties, settings, stopping))
            beside = None
            if companion is not None:
                running = companion(stopping, stopped)
                beside = group.create_task(_beside(running, stopping, keeper.ask_stop))
            code = await keeper.run()
            stopping.set()
            stopped.set()
        if beside is not None and (failure := beside.result()) is not None:
            raise failure
        return code


async def _beside(
    companion: Awaitable[None], stopping: asyncio.Event, ask_stop: Callable[[], None]
) -> Exception | None:
    """Run the companion; whatever ends it stops the node in order, never in the middle."""
    try:
        await companion
    except Exception as error:  # noqa: BLE001 - handed on, after everything has stopped
        failure: Exception | None = error
    else:
        failure = None
    if not stopping.is_set():
        stopping.set()
        ask_stop()
    return failure


async def run_scheduler(
    settings: Settings, *, duties: Duties = ALL_DUTIES, moments: Moments = NO_MOMENTS
) -> None:
    """Run the duties without a worker until a signal stops them."""
    if is_remote(settings.store_url):
        raise ConfigError(
            "store: a server has its own scheduler, and this one needs the store itself",
            hint="give the store's address; or leave it to the server, which fires schedules",
        )
    stopping = stopped_by_signals(moments.on_stop)
    await do_duties(duties, settings, stopping, moments.on_start)


async def do_duties(
    duties: Duties,
    settings: Settings,
    stopping: asyncio.Event,
    on_start: Callable[[], None] = _nobody,
) -> None:
    """Do what is a node's duty, on a store of its own, so that no worker waits for it."""
    if not any(duties) or is_remote(settings.store_url):
        # A server that stands before a store has these duties itself.
        return
    store = await open_ready_store(settings)
    try:
        on_start()
        async with asyncio.TaskGroup() as group:
            audience = Audience(store, monotonic)
            if duties.maintains:
                group.create_task(_maintain(store, settings, audience, stopping))
                group.create_task(deliver(store, settings, stopping))
            if duties.fires:
                group.create_task(_fire(store, audience, stopping))
    finally:
        await store.close()


async def _maintain(
    store: Store, settings: Settings, audience: Audience, stopping: asyncio.Event
) -> None:
    """Recover, clean, and carry operations on."""
    blobs = open_blobs(settings)
    hints = store.wakeups.subscribe(OPERATION_TOPICS)
    try:
        house = Housekeeping(
            store,
            blobs=blobs,
            keep_days=keep_days(settings),
            keep_audit_days=settings.keep_audit_days,
        )
        judge = Judge(dice(), blobs, audience=audience)
        recovering = _Recovering(store, Recovery(store, store.wakeups, judge))
        carrying = Carrying(store, blobs=blobs)
        async with asyncio.TaskGroup() as group:
            group.create_task(run_role("recovery", recovering.step, stopping))
            group.create_task(run_role("housekeeping", house.step, stopping))
            running = run_role("operations", carrying.step, stopping, ear=lambda: Ear(hints))
            group.create_task(running)
    finally:
        hints.close()
        if blobs is not None:
            await blobs.close()


async def _fire(store: Store, audience: Audience, stopping: asyncio.Event) -> None:
    """Turn due fires into jobs."""
    firing = Firing(store, new_id=new_job_id, roll=roll, audience=audience)
    rezoning = Rezoning(store, new_id=new_job_id)
    hints = store.wakeups.subscribe(TOPICS)
    try:
        async with asyncio.TaskGroup() as group:
            running = run_role(
                "scheduler", firing.step, stopping, ear=lambda: Ear(hints, firing.deaf_seconds)
            )
            group.create_task(running)
            group.create_task(run_role("zone data", rezoning.step, stopping))
    finally:
        hints.close()


class _Recovering:
    """The recovery role: closes what ran out, with the declared kinds at hand."""

    def __init__(self, store: Store, recovery: Recovery) -> None:
        self._store = store
        self._recovery = recovery
        self._handlers = Declared()
        self._handlers_until = float("-inf")

    async def step(self) -> float:
        """Close one batch; come back at once when there may be more."""
        if monotonic() >= self._handlers_until:
            self._handlers = Declared(await self._store.list_handlers())
            self._handlers_until = monotonic() + _HANDLERS_SECONDS
        closed = await self._recovery.step(self._handlers)
        return 0.0 if closed >= RECOVER_JOBS_MAX else _RECOVER_SECONDS
