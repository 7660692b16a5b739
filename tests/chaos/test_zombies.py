"""Workers frozen past their lease: what they do after they wake must change nothing."""

from pathlib import Path

import pytest

from mainspring.domain.ids import show_job
from mainspring.domain.states import AttemptState
from mainspring.testing.history import History
from tests.chaos.fleet import Fleet
from tests.chaos.run import (
    Ledger,
    begin_long_work,
    freeze_between_writes,
    gather,
    migrate,
    open_ledger,
    prove,
    seed_of_this_run,
    until_a_zombie_reports,
    until_lost,
    wait_until_final,
)

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(240)]

ROUNDS = 3


@pytest.mark.parametrize("way", ["whole_worker", "keeper_only", "deaf_children"])
async def test_a_frozen_worker_changes_nothing_when_it_wakes(
    store_url: str, tmp_path: Path, way: str
) -> None:
    """Freeze past the lease, let others take over, thaw.

    Children end by themselves when their lease is over. Deaf ones (changed for this test) go on
    and report attempts that are not theirs any more: then only the store's fence is left.
    """
    seed = seed_of_this_run()
    await migrate(store_url)
    planted = "deaf" if way == "deaf_children" else ""
    fleet = Fleet(store_url, tmp_path, lease_ms=2_000, planted=planted)
    try:
        async with open_ledger(store_url, seed) as ledger:
            fleet.start()
            fleet.start()
            await ledger.until_workers(2)
            for number in range(ROUNDS):
                await _freeze_one(ledger, fleet, store_url, number, way)
            await wait_until_final(ledger, fleet)
            fleet.stop()
            history = await gather(ledger, fleet, store_url)
    finally:
        fleet.stop()
    prove(history, seed, fleet)
    if way == "deaf_children":
        assert stale_endings(history) > 0, "no zombie ended its work: nothing was shown"


async def _freeze_one(ledger: Ledger, fleet: Fleet, store_url: str, number: int, way: str) -> None:
    """Freeze a worker in the middle of long work, wait for the others to take over, thaw it."""
    living = fleet.living()
    keeper = living[number % len(living)]
    await begin_long_work(fleet, ledger, keeper)
    await freeze_between_writes(fleet, store_url, keeper, children=way == "whole_worker")
    await until_lost(ledger, fleet)
    if way == "deaf_children":
        await until_a_zombie_reports(ledger, fleet)
    fleet.thaw(keeper)


def stale_endings(history: History) -> int:
    """Count attempts that ended in their own eyes although the store had closed them as lost."""
    ended = {(effect.job, effect.attempt) for effect in history.effects if effect.event == "end"}
    return sum(
        (show_job(job_id), attempt.attempt) in ended
        for job_id, recorded in history.recorded.items()
        for attempt in recorded.attempts
        if attempt.state is AttemptState.LOST
    )
