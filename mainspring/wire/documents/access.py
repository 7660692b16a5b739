"""Keys, tenants and the audit as they travel."""

from datetime import datetime
from typing import Any

import msgspec

from mainspring.domain.keys import KeyState, KeyView
from mainspring.domain.tenants import TenantView
from mainspring.domain.trail import AuditEntry
from mainspring.ports.access import IssuedKey, KeyDraft
from mainspring.wire.documents.common import ObjectText, nothing, raw_json, raw_text

#: Any JSON.
AnyJson = msgspec.Raw


class KeyDocument(msgspec.Struct, frozen=True, kw_only=True):
    """An API key, without its secret."""

    id: str
    #: What is shown of it: `ms_live_` and the id.
    prefix: str
    name: str
    #: Null: of the whole installation.
    tenant: str | None
    scopes: list[str]
    state: KeyState
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    #: Within half a minute or so.
    used_at: datetime | None
    ended_at: datetime | None
    ended_by: str | None
    #: The id of the key that took its place.
    replaced_by: str | None


class IssuedKeyDocument(KeyDocument, frozen=True, kw_only=True):
    """A new API key, with its text: the only time that it is shown."""

    key: str


class KeyBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key as somebody wants it."""

    name: str
    #: Scopes, roles and single rights.
    scopes: list[str]
    #: Left out: that of whoever makes it.
    tenant: str | None = None
    #: At most one of these; neither: it is good until it is ended.
    lives_seconds: int | None = None
    expires_at: datetime | None = None


class RotateBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a key is replaced."""

    #: For how long the old one stays good beside the new one.
    overlap_seconds: int = 86_400
    #: Left out: as long as the old one was to live.
    lives_seconds: int | None = None


class KeyEnded(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a key that was to be ended."""

    #: False: it was so already.
    changed: bool


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


class TenantBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tenant to be registered."""

    name: str
    note: str | None = None


class TenantNote(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be said of a tenant."""

    note: str


class SuspendBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a tenant is suspended."""

    #: Shown to whoever comes with one of its keys.
    reason: str = ""


class TenantChanged(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a tenant that was to be suspended or resumed."""

    name: str
    suspended: bool
    #: False: it was so already.
    changed: bool


class AuditDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One change: who, what, before, after, from where."""

    at: datetime
    #: Of entries of one instant, in the order of writing.
    number: int
    actor: str
    #: From where.
    source: str
    #: A noun and a verb: ``queue.pause``.
    action: str
    subject: str
    tenant: str | None
    detail: ObjectText
    #: What it was; null where there was nothing.
    before: AnyJson = msgspec.field(default_factory=nothing)
    after: AnyJson = msgspec.field(default_factory=nothing)


def key_document(view: KeyView) -> KeyDocument:
    """Return a key as it travels."""
    return KeyDocument(**_key_members(view))


def key_view(key: KeyDocument) -> KeyView:
    """Read a key back."""
    members = {name: getattr(key, name) for name in KeyView.__struct_fields__}
    return KeyView(**members | {"scopes": tuple(key.scopes)})


def issued_key_document(issued: IssuedKey) -> IssuedKeyDocument:
    """Return a new key as it travels, once."""
    return IssuedKeyDocument(**_key_members(issued.view), key=issued.text)


def issued_key(issued: IssuedKeyDocument) -> IssuedKey:
    """Read a new key back."""
    return IssuedKey(view=key_view(issued), text=issued.key)


def _key_members(view: KeyView) -> dict[str, Any]:
    members: dict[str, Any] = msgspec.structs.asdict(view)
    return members | {"prefix": view.prefix, "scopes": list(view.scopes)}


def key_draft(body: KeyBody) -> KeyDraft:
    """Return what a body asks for."""
    return KeyDraft(
        name=body.name,
        scopes=tuple(body.scopes),
        tenant=body.tenant,
        lives_seconds=body.lives_seconds,
        expires_at=body.expires_at,
    )


def tenant_document(view: TenantView) -> TenantDocument:
    """Return a tenant as it travels."""
    return TenantDocument(**msgspec.structs.asdict(view), is_suspended=view.is_suspended)


def tenant_view(tenant: TenantDocument) -> TenantView:
    """Read a tenant back."""
    members = {name: getattr(tenant, name) for name in TenantView.__struct_fields__}
    return TenantView(**members)


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
        before=raw_json(entry.before),
        after=raw_json(entry.after),
    )


def audit_entry(entry: AuditDocument) -> AuditEntry:
    """Read an entry back."""
    return AuditEntry(
        at=entry.at,
        number=entry.number,
        actor=entry.actor,
        source=entry.source,
        action=entry.action,
        subject=entry.subject,
        tenant=entry.tenant,
        detail=bytes(entry.detail),
        before=raw_text(entry.before),
        after=raw_text(entry.after),
    )
