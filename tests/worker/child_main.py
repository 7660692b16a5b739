"""A child process for tests: the real child on the fake store."""

import asyncio
import sys

from mainspring.runtime.child_process import loop_factory
from mainspring.worker.entry import ChildProcess, run_child
from tests.worker.rig import open_socket_gateway


def run_loop(child: ChildProcess) -> int:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(child.work(open_socket_gateway))


if __name__ == "__main__":
    run_child(sys.argv[1:], run_loop)
