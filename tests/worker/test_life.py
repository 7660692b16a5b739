"""Sessions, drains, signals, frozen and unreachable sides: with real processes."""

import asyncio
import signal

import psutil
import pytest

from mainspring.domain.outcome import Lost, Released, Succeeded
from mainspring.domain.states import JobState
from tests.worker.rig import Rig, Worker


async def test_drain_finishes_what_runs(rig: Rig) -> None:
    worker = await rig.start()
    store = rig.store
    jobs = [
        store.submit("gated", payload={"name": "a"}),
        store.submit("gated_in_thread", payload={"name": "b"}),
    ]
    await store.until(lambda: len(store.heard("waiting")) == 2)
    worker.send(signal.SIGTERM)
    await store.until(lambda: store.draining)
    late = store.submit("nothing")
    rig.open_gate("a")
    rig.open_gate("b")
    assert await worker.ended() == 0
    assert [job.outcomes for job in jobs] == [[Succeeded(b'"a"')], [Succeeded(b'"b"')]]
    assert late.outcomes == []
    assert store.closed == [store.opened[0].id]
    assert all(cause == "exit code 0" for _, cause in store.deaths)


UNFINISHED = ("hang", "hang_in_thread", "hang_alone", "stubborn_in_thread", "stubborn")


async def test_drain_hands_back_what_does_not_finish(rig: Rig) -> None:
    worker = await rig.start(drain_seconds=0.5)
    jobs = [rig.store.submit(kind) for kind in UNFINISHED]
    await rig.store.until(lambda: len(rig.store.heard("hang")) == len(jobs))
    worker.send(signal.SIGTERM)
    assert await worker.ended() == 0
    assert [job.outcomes for job in jobs] == [[Released()]] * len(jobs)
    assert {job.state for job in jobs} == {JobState.READY}
    assert {(job.claimed.tries, job.claimed.crashes) for job in jobs} == {(0, 0)}


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_stops_the_handlers_now(rig: Rig, second: signal.Signals) -> None:
    worker = await rig.start(drain_seconds=600.0)
    jobs = [rig.store.submit(kind) for kind in ("hang", "hang_in_thread", "hang_alone")]
    await rig.store.until(lambda: len(rig.store.heard("hang")) == 3)
    worker.send(signal.SIGTERM)
    await rig.store.until(lambda: rig.store.draining)
    worker.send(second)
    assert await worker.ended(10) == 0
    assert [job.outcomes for job in jobs] == [[Released()]] * 3


async def test_a_third_signal_kills(rig: Rig) -> None:
    worker = await rig.start(drain_seconds=600.0)
    job = rig.store.submit("block", payload={"seconds": 600.0})
    await rig.store.until(lambda: rig.store.heard("blocking"))
    worker.send(signal.SIGTERM)
    await rig.store.until(lambda: rig.store.draining)
    worker.send(signal.SIGTERM)
    worker.send(signal.SIGINT)
    assert await worker.ended(10) == 1
    assert job.outcomes == [Lost("killed by a third signal")]


async def test_a_drain_asked_for_by_the_other_side(rig: Rig, monkeypatch: object) -> None:
    worker = await rig.start(beat_seconds=0.1)
    await rig.store.finished(rig.store.submit("nothing"))
    rig.store.drain_wanted = True
    assert await worker.ended() == 0


async def test_nobody_outlives_the_keeper(rig: Rig) -> None:
    worker = await rig.start(processes=2)
    store = rig.store
    for kind in ("hang", "stubborn_in_thread", "hang_alone"):
        store.submit(kind)
    await store.until(lambda: len(store.heard("hang")) == 3)
    store.submit("block", payload={"seconds": 600.0})
    await store.until(lambda: store.heard("blocking"))
    family = psutil.Process(worker.pid).children(recursive=True)
    assert len(family) >= 4  # two children, a zygote, an isolate
    worker.send(signal.SIGKILL)
    await worker.ended()
    _, alive = await asyncio.to_thread(psutil.wait_procs, family, 10)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


async def test_a_frozen_keeper_stops_its_children_and_begins_anew(rig: Rig) -> None:
    worker = await rig.start(lease_ms=2_000, beat_seconds=0.3)
    job = rig.store.submit("hang", max_attempts=5)
    await rig.store.until(lambda: rig.store.heard("hang"))
    family = psutil.Process(worker.pid).children(recursive=True)
    worker.send(signal.SIGSTOP)
    # The children see the end of the lease on their own; nobody reaps them yet.
    await asyncio.to_thread(_wait_until_dead, family)
    session = rig.store.opened[0].id
    # Gone when a child's last call has already found it to be over.
    await asyncio.to_thread(_wait_past, rig.store.sessions.get(session, 0.0))
    worker.send(signal.SIGCONT)
    await rig.store.until(lambda: len(rig.store.opened) == 2)
    assert rig.store.opened[1].id != session
    rig.store._lose(lambda held: held.worker_id == session, "session")
    rig.store.announce()
    await rig.store.until(lambda: len(rig.store.heard("hang")) == 2)
    assert job.outcomes == [Lost("session")]
    assert rig.store.stale == []


