"""The front desk for keys, tenants and the audit: it speaks for a principal, and denies the rest.

Invariants
----------
* Nobody gives a right that they lack, nor anything to a tenant that is not theirs.
* Of another tenant nothing is there: its keys and its audit are answered like what does not exist.
* The text of a key leaves here once, in the answer to whoever made it.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, Self

import msgspec

from mainspring.domain import keys
from mainspring.domain.access import Principal, Right, rights_of
from mainspring.domain.errors import Conflict, Forbidden, InvalidInput, NaiveDatetime, NotFound
from mainspring.domain.keys import KeyView, NewKey
from mainspring.domain.limits import (
    DELAY_SECONDS_MAX,
    KEY_ITEMS_MAX,
    KEY_OVERLAP_SECONDS_MAX,
    PAGE_ITEMS_MAX,
    TENANT_CHARACTERS_MAX,
)
from mainspring.domain.names import check_name, check_note, check_range, suggestion
from mainspring.domain.tenants import TenantView
from mainspring.domain.trail import AuditEntry, AuditFilter, AuditPlace
from mainspring.ports import entropy
from mainspring.ports.access import AuditStore, IssuedKey, KeyDraft, KeyStore, TenantStore
from mainspring.wire.settling import settled

#: Whoever holds the store's address may do everything with it.
OPERATOR: Final = Principal(name="operator", rights=frozenset(Right))
_HINT: Final = "look at what there is (mainspring keys ls), then repeat what is missing"
_DAY_SECONDS: Final = 86_400


class AccessStore(KeyStore, TenantStore, AuditStore, Protocol):
    """The part of a store that this desk needs."""

    async def now(self) -> datetime:
        """Return the store's clock."""
        ...


