"""Calendars and whole sets of schedules: what is planned, carried out, and refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from mainspring.agenda.spec import read_calendars
from mainspring.domain.errors import Conflict, InvalidInput, InvalidSchedule, NeverFires, NotFound
from mainspring.domain.schedule import ScheduleState
from mainspring.ports.schedules import ScheduleFilter
from mainspring.ports.scheduling import Application, ScheduleDraft, ScheduleGateway
from mainspring.testing.clock import SettableClock
from tests.registry.drafts import ADA, calendar, draft, made

# --- calendars ------------------------------------------------------------------------------------


async def test_a_changed_calendar_judges_what_heeds_it_anew(
    schedules: ScheduleGateway, clock: SettableClock
) -> None:
    assert await schedules.put_calendar(calendar("12-25"), actor=ADA) == 0
    view = await made(schedules, calendars=("holidays",))
    await made(schedules, name="careless")
    today = f"{clock.now() + timedelta(hours=1):%Y-%m-%d}"
    assert await schedules.put_calendar(calendar("12-25", today), actor=ADA) == 1
    changed = await schedules.get("nightly")
    assert changed.version == view.version + 1
    assert read_calendars(changed.calendars)[0].entries == ("12-25", today)
    versions = await schedules.versions("nightly")
    assert [each.change for each in versions][1:] == ["calendar"]
    assert await schedules.put_calendar(calendar("12-25", today), actor=ADA) == 1
    assert (await schedules.get("nightly")).version == changed.version
    with pytest.raises(Conflict, match="heeded by nightly"):
        await schedules.remove_calendar("holidays", actor=ADA)
    await schedules.remove("nightly", actor=ADA)
    await schedules.remove_calendar("holidays", actor=ADA)
    with pytest.raises(NotFound):
        await schedules.calendar("holidays")


async def test_a_bad_calendar_is_refused(schedules: ScheduleGateway) -> None:
    await schedules.put_calendar(calendar("12-25"), actor=ADA)
    await made(schedules, calendars=("holidays",))
    for bad, error in (
        (calendar("2027-13-01"), InvalidSchedule),
        (calendar(), InvalidSchedule),
        (calendar("12-25", business_days="NOON"), InvalidSchedule),
        (calendar("MON-SUN"), NeverFires),
    ):
        with pytest.raises(error):
            await schedules.put_calendar(bad, actor=ADA)
    (kept,) = await schedules.calendars()
    assert kept.version == 1


# --- applying -------------------------------------------------------------------------------------


def app(*drafts: ScheduleDraft, **given: Any) -> Application:
    return Application(schedules=drafts, **{"owner": "app:shop", **given})


async def test_applying_makes_changes_prunes_and_then_rests(schedules: ScheduleGateway) -> None:
    wanted = app(draft(calendars=("holidays",)), draft("b"), calendars=(calendar("12-25"),))
    plan = await schedules.apply(wanted, dry_run=True, actor=ADA)
    assert [(each.name, each.action) for each in plan] == [
        ("holidays", "create"),
        ("nightly", "create"),
        ("b", "create"),
    ]
    assert await schedules.list(ScheduleFilter()) == []
    await schedules.apply(wanted, actor=ADA)
    assert not any(each.is_change for each in await schedules.apply(wanted, actor=ADA))
    await schedules.pause("nightly", reason="mine", actor="eve")

    later = app(draft(when="*/9 * * * *", calendars=("holidays",)))
    plan = await schedules.apply(later, dry_run=True, actor=ADA)
    assert [(each.name, each.action) for each in plan] == [("nightly", "edit"), ("b", "leave")]
    assert plan[0].is_paused
    (difference,) = plan[0].differences
    assert (difference.field, difference.old, difference.new) == (
        "when",
        "0 * * * *",
        "*/9 * * * *",
    )
    await schedules.apply(msgspec.structs.replace(later, prune=True), actor=ADA)
    (left,) = await schedules.list(ScheduleFilter())
    assert (left.name, left.state, left.paused_reason) == ("nightly", ScheduleState.PAUSED, "mine")


async def test_what_somebody_else_keeps_is_a_conflict_unless_adopted(
    schedules: ScheduleGateway,
) -> None:
    await made(schedules)
    wanted = app(draft(), draft("b"))
    with pytest.raises(Conflict, match="nightly"):
        await schedules.apply(wanted, actor=ADA)
    assert len(await schedules.list(ScheduleFilter())) == 1
    await schedules.apply(msgspec.structs.replace(wanted, adopt=True), actor=ADA)
    assert (await schedules.get("nightly")).owner == "app:shop"
    assert not any(each.is_change for each in await schedules.apply(wanted, actor=ADA))


async def test_all_are_checked_before_one_is_stored(schedules: ScheduleGateway) -> None:
    with pytest.raises(InvalidSchedule, match=r"schedule b: minute"):
        await schedules.apply(app(draft(), draft("b", "99 * * * *")), actor=ADA)
    with pytest.raises(InvalidInput, match="twice"):
        await schedules.apply(app(draft(), draft()), actor=ADA)
    assert await schedules.list(ScheduleFilter()) == []


async def test_a_date_that_has_passed_can_stay_declared(
    schedules: ScheduleGateway, clock: SettableClock
) -> None:
    once = draft(when=f"{clock.now() + timedelta(minutes=5):%Y-%m-%dT%H:%M}")
    await schedules.apply(app(once), actor=ADA)
    clock.advance(timedelta(days=1))
    (planned,) = await schedules.apply(app(once), actor=ADA)
    assert planned.action == "none"
    with pytest.raises(NeverFires):
        await schedules.apply(app(msgspec.structs.replace(once, note="new")), actor=ADA)
