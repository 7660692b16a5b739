"""The role that takes schedules along to newer zone data."""

import json
import logging
from datetime import UTC, datetime, timedelta

import pytest

from mainspring.agenda.changes import rezone
from mainspring.agenda.standing import Ruling, Standing
from mainspring.domain.job import JobFilter
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.scheduler import rezoning
from mainspring.scheduler.rezoning import Rezoning
from mainspring.testing.clock import SettableClock
from mainspring.timetable.zones import zone_data_number
from tests.registry.drafts import ADA, draft

NOON = datetime(2027, 3, 14, 12, tzinfo=UTC)
NEWER = zone_data_number() + 1


async def made(desk: FrontDesk, name: str) -> bytes:
    wanted = draft(name, "0 * * * *", zone="Europe/Berlin")
    return (await desk.schedules.create(wanted, actor=ADA)).id


async def zones_of(store: Store, schedule: bytes) -> int:
    view = await store.get_schedule(schedule)
    assert view is not None
    return view.zones


async def test_all_are_taken_along_a_batch_at_a_time(
    store: Store, desk: FrontDesk, clock: SettableClock
) -> None:
    clock.set(NOON)
    made_ones = [await made(desk, f"s{number}") for number in range(5)]
    role = Rezoning(store, new_id=new_job_id, zones=NEWER, batch=2)
    assert [await role.step() for _ in range(3)] == [0.0, 0.0, 3_600.0]
    assert {await zones_of(store, each) for each in made_ones} == {NEWER}
    (*_, last) = await store.list_versions(made_ones[0])
    assert (last.change, last.zones) == ("zones", NEWER)


async def test_what_is_as_new_is_left_alone(
    store: Store, desk: FrontDesk, clock: SettableClock
) -> None:
    schedule = await made(desk, "s")
    assert await Rezoning(store, new_id=new_job_id).step() == 3_600.0
    assert len(await store.list_versions(schedule)) == 1


async def test_a_prepared_job_is_prepared_anew_and_once(
    store: Store, desk: FrontDesk, clock: SettableClock
) -> None:
    clock.set(NOON - timedelta(minutes=5))
    schedule = await made(desk, "s")
    await Rezoning(store, new_id=new_job_id, zones=NEWER).step()
    page = await store.list_jobs(JobFilter(), limit=9, before=None)
    assert [(job.schedule_id, job.due_at) for job in page.items] == [(schedule, NOON)]


async def test_a_fire_that_moves_is_told(
    store: Store,
    desk: FrontDesk,
    clock: SettableClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock.set(NOON - timedelta(hours=2))
    await made(desk, "s")

    def moving(standing: Standing, new_id: object, zones: int) -> Ruling:
        ruling = rezone(standing, new_job_id, zones)
        at = int(NOON.timestamp())
        moved = {"zones": [standing.zones, zones], "moved": [[at, at + 3600], [None, at]]}
        return Ruling(
            **{name: getattr(ruling, name) for name in ruling.__struct_fields__}
            | {"detail": json.dumps(moved)}
        )

    monkeypatch.setattr(rezoning, "rezone", moving)
    with caplog.at_level(logging.WARNING):
        await Rezoning(store, new_id=new_job_id, zones=NEWER).step()
    assert "of the schedule s: from 2027-03-14T12:00:00+00:00 to 2027-03-14T13:00" in caplog.text
    assert "from none to 2027-03-14T12:00:00+00:00" in caplog.text


async def test_one_that_cannot_be_judged_keeps_its_fires_and_hinders_no_other(
    store: Store,
    desk: FrontDesk,
    clock: SettableClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock.set(NOON - timedelta(minutes=5))
    broken, well = await made(desk, "broken"), await made(desk, "well")

    def judging(standing: Standing, new_id: object, zones: int) -> Ruling:
        if standing.id == broken:
            raise ZeroDivisionError("a bug")
        return rezone(standing, new_job_id, zones)

    monkeypatch.setattr(rezoning, "rezone", judging)
    with caplog.at_level(logging.ERROR):
        await Rezoning(store, new_id=new_job_id, zones=NEWER).step()
    assert await zones_of(store, well) == NEWER
    view = await store.get_schedule(broken)
    assert view is not None
    assert view.look_at is not None
    assert view.look_at <= clock.now() + timedelta(minutes=1)
    assert "the schedule broken" in caplog.text