class AccessDesk:
    """An ``AccessGateway`` on a store."""

    def __init__(
        self,
        store: AccessStore,
        *,
        random_bytes: Callable[[int], bytes] = entropy.random_bytes,
        principal: Principal = OPERATOR,
    ) -> None:
        """Speak for this principal; make keys of bytes that nobody can guess."""
        self._store = store
        self._random_bytes = random_bytes
        self._principal = principal

    def of(self, principal: Principal) -> Self:
        """Return the same desk for another principal, who reaches no further than this one."""
        own = self._principal.tenant
        if own is not None and principal.tenant != own:
            raise Forbidden(f"{principal.name} does not belong to the tenant {own!r}")
        return type(self)(self._store, random_bytes=self._random_bytes, principal=principal)

    # --- keys ---------------------------------------------------------------------------------

    async def create_key(self, draft: KeyDraft, *, actor: str) -> IssuedKey:
        """Check the draft, then make the key."""
        self._principal.insist(Right.KEYS_WRITE)
        check_name("name", draft.name, TENANT_CHARACTERS_MAX)
        if draft.tenant is not None:
            check_name("tenant", draft.tenant, TENANT_CHARACTERS_MAX)
        tenant = draft.tenant
        if self._principal.tenant is not None:
            tenant = self._principal.tenant_of(tenant, self._principal.tenant)
        scopes = self._granted(draft.scopes, tenant)
        expires_at = await self._expiry(draft.lives_seconds, draft.expires_at)
        text = keys.make(self._random_bytes(keys.RANDOM_BYTES))
        new = NewKey(
            id=text.id,
            name=draft.name,
            tenant=tenant,
            scopes=scopes,
            secret_hash=text.digest,
            expires_at=expires_at,
        )

        async def ask() -> KeyView:
            return await self._store.create_key(new, actor=actor)

        return IssuedKey(view=await settled(ask, ask, hint=_HINT), text=text.shown())

    async def get_key(self, key: str) -> KeyView:
        """Return a key by its id, its shown prefix or its name."""
        self._principal.insist(Right.KEYS_READ)
        return await self._key(key)

    async def list_keys(
        self,
        *,
        tenant: str | None = None,
        with_ended: bool = False,
        limit: int = 50,
        after: str | None = None,
    ) -> list[KeyView]:
        """Return keys by name; those of its own tenant to a principal that has one."""
        self._principal.insist(Right.KEYS_READ)
        return await self._store.list_keys(
            self._within(tenant), with_ended=with_ended, limit=_page(limit), after=after
        )

    async def rotate_key(
        self,
        key: str,
        *,
        overlap_seconds: int = _DAY_SECONDS,
        lives_seconds: int | None = None,
        actor: str,
    ) -> IssuedKey:
        """Make a key in place of another."""
        self._principal.insist(Right.KEYS_WRITE)
        check_range("overlap_seconds", overlap_seconds, 0, KEY_OVERLAP_SECONDS_MAX)
        old = await self._key(key)
        self._granted(old.scopes, old.tenant)
        if lives_seconds is None and old.expires_at is not None:
            lives_seconds = max(1, round((old.expires_at - old.created_at).total_seconds()))
        text = keys.make(self._random_bytes(keys.RANDOM_BYTES))
        new = NewKey(
            id=text.id,
            name=old.name,
            tenant=old.tenant,
            scopes=old.scopes,
            secret_hash=text.digest,
            expires_at=await self._expiry(lives_seconds, None),
        )

        async def ask() -> KeyView:
            return await self._store.rotate_key(
                old.id, new, overlap_seconds=overlap_seconds, actor=actor
            )

        return IssuedKey(view=await settled(ask, ask, hint=_HINT), text=text.shown())

    async def end_key(self, key: str, *, actor: str) -> bool:
        """Make a key useless at once."""
        self._principal.insist(Right.KEYS_WRITE)
        found = await self._key(key)

        async def ask() -> bool:
            return await self._store.end_key(found.id, actor=actor)

        async def again() -> bool:
            # Where it was good before, the first try has ended it.
            return await ask() or found.ended_at is None

        return await settled(ask, again, hint=_HINT)

    async def _key(self, key: str) -> KeyView:
        """Find a key that this principal may see."""
        key_id = keys.id_of(key)
        if key_id is not None:
            known = await self._store.find_key(key_id)
            if known is not None and self._sees(known.view.tenant):
                return known.view
        named = await self._named(key)
        if len(named) == 1:
            return named[0]
        if named:
            shown = ", ".join(view.prefix for view in named[:4])
            raise Conflict(
                f"{len(named)} keys are called {key!r}",
                hint=f"name one by its prefix: {shown}",
                details={"keys": [view.prefix for view in named]},
            )
        others = await self._store.list_keys(self._principal.tenant, limit=PAGE_ITEMS_MAX)
        raise NotFound(
            f"there is no key {key[:80]!r}",
            hint=suggestion(key, sorted({view.name for view in others})),
        )

    async def _named(self, name: str) -> list[KeyView]:
        """Return who has this name: of those that were replaced none, while there are others."""
        found = await self._store.list_keys(
            self._principal.tenant, name=name, with_ended=True, limit=PAGE_ITEMS_MAX
        )
        present = [view for view in found if view.ended_at is None]
        return [view for view in present if view.replaced_by is None] or present

    def _sees(self, tenant: str | None) -> bool:
        return self._principal.tenant in (None, tenant)

    def _granted(self, scopes: tuple[str, ...], tenant: str | None) -> tuple[str, ...]:
        """Return scopes that this principal may give; without doubles, in their order."""
        given = tuple(dict.fromkeys(scopes))
        if not given:
            raise InvalidInput(
                "scopes: a key without any can do nothing",
                hint="use some of submit, read, operate, work, admin",
            )
        check_range("scopes", len(given), 1, KEY_ITEMS_MAX)
        lacking = sorted(rights_of(given) - self._principal.rights)
        if lacking:
            raise Forbidden(
                f"{self._principal.name} cannot give {lacking[0].value}, which it lacks",
                hint="make the key with one that has the rights itself",
                details={"rights": [right.value for right in lacking], "tenant": tenant},
            )
        return given

    async def _expiry(
        self, lives_seconds: int | None, expires_at: datetime | None
    ) -> datetime | None:
        if lives_seconds is not None and expires_at is not None:
            raise InvalidInput("give lives_seconds or expires_at, not both")
        if lives_seconds is not None:
            check_range("lives_seconds", lives_seconds, 1, DELAY_SECONDS_MAX)
            return await self._store.now() + timedelta(seconds=lives_seconds)
        if expires_at is None:
            return None
        if expires_at.tzinfo is None:
            raise NaiveDatetime("expires_at: it has no time zone")
        if expires_at <= await self._store.now():
            raise InvalidInput(f"expires_at: {expires_at.isoformat()} is past")
        return expires_at.astimezone(UTC)

    # --- tenants ------------------------------------------------------------------------------

    async def put_tenant(self, name: str, *, note: str | None = None, actor: str) -> TenantView:
        """Register a tenant, or change its note."""
        self._insist_on_whole(Right.TENANTS_WRITE)
        check_name("tenant", name, TENANT_CHARACTERS_MAX)
        if note is not None:
            check_note("note", note)

        async def ask() -> TenantView:
            return await self._store.put_tenant(name, note=note, actor=actor)

        return await settled(ask, ask, hint=_HINT)

    async def get_tenant(self, name: str) -> TenantView:
        """Return a tenant that is registered."""
        self._principal.insist(Right.TENANTS_READ)
        found = await self._store.get_tenant(name) if self._sees(name) else None
        if found is None:
            known = [view.name for view in await self.list_tenants(limit=PAGE_ITEMS_MAX)]
            raise NotFound(f"there is no tenant {name[:80]!r}", hint=suggestion(name, known))
        return found

    async def list_tenants(self, *, limit: int = 50, after: str | None = None) -> list[TenantView]:
        """Return tenants by name; its own alone to a principal that has one."""
        self._principal.insist(Right.TENANTS_READ)
        own = self._principal.tenant
        if own is None:
            return await self._store.list_tenants(limit=_page(limit), after=after)
        found = await self._store.get_tenant(own)
        return [found] if found is not None and (after is None or after < own) else []

    async def suspend_tenant(self, name: str, *, reason: str, actor: str) -> bool:
        """Have its keys refused."""
        self._insist_on_whole(Right.TENANTS_WRITE)
        check_note("reason", reason)
        before = await self.get_tenant(name)

        async def ask() -> bool:
            return await self._store.suspend_tenant(name, reason=reason, actor=actor)

        async def again() -> bool:
            return await ask() or not before.is_suspended

        return await settled(ask, again, hint=_HINT)

    async def resume_tenant(self, name: str, *, actor: str) -> bool:
        """End a suspension."""
        self._insist_on_whole(Right.TENANTS_WRITE)
        before = await self.get_tenant(name)

        async def ask() -> bool:
            return await self._store.resume_tenant(name, actor=actor)

        async def again() -> bool:
            return await ask() or before.is_suspended

        return await settled(ask, again, hint=_HINT)

    def _insist_on_whole(self, right: Right) -> None:
        self._principal.insist(right)
        if self._principal.tenant is not None:
            raise Forbidden(
                f"{self._principal.name} belongs to the tenant {self._principal.tenant!r}, "
                "and tenants are the installation's",
                hint="use a key of the whole installation",
            )

    # --- the audit ----------------------------------------------------------------------------

    async def list_audit(
        self, wanted: AuditFilter, *, limit: int = 50, before: AuditPlace | None = None
    ) -> list[AuditEntry]:
        """Return entries, newest first; those of its own tenant to a principal that has one."""
        self._principal.insist(Right.AUDIT_READ)
        wanted = msgspec.structs.replace(wanted, tenant=self._within(wanted.tenant))
        return await self._store.list_audit(wanted, limit=_page(limit), before=before)

    def _within(self, tenant: str | None) -> str | None:
        """Return the tenant to look at: the own one, where there is one."""
        if self._principal.tenant is None:
            return tenant
        return self._principal.tenant_of(tenant, self._principal.tenant)


def _page(limit: int) -> int:
    return check_range("limit", limit, 1, PAGE_ITEMS_MAX)