async def test_a_lost_session_is_followed_by_another(rig: Rig) -> None:
    await rig.start(beat_seconds=0.2)
    job = rig.store.submit("hang", max_attempts=5)
    await rig.store.until(lambda: rig.store.heard("hang"))
    first = rig.store.opened[0].id
    rig.store.sessions.pop(first)
    await rig.store.until(lambda: len(rig.store.heard("hang")) == 2)
    assert job.outcomes == [Lost("session")]
    old, new = rig.store.heard("hang")
    assert old != new
    assert not psutil.pid_exists(int(old))
    assert len(rig.store.opened) == 2


async def test_an_unreachable_store_ends_the_work_in_time(rig: Rig) -> None:
    await rig.start(lease_ms=2_000, beat_seconds=0.3)
    job = rig.store.submit("hang", max_attempts=5)
    await rig.store.until(lambda: rig.store.heard("hang"))
    [pid] = rig.store.heard("hang")
    rig.store.failing.add("*")
    await asyncio.to_thread(_wait_until_dead, [psutil.Process(int(pid))])
    rig.store.failing.clear()
    await rig.store.until(lambda: len(rig.store.opened) == 2)
    rig.store._lose(lambda held: held.worker_id == rig.store.opened[0].id, "session")
    rig.store.announce()
    await rig.store.until(lambda: len(rig.store.heard("hang")) == 2)
    assert job.outcomes == [Lost("session")]


async def test_a_short_outage_costs_nothing(rig: Rig) -> None:
    await rig.start(beat_seconds=0.2)
    job = rig.store.submit("gated", payload={"name": "g"})
    await rig.store.until(lambda: rig.store.heard("waiting"))
    rig.store.failing.add("*")
    calls = len(rig.store.calls)
    rig.open_gate("g")
    await rig.store.until(lambda: len(rig.store.calls) > calls + 5)
    rig.store.failing.clear()
    assert await rig.store.finished(job) == Succeeded(b'"g"')
    assert len(rig.store.opened) == 1
    await rig.store.finished(rig.store.submit("nothing"))


async def test_a_lost_answer_to_a_report_is_asked_for_again(rig: Rig) -> None:
    await rig.start()
    await rig.store.finished(rig.store.submit("nothing"))
    rig.store.forgetful.add("report")
    job = rig.store.submit("add", payload={"a": 1, "b": 1})
    await rig.store.finished(job)
    reports = rig.store.calls.count("report")
    await rig.store.until(lambda: rig.store.calls.count("report") > reports + 1)
    rig.store.forgetful.clear()
    await rig.store.finished(rig.store.submit("nothing"))
    assert job.outcomes == [Succeeded(b"2")]
    assert rig.store.stale == []


async def test_an_app_that_cannot_be_imported_is_said_clearly(rig: Rig) -> None:
    worker = await rig.start(app="tests.worker.broken_app:app")
    assert await worker.ended() == 2
    output = worker.output.decode()
    assert "tests.worker.broken_app cannot be imported" in output
    assert "ZeroDivisionError" in output
    assert rig.store.opened == []


async def test_an_unknown_module(rig: Rig) -> None:
    worker = await rig.start(app="no_such_module:app")
    assert await worker.ended() == 2
    assert "no_such_module" in worker.output.decode()


async def test_a_child_is_replaced_after_its_jobs(rig: Rig) -> None:
    await rig.start(max_jobs_per_child=10, queues={"default": 5})
    jobs = [rig.store.submit("nothing") for _ in range(50)]
    await rig.store.until(lambda: all(job.is_final for job in jobs))
    assert {job.state for job in jobs} == {JobState.SUCCEEDED}
    assert len({job.children[-1] for job in jobs}) >= 5


async def test_several_children_work_side_by_side(rig: Rig) -> None:
    await rig.start(processes=3, queues={"default": 1})
    jobs = [rig.store.submit("gated", payload={"name": "g"}) for _ in range(3)]
    await rig.store.until(lambda: len(rig.store.heard("waiting")) == 3)
    assert {job.child for job in jobs} == {1, 2, 3}
    rig.open_gate("g")
    await rig.store.until(lambda: all(job.is_final for job in jobs))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_an_idle_worker_ends_at_once(rig: Rig, number: signal.Signals) -> None:
    worker: Worker = await rig.start(processes=2)
    await rig.store.finished(rig.store.submit("nothing"))
    worker.send(number)
    assert await worker.ended(5) == 0
    assert rig.store.closed


def _wait_until_dead(family: list[psutil.Process]) -> None:
    import time

    until = time.monotonic() + 10
    for process in family:
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < until, f"{process} still lives"
            time.sleep(0.01)


def _wait_past(instant: float) -> None:
    import time

    time.sleep(max(0.0, instant - time.monotonic()))
