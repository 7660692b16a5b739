"""Waiting for work. The store's clock stands still, so what ends a wait is named by the test."""

import asyncio
from collections.abc import Collection
from datetime import timedelta
from typing import Any

import pytest

from mainspring.dispatcher.gateway import LocalGateway
from mainspring.dispatcher.judgement import fixed_dice
from mainspring.ports.entropy import new_job_id
from mainspring.ports.store import Store
from mainspring.testing.builders import claim_ask, new_job
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import ids
from tests.dispatcher.doors import Seconds, open_worker

_QUEUES = ("default",)


class Spied:
    """The real store, with waits that are written down and end at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.waits: list[float] = []
        #: What each wait finds; the last word again and again.
        self.hints = [False]
        self.looks = 0
        self.closed = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @property
    def wakeups(self) -> "Spied":
        return self

    def announce(self, topics: Collection[str]) -> None: ...

    def subscribe(self, topics: Collection[str]) -> "Spied":
        return self

    async def wait(self, timeout_seconds: float) -> frozenset[str]:
        self.waits.append(timeout_seconds)
        is_hint = self.hints.pop(0) if len(self.hints) > 1 else self.hints[0]
        return frozenset({"queue:default"}) if is_hint else frozenset()

    async def next_due_ms(self, queues: Collection[str], kinds: Collection[str]) -> int | None:
        self.looks += 1
        return await self._store.next_due_ms(queues, kinds)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def spied(store: Store) -> Spied:
    return Spied(store)


@pytest.fixture
def spying(spied: Spied, seconds: Seconds) -> LocalGateway:
    dice = fixed_dice(lambda: 0.0, new_job_id)
    return LocalGateway(spied, blobs=None, dice=dice, monotonic=seconds)  # type: ignore[arg-type]  # a partial stand-in


async def test_a_submission_ends_the_wait(gateway: LocalGateway, store: Store) -> None:
    worker = await open_worker(gateway)
    assert await gateway.claim(claim_ask(worker)) == []
    waiting = asyncio.create_task(gateway.wait_for_work(worker, _QUEUES, 30))
    await asyncio.sleep(0)
    await store.submit([new_job()])
    store.wakeups.announce({"queue:default"})
    assert await waiting is True


async def test_what_was_announced_before_the_wait_is_not_missed(
    gateway: LocalGateway, store: Store
) -> None:
    worker = await open_worker(gateway)
    await gateway.claim(claim_ask(worker))
    assert not await gateway.wait_for_work(worker, _QUEUES, 0.001)
    store.wakeups.announce({"queue:default"})
    assert await gateway.wait_for_work(worker, _QUEUES, 30)
    store.wakeups.announce({f"worker:{worker.hex()}"})
    assert await gateway.wait_for_work(worker, _QUEUES, 30)
    store.wakeups.announce({"queue:other", "done"})
    assert not await gateway.wait_for_work(worker, _QUEUES, 0.001)


async def test_due_work_of_another_process_is_seen_without_a_hint(
    spying: LocalGateway, store: Store, spied: Spied
) -> None:
    worker = await open_worker(spying)
    await spying.claim(claim_ask(worker))
    await store.submit([new_job()])
    assert await spying.wait_for_work(worker, _QUEUES, 30)
    assert spied.waits == []


async def test_the_wait_is_as_long_as_until_the_next_due_instant(
    spying: LocalGateway, store: Store, spied: Spied, clock: SettableClock
) -> None:
    worker = await open_worker(spying)
    await spying.claim(claim_ask(worker))
    await store.submit([new_job(delay_ms=90_000), new_job(delay_ms=2_500)])
    assert await spying.wait_for_work(worker, _QUEUES, 30)
    clock.advance(timedelta(seconds=2))
    assert await spying.wait_for_work(worker, _QUEUES, 30)
    assert spied.waits == [2.5, 0.5]


async def test_work_that_falls_due_after_the_timeout_is_no_reason_to_look(
    spying: LocalGateway, store: Store, spied: Spied
) -> None:
    worker = await open_worker(spying)
    await spying.claim(claim_ask(worker))
    await store.submit([new_job(delay_ms=90_000)])
    assert not await spying.wait_for_work(worker, _QUEUES, 30)
    assert spied.waits == [30]
    assert not await spying.wait_for_work(worker, _QUEUES, 0)


async def test_without_work_the_wait_is_the_timeout(spying: LocalGateway, spied: Spied) -> None:
    worker = await open_worker(spying)
    await spying.claim(claim_ask(worker))
    assert not await spying.wait_for_work(worker, _QUEUES, 30)
    assert spied.waits == [30]


async def test_work_of_other_kinds_and_queues_wakes_nobody(
    spying: LocalGateway, store: Store, spied: Spied
) -> None:
    worker = await open_worker(spying)
    await spying.claim(claim_ask(worker))
    await store.submit([new_job(kind="other"), new_job(queue="other")])
    assert not await spying.wait_for_work(worker, _QUEUES, 30)
    assert spied.waits == [30]


async def test_looking_in_vain_becomes_less_eager_and_a_catch_ends_that(
    spying: LocalGateway, store: Store, spied: Spied
) -> None:
    worker = await open_worker(spying)
    await spying.claim(claim_ask(worker))
    # Due, but no claim of this worker brings it: it wants nothing of the lane.
    await store.submit([new_job()])
    for _ in range(10):
        assert await spying.wait_for_work(worker, _QUEUES, 30)
        assert await spying.claim(claim_ask(worker, limit=0)) == []
    assert spied.waits == [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0, 1.0, 1.0]
    assert len(await spying.claim(claim_ask(worker))) == 1
    await store.submit([new_job()])
    assert await spying.wait_for_work(worker, _QUEUES, 30)
    assert len(spied.waits) == 9


async def test_a_wait_makes_the_next_claim_look_behind_watermarks(
    gateway: LocalGateway, store: Store, clock: SettableClock, seconds: Seconds
) -> None:
    worker = await open_worker(gateway)
    await gateway.claim(claim_ask(worker))
    await store.submit([new_job()])
    assert len(await gateway.claim(claim_ask(worker))) == 1
    late = new_job(due_at=clock.now() - timedelta(hours=1))
    await store.submit([late])
    assert await gateway.claim(claim_ask(worker)) == []  # no second has passed: behind the mark
    assert await gateway.wait_for_work(worker, _QUEUES, 30)
    assert ids(await gateway.claim(claim_ask(worker))) == [late.id]


async def test_other_queues_are_listened_for_anew(spying: LocalGateway, spied: Spied) -> None:
    worker = await open_worker(spying)
    await spying.wait_for_work(worker, _QUEUES, 1)
    await spying.wait_for_work(worker, _QUEUES, 1)
    assert spied.closed == 0
    await spying.wait_for_work(worker, ("other",), 1)
    assert spied.closed == 1


async def test_while_hints_come_the_next_due_instant_is_asked_for_now_and_then(
    spying: LocalGateway, spied: Spied, seconds: Seconds
) -> None:
    worker = await open_worker(spying)
    spied.hints = [True]
    for _ in range(5):
        assert await spying.wait_for_work(worker, _QUEUES, 30)
    assert spied.looks == 1
    assert spied.waits == [30, *[pytest.approx(0.025)] * 4]
    seconds.now += 0.03
    assert await spying.wait_for_work(worker, _QUEUES, 30)
    assert spied.looks == 2


async def test_no_second_hint_means_to_look_soon(spying: LocalGateway, spied: Spied) -> None:
    worker = await open_worker(spying)
    spied.hints = [True, False]
    assert await spying.wait_for_work(worker, _QUEUES, 30)
    assert not await spying.wait_for_work(worker, _QUEUES, 30)
    assert spied.looks == 2
    assert spied.waits == [30, pytest.approx(0.025), 30]
    assert not await spying.wait_for_work(worker, _QUEUES, 30)
    assert spied.looks == 3


async def test_a_known_due_instant_is_not_slept_through_for_hints(
    spying: LocalGateway, store: Store, spied: Spied, seconds: Seconds
) -> None:
    worker = await open_worker(spying)
    await spying.claim(claim_ask(worker))
    await store.submit([new_job(delay_ms=10)])
    spied.hints = [True]
    assert await spying.wait_for_work(worker, _QUEUES, 30)
    seconds.now += 0.004
    assert await spying.wait_for_work(worker, _QUEUES, 30)
    assert spied.waits == [0.01, pytest.approx(0.006)]


async def test_hints_of_other_queues_are_not_trusted(spying: LocalGateway, spied: Spied) -> None:
    worker = await open_worker(spying)
    spied.hints = [True]
    await spying.wait_for_work(worker, _QUEUES, 30)
    await spying.wait_for_work(worker, ("other",), 30)
    assert spied.looks == 2
