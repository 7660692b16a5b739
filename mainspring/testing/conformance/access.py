"""Who may come in: ``KeyStore`` and ``TenantStore``."""

from datetime import timedelta
from typing import Any

import pytest

from mainspring.domain.errors import Conflict, NotFound
from mainspring.domain.keys import RANDOM_BYTES, KeyState, KeyView, NewKey, make
from mainspring.domain.tenants import TenantView
from mainspring.domain.trail import AuditFilter
from mainspring.ports.entropy import random_bytes
from mainspring.ports.store import Store
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import Suite

_HOUR = 3_600


def new_key(**changes: Any) -> NewKey:
    """Return a key that nobody has had before."""
    text = make(random_bytes(RANDOM_BYTES))
    given: dict[str, Any] = {
        "id": text.id,
        "name": "billing",
        "tenant": None,
        "scopes": ("submit", "jobs.read"),
        "secret_hash": text.digest,
    }
    return NewKey(**given | changes)


async def _key(store: Store, key_id: str) -> KeyView:
    found = await store.find_key(key_id)
    assert found is not None
    return found.view


async def _actions(store: Store, **wanted: Any) -> list[str]:
    found = await store.list_audit(AuditFilter(**wanted), limit=100)
    return [entry.action for entry in reversed(found)]


class KeySuite(Suite):
    """Keys are made, found, listed and ended."""

    async def test_a_key_is_found_as_it_was_made(self, store: Store, clock: SettableClock) -> None:
        until = clock.now() + timedelta(days=90)
        new = new_key(tenant="acme", expires_at=until)
        made = await store.create_key(new, actor="ada")
        assert made == KeyView(
            id=new.id,
            name="billing",
            tenant="acme",
            scopes=("submit", "jobs.read"),
            state=KeyState.ACTIVE,
            created_at=clock.now(),
            created_by="ada",
            expires_at=until,
        )
        found = await store.find_key(new.id)
        assert found is not None
        assert (found.view, found.secret_hash) == (made, new.secret_hash)
        assert (found.left_ms, found.suspended_reason) == (90 * 86_400_000, None)
        assert await store.find_key(new_key().id) is None

    async def test_making_it_again_changes_nothing(self, store: Store) -> None:
        new = new_key(tenant="acme")
        made = await store.create_key(new, actor="ada")
        assert await store.create_key(new, actor="ada") == made
        assert await _actions(store, action="key") == ["key.create"]

    async def test_a_name_is_held_by_one_key_a_tenant(self, store: Store) -> None:
        first = new_key()
        await store.create_key(first, actor="ada")
        with pytest.raises(Conflict, match="billing") as refused:
            await store.create_key(new_key(), actor="ada")
        assert refused.value.details == {"key": f"ms_live_{first.id}"}
        # Somebody else's is another name, and an ended key gives its own away.
        await store.create_key(new_key(tenant="acme"), actor="ada")
        assert await store.end_key(first.id, actor="ada")
        await store.create_key(new_key(), actor="ada")

    async def test_a_refused_key_leaves_nothing_behind(self, store: Store) -> None:
        await store.create_key(new_key(tenant="acme"), actor="ada")
        before = await store.list_audit(AuditFilter(), limit=100)
        with pytest.raises(Conflict):
            await store.create_key(new_key(tenant="acme"), actor="ada")
        assert await store.list_audit(AuditFilter(), limit=100) == before

    async def test_the_stores_clock_says_when_it_expires(
        self, store: Store, clock: SettableClock
    ) -> None:
        new = new_key(expires_at=clock.now() + timedelta(seconds=10))
        await store.create_key(new, actor="ada")
        clock.advance(9.5)
        found = await store.find_key(new.id)
        assert found is not None
        assert (found.view.state, found.left_ms) == (KeyState.ACTIVE, 500)
        clock.advance(0.5)
        found = await store.find_key(new.id)
        assert found is not None
        assert (found.view.state, found.left_ms) == (KeyState.EXPIRED, 0)
        assert await store.list_keys(limit=10) == []
        assert await store.list_keys(with_ended=True, limit=10) == [found.view]

    async def test_an_end_is_final(self, store: Store, clock: SettableClock) -> None:
        new = new_key(expires_at=clock.now() + timedelta(seconds=10))
        await store.create_key(new, actor="ada")
        clock.advance(1)
        assert await store.end_key(new.id, actor="bob")
        ended = await _key(store, new.id)
        assert ended.state is KeyState.ENDED
        assert (ended.ended_at, ended.ended_by) == (clock.now(), "bob")
        clock.advance(60)
        assert not await store.end_key(new.id, actor="eve")
        assert not await store.end_key(new_key().id, actor="eve")
        assert await _key(store, new.id) == ended
        assert await _actions(store, subject=f"ms_live_{new.id}") == ["key.create", "key.end"]

    async def test_a_list_goes_by_name_page_by_page(self, store: Store) -> None:
        made = [
            await store.create_key(new_key(name=name, tenant=tenant), actor="ada")
            for name in ("b", "a", "c")
            for tenant in (None, "acme", "zoo")
        ]
        wanted = sorted(made, key=lambda key: (key.name, key.id))
        assert await store.list_keys(limit=100) == wanted
        pages: list[KeyView] = []
        while page := await store.list_keys(limit=2, after=pages[-1].id if pages else None):
            pages += page
        assert pages == wanted
        of_acme = [key for key in wanted if key.tenant == "acme"]
        assert await store.list_keys("acme", limit=100) == of_acme
        assert await store.list_keys("acme", name="b", limit=100) == [of_acme[1]]
        assert await store.list_keys("nobody", limit=100) == []

    async def test_the_latest_use_is_remembered(self, store: Store, clock: SettableClock) -> None:
        first, second = new_key(name="a"), new_key(name="b")
        for new in (first, second):
            await store.create_key(new, actor="ada")
        early, late = clock.now() + timedelta(seconds=5), clock.now() + timedelta(seconds=9)
        clock.advance(10)
        await store.note_uses({first.id: late, second.id: early, new_key().id: late})
        await store.note_uses({first.id: early, second.id: late})
        assert (await _key(store, first.id)).used_at == late
        assert (await _key(store, second.id)).used_at == late
        # A clock that is ahead of the store's.
        await store.note_uses({first.id: clock.now() + timedelta(days=1)})
        assert (await _key(store, first.id)).used_at == clock.now()
        await store.note_uses({})
        assert await _actions(store, action="key") == ["key.create"] * 2


