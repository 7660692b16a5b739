"""Workers frozen past their lease: what they do after they wake must change nothing."""

from pathlib import Path

import pytest

from mainspring.domain.ids import show_job
from mainspring.domain.states import AttemptState
from mainspring.ports.clock import monotonic, pause_seconds
from mainspring.testing.history import History
from tests.chaos.fleet import Fleet
from tests.chaos.run import (
    PATIENCE_SECONDS,
    Ledger,
    gather,
    migrate,
    open_ledger,
    prove,
    seed_of_this_run,
    wait_until_final,
)

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(240)]

ROUNDS = 3


@pytest.mark.parametrize("children", [True, False], ids=["whole_worker", "keeper_only"])
async def test_a_frozen_worker_changes_nothing_when_it_wakes(
    store_url: str, tmp_path: Path, children: bool
) -> None:
    seed = seed_of_this_run()
    await migrate(store_url)
    fleet = Fleet(store_url, tmp_path, lease_ms=2_000)
    try:
        async with open_ledger(store_url, seed) as ledger:
            fleet.start()
            fleet.start()
            for number in range(ROUNDS):
                await _freeze_one(ledger, fleet, number, children=children)
            await wait_until_final(ledger, fleet)
            fleet.stop()
            history = await gather(ledger, fleet, store_url)
    finally:
        fleet.stop()
    prove(history, seed, fleet)
    assert stale_endings(history) > 0 or children, "no zombie ended its work: nothing was shown"


async def _freeze_one(ledger: Ledger, fleet: Fleet, number: int, *, children: bool) -> None:
    """Freeze a worker in the middle of long work, wait for the others to take over, thaw it."""
    await ledger.submit_long(24)
    living = fleet.living()
    keeper = living[number % len(living)]
    await until_begun(fleet, ledger, keeper)
    fleet.freeze(keeper, children=children)
    await until_lost(ledger, fleet)
    fleet.thaw(keeper)


async def until_begun(fleet: Fleet, ledger: Ledger, keeper: int) -> None:
    """Wait until some child of this keeper is in the middle of something."""
    until = monotonic() + PATIENCE_SECONDS
    while monotonic() < until:
        children = {str(pid) for pid in fleet.children(keeper)}
        text = fleet.effects.read_text()
        if any(f'"pid": {pid}}}' in text for pid in children):
            return
        await pause_seconds(0.02)
    pytest.fail(f"worker {keeper} never began anything\n{fleet.logs()}")


async def until_lost(ledger: Ledger, fleet: Fleet) -> None:
    """Wait until the store has closed attempts of the frozen worker as lost."""
    before = ledger.lost_seen
    until = monotonic() + PATIENCE_SECONDS
    while monotonic() < until:
        ledger.lost_seen = await ledger.count_lost()
        if ledger.lost_seen > before:
            return
        await pause_seconds(0.1)
    pytest.fail(f"nobody took over from the frozen worker\n{fleet.logs()}")


def stale_endings(history: History) -> int:
    """Count attempts that ended in their own eyes although the store had closed them as lost."""
    ended = {(effect.job, effect.attempt) for effect in history.effects if effect.event == "end"}
    return sum(
        (show_job(job_id), attempt.attempt) in ended
        for job_id, recorded in history.recorded.items()
        for attempt in recorded.attempts
        if attempt.state is AttemptState.LOST
    )
