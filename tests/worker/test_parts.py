"""The parts that need no process."""

import asyncio
import math
import time
from collections.abc import MutableMapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
import structlog

from mainspring.app.declare import App
from mainspring.domain.job import Claimed
from mainspring.domain.outcome import Cancelled, Outcome, Succeeded
from mainspring.worker import control, processes
from mainspring.worker.attempt import Attempt, Stop
from mainspring.worker.brood import number_after
from mainspring.worker.claims import Slots
from mainspring.worker.config import CHILD_NUMBER_MAX, WorkerConfig
from mainspring.worker.deadlines import Deadlines
from mainspring.worker.logs import LogBuffer, bounded
from mainspring.worker.runners import RunnerPool
from mainspring.worker.vitals import Vitals, new_page

NOW = datetime(2027, 1, 1, tzinfo=UTC)
app = App("parts")


@app.job()
async def nothing() -> None:
    return


@app.job()
async def turn() -> None:
    await asyncio.sleep(0)


@app.job()
async def wait_for_ever() -> None:
    await asyncio.Event().wait()


def claimed(number: int = 1, kind: str = "nothing", **changes: Any) -> Claimed:
    job = Claimed(
        job_id=number.to_bytes(16, "big"),
        attempt=1,
        kind=kind,
        queue="default",
        tenant="default",
        priority=2,
        payload=b"{}",
        payload_ref=None,
        tries=1,
        crashes=1,
        max_attempts=5,
        max_crashes=3,
        backoff=None,
        timeout_ms=60_000,
        due_at=NOW,
        started_at=NOW,
        deadline_at=NOW,
        effect_key=None,
        on_exhausted=None,
        created_at=NOW,
    )
    return msgspec.structs.replace(job, **changes)


def attempt(number: int = 1, kind: str = "nothing", **changes: Any) -> Attempt:
    job = claimed(number, kind, **changes)
    return Attempt(job, app, LogBuffer(), time.monotonic())


def test_lines_are_cut_wherever_the_stream_is() -> None:
    words = [control.Begin(b"w" * 16), control.Drain(2.5)]
    stream = b"".join(control.line(word) for word in words)
    for size in (1, 7, len(stream)):
        buffer: control.LineBuffer[control.ToChild] = control.LineBuffer(control.TO_CHILD)
        parts = [stream[start : start + size] for start in range(0, len(stream), size)]
        assert [word for part in parts for word in buffer.feed(part)] == words


def test_an_attempt_travels_to_an_isolate_unchanged() -> None:
    word = control.Execute(claimed(payload=b'{"a": "\xc3\xa9"}'))
    assert control.TO_ISOLATE.decode(control.line(word)) == word


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "exit code 0"), (3, "exit code 3"), (-11, "signal 11 (SIGSEGV)"), (-99, "signal 99")],
)
def test_causes_in_words(code: int, words: str) -> None:
    assert processes.cause_of(code) == words


@pytest.mark.parametrize("text", ["", "plain", "x" * 100, "é" * 100, "\ud800" * 50, "🎉" * 40])
def test_bounded_text_is_valid_and_short(text: str) -> None:
    cut = bounded(text, 64)
    assert len(cut.encode()) <= 64
    assert cut == text or "…" in cut or "?" in cut


def config(**queues: int) -> WorkerConfig:
    return WorkerConfig(app="x", queues=queues)


def test_slots_ask_for_what_is_free_and_may_have_work() -> None:
    slots = Slots(config(a=2, b=1), ("nothing",))
    ask = slots.ask(b"w", 1)
    assert [(lane.queue, lane.want) for lane in ask.lanes] == [("a", 2), ("b", 1)]
    assert ask.limit == 3
    slots.take(ask, [claimed(1, queue="a")])
    # Neither queue gave all that was wanted: both are quiet until a hint comes.
    assert slots.wanted() == 0
    assert slots.quiet() == ["a", "b"]
    assert slots.sated.is_set()
    slots.look_again()
    ask = slots.ask(b"w", 1)
    assert [(lane.queue, lane.want) for lane in ask.lanes] == [("a", 1), ("b", 1)]
    slots.take(ask, [claimed(2, queue="a")])
    # This one did: it may have more, as soon as a slot is free.
    assert slots.quiet() == ["b"]
    assert slots.wanted() == 0
    slots.give_back("a")
    assert slots.changed.is_set()
    assert slots.wanted() == 1


def test_a_full_claim_leaves_every_lane_hungry() -> None:
    slots = Slots(config(a=900, b=900), ())
    ask = slots.ask(b"w", 1)
    assert ask.limit == 1_000
    slots.take(ask, [claimed(n, queue="a") for n in range(900)] + [claimed(queue="b")] * 100)
    assert slots.quiet() == []
    assert slots.wanted() == 800


def test_a_claim_without_an_answer_is_asked_again() -> None:
    slots = Slots(config(a=2), ())
    slots.ask_again(slots.ask(b"w", 1))
    assert slots.wanted() == 2


def make_deadlines(now: list[float], due: list[Attempt]) -> tuple[Deadlines, Vitals]:
    import os

    page = new_page()
    vitals = Vitals(page)
    os.close(page)
    return Deadlines(vitals, 10.0, due.append, lambda: now[0]), vitals


