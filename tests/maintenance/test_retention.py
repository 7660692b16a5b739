from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mainspring.domain.errors import NotFound
from mainspring.domain.ids import show_attempt
from mainspring.domain.references import file_key
from mainspring.domain.states import JobState
from mainspring.domain.trail import AuditFilter
from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.maintenance.files import FileSweeper
from mainspring.maintenance.retention import KEEP_DAYS, Housekeeping
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.store.postgres import open_postgres
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.builders import settlement
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import (
    counts,
    finish,
    make_dead,
    start,
    state_of,
    submit_one,
)
from tests.conftest import MakeDatabase

#: A partition may outlive its oldest row by its own length.
_SLACK_DAYS = 8


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    return LocalBlobs(str(tmp_path / "blobs"))


async def finish_with_result(store: Store, blobs: LocalBlobs, key: str) -> bytes:
    """Finish a job whose result lies in the object store."""
    claimed = await start(store)
    reference = await blobs.put(key, b"[1]")
    await store.settle([settlement(claimed, result_ref=reference)])
    return claimed.job_id


async def sweep_all(house: Housekeeping) -> None:
    for _ in range(50):
        if not (await house.sweep()).dropped:
            return
    raise AssertionError("a sweep that never comes to its end")


def objects(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


async def cancelled_job(store: Store) -> bytes:
    job_id = await submit_one(store)
    await store.cancel([job_id], reason="", force=False, actor="test")
    return job_id


def test_every_final_state_is_kept_for_a_while() -> None:
    assert KEEP_DAYS == {
        JobState.SUCCEEDED: 7,
        JobState.CANCELLED: 7,
        JobState.EXPIRED: 7,
        JobState.SKIPPED: 7,
        JobState.DEAD: 90,
    }


async def test_history_is_kept_as_long_as_promised_and_no_longer(
    store: Store, clock: SettableClock
) -> None:
    house = Housekeeping(store, blobs=None)
    await house.sweep()
    done, dead = (await finish(store)).job_id, (await make_dead(store)).job_id
    cancelled = await cancelled_job(store)
    waiting = await submit_one(store, delay_ms=300 * 86_400_000)
    clock.advance(timedelta(days=6, hours=23))
    await sweep_all(house)
    assert len(await store.get_states([done, dead, cancelled, waiting])) == 4
    clock.advance(timedelta(days=1 + _SLACK_DAYS))
    await sweep_all(house)
    assert set(await store.get_states([done, dead, cancelled, waiting])) == {dead, waiting}
    clock.advance(timedelta(days=90 - 17))
    await sweep_all(house)
    assert await state_of(store, dead) is JobState.DEAD
    clock.advance(timedelta(days=2 * _SLACK_DAYS))
    await sweep_all(house)
    assert await counts(store) == {JobState.SCHEDULED: 1}


@pytest.mark.parametrize("kept", [{**KEEP_DAYS, JobState.SUCCEEDED: 30}])
async def test_the_days_are_settings(
    store: Store, clock: SettableClock, kept: Mapping[JobState, int]
) -> None:
    house = Housekeeping(store, blobs=None, keep_days=kept)
    done, cancelled = (await finish(store)).job_id, await cancelled_job(store)
    clock.advance(timedelta(days=7 + _SLACK_DAYS))
    await sweep_all(house)
    assert set(await store.get_states([done, cancelled])) == {done}


async def test_the_audit_is_kept_for_a_year_or_as_told(store: Store, clock: SettableClock) -> None:
    async def left() -> list[str]:
        found = await store.list_audit(AuditFilter(), limit=10)
        return [entry.subject for entry in found]

    await store.pause_queue("old", reason="", actor="ada")
    clock.advance(timedelta(days=360))
    await store.pause_queue("new", reason="", actor="ada")
    await sweep_all(Housekeeping(store, blobs=None))
    assert await left() == ["new", "old"]
    # A month's partition may outlive its oldest line by a month.
    clock.advance(timedelta(days=40))
    await sweep_all(Housekeeping(store, blobs=None))
    assert await left() == ["new"]
    clock.advance(timedelta(days=40))
    await sweep_all(Housekeeping(store, blobs=None, keep_audit_days=30))
    assert await left() == []


async def test_objects_go_with_their_jobs(
    store: Store, blobs: LocalBlobs, clock: SettableClock, tmp_path: Path
) -> None:
    house = Housekeeping(store, blobs=blobs)
    await finish_with_result(store, blobs, "result/old")
    reference = await blobs.put("payload/old", b"{}")
    await finish(store, payload_ref=reference)
    clock.advance(timedelta(days=7 + _SLACK_DAYS))
    fresh = await finish_with_result(store, blobs, "result/new")
    await sweep_all(house)
    assert objects(tmp_path) == ["new"]
    assert set(await store.get_states([fresh])) == {fresh}


async def test_without_an_object_store_rows_go_alone(
    store: Store, blobs: LocalBlobs, clock: SettableClock, tmp_path: Path
) -> None:
    await finish_with_result(store, blobs, "result/old")
    clock.advance(timedelta(days=7 + _SLACK_DAYS))
    await sweep_all(Housekeeping(store, blobs=None))
    assert await counts(store) == {}
    assert objects(tmp_path) == ["old"]


async def test_a_sweep_may_be_run_by_several_at_once_and_again(
    store: Store, clock: SettableClock
) -> None:
    houses = [Housekeeping(store, blobs=None) for _ in range(3)]
    await finish(store)
    clock.advance(timedelta(days=7 + _SLACK_DAYS))
    for house in houses:
        await sweep_all(house)
    assert (await houses[0].sweep()).dropped == []
    assert await counts(store) == {}


async def test_a_sweep_that_found_something_comes_back_soon(
    store: Store, clock: SettableClock
) -> None:
    house = Housekeeping(store, blobs=None)
    assert await house.step() == 3_600.0
    await finish(store)
    clock.advance(timedelta(days=7 + _SLACK_DAYS))
    assert await house.step() == 60.0
    await sweep_all(house)
    assert await house.step() == 3_600.0


async def test_a_backlog_of_history_is_worked_off_without_rest(clock: SettableClock) -> None:
    """A step that came to its bound left more: what comes in fast must go as fast."""
    store: Store = await open_sqlite(":memory:", clock=clock)
    try:
        await store.migrate(phase="all")
        for _ in range(5):
            await finish(store)
        clock.advance(timedelta(days=7 + _SLACK_DAYS))
        house = Housekeeping(store, blobs=None, rows_a_step=2)
        assert [await house.step() for _ in range(4)] == [1.0, 1.0, 60.0, 3_600.0]
        assert await counts(store) == {}
    finally:
        await store.close()


async def test_a_backlog_of_keys_is_worked_off_without_rest(
    store: Store, clock: SettableClock
) -> None:
    for number in range(5):
        await submit_one(store, submission_key=f"k{number}", body_hash=b"h" * 32, delay_ms=10**10)
    clock.advance(timedelta(hours=24, seconds=1))
    house = Housekeeping(store, blobs=None, rows_a_step=2)
    assert [await house.step() for _ in range(4)] == [1.0, 1.0, 60.0, 3_600.0]


async def test_expired_keys_are_forgotten(store: Store, clock: SettableClock) -> None:
    job_id = await submit_one(store, submission_key="k", body_hash=b"h" * 32, delay_ms=10**10)
    house = Housekeeping(store, blobs=None)
    assert (await house.sweep()).forgotten == 0
    clock.advance(timedelta(hours=24, seconds=1))
    assert (await house.sweep()).forgotten == 1
    assert (await house.sweep()).forgotten == 0
    assert set(await store.get_states([job_id])) == {job_id}


@pytest.mark.postgres
async def test_partitions_to_come_are_made_once(
    database: MakeDatabase, clock: SettableClock
) -> None:
    store: Store = await open_postgres(database(), clock=clock)
    try:
        await store.migrate(phase="all")
        house = Housekeeping(store, blobs=None)
        clock.advance(timedelta(days=60))
        assert len((await house.sweep()).prepared) >= 3
        assert (await house.sweep()).prepared == []
    finally:
        await store.close()


class Broken(LocalBlobs):
    """An object store that is away while rows are dropped."""

    async def delete(self, references: list[str]) -> None:
        raise ConnectionError


async def test_objects_that_cannot_be_deleted_stop_nothing_that_follows(
    store: Store, blobs: LocalBlobs, clock: SettableClock, tmp_path: Path
) -> None:
    await finish_with_result(store, blobs, "result/old")
    await submit_one(store, submission_key="k", body_hash=b"h" * 32, delay_ms=10**10)
    clock.advance(timedelta(days=7 + _SLACK_DAYS))
    away: Any = Broken(str(tmp_path / "blobs"))
    with pytest.raises(ConnectionError):
        await Housekeeping(store, blobs=away).sweep()
    assert await counts(store) == {JobState.SCHEDULED: 1}
    assert await store.forget_expired(9) == 0
    await sweep_all(Housekeeping(store, blobs=blobs))


async def test_saved_files_go_with_their_jobs(
    store: Store, clock: SettableClock, blobs: LocalBlobs
) -> None:
    gone, kept = await start(store), await start(store)
    day = clock.now().date().isoformat()
    references = {}
    for claimed in (gone, kept):
        shown = show_attempt(claimed.job_id, claimed.attempt)
        body = shown.encode()
        references[claimed.job_id] = await blobs.put(
            file_key("default", day, shown, "report.csv", body), body
        )
    strange = await blobs.put("files/not/ours", b"1")
    house = Housekeeping(store, blobs=blobs)
    await store.settle([settlement(gone)])
    assert (await house.sweep()).files == 0
    clock.advance(timedelta(days=KEEP_DAYS[JobState.SUCCEEDED] + _SLACK_DAYS))
    files = 0
    for _ in range(3):
        files += (await house.sweep()).files
    assert files == 1
    assert await store.get_job(gone.job_id) is None
    with pytest.raises(NotFound):
        await blobs.get(references[gone.job_id])
    assert await blobs.get(references[kept.job_id])
    assert await blobs.get(strange) == b"1"


async def test_many_files_are_walked_through_in_steps(store: Store, tmp_path: Path) -> None:
    blobs = LocalBlobs(str(tmp_path / "blobs"))
    for number in range(5):
        shown = show_attempt(new_job_id(), number)
        await blobs.put(file_key("default", "2026-01-01", shown, "f", b"1"), b"1")
    sweeper = FileSweeper(store, blobs, keys_a_step=2)
    assert [await sweeper.step() for _ in range(3)] == [(2, True), (2, True), (1, False)]
    assert await sweeper.step() == (0, False)
