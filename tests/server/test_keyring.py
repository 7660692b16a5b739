"""Keys at the door: who is let in, for how long that is believed, and how often they may ask."""

from datetime import timedelta

import httpx
import pytest

from mainspring.domain.access import SCOPES, Principal
from mainspring.domain.errors import KeyExpired, RateLimited, TenantSuspended, Unauthenticated
from mainspring.domain.keys import RANDOM_BYTES, FoundKey, KeyText, NewKey, make
from mainspring.domain.limits import KEY_FAILURES_MAX, KEY_TRUST_SECONDS
from mainspring.ports.entropy import random_bytes
from mainspring.ports.store import Store
from mainspring.registry.desk import FrontDesk
from mainspring.server.keyring import Bucket, Keyring
from mainspring.testing.clock import SettableClock
from tests.loopback import serving
from tests.server.conftest import Watch

HERE = "127.0.0.1"


@pytest.fixture
def keyring(store: Store, clock: SettableClock, watch: Watch) -> Keyring:
    return Keyring(store, monotonic=watch, wall=clock.now, rate=10, certificates=("work",))


async def made(store: Store, **changes: object) -> KeyText:
    key = make(random_bytes(RANDOM_BYTES))
    values: dict[str, object] = {
        "id": key.id,
        "name": f"bot-{key.id}",
        "tenant": "acme",
        "scopes": ("submit",),
        "secret_hash": key.digest,
    }
    await store.create_key(NewKey(**(values | changes)), actor="me")  # type: ignore[arg-type]
    return key


def shown(key: KeyText) -> str:
    return f"Bearer {key.shown()}"


async def admitted(keyring: Keyring, key: KeyText) -> Principal:
    return await keyring.admit(shown(key), HERE)


async def test_a_key_names_who_holds_it(keyring: Keyring, store: Store) -> None:
    key = await made(store, name="billing")
    found = await admitted(keyring, key)
    assert (found.name, found.tenant, found.key_id) == ("key billing", "acme", key.id)
    assert found.rights == SCOPES["submit"]
    assert keyring.known(shown(key)) == found
    assert keyring.known(shown(await made(store))) is None


@pytest.mark.parametrize("text", ["Basic eDp5", "ms_live_x", "Bearer", "Bearer ", "Bearer x", ""])
async def test_what_is_no_key_is_told(keyring: Keyring, text: str) -> None:
    with pytest.raises(Unauthenticated):
        await keyring.admit(text, HERE)


async def test_nobody_has_a_key_with_another_secret(keyring: Keyring, store: Store) -> None:
    key = await made(store)
    wrong = KeyText(key.id, random_bytes(32))
    unknown = make(random_bytes(RANDOM_BYTES))
    said = []
    for each in (wrong, unknown):
        with pytest.raises(Unauthenticated) as caught:
            await admitted(keyring, each)
        said.append(caught.value.message)
    assert said == ["nobody has this key"] * 2


async def test_an_ended_key_is_refused_within_moments(
    keyring: Keyring, store: Store, watch: Watch
) -> None:
    key = await made(store, name="billing")
    await admitted(keyring, key)
    await store.end_key(key.id, actor="me")
    watch.now += KEY_TRUST_SECONDS + 0.1
    assert keyring.known(shown(key)) is None
    with pytest.raises(KeyExpired, match=r"\(billing\) was ended"):
        await admitted(keyring, key)


async def test_whoever_ends_a_key_here_need_not_wait(keyring: Keyring, store: Store) -> None:
    key = await made(store)
    await admitted(keyring, key)
    await store.end_key(key.id, actor="me")
    keyring.doubt()
    assert keyring.known(shown(key)) is None
    with pytest.raises(KeyExpired):
        await admitted(keyring, key)


async def test_the_door_at_which_a_key_is_ended_refuses_it_at_once(
    desk: FrontDesk, keyring: Keyring, store: Store
) -> None:
    root = {"Authorization": shown(await made(store, tenant=None, scopes=("admin",)))}
    ended, rotated, suspended = [
        await made(store, tenant=tenant, scopes=("read",)) for tenant in ("a", "b", "c")
    ]
    async with serving(desk, keyring) as url, httpx.AsyncClient(base_url=url) as client:

        async def status(key: KeyText) -> int:
            shows = {"Authorization": shown(key)}
            return (await client.get("/api/v1/jobs", headers=shows)).status_code

        assert [await status(key) for key in (ended, rotated, suspended)] == [200] * 3
        for path, body in (
            (f"keys/{rotated.id}/rotate", {"overlap_seconds": 0}),
            ("tenants/c/suspend", {"reason": "unpaid"}),
        ):
            answer = await client.post(f"/api/v1/{path}", json=body, headers=root)
            assert answer.is_success, answer.text
        assert (await client.delete(f"/api/v1/keys/{ended.id}", headers=root)).is_success
        assert [await status(key) for key in (ended, rotated, suspended)] == [401, 401, 403]


