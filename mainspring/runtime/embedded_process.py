"""The process of an embedded worker: a node that drains when its pipe is closed.

Run as ``python -m mainspring.runtime.embedded_process``; its first line of input has the orders.
"""

import asyncio
import sys

import msgspec

from mainspring.runtime.embedded import Orders
from mainspring.runtime.node import run_node
from mainspring.telemetry.logs import set_up_logging


async def work(orders: Orders, pipe: asyncio.StreamReader) -> int:
    """Be a worker until the pipe is closed or a signal ends it; return the exit status."""

    async def hold(stopping: asyncio.Event, _stopped: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            closed = group.create_task(pipe.read())
            told = group.create_task(stopping.wait())
            await asyncio.wait((closed, told), return_when=asyncio.FIRST_COMPLETED)
            closed.cancel()
            told.cancel()

    return await run_node(orders.settings, orders.config, companion=hold)


async def main() -> int:
    """Read the orders, then work."""
    pipe = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(pipe), sys.stdin.buffer)
    line = await pipe.readline()
    if not line:
        return 0  # the server had ended before it could say anything
    orders = msgspec.json.decode(line, type=Orders)
    set_up_logging(orders.config.log_level)
    return await work(orders, pipe)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
