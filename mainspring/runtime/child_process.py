"""A worker's child process: the app, a gateway and a loop.

Run by the keeper as ``python -m mainspring.runtime.child_process SOCKET PAGE KEEPER``.
"""

import asyncio
import os
import sys
from contextlib import AbstractAsyncContextManager

import msgspec

from mainspring.ports.gateway import WorkerGateway
from mainspring.runtime.assemble import open_worker_gateway
from mainspring.runtime.setting_table import Settings
from mainspring.runtime.settings import as_environment
from mainspring.worker.entry import ChildProcess, run_child


def open_gateway(settings: str) -> AbstractAsyncContextManager[WorkerGateway]:
    """Open the gateway that the keeper's settings (JSON) name.

    Handlers, their isolates and what they start submit to the same store.
    """
    found = msgspec.json.decode(settings, type=Settings)
    os.environ.update(as_environment(found))
    return open_worker_gateway(found)


def run_loop(child: ChildProcess) -> int:
    """Run the child's work on the fastest loop that is installed."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(child.work(open_gateway))


def loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    """Return uvloop's loop where it is installed, else ``None`` for the standard one."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.Loop


if __name__ == "__main__":
    run_child(sys.argv[1:], run_loop)
