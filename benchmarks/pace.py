"""Jobs at a steady rate."""

from collections.abc import AsyncIterator
from typing import NamedTuple

from mainspring.ports.clock import monotonic, pause_seconds


class Pace(NamedTuple):
    """So many jobs, so many a second."""

    jobs: int
    per_second: int

    async def beats(self) -> AsyncIterator[int]:
        """Yield each job's number when its time has come; one that is late is made up for."""
        began = monotonic()
        for number in range(self.jobs):
            await pause_seconds(max(began + number / self.per_second - monotonic(), 0.0))
            yield number
