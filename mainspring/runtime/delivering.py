"""The role that sees to deliveries: it keeps a worker for webhooks while there is a use for one.

The worker is a keeper with a child, as any other, with an app of the product's own; so retries,
history and recovery of deliveries are those of jobs. Of many nodes a few have one.
"""

import asyncio
import logging
import os
import socket
from typing import Final

import msgspec

from mainspring import __version__
from mainspring.domain.errors import MainspringError
from mainspring.domain.webhooks import KIND, QUEUE
from mainspring.ports.entropy import roll
from mainspring.ports.store import Store
from mainspring.runtime.assemble import open_worker_gateway
from mainspring.runtime.loop import Ear, run_role
from mainspring.runtime.setting_table import Settings
from mainspring.runtime.worker_process import CHILD_COMMAND
from mainspring.worker.config import WorkerConfig
from mainspring.worker.keeper import Keeper

_log: Final = logging.getLogger("mainspring.webhooks")
#: Somebody made an endpoint, or wants a delivery.
TOPICS: Final = frozenset({"webhooks"})
NAME: Final = "mainspring-webhooks"
_APP: Final = "mainspring.runtime.webhook_app:app"
#: Without a hint a use for a worker is seen after so long at the latest.
_IDLE_SECONDS: Final = 15.0
#: While there is a use for one, a missing one is replaced after so long.
_LOOK_SECONDS: Final = 5.0
#: Nodes that saw the same hint do not all begin at once.
_SPREAD_SECONDS: Final = 1.0
#: So many deliver for all nodes: one, and one in case it vanishes.
_WORKERS_MAX: Final = 2
_SLOTS: Final = 16
_DRAIN_SECONDS: Final = 5.0


async def deliver(store: Store, settings: Settings, stopping: asyncio.Event) -> None:
    """Keep a worker for deliveries while there is a use for one."""
    hints = store.wakeups.subscribe(TOPICS)
    try:
        async with asyncio.TaskGroup() as group:
            role = Delivering(store, settings, group)
            await run_role("webhooks", role.step, stopping, ear=lambda: Ear(hints))
            role.stop()
    finally:
        hints.close()


class Delivering:
    """One node's part in the deliveries."""

    def __init__(self, store: Store, settings: Settings, group: asyncio.TaskGroup) -> None:
        """Start no worker yet."""
        self._store = store
        self._settings = settings
        self._group = group
        self._running: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._hesitated = False

    async def step(self) -> float:
        """Start a worker where one is wanted and missing, and end one too many."""
        if self._running is not None and self._running.done():
            self._running = None
        if not await self._is_wanted():
            self.stop()
            return _IDLE_SECONDS
        others, is_mine_surplus = await self._others()
        if self._running is not None:
            if is_mine_surplus:
                self.stop()
            return _LOOK_SECONDS
        if others >= _WORKERS_MAX:
            return _LOOK_SECONDS
        if others and not self._hesitated:
            # Another one delivers already: there is time to see whether a second one comes.
            self._hesitated = True
            return _SPREAD_SECONDS * roll()
        self._hesitated = False
        self._stopping = asyncio.Event()
        self._running = self._group.create_task(self._work(self._stopping))
        return _LOOK_SECONDS

    def stop(self) -> None:
        """Have the worker end in order, if there is one."""
        self._stopping.set()

    async def _is_wanted(self) -> bool:
        """Say whether anybody listens, or something is still to be delivered."""
        if await self._store.list_listeners():
            return True
        return await self._store.next_due_ms([QUEUE], [KIND]) is not None

    async def _others(self) -> tuple[int, bool]:
        """Return how many workers of other nodes deliver, and whether this one's is too many."""
        me = (socket.gethostname(), os.getpid())
        alive = sorted(
            (worker for worker in await self._store.list_workers() if worker.state == "alive"),
            key=lambda worker: worker.id,
        )
        places = [(worker.host, worker.pid) for worker in alive if KIND in worker.kinds]
        others = sum(place != me for place in places)
        return others, me in places and places.index(me) >= _WORKERS_MAX

    async def _work(self, stopping: asyncio.Event) -> None:
        try:
            await self._keep(stopping)
        except MainspringError as error:
            _log.warning("nothing can be delivered: %s", error)

    async def _keep(self, stopping: asyncio.Event) -> None:
        config = WorkerConfig(
            app=_APP,
            queues={QUEUE: _SLOTS},
            name=NAME,
            drain_seconds=_DRAIN_SECONDS,
            log_level=self._settings.log_level,
        )
        async with open_worker_gateway(self._settings) as gateway:
            keeper = Keeper(
                config=config,
                settings=msgspec.json.encode(self._settings).decode(),
                command=CHILD_COMMAND,
                gateway=gateway,
                version=__version__,
            )
            async with asyncio.TaskGroup() as group:
                told = group.create_task(_stop(keeper, stopping))
                await keeper.run()
                told.cancel()


async def _stop(keeper: Keeper, stopping: asyncio.Event) -> None:
    await stopping.wait()
    keeper.ask_stop()
