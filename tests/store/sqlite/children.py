"""What the processes of these tests do: ``python -m tests.store.sqlite.children ROLE PATH``."""

import asyncio
import sys

from mainspring.domain.job import NewSession
from mainspring.domain.states import JobState
from mainspring.ports.store import Lane
from mainspring.store.sqlite import SqliteStore, open_sqlite
from mainspring.testing.builders import KIND, claim_ask, new_job, new_session, settlement

PATIENT_MS = 40_000


async def _submit_for_ever(store: SqliteStore) -> None:
    """Print every id after its acknowledgement, until killed."""

    async def caller() -> None:
        while True:
            (receipt,) = await store.submit([new_job(payload=b'"' + b"x" * 300 + b'"')])
            print(receipt.job_id.hex(), flush=True)

    await asyncio.gather(*(caller() for _ in range(16)))


async def _drain(store: SqliteStore) -> None:
    """Claim, settle and tell, until nothing is left."""
    session: NewSession = new_session()
    await store.open_session(session)
    empty = 0
    while empty < 3:
        ask = claim_ask(session.id, lanes=(Lane("default", 7),), kinds=(KIND,))
        claimed = await store.claim(ask)
        empty = 0 if claimed else empty + 1
        settled = await store.settle([settlement(job) for job in claimed])
        assert all(one.state is JobState.SUCCEEDED for one in settled)
        for job in claimed:
            print(job.job_id.hex(), job.attempt, flush=True)


async def _submit_unique(store: SqliteStore) -> None:
    """Submit the same keys as everybody else, and tell of every job that was made."""
    for number in range(300):
        job = new_job(unique_key=f"u{number}", on_duplicate="replace")
        (receipt,) = await store.submit([job])
        print(receipt.job_id.hex(), number, receipt.created, flush=True)


async def _main(role: str, path: str) -> None:
    store = await open_sqlite(path, busy_timeout_ms=PATIENT_MS)
    print("begun", flush=True)
    await {"submit": _submit_for_ever, "drain": _drain, "unique": _submit_unique}[role](store)
    await store.close()


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
