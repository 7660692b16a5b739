"""The floor: the least that is a durable queue on a store. No product could do less work a job."""

from typing import Protocol

from benchmarks.pace import Pace


class Floor(Protocol):
    """A bare queue in a database of its own."""

    async def open(self) -> None:
        """Connect and make the tables."""
        ...

    async def insert(self, jobs: int) -> None:
        """Insert this many jobs, in batches, each batch committed and durable."""
        ...

    async def drain(self) -> int:
        """Claim, run, finish and keep every job; return how many there were."""
        ...

    async def pick_up(self, pace: Pace) -> list[float] | None:
        """Insert jobs one by one and run each as soon as it is heard of; the seconds in between.

        ``None`` where the store has no way to tell of a new job.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
