"""``mainspring schedules``: what fires when, what became of it, and everything that changes it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final

import msgspec
from cyclopts import App, Parameter

from mainspring.cli import schedule_audits as audits
from mainspring.cli import schedule_changes as changes
from mainspring.cli import schedule_fires as fires
from mainspring.cli.asking import instant_of, open_gateway
from mainspring.cli.ledger_tables import (
    backfill_columns,
    backfill_record,
    fire_columns,
    fire_record,
)
from mainspring.cli.options import COMMANDS, VALUE, Given, Options
from mainspring.cli.output import out, show_list, show_one, tell
from mainspring.cli.schedule_files import exported
from mainspring.cli.schedule_options import Policy, Times, draft_from, given
from mainspring.cli.schedule_pages import (
    Listed,
    listed_record,
    schedule_columns,
    show_schedule,
    spec_of,
)
from mainspring.cli.schedule_tables import show_preview, upcoming_columns
from mainspring.cli.text import printable
from mainspring.cli.yaml import to_yaml
from mainspring.domain.errors import InvalidInput, UnknownOption
from mainspring.domain.ids import BACKFILL, SCHEDULE, parse, show
from mainspring.domain.job import DEFAULT_TENANT
from mainspring.domain.limits import PAGE_ITEMS_MAX, PREVIEW_FIRES_MAX
from mainspring.domain.names import check_range, suggestion
from mainspring.domain.schedule import FireView, Outcome, ScheduleState, ScheduleView
from mainspring.ports.clock import utc_now
from mainspring.ports.gateway import ClientGateway
from mainspring.ports.schedules import ScheduleFilter
from mainspring.ports.scheduling import Preview, ScheduleDraft

app: Final = App(
    name="schedules",
    help="Create schedules, look at them and their ledger, and change them.",
    group_commands=COMMANDS,
)
_EXAMPLES: Final = """Examples:

mainspring schedules create nightly report --cron '0 2 * * *' --tz Asia/Tokyo

mainspring schedules create poll fetch --every 90s --overlap skip

