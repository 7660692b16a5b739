"""Each planted bug must be caught by the checker. A proof that cannot fail proves nothing."""

from pathlib import Path

import pytest

from mainspring.testing.history import History, check
from mainspring.testing.servers import PostgresServer
from tests.chaos.fleet import Fleet
from tests.chaos.run import (
    begin_long_work,
    gather,
    migrate,
    open_ledger,
    seed_of_this_run,
    until_a_zombie_reports,
    until_lost,
    wait_until_final,
)

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.mark.parametrize("planted", ["no_fence", "by_id_only"])
async def test_a_store_without_the_fence_is_caught(
    durable_store_url: str, tmp_path: Path, planted: str
) -> None:
    """Freeze the keepers of deaf children, which report attempts that were taken over."""
    history = await _run_with(f"deaf,{planted}", durable_store_url, tmp_path)
    laws = {finding.law for finding in check(history)}
    assert laws & {"stale_finish", "numbering", "undecided", "open", "unexplained"}, laws


async def test_recovery_by_age_is_caught(durable_store_url: str, tmp_path: Path) -> None:
    """Work that takes longer than the age is given to a second worker while the first lives."""
    history = await _run_undisturbed("by_age", durable_store_url, tmp_path)
    assert "falsely_lost" in {finding.law for finding in check(history)}


@pytest.fixture
def durable_store_url(durable_postgres: PostgresServer) -> str:
    return durable_postgres.create_database()


async def _run_with(planted: str, store_url: str, folder: Path) -> History:
    await migrate(store_url)
    fleet = Fleet(store_url, folder, lease_ms=2_000, planted=planted)
    try:
        async with open_ledger(store_url, seed_of_this_run()) as ledger:
            fleet.start()
            fleet.start()
            await ledger.until_workers(2)
            for number in range(3):
                living = fleet.living()
                keeper = living[number % len(living)]
                await begin_long_work(fleet, ledger, keeper)
                fleet.freeze(keeper, children=False)
                await until_lost(ledger, fleet)
                await until_a_zombie_reports(ledger, fleet)
                fleet.thaw(keeper)
            await wait_until_final(ledger, fleet)
            fleet.stop()
            return await gather(ledger, fleet, store_url)
    finally:
        fleet.stop()


async def _run_undisturbed(planted: str, store_url: str, folder: Path) -> History:
    await migrate(store_url)
    fleet = Fleet(store_url, folder, planted=planted)
    try:
        async with open_ledger(store_url, seed_of_this_run()) as ledger:
            fleet.start()
            fleet.start()
            # Taken for lost again and again, no attempt ever counts: few of them show it.
            await ledger.submit_long(8, max_attempts=4)
            await ledger.submit(100)
            await wait_until_final(ledger, fleet)
            fleet.stop()
            return await gather(ledger, fleet, store_url)
    finally:
        fleet.stop()
