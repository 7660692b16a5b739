"""Keys, tenants and the audit. The desk behind denies what a principal has no right to."""

from datetime import datetime

import msgspec

from mainspring.domain.access import Right
from mainspring.domain.errors import Conflict, InvalidCursor, NaiveDatetime, NotFound
from mainspring.domain.limits import PAGE_ITEMS_MAX
from mainspring.domain.names import check_range
from mainspring.domain.trail import AuditFilter, AuditPlace
from mainspring.ports.access import AccessGateway
from mainspring.server.http.calls import Answer, Call, Cursor
from mainspring.server.http.routing import Routes
from mainspring.wire.documents.access import (
    AuditDocument,
    IssuedKeyDocument,
    KeyBody,
    KeyDocument,
    KeyEnded,
    RotateBody,
    SuspendBody,
    TenantBody,
    TenantChanged,
    TenantDocument,
    TenantNote,
    audit_document,
    issued_key_document,
    key_document,
    key_draft,
    tenant_document,
)
from mainspring.wire.documents.common import Listing

keys = Routes("Keys")
tenants = Routes("Tenants")
audit = Routes("Audit")


class KeysQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which keys a list has."""

    tenant: str | None = None
    #: Also those that were ended or have expired.
    with_ended: bool = False
    limit: int = 50
    cursor: str | None = None
    #: In place of a cursor: behind the key with this id.
    after: str | None = None


class TenantsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of the list of tenants."""

    limit: int = 50
    cursor: str | None = None
    #: In place of a cursor: behind the tenant of this name.
    after: str | None = None


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which entries of the audit."""

    #: A job, a schedule, a worker or a key by id; a queue, a calendar or a tenant by name.
    subject: str | None = None
    actor: str | None = None
    #: One action, or all of a noun: ``queue`` means ``queue.pause`` and ``queue.resume``.
    action: str | None = None
    tenant: str | None = None
    #: From one instant on, up to but not including another.
    from_at: datetime | None = None
    until_at: datetime | None = None
    limit: int = 50
    cursor: str | None = None
    #: In place of a cursor: before the entry of this instant and number.
    before_at: datetime | None = None
    before_number: int | None = None


def _desk(call: Call) -> AccessGateway:
    """Return the desk that speaks for whoever calls."""
    return call.gateway.access.of(call.principal)


@keys.add("GET", "/api/v1/keys", Right.KEYS_READ)
async def list_keys(call: Call, query: KeysQuery) -> Listing[KeyDocument]:
    """List keys by name, without their secrets."""
    check_range("limit", query.limit, 1, PAGE_ITEMS_MAX)
    tenant = call.any_tenant(query.tenant)
    cursor = Cursor("keys", tenant, query.with_ended)
    after = cursor.read(query.cursor)
    found = await _desk(call).list_keys(
        tenant=tenant,
        with_ended=query.with_ended,
        limit=query.limit,
        after=query.after if after is None else _text(after),
    )
    more = found[-1].id.encode() if len(found) == query.limit else None
    return Listing(items=[key_document(key) for key in found], next_cursor=cursor.text(more))


@keys.add("POST", "/api/v1/keys", Right.KEYS_WRITE, status=201, errors=(Conflict, NaiveDatetime))
async def create_key(call: Call, body: KeyBody) -> Answer[IssuedKeyDocument]:
    """Make a key; the answer shows it, this once.

    Nobody gives a right that they lack, nor a key of another tenant.
    """
    issued = await _desk(call).create_key(key_draft(body), actor=call.actor)
    return Answer(
        issued_key_document(issued), headers=[("location", f"/api/v1/keys/{issued.view.id}")]
    )


@keys.add("GET", "/api/v1/keys/{key}", Right.KEYS_READ, errors=(NotFound,))
async def get_key(call: Call, key: str) -> KeyDocument:
    """Return a key by its id, its shown prefix, or its name."""
    return key_document(await _desk(call).get_key(key))


@keys.add(
    "POST", "/api/v1/keys/{key}/rotate", Right.KEYS_WRITE, status=201, errors=(NotFound, Conflict)
)
async def rotate_key(call: Call, key: str, body: RotateBody) -> IssuedKeyDocument:
    """Make a new key in place of one, which stays good for a while; the answer shows it."""
    issued = await _desk(call).rotate_key(
        key,
        overlap_seconds=body.overlap_seconds,
        lives_seconds=body.lives_seconds,
        actor=call.actor,
    )
    call.house.doorkeeper.doubt()
    return issued_key_document(issued)


@keys.add("DELETE", "/api/v1/keys/{key}", Right.KEYS_WRITE, errors=(NotFound, Conflict))
async def end_key(call: Call, key: str) -> KeyEnded:
    """Make a key useless: here at once, at every other server within seconds."""
    changed = await _desk(call).end_key(key, actor=call.actor)
    call.house.doorkeeper.doubt()
    return KeyEnded(changed=changed)


@tenants.add("GET", "/api/v1/tenants", Right.TENANTS_READ)
async def list_tenants(call: Call, query: TenantsQuery) -> Listing[TenantDocument]:
    """List tenants by name."""
    check_range("limit", query.limit, 1, PAGE_ITEMS_MAX)
    cursor = Cursor("tenants", call.principal.tenant)
    after = cursor.read(query.cursor)
    found = await _desk(call).list_tenants(
        limit=query.limit, after=query.after if after is None else _text(after)
    )
    more = found[-1].name.encode() if len(found) == query.limit else None
    return Listing(items=[tenant_document(each) for each in found], next_cursor=cursor.text(more))


@tenants.add("POST", "/api/v1/tenants", Right.TENANTS_WRITE, status=201, errors=(Conflict,))
async def put_tenant(call: Call, body: TenantBody) -> TenantDocument:
    """Register a tenant; one that is there already keeps all that it has."""
    found = await _desk(call).put_tenant(body.name, note=body.note, actor=call.actor)
    return tenant_document(found)


@tenants.add("GET", "/api/v1/tenants/{tenant}", Right.TENANTS_READ, errors=(NotFound,))
async def get_tenant(call: Call, tenant: str) -> TenantDocument:
    """Return a tenant."""
    return tenant_document(await _desk(call).get_tenant(tenant))


@tenants.add("PATCH", "/api/v1/tenants/{tenant}", Right.TENANTS_WRITE, errors=(NotFound,))
async def change_tenant(call: Call, tenant: str, body: TenantNote) -> TenantDocument:
    """Change the note of a tenant."""
    desk = _desk(call)
    await desk.get_tenant(tenant)
    return tenant_document(await desk.put_tenant(tenant, note=body.note, actor=call.actor))


@tenants.add("POST", "/api/v1/tenants/{tenant}/suspend", Right.TENANTS_WRITE, errors=(NotFound,))
async def suspend_tenant(call: Call, tenant: str, body: SuspendBody) -> TenantChanged:
    """Have a tenant's keys refused, elsewhere within seconds; its jobs that are in go on."""
    changed = await _desk(call).suspend_tenant(tenant, reason=body.reason, actor=call.actor)
    call.house.doorkeeper.doubt()
    return TenantChanged(name=tenant, suspended=True, changed=changed)


