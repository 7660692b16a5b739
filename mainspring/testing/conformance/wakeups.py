"""Hints that something happened: ``Wakeups``. They may be lost, so these tests announce again."""

import asyncio

from mainspring.ports.store import Store, Subscription
from mainspring.testing.conformance.steps import Suite

_PATIENCE_SECONDS = 0.2
_TRIES = 50


async def _until_told(store: Store, listener: Subscription, *topics: str) -> frozenset[str]:
    """Announce until something arrives; return it."""
    for _ in range(_TRIES):
        store.wakeups.announce(topics)
        told = await listener.wait(_PATIENCE_SECONDS)
        if told:
            return told
    raise AssertionError(f"{topics} never arrived")


class WakeupSuite(Suite):
    """Exact names, no noise, no errors."""

    async def test_a_hint_arrives(self, store: Store) -> None:
        listener = store.wakeups.subscribe(["queue:a"])
        assert await _until_told(store, listener, "queue:a") == frozenset({"queue:a"})
        listener.close()

    async def test_only_the_topics_subscribed_to(self, store: Store) -> None:
        listener = store.wakeups.subscribe(["queue:a", "done"])
        topics = ("queue:ab", "queue:A", "queue:", "worker:00", "queue:b", "done")
        assert await _until_told(store, listener, *topics) == frozenset({"done"})
        listener.close()

    async def test_silence_ends_with_the_timeout(self, store: Store) -> None:
        listener = store.wakeups.subscribe(["queue:a"])
        assert await listener.wait(0.01) == frozenset()
        assert await listener.wait(0) == frozenset()
        listener.close()

    async def test_everyone_is_told(self, store: Store) -> None:
        listeners = [store.wakeups.subscribe(["done"]) for _ in range(3)]
        for listener in listeners:
            assert await _until_told(store, listener, "done") == frozenset({"done"})
            listener.close()

    async def test_hints_wait_for_who_listens_later(self, store: Store) -> None:
        first = store.wakeups.subscribe(["queue:a", "queue:b"])
        second = store.wakeups.subscribe(["queue:b"])
        # Once the second has it, the first was told too, although it did not wait.
        told = frozenset[str]()
        for _ in range(_TRIES):
            await _until_told(store, second, "queue:a", "queue:b")
            told |= await first.wait(_PATIENCE_SECONDS)
            if len(told) == 2:
                break
        assert told == frozenset({"queue:a", "queue:b"})
        first.close()
        second.close()

    async def test_a_closed_listener_hinders_nobody(self, store: Store) -> None:
        closed, open_one = (store.wakeups.subscribe(["done"]) for _ in range(2))
        closed.close()
        closed.close()
        assert await _until_told(store, open_one, "done") == frozenset({"done"})
        open_one.close()

    async def test_announcing_never_raises(self, store: Store) -> None:
        store.wakeups.announce([])
        store.wakeups.announce(["nobody:listens", "", "ä€" * 500])
        store.wakeups.announce([f"queue:{number}" for number in range(5_000)])
        listener = store.wakeups.subscribe(["done"])
        assert await _until_told(store, listener, "done") == frozenset({"done"})
        listener.close()

    async def test_a_waiting_listener_wakes_early(self, store: Store) -> None:
        listener = store.wakeups.subscribe(["done"])
        async with asyncio.timeout(30):
            async with asyncio.TaskGroup() as group:
                waiting = group.create_task(listener.wait(60))
                while not waiting.done():
                    store.wakeups.announce(["done"])
                    await asyncio.wait([waiting], timeout=_PATIENCE_SECONDS)
        assert waiting.result() == frozenset({"done"})
        listener.close()
