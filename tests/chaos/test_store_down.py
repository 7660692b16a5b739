"""PostgreSQL killed with -9 under load; connections cut while a commit is under way."""

import asyncio
from pathlib import Path

import pytest

from mainspring.ports.clock import pause_seconds
from mainspring.runtime.assemble import open_store
from mainspring.runtime.settings import Settings
from mainspring.testing.faults import FaultProxy, Protocol
from mainspring.testing.servers import PostgresServer
from tests.chaos.fleet import Fleet
from tests.chaos.run import (
    Ledger,
    gather,
    migrate,
    open_ledger,
    prove,
    seed_of_this_run,
    wait_until_final,
)

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.slow,
    pytest.mark.postgres,
    pytest.mark.timeout(300),
]

SERVER_KILLS = 6
CUTS = 60


async def test_a_killed_server_loses_nothing_that_was_acknowledged(
    durable_postgres: PostgresServer, tmp_path: Path
) -> None:
    seed = seed_of_this_run()
    store_url = durable_postgres.create_database()
    await migrate(store_url)
    fleet = Fleet(store_url, tmp_path, lease_ms=5_000)
    try:
        async with open_ledger(store_url, seed) as ledger:
            fleet.start()
            fleet.start()
            await ledger.until_workers(2)
            async with asyncio.TaskGroup() as group:
                group.create_task(_submit_all_along(ledger))
                for _ in range(SERVER_KILLS):
                    await pause_seconds(0.3 + ledger.dice.random())
                    await asyncio.to_thread(durable_postgres.kill9)
                    await pause_seconds(ledger.dice.random() * 0.5)
                    await asyncio.to_thread(durable_postgres.restart)
            await wait_until_final(ledger, fleet)
            # With the store away no session could be kept: every worker was cut off.
            fleet.disturb_all()
            fleet.stop()
            history = await gather(ledger, fleet, store_url)
    finally:
        fleet.stop()
    prove(history, seed, fleet)
    assert len(history.recorded) == len(history.acknowledged) == 40 * 25


async def _submit_all_along(ledger: Ledger) -> None:
    for _ in range(40):
        await ledger.submit_stubbornly(25)
        await pause_seconds(0.1)


async def test_a_commit_with_unknown_outcome_makes_exactly_one_job(
    durable_postgres: PostgresServer, tmp_path: Path
) -> None:
    """Cut the connection before and after the insert was carried out, over and over.

    Workers go directly to the server and finish jobs at once, so that a repetition meets ids that
    have already left the live table.
    """
    seed = seed_of_this_run()
    store_url = durable_postgres.create_database()
    await migrate(store_url)
    fleet = Fleet(store_url, tmp_path)
    try:
        async with (
            FaultProxy(
                durable_postgres.host, durable_postgres.port, protocol=Protocol.POSTGRES
            ) as proxy,
            open_ledger(proxy.through(store_url), seed) as ledger,
        ):
            fleet.start()
            for number in range(CUTS):
                cut = proxy.cut_before if number % 2 else proxy.cut_after
                cut(b"INSERT INTO mainspring.jobs", skip=0)
                await ledger.submit_stubbornly(3)
            assert proxy.counts.cuts >= CUTS * 0.9
            await wait_until_final(ledger, fleet)
            fleet.stop()
            history = await gather(ledger, fleet, store_url)
    finally:
        fleet.stop()
    prove(history, seed, fleet)
    assert len(history.recorded) == len(history.acknowledged) == CUTS * 3
    store = await open_store(Settings(store_url=store_url))
    try:
        assert sum((await store.count_states()).values()) == CUTS * 3
    finally:
        await store.close()
