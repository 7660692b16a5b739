"""Schedules behind a server: what is sent again when an answer is lost on the way."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mainspring.domain.errors import ScheduleExists
from mainspring.domain.schedule import Cause
from mainspring.ports.entropy import new_job_id
from mainspring.ports.schedules import ScheduleFilter
from mainspring.ports.scheduling import BackfillAsk
from mainspring.remote.schedules import RemoteSchedules
from mainspring.testing.clock import SettableClock
from tests.registry.drafts import ADA, calendar, draft
from tests.remote.conftest import Losing


@pytest.fixture
def schedules(losing: Losing) -> RemoteSchedules:
    return RemoteSchedules(losing, new_id=new_job_id)


async def test_nothing_is_made_twice_when_answers_are_lost(
    losing: Losing, schedules: RemoteSchedules, clock: SettableClock
) -> None:
    losing.losses = 2
    view = await schedules.create(draft(policies={"overlap": "allow"}), actor=ADA)
    assert await schedules.list(ScheduleFilter()) == [view]
    losing.losses = 2
    job = await schedules.fire_now("nightly", actor=ADA)
    by_hand = [
        row.job_id
        for row in await schedules.history("nightly", limit=100)
        if row.cause is Cause.MANUAL
    ]
    assert by_hand == [job]
    losing.losses = 2
    now = clock.now()
    ask = BackfillAsk(from_at=now - timedelta(hours=3), until_at=now)
    taken = await schedules.backfill("nightly", ask, actor=ADA)
    assert [(row.id, row.fires) for row in await schedules.backfills("nightly")] == [
        (taken.id, taken.fires)
    ]
    losing.losses = 1
    assert await schedules.put_calendar(calendar("12-25"), actor=ADA) == 0
    losing.losses = 1
    edited = await schedules.edit("nightly", draft(when="*/9 * * * *"), actor=ADA)
    assert edited.version == 2
    losing.losses = 1
    await schedules.remove("nightly", actor=ADA)
    assert await schedules.list(ScheduleFilter()) == []


async def test_a_key_of_ones_own_names_the_same_schedule(schedules: RemoteSchedules) -> None:
    first = await schedules.create(draft(), key="mine", actor=ADA)
    assert (await schedules.create(draft(), key="mine", actor=ADA)).id == first.id
    with pytest.raises(ScheduleExists) as found:
        await schedules.create(draft(), actor=ADA)
    assert found.value.details["schedule"] == first.schedule_id


async def test_an_edit_for_a_version_that_was_made_although_its_answer_was_lost(
    losing: Losing, schedules: RemoteSchedules
) -> None:
    await schedules.create(draft(), actor=ADA)
    losing.losses = 1
    edited = await schedules.edit("nightly", draft(when="*/9 * * * *"), version=1, actor=ADA)
    assert edited.version == 2