async def test_a_doubt_gives_nobody_a_full_bucket(keyring: Keyring, store: Store) -> None:
    key = await made(store)
    for _ in range(10):
        await admitted(keyring, key)
        keyring.doubt()
    with pytest.raises(RateLimited):
        await admitted(keyring, key)


async def test_what_was_read_before_a_change_is_not_believed(
    keyring: Keyring, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await made(store)
    find_key = store.find_key

    async def ended_meanwhile(key_id: str) -> FoundKey | None:
        found = await find_key(key_id)
        await store.end_key(key_id, actor="me")
        keyring.doubt()
        return found

    monkeypatch.setattr(store, "find_key", ended_meanwhile)
    await admitted(keyring, key)
    assert keyring.known(shown(key)) is None


async def test_a_key_is_not_believed_beyond_its_end(
    keyring: Keyring, store: Store, clock: SettableClock, watch: Watch
) -> None:
    key = await made(store, expires_at=clock.now() + timedelta(seconds=2))
    await admitted(keyring, key)
    clock.advance(3)
    watch.now += 3
    assert keyring.known(shown(key)) is None
    with pytest.raises(KeyExpired, match="expired"):
        await admitted(keyring, key)


async def test_keys_of_a_suspended_tenant_are_refused(keyring: Keyring, store: Store) -> None:
    key = await made(store)
    await store.suspend_tenant("acme", reason="unpaid", actor="me")
    with pytest.raises(TenantSuspended, match="acme is suspended: unpaid"):
        await admitted(keyring, key)


async def test_both_keys_are_good_while_one_takes_the_place_of_the_other(
    keyring: Keyring, store: Store, clock: SettableClock, watch: Watch
) -> None:
    old = await made(store)
    new = make(random_bytes(RANDOM_BYTES))
    wanted = NewKey(id=new.id, name="", tenant=None, scopes=(), secret_hash=new.digest)
    await store.rotate_key(old.id, wanted, overlap_seconds=60, actor="me")
    assert (await admitted(keyring, old)).tenant == (await admitted(keyring, new)).tenant == "acme"
    clock.advance(61)
    watch.now += 61
    await admitted(keyring, new)
    with pytest.raises(KeyExpired):
        await admitted(keyring, old)


async def test_a_key_that_asks_too_often_is_told_when_to_come_back(
    keyring: Keyring, store: Store, watch: Watch
) -> None:
    key, other = await made(store), await made(store)
    for _ in range(10):
        await admitted(keyring, key)
    with pytest.raises(RateLimited, match="more than 10 times a second") as caught:
        keyring.known(shown(key))
    assert caught.value.details["retry_after"] == 1
    await admitted(keyring, other)
    watch.now += 0.1
    assert keyring.known(shown(key)) is not None


async def test_guessing_is_slowed_down_and_holds_nobody_else_up(
    keyring: Keyring, store: Store, watch: Watch
) -> None:
    key = await made(store)
    for _ in range(KEY_FAILURES_MAX):
        with pytest.raises(Unauthenticated):
            await admitted(keyring, make(random_bytes(RANDOM_BYTES)))
    with pytest.raises(RateLimited, match="too many keys that nobody has"):
        await admitted(keyring, make(random_bytes(RANDOM_BYTES)))
    await keyring.admit(shown(key), "10.0.0.9")
    watch.now += 60
    await admitted(keyring, key)


async def test_a_certificate_stands_for_its_scopes(keyring: Keyring) -> None:
    found = await keyring.admit(None, HERE, "worker-7")
    assert (found.name, found.rights) == ("certificate worker-7", SCOPES["work"])
    with pytest.raises(Unauthenticated, match="no key was given"):
        await keyring.admit(None, HERE)


async def test_the_last_use_is_written_down(
    keyring: Keyring, store: Store, clock: SettableClock
) -> None:
    key = await made(store)
    await admitted(keyring, key)
    await keyring.step()
    found = await store.find_key(key.id)
    assert found is not None
    assert found.view.used_at == clock.now()


def test_a_bucket_fills_up_with_time_to_its_size_and_no_further() -> None:
    bucket = Bucket(per_second=2, size=3, now=0)
    assert [bucket.take(0) for _ in range(4)] == [0, 0, 0, 0.5]
    assert [bucket.take(100) for _ in range(4)] == [0, 0, 0, 0.5]
