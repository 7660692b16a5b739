"""What became of a schedule's fires: its ledger, runs, audits, versions and backfills."""

import struct
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

import msgspec

from mainspring.domain.access import Right
from mainspring.domain.errors import (
    InvalidCursor,
    InvalidId,
    LimitReached,
    NaiveDatetime,
    NotFound,
)
from mainspring.domain.ids import BACKFILL, parse, show
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.names import check_range
from mainspring.domain.schedule import BackfillView, FireView, Outcome, ScheduleView
from mainspring.ports.scheduling import BackfillAsk
from mainspring.server.http.calls import Answer, Call, Cursor, header_key
from mainspring.server.http.routes.schedules import TenantQuery, found, looked_at
from mainspring.server.http.routing import Routes
from mainspring.wire.documents.common import Listing
from mainspring.wire.documents.filters import Instant
from mainspring.wire.documents.ledger import (
    AuditDocument,
    BackfillBody,
    BackfillChanged,
    BackfillDocument,
    BackfilledDocument,
    FireDocument,
    audit_document,
    backfill_document,
    backfilled_document,
    fire_document,
)
from mainspring.wire.documents.schedules import VersionDocument, version_document

routes = Routes("Schedules")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
#: Of a cursor: the nominal instant in microseconds, and the sequence.
_PLACE: Final = struct.Struct(">qq")


class HistoryQuery(TenantQuery, frozen=True, kw_only=True):
    """Which rows of the ledger: those after one instant, up to another."""

    after: Instant | None = None
    until: Instant | None = None
    #: ``job``, ``skipped_overlap``, ``dst_skipped``, ...
    outcome: tuple[Outcome, ...] = ()
    order: Literal["newest", "oldest"] = "newest"
    limit: int = 50
    cursor: str | None = None


class AuditQuery(TenantQuery, frozen=True, kw_only=True):
    """Which fires are computed anew: as far back as the ledger goes, up to now."""

    from_at: Instant | None = None
    until_at: Instant | None = None
    #: ``schedule``: the schedule as well.
    include: tuple[Literal["schedule"], ...] = ()


class BackfillQuery(TenantQuery, frozen=True, kw_only=True):
    """Whose the schedule is, and whether it is only said what would be taken up."""

    dry_run: bool = False


@routes.add(
    "GET",
    "/api/v1/schedules/{schedule}/history",
    Right.SCHEDULES_READ,
    errors=(NotFound, InvalidCursor),
)
async def list_fires(call: Call, schedule: str, query: HistoryQuery) -> Listing[FireDocument]:
    """List what became of each fire, newest first; a span of fires with one end is one row."""
    view = await found(call, schedule, query.tenant)
    cursor = Cursor("fires", view.id, query.after, query.until, query.outcome, query.order)
    rows, further = await page_of_fires(call, view, query, cursor.read(query.cursor))
    return Listing(
        items=[fire_document(row) for row in rows],
        next_cursor=cursor.text(further),
    )


async def page_of_fires(
    call: Call, view: ScheduleView, query: HistoryQuery, position: bytes | None
) -> tuple[list[FireView], bytes | None]:
    """Return rows behind a position, and the position of the next page if there is one."""
    check_range("limit", query.limit, 1, PAGE_ITEMS_MAX)
    newest_first = query.order == "newest"
    after, until = query.after, query.until
    seen: tuple[datetime, int] | None = None
    if position is not None:
        seen = _place(position)
        # Rows of that very instant may be on both sides of the border.
        if newest_first:
            until = seen[0]
        else:
            after = seen[0] - _MICROSECOND
    size = min(query.limit + 1, PAGE_ITEMS_MAX)
    rows: list[FireView] = []
    while True:
        page = await call.gateway.schedules.history(
            view.schedule_id,
            after=after,
            until=until,
            outcomes=frozenset(query.outcome),
            limit=size,
            newest_first=newest_first,
            tenant=view.tenant,
        )
        rows = [row for row in page if seen is None or _is_behind(row, seen, newest_first)]
        if rows or len(page) < size or size == PAGE_ITEMS_MAX:
            break
        # All of them were spans that reach in, or of the border's instant.
        size = PAGE_ITEMS_MAX
    shown = rows[: query.limit]
    has_more = bool(shown) and (len(rows) > len(shown) or len(page) == size)
    return shown, _position(shown[-1]) if has_more else None


def _is_behind(row: FireView, seen: tuple[datetime, int], newest_first: bool) -> bool:  # noqa: FBT001 - it is a direction
    place = (row.nominal_at, row.sequence)
    return place < seen if newest_first else place > seen


