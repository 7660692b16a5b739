"""The front desk for schedules: what people and deployments change, and what they ask.

Every change is judged by ``mainspring.agenda`` under the schedule's guard in the store. A judge
that finds its own change already there changes nothing, so that every change may be repeated.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Final, TypeGuard

import msgspec

from mainspring.agenda import changes
from mainspring.agenda.judge import resume
from mainspring.agenda.standing import Change, Pause, Ruling, Standing
from mainspring.app.schedules import check_work
from mainspring.domain.errors import (
    Changed,
    Conflict,
    InvalidInput,
    ScheduleExists,
    WouldOverlap,
)
from mainspring.domain.job import NewJob
from mainspring.domain.limits import (
    INLINE_BYTES_MAX,
    INTERVAL_SECONDS_MIN,
    PAGE_ITEMS_MAX,
    PREPARE_FIRES_MAX,
)
from mainspring.domain.names import check_note, check_range
from mainspring.domain.schedule import (
    ScheduleState,
    ScheduleView,
)
from mainspring.ports.gateway import Submission
from mainspring.ports.schedules import Judge, Judged, NewSchedule, ScheduleFilter
from mainspring.ports.scheduling import (
    Application,
    BackfillAsk,
    Backfilled,
    CalendarDraft,
    Planned,
    Preview,
    ScheduleDraft,
)
from mainspring.registry import backfilling, calendars, deploying, ledger, repeating
from mainspring.registry.drafts import Checked, Terms, check_draft
from mainspring.registry.schedule_questions import ScheduleQuestions, SchedulingStore, aware
from mainspring.timetable.zones import zone_data_number
from mainspring.wire.settling import settled

#: Below, ``list`` is a method.
list_ = list
_HINT: Final = "look at it (mainspring schedules get), then repeat what is missing"
#: So many times an apply begins anew when somebody else changes the schedule at the same moment.
_ROUNDS: Final = 5
#: From the moment of asking on: where a fire by hand is looked for after an unknown outcome.
_AROUND_SECONDS: Final = 600
#: So many pages of the schedules of a day are looked through for what a key named.
_KEY_PAGES_MAX: Final = 4


class ScheduleDesk(ScheduleQuestions):
    """A ``ScheduleGateway`` on a store."""

    def __init__(
        self,
        store: SchedulingStore,
        *,
        new_id: Callable[[], bytes],
        validated: Callable[[Sequence[Submission]], Awaitable[list_[NewJob]]],
        seconds_min: int = INTERVAL_SECONDS_MIN,
        payload_bytes: int = INLINE_BYTES_MAX,
        only: str | None = None,
    ) -> None:
        """Check the work of schedules with ``validated``; name schedules and jobs with ``new_id``.

        Two fires of a schedule are at least ``seconds_min`` apart. With ``only`` it is the desk of
        that tenant.
        """
        super().__init__(store, only=only)
        self.new_id = new_id
        self._validated = validated
        self._seconds_min = seconds_min
        self._payload_bytes = payload_bytes

    # --- making and changing ------------------------------------------------------------------

    async def create(
        self, draft: ScheduleDraft, *, key: str | None = None, actor: str
    ) -> ScheduleView:
        """Check it, then make it."""
        draft = self.settled_draft(draft)
        if key is None:
            return await self.make(await self.checked(draft), actor=actor)
        body = repeating.body_of(draft)
        named = repeating.id_of(await self.store.now(), draft.tenant, key, body)
        made = await self._made_under(named, draft, key)
        if made is not None:
            return made
        checked = await self.checked(draft)
        try:
            return await self.make(checked, named=named, actor=actor)
        except ScheduleExists:
            # The same request may have come in twice at once.
            made = await self._made_under(named, draft, key)
            if made is None:
                raise
            return made

    async def _made_under(
        self, named: bytes, draft: ScheduleDraft, key: str
    ) -> ScheduleView | None:
        """Return the schedule that a key named already, or raise when it was another one."""
        found = await self.store.find_schedule(draft.tenant, draft.name)
        if found is not None and repeating.is_same(found.id, named, key):
            return found
        after = repeating.first_id(await self.store.now() - repeating.DAY)
        wanted = ScheduleFilter(tenant=draft.tenant, with_deleted=True)
        for _ in range(_KEY_PAGES_MAX):
            page = await self.store.list_schedules(wanted, limit=PAGE_ITEMS_MAX, after=after)
            for view in page:
                if repeating.is_same(view.id, named, key):
                    return view
            if len(page) < PAGE_ITEMS_MAX:
                break
            after = page[-1].id
        return None

    async def make(
        self, checked: Checked, *, named: bytes | None = None, actor: str
    ) -> ScheduleView:
        """Make a schedule that was checked."""
        policies = checked.spec.policies
        new = NewSchedule(
            id=named or self.new_id(),
            tenant=checked.draft.tenant,
            name=checked.draft.name,
            spec=checked.text,
            calendars=checked.calendars,
            zones=zone_data_number(),
            owner=checked.draft.owner,
            is_exclusive=policies.is_exclusive,
            pause_after_failures=policies.pause_after_failures,
        )

        async def ask() -> Judged:
            return await self.store.create_schedule(
                new, lambda standing: changes.create(standing, self.new_id), actor=actor
            )

        self.announce(await settled(ask, ask, hint=_HINT))
        made = await self.view(new.id)
        return await calendars.caught_up(self, made, actor=actor)

    async def edit(
        self, schedule: str, draft: ScheduleDraft, *, version: int | None = None, actor: str
    ) -> ScheduleView:
        """Check the draft, then change the schedule if it is not so already."""
        draft = self.settled_draft(draft)
        view = await self.get(schedule, tenant=draft.tenant)
        checked = await self.checked(msgspec.structs.replace(draft, name=view.name))
        is_another = version is not None and version != view.version
        # What is so already may be this very change, whose answer was lost.
        if is_another and (view.spec, view.calendars) != (checked.text, checked.calendars):
            raise _changed_meanwhile(view.name, version or 0, view.version)
        return await self.change(view, checked, actor=actor)

    async def change(
        self, view: ScheduleView, checked: Checked, *, what: str = "edited", actor: str
    ) -> ScheduleView:
        """Give a schedule a new version, unless it is so already."""
        self.check_there(view)
        owner = checked.draft.owner
        is_same = (view.spec, view.calendars) == (checked.text, checked.calendars)
        if is_same and owner in (None, view.owner):
            return view
        wanted = Change(
            from_at=0,
            what=what,
            spec=checked.text,
            calendars=checked.calendars,
            zones=zone_data_number(),
            owner=owner,
        )
        await self.judge([view.id], _editing(wanted, self.new_id, view.version), actor=actor)
        return await calendars.caught_up(self, await self.view(view.id), actor=actor)

    async def apply(
        self, wanted: Application, *, dry_run: bool = False, actor: str
    ) -> list_[Planned]:
        """Plan, refuse conflicts, then carry out what differs."""
        wanted = msgspec.structs.replace(
            wanted,
            schedules=tuple(self.settled_draft(draft) for draft in wanted.schedules),
            calendars=tuple(self.settled_calendar(draft) for draft in wanted.calendars),
        )
        plan = await deploying.plan(self, wanted)
        if dry_run:
            return [step.planned for step in plan]
        deploying.refuse_conflicts(plan)
        for step in plan:
            await self._carry_out(step, wanted, actor=actor)
        return [step.planned for step in plan]

    async def _carry_out(self, step: deploying.Step, wanted: Application, *, actor: str) -> None:
        planned = step.planned
        if not planned.is_change:
            return
        if step.calendar is not None:
            await self.put_calendar(step.calendar, actor=actor)
        elif step.checked is None:
            await self.remove(planned.name, tenant=planned.tenant, actor=actor)
        elif planned.action == "create":
            await self.make(step.checked, actor=actor)
        else:
            what = "adopted" if planned.action == "adopt" else "edited"
            await self._change_anew(step.checked, what, actor=actor)

    async def _change_anew(self, checked: Checked, what: str, *, actor: str) -> None:
        """Change a schedule; begin anew when somebody else does so at the same moment."""
        for left in reversed(range(_ROUNDS)):
            view = await self.get(checked.draft.name, tenant=checked.draft.tenant)
            try:
                await self.change(view, checked, what=what, actor=actor)
            except Conflict as error:
                if "version" not in error.details or not left:
                    raise
                continue
            return

    async def pause(
        self,
        schedule: str,
        *,
        reason: str = "",
        until: datetime | None = None,
        tenant: str | None = None,
        actor: str,
    ) -> bool:
        """Pause it; a pause of another reason or end replaces the one there is."""
        view = await self.get(schedule, tenant=tenant)
        self.check_there(view)
        check_note("reason", reason)
        if until is not None:
            _check_future("until", until, await self.store.now())
            until = _to_millisecond(until)
        is_paused = view.state is ScheduleState.PAUSED
        if is_paused and (view.paused_reason or "", view.paused_until) == (reason, until):
            return False
        until_ms = None if until is None else round(until.timestamp() * 1000)
        wanted = Pause(reason, actor, until_ms)
        await self.judge(
            [view.id], lambda standing: changes.pause(standing, self.new_id, wanted), actor=actor
        )
        return True

    async def resume(
        self,
        schedule: str,
        *,
        catch_up: bool = False,
        tenant: str | None = None,
        actor: str,
    ) -> bool:
        """End a pause."""
        view = await self.get(schedule, tenant=tenant)
        self.check_there(view)
        if view.state is not ScheduleState.PAUSED:
            return False

        def judge(standing: Standing) -> Ruling:
            if standing.state is not ScheduleState.PAUSED:
                return changes.leave(standing, self.new_id)
            return resume(standing, self.new_id, catch_up=catch_up)

        await self.judge([view.id], judge, actor=actor)
        return True

    async def fire_now(
        self,
        schedule: str,
        *,
        despite_overlap: bool = False,
        tenant: str | None = None,
        key: str | None = None,
        actor: str,
    ) -> bytes:
        """Fire once by hand; return the job."""
        view = await self.get(schedule, tenant=tenant)
        self.check_there(view)
        now = await self.store.now()
        job_id = self.new_id()
        asked_at = int(now.timestamp())
        around = (asked_at - 1, asked_at + _AROUND_SECONDS)
        if key is not None:
            job_id = repeating.id_of(now, view.schedule_id, key, b"")
            around = (asked_at - int(repeating.HOUR.total_seconds()), around[1])
        known: list[bytes] = []

        def judge(standing: Standing) -> Ruling:
            known[:] = [row.job_id for row in standing.rows if is_it(row.job_id)]
            if known:
                # The first try did it, and its answer was lost.
                return changes.leave(standing, self.new_id)
            ids = chain([job_id], iter(self.new_id, None))
            return changes.fire_now(standing, lambda: next(ids), despite_overlap=despite_overlap)

        def is_it(other: bytes | None) -> TypeGuard[bytes]:
            if other is None or key is None:
                return other == job_id
            return repeating.is_same(other, job_id, key)

        async def ask() -> Judged:
            return await self.store.judge_named([view.id], judge, actor=actor, rows=around)

        judged = await settled(ask, ask, hint=_HINT)
        self.announce(judged)
        if known:
            return known[0]
        if job_id not in judged.job_ids:
            raise WouldOverlap(f"a job of the schedule {view.name} began at the same moment")
        return job_id

    async def skip_next(
        self, schedule: str, count: int = 1, *, tenant: str | None = None, actor: str
    ) -> ScheduleView:
        """Leave out the next so many fires."""
        check_range("count", count, 0, PREPARE_FIRES_MAX)
        view = await self.get(schedule, tenant=tenant)
        self.check_there(view)
        await self.judge(
            [view.id], lambda standing: changes.skip_next(standing, self.new_id, count), actor=actor
        )
        return await self.view(view.id)

    async def remove(
        self,
        schedule: str,
        *,
        cancel_live: bool = False,
        tenant: str | None = None,
        actor: str,
    ) -> bool:
        """Fire never again."""
        view = await self.get(schedule, tenant=tenant)
        if view.state is ScheduleState.DELETED:
            return False
        judged = await self.judge(
            [view.id],
            lambda standing: changes.remove(standing, self.new_id, cancel_live=cancel_live),
            actor=actor,
        )
        if cancel_live:
            self.store.wakeups.announce({"done"})
        return judged.schedules > 0

    # --- the past -----------------------------------------------------------------------------

    async def backfill(
        self,
        schedule: str,
        wanted: BackfillAsk,
        *,
        dry_run: bool = False,
        tenant: str | None = None,
        key: str | None = None,
        actor: str,
    ) -> Backfilled:
        """Take up fires of the past."""
        view = await self.get(schedule, tenant=tenant)
        self.check_there(view)
        now = await self.store.now()
        named: bytes | None = None
        if key is not None and not dry_run:
            body = msgspec.msgpack.encode(wanted)
            named = repeating.id_of(now, view.schedule_id, key, body)
            for row in await self.store.list_backfills(view.id):
                is_recent = row.created_at > now - repeating.DAY
                if is_recent and repeating.is_same(row.id, named, key):
                    return backfilling.taken(row)
        chosen = await backfilling.choose(self.store, view, wanted, now)
        if dry_run or not chosen.fires:
            return chosen.answer(None)
        new = chosen.new(named or self.new_id())

        async def ask() -> int:
            return await self.store.create_backfill(new, actor=actor)

        taken = await settled(ask, ask, hint="mainspring schedules backfills shows whether it is")
        self.store.wakeups.announce({"schedules"})
        return msgspec.structs.replace(chosen.answer(new.id), fires=taken)

    async def cancel_backfill(self, backfill_id: bytes, *, actor: str) -> bool:
        """Take back what waits."""
        changed = await self.store.cancel_backfill(backfill_id, actor=actor)
        self.store.wakeups.announce({"schedules"})
        return changed

    # --- questions ----------------------------------------------------------------------------

    async def preview(self, draft: ScheduleDraft, *, count: int = 5) -> Preview:
        """Return what a draft means."""
        checked = await self.checked(self.settled_draft(draft))
        now = int((await self.store.now()).timestamp())
        return ledger.foreseen(checked.spec.times, checked.timetable, now, count)

    # --- calendars ----------------------------------------------------------------------------

    async def put_calendar(self, draft: CalendarDraft, *, actor: str) -> int:
        """Write a calendar, and judge anew whatever heeds it."""
        return await calendars.put(self, self.settled_calendar(draft), actor=actor)

    async def remove_calendar(self, name: str, *, tenant: str | None = None, actor: str) -> None:
        """Delete a calendar that nothing heeds."""
        await calendars.remove(self, name, self.home(tenant), actor=actor)

    # --- for the modules beside this one ------------------------------------------------------

    def settled_draft(self, draft: ScheduleDraft) -> ScheduleDraft:
        """Return a draft that names its tenant."""
        tenant = self.home(draft.work.tenant)
        if tenant == draft.work.tenant:
            return draft
        return msgspec.structs.replace(
            draft, work=msgspec.structs.replace(draft.work, tenant=tenant)
        )

    def settled_calendar(self, draft: CalendarDraft) -> CalendarDraft:
        """Return a calendar's draft that names its tenant."""
        return msgspec.structs.replace(draft, tenant=self.home(draft.tenant))

    async def checked(self, draft: ScheduleDraft, terms: Terms | None = None) -> Checked:
        """Return a draft that can be stored, or raise what is wrong with it."""
        check_work(draft.work)
        (job,) = await self._validated([draft.work])
        return check_draft(draft, job, terms or await self.terms(job.tenant))

    async def terms(self, tenant: str) -> Terms:
        """Return what drafts of a tenant are checked against now."""
        return Terms(
            now=int((await self.store.now()).timestamp()),
            calendars=await calendars.definitions(self.store, tenant),
            seconds_min=self._seconds_min,
            payload_bytes=self._payload_bytes,
        )

    async def judge(self, ids: Sequence[bytes], judge: Judge, *, actor: str) -> Judged:
        """Change schedules, whatever the network does; the judge must be harmless when repeated."""

        async def ask() -> Judged:
            return await self.store.judge_named(ids, judge, actor=actor)

        judged = await settled(ask, ask, hint=_HINT)
        self.announce(judged)
        return judged

    def announce(self, judged: Judged) -> None:
        """Tell everybody whom a change concerns."""
        self.store.wakeups.announce({"schedules"} | judged.topics)


def _editing(
    wanted: Change, new_id: Callable[[], bytes], version: int
) -> Callable[[Standing], Ruling]:
    def judge(standing: Standing) -> Ruling:
        is_same = (standing.spec, standing.calendars) == (wanted.spec, wanted.calendars)
        if standing.version == version:
            return changes.edit(standing, new_id, wanted)
        if is_same:
            # The first try did it, and its answer was lost; or somebody else wanted the same.
            return changes.leave(standing, new_id)
        raise _changed_meanwhile(standing.name, version, standing.version)

    return judge


def _changed_meanwhile(name: str, expected: int, found: int) -> Changed:
    return Changed(
        f"the schedule {name} was changed meanwhile: it is at version {found}, not {expected}",
        hint="look at it, then change it again",
        details={"version": found},
    )


def _check_future(field: str, instant: datetime, now: datetime) -> None:
    aware(field, instant)
    if instant <= now:
        raise InvalidInput(
            f"{field}: {instant.isoformat()} has passed",
            hint=f"it is {now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ} by the store's clock",
        )


def _to_millisecond(instant: datetime) -> datetime:
    utc = instant.astimezone(UTC)
    return utc - timedelta(microseconds=utc.microsecond % 1000)
