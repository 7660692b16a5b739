"""Keys, tenants and the audit, asked here and of a server: the same answers."""

from datetime import timedelta

import pytest

from mainspring.domain.errors import Conflict, InvalidInput, NotFound
from mainspring.domain.keys import KeyState, parse
from mainspring.domain.trail import AuditFilter
from mainspring.ports.access import KeyDraft
from mainspring.ports.gateway import ClientGateway

ADA = "ada"


async def test_a_key_from_its_making_to_its_end(gateway: ClientGateway) -> None:
    access = gateway.access
    until = await gateway.now() + timedelta(days=30)
    draft = KeyDraft(name="bot", scopes=("submit", "jobs.read"), tenant="acme", expires_at=until)
    issued = await access.create_key(draft, actor=ADA)
    assert parse(issued.text).id == issued.view.id
    assert (issued.view.scopes, issued.view.tenant) == (("submit", "jobs.read"), "acme")
    assert issued.view.expires_at == until
    for name in (issued.view.id, issued.view.prefix, "bot"):
        assert await access.get_key(name) == issued.view
    new = await access.rotate_key("bot", overlap_seconds=60, actor=ADA)
    assert (new.view.name, new.text == issued.text) == ("bot", False)
    assert (await access.get_key(issued.view.id)).replaced_by == new.view.id
    assert await access.end_key(new.view.id, actor=ADA)
    assert not await access.end_key(new.view.id, actor=ADA)
    assert (await access.get_key(new.view.id)).state is KeyState.ENDED


async def test_keys_come_page_by_page(gateway: ClientGateway) -> None:
    for number in range(5):
        await gateway.access.create_key(KeyDraft(name=f"k{number}", scopes=("read",)), actor=ADA)
    first = await gateway.access.list_keys(limit=3)
    rest = await gateway.access.list_keys(limit=3, after=first[-1].id)
    assert [key.name for key in first + rest] == [f"k{number}" for number in range(5)]
    assert await gateway.access.list_keys(tenant="acme") == []


@pytest.mark.parametrize(
    ("draft", "error"),
    [
        (KeyDraft(name="a b", scopes=("read",)), InvalidInput),
        (KeyDraft(name="bot", scopes=("reed",)), InvalidInput),
        (KeyDraft(name="bot", scopes=()), InvalidInput),
        (KeyDraft(name="bot", scopes=("read",), lives_seconds=0), InvalidInput),
    ],
)
async def test_a_key_that_cannot_be(
    gateway: ClientGateway, draft: KeyDraft, error: type[InvalidInput]
) -> None:
    with pytest.raises(error) as caught:
        await gateway.access.create_key(draft, actor=ADA)
    assert caught.value.hint


async def test_tenants_are_registered_suspended_and_resumed(gateway: ClientGateway) -> None:
    access = gateway.access
    made = await access.put_tenant("acme", note="Rockets", actor=ADA)
    assert (made.name, made.note, made.is_suspended) == ("acme", "Rockets", False)
    assert await access.put_tenant("acme", actor=ADA) == made
    assert await access.suspend_tenant("acme", reason="unpaid", actor=ADA)
    assert not await access.suspend_tenant("acme", reason="unpaid", actor=ADA)
    assert (await access.get_tenant("acme")).suspended_reason == "unpaid"
    assert await access.resume_tenant("acme", actor=ADA)
    assert "acme" in [each.name for each in await access.list_tenants()]
    await access.put_tenant("globex", actor=ADA)
    assert [each.name for each in await access.list_tenants(after="acme", limit=50)][-1] == "globex"
    with pytest.raises(NotFound):
        await access.get_tenant("initech")


async def test_the_audit_says_what_was_done_and_from_where(gateway: ClientGateway) -> None:
    access = gateway.access
    await access.put_tenant("acme", note="one", actor=ADA)
    await access.put_tenant("acme", note="two", actor=ADA)
    await gateway.pause_queue("mail", reason="a flood", actor=ADA)
    (paused,) = await access.list_audit(AuditFilter(action="queue"))
    assert (paused.action, paused.subject) == ("queue.pause", "mail")
    found = await access.list_audit(AuditFilter(subject="acme"))
    assert found[0].before is not None
    assert found[0].after is not None
    assert b"two" in found[0].after
    rest = await access.list_audit(AuditFilter(subject="acme"), before=found[0].place)
    assert rest == found[1:]


async def test_a_name_that_is_taken(gateway: ClientGateway) -> None:
    draft = KeyDraft(name="bot", scopes=("read",))
    await gateway.access.create_key(draft, actor=ADA)
    with pytest.raises(Conflict):
        await gateway.access.create_key(draft, actor=ADA)