class RotationSuite(Suite):
    """One key takes the place of another, and nobody notices."""

    async def test_both_are_good_for_the_overlap(self, store: Store, clock: SettableClock) -> None:
        old = new_key(tenant="acme", scopes=("read",))
        await store.create_key(old, actor="ada")
        new = new_key(name="whatever", scopes=("admin",))
        made = await store.rotate_key(old.id, new, overlap_seconds=_HOUR, actor="bob")
        assert (made.name, made.tenant, made.scopes) == ("billing", "acme", ("read",))
        assert (made.created_by, made.expires_at) == ("bob", None)
        was = await _key(store, old.id)
        assert (was.state, was.replaced_by) == (KeyState.ACTIVE, new.id)
        assert was.expires_at == clock.now() + timedelta(hours=1)
        clock.advance(_HOUR)
        assert (await _key(store, old.id)).state is KeyState.EXPIRED
        assert (await _key(store, new.id)).state is KeyState.ACTIVE

    async def test_it_lives_no_longer_than_it_would_have(
        self, store: Store, clock: SettableClock
    ) -> None:
        until = clock.now() + timedelta(minutes=1)
        old = new_key(expires_at=until)
        await store.create_key(old, actor="ada")
        far = clock.now() + timedelta(days=9)
        made = await store.rotate_key(
            old.id, new_key(expires_at=far), overlap_seconds=_HOUR, actor="ada"
        )
        assert made.expires_at == far
        assert (await _key(store, old.id)).expires_at == until

    async def test_rotating_again_changes_nothing(self, store: Store, clock: SettableClock) -> None:
        old, new = new_key(), new_key()
        await store.create_key(old, actor="ada")
        made = await store.rotate_key(old.id, new, overlap_seconds=_HOUR, actor="ada")
        clock.advance(60)
        again = await store.rotate_key(old.id, new, overlap_seconds=_HOUR, actor="ada")
        assert again == made
        assert await _actions(store) == ["key.create", "key.rotate", "key.create"]

    async def test_what_is_gone_is_not_rotated(self, store: Store) -> None:
        with pytest.raises(NotFound):
            await store.rotate_key(new_key().id, new_key(), overlap_seconds=0, actor="ada")
        old, ended = new_key(), new_key(name="other")
        for new in (old, ended):
            await store.create_key(new, actor="ada")
        await store.end_key(ended.id, actor="ada")
        with pytest.raises(Conflict, match="ended"):
            await store.rotate_key(ended.id, new_key(), overlap_seconds=0, actor="ada")
        next_one = new_key()
        await store.rotate_key(old.id, next_one, overlap_seconds=_HOUR, actor="ada")
        with pytest.raises(Conflict, match=next_one.id):
            await store.rotate_key(old.id, new_key(), overlap_seconds=_HOUR, actor="ada")
        # The new one holds the name, and can be rotated in its turn.
        await store.rotate_key(next_one.id, new_key(), overlap_seconds=_HOUR, actor="ada")


