"""Workers and their children killed with -9 at random moments, over thousands of jobs."""

from pathlib import Path

import pytest

from mainspring.domain.states import AttemptState
from mainspring.ports.clock import pause_seconds
from tests.chaos.fleet import Fleet
from tests.chaos.run import (
    gather,
    migrate,
    open_ledger,
    prove,
    seed_of_this_run,
    wait_until_final,
)

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(240)]

WORKERS = 2
KILLS = 16
JOBS_A_ROUND = 150


async def test_workers_killed_at_random_lose_nothing_and_finish_nothing_twice(
    store_url: str, tmp_path: Path
) -> None:
    seed = seed_of_this_run()
    await migrate(store_url)
    fleet = Fleet(store_url, tmp_path)
    try:
        async with open_ledger(store_url, seed) as ledger:
            for _ in range(WORKERS):
                fleet.start(processes=2)
            for number in range(KILLS):
                await ledger.submit(
                    JOBS_A_ROUND, kinds=("work", "work", "work_in_thread", "work_isolated")
                )
                await _attack(fleet, ledger.dice.random(), number)
            await wait_until_final(ledger, fleet)
            assert fleet.stop() == [0] * WORKERS, fleet.logs()
            history = await gather(ledger, fleet, store_url)
    finally:
        fleet.stop()
    prove(history, seed, fleet)
    lost = sum(
        attempt.state is AttemptState.LOST
        for recorded in history.recorded.values()
        for attempt in recorded.attempts
    )
    assert len(history.recorded) == KILLS * JOBS_A_ROUND
    assert lost > 0, "no attempt was hit: the run shows nothing"


async def _attack(fleet: Fleet, roll: float, number: int) -> None:
    """Kill a whole worker or one child of it, a random moment after work came in."""
    await pause_seconds(roll * 0.5)
    living = fleet.living()
    keeper = living[number % len(living)]
    if number % 2 == 0:
        fleet.kill_child(keeper, number)
    else:
        fleet.kill_worker(keeper)
        fleet.start(processes=2)
