"""Timeouts and cancels: each mode by its ladder, to the end."""

import asyncio
import time

import psutil
import pytest

from mainspring.domain.outcome import Cancelled, Succeeded, TimedOut
from tests.worker.rig import Rig

COOPERATIVE = ("hang", "hang_in_thread", "hang_alone", "hang_alone_async")


@pytest.mark.parametrize("kind", COOPERATIVE)
async def test_timeout_stops_the_handler(rig: Rig, kind: str) -> None:
    await rig.start(grace_seconds=30.0)
    job = rig.store.submit(kind, timeout_ms=300)
    assert await rig.store.finished(job) == TimedOut(300)
    assert rig.store.deaths == []
    await rig.store.finished(rig.store.submit("nothing"))


@pytest.mark.parametrize("kind", COOPERATIVE)
async def test_cancel_stops_the_handler(rig: Rig, kind: str) -> None:
    await rig.start(grace_seconds=30.0)
    job = rig.store.submit(kind)
    await rig.store.until(lambda: rig.store.heard("hang"))
    rig.store.cancel(job)
    assert isinstance(await rig.store.finished(job, 5.0), Cancelled)
    assert rig.store.deaths == []


@pytest.mark.parametrize("kind", ["stubborn", "stubborn_in_thread"])
async def test_a_handler_that_will_not_stop_costs_its_process(rig: Rig, kind: str) -> None:
    await rig.start()
    other = rig.store.submit("gated", payload={"name": "other"})
    await rig.store.until(lambda: rig.store.heard("waiting"))
    job = rig.store.submit(kind, timeout_ms=200)
    assert await rig.store.finished(job) == TimedOut(200, stopped=False)
    # The successor works at once; the others in the old process finish in peace.
    late = rig.store.submit("nothing")
    await rig.store.finished(late)
    assert late.children == [2]
    rig.open_gate("other")
    assert await rig.store.finished(other) == Succeeded(b'"other"')
    assert other.children == [1]
    [old] = rig.store.heard("hang")
    await asyncio.to_thread(_gone, int(old))


async def test_cancel_of_a_thread_that_will_not_stop(rig: Rig) -> None:
    await rig.start()
    job = rig.store.submit("stubborn_in_thread")
    await rig.store.until(lambda: rig.store.heard("hang"))
    rig.store.cancel(job)
    outcome = await rig.store.finished(job)
    assert isinstance(outcome, Cancelled)
    assert "did not stop" in outcome.reason


@pytest.mark.parametrize("how", ["timeout", "cancel"])
async def test_an_isolated_handler_is_really_killed(rig: Rig, how: str) -> None:
    await rig.start()
    is_timeout = how == "timeout"
    job = rig.store.submit("stubborn_alone", timeout_ms=500 if is_timeout else 60_000)
    await rig.store.until(lambda: rig.store.heard("hang"))
    pid = int(rig.store.heard("hang")[0])
    [started] = psutil.Process(pid).children()
    if not is_timeout:
        rig.store.cancel(job)
    outcome = await rig.store.finished(job)
    assert outcome == (TimedOut(500) if is_timeout else Cancelled())
    assert rig.store.heard("refused") == [""]
    assert not psutil.pid_exists(pid)
    await asyncio.to_thread(_gone, started.pid)
    assert rig.store.deaths == []
    # And replaced.
    await rig.store.finished(rig.store.submit("add_alone", payload={"a": 1, "b": 1}))


async def test_what_a_cancelled_handler_returns_counts(rig: Rig) -> None:
    await rig.start()
    job = rig.store.submit("swallow")
    await rig.store.until(lambda: rig.store.heard("hang"))
    rig.store.cancel(job)
    assert await rig.store.finished(job) == Succeeded(b'"done all the same"')
    await rig.store.finished(rig.store.submit("nothing"))


async def test_a_lost_attempt_is_stopped_and_not_reported(rig: Rig) -> None:
    await rig.start()
    job = rig.store.submit("hang_in_thread")
    await rig.store.until(lambda: rig.store.heard("hang"))
    job.worker_id = None  # as a forced cancel does
    rig.store.announce()
    await rig.store.until(lambda: "pulse" in rig.store.calls)
    await rig.store.finished(rig.store.submit("nothing"))
    assert rig.store.stale == []
    assert job.outcomes == []


def _gone(pid: int) -> None:
    until = time.monotonic() + 10
    while _lives(pid):
        assert time.monotonic() < until, f"process {pid} still lives"
        time.sleep(0.01)


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
