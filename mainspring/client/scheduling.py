"""What clients ask about schedules and calendars, once for both faces."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from mainspring.app.declare import Call, work_of
from mainspring.app.durations import milliseconds
from mainspring.app.handles import Handle
from mainspring.app.schedules import (
    When,
    calendar_draft,
    changed_draft,
    draft_of,
    schedule_draft,
)
from mainspring.domain.errors import Conflict, InvalidInput, NaiveDatetime
from mainspring.domain.ids import BACKFILL, SCHEDULE, parse, show
from mainspring.domain.names import check_choice
from mainspring.domain.schedule import (
    BackfillView,
    CalendarView,
    FireView,
    Outcome,
    ScheduleState,
    ScheduleView,
)
from mainspring.ports.door import Asking, Door
from mainspring.ports.gateway import ClientGateway
from mainspring.ports.schedules import ScheduleFilter
from mainspring.ports.scheduling import (
    Application,
    BackfillAsk,
    Backfilled,
    Order,
    Planned,
    Preview,
    Reprocess,
    ScheduleAudit,
    ScheduleDraft,
)

if TYPE_CHECKING:
    from mainspring.agenda.spec import Work
    from mainspring.policies.firing import Policies
    from mainspring.timetable.definition import CalendarDefinition, Definition

#: A span of time from now on, or an instant with a zone.
Until = str | timedelta | datetime
_ROUNDS = 5


class Schedule(msgspec.Struct, frozen=True):
    """A schedule as it is now."""

    view: ScheduleView

    @property
    def id(self) -> str:
        """Return its id: ``sch_…``."""
        return self.view.schedule_id

    @property
    def name(self) -> str:
        """Return its name."""
        return self.view.name

    @property
    def tenant(self) -> str:
        """Return whose it is."""
        return self.view.tenant

    @property
    def state(self) -> ScheduleState:
        """Return where it stands."""
        return self.view.state

    @property
    def version(self) -> int:
        """Return how often it was changed, and one."""
        return self.view.version

    @property
    def owner(self) -> str | None:
        """Return who keeps it: ``app:NAME`` where it is declared in code."""
        return self.view.owner

    @property
    def paused_reason(self) -> str | None:
        """Return why it is paused, if it is."""
        return self.view.paused_reason if self.state is ScheduleState.PAUSED else None

    @property
    def times(self) -> "Definition":
        """Return when it fires."""
        from mainspring.agenda.spec import read_spec

        return read_spec(self.view.spec).times

    @property
    def work(self) -> "Work":
        """Return the job of each fire, every option resolved."""
        from mainspring.agenda.spec import read_spec

        return read_spec(self.view.spec).work

    @property
    def policies(self) -> "Policies":
        """Return what becomes of fires that are late, or meet a live job."""
        from mainspring.agenda.spec import read_spec

        return read_spec(self.view.spec).policies

    @property
    def note(self) -> str:
        """Return what it is for."""
        from mainspring.agenda.spec import read_spec

        return read_spec(self.view.spec).note


class Calendar(msgspec.Struct, frozen=True):
    """A calendar as it is now."""

    view: CalendarView

    @property
    def name(self) -> str:
        """Return its name."""
        return self.view.name

    @property
    def definition(self) -> "CalendarDefinition":
        """Return its entries and business days."""
        from mainspring.timetable.definition import CalendarDefinition

        return msgspec.json.decode(self.view.definition, type=CalendarDefinition)


def drafted(
    name: str, when: When, work: Call[Any] | str, payload: Any, options: Mapping[str, Any]
) -> ScheduleDraft:
    """Return the draft of a schedule."""
    return schedule_draft(name, when, work_of(work, payload), options)


def create(door: Door, draft: ScheduleDraft) -> Asking[Schedule]:
    """Ask to make a schedule."""

    async def ask(gateway: ClientGateway) -> Schedule:
        return Schedule(await gateway.schedules.create(draft, actor=door.actor))

    return ask


def edit(
    door: Door,
    schedule: str,
    options: Mapping[str, Any],
    *,
    when: When | None,
    work: Call[Any] | str | None,
    payload: Any,
) -> Asking[Schedule]:
    """Ask to change some of a schedule."""
    if work is None and payload is not None:
        raise InvalidInput("payload: of which work?", hint="give the work, too")
    submission = None if work is None else work_of(work, payload)
    tenant = options.get("tenant")

    async def ask(gateway: ClientGateway) -> Schedule:
        for left in reversed(range(_ROUNDS)):
            view = await gateway.schedules.get(schedule, tenant=tenant)
            draft = changed_draft(
                draft_of(view.name, view.tenant, view.spec), options, when=when, work=submission
            )
            draft = _of_tenant(draft, view.tenant)
            try:
                changed = await gateway.schedules.edit(
                    view.schedule_id, draft, version=view.version, actor=door.actor
                )
            except Conflict as error:
                if "version" not in error.details or not left:
                    raise
                continue
            return Schedule(changed)
        raise AssertionError

    return ask


def _of_tenant(draft: ScheduleDraft, tenant: str) -> ScheduleDraft:
    work = msgspec.structs.replace(draft.work, tenant=tenant)
    return msgspec.structs.replace(draft, work=work)


def apply(door: Door, wanted: Application, *, dry_run: bool) -> Asking[list[Planned]]:
    """Ask that schedules and calendars be as drafted."""
    return lambda gateway: gateway.schedules.apply(wanted, dry_run=dry_run, actor=door.actor)


def get(schedule: str, tenant: str | None) -> Asking[Schedule]:
    """Ask for a schedule."""

    async def ask(gateway: ClientGateway) -> Schedule:
        return Schedule(await gateway.schedules.get(schedule, tenant=tenant))

    return ask


def page(
    *,
    states: Collection[ScheduleState | str],
    owner: str | None,
    name_has: str | None,
    tenant: str | None,
    limit: int,
    after: str | None,
) -> Asking[list[Schedule]]:
    """Ask for a page of schedules."""
    words = tuple(state.value for state in ScheduleState)
    wanted = ScheduleFilter(
        tenant=tenant,
        states=frozenset(
            ScheduleState(check_choice("states", str(state), words)) for state in states
        ),
        owner=owner,
        name_has=name_has,
    )
    begin = None if after is None else parse(SCHEDULE, after)

    async def ask(gateway: ClientGateway) -> list[Schedule]:
        found = await gateway.schedules.list(wanted, limit=limit, after=begin)
        return [Schedule(view) for view in found]

    return ask


def pause(
    door: Door, schedule: str, reason: str, until: Until | None, tenant: str | None
) -> Asking[bool]:
    """Ask to pause a schedule."""

    async def ask(gateway: ClientGateway) -> bool:
        instant = None if until is None else await _instant(gateway, until)
        return await gateway.schedules.pause(
            schedule, reason=reason, until=instant, tenant=tenant, actor=door.actor
        )

    return ask


async def _instant(gateway: ClientGateway, until: Until) -> datetime:
    if isinstance(until, datetime):
        if until.tzinfo is None:
            raise NaiveDatetime(f"until: {until.isoformat()} has no time zone")
        return until
    return await gateway.now() + timedelta(milliseconds=milliseconds(until, name="until"))


def resume(door: Door, schedule: str, *, catch_up: bool, tenant: str | None) -> Asking[bool]:
    """Ask to resume a schedule."""
    return lambda gateway: gateway.schedules.resume(
        schedule, catch_up=catch_up, tenant=tenant, actor=door.actor
    )


def fire_now(
    door: Door, schedule: str, *, despite_overlap: bool, tenant: str | None
) -> Asking[Handle[Any]]:
    """Ask to fire by hand."""

    async def ask(gateway: ClientGateway) -> Handle[Any]:
        job_id = await gateway.schedules.fire_now(
            schedule, despite_overlap=despite_overlap, tenant=tenant, actor=door.actor
        )
        return Handle(door, job_id, codec=None, created=True)

    return ask


def skip_next(door: Door, schedule: str, count: int, tenant: str | None) -> Asking[Schedule]:
    """Ask to leave out the next fires."""

    async def ask(gateway: ClientGateway) -> Schedule:
        return Schedule(
            await gateway.schedules.skip_next(schedule, count, tenant=tenant, actor=door.actor)
        )

    return ask


def remove(door: Door, schedule: str, *, cancel_live: bool, tenant: str | None) -> Asking[bool]:
    """Ask to remove a schedule."""
    return lambda gateway: gateway.schedules.remove(
        schedule, cancel_live=cancel_live, tenant=tenant, actor=door.actor
    )


def backfill(
    door: Door, schedule: str, wanted: BackfillAsk, *, dry_run: bool, tenant: str | None
) -> Asking[Backfilled]:
    """Ask to take up fires of the past."""
    return lambda gateway: gateway.schedules.backfill(
        schedule, wanted, dry_run=dry_run, tenant=tenant, actor=door.actor
    )


def backfill_ask(
    from_at: datetime, until_at: datetime, order: Order, concurrency: int, reprocess: Reprocess
) -> BackfillAsk:
    """Return which fires of the past are meant."""
    return BackfillAsk(
        from_at=from_at,
        until_at=until_at,
        order=order,
        concurrency=concurrency,
        reprocess=reprocess,
    )


def backfills(schedule: str, tenant: str | None) -> Asking[list[BackfillView]]:
    """Ask for a schedule's backfills."""
    return lambda gateway: gateway.schedules.backfills(schedule, tenant=tenant)