@tenants.add("POST", "/api/v1/tenants/{tenant}/resume", Right.TENANTS_WRITE, errors=(NotFound,))
async def resume_tenant(call: Call, tenant: str) -> TenantChanged:
    """Let a tenant in again."""
    changed = await _desk(call).resume_tenant(tenant, actor=call.actor)
    return TenantChanged(name=tenant, suspended=False, changed=changed)


@audit.add("GET", "/api/v1/audit", Right.AUDIT_READ, errors=(InvalidCursor, NaiveDatetime))
async def list_audit(call: Call, query: AuditQuery) -> Listing[AuditDocument]:
    """List changes, newest first: who, what, before, after, from where."""
    check_range("limit", query.limit, 1, PAGE_ITEMS_MAX)
    wanted = AuditFilter(
        subject=query.subject,
        actor=query.actor,
        action=query.action,
        tenant=call.any_tenant(query.tenant),
        from_at=query.from_at,
        until_at=query.until_at,
    )
    cursor = Cursor("audit", *msgspec.structs.astuple(wanted))
    position = cursor.read(query.cursor)
    before = None if position is None else _place(position)
    if before is None and query.before_at is not None:
        before = AuditPlace(query.before_at, query.before_number or 0)
    found = await _desk(call).list_audit(wanted, limit=query.limit, before=before)
    more = None
    if len(found) == query.limit:
        more = f"{found[-1].at.isoformat()}/{found[-1].number}".encode()
    return Listing(items=[audit_document(each) for each in found], next_cursor=cursor.text(more))


def _place(position: bytes) -> AuditPlace:
    at, _, number = _text(position).partition("/")
    try:
        return AuditPlace(datetime.fromisoformat(at), int(number))
    except ValueError:
        raise InvalidCursor("cursor: it is no cursor of ours") from None


def _text(position: bytes) -> str:
    try:
        return position.decode()
    except UnicodeDecodeError:
        raise InvalidCursor("cursor: it is no cursor of ours") from None