async def test_the_first_deadline_is_published_with_its_grace() -> None:
    now, due = [0.0], list[Attempt]()
    deadlines, vitals = make_deadlines(now, due)
    first, second = attempt(1), attempt(2)
    first.wake_at, second.wake_at = 100.0, 50.0
    deadlines.watch(first)
    assert vitals.hard_deadline == 110.0
    deadlines.watch(second)
    assert vitals.hard_deadline == 60.0
    second.done = True
    deadlines.forget(second)
    assert vitals.hard_deadline == 110.0
    first.stop = Stop.CANCEL
    deadlines.move(first, 20.0)
    assert vitals.hard_deadline == 20.0
    first.done = True
    deadlines.forget(first)
    assert vitals.hard_deadline == math.inf
    deadlines.close()


async def test_due_attempts_are_told_once() -> None:
    now, due = [0.0], list[Attempt]()
    deadlines, vitals = make_deadlines(now, due)
    watched = [attempt(number) for number in range(10)]
    for number, one in enumerate(watched):
        one.wake_at = float(number)
        deadlines.watch(one)
    now[0] = 4.5
    deadlines._ring()
    assert due == watched[:5]
    assert vitals.hard_deadline == 15.0
    deadlines._ring()
    assert due == watched[:5]
    deadlines.close()


async def test_finished_attempts_do_not_pile_up() -> None:
    deadlines, _ = make_deadlines([0.0], [])
    first = attempt(0)
    first.wake_at = 1.0
    deadlines.watch(first)
    for number in range(10_000):
        one = attempt(number)
        one.wake_at = 100.0 + number
        deadlines.watch(one)
        one.done = True
        deadlines.forget(one)
    assert len(deadlines._heap) < 2_000
    deadlines.close()


class Finished(list[tuple[Attempt, Outcome]]):
    """Collects outcomes; wakes who waits for a number of them."""

    def __init__(self) -> None:
        super().__init__()
        self._moved = asyncio.Event()

    def __call__(self, one: Attempt, outcome: Outcome) -> None:
        one.done = True
        self.append((one, outcome))
        self._moved.set()

    async def number(self, wanted: int) -> None:
        async with asyncio.timeout(5):
            while len(self) < wanted:
                await self._moved.wait()
                self._moved.clear()


async def run_all(kinds: list[str], limit: int) -> tuple[Finished, RunnerPool]:
    finished = Finished()
    async with asyncio.TaskGroup() as group:
        pool = RunnerPool(
            limit=limit,
            deps=None,
            spawn=lambda work, context: group.create_task(work, context=context),
            finish=finished,
        )
        pool.feed([attempt(number, kind) for number, kind in enumerate(kinds)])
        await finished.number(len(kinds))
        pool.close()
    return finished, pool


@pytest.mark.parametrize("limit", [1, 3, 500])
@pytest.mark.parametrize("kinds", [["nothing"], ["turn"], ["nothing", "turn", "turn"]])
async def test_runners_take_all_that_waits(kinds: list[str], limit: int) -> None:
    finished, _ = await run_all(kinds * 200, limit)
    assert {outcome for _, outcome in finished} == {Succeeded()}


async def test_a_stop_ends_the_attempt_and_not_its_runner() -> None:
    finished = Finished()
    async with asyncio.TaskGroup() as group:
        pool = RunnerPool(
            limit=1,
            deps=None,
            spawn=lambda work, context: group.create_task(work, context=context),
            finish=finished,
        )
        stuck, waiting, after = attempt(1, "wait_for_ever"), attempt(2), attempt(3)
        pool.feed([stuck, waiting, after])
        await asyncio.sleep(0)
        waiting.stop = Stop.CANCEL
        pool.stop(waiting)
        stuck.stop = Stop.CANCEL
        pool.stop(stuck)
        await finished.number(3)
        pool.close()
    assert finished == [(stuck, Cancelled()), (waiting, Cancelled()), (after, Succeeded())]


def test_lines_of_a_finished_attempt_are_dropped() -> None:
    one = attempt()
    one.logs.keep(one, "info", "kept", {})
    one.done = True
    one.logs.keep(one, "info", "dropped", {})
    assert [line.message for line in one.logs.take()] == ["kept"]


def test_unsent_lines_are_bounded() -> None:
    logs = LogBuffer(limit=10)
    one = Attempt(claimed(), app, logs, 0.0)
    for number in range(20):
        logs.keep(one, "info", str(number), {})
    assert len(logs) == 10
    logs.put_back(logs.take())
    assert len(logs) == 10


def test_lines_go_to_structlog_where_the_app_configured_it() -> None:
    seen: list[dict[str, Any]] = []

    def record(_logger: object, _name: str, event: MutableMapping[str, Any]) -> str:
        seen.append(dict(event))
        raise structlog.DropEvent

    structlog.configure(processors=[record])
    try:
        attempt().log("info", "paid", {"amount": 3})
    finally:
        structlog.reset_defaults()
    assert seen == [
        {
            "event": "paid",
            "amount": 3,
            "attempt": 1,
            "job": "job_00000000000000000000000001",
            "kind": "nothing",
        }
    ]


def test_numbers_of_children_begin_anew_where_stores_end() -> None:
    """A worker that replaces its children every second comes there within a day."""
    numbers = [CHILD_NUMBER_MAX - 1]
    for _ in range(4):
        numbers.append(number_after(numbers[-1], {1, 3}))
    assert numbers[1:] == [CHILD_NUMBER_MAX, 2, 4, 5]
    assert number_after(0, ()) == 1
    assert number_after(CHILD_NUMBER_MAX, {CHILD_NUMBER_MAX}) == 1
