"""The part of a client's door that is about schedules: ``ScheduleGateway`` over REST."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from mainspring.app.schedules import check_work
from mainspring.domain import payload as payloads
from mainspring.domain.errors import NaiveDatetime
from mainspring.domain.ids import BACKFILL, SCHEDULE, parse_job, show
from mainspring.domain.limits import BODY_BYTES_MAX, SCHEDULE_CHARACTERS_MAX
from mainspring.domain.names import check_name
from mainspring.domain.schedule import (
    BackfillView,
    CalendarView,
    FireView,
    Outcome,
    ScheduleState,
    ScheduleView,
    VersionView,
)
from mainspring.ports.schedules import ScheduleFilter
from mainspring.ports.scheduling import (
    Application,
    BackfillAsk,
    Backfilled,
    CalendarDraft,
    Planned,
    Preview,
    ScheduleAudit,
    ScheduleDraft,
)
from mainspring.remote.http import RemoteHttp, path_of
from mainspring.wire.documents.calendars import (
    CalendarDocument,
    WrittenCalendar,
    calendar_body,
    calendar_view,
)
from mainspring.wire.documents.common import Listing
from mainspring.wire.documents.definitions import ScheduleBody, schedule_body
from mainspring.wire.documents.ledger import (
    AuditDocument,
    BackfillBody,
    BackfillChanged,
    BackfillDocument,
    BackfilledDocument,
    FiredDocument,
    FireDocument,
    audit_of,
    backfill_view,
    backfilled_of,
    fire_view,
)
from mainspring.wire.documents.schedules import (
    FireBody,
    PauseBody,
    PlannedDocument,
    PreviewDocument,
    ResumeBody,
    ScheduleChanged,
    ScheduleDocument,
    SkipBody,
    VersionDocument,
    application_body,
    planned_of,
    preview_of,
    schedule_view,
    version_view,
)

#: Below, ``list`` is a method.
list_ = list
#: What is shown beside a schedule is asked for by itself.
_PLAIN: Final = {"include": ""}


class RemoteSchedules:
    """A ``ScheduleGateway`` on a server.

    Who acts is known to the server by the key: ``actor`` is not sent. What is made is made under a
    key of its own, so that a request whose answer was lost can be sent again.
    """

    def __init__(self, http: RemoteHttp, *, new_id: Callable[[], bytes]) -> None:
        """Ask through ``http``; make keys of ``new_id``."""
        self._http = http
        self._new_id = new_id

    # --- making and changing ------------------------------------------------------------------

    async def create(
        self, draft: ScheduleDraft, *, key: str | None = None, actor: str
    ) -> ScheduleView:
        """Make a schedule."""
        del actor
        made = await self._http.ask(
            "POST",
            path_of("schedules"),
            body=_body(draft),
            key=key or self._new_key(),
            answer=ScheduleDocument,
        )
        return schedule_view(made)

    async def edit(
        self, schedule: str, draft: ScheduleDraft, *, version: int | None = None, actor: str
    ) -> ScheduleView:
        """Make a schedule as drafted."""
        del actor
        found = await self._http.fetch(
            "PUT",
            path_of("schedules", schedule),
            body=_body(draft),
            query={"tenant": draft.work.tenant},
            headers={} if version is None else {"If-Match": f'"{version}"'},
        )
        return schedule_view(self._http.read(found, ScheduleDocument))

    async def apply(
        self, wanted: Application, *, dry_run: bool = False, actor: str
    ) -> list_[Planned]:
        """Create and edit whatever differs."""
        del actor
        for draft in wanted.schedules:
            _check(draft)
        plan = await self._http.ask(
            "POST",
            path_of("schedules", "apply"),
            body=application_body(wanted),
            query={"dry_run": dry_run},
            answer=Listing[PlannedDocument],
        )
        return [planned_of(step) for step in plan.items]

    async def pause(
        self,
        schedule: str,
        *,
        reason: str = "",
        until: datetime | None = None,
        tenant: str | None = None,
        actor: str,
    ) -> bool:
        """Fire no more, until resumed or until an instant."""
        del actor
        return await self._change(schedule, "pause", PauseBody(reason=reason, until=until), tenant)

    async def resume(
        self,
        schedule: str,
        *,
        catch_up: bool = False,
        tenant: str | None = None,
        actor: str,
    ) -> bool:
        """End a pause."""
        del actor
        return await self._change(schedule, "resume", ResumeBody(catch_up=catch_up), tenant)

    async def _change(self, schedule: str, verb: str, body: object, tenant: str | None) -> bool:
        found = await self._http.ask(
            "POST",
            path_of("schedules", schedule, verb),
            body=body,
            query={"tenant": tenant},
            answer=ScheduleChanged,
        )
        return found.changed

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
        del actor
        fired = await self._http.ask(
            "POST",
            path_of("schedules", schedule, "fire"),
            body=FireBody(despite_overlap=despite_overlap),
            query={"tenant": tenant},
            key=key or self._new_key(),
            answer=FiredDocument,
        )
        return parse_job(fired.job_id)

    async def skip_next(
        self, schedule: str, count: int = 1, *, tenant: str | None = None, actor: str
    ) -> ScheduleView:
        """Leave out the next so many fires."""
        del actor
        found = await self._http.ask(
            "POST",
            path_of("schedules", schedule, "skip-next"),
            body=SkipBody(count=count),
            query={"tenant": tenant},
            answer=ScheduleDocument,
        )
        return schedule_view(found)

    async def remove(
        self,
        schedule: str,
        *,
        cancel_live: bool = False,
        tenant: str | None = None,
        actor: str,
    ) -> bool:
        """Fire never again; the ledger stays."""
        del actor
        # By its id, under which it can be asked for again when it is gone.
        view = await self.get(schedule, tenant=tenant)
        await self._http.ask(
            "DELETE",
            path_of("schedules", view.schedule_id),
            query={"tenant": tenant, "cancel_running": cancel_live},
            answer=ScheduleChanged,
        )
        return view.state is not ScheduleState.DELETED

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
        del actor
        body = BackfillBody(
            from_at=wanted.from_at,
            until_at=wanted.until_at,
            order=wanted.order,
            concurrency=wanted.concurrency,
            reprocess=wanted.reprocess,
        )
        taken = await self._http.ask(
            "POST",
            path_of("schedules", schedule, "backfills"),
            body=body,
            query={"tenant": tenant, "dry_run": dry_run},
            key=key or self._new_key(),
            answer=BackfilledDocument,
        )
        return backfilled_of(taken)

    async def backfills(self, schedule: str, *, tenant: str | None = None) -> list_[BackfillView]:
        """Return a schedule's backfills, newest first."""
        found = await self._http.ask(
            "GET",
            path_of("schedules", schedule, "backfills"),
            query={"tenant": tenant},
            answer=Listing[BackfillDocument],
        )
        return [backfill_view(row) for row in found.items]

    async def cancel_backfill(self, backfill_id: bytes, *, actor: str) -> bool:
        """Take back what waits."""
        del actor
        path = path_of("backfills", show(BACKFILL, backfill_id))
        return (await self._http.ask("DELETE", path, answer=BackfillChanged)).changed

    # --- questions ----------------------------------------------------------------------------

    async def get(self, schedule: str, *, tenant: str | None = None) -> ScheduleView:
        """Return a schedule by name or id."""
        found = await self._http.ask(
            "GET",
            path_of("schedules", schedule),
            query={"tenant": tenant, **_PLAIN},
            answer=ScheduleDocument,
        )
        return schedule_view(found)

    async def list(
        self, wanted: ScheduleFilter, *, limit: int = 50, after: bytes | None = None
    ) -> list_[ScheduleView]:
        """Return schedules by id, oldest first, after the cursor."""
        found = await self._http.ask(
            "GET",
            path_of("schedules"),
            query={
                "tenant": wanted.tenant,
                "state": sorted(state.value for state in wanted.states),
                "owner": wanted.owner,
                "name_has": wanted.name_has,
                "calendar": wanted.calendar,
                "zones_before": wanted.zones_before,
                "zones_after": wanted.zones_after,
                "with_deleted": wanted.with_deleted,
                "limit": limit,
                "after": None if after is None else show(SCHEDULE, after),
            },
            answer=Listing[ScheduleDocument],
        )
        return [schedule_view(each) for each in found.items]

    async def versions(self, schedule: str, *, tenant: str | None = None) -> list_[VersionView]:
        """Return what a schedule was, oldest first."""
        found = await self._http.ask(
            "GET",
            path_of("schedules", schedule, "versions"),
            query={"tenant": tenant},
            answer=Listing[VersionDocument],
        )
        return [version_view(each) for each in found.items]

    async def preview(self, draft: ScheduleDraft, *, count: int = 5) -> Preview:
        """Return what a draft means."""
        found = await self._http.ask(
            "POST",
            path_of("schedules", "preview"),
            body=_body(draft),
            query={"count": count},
            answer=PreviewDocument,
        )
        return preview_of(found)

    async def next(self, schedule: str, *, count: int = 5, tenant: str | None = None) -> Preview:
        """Return what comes next of a schedule."""
        found = await self._http.ask(
            "GET",
            path_of("schedules", schedule, "next"),
            query={"tenant": tenant, "count": count},
            answer=PreviewDocument,
        )
        return preview_of(found)

    async def history(  # noqa: PLR0913 - a question's options are its arguments
        self,
        schedule: str,
        *,
        after: datetime | None = None,
        until: datetime | None = None,
        outcomes: frozenset[Outcome] = frozenset(),
        limit: int = 50,
        newest_first: bool = True,
        tenant: str | None = None,
    ) -> list_[FireView]:
        """Return rows of the ledger, after one instant up to another."""
        found = await self._http.ask(
            "GET",
            path_of("schedules", schedule, "history"),
            query={
                "tenant": tenant,
                "after": _aware("after", after),
                "until": _aware("until", until),
                "outcome": sorted(outcome.value for outcome in outcomes),
                "limit": limit,
                "order": "newest" if newest_first else "oldest",
            },
            answer=Listing[FireDocument],
        )
        return [fire_view(row) for row in found.items]

    async def audit(
        self,
        schedule: str,
        *,
        from_at: datetime | None = None,
        until_at: datetime | None = None,
        tenant: str | None = None,
    ) -> ScheduleAudit:
        """Compare the ledger with what should have fired."""
        found = await self._http.ask(
            "GET",
            path_of("schedules", schedule, "audit"),
            query={
                "tenant": tenant,
                "from_at": _aware("from", from_at),
                "until_at": _aware("until", until_at),
                "include": "schedule",
            },
            answer=AuditDocument,
        )
        assert found.schedule is not None, "it was asked for"
        return audit_of(found, schedule_view(found.schedule))

    # --- calendars ----------------------------------------------------------------------------

    async def calendars(self, *, tenant: str | None = None) -> Sequence[CalendarView]:
        """Return the tenant's calendars by name."""
        found = await self._http.ask(
            "GET",
            path_of("calendars"),
            query={"tenant": tenant},
            answer=Listing[CalendarDocument],
        )
        return [calendar_view(each) for each in found.items]

    async def calendar(self, name: str, *, tenant: str | None = None) -> CalendarView:
        """Return a calendar."""
        found = await self._http.ask(
            "GET", path_of("calendars", name), query={"tenant": tenant}, answer=CalendarDocument
        )
        return calendar_view(found)

    async def put_calendar(self, draft: CalendarDraft, *, actor: str) -> int:
        """Write a calendar; return how many schedules heed it."""
        del actor
        name = check_name("name", draft.name, SCHEDULE_CHARACTERS_MAX)
        written = await self._http.ask(
            "PUT", path_of("calendars", name), body=calendar_body(draft), answer=WrittenCalendar
        )
        return written.schedules

    async def remove_calendar(self, name: str, *, tenant: str | None = None, actor: str) -> None:
        """Delete a calendar that no schedule heeds."""
        del actor
        await self._http.ask("DELETE", path_of("calendars", name), query={"tenant": tenant})

    def _new_key(self) -> str:
        return self._new_id().hex()


def _body(draft: ScheduleDraft) -> ScheduleBody:
    _check(draft)
    return schedule_body(draft)


def _check(draft: ScheduleDraft) -> None:
    """Refuse what would not arrive as it is meant."""
    check_work(draft.work)
    payloads.check(draft.work.payload, bytes_max=BODY_BYTES_MAX)


def _aware(field: str, instant: datetime | None) -> datetime | None:
    if instant is not None and instant.tzinfo is None:
        raise NaiveDatetime(f"{field}: {instant.isoformat()} has no time zone")
    return instant
