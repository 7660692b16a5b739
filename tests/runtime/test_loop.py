import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from mainspring.ports.store import Store
from mainspring.runtime import loop
from mainspring.runtime.loop import Ear, run_role, wait_unless
from mainspring.store.sqlite import open_sqlite


@pytest.fixture
async def memory_store() -> AsyncIterator[Store]:
    """Give a store whose hints are real."""
    store = await open_sqlite(":memory:")
    yield store
    await store.close()


class Waits:
    """Stands where the loop waits: writes down how long, and stops after so many."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.seconds: list[float] = []

    async def __call__(self, stopping: asyncio.Event, seconds: float) -> bool:
        self.seconds.append(seconds)
        if len(self.seconds) == self.count:
            stopping.set()
        return stopping.is_set()


async def play(
    monkeypatch: pytest.MonkeyPatch, results: list[float | Exception], *, dice: float = 0.5
) -> list[float]:
    """Run a role whose steps end so; return its delays."""
    waits = Waits(len(results))
    steps = iter(results)

    async def step() -> float:
        result = next(steps)
        if isinstance(result, Exception):
            raise result
        return result

    monkeypatch.setattr(loop, "wait_unless", waits)
    monkeypatch.setattr(loop, "roll", lambda: dice)
    await run_role("role", step, asyncio.Event())
    return waits.seconds


async def test_a_step_says_when_the_next_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await play(monkeypatch, [1.5, 0.0, 60.0]) == [1.5, 0.0, 60.0]


async def test_failures_back_off_up_to_a_bound(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    delays = await play(monkeypatch, [ValueError("boom")] * 2_000)
    assert delays[:8] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert set(delays[8:]) == {30.0}
    assert caplog.messages[2] == "role failed (3 times in a row): boom"


@pytest.mark.parametrize(("dice", "factor"), [(0.0, 0.5), (0.999, 1.499)])
async def test_failures_are_spread(
    monkeypatch: pytest.MonkeyPatch, dice: float, factor: float
) -> None:
    delays = await play(monkeypatch, [OSError()] * 3, dice=dice)
    assert delays == pytest.approx([0.5 * factor, 1.0 * factor, 2.0 * factor])


async def test_a_step_that_succeeds_ends_the_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    failure = TimeoutError("late")
    assert await play(monkeypatch, [failure, failure, 7.0, failure]) == [0.5, 1.0, 7.0, 0.5]


async def test_it_stops_at_once_while_it_waits() -> None:
    stopping, stepped = asyncio.Event(), asyncio.Event()

    async def step() -> float:
        stepped.set()
        return 3_600.0

    async with asyncio.timeout(20):
        role = asyncio.create_task(run_role("role", step, stopping))
        await stepped.wait()
        stopping.set()
        await role


async def test_it_stops_after_the_step_that_is_under_way() -> None:
    stopping, begun, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()
    steps: list[str] = []

    async def step() -> float:
        steps.append("begun")
        begun.set()
        await may_end.wait()
        steps.append("ended")
        return 0.0

    async with asyncio.timeout(20):
        role = asyncio.create_task(run_role("role", step, stopping))
        await begun.wait()
        stopping.set()
        may_end.set()
        await role
    assert steps == ["begun", "ended"]


async def test_a_role_that_was_stopped_before_does_nothing() -> None:
    stopping = asyncio.Event()
    stopping.set()

    async def step() -> float:
        raise AssertionError

    await run_role("role", step, stopping)


async def test_cancellation_is_not_survived() -> None:
    begun = asyncio.Event()

    async def step() -> float:
        begun.set()
        await asyncio.Event().wait()
        return 0.0

    role = asyncio.create_task(run_role("role", step, asyncio.Event()))
    await begun.wait()
    role.cancel()
    with pytest.raises(asyncio.CancelledError):
        await role


async def test_a_busy_role_lets_others_run() -> None:
    stopping = asyncio.Event()
    steps = 0

    async def step() -> float:
        nonlocal steps
        steps += 1
        return 0.0

    async def stop() -> None:
        stopping.set()

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(run_role("role", step, stopping))
        group.create_task(stop())
    assert steps == 1


@pytest.mark.parametrize("seconds", [0, -1.0])
async def test_no_wait_tells_whether_to_stop(seconds: float) -> None:
    stopping = asyncio.Event()
    assert not await wait_unless(stopping, seconds)
    stopping.set()
    assert await wait_unless(stopping, seconds)


async def test_a_wait_ends_by_itself() -> None:
    assert not await wait_unless(asyncio.Event(), 0.001)


async def test_a_hint_wakes_a_role_that_rests(memory_store: Store) -> None:
    stopping, stepped = asyncio.Event(), asyncio.Event()
    hints = memory_store.wakeups.subscribe({"schedules"})
    steps = 0

    async def step() -> float:
        nonlocal steps
        steps += 1
        stepped.set()
        return 3_600.0

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(run_role("role", step, stopping, ear=lambda: Ear(hints)))
        await stepped.wait()
        stepped.clear()
        memory_store.wakeups.announce({"queue:mail"})
        memory_store.wakeups.announce({"schedules"})
        await stepped.wait()
        stopping.set()
    assert steps == 2


async def test_a_role_that_hints_may_wake_stops_at_once(memory_store: Store) -> None:
    stopping, stepped = asyncio.Event(), asyncio.Event()
    hints = memory_store.wakeups.subscribe({"schedules"})

    async def step() -> float:
        stepped.set()
        return 3_600.0

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(run_role("role", step, stopping, ear=lambda: Ear(hints)))
        await stepped.wait()
        stopping.set()


async def test_no_hint_shortens_a_back_off_or_the_time_of_not_listening(
    memory_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    results: list[float | Exception] = [OSError("away"), 7.0, 9.0]
    waits = Waits(len(results))
    steps = iter(results)
    hints = memory_store.wakeups.subscribe({"schedules"})

    async def step() -> float:
        memory_store.wakeups.announce({"schedules"})
        result = next(steps)
        if isinstance(result, Exception):
            raise result
        return result

    monkeypatch.setattr(loop, "wait_unless", waits)
    monkeypatch.setattr(loop, "roll", lambda: 0.5)
    async with asyncio.timeout(20):
        await run_role("role", step, asyncio.Event(), ear=lambda: Ear(hints, 8.0))
    assert waits.seconds == [0.5, 7.0, 8.0]
