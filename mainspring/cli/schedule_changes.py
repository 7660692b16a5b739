"""What changes schedules on the command line: created, edited, applied, paused, fired, removed."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

import msgspec
from cyclopts import Parameter

from mainspring.cli.asking import actor, confirm, open_gateway
from mainspring.cli.options import FLAG, VALUE, Given, Options
from mainspring.cli.output import (
    Change,
    check_change_columns,
    out,
    show_changes,
    show_one,
    tell,
    tell_dry_run,
)
from mainspring.cli.payloads import members, payload_of
from mainspring.cli.picking import check_columns
from mainspring.cli.schedule_files import read_file
from mainspring.cli.schedule_options import (
    JobOptions,
    Policy,
    Times,
    Wish,
    draft_from,
    given,
    hint_at_rule,
    instant_or_span,
)
from mainspring.cli.schedule_pages import SCHEDULE_COLUMNS, schedule_record
from mainspring.cli.schedule_tables import (
    PLAN_COLUMNS,
    PREVIEW_COLUMNS,
    out_differences,
    out_preview,
    planned_record,
    preview_record,
    short_instant,
    show_plan,
    summary,
)
from mainspring.cli.submit import warn_of_queue
from mainspring.cli.text import printable, styled
from mainspring.domain.errors import Conflict, InvalidInput, NotFound, ScheduleExists, UnknownOption
from mainspring.domain.schedule import ScheduleState, ScheduleView
from mainspring.ports.gateway import ClientGateway
from mainspring.ports.scheduling import (
    Application,
    Planned,
    ScheduleDraft,
)

_SHOWN_FIRES: Final = 5
_Words = Annotated[str, Parameter(name="PAYLOAD", allow_leading_hyphen=False)]
_Text = Annotated[str | None, VALUE]
_Flag = Annotated[bool, FLAG]
_ROUNDS: Final = 5
Action = Literal["created", "changed", "unchanged"]


# --- making and changing ------------------------------------------------------------------------


async def create(  # noqa: PLR0913 - a command's options are its arguments
    name: str,
    kind: str,
    /,
    *payload: _Words,
    json: _Text = None,
    times: Times | None = None,
    policy: Policy | None = None,
    job: JobOptions | None = None,
    note: _Text = None,
    tenant: _Text = None,
    dry_run: _Flag = False,
    options: Given,
) -> None:
    """Make a schedule, and show what it says, its next fires, and what may not be meant.

    Parameters
    ----------
    name
        By which it is known.
    kind
        Which handler its jobs run.
    payload
        Members of the payload: name=text, or name:=JSON for numbers, lists and the like.
    json
        The whole payload as JSON: TEXT, @FILE, or - for stdin.
    note
        What it is for.
    tenant
        On whose behalf.
    dry_run
        Check everything, and say what would be made.
    """
    check_columns(options, ("created", *SCHEDULE_COLUMNS, *PREVIEW_COLUMNS))
    hint_at_rule(payload)
    found = given(times, policy, job)
    if tenant is not None:
        found = msgspec.structs.replace(found, options={**found.options, "tenant": tenant})
    body = payload_of(payload, json, bytes_max=options.settings().payload_bytes)
    draft = draft_from(name, kind, body, found, note=note or "")
    async with open_gateway(options) as gateway:
        if dry_run:
            await _refuse_taken(gateway, draft)
            seen = await gateway.schedules.preview(draft, count=_SHOWN_FIRES)
            view = None
        else:
            view = await gateway.schedules.create(draft, actor=actor())
            seen = await gateway.schedules.next(view.schedule_id, count=_SHOWN_FIRES)
        await warn_of_queue(gateway, draft.work)
        now = await gateway.now()
    stored = {"name": name} if view is None else schedule_record(view)
    record = {"created": view is not None, **stored, **preview_record(seen)}

    def people() -> None:
        if view is not None:
            _out_head(options, view, "created")
        out_preview(options, seen, now)

    show_one(options, record, name=name, people=people)
    if dry_run:
        tell_dry_run()
    elif options.is_for_people:
        tell(f"try it now: mainspring schedules trigger {printable(name)} --follow")


async def _refuse_taken(gateway: ClientGateway, draft: ScheduleDraft) -> None:
    """Say of a dry run what making it would say."""
    try:
        view = await gateway.schedules.get(draft.name, tenant=draft.work.tenant)
    except NotFound:
        return
    if view.state is not ScheduleState.DELETED:
        raise ScheduleExists(f"the tenant {view.tenant} has a schedule {draft.name} already")


def _out_head(
    options: Options, view: ScheduleView, action: Action, *, dry_run: bool = False
) -> None:
    color = options.colors_data
    name = styled(printable(view.name), "bold", color=color)
    shown = f"to be {action}" if dry_run and action != "unchanged" else action
    word = styled(shown, "dim" if action == "unchanged" else "green", color=color)
    out(f"{word} {name}  {view.schedule_id}")


async def edit(  # noqa: PLR0913 - a command's options are its arguments
    schedule: str,
    /,
    *payload: _Words,
    json: _Text = None,
    kind: _Text = None,
    times: Times | None = None,
    policy: Policy | None = None,
    job: JobOptions | None = None,
    note: _Text = None,
    reset: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    tenant: Annotated[str | None, VALUE] = None,
    dry_run: _Flag = False,
    options: Given,
) -> None:
    """Change some of a schedule; what is not due yet is replaced at once. A pause stays.

    Parameters
    ----------
    schedule
        Its name or id.
    payload
        Members of the payload that are others from now on: name=text, or name:=JSON.
    json
        Another payload as a whole: TEXT, @FILE, or - for stdin.
    kind
        Another handler.
    note
        What it is for.
    reset
        Options that are again as if nothing had been said: end,max-fires,queue.
    tenant
        Whose it is.
    dry_run
        Check everything, and say what would change.
    """
    check_columns(options, dict.fromkeys((*PLAN_COLUMNS, *PREVIEW_COLUMNS)))
    hint_at_rule(payload)
    if payload and json is not None:
        raise InvalidInput("the payload was given twice: in words and by --json", hint="use one")
    bytes_max = options.settings().payload_bytes
    wish = Wish(
        given=given(times, policy, job),
        members=members(payload),
        payload=None if json is None else payload_of((), json, bytes_max=bytes_max),
        kind=kind,
        note=note,
        reset=reset,
    ).checked()
    async with open_gateway(options) as gateway:
        view = await there(gateway, schedule, tenant)
        draft = wish.draft(view)
        plan = Application(schedules=(draft,))
        (step,) = await gateway.schedules.apply(plan, dry_run=True, actor=actor())
        if dry_run:
            seen = await gateway.schedules.preview(draft, count=_SHOWN_FIRES)
        else:
            view = await _edited(gateway, view, wish)
            seen = await gateway.schedules.next(view.schedule_id, count=_SHOWN_FIRES)
        if wish.given.work.get("queue"):
            await warn_of_queue(gateway, draft.work)
        now = await gateway.now()

    def people() -> None:
        action: Action = "changed" if step.is_change else "unchanged"
        _out_head(options, view, action, dry_run=dry_run)
        out_differences(options, step)
        out("")
        out_preview(options, seen, now)

    show_one(options, planned_record(step) | preview_record(seen), name=view.name, people=people)
    if dry_run:
        tell_dry_run()
    _warn_of_owner(view, step)


async def there(gateway: ClientGateway, schedule: str, tenant: str | None) -> ScheduleView:
    """Return a schedule that was not removed."""
    view = await gateway.schedules.get(schedule, tenant=tenant)
    if view.state is ScheduleState.DELETED:
        hint = f"its ledger is still there: mainspring schedules history {view.schedule_id}"
        raise NotFound(f"the schedule {view.name} was removed", hint=hint)
    return view


async def _edited(gateway: ClientGateway, view: ScheduleView, wish: Wish) -> ScheduleView:
    """Carry out a wish on whatever the schedule is at that moment."""
    for left in reversed(range(_ROUNDS)):
        try:
            return await gateway.schedules.edit(
                view.schedule_id, wish.draft(view), version=view.version, actor=actor()
            )
        except Conflict as error:
            if "version" not in error.details or not left:
                raise
            view = await gateway.schedules.get(view.schedule_id)
    raise AssertionError


def _warn_of_owner(view: ScheduleView, step: Planned) -> None:
    if view.owner is not None and step.is_change:
        tell(f"warning: {view.owner} keeps it, and its next deployment changes it back")


async def apply(
    file: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    tenant: _Text = None,
    dry_run: _Flag = False,
    options: Given,
) -> None:
    """Create and edit whatever differs from a file of schedules and calendars; remove nothing.

    All are checked before one is changed. Applying the same file again changes nothing.

    Parameters
    ----------
    file
        YAML, JSON (.json) or TOML (.toml); - reads YAML or JSON from stdin.
    tenant
        Whose schedules they are, where the file does not say.
    dry_run
        Check everything, and say what would change.
    """
    check_columns(options, PLAN_COLUMNS)
    if file.startswith("-") and file != "-":
        raise UnknownOption(
            f"unknown option: {file}", hint="mainspring schedules apply --help; a file is ./-x"
        )
    wanted = read_file(file, tenant=tenant)
    async with open_gateway(options) as gateway:
        plan = await gateway.schedules.apply(wanted, dry_run=dry_run, actor=actor())
    show_plan(options, plan, is_done=not dry_run)
    if options.is_for_people:
        tell(summary(plan))
    if dry_run:
        tell_dry_run()


# --- pauses -------------------------------------------------------------------------------------


async def pause(
    *schedule: Annotated[str, Parameter(required=True)],
    reason: Annotated[str, VALUE] = "",
    until: _Text = None,
    tenant: Annotated[str | None, VALUE] = None,
    dry_run: _Flag = False,
    options: Given,
) -> None:
    """Fire no more, until resumed or for a while; live jobs go on.

    Parameters
    ----------
    schedule
        Names or ids.
    reason
        Shown wherever somebody wonders.
    until
        Resume by itself: after this long (2h), or at an instant.
    tenant
        Whose they are.
    dry_run
        Only say what would be done.
    """
    check_change_columns(options)
    changes: list[Change] = []
    async with open_gateway(options) as gateway:
        views = await _all_there(gateway, schedule, tenant)
        end = instant_or_span(until, name="until", now=await gateway.now())
        for view in views:
            changed = view.state is not ScheduleState.PAUSED
            if not dry_run:
                changed = await gateway.schedules.pause(
                    view.schedule_id, reason=reason, until=end, actor=actor()
                )
            changes.append(Change(view.name, "paused", changed))
    show_changes(options, changes, unchanged="it was already")
    if dry_run:
        tell_dry_run()
    elif end is not None and options.is_for_people:
        tell(f"until {short_instant(end)} UTC")


async def resume(
    *schedule: Annotated[str, Parameter(required=True)],
    catch_up: _Flag = False,
    tenant: Annotated[str | None, VALUE] = None,
    dry_run: _Flag = False,
    options: Given,
) -> None:
    """End a pause; what was not fired meanwhile is left out, unless it is to be caught up.

    Parameters
    ----------
    schedule
        Names or ids.
    catch_up
        What was not fired meanwhile was missed: the misfire policy says what becomes of it.
    tenant
        Whose they are.
    dry_run
        Only say what would be done.
    """
    check_change_columns(options)
    changes: list[Change] = []
    async with open_gateway(options) as gateway:
        for view in await _all_there(gateway, schedule, tenant):
            changed = view.state is ScheduleState.PAUSED
            if not dry_run:
                changed = await gateway.schedules.resume(
                    view.schedule_id, catch_up=catch_up, actor=actor()
                )
            state = view.state if not changed else ScheduleState.ACTIVE
            changes.append(Change(view.name, state.value, changed))
    show_changes(options, changes, unchanged="it was not paused")
    if dry_run:
        tell_dry_run()


async def _all_there(
    gateway: ClientGateway, names: Sequence[str], tenant: str | None
) -> list[ScheduleView]:
    """Return schedules, or raise for one that is not there before any is changed."""
    return [await there(gateway, name, tenant) for name in dict.fromkeys(names)]


# --- the end ------------------------------------------------------------------------------------


async def rm(
    *schedule: Annotated[str, Parameter(required=True)],
    cancel_live: _Flag = False,
    tenant: Annotated[str | None, VALUE] = None,
    dry_run: _Flag = False,
    yes: _Flag = False,
    options: Given,
) -> None:
    """Remove schedules: they fire never again. Their ledger stays, and is found by id.

    Parameters
    ----------
    schedule
        Names or ids.
    cancel_live
        Cancel their live jobs, too.
    tenant
        Whose they are.
    dry_run
        Only say what would be removed.
    yes
        Do not ask.
    """
    check_change_columns(options)
    async with open_gateway(options) as gateway:
        views = await _all_there(gateway, schedule, tenant)
        if not dry_run:
            confirm(len(views), "remove", yes=yes, noun="schedule")
            for view in views:
                await gateway.schedules.remove(
                    view.schedule_id, cancel_live=cancel_live, actor=actor()
                )
    show_changes(options, [Change(view.name, "removed") for view in views])
    if dry_run:
        tell_dry_run()
    elif options.is_for_people:
        ledgers = " ".join(view.schedule_id for view in views[:1])
        tell(f"the ledger stays: mainspring schedules history {ledgers}")
