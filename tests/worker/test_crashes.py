"""Handlers that take their process with them: told at once, replaced, neighbours unharmed."""

import json
import signal
import time

import psutil
import pytest

from mainspring.domain.outcome import Lost, Succeeded, TimedOut
from tests.worker.rig import Rig


@pytest.mark.parametrize(
    ("kind", "payload", "cause"),
    [
        ("leave", {"code": 3}, "exit code 3"),
        ("leave", {"code": 0}, "exit code 0"),
        ("crash", {}, "signal 11 (SIGSEGV)"),
        ("kill_self", {}, "signal 9 (SIGKILL)"),
    ],
)
async def test_a_child_that_dies_is_told_and_replaced(
    rig: Rig, kind: str, payload: dict[str, int], cause: str
) -> None:
    await rig.start()
    began_at = time.monotonic()
    job = rig.store.submit(kind, payload=payload)
    assert await rig.store.finished(job) == Lost(cause)
    assert rig.store.deaths == [(1, cause)]
    assert time.monotonic() - began_at < 10
    late = rig.store.submit("nothing")
    await rig.store.finished(late)
    assert late.children == [2]


async def test_an_isolate_that_dies_harms_nobody(rig: Rig) -> None:
    await rig.start()
    job = rig.store.submit("crash_alone")
    assert await rig.store.finished(job) == Lost("signal 11 (SIGSEGV)")
    late = rig.store.submit("add_alone", payload={"a": 1, "b": 1})
    await rig.store.finished(late)
    assert late.children == [1]
    assert rig.store.deaths == []


async def test_a_suspect_runs_alone(rig: Rig) -> None:
    await rig.start(queues={"default": 4})
    job = rig.store.submit("crash_once", max_attempts=5)
    await rig.store.until(lambda: job.is_final)
    lost, succeeded = job.outcomes
    assert lost == Lost("exit code 9")
    assert isinstance(succeeded, Succeeded)
    told = json.loads(succeeded.result or b"")
    assert str(told["pid"]) not in rig.store.heard("lifespan")[:2]
    assert len({told["pid"], told["parent"]}) == 2


async def test_poison_ends_and_only_the_guilty_pays(rig: Rig) -> None:
    await rig.start(queues={"default": 4})
    poison = rig.store.submit("leave", payload={"code": 1}, max_attempts=10)
    await rig.store.until(lambda: poison.is_final)
    assert poison.outcomes == [Lost("exit code 1")] * 3
    # The first took a child with it, the others an isolate each.
    assert rig.store.deaths == [(1, "exit code 1")]
    assert set(poison.children) == {1, 2}


async def test_a_loop_blocked_past_its_deadline_is_killed(rig: Rig) -> None:
    await rig.start()
    job = rig.store.submit("block", payload={"seconds": 600}, timeout_ms=500)
    await rig.store.until(lambda: rig.store.heard("blocking"))
    began_at = time.monotonic()
    assert await rig.store.finished(job) == TimedOut(500, took_process=True)
    # Timeout, grace, two seconds of silence, one look, and a slow machine.
    assert time.monotonic() - began_at < 10
    assert rig.store.deaths == [(1, "unresponsive")]
    await rig.store.finished(rig.store.submit("nothing"))


async def test_a_loop_may_block_for_longer_than_the_lease(rig: Rig) -> None:
    await rig.start(lease_ms=2_000, beat_seconds=0.4)
    job = rig.store.submit("block", payload={"seconds": 4.0})
    assert await rig.store.finished(job) == Succeeded(b'"awake"')
    assert len(rig.store.opened) == 1
    assert rig.store.deaths == []


async def test_a_zygote_that_dies_is_replaced(rig: Rig) -> None:
    worker = await rig.start()
    job = rig.store.submit("hang_alone")
    await rig.store.until(lambda: rig.store.heard("hang"))
    [child] = psutil.Process(worker.pid).children()
    [zygote] = child.children()
    zygote.kill()
    assert await rig.store.finished(job) == Lost("signal 9 (SIGKILL)")
    late = rig.store.submit("add_alone", payload={"a": 1, "b": 1})
    await rig.store.finished(late)
    assert late.children == [1]


async def test_children_that_never_come_to_work_are_restarted_with_pauses(rig: Rig) -> None:
    worker = await rig.start(app="tests.worker.stillborn_app:app")
    await rig.store.until(lambda: len(rig.store.heard("born")) == 3)
    assert [cause for _, cause in rig.store.deaths][:2] == ["exit code 1"] * 2
    worker.send(signal.SIGTERM)
    assert await worker.ended(5) == 0
    assert "no database" in worker.output.decode()


async def test_a_frozen_child_is_killed_after_its_deadline(rig: Rig) -> None:
    worker = await rig.start()
    job = rig.store.submit("hang", timeout_ms=1_000)
    await rig.store.until(lambda: rig.store.heard("hang"))
    [child] = psutil.Process(worker.pid).children()
    child.suspend()
    assert await rig.store.finished(job) == TimedOut(1_000, took_process=True)
