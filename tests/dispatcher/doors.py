"""The real store behind a connection that breaks, and what many tests of the gateway do first."""

from collections.abc import Callable, Sequence
from typing import Any

from mainspring.dispatcher.gateway import LocalGateway
from mainspring.domain.job import Claimed, HandlerInfo, Settled, Settlement
from mainspring.domain.outcome import Outcome, Report
from mainspring.ports.store import ClaimAsk, Store
from mainspring.testing.builders import claim_ask, new_job, new_session

MakeGateway = Callable[[], LocalGateway]


class Seconds:
    """Monotonic seconds, moved by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Faulty:
    """Raises the next fault before a settlement reaches the store, or after it took effect.

    ``claims`` are the faults of claims that took effect, whose answers were lost.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.before: list[Exception] = []
        self.after: list[Exception] = []
        self.claims: list[Exception] = []
        self.settled: list[Settlement] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def claim(self, ask: ClaimAsk) -> list[Claimed]:
        claimed = await self._store.claim(ask)
        if self.claims:
            raise self.claims.pop(0)
        return claimed

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        if self.before:
            raise self.before.pop(0)
        settled = await self._store.settle(settlements)
        self.settled += settlements
        if self.after:
            raise self.after.pop(0)
        return settled


async def open_worker(
    gateway: LocalGateway, *, handlers: Sequence[HandlerInfo] = (), **changes: Any
) -> bytes:
    """Open a session; return the worker's id."""
    session = new_session(**changes)
    await gateway.open_session(session, handlers)
    return session.id


async def claim_new(
    gateway: LocalGateway, store: Store, worker_id: bytes | None = None, **changes: Any
) -> Claimed:
    """Submit a job and claim it through the gateway."""
    job = new_job(**changes)
    await store.submit([job])
    worker = worker_id or await open_worker(gateway)
    claimed = await gateway.claim(claim_ask(worker))
    assert [item.job_id for item in claimed] == [job.id]
    return claimed[0]


def report_of(claimed: Claimed, outcome: Outcome) -> Report:
    """Return what a worker hands in."""
    return Report(claimed.job_id, claimed.attempt, outcome)


async def report(gateway: LocalGateway, claimed: Claimed, outcome: Outcome) -> bool:
    """Hand in one outcome."""
    return (await gateway.report([report_of(claimed, outcome)]))[0]
