"""The event stream over a real socket: told, resumed, and ended with the right to listen."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mainspring.domain.keys import RANDOM_BYTES, KeyText, NewKey, make
from mainspring.ports.entropy import random_bytes
from mainspring.ports.store import Store
from mainspring.registry.bound import bound_desk
from mainspring.registry.desk import FrontDesk
from mainspring.runtime.addresses import Address, listen
from mainspring.runtime.serving import House, open_http
from mainspring.server.events import Hub
from mainspring.server.http import asgi
from mainspring.server.keyring import Keyring
from mainspring.testing.builders import id_at, new_job
from mainspring.testing.clock import SettableClock


async def made(store: Store) -> KeyText:
    key = make(random_bytes(RANDOM_BYTES))
    new = NewKey(id=key.id, name="watcher", tenant="acme", scopes=("read",), secret_hash=key.digest)
    await store.create_key(new, actor="me")
    return key


@asynccontextmanager
async def watching(port: int, key: KeyText, *more: str) -> AsyncIterator[asyncio.StreamReader]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [
        "GET /api/v1/events HTTP/1.1",
        "host: localhost",
        f"authorization: Bearer {key.shown()}",
        "connection: close",
        *more,
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    try:
        yield reader
    finally:
        writer.close()


@pytest.fixture
async def door(
    store: Store, desk: FrontDesk, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[int, Hub, Keyring]]:
    """A server that looks at its listeners often, and at keys each time."""
    monkeypatch.setattr(asgi, "KEY_TRUST_SECONDS", 0.01)
    hub = Hub(store, name="h")
    seconds = iter(range(0, 1_000_000, 10))
    keyring = Keyring(store, monotonic=lambda: next(seconds), wall=clock.now, rate=1_000)
    listening = listen("http", Address("127.0.0.1", 0))
    async with open_http(House(desk, keyring, bound_desk, hub=hub), listening):
        yield listening.getsockname()[1], hub, keyring


async def test_a_listener_whose_key_was_ended_is_told_no_more(
    door: tuple[int, Hub, Keyring], store: Store
) -> None:
    port, hub, _ = door
    key = await made(store)
    async with watching(port, key) as reader:
        await reader.readuntil(b"\nid: ")
        assert hub.watchers == 1
        await store.end_key(key.id, actor="me")
        rest = await reader.read()
        assert rest.endswith(b"0\r\n\r\n"), "the stream ended in order"
    assert hub.watchers == 0


async def test_a_listener_is_told_of_its_own_tenant_and_goes_on_where_it_was(
    door: tuple[int, Hub, Keyring], store: Store, clock: SettableClock
) -> None:
    port, hub, _ = door
    key = await made(store)
    async with watching(port, key) as reader:
        await reader.readuntil(b"\nid: ")
        last = (await reader.readuntil(b"\n")).strip().decode()
    for tenant, kind in (("globex", "theirs"), ("acme", "ours")):
        clock.advance(1)
        await store.submit([new_job(id=id_at(clock.now()), tenant=tenant, kind=kind)])
    async with watching(port, key, f"last-event-id: {last}") as reader:
        await reader.readuntil(b"\nid: ")
        await hub.step()
        told = await reader.readuntil(b"data: ") + await reader.readuntil(b"\n")
        assert b'"kind":"ours"' in told
        assert b"theirs" not in told
