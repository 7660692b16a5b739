"""The role that carries operations on, against whatever happens beside it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mainspring.domain.errors import ConnectionFailed, InvalidInput
from mainspring.domain.job import JobFilter
from mainspring.domain.operation import OperationState, OperationView, Outcome
from mainspring.domain.states import JobState
from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.maintenance import operations
from mainspring.maintenance.operations import Carrying
from mainspring.ports.operations import Stepped
from mainspring.ports.store import Store
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.operations import an_operation, begin, members_of
from mainspring.testing.conformance.steps import (
    counts,
    make_dead,
    states_of,
    submit_many,
    view,
)
from tests.maintenance.conftest import files_below


async def _now(store: Store, operation: OperationView) -> OperationView:
    found = await store.get_operation(operation.id)
    assert found is not None
    return found


async def test_it_goes_on_until_all_is_done_and_then_rests(
    store: Store, clock: SettableClock
) -> None:
    role = Carrying(store, blobs=None, batch_jobs=2)
    idle = await role.step()
    assert idle > 1
    dead = [(await make_dead(store)).job_id for _ in range(5)]
    first, second = await begin(store, clock), await begin(store, clock, action="cancel")
    while (await store.pick_operations(5)).ids:
        assert await role.step() < idle
        clock.advance(1)
    assert await role.step() == idle
    for operation, changed in ((first, 5), (second, 0)):
        done = await _now(store, operation)
        assert (done.state, done.progress.changed) == (OperationState.DONE, changed)
    assert set(await states_of(store, dead)) == {JobState.READY}


async def test_a_rate_says_when_to_come_back(store: Store, clock: SettableClock) -> None:
    for _ in range(3):
        await make_dead(store)
    made = await begin(store, clock, options={"rate": 0.25})
    role = Carrying(store, blobs=None)
    await role.step()
    assert await role.step() == 4.0
    assert (await _now(store, made)).progress.changed == 1
    clock.advance(4)
    await role.step()
    assert (await _now(store, made)).progress.changed == 2


async def test_objects_of_the_purged_are_deleted(
    store: Store, clock: SettableClock, tmp_path: Path
) -> None:
    blobs = LocalBlobs(str(tmp_path / "blobs"))
    reference = await blobs.put("payloads/x", b"{}")
    await make_dead(store, payload_ref=reference)
    await begin(store, clock, action="purge")
    assert files_below(tmp_path) != []
    await Carrying(store, blobs=blobs).step()
    assert files_below(tmp_path) == []


class _Broken:
    """A store in which one job cannot be changed."""

    def __init__(self, store: Store, culprit: bytes) -> None:
        self._store = store
        self._culprit = culprit

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def act_on_members(
        self, operation_id: bytes, *, limit: int, refusal: str | None = None
    ) -> Stepped | None:
        decided = await self._store.list_members(operation_id, limit=500)
        page = await self._store.list_jobs(JobFilter(), limit=500, before=None)
        known = {one.job_id for one in decided}
        left = sorted(job.id for job in page.items if job.id not in known)
        if refusal is None and self._culprit in left[:limit]:
            raise InvalidInput("this job is broken")
        return await self._store.act_on_members(operation_id, limit=limit, refusal=refusal)


async def test_one_job_that_cannot_be_changed_harms_no_other(
    store: Store, clock: SettableClock
) -> None:
    dead = [(await make_dead(store)).job_id for _ in range(9)]
    made = await begin(store, clock)
    broken: Any = _Broken(store, dead[4])
    role = Carrying(broken, blobs=None, batch_jobs=3)
    for _ in range(30):
        await role.step()
    done = await _now(store, made)
    assert done.state is OperationState.DONE
    assert (done.progress.changed, done.progress.failed) == (8, 1)
    assert [(one.job_id, one.message) for one in done.progress.errors] == [
        (dead[4], "this job is broken"),
    ]  # fmt: skip
    (failed,) = await members_of(store, made, [Outcome.FAILED])
    assert (failed.job_id, failed.reason) == (dead[4], "this job is broken")


async def test_a_store_that_is_away_is_no_failure(
    store: Store, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_dead(store)
    made = await begin(store, clock)

    async def away(*_given: object, **_named: object) -> None:
        raise ConnectionFailed("it is away")

    role = Carrying(store, blobs=None)
    for name in ("act_on_members", "freeze_members"):
        with monkeypatch.context() as patch:
            patch.setattr(store, name, away)
            with pytest.raises(ConnectionFailed):
                await role.step()
        assert (await _now(store, made)).state is OperationState.RUNNING
    await role.step()
    assert (await _now(store, made)).state is OperationState.DONE


async def test_a_search_that_is_not_understood_fails_and_says_so(
    store: Store, clock: SettableClock
) -> None:
    # As a newer version would write it.
    made = await begin(store, clock, query="mood:bad")
    behind = await begin(store, clock)
    role = Carrying(store, blobs=None)
    await role.step()
    failed = await _now(store, made)
    assert failed.state is OperationState.FAILED
    assert "there is no field 'mood'" in failed.reason
    await role.step()
    assert (await _now(store, behind)).state is OperationState.DONE


async def test_any_number_of_nodes_may_carry_on(
    store: Store, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "_RESTS_A_STEP", 0.0)
    jobs = await submit_many(store, 60)
    made = [await begin(store, clock, action="cancel") for _ in range(3)]

    async def node() -> None:
        role = Carrying(store, blobs=None, batch_jobs=4)
        while (await store.pick_operations(5)).ids:
            await role.step()

    await asyncio.gather(*(node() for _ in range(4)))
    assert await counts(store) == {JobState.CANCELLED: 60}
    reports = [(await _now(store, each)).progress for each in made]
    assert sum(progress.changed for progress in reports) == 60
    assert [progress.decided for progress in reports] == [progress.matched for progress in reports]
    for each in made:
        ids = [one.job_id for one in await members_of(store, each)]
        assert ids == sorted(set(ids))
        assert set(ids) <= set(jobs)


async def test_a_preview_is_left_alone(store: Store, clock: SettableClock) -> None:
    dead = (await make_dead(store)).job_id
    await store.create_operation(
        an_operation(clock.now(), state=OperationState.PREVIEWED), actor="ada"
    )
    await Carrying(store, blobs=None).step()
    assert (await view(store, dead)).state is JobState.DEAD