def cancel_backfill(door: Door, backfill_id: str | bytes) -> Asking[bool]:
    """Ask to take back what a backfill has not begun."""
    raw = backfill_id if isinstance(backfill_id, bytes) else parse(BACKFILL, backfill_id)
    return lambda gateway: gateway.schedules.cancel_backfill(raw, actor=door.actor)


def preview(draft: ScheduleDraft, count: int) -> Asking[Preview]:
    """Ask what a draft means."""
    return lambda gateway: gateway.schedules.preview(draft, count=count)


def coming(schedule: str, count: int, tenant: str | None) -> Asking[Preview]:
    """Ask what comes next."""
    return lambda gateway: gateway.schedules.next(schedule, count=count, tenant=tenant)


def history(
    schedule: str,
    *,
    after: datetime | None,
    until: datetime | None,
    outcomes: Collection[Outcome | str],
    limit: int,
    tenant: str | None,
) -> Asking[list[FireView]]:
    """Ask for rows of the ledger."""
    words = tuple(outcome.value for outcome in Outcome)
    wanted = frozenset(Outcome(check_choice("outcomes", str(each), words)) for each in outcomes)
    return lambda gateway: gateway.schedules.history(
        schedule, after=after, until=until, outcomes=wanted, limit=limit, tenant=tenant
    )


