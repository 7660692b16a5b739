"""What two connections at once need: jobs that are held, and a look at who waits for whom."""

import asyncio

import asyncpg

from mainspring.domain.job import Claimed, NewJob, NewSession
from mainspring.store.postgres import PostgresStore
from mainspring.testing.builders import claim_ask, new_job, new_session

Raw = asyncpg.Connection  # a connection that is not the store's


async def open_worker(store: PostgresStore) -> NewSession:
    session = new_session()
    await store.open_session(session)
    return session


async def started(store: PostgresStore, count: int = 1) -> list[Claimed]:
    session = await open_worker(store)
    await store.submit([new_job() for _ in range(count)])
    claimed = await store.claim(claim_ask(session.id, limit=count))
    assert len(claimed) == count
    return claimed


async def until_blocked(raw: "Raw[asyncpg.Record]", role: str, count: int = 1) -> list[int]:
    """Return the pids of our backends that wait for a row, once there are so many."""
    for _ in range(500):
        # Inside a transaction the first look would be repeated for ever.
        await raw.execute("SELECT pg_stat_clear_snapshot()")
        rows = await raw.fetch(
            "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
            "AND datname = current_database() AND application_name = $1",
            f"mainspring {role}",
        )
        if len(rows) >= count:
            return [row[0] for row in rows]
        await asyncio.sleep(0.01)
    raise AssertionError("nobody waits")


def keyed() -> NewJob:
    return new_job(submission_key="once", body_hash=b"same")
