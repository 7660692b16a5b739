"""A keeper process for tests: the real keeper on the fake store."""

import asyncio
import logging
import sys

import msgspec

from mainspring.runtime.worker_process import keep
from mainspring.worker.config import WorkerConfig
from tests.worker.rig import open_socket_gateway

CHILD_COMMAND = (sys.executable, "-m", "tests.worker.child_main")


async def main(path: str, config: str) -> int:
    async with open_socket_gateway(path) as gateway:
        wanted = msgspec.json.decode(config, type=WorkerConfig)
        return await keep(gateway, path, wanted, CHILD_COMMAND)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    sys.exit(asyncio.run(main(*sys.argv[1:])))
