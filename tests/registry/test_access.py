"""The desk for keys, tenants and the audit: for a principal, and never beyond it."""

from datetime import datetime, timedelta

import pytest

from mainspring.domain.access import Principal, Right, rights_of
from mainspring.domain.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    MainspringError,
    NaiveDatetime,
    NotFound,
)
from mainspring.domain.keys import RANDOM_BYTES, KeyState, parse
from mainspring.domain.trail import AuditFilter
from mainspring.ports.access import KeyDraft
from mainspring.ports.store import Store
from mainspring.registry.access import AccessDesk
from mainspring.registry.bound import bound_desk
from mainspring.registry.desk import FrontDesk
from mainspring.testing.clock import SettableClock

ADA = "ada"
ACME = Principal(name="key acme", rights=frozenset(Right), tenant="acme")
OPERATOR = Principal(name="key ops", rights=rights_of(["operator", "keys.write", "keys.read"]))


def draft(**changes: object) -> KeyDraft:
    given: dict[str, object] = {"name": "billing", "scopes": ("submit",)}
    return KeyDraft(**given | changes)  # type: ignore[arg-type]  # a table of members


@pytest.fixture
def access(desk: FrontDesk) -> AccessDesk:
    return desk.access


async def test_a_key_is_what_its_text_says(store: Store, clock: SettableClock) -> None:
    asked: list[int] = []

    def random_bytes(count: int) -> bytes:
        asked.append(count)
        return bytes(range(count))

    access = AccessDesk(store, random_bytes=random_bytes)
    issued = await access.create_key(draft(lives_seconds=60), actor=ADA)
    assert asked == [RANDOM_BYTES]
    text = parse(issued.text)
    found = await store.find_key(text.id)
    assert found is not None
    assert text.fits(found.secret_hash)
    assert issued.view == found.view
    assert found.view.expires_at == clock.now() + timedelta(seconds=60)
    assert issued.text not in f"{issued!r} {issued.view!r}"
    assert issued.text[21:] not in f"{issued!r} {found!r}"


async def test_a_key_is_named_by_id_prefix_and_name(access: AccessDesk) -> None:
    issued = await access.create_key(draft(), actor=ADA)
    for name in (issued.view.id, issued.view.prefix, "billing", issued.text):
        assert await access.get_key(name) == issued.view
    with pytest.raises(NotFound, match="biling") as refused:
        await access.get_key("biling")
    assert "billing" in (refused.value.hint or "")
    await access.create_key(draft(tenant="acme"), actor=ADA)
    with pytest.raises(Conflict, match="2 keys") as ambiguous:
        await access.get_key("billing")
    assert issued.view.prefix in (ambiguous.value.hint or "")


async def test_rotation_keeps_rights_and_lifetime(
    access: AccessDesk, store: Store, clock: SettableClock
) -> None:
    old = await access.create_key(draft(lives_seconds=86_400), actor=ADA)
    clock.advance(3_600)
    new = await access.rotate_key("billing", overlap_seconds=600, actor=ADA)
    assert (new.view.name, new.view.scopes) == ("billing", ("submit",))
    assert new.view.expires_at == clock.now() + timedelta(days=1)
    assert new.text != old.text
    was = await access.get_key(old.view.id)
    assert (was.state, was.replaced_by) == (KeyState.ACTIVE, new.view.id)
    # The name means the new one from now on.
    assert await access.get_key("billing") == new.view
    again = await access.rotate_key("billing", lives_seconds=60, actor=ADA)
    assert again.view.expires_at == clock.now() + timedelta(seconds=60)


@pytest.mark.parametrize(
    ("changes", "error", "why"),
    [
        ({"name": ""}, InvalidInput, "name"),
        ({"name": "a b"}, InvalidInput, "name"),
        ({"name": "a" * 65}, InvalidInput, "name"),
        ({"tenant": "a b"}, InvalidInput, "tenant"),
        ({"scopes": ()}, InvalidInput, "scopes"),
        ({"scopes": ("sumbit",)}, InvalidInput, "sumbit"),
        ({"scopes": tuple(right.value for right in Right) * 2 + ("x",)}, InvalidInput, "'x'"),
        ({"lives_seconds": 0}, InvalidInput, "lives_seconds"),
        ({"lives_seconds": 10**12}, InvalidInput, "lives_seconds"),
        ({"expires_at": datetime(2020, 1, 1)}, NaiveDatetime, "zone"),  # noqa: DTZ001 - meant
        ({"expires_at": datetime.fromisoformat("2020-01-01T00:00Z")}, InvalidInput, "past"),
        (
            {"lives_seconds": 1, "expires_at": datetime.fromisoformat("2099-01-01T00:00Z")},
            InvalidInput,
            "both",
        ),
    ],
)
async def test_bad_drafts_make_no_key(
    access: AccessDesk, changes: dict[str, object], error: type[MainspringError], why: str
) -> None:
    with pytest.raises(error, match=why):
        await access.create_key(draft(**changes), actor=ADA)
    assert await access.list_keys(with_ended=True) == []


