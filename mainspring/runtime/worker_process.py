"""A worker: its keeper process wired to a gateway, and its signals."""

import asyncio
import importlib.metadata
import signal
import sys
from collections.abc import Callable
from typing import Final

import msgspec

from mainspring.ports.gateway import WorkerGateway
from mainspring.runtime.assemble import open_worker_gateway
from mainspring.runtime.setting_table import Settings
from mainspring.worker.config import WorkerConfig
from mainspring.worker.keeper import Keeper

CHILD_COMMAND: Final = (sys.executable, "-m", "mainspring.runtime.child_process")


async def run_worker(settings: Settings, config: WorkerConfig) -> int:
    """Be a worker until a signal ends it; return the exit code.

    SIGTERM or SIGINT drains, a second one stops the handlers, a third kills them.
    """
    async with open_worker_gateway(settings) as gateway:
        text = msgspec.json.encode(settings).decode()
        return await keep(gateway, text, config, CHILD_COMMAND)


async def keep(
    gateway: WorkerGateway, settings: str, config: WorkerConfig, command: tuple[str, ...]
) -> int:
    """Run a keeper on this loop with the signals of this process."""
    keeper = Keeper(
        config=config,
        settings=settings,
        command=command,
        gateway=gateway,
        version=product_version(),
    )
    with_signals(keeper.ask_stop)
    return await keeper.run()


def product_version() -> str:
    """Return the installed version; a source tree that was never installed has none."""
    try:
        return importlib.metadata.version("mainspring")
    except importlib.metadata.PackageNotFoundError:
        return "0+unknown"


def with_signals(ask_stop: Callable[[], None]) -> None:
    """Call ``ask_stop`` for each SIGTERM and SIGINT."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ask_stop)


def stopped_by_signals(on_stop: Callable[[], None]) -> asyncio.Event:
    """Return an event that the first SIGTERM or SIGINT sets, and tell of it once."""
    stopping = asyncio.Event()

    def ask_stop() -> None:
        if not stopping.is_set():
            stopping.set()
            on_stop()

    with_signals(ask_stop)
    return stopping
