"""Live changes: everybody is told what concerns them, and nobody is left believing a gap."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from mainspring.domain.errors import InvalidInput
from mainspring.domain.limits import CHANGE_ITEMS_MAX
from mainspring.domain.states import JobState
from mainspring.ports.store import Store
from mainspring.server.events import Hub, Interest, JobEvent
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.builders import id_at, lanes, new_job
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import SUCCEEDED, accept, claim_one, open_worker

EVERYTHING = Interest()


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
async def store(clock: SettableClock) -> AsyncIterator[Store]:
    found = await open_sqlite(":memory:", clock=clock)
    await found.migrate(phase="all")
    yield found
    await found.close()


@pytest.fixture
def hub(store: Store) -> Hub:
    return Hub(store, name="h1")


class Reader:
    """Somebody who watches, and remembers the last id."""

    def __init__(self, hub: Hub, interest: Interest = EVERYTHING, after: str | None = None) -> None:
        self._stream = hub.watch(interest, after)
        self._left: list[bytes] = []
        self.last_id = after or ""

    async def begin(self) -> "Reader":
        assert await anext(self._stream) == b"retry: 1000\n\n"
        return self

    async def block(self) -> dict[str, str]:
        if not self._left:
            self._left = (await anext(self._stream)).split(b"\n\n")[:-1]
        fields = dict(
            line.split(": ", 1)
            for line in self._left.pop(0).decode().splitlines()
            if line[0] != ":"
        )
        self.last_id = fields.get("id", self.last_id)
        return fields

    async def job(self) -> tuple[str, JobState]:
        while True:
            found = await self.block()
            if found.get("event") == "job":
                event = msgspec.json.decode(found["data"], type=JobEvent)
                return event.kind, event.state
            assert found.get("event") is None, found

    async def leave(self) -> None:
        await self._stream.aclose()


async def submit(store: Store, clock: SettableClock, kind: str = "a", **more: object) -> None:
    clock.advance(1)
    job = new_job(id=id_at(clock.now()), kind=kind, **more)
    await store.submit([job])


async def test_each_change_is_told_once(hub: Hub, store: Store, clock: SettableClock) -> None:
    reader = await Reader(hub).begin()
    first = asyncio.ensure_future(reader.job())
    await asyncio.sleep(0)
    worker = await open_worker(store, queues={"default": 1}, kinds=("a",))
    await submit(store, clock)
    await hub.step()
    assert await first == ("a", JobState.READY)
    clock.advance(1)
    claimed = await claim_one(store, worker, kinds=("a",), lanes=lanes({"default": 1}))
    await hub.step()
    assert await reader.job() == ("a", JobState.RUNNING)
    clock.advance(1)
    await accept(store, claimed, SUCCEEDED)
    for _ in range(3):
        await hub.step()
        clock.advance(10)
    await submit(store, clock, "b")
    await hub.step()
    assert await reader.job() == ("a", JobState.SUCCEEDED)
    assert await reader.job() == ("b", JobState.READY)
    await reader.leave()


@pytest.mark.parametrize(
    "interest",
    [
        Interest(tenant="acme"),
        Interest(kinds=frozenset({"b"})),
        Interest(queues=frozenset({"mail"})),
        Interest(states=frozenset({JobState.SCHEDULED})),
    ],
)
async def test_nobody_is_told_what_does_not_concern_them(
    hub: Hub, store: Store, clock: SettableClock, interest: Interest
) -> None:
    reader = await Reader(hub, interest).begin()
    await reader.block()
    await submit(store, clock, "a")
    await submit(store, clock, "b", tenant="acme", queue="mail", delay_ms=60_000)
    await hub.step()
    assert await reader.job() == ("b", JobState.SCHEDULED)
    await submit(store, clock, "a")
    await submit(store, clock, "b", tenant="acme", queue="mail", delay_ms=60_000)
    await hub.step()
    assert await reader.job() == ("b", JobState.SCHEDULED)
    await reader.leave()


async def test_whoever_comes_back_is_told_what_it_missed(
    hub: Hub, store: Store, clock: SettableClock
) -> None:
    stays = await Reader(hub).begin()
    leaves = await Reader(hub).begin()
    await leaves.block()
    await submit(store, clock, "a")
    await hub.step()
    assert await leaves.job() == ("a", JobState.READY)
    await leaves.leave()
    await submit(store, clock, "b")
    await hub.step()
    again = await Reader(hub, after=leaves.last_id).begin()
    assert await again.job() == ("b", JobState.READY)
    await again.leave()
    await stays.leave()


async def test_another_server_goes_on_where_the_first_one_ended(
    hub: Hub, store: Store, clock: SettableClock
) -> None:
    reader = await Reader(hub).begin()
    await reader.block()
    await reader.leave()
    await submit(store, clock, "a")
    again = await Reader(Hub(store, name="h2"), after=reader.last_id).begin()
    assert await again.job() == ("a", JobState.READY)
    await again.leave()


async def test_a_hub_that_slept_meanwhile_leaves_no_gap(
    hub: Hub, store: Store, clock: SettableClock
) -> None:
    reader = await Reader(hub).begin()
    await reader.block()
    await reader.leave()
    await hub.step()
    await submit(store, clock, "a")
    await hub.step()
    again = await Reader(hub, after=reader.last_id).begin()
    assert await again.job() == ("a", JobState.READY)
    await again.leave()


async def test_too_long_ago_is_a_reset(hub: Hub, store: Store, clock: SettableClock) -> None:
    reader = await Reader(hub).begin()
    await reader.block()
    await reader.leave()
    await hub.step()
    clock.advance(301)
    again = await Reader(hub, after=reader.last_id).begin()
    assert (await again.block())["event"] == "reset"
    await again.leave()


async def test_too_much_at_once_is_a_reset_and_then_goes_on(
    hub: Hub, store: Store, clock: SettableClock
) -> None:
    reader = await Reader(hub).begin()
    await reader.block()
    clock.advance(1)
    many = [new_job(id=id_at(clock.now(), number)) for number in range(CHANGE_ITEMS_MAX + 1)]
    await store.submit(many)
    clock.advance(1)
    await hub.step()
    assert (await reader.block())["event"] == "reset"
    clock.advance(10)
    await submit(store, clock, "b")
    await hub.step()
    assert await reader.job() == ("b", JobState.READY)
    await reader.leave()


async def test_one_who_does_not_read_is_reset_and_holds_nobody_up(
    hub: Hub, store: Store, clock: SettableClock
) -> None:
    slow, quick = await Reader(hub).begin(), await Reader(hub).begin()
    await slow.block()
    await quick.block()
    for _ in range(3):
        clock.advance(10)
        await store.submit([new_job(id=id_at(clock.now(), number)) for number in range(1_000)])
        await hub.step()
        for _ in range(1_000):
            await quick.job()
    assert (await slow.block())["event"] == "reset"
    await slow.leave()
    await quick.leave()


async def test_nobody_watches_and_nobody_looks(hub: Hub, store: Store) -> None:
    await store.close()
    assert await hub.step() > 0
    assert hub.watchers == 0


@pytest.mark.parametrize(
    "text", ["", "x", "h1.1", "h1.x.5", "h1.1.99999999999999999999", "a.b.c.d"]
)
async def test_what_is_no_id_of_an_event_is_told(hub: Hub, text: str) -> None:
    with pytest.raises(InvalidInput, match="Last-Event-ID"):
        hub.watch(EVERYTHING, text)
    assert hub.watchers == 0
