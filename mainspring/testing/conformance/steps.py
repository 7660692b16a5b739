"""The words in which the suites are told: what many tests do before their point."""

from collections.abc import Iterable
from typing import Any

import pytest

from mainspring.domain.job import Claimed, Held, JobView, NewJob, Settled
from mainspring.domain.outcome import ErrorInfo, Failed, Outcome, Succeeded
from mainspring.domain.states import JobState
from mainspring.ports.store import Store
from mainspring.testing.builders import claim_ask, new_job, new_session, verdict
from mainspring.testing.clock import SettableClock

BOOM = ErrorInfo("ValueError", "boom", "Traceback…", "app.py:31")
FAILED = Failed(BOOM)
FAILED_FOR_GOOD = Failed(BOOM, permanent=True)
SUCCEEDED = Succeeded()


class Suite:
    """What all suites share. Subclasses are bound to a backend by a ``store`` fixture."""

    pytestmark = pytest.mark.anyio

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Run on asyncio, the only loop that the product runs on."""
        return "asyncio"

    @pytest.fixture
    def clock(self) -> SettableClock:
        """Return the clock that the store of this test reads."""
        return SettableClock()


async def submit(store: Store, *jobs: NewJob) -> list[bytes]:
    """Submit jobs that must all be accepted as new; return their ids."""
    receipts = await store.submit(jobs)
    assert [receipt.job_id for receipt in receipts] == [job.id for job in jobs]
    assert all(receipt.created and not receipt.conflict for receipt in receipts)
    return [job.id for job in jobs]


async def submit_one(store: Store, **changes: Any) -> bytes:
    """Submit one job."""
    return (await submit(store, new_job(**changes)))[0]


async def submit_many(store: Store, count: int, **changes: Any) -> list[bytes]:
    """Submit equal jobs, in one call."""
    return await submit(store, *(new_job(**changes) for _ in range(count)))


async def open_worker(store: Store, **changes: Any) -> bytes:
    """Open a session; return the worker's id."""
    session = new_session(**changes)
    await store.open_session(session)
    return session.id


async def claim(store: Store, worker_id: bytes, **changes: Any) -> list[Claimed]:
    """Claim for a worker."""
    return await store.claim(claim_ask(worker_id, **changes))


async def claim_one(store: Store, worker_id: bytes, **changes: Any) -> Claimed:
    """Claim what must be exactly one job."""
    claimed = await claim(store, worker_id, **changes)
    assert len(claimed) == 1
    return claimed[0]


async def start(store: Store, **changes: Any) -> Claimed:
    """Submit one job and have a worker of its own claim it."""
    job_id = await submit_one(store, **changes)
    claimed = await claim_one(store, await open_worker(store))
    assert claimed.job_id == job_id
    return claimed


async def report(store: Store, job: Claimed | Held, outcome: Outcome, **changes: Any) -> Settled:
    """Settle one attempt as the product would judge its outcome."""
    settled = await store.settle([verdict(job, outcome, **changes)])
    assert len(settled) == 1
    assert (settled[0].job_id, settled[0].attempt) == (job.job_id, job.attempt)
    return settled[0]


async def accept(store: Store, job: Claimed | Held, outcome: Outcome, **changes: Any) -> Settled:
    """Settle one attempt; the store must take it."""
    settled = await report(store, job, outcome, **changes)
    assert settled.accepted
    assert not settled.repeated
    return settled


async def finish(store: Store, **changes: Any) -> Claimed:
    """Submit a job, claim it and have it succeed."""
    claimed = await start(store, **changes)
    await accept(store, claimed, SUCCEEDED)
    return claimed


async def make_dead(store: Store, **changes: Any) -> Claimed:
    """Submit a job, claim it and have it fail for good."""
    claimed = await start(store, **changes)
    await accept(store, claimed, FAILED_FOR_GOOD)
    return claimed


async def view(store: Store, job_id: bytes) -> JobView:
    """Look at a job that must exist."""
    found = await store.get_job(job_id)
    assert found is not None
    return found


async def state_of(store: Store, job_id: bytes) -> JobState:
    """Return the effective state of a job that must exist."""
    return (await view(store, job_id)).state


async def states_of(store: Store, job_ids: Iterable[bytes]) -> list[JobState]:
    """Return effective states in the order given."""
    return [await state_of(store, job_id) for job_id in job_ids]


async def counts(store: Store) -> dict[JobState, int]:
    """Return how many jobs are in each state that has any."""
    return {state: count for state, count in (await store.count_states()).items() if count}


async def worker_state(store: Store, worker_id: bytes) -> str:
    """Return the state of a session that must be listed."""
    found = [worker.state for worker in await store.list_workers() if worker.id == worker_id]
    assert len(found) == 1
    return found[0]


def absent(*values: object) -> bool:
    """Tell whether none of these was given."""
    return all(value is None for value in values)


def ids(found: Iterable[Claimed | Held]) -> list[bytes]:
    """Return the jobs' ids, in order."""
    return [job.job_id for job in found]
