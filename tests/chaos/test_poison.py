"""Handlers that take their process down, hold it, or never come back: they end, alone."""

from pathlib import Path

import pytest

from mainspring.domain.states import AttemptState, JobState
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

POISON = ("exits", "segfaults")
STUCK = ("blocks_the_loop", "never_returns", "never_returns_isolated")


async def test_poison_ends_as_dead_letter_and_its_neighbours_succeed(
    store_url: str, tmp_path: Path
) -> None:
    seed = seed_of_this_run()
    await migrate(store_url)
    fleet = Fleet(store_url, tmp_path)
    try:
        async with open_ledger(store_url, seed) as ledger:
            fleet.start(processes=2)
            await ledger.until_declared("exits")
            poison = [await ledger.submit_one(kind) for kind in POISON]
            stuck = [await ledger.submit_one(kind) for kind in STUCK]
            await ledger.submit(300)
            await wait_until_final(ledger, fleet)
            # Poison takes down the children of every worker: all of them were disturbed.
            fleet.disturb_all()
            assert fleet.stop() == [0], fleet.logs()
            history = await gather(ledger, fleet, store_url)
    finally:
        fleet.stop()
    prove(history, seed, fleet)
    for job_id in poison:
        job, attempts = history.recorded[job_id].job, history.recorded[job_id].attempts
        assert (job.state, job.reason) == (JobState.DEAD, "crashes_exhausted")
        assert [attempt.state for attempt in attempts] == [AttemptState.LOST] * 3
    for job_id in stuck:
        job, attempts = history.recorded[job_id].job, history.recorded[job_id].attempts
        assert job.state is JobState.DEAD
        # Never its neighbours' way: it is known whose time was up.
        assert AttemptState.TIMED_OUT in {attempt.state for attempt in attempts}
        assert {attempt.state for attempt in attempts} <= {
            AttemptState.TIMED_OUT,
            AttemptState.LOST,
        }
    succeeded = sum(
        recorded.job.state is JobState.SUCCEEDED for recorded in history.recorded.values()
    )
    assert succeeded == 300
