"""Wall clock and processor time of a stretch, of this process and of process trees."""

from types import TracebackType
from typing import Self

import psutil

from benchmarks.figures import Cost, Throughput
from mainspring.ports.clock import monotonic


class Meter:
    """Measures what happens inside its ``with`` block.

    Processes that end meanwhile are counted by their parent, as the kernel keeps it.
    """

    def __init__(self, *, client: int | None, worker: int | None, server: int | None) -> None:
        """Watch these processes with all their children; ``None`` takes no part."""
        self._roots = {"client_us": client, "worker_us": worker, "server_us": server}
        self._before: dict[str, float] = {}
        self._after: dict[str, float] = {}
        self._began = self._ended = 0.0

    def __enter__(self) -> Self:
        self._before = self._read()
        self._began = monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended = monotonic()
        self._after = self._read()

    def throughput(self, jobs: int) -> Throughput:
        """Return what ``jobs`` jobs cost."""
        seconds = self._ended - self._began
        return Throughput(jobs_per_second=jobs / seconds, cost=self.cost(jobs))

    def cost(self, jobs: int) -> Cost:
        """Return the processor time a job."""
        spent = {
            name: 1_000_000 * (self._after[name] - before) / jobs
            for name, before in self._before.items()
        }
        return Cost(**spent)

    def _read(self) -> dict[str, float]:
        return {name: _tree(pid) for name, pid in self._roots.items() if pid is not None}


def _tree(pid: int) -> float:
    root = psutil.Process(pid)
    if pid == psutil.Process().pid:
        # Servers and workers are children of this process: they are measured by themselves.
        return _own(root)
    return sum(_own(each, reaped=True) for each in (root, *root.children(recursive=True)))


def _own(process: psutil.Process, *, reaped: bool = False) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    spent = times.user + times.system
    return spent + times.children_user + times.children_system if reaped else spent
