"""Keys, tenants and the audit as they travel."""

from datetime import datetime
from typing import Any

import msgspec

from mainspring.domain.keys import KeyView
from mainspring.domain.tenants import TenantView
from mainspring.domain.trail import AuditEntry
from mainspring.ports.access import IssuedKey


class KeyDocument(msgspec.Struct, frozen=True, kw_only=True):
    """An API key, without its secret."""

    id: str
    #: What is shown of it: ``ms_live_`` and the id.
    prefix: str
    name: str
    #: ``null``: of the whole installation.
    tenant: str | None
    scopes: list[str]
    #: ``active``, ``expired`` or ``ended``.
    state: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    used_at: datetime | None
    ended_at: datetime | None
    ended_by: str | None
    #: The id of the key that took its place.
    replaced_by: str | None


class IssuedKeyDocument(KeyDocument, frozen=True, kw_only=True):
    """A new API key, with its text: the only time that it is shown."""

    key: str


class TenantDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A tenant."""

    name: str
    note: str
    is_suspended: bool
    created_at: datetime
    created_by: str
    updated_at: datetime | None
    updated_by: str | None
    suspended_at: datetime | None
    suspended_by: str | None
    suspended_reason: str | None


class AuditDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One change: who, what, from where, before and after."""

    at: datetime
    number: int
    actor: str
    source: str
    action: str
    subject: str
    #: ``null``: it concerns the whole installation.
    tenant: str | None
    detail: msgspec.Raw
    before: msgspec.Raw | None
    after: msgspec.Raw | None


def key_document(view: KeyView) -> KeyDocument:
    """Return a key as it travels."""
    return KeyDocument(**_key_members(view))


def issued_key_document(issued: IssuedKey) -> IssuedKeyDocument:
    """Return a new key as it travels, once."""
    return IssuedKeyDocument(**_key_members(issued.view), key=issued.text)


def _key_members(view: KeyView) -> dict[str, Any]:
    members: dict[str, Any] = msgspec.structs.asdict(view)
    return members | {
        "prefix": view.prefix,
        "scopes": list(view.scopes),
        "state": view.state.value,
    }


def tenant_document(view: TenantView) -> TenantDocument:
    """Return a tenant as it travels."""
    return TenantDocument(**msgspec.structs.asdict(view), is_suspended=view.is_suspended)


def audit_document(entry: AuditEntry) -> AuditDocument:
    """Return an entry of the audit as it travels."""
    return AuditDocument(
        at=entry.at,
        number=entry.number,
        actor=entry.actor,
        source=entry.source,
        action=entry.action,
        subject=entry.subject,
        tenant=entry.tenant,
        detail=msgspec.Raw(entry.detail),
        before=None if entry.before is None else msgspec.Raw(entry.before),
        after=None if entry.after is None else msgspec.Raw(entry.after),
    )