def _position(row: FireView) -> bytes:
    return _PLACE.pack((row.nominal_at - _EPOCH) // _MICROSECOND, row.sequence)


def _place(position: bytes) -> tuple[datetime, int]:
    try:
        microseconds, sequence = _PLACE.unpack(position)
        return _EPOCH + microseconds * _MICROSECOND, sequence
    except (struct.error, OverflowError):
        raise InvalidCursor("cursor: it is no cursor of ours") from None


@routes.add(
    "GET", "/api/v1/schedules/{schedule}/versions", Right.SCHEDULES_READ, errors=(NotFound,)
)
async def list_versions(call: Call, schedule: str, query: TenantQuery) -> Listing[VersionDocument]:
    """List what a schedule was, oldest first."""
    view = await found(call, schedule, query.tenant)
    versions = await call.gateway.schedules.versions(view.schedule_id, tenant=view.tenant)
    return Listing(items=[version_document(each) for each in versions])


@routes.add("GET", "/api/v1/schedules/{schedule}/audit", Right.SCHEDULES_READ, errors=(NotFound,))
async def audit_schedule(call: Call, schedule: str, query: AuditQuery) -> AuditDocument:
    """Compute anew what should have fired, and compare it with the ledger.

    Where ``is_complete`` is false there was more than one audit looks at: ask again from a second
    after ``through`` on.
    """
    audit = await call.gateway.schedules.audit(
        schedule,
        from_at=query.from_at,
        until_at=query.until_at,
        tenant=call.tenant(query.tenant),
    )
    shown = await looked_at(call, audit.schedule, ()) if query.include else None
    return audit_document(audit, shown)


# --- backfills ------------------------------------------------------------------------------------


@routes.add(
    "POST",
    "/api/v1/schedules/{schedule}/backfills",
    Right.SCHEDULES_OPERATE,
    status=201,
    statuses=(200,),
    errors=(NotFound, LimitReached, NaiveDatetime),
    headers=("Idempotency-Key",),
)
async def start_backfill(
    call: Call, schedule: str, body: BackfillBody, query: BackfillQuery
) -> Answer[BackfilledDocument]:
    """Take up fires of the past, by the present rule.

    Answered by 200 where nothing was changed: because nothing was to be, or with ``dry_run``.
    """
    view = await found(call, schedule, query.tenant)
    # What is wrong with an order or a count is found behind the gateway, for all doors alike.
    wanted = BackfillAsk(**msgspec.structs.asdict(body))
    taken = await call.gateway.schedules.backfill(
        view.schedule_id,
        wanted,
        dry_run=query.dry_run,
        tenant=view.tenant,
        key=header_key(call),
        actor=call.actor,
    )
    document = backfilled_document(view.name, taken)
    if taken.id is None:
        return Answer(document, status=200)
    location = f"/api/v1/schedules/{view.schedule_id}/backfills/{document.id}"
    return Answer(document, headers=[("location", location)])


@routes.add(
    "GET", "/api/v1/schedules/{schedule}/backfills", Right.SCHEDULES_READ, errors=(NotFound,)
)
async def list_backfills(
    call: Call, schedule: str, query: TenantQuery
) -> Listing[BackfillDocument]:
    """List a schedule's backfills, newest first."""
    rows = await call.gateway.schedules.backfills(schedule, tenant=call.tenant(query.tenant))
    return Listing(items=[backfill_document(row) for row in rows])


@routes.add(
    "GET",
    "/api/v1/schedules/{schedule}/backfills/{backfill_id}",
    Right.SCHEDULES_READ,
    errors=(NotFound, InvalidId),
)
async def get_backfill(
    call: Call, schedule: str, backfill_id: str, query: TenantQuery
) -> BackfillDocument:
    """Return a backfill and how far it is."""
    return backfill_document(await _backfill(call, schedule, backfill_id, query.tenant))


@routes.add(
    "DELETE",
    "/api/v1/schedules/{schedule}/backfills/{backfill_id}",
    Right.SCHEDULES_OPERATE,
    errors=(NotFound, InvalidId),
)
async def cancel_backfill_of(
    call: Call, schedule: str, backfill_id: str, query: TenantQuery
) -> BackfillChanged:
    """Take back what a backfill has not begun; its live jobs go on."""
    row = await _backfill(call, schedule, backfill_id, query.tenant)
    changed = await call.gateway.schedules.cancel_backfill(row.id, actor=call.actor)
    return BackfillChanged(id=show(BACKFILL, row.id), changed=changed)


@routes.add(
    "DELETE", "/api/v1/backfills/{backfill_id}", Right.SCHEDULES_OPERATE, errors=(InvalidId,)
)
async def cancel_backfill(call: Call, backfill_id: str) -> BackfillChanged:
    """Take back what a backfill has not begun, whichever schedule it is of.

    One that does not exist is changed as little as one that has ended.
    """
    raw = parse(BACKFILL, backfill_id)
    changed = await call.gateway.schedules.cancel_backfill(raw, actor=call.actor)
    return BackfillChanged(id=show(BACKFILL, raw), changed=changed)


async def _backfill(
    call: Call, schedule: str, backfill_id: str, tenant: str | None
) -> BackfillView:
    raw = parse(BACKFILL, backfill_id)
    rows = await call.gateway.schedules.backfills(schedule, tenant=call.tenant(tenant))
    for row in rows:
        if row.id == raw:
            return row
    raise NotFound(f"the schedule {schedule[:128]} has no backfill {backfill_id}")