def audit(
    schedule: str, from_at: datetime | None, until_at: datetime | None, tenant: str | None
) -> Asking[ScheduleAudit]:
    """Ask to compare the ledger with what should have been."""
    return lambda gateway: gateway.schedules.audit(
        schedule, from_at=from_at, until_at=until_at, tenant=tenant
    )


def calendars(tenant: str | None) -> Asking[list[Calendar]]:
    """Ask for the calendars."""

    async def ask(gateway: ClientGateway) -> list[Calendar]:
        return [Calendar(view) for view in await gateway.schedules.calendars(tenant=tenant)]

    return ask


def calendar(name: str, tenant: str | None) -> Asking[Calendar]:
    """Ask for one calendar."""

    async def ask(gateway: ClientGateway) -> Calendar:
        return Calendar(await gateway.schedules.calendar(name, tenant=tenant))

    return ask


def put_calendar(
    door: Door, name: str, entries: Sequence[str], business_days: str, tenant: str | None
) -> Asking[int]:
    """Ask to write a calendar."""
    draft = calendar_draft(name, entries, business_days=business_days, tenant=tenant)
    return lambda gateway: gateway.schedules.put_calendar(draft, actor=door.actor)


def remove_calendar(door: Door, name: str, tenant: str | None) -> Asking[None]:
    """Ask to delete a calendar."""
    return lambda gateway: gateway.schedules.remove_calendar(name, tenant=tenant, actor=door.actor)


def show_backfill(raw: bytes) -> str:
    """Return a backfill's id as people see it."""
    return show(BACKFILL, raw)
