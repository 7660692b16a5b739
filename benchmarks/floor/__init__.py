"""The floor: the least that is a durable queue on a store. No product could do less work a job."""

from typing import Protocol


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

    async def close(self) -> None:
        """Let go of connections."""
        ...
