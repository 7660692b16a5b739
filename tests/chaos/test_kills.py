"""Workers and their children killed with -9 at random moments, over thousands of jobs."""

import asyncio
from pathlib import Path

import pytest

from mainspring.domain.states import AttemptState
from tests.chaos.fleet import Fleet
from tests.chaos.run import (
    Ledger,
    gather,
    migrate,
    open_ledger,
    prove,
    seed_of_this_run,
    until_ended,
    wait_until_final,
)

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(240)]

WORKERS = 2
KILLS = 24
KINDS = ("work", "work", "work_in_thread", "work_isolated")


async def test_workers_killed_at_random_lose_nothing_and_finish_nothing_twice(
    store_url: str, tmp_path: Path
) -> None:
    seed = seed_of_this_run()
    await migrate(store_url)
    fleet = Fleet(store_url, tmp_path)
    try:
        async with open_ledger(store_url, seed) as ledger:
            await ledger.begin_firing(store_url)
            await _attack_under_load(fleet, ledger)
            await ledger.end_firing(store_url)
            await wait_until_final(ledger, fleet)
            await ledger.until_all_up(fleet)
            assert set(fleet.stop()) == {0}, fleet.logs()
            history = await gather(ledger, fleet, store_url)
    finally:
        fleet.stop()
    prove(history, seed, fleet)
    lost = sum(
        attempt.state is AttemptState.LOST
        for recorded in history.recorded.values()
        for attempt in recorded.attempts
    )
    assert len(history.recorded) == len(history.acknowledged) >= 2_000
    assert lost > 0, "no attempt was hit: the run shows nothing"


async def _attack_under_load(fleet: Fleet, ledger: Ledger) -> None:
    """Keep work coming while whole workers, and single children of them, are killed."""
    for _ in range(WORKERS):
        fleet.start(processes=2)
    await ledger.until_declared("work")
    over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(ledger.keep_submitting(over, kinds=KINDS))
        for number in range(KILLS):
            await until_ended(fleet, 60 + ledger.dice.randrange(80))
            living = fleet.living()
            keeper = living[number % len(living)]
            if number % 4 != 3 and fleet.kill_child(keeper, number):
                continue
            fleet.kill_worker(keeper)
            fleet.start(processes=2)
        over.set()
    while len(fleet.living()) < WORKERS:
        # Killed while it was starting: a supervisor would start it again.
        fleet.start(processes=2)
