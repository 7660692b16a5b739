"""What is to be done so that schedules and calendars are as they are drafted."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from mainspring.agenda.spec import read_spec
from mainspring.domain.errors import Conflict, InvalidInput, MainspringError, NeverFires
from mainspring.domain.schedule import ScheduleState, ScheduleView
from mainspring.ports.schedules import ScheduleFilter
from mainspring.ports.scheduling import (
    Application,
    CalendarDraft,
    Difference,
    Planned,
    PlannedAction,
    ScheduleDraft,
)
from mainspring.registry.drafts import Checked, Terms, check_calendar, differences
from mainspring.timetable.definition import CalendarDefinition
from mainspring.timetable.explain import sentence

if TYPE_CHECKING:
    from mainspring.registry.scheduling import ScheduleDesk


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a plan, with what carries it out."""

    planned: Planned
    checked: Checked | None = None
    calendar: CalendarDraft | None = None


async def plan(desk: "ScheduleDesk", wanted: Application) -> list[Step]:
    """Check all drafts, and return what differs: calendars first, removals last."""
    _check_once([(draft.home, draft.name) for draft in wanted.calendars], "calendar")
    _check_once([(draft.tenant, draft.name) for draft in wanted.schedules], "schedule")
    tenants = {draft.tenant for draft in wanted.schedules}
    tenants |= {draft.home for draft in wanted.calendars}
    terms = {tenant: await desk.terms(tenant) for tenant in sorted(tenants)}
    steps = []
    for calendar in wanted.calendars:
        before = terms[calendar.home]
        steps.append(_calendar_step(calendar, before.calendars))
        after = {**before.calendars, calendar.name: _checked_calendar(calendar)}
        terms[calendar.home] = before._replace(calendars=after)
    for draft in wanted.schedules:
        with_owner = draft if wanted.owner is None else _owned(draft, wanted.owner)
        steps.append(await _schedule_step(desk, with_owner, terms[draft.tenant], wanted))
    return steps + await _left_behind(desk, wanted)


def refuse_conflicts(steps: Sequence[Step]) -> None:
    """Raise for schedules that somebody else keeps."""
    found = [step.planned for step in steps if step.planned.action == "conflict"]
    if found:
        shown = ", ".join(f"{each.name} (kept by {each.owner or 'nobody'})" for each in found[:3])
        raise Conflict(
            f"somebody else keeps {shown}; nothing was changed",
            hint="rename yours, or take them over with --adopt",
            details={"schedules": [each.name for each in found]},
        )


def _owned(draft: ScheduleDraft, owner: str) -> ScheduleDraft:
    return msgspec.structs.replace(draft, owner=owner)


def _check_once(names: Sequence[tuple[str, str]], what: str) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InvalidInput(
                f"the {what} {name[1]} is declared twice", hint="give one of them another name"
            )


def _calendar_step(draft: CalendarDraft, known: Mapping[str, CalendarDefinition]) -> Step:
    wanted = _checked_calendar(draft)
    found = known.get(draft.name)
    changed: tuple[Difference, ...] = ()
    action: PlannedAction = "create"
    if found is not None:
        changed = tuple(_calendar_differences(found, wanted))
        action = "edit" if changed else "none"
    planned = Planned(
        what="calendar",
        name=draft.name,
        tenant=draft.home,
        action=action,
        differences=changed,
        sentence="1 entry" if len(wanted.entries) == 1 else f"{len(wanted.entries)} entries",
    )
    return Step(planned=planned, calendar=draft)


def _checked_calendar(draft: CalendarDraft) -> CalendarDefinition:
    try:
        return check_calendar(draft)
    except MainspringError as error:
        _name(error, "calendar", draft.name)
        raise


def _name(error: MainspringError, what: str, name: str) -> None:
    """Let an error say which of many drafts it is about."""
    error.message = f"{what} {name}: {error.message}"
    error.args = (error.message,)
    error.details[what] = name


def _calendar_differences(
    found: CalendarDefinition, wanted: CalendarDefinition
) -> Iterator[Difference]:
    gone = [entry for entry in found.entries if entry not in wanted.entries]
    new = [entry for entry in wanted.entries if entry not in found.entries]
    if gone or new or found.entries != wanted.entries:
        yield Difference("entries", _some(gone), _some(new))
    if found.business_days != wanted.business_days:
        yield Difference("business_days", found.business_days, wanted.business_days)


def _some(entries: Sequence[str]) -> str:
    more = f" and {len(entries) - 3} more" if len(entries) > 3 else ""
    return ", ".join(entries[:3]) + more if entries else "-"


async def _schedule_step(
    desk: "ScheduleDesk", draft: ScheduleDraft, terms: Terms, wanted: Application
) -> Step:
    found = await desk.store.find_schedule(draft.tenant, draft.name)
    try:
        checked = await _checked(desk, draft, terms, found)
    except MainspringError as error:
        _name(error, "schedule", draft.name)
        raise
    action: PlannedAction = "create"
    changed: tuple[Difference, ...] = ()
    if found is not None:
        changed = differences(found.spec, checked.text)
        action = _action(found, wanted, is_same=not changed)
    planned = Planned(
        what="schedule",
        name=draft.name,
        tenant=draft.tenant,
        action=action,
        differences=changed,
        owner=None if found is None else found.owner,
        is_paused=found is not None and found.state is ScheduleState.PAUSED,
        sentence=sentence(checked.spec.times),
    )
    return Step(planned=planned, checked=checked)


def _action(found: ScheduleView, wanted: Application, *, is_same: bool) -> PlannedAction:
    if wanted.owner is not None and found.owner != wanted.owner:
        return "adopt" if wanted.adopt else "conflict"
    return "none" if is_same else "edit"


async def _checked(
    desk: "ScheduleDesk", draft: ScheduleDraft, terms: Terms, found: ScheduleView | None
) -> Checked:
    """Return a checked draft; one that is over is fine where it is stored just so."""
    try:
        return await desk.checked(draft, terms)
    except NeverFires:
        if found is None:
            raise
        checked = await desk.checked(draft, terms._replace(may_be_over=True))
        if checked.text != found.spec:
            raise
        return checked


async def _left_behind(desk: "ScheduleDesk", wanted: Application) -> list[Step]:
    """Return what the owner declared before, and does no more."""
    if wanted.owner is None:
        return []
    declared = {(draft.tenant, draft.name) for draft in wanted.schedules}
    owned = await desk.every(ScheduleFilter(owner=wanted.owner))
    return [
        Step(
            planned=Planned(
                what="schedule",
                name=view.name,
                tenant=view.tenant,
                action="remove" if wanted.prune else "leave",
                owner=view.owner,
                is_paused=view.state is ScheduleState.PAUSED,
                sentence=sentence(read_spec(view.spec).times),
            )
        )
        for view in owned
        if (view.tenant, view.name) not in declared
    ]
