"""PostgreSQL killed with -9 under load; connections cut while a commit is under way."""

import asyncio
from pathlib import Path

import pytest

from mainspring.domain.states import AttemptState
from mainspring.ports.clock import pause_seconds
from mainspring.runtime.assemble import open_store
from mainspring.runtime.setting_table import Settings
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
WORKER_CUTS = 24
#: What every claim and every report of a success has in it.
STATEMENTS = (b"AS level (priority, since)", b"INSERT INTO mainspring.jobs_history_succeeded")


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


async def test_workers_whose_connections_are_cut_hold_on_to_nothing(
    durable_postgres: PostgresServer, tmp_path: Path
) -> None:
    """Cut a worker's claims and reports before and after the server has carried them out.

    A claim without an answer leaves jobs that nobody runs; they are handed back, long before the
    deadline of an attempt, and are not charged for it.
    """
    seed = seed_of_this_run()
    store_url = durable_postgres.create_database()
    await migrate(store_url)
    # Nobody is to lose its session here: what is lost must be made good by its loser.
    fleet = Fleet(store_url, tmp_path, lease_ms=30_000)
    try:
        async with (
            FaultProxy(
                durable_postgres.host, durable_postgres.port, protocol=Protocol.POSTGRES
            ) as proxy,
            open_ledger(store_url, seed) as ledger,
        ):
            fleet.start(through=proxy.through(store_url))
            await ledger.until_workers(1)
            for number in range(WORKER_CUTS):
                cut = proxy.cut_before if number % 2 else proxy.cut_after
                happened = cut(STATEMENTS[number // 2 % len(STATEMENTS)]).happened
                while not happened.is_set():
                    await ledger.submit(5)
                    await pause_seconds(0.05)
            await wait_until_final(ledger, fleet)
            # In a thread: the worker's goodbye goes through the proxy, which lives on this loop.
            assert await asyncio.to_thread(fleet.stop) == [0], fleet.logs()
            history = await gather(ledger, fleet, store_url)
    finally:
        fleet.stop()
    prove(history, seed, fleet)
    attempts = [each for recorded in history.recorded.values() for each in recorded.attempts]
    released = [attempt for attempt in attempts if attempt.state is AttemptState.RELEASED]
    assert released, "no claim was carried out without an answer: the run shows nothing"
    assert {attempt.state for attempt in attempts} <= {
        AttemptState.SUCCEEDED,
        AttemptState.RELEASED,
        AttemptState.FAILED,  # as every 17th does
    }
