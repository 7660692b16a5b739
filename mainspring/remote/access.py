"""Keys, tenants and the audit of a server: ``AccessGateway`` over REST."""

from typing import Self

from mainspring.domain.access import Principal
from mainspring.domain.errors import Conflict
from mainspring.domain.keys import KeyView
from mainspring.domain.tenants import TenantView
from mainspring.domain.trail import AuditEntry, AuditFilter, AuditPlace
from mainspring.ports.access import IssuedKey, KeyDraft
from mainspring.remote.http import RemoteHttp, path_of
from mainspring.wire.documents.access import (
    AuditDocument,
    IssuedKeyDocument,
    KeyDocument,
    KeyEnded,
    TenantChanged,
    TenantDocument,
    audit_entry,
    issued_key,
    key_view,
    tenant_view,
)
from mainspring.wire.documents.common import Listing


class RemoteAccessDesk:
    """Asks a server, which knows by the key for whom."""

    def __init__(self, http: RemoteHttp) -> None:
        """Ask through this connection."""
        self._http = http

    def of(self, principal: Principal) -> Self:
        """Refuse: whose it is, the key decides."""
        raise Conflict(
            f"a server is asked with a key, not for {principal.name}", hint="open it with their key"
        )

    async def create_key(self, draft: KeyDraft, *, actor: str) -> IssuedKey:
        """Make a key; who made it, the server knows by the key."""
        del actor
        found = await self._http.ask("POST", path_of("keys"), body=draft, answer=IssuedKeyDocument)
        return issued_key(found)

    async def get_key(self, key: str) -> KeyView:
        """Return a key."""
        return key_view(await self._http.ask("GET", path_of("keys", key), answer=KeyDocument))

    async def list_keys(
        self,
        *,
        tenant: str | None = None,
        with_ended: bool = False,
        limit: int = 50,
        after: str | None = None,
    ) -> list[KeyView]:
        """Return keys by name, after the one with this id."""
        query = {"tenant": tenant, "with_ended": with_ended, "limit": limit, "after": after}
        found = await self._http.ask(
            "GET", path_of("keys"), query=query, answer=Listing[KeyDocument]
        )
        return [key_view(key) for key in found.items]

    async def rotate_key(
        self,
        key: str,
        *,
        overlap_seconds: int = 86_400,
        lives_seconds: int | None = None,
        actor: str,
    ) -> IssuedKey:
        """Make a new key in place of one."""
        del actor
        body = {"overlap_seconds": overlap_seconds, "lives_seconds": lives_seconds}
        path = path_of("keys", key, "rotate")
        return issued_key(await self._http.ask("POST", path, body=body, answer=IssuedKeyDocument))

    async def end_key(self, key: str, *, actor: str) -> bool:
        """Make a key useless at once."""
        del actor
        return (await self._http.ask("DELETE", path_of("keys", key), answer=KeyEnded)).changed

    async def put_tenant(self, name: str, *, note: str | None = None, actor: str) -> TenantView:
        """Register a tenant, or change its note."""
        del actor
        body = {"name": name, "note": note}
        found = await self._http.ask("POST", path_of("tenants"), body=body, answer=TenantDocument)
        return tenant_view(found)

    async def get_tenant(self, name: str) -> TenantView:
        """Return a tenant."""
        path = path_of("tenants", name)
        return tenant_view(await self._http.ask("GET", path, answer=TenantDocument))

    async def list_tenants(self, *, limit: int = 50, after: str | None = None) -> list[TenantView]:
        """Return tenants by name."""
        found = await self._http.ask(
            "GET",
            path_of("tenants"),
            query={"limit": limit, "after": after},
            answer=Listing[TenantDocument],
        )
        return [tenant_view(each) for each in found.items]

    async def suspend_tenant(self, name: str, *, reason: str, actor: str) -> bool:
        """Have its keys refused."""
        del actor
        found = await self._http.ask(
            "POST",
            path_of("tenants", name, "suspend"),
            body={"reason": reason},
            answer=TenantChanged,
        )
        return found.changed

    async def resume_tenant(self, name: str, *, actor: str) -> bool:
        """End a suspension."""
        del actor
        path = path_of("tenants", name, "resume")
        return (await self._http.ask("POST", path, answer=TenantChanged)).changed

    async def list_audit(
        self, wanted: AuditFilter, *, limit: int = 50, before: AuditPlace | None = None
    ) -> list[AuditEntry]:
        """Return entries of the audit, newest first."""
        query = {
            "subject": wanted.subject,
            "actor": wanted.actor,
            "action": wanted.action,
            "tenant": wanted.tenant,
            "from_at": wanted.from_at,
            "until_at": wanted.until_at,
            "limit": limit,
            "before_at": None if before is None else before.at,
            "before_number": None if before is None else before.number,
        }
        found = await self._http.ask(
            "GET", path_of("audit"), query=query, answer=Listing[AuditDocument]
        )
        return [audit_entry(each) for each in found.items]
