"""Keys, tenants and the audit: what a store keeps of them, and what a client can ask.

Repeating. Every write may be repeated after an unknown outcome: what is created is named by the
caller (a key by its id, a tenant by its name), and what is so already stays as it is and leaves no
second line in the audit.

The store's clock decides whether a key has expired.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Protocol, Self

import msgspec

from mainspring.domain.access import Principal
from mainspring.domain.keys import FoundKey, KeyView, NewKey
from mainspring.domain.tenants import TenantView
from mainspring.domain.trail import AuditEntry, AuditFilter, AuditPlace


class KeyStore(Protocol):
    """Keys are made, checked, exchanged and ended. None is ever deleted: the audit names them."""

    async def create_key(self, new: NewKey, *, actor: str) -> KeyView:
        """Keep a key; its tenant is registered with it, if it has one that is not.

        Raises ``Conflict`` while the tenant has another key of that name that was neither ended nor
        replaced. Repeating it with the same id changes nothing and returns the same.
        """
        ...

    async def find_key(self, key_id: str) -> FoundKey | None:
        """Return a key with what is kept of its secret, whatever its state."""
        ...

    async def list_keys(
        self,
        tenant: str | None = None,
        *,
        name: str | None = None,
        with_ended: bool = False,
        limit: int,
        after: str | None = None,
    ) -> list[KeyView]:
        """Return keys by (name, id), after the one with this id; ``None``: of everybody.

        Those that were ended, or have expired, come only when asked for.
        """
        ...

    async def end_key(self, key_id: str, *, actor: str) -> bool:
        """Make a key useless from this commit on. False: it was ended before, or never was."""
        ...

    async def rotate_key(
        self, key_id: str, new: NewKey, *, overlap_seconds: int, actor: str
    ) -> KeyView:
        """Let a new key take the place of another; return the new one.

        It gets name, tenant and scopes of the old one, whatever ``new`` says of them. The old one
        stays good until now + overlap, or until it would have expired anyway. Raises ``NotFound``,
        and ``Conflict`` for one that was ended or replaced already. Repeating it with the same new
        id changes nothing and returns the same.
        """
        ...

    async def note_uses(self, used_ats: Mapping[str, datetime]) -> None:
        """Remember when keys were last used, of two instants the later; no line in the audit.

        An instant ahead of the store's clock counts as now. Unknown ids are left out.
        """
        ...


class TenantStore(Protocol):
    """Tenants are registered and suspended."""

    async def put_tenant(self, name: str, *, note: str | None = None, actor: str) -> TenantView:
        """Register a tenant, or change its note (``None``: leave it as it is)."""
        ...

    async def ensure_tenants(self, names: Collection[str], *, actor: str) -> list[str]:
        """Register those that are not; return which these were."""
        ...

    async def get_tenant(self, name: str) -> TenantView | None:
        """Return a tenant that is registered."""
        ...

    async def list_tenants(self, *, limit: int, after: str | None = None) -> list[TenantView]:
        """Return tenants by name, after this one."""
        ...

    async def suspend_tenant(self, name: str, *, reason: str, actor: str) -> bool:
        """Have its keys refused from this commit on. False: it is so, or it is not registered."""
        ...

    async def resume_tenant(self, name: str, *, actor: str) -> bool:
        """End a suspension. False: there was none."""
        ...


class AuditStore(Protocol):
    """Look up who did what. Entries are written with the change that they tell, and never changed.

    How long they are kept is ``MaintenanceStore.retain_audit``.
    """

    async def list_audit(
        self, wanted: AuditFilter, *, limit: int, before: AuditPlace | None = None
    ) -> list[AuditEntry]:
        """Return entries, newest first, from before this place."""
        ...


class KeyDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A key as somebody wants it: names and values as given, not yet validated."""

    name: str
    #: Scopes, roles and single rights.
    scopes: tuple[str, ...]
    #: ``None``: the tenant of whoever makes it.
    tenant: str | None = None
    #: At most one of these; neither: it is good until it is ended.
    lives_seconds: int | None = None
    expires_at: datetime | None = None


class IssuedKey(msgspec.Struct, frozen=True, kw_only=True):
    """A new key, with its text: the only time that it is shown."""

    view: KeyView
    text: str

    def __repr__(self) -> str:
        """Show which key it is, and nothing of its secret."""
        return f"IssuedKey({self.view.prefix})"


class AccessGateway(Protocol):
    """All that a client can ask about keys, tenants and the audit.

    It speaks for a principal, who is denied what it has no right to. Of another tenant nothing is
    there. ``key`` is an id, a shown prefix, or a name that only one key has that is not ended.
    """

    def of(self, principal: Principal) -> Self:
        """Return the same for another principal."""
        ...

    async def create_key(self, draft: KeyDraft, *, actor: str) -> IssuedKey:
        """Make a key. Nobody can give a right that they lack, nor a key of another tenant."""
        ...

    async def get_key(self, key: str) -> KeyView:
        """Return a key, or raise ``NotFound`` with the nearest names."""
        ...

    async def list_keys(
        self,
        *,
        tenant: str | None = None,
        with_ended: bool = False,
        limit: int = 50,
        after: str | None = None,
    ) -> list[KeyView]:
        """Return keys by name, after the one with this id."""
        ...

    async def rotate_key(
        self,
        key: str,
        *,
        overlap_seconds: int = 86_400,
        lives_seconds: int | None = None,
        actor: str,
    ) -> IssuedKey:
        """Make a new key in place of one, which stays good for the overlap.

        It lives as long as the old one was to live, unless said otherwise.
        """
        ...

    async def end_key(self, key: str, *, actor: str) -> bool:
        """Make a key useless at once. False: it was ended before."""
        ...

    async def put_tenant(self, name: str, *, note: str | None = None, actor: str) -> TenantView:
        """Register a tenant, or change its note."""
        ...

    async def get_tenant(self, name: str) -> TenantView:
        """Return a tenant, or raise ``NotFound`` with the nearest names."""
        ...

    async def list_tenants(self, *, limit: int = 50, after: str | None = None) -> list[TenantView]:
        """Return tenants by name."""
        ...

    async def suspend_tenant(self, name: str, *, reason: str, actor: str) -> bool:
        """Have its keys refused. False: it is so already."""
        ...

    async def resume_tenant(self, name: str, *, actor: str) -> bool:
        """End a suspension. False: there was none."""
        ...

    async def list_audit(
        self, wanted: AuditFilter, *, limit: int = 50, before: AuditPlace | None = None
    ) -> list[AuditEntry]:
        """Return entries of the audit, newest first."""
        ...
