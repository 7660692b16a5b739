"""Schedules behind a server: what is sent again when an answer is lost on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mainspring.domain.errors import OutcomeUnknown, ScheduleExists
from mainspring.domain.schedule import Cause
from mainspring.integrations.local_blobs import LocalBlobs
from mainspring.ports.entropy import new_job_id
from mainspring.ports.schedules import ScheduleFilter
from mainspring.ports.scheduling import BackfillAsk
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.remote.http import RemoteAccess, RemoteAnswer, RemoteHttp
from mainspring.remote.schedules import RemoteSchedules
from mainspring.testing.clock import SettableClock
from tests.loopback import serving
from tests.registry.drafts import ADA, calendar, draft


class Losing(RemoteHttp):
    """Loses the next answers, after the server has done what it was asked for."""

    losses = 0

    async def _once(self, *request: Any, **options: Any) -> RemoteAnswer:
        answer = await super()._once(*request, **options)
        if self.losses:
            self.losses -= 1
            raise OutcomeUnknown
        return answer


@pytest.fixture
async def losing(store: Store, tmp_path: Path) -> AsyncIterator[Losing]:
    desk = FrontDesk(store, blobs=LocalBlobs(str(tmp_path)), new_id=new_job_id)
    async with serving(desk) as url:
        http = Losing(RemoteAccess(url=url))
        yield http
        await http.close()


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