class TenantBookSuite(Suite):
    """Tenants appear, are suspended and resumed."""

    async def test_the_default_tenant_is_there_from_the_beginning(self, store: Store) -> None:
        assert [tenant.name for tenant in await store.list_tenants(limit=10)] == ["default"]

    async def test_a_tenant_is_as_it_was_put(self, store: Store, clock: SettableClock) -> None:
        begin = clock.now()
        made = await store.put_tenant("acme", note="Acme Inc.", actor="ada")
        assert await store.get_tenant("acme") == made
        assert (made.created_at, made.created_by, made.note) == (begin, "ada", "Acme Inc.")
        clock.advance(5)
        assert await store.put_tenant("acme", note="Acme Inc.", actor="bob") == made
        assert await store.put_tenant("acme", actor="bob") == made
        edited = await store.put_tenant("acme", note="Acme Ltd.", actor="bob")
        assert (edited.note, edited.updated_at, edited.updated_by) == (
            "Acme Ltd.",
            clock.now(),
            "bob",
        )
        assert (edited.created_at, edited.created_by) == (begin, "ada")
        assert await store.get_tenant("nobody") is None
        actions = await _actions(store, tenant="acme")
        assert actions == ["tenant.create", "tenant.edit", "tenant.edit"]

    async def test_many_are_registered_once(self, store: Store) -> None:
        assert await store.ensure_tenants(["zoo", "acme", "default"], actor="ada") == [
            "acme",
            "zoo",
        ]
        assert await store.ensure_tenants(["zoo", "bank"], actor="ada") == ["bank"]
        assert await store.ensure_tenants([], actor="ada") == []
        names = [tenant.name for tenant in await store.list_tenants(limit=10)]
        assert names == ["acme", "bank", "default", "zoo"]
        pages: list[TenantView] = []
        while page := await store.list_tenants(limit=3, after=pages[-1].name if pages else None):
            pages += page
        assert [tenant.name for tenant in pages] == names
        assert await _actions(store, action="tenant.create") == ["tenant.create"] * 3

    async def test_a_key_registers_its_tenant(self, store: Store) -> None:
        await store.create_key(new_key(tenant="acme"), actor="ada")
        found = await store.get_tenant("acme")
        assert found is not None
        assert found.created_by == "ada"

    async def test_a_suspension_is_told_with_its_keys(
        self, store: Store, clock: SettableClock
    ) -> None:
        own, free = new_key(tenant="acme"), new_key()
        for new in (own, free):
            await store.create_key(new, actor="ada")
        clock.advance(5)
        assert await store.suspend_tenant("acme", reason="unpaid", actor="bob")
        assert not await store.suspend_tenant("acme", reason="again", actor="eve")
        tenant = await store.get_tenant("acme")
        assert tenant is not None
        assert (tenant.suspended_at, tenant.suspended_by) == (clock.now(), "bob")
        assert (tenant.suspended_reason, tenant.is_suspended) == ("unpaid", True)
        reasons = []
        for new in (own, free):
            found = await store.find_key(new.id)
            assert found is not None
            reasons.append(found.suspended_reason)
        assert reasons == ["unpaid", None]
        assert await store.resume_tenant("acme", actor="bob")
        assert not await store.resume_tenant("acme", actor="bob")
        again = await store.find_key(own.id)
        assert again is not None
        assert again.suspended_reason is None
        actions = await _actions(store, subject="acme")
        assert actions == ["tenant.create", "tenant.suspend", "tenant.resume"]

    async def test_what_is_not_registered_is_not_suspended(self, store: Store) -> None:
        assert not await store.suspend_tenant("nobody", reason="", actor="ada")
        assert not await store.resume_tenant("nobody", actor="ada")
        assert await store.get_tenant("nobody") is None
        assert await _actions(store) == []
