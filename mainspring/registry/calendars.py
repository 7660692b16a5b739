"""Calendars, and the schedules that heed them.

A schedule keeps the definitions of its calendars, so that a judge needs nothing else. Writing a
calendar writes those copies in the same transaction; a schedule that came in between catches up.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from mainspring.agenda import changes
from mainspring.agenda.spec import calendars_text, read_calendars, timetable_of
from mainspring.agenda.standing import Change, Ruling, Standing
from mainspring.domain.errors import Conflict, NeverFires, NotFound
from mainspring.domain.names import suggestion
from mainspring.domain.schedule import CalendarView, ScheduleState, ScheduleView
from mainspring.ports.schedules import CalendarChange, Judged, ScheduleFilter, ScheduleRecords
from mainspring.ports.scheduling import CalendarDraft
from mainspring.registry.drafts import check_calendar
from mainspring.timetable.definition import CalendarDefinition
from mainspring.timetable.zones import zone_data_number
from mainspring.wire.settling import settled

if TYPE_CHECKING:
    from mainspring.registry.scheduling import ScheduleDesk

_HINT: Final = "write it again; writing the same twice changes nothing"
#: So often schedules that came in between are looked for.
_ROUNDS: Final = 5


async def definitions(store: ScheduleRecords, tenant: str) -> dict[str, CalendarDefinition]:
    """Return a tenant's calendars by name."""
    return definitions_of(await store.list_calendars(tenant))


def definitions_of(views: Sequence[CalendarView]) -> dict[str, CalendarDefinition]:
    """Return calendars by name, as they are kept."""
    return {
        view.name: msgspec.json.decode(view.definition, type=CalendarDefinition) for view in views
    }


async def find(store: ScheduleRecords, name: str, tenant: str) -> CalendarView:
    """Return a calendar, or raise ``NotFound`` with the nearest names."""
    known = {view.name: view for view in await store.list_calendars(tenant)}
    if name not in known:
        hint = suggestion(name, sorted(known)) if known else "there are no calendars"
        raise NotFound(f"there is no calendar {name[:128]!r}", hint=hint)
    return known[name]


async def put(desk: "ScheduleDesk", draft: CalendarDraft, *, actor: str) -> int:
    """Write a calendar, and judge anew whatever heeds it; return how many schedules those are."""
    definition = check_calendar(draft)
    heeding = await desk.every(ScheduleFilter(tenant=draft.home, calendar=draft.name))
    current = {definition.name: definition}
    _check_still_fires(heeding, current, int((await desk.store.now()).timestamp()))
    body = msgspec.json.encode(definition, order="deterministic")
    change = CalendarChange(tenant=draft.home, name=draft.name, definition=body)
    judge = renewing(current, desk.new_id)
    ids = [view.id for view in _stale(heeding, current)]

    async def ask() -> Judged:
        return await desk.store.judge_named(ids, judge, actor=actor, calendar=change)

    desk.announce(await settled(ask, ask, hint=_HINT))
    for _ in range(_ROUNDS):
        heeding = await desk.every(ScheduleFilter(tenant=draft.home, calendar=draft.name))
        late = [view.id for view in _stale(heeding, current)]
        if not late:
            break
        await desk.judge(late, judge, actor=actor)
    return len(heeding)


async def remove(desk: "ScheduleDesk", name: str, tenant: str, *, actor: str) -> None:
    """Delete a calendar that nothing heeds."""
    await find(desk.store, name, tenant)
    heeding = await desk.every(ScheduleFilter(tenant=tenant, calendar=name))
    if heeding:
        names = ", ".join(view.name for view in heeding[:3])
        more = f" and {len(heeding) - 3:,} more" if len(heeding) > 3 else ""
        raise Conflict(
            f"the calendar {name} is heeded by {names}{more}",
            hint="edit those first, or remove them",
            details={"schedules": [view.schedule_id for view in heeding[:100]]},
        )
    change = CalendarChange(tenant=tenant, name=name, definition=None)

    async def ask() -> Judged:
        judge = renewing({}, desk.new_id)
        return await desk.store.judge_named([], judge, actor=actor, calendar=change)

    await settled(ask, ask, hint="delete it again")


async def caught_up(desk: "ScheduleDesk", view: ScheduleView, *, actor: str) -> ScheduleView:
    """Return a schedule that heeds its calendars as they are now, not as they were when checked."""
    if view.calendars is None:
        return view
    current = await definitions(desk.store, view.tenant)
    if _stale([view], current):
        await desk.judge([view.id], renewing(current, desk.new_id), actor=actor)
        return await desk.get(view.schedule_id)
    return view


def renewing(
    current: Mapping[str, CalendarDefinition], new_id: Callable[[], bytes]
) -> Callable[[Standing], Ruling]:
    """Return a judge that gives schedules the present definitions of their calendars."""

    def judge(standing: Standing) -> Ruling:
        text = _renewed(standing.calendars, current)
        if text == standing.calendars or standing.state is ScheduleState.DELETED:
            return changes.leave(standing, new_id)
        change = Change(
            from_at=0,
            what="calendar",
            spec=standing.spec,
            calendars=text,
            zones=zone_data_number(),
        )
        return changes.edit(standing, new_id, change)

    return judge


def _renewed(text: bytes | None, current: Mapping[str, CalendarDefinition]) -> bytes | None:
    return calendars_text([current.get(each.name, each) for each in read_calendars(text)])


def _stale(
    views: Sequence[ScheduleView], current: Mapping[str, CalendarDefinition]
) -> list[ScheduleView]:
    return [view for view in views if _renewed(view.calendars, current) != view.calendars]


def _check_still_fires(
    views: Sequence[ScheduleView], current: Mapping[str, CalendarDefinition], now: int
) -> None:
    for view in _stale(views, current):
        fired = timetable_of(view.spec, view.calendars).next_at(now)
        after = timetable_of(view.spec, _renewed(view.calendars, current)).next_at(now)
        if fired is not None and after is None:
            raise NeverFires(
                f"entries: the schedule {view.name} would never fire again",
                hint="leave a day to it, or remove that schedule first",
                details={"field": "entries", "schedule": view.schedule_id},
            )
