"""What happened: ``QueryStore.list_changes``."""

from datetime import datetime, timedelta

from mainspring.domain.changes import Changes
from mainspring.domain.limits import CHANGE_PATIENCE_SECONDS
from mainspring.domain.states import JobState
from mainspring.ports.store import Store
from mainspring.testing.builders import id_at, new_job
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    FAILED,
    SUCCEEDED,
    Suite,
    accept,
    claim_one,
    make_dead,
    open_worker,
    submit,
)

_SECOND = timedelta(seconds=1)


async def _since(store: Store, since: datetime, limit: int = 100) -> Changes:
    return await store.list_changes(since, limit=limit)


def _told(found: Changes) -> list[tuple[bytes, JobState, int]]:
    return [(change.job_id, change.state, change.attempt) for change in found.items]


class ChangeSuite(Suite):
    """A job that comes, begins, fails, begins again and ends."""

    async def test_each_step_of_a_job_is_told(self, store: Store, clock: SettableClock) -> None:
        worker = await open_worker(store)
        job = new_job(id=id_at(clock.now()))
        (job_id,) = await submit(store, job)
        told = await _since(store, clock.now())
        assert _told(told) == [(job_id, JobState.READY, 0)]
        (change,) = told.items
        assert (change.kind, change.queue, change.tenant) == (job.kind, "default", "default")
        assert change.at == clock.now()
        clock.advance(1)
        claimed = await claim_one(store, worker)
        assert _told(await _since(store, clock.now())) == [(job_id, JobState.RUNNING, 1)]
        clock.advance(1)
        await accept(store, claimed, FAILED, delay_ms=1_000)
        assert _told(await _since(store, clock.now())) == [(job_id, JobState.RETRYING, 1)]
        clock.advance(1)
        claimed = await claim_one(store, worker)
        assert _told(await _since(store, clock.now())) == [(job_id, JobState.RUNNING, 2)]
        clock.advance(1)
        await accept(store, claimed, SUCCEEDED)
        assert _told(await _since(store, clock.now())) == [(job_id, JobState.SUCCEEDED, 2)]

    async def test_what_was_before_is_not_told(self, store: Store, clock: SettableClock) -> None:
        await make_dead(store)
        await submit(store, new_job(id=id_at(clock.now())))
        clock.advance(1)
        assert (await _since(store, clock.now())).items == ()

    async def test_changes_come_in_order_of_time(self, store: Store, clock: SettableClock) -> None:
        begun_at = clock.now()
        made: list[bytes] = []
        for _ in range(3):
            made += await submit(store, new_job(id=id_at(clock.now())))
            clock.advance(1)
        found = await _since(store, begun_at)
        assert [change.job_id for change in found.items] == made
        assert not found.is_cut

    async def test_more_than_was_asked_for_is_said(
        self, store: Store, clock: SettableClock
    ) -> None:
        begun_at = clock.now()
        await submit(store, *[new_job(id=id_at(begun_at, number)) for number in range(4)])
        assert len((await _since(store, begun_at, limit=4)).items) == 4
        found = await _since(store, begun_at, limit=3)
        assert (len(found.items), found.is_cut) == (3, True)

    async def test_the_next_question_misses_nothing(
        self, store: Store, clock: SettableClock
    ) -> None:
        patience = timedelta(seconds=CHANGE_PATIENCE_SECONDS)
        first = await _since(store, clock.now() - _SECOND)
        assert clock.now() - patience <= first.through <= clock.now()
        (job_id,) = await submit(store, new_job(id=id_at(clock.now())))
        assert [change.job_id for change in (await _since(store, first.through)).items] == [job_id]
