"""A server of gRPC as a process of its own: ``python -m tests.gateways.server_main STORE PORT``.

It recovers what was lost, as every server does, and says its port on a line when it is ready.
"""

import asyncio
import signal
import sys

import msgspec

from mainspring.dispatcher.office import Office
from mainspring.ports.clock import monotonic
from mainspring.ports.entropy import new_job_id
from mainspring.registry.desk import FrontDesk
from mainspring.runtime.assemble import dice, open_blobs, open_ready_store
from mainspring.runtime.grpc_serving import GrpcBackroom, open_grpc
from mainspring.runtime.setting_table import Settings
from mainspring.server.doorkeeper import OpenDoorkeeper
from tests.gateways.loopback import unbound


async def serve(store_url: str, port: str) -> None:
    settings = msgspec.structs.replace(Settings(), store_url=store_url)
    store = await open_ready_store(settings)
    blobs = open_blobs(settings)
    desk = FrontDesk(store, blobs=blobs, new_id=new_job_id)
    backroom = GrpcBackroom(
        desk=lambda tenant: desk,
        office=Office(store, blobs=blobs, dice=dice(), monotonic=monotonic),
        doorkeeper=OpenDoorkeeper(),
        bind=unbound,
    )
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    async with open_grpc(backroom, f"127.0.0.1:{port}") as door:
        print(door.port, flush=True)
        await stopping.wait()
    await store.close()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
