"""Connections that break and transactions that collide: what is repeated, and what is unknown."""

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from mainspring.domain.errors import ConnectionFailed, OutcomeUnknown
from mainspring.domain.job import Receipt
from mainspring.domain.outcome import ErrorInfo, Failed
from mainspring.store.postgres import PostgresStore
from mainspring.testing.builders import new_job, settlement, verdict
from tests.store.postgres.rivals import Raw, keyed, started, until_blocked

pytestmark = pytest.mark.postgres


async def test_a_deadlock_is_repeated(store: PostgresStore, raw: "Raw[asyncpg.Record]") -> None:
    jobs = await started(store, 2)
    first, second = sorted(job.job_id for job in jobs)
    # Ours looks for deadlocks after a second, the rival only later: so ours is the victim.
    await raw.execute("SET deadlock_timeout = '20s'")
    take = "SELECT FROM mainspring.jobs WHERE id = $1 FOR UPDATE"
    async with asyncio.TaskGroup() as group, raw.transaction():
        await raw.fetch(take, second.hex())
        settling = group.create_task(store.settle([settlement(job) for job in jobs]))
        await until_blocked(raw, "dispatch")
        await raw.fetch(take, first.hex())
    assert all(each.accepted for each in settling.result())


@pytest.mark.parametrize(("failures", "expected"), [(3, None), (100, ConnectionFailed)])
async def test_serialization_failures_are_repeated_a_few_times(
    store: PostgresStore,
    raw: "Raw[asyncpg.Record]",
    failures: int,
    expected: type[Exception] | None,
) -> None:
    # A sequence does not roll back, so it counts the tries.
    await raw.execute(
        "CREATE SEQUENCE tries; CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ "
        f"BEGIN IF nextval('tries') <= {failures} THEN RAISE EXCEPTION 'no' "
        "USING ERRCODE = '40001'; END IF; RETURN new; END $$;"
        "CREATE TRIGGER refusing BEFORE INSERT ON mainspring.jobs "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse()"
    )
    for is_keyed in (False, True):
        await raw.execute("SELECT setval('tries', 1, false)")
        job = keyed() if is_keyed else new_job()
        if expected is None:
            assert await store.submit([job]) == [Receipt(job.id)]
        else:
            with pytest.raises(expected):
                await store.submit([job])
            assert await raw.fetchval("SELECT last_value FROM tries") < 10


async def _broken_while_blocked(
    raw: "Raw[asyncpg.Record]", role: str, table: str, call: Callable[[], Awaitable[object]]
) -> BaseException | None:
    """Run a call against a table that is in use, end its backend, and return what it raised."""
    transaction = raw.transaction()
    await transaction.start()
    await raw.execute(f"LOCK TABLE mainspring.{table} IN ACCESS EXCLUSIVE MODE")

    async def attempt() -> BaseException | None:
        try:
            await call()
        except Exception as error:
            return error
        return None

    async with asyncio.TaskGroup() as group:
        calling = group.create_task(attempt())
        for pid in await until_blocked(raw, role):
            await raw.fetch("SELECT pg_terminate_backend($1)", pid)
        error = await calling
    await transaction.rollback()
    return error


async def test_what_a_killed_backend_means(
    store: PostgresStore, raw: "Raw[asyncpg.Record]"
) -> None:
    first, second = await started(store, 2)
    job = new_job()
    retry = verdict(second, Failed(ErrorInfo("E", "m")))
    calls: list[tuple[str, Callable[[], Awaitable[object]], type[Exception]]] = [
        # One statement is its own transaction: it may have been committed.
        ("submission", lambda: store.submit([job]), OutcomeUnknown),
        ("dispatch", lambda: store.settle([settlement(first)]), OutcomeUnknown),
        # Before its COMMIT a transaction is certain to be rolled back, and a read changes nothing.
        ("dispatch", lambda: store.settle([retry]), ConnectionFailed),
        ("submission", lambda: store.submit([keyed()]), ConnectionFailed),
        ("general", lambda: store.get_job(job.id), ConnectionFailed),
    ]
    for role, call, expected in calls:
        error = await _broken_while_blocked(raw, role, "jobs", call)
        assert type(error) is expected, (role, error)
    # The store needs nobody to come back, and repeating is harmless.
    assert await store.submit([job], repeated=True) == [Receipt(job.id)]
    assert [each.accepted for each in await store.settle([settlement(first), retry])] == [
        True,
        True,
    ]


async def test_a_lost_commit_is_unknown(store: PostgresStore, raw: "Raw[asyncpg.Record]") -> None:
    # Deferred to the COMMIT, and waiting for a row that we hold.
    await raw.execute(
        "CREATE TABLE gate AS SELECT 1 AS id; CREATE FUNCTION wait() RETURNS trigger "
        "LANGUAGE plpgsql AS $$ BEGIN UPDATE gate SET id = id; RETURN null; END $$;"
        "CREATE CONSTRAINT TRIGGER waiting AFTER INSERT ON mainspring.jobs DEFERRABLE "
        "INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()"
    )
    job = keyed()
    async with raw.transaction():
        await raw.execute("UPDATE gate SET id = id")
        submitting = asyncio.create_task(store.submit([job]))
        for pid in await until_blocked(raw, "submission"):
            await raw.fetch("SELECT pg_terminate_backend($1)", pid)
        with pytest.raises(OutcomeUnknown):
            await submitting
    assert (await store.submit([job], repeated=True))[0].job_id == job.id