async def test_nobody_gives_what_they_lack(access: AccessDesk) -> None:
    of_operator = access.of(OPERATOR)
    await of_operator.create_key(draft(scopes=("operate", "submit")), actor=ADA)
    for scopes in (("admin",), ("submit", "tenants.write"), ("work",)):
        with pytest.raises(Forbidden, match="lacks"):
            await of_operator.create_key(draft(name="more", scopes=scopes), actor=ADA)
    # Nor by rotating somebody else's.
    await access.create_key(draft(name="root", scopes=("admin",)), actor=ADA)
    with pytest.raises(Forbidden, match="lacks"):
        await of_operator.rotate_key("root", actor=ADA)
    for scopes in (("tenants.read",), ("audit.read",)):
        reader = access.of(Principal(name="r", rights=rights_of(scopes)))
        with pytest.raises(Forbidden, match=r"keys\.read"):
            await reader.list_keys()
        with pytest.raises(Forbidden, match=r"keys\.write"):
            await reader.end_key("root", actor=ADA)


async def test_a_tenant_sees_its_own_alone(access: AccessDesk, store: Store) -> None:
    whole = await access.create_key(draft(name="whole"), actor=ADA)
    other = await access.create_key(draft(name="other", tenant="zoo"), actor=ADA)
    own = access.of(ACME)
    mine = await own.create_key(draft(), actor=ADA)
    assert mine.view.tenant == "acme"
    assert await own.list_keys() == [mine.view]
    for issued in (whole, other):
        for name in (issued.view.id, issued.view.name, issued.text):
            with pytest.raises(NotFound) as refused:
                await own.get_key(name)
            assert issued.view.name not in (refused.value.hint or "")
            with pytest.raises(NotFound):
                await own.end_key(name, actor=ADA)
            with pytest.raises(NotFound):
                await own.rotate_key(name, actor=ADA)
    with pytest.raises(Forbidden):
        await own.create_key(draft(name="b", tenant="zoo"), actor=ADA)
    with pytest.raises(Forbidden):
        await own.list_keys(tenant="zoo")
    assert [view.name for view in await own.list_tenants()] == ["acme"]
    assert {entry.tenant for entry in await own.list_audit(AuditFilter())} == {"acme"}
    with pytest.raises(Forbidden):
        await own.list_audit(AuditFilter(tenant="zoo"))
    with pytest.raises(NotFound):
        await own.get_tenant("zoo")
    for call in (
        own.put_tenant("acme", actor=ADA),
        own.suspend_tenant("acme", reason="", actor=ADA),
    ):
        with pytest.raises(Forbidden):
            await call
    with pytest.raises(Forbidden):
        own.of(OPERATOR)


async def test_a_bound_desk_has_the_tenants_own(desk: FrontDesk) -> None:
    await desk.access.create_key(draft(name="whole"), actor=ADA)
    bound = bound_desk(desk, "acme")
    mine = await bound.access.create_key(draft(), actor=ADA)
    assert await bound.access.list_keys() == [mine.view]


async def test_tenants_are_put_suspended_and_resumed(access: AccessDesk) -> None:
    made = await access.put_tenant("acme", note="Acme Inc.", actor=ADA)
    assert await access.get_tenant("acme") == made
    assert await access.suspend_tenant("acme", reason="unpaid", actor=ADA)
    assert not await access.suspend_tenant("acme", reason="unpaid", actor=ADA)
    assert await access.resume_tenant("acme", actor=ADA)
    assert not await access.resume_tenant("acme", actor=ADA)
    with pytest.raises(NotFound) as refused:
        await access.suspend_tenant("acne", reason="", actor=ADA)
    assert "acme" in (refused.value.hint or "")
    with pytest.raises(InvalidInput):
        await access.put_tenant("a b", actor=ADA)
    with pytest.raises(InvalidInput):
        await access.put_tenant("acme", note="x" * 1_001, actor=ADA)