mainspring schedules create launch announce to=all --at 2037-01-31T09:00:00Z"""
app.command(changes.create, help_epilogue=_EXAMPLES)
for _command in (
    changes.edit,
    changes.apply,
    changes.pause,
    changes.resume,
    changes.rm,
    fires.skip_next,
    fires.backfill,
    fires.cancel_backfill,
    audits.audit,
):
    app.command(_command)
app.command(fires.fire_now, name="trigger")

_COUNT: Final = Parameter(name=["--count", "-n"])
#: Fires that ``get`` shows: what comes, and what was.
_SHOWN_FIRES: Final = 5
_MANY: Final = Parameter(negative="")
_TENANT: Final = VALUE


# --- lists --------------------------------------------------------------------------------------


@app.command
async def ls(  # noqa: PLR0913 - a command's options are its arguments
    *,
    state: Annotated[tuple[str, ...], _MANY] = (),
    name: Annotated[str | None, VALUE] = None,
    owner: Annotated[str | None, VALUE] = None,
    calendar: Annotated[str | None, VALUE] = None,
    tenant: Annotated[str | None, VALUE] = None,
    limit: int = 50,
    after: str | None = None,
    options: Given,
) -> None:
    """List schedules, oldest first: where they stand, when they fire next, how the last ended.

    Parameters
    ----------
    state
        Only schedules in this state: active, paused, exhausted or deleted; several by commas.
    name
        Only schedules whose name has this in it.
    owner
        Only schedules that this one keeps: app:shop.
    calendar
        Only schedules that heed this calendar.
    tenant
        Only schedules of this tenant; of all if not given.
    limit
        At most so many, up to 500.
    after
        Go on after this schedule of an earlier list.
    """
    wanted = ScheduleFilter(
        tenant=tenant, states=_states(state), owner=owner, name_has=name, calendar=calendar
    )
    begin = None if after is None else parse(SCHEDULE, after)
    check_range("limit", limit, 1, PAGE_ITEMS_MAX)
    async with open_gateway(options) as gateway:
        views = await gateway.schedules.list(wanted, limit=limit, after=begin)
        now = await gateway.now()
        rows = [await _listed(gateway, view, now) for view in views]
    is_all = wanted == ScheduleFilter()
    show_list(
        options,
        rows,
        columns=schedule_columns(now),
        record=listed_record,
        name=lambda row: row.view.name,
        empty="no schedules yet: mainspring schedules create" if is_all else "no schedules match",
    )
    if len(views) == limit:
        tell(f"there may be more: --after {views[-1].schedule_id}")


def _states(words: Sequence[str]) -> frozenset[ScheduleState]:
    found: set[ScheduleState] = set()
    for word in (part for given_word in words for part in given_word.split(",") if part):
        try:
            found.add(ScheduleState(word))
        except ValueError:
            hint = suggestion(word, [state.value for state in ScheduleState])
            raise UnknownOption(f"state: there is no {word!r}", hint=hint) from None
    return frozenset(found)


async def _listed(gateway: ClientGateway, view: ScheduleView, now: datetime) -> Listed:
    preview = await gateway.schedules.next(view.schedule_id, count=_SHOWN_FIRES)
    last = await gateway.schedules.history(view.schedule_id, until=now, limit=1)
    return Listed(view, preview, last[0] if last else None)


# --- one schedule -------------------------------------------------------------------------------


@app.command
async def get(
    schedule: str, /, *, tenant: Annotated[str | None, _TENANT] = None, options: Given
) -> None:
    """Show a schedule: what it says, when it fires next, and what became of its last fires.

    Parameters
    ----------
    schedule
        Its name or id.
    tenant
        Whose it is.
    """
    async with open_gateway(options) as gateway:
        view = await gateway.schedules.get(schedule, tenant=tenant)
        now = await gateway.now()
        preview = await gateway.schedules.next(view.schedule_id, count=_SHOWN_FIRES)
        ledger = await gateway.schedules.history(view.schedule_id, until=now, limit=_SHOWN_FIRES)
    show_schedule(options, view, preview, ledger, now)


@app.command
async def export(
    *schedule: str, tenant: Annotated[str | None, VALUE] = None, options: Given
) -> None:
    """Print schedules, and the calendars they heed, as a file that apply takes.

    Parameters
    ----------
    schedule
        Names or ids; all of the tenant if not given.
    tenant
        Whose they are.
    """
    if options.output not in ("table", "yaml", "json") or options.columns:
        raise InvalidInput("a file of schedules is YAML or JSON", hint="use -o yaml or -o json")
    async with open_gateway(options) as gateway:
        views = [await gateway.schedules.get(name, tenant=tenant) for name in schedule]
        after: bytes | None = None
        while not schedule:
            page = await gateway.schedules.list(
                ScheduleFilter(tenant=tenant), limit=PAGE_ITEMS_MAX, after=after
            )
            views += page
            if len(page) < PAGE_ITEMS_MAX:
                break
            after = page[-1].id
        seen = {view.tenant for view in views}
        if tenant is None and len(seen) == 1:
            tenant = seen.pop()
        elif tenant is None and not schedule:
            # Whoever sees several tenants, and names none, means this one.
            views = [view for view in views if view.tenant == DEFAULT_TENANT]
        calendars = await gateway.schedules.calendars(tenant=tenant)
    record = exported(views, calendars)
    show_one(options, record, name="", people=lambda: out(to_yaml(record)))


@app.command(name="next")
async def next_(
    schedule: str,
    /,
    *,
    count: Annotated[int, _COUNT] = 10,
    tenant: Annotated[str | None, _TENANT] = None,
    options: Given,
) -> None:
    """Show the next fires of a schedule, in its zone and in UTC, and what moves them.

    Parameters
    ----------
    schedule
        Its name or id.
    count
        So many fires.
    tenant
        Whose it is.
    """
    check_range("count", count, 1, PAGE_ITEMS_MAX)
    async with open_gateway(options) as gateway:
        view = await gateway.schedules.get(schedule, tenant=tenant)
        preview = await gateway.schedules.next(view.schedule_id, count=count)
        now = await gateway.now()
    _show_fires(options, preview, spec_of(view).times.zone, now)
    if options.is_for_people and view.state is ScheduleState.PAUSED:
        reason = f": {printable(view.paused_reason)}" if view.paused_reason else ""
        tell(f"{view.name} is paused{reason}; none of these comes before it is resumed")


def _show_fires(options: Options, preview: Preview, zone: str, now: datetime) -> None:
    if options.columns or options.output in ("csv", "jsonl", "name"):
        show_list(
            options,
            preview.upcoming,
            columns=upcoming_columns(zone, preview.upcoming, now),
            record=msgspec.structs.asdict,
            name=lambda row: row.nominal_at.isoformat(),
            empty="no fire will come any more",
        )
        return
    show_preview(options, preview, now)
    if options.is_for_people and not preview.upcoming:
        tell("no fire will come any more")


@app.command
async def preview(
    *,
    times: Times | None = None,
    policy: Policy | None = None,
    name: str = "preview",
    count: Annotated[int, _COUNT] = 5,
    tenant: Annotated[str | None, _TENANT] = None,
    options: Given,
) -> None:
    """Say what a schedule would mean that is not stored: its sentence, its next fires, warnings.

    Nothing is asked of a store, unless calendars are named.

    Parameters
    ----------
    name
        By which an H in a cron expression is resolved.
    count
        So many fires.
    tenant
        Whose calendars are meant.
    """
    found = given(times, policy, None)
    draft = draft_from(name, "preview", b"{}", found)
    check_range("count", count, 1, min(PAGE_ITEMS_MAX, PREVIEW_FIRES_MAX))
    seen, now = await _previewed(options, draft, count, tenant)
    _show_fires(options, seen, found.zone, now)


async def _previewed(
    options: Options, draft: ScheduleDraft, count: int, tenant: str | None
) -> tuple[Preview, datetime]:
    """Return what a draft means, by the calendars of the store where it names some."""
    from mainspring.domain.job import NewJob
    from mainspring.registry.calendars import definitions_of
    from mainspring.registry.drafts import Terms, check_draft
    from mainspring.registry.ledger import foreseen

    known, now = {}, utc_now()
    if draft.calendars or draft.only_on:
        async with open_gateway(options) as gateway:
            known = definitions_of(await gateway.schedules.calendars(tenant=tenant))
            now = await gateway.now()
    work = draft.work
    job = NewJob(
        id=b"", kind=work.kind, tenant=tenant or DEFAULT_TENANT, effect_key=work.effect_key
    )
    here = int(now.timestamp())
    checked = check_draft(draft, job, Terms(now=here, calendars=known))
    return foreseen(checked.spec.times, checked.timetable, here, count), now


# --- the ledger ---------------------------------------------------------------------------------


@app.command
async def history(  # noqa: PLR0913 - a command's options are its arguments
    schedule: str,
    /,
    *,
    outcome: Annotated[tuple[str, ...], _MANY] = (),
    since: Annotated[str | None, VALUE] = None,
    until: Annotated[str | None, VALUE] = None,
    limit: int = 20,
    tenant: Annotated[str | None, _TENANT] = None,
    options: Given,
) -> None:
    """Show the ledger, newest first: what became of every fire, and why. A span is one row.

    Parameters
    ----------
    schedule
        Its name or id.
    outcome
        Only fires that ended so: job, skipped_overlap, skipped_paused, …; several by commas.
    since
        Only fires after this: a duration ago (2h) or an instant.
    until
        Only fires up to this; now if not given.
    limit
        At most so many rows, up to 500.
    tenant
        Whose it is.
    """
    outcomes = _outcomes(outcome)
    begin = None if since is None else instant_of(since, name="since")
    end = None if until is None else instant_of(until, name="until")
    check_range("limit", limit, 1, PAGE_ITEMS_MAX)
    async with open_gateway(options) as gateway:
        view = await gateway.schedules.get(schedule, tenant=tenant)
        rows = await gateway.schedules.history(
            view.schedule_id,
            after=begin,
            until=end or await gateway.now(),
            outcomes=outcomes,
            limit=min(limit + 1, PAGE_ITEMS_MAX),
        )
    shown, following = page_of(rows, limit)
    has_filter = outcomes or since is not None or until is not None
    show_list(
        options,
        shown,
        columns=fire_columns(spec_of(view).times.zone),
        record=fire_record,
        name=lambda row: row.nominal_at.isoformat(),
        empty="no fires match" if has_filter else "no fire has been due yet",
    )
    if following is not None:
        tell(f"there are more: --until {following.isoformat().replace('+00:00', 'Z')}")


def page_of(rows: Sequence[FireView], limit: int) -> tuple[Sequence[FireView], datetime | None]:
    """Return rows up to a limit, and the instant that the next page begins with, if there is one.

    A page never ends within an instant that has several rows, as long as it has others.
    """
    if len(rows) < min(limit + 1, PAGE_ITEMS_MAX):
        return rows, None
    border = rows[-1].nominal_at
    whole = [row for row in rows if row.nominal_at > border]
    return (whole, border) if whole else (rows, None)


def _outcomes(words: Sequence[str]) -> frozenset[Outcome]:
    found: set[Outcome] = set()
    for word in (part for given_word in words for part in given_word.split(",") if part):
        try:
            found.add(Outcome(word.strip().lower().replace("-", "_")))
        except ValueError:
            hint = suggestion(word, [outcome.value for outcome in Outcome])
            raise UnknownOption(f"outcome: there is no {word!r}", hint=hint) from None
    return frozenset(found)


@app.command
async def backfills(
    schedule: str, /, *, tenant: Annotated[str | None, _TENANT] = None, options: Given
) -> None:
    """List the backfills of a schedule, newest first, and how far they are.

    Parameters
    ----------
    schedule
        Its name or id.
    tenant
        Whose it is.
    """
    async with open_gateway(options) as gateway:
        view = await gateway.schedules.get(schedule, tenant=tenant)
        rows = await gateway.schedules.backfills(view.schedule_id)
        now = await gateway.now()
    show_list(
        options,
        rows,
        columns=backfill_columns(now),
        record=backfill_record,
        name=lambda row: show(BACKFILL, row.id),
        empty=f"{view.name} has no backfills",
    )
