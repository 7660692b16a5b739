"""Handlers of each mode: what they return and raise, and what is reported of it."""

import json
import signal

import pytest

from mainspring.domain.ids import show_job
from mainspring.domain.limits import ERROR_BYTES_MAX, LOG_LINE_BYTES_MAX, LOG_LINES_MAX
from mainspring.domain.outcome import Failed, Snoozed, Succeeded
from mainspring.domain.states import JobState
from tests.worker.rig import Rig


async def test_each_mode_returns_its_result(rig: Rig) -> None:
    await rig.start()
    store = rig.store
    on_loop = store.submit("add", payload={"a": 1, "b": 2})
    in_thread = store.submit("add_in_thread", payload={"a": 2, "b": 3})
    alone = store.submit("add_alone", payload={"a": 3, "b": 4})
    alone_async = store.submit("add_alone_async", payload={"a": 4, "b": 5})
    assert await store.finished(on_loop) == Succeeded(b"3")
    first = await store.finished(in_thread)
    assert isinstance(first, Succeeded)
    assert json.loads(first.result or b"")["sum"] == 5
    second = await store.finished(alone)
    third = await store.finished(alone_async)
    assert isinstance(second, Succeeded)
    assert isinstance(third, Succeeded)
    told = json.loads(third.result or b"")
    assert told["sum"] == 9
    assert told["deps"] == told["pid"]
    assert json.loads(second.result or b"")["sum"] == 7


MODES = ("misbehave", "misbehave_in_thread", "misbehave_alone")


@pytest.mark.parametrize("kind", MODES)
async def test_what_is_raised_becomes_the_outcome(rig: Rig, kind: str) -> None:
    await rig.start()
    store = rig.store
    jobs = {
        how: store.submit(kind, payload={"how": how})
        for how in ("plain", "fail", "retry_after", "snooze", "exit", "unshowable")
    }
    plain = await store.finished(jobs["plain"])
    assert isinstance(plain, Failed)
    assert plain.error.type == "ValueError"
    assert plain.error.message.startswith("broken xxx")
    assert len(plain.error.message) + len(plain.error.traceback) <= ERROR_BYTES_MAX
    assert plain.error.where.startswith("apps.py:")
    fail = await store.finished(jobs["fail"])
    assert isinstance(fail, Failed)
    assert fail.permanent
    assert fail.error.message == "never"
    # The handler's own frames, and none of those between the worker and the handler.
    assert "apps.py" in fail.error.traceback.splitlines()[1]
    retry = await store.finished(jobs["retry_after"])
    assert isinstance(retry, Failed)
    assert retry.retry_after_ms == 90_000
    assert await store.finished(jobs["snooze"]) == Snoozed(600_000, "not yet")
    left = await store.finished(jobs["exit"])
    assert isinstance(left, Failed)
    assert left.error.type == "SystemExit"
    unshowable = await store.finished(jobs["unshowable"])
    assert isinstance(unshowable, Failed)
    assert unshowable.error.type == "Unshowable"
    assert store.deaths == []


@pytest.mark.parametrize("kind", ["add", "add_in_thread", "add_alone"])
async def test_a_payload_that_does_not_fit_fails_for_good(rig: Rig, kind: str) -> None:
    await rig.start()
    outcome = await rig.store.finished(rig.store.submit(kind, payload={"a": "one"}))
    assert isinstance(outcome, Failed)
    assert outcome.permanent
    assert outcome.error.type == "InvalidPayload"


async def test_context_and_lifespan(rig: Rig) -> None:
    worker = await rig.start()
    job = rig.store.submit("greet")
    outcome = await rig.store.finished(job)
    assert isinstance(outcome, Succeeded)
    told = json.loads(outcome.result or b"")
    assert told == {"deps": "hello", "key": show_job(job.claimed.job_id), "attempt": 1}
    worker.send(signal.SIGTERM)
    assert await worker.ended() == 0
    # The child entered and left it; the warm isolate entered its own, and was killed.
    await rig.store.until(lambda: rig.store.heard("farewell"))
    assert rig.store.heard("farewell")[0] in rig.store.heard("lifespan")


async def test_many_jobs_share_the_slots(rig: Rig) -> None:
    await rig.start(queues={"default": 50, "mail": 3})
    jobs = [rig.store.submit("nothing") for _ in range(500)]
    jobs += [rig.store.submit("nothing", queue="mail") for _ in range(50)]
    jobs += [rig.store.submit("add_in_thread", payload={"a": 1, "b": n}) for n in range(200)]
    jobs += [rig.store.submit("add_alone", payload={"a": 1, "b": n}) for n in range(50)]
    await rig.store.until(lambda: all(job.is_final for job in jobs))
    assert {job.state for job in jobs} == {JobState.SUCCEEDED}
    assert all(len(job.outcomes) == 1 for job in jobs)


async def test_a_full_queue_does_not_hold_up_another(rig: Rig) -> None:
    await rig.start(queues={"default": 2, "mail": 1})
    store = rig.store
    blocked = [store.submit("gated", payload={"name": "g"}) for _ in range(5)]
    await store.until(lambda: len(store.heard("waiting")) == 2)
    await store.finished(store.submit("nothing", queue="mail"))
    rig.open_gate("g")
    await store.until(lambda: all(job.is_final for job in blocked))


async def test_log_lines_are_kept_within_bounds(rig: Rig) -> None:
    await rig.start()
    chatty = rig.store.submit("talk", payload={"lines": 5_000})
    big = rig.store.submit("talk_big")
    assert await rig.store.finished(chatty) == Succeeded()
    assert [line.sequence for line in chatty.lines] == list(range(1, LOG_LINES_MAX + 1))
    assert json.loads(chatty.lines[0].fields) == {"number": 0}
    assert "later lines are dropped" in chatty.lines[-1].message
    assert await rig.store.finished(big) == Succeeded()
    first, second = big.lines
    assert len(first.message.encode()) <= LOG_LINE_BYTES_MAX
    assert len(first.fields.encode()) <= LOG_LINE_BYTES_MAX
    fields = json.loads(first.fields)
    assert (fields["number"], fields["strange"][:7]) == (7, "<object")
    assert fields["big"].startswith("xxx")
    assert fields["big"].endswith(" …")
    assert second.message == "lone ? surrogate"
    assert second.level == "error"


async def test_lines_are_passed_on_with_their_attempt_and_fields(rig: Rig) -> None:
    worker = await rig.start()
    job = rig.store.submit("talk", payload={"lines": 1})
    big = rig.store.submit("talk_big")
    await rig.store.until(lambda: job.is_final and big.is_final)
    worker.send(signal.SIGTERM)
    assert await worker.ended() == 0
    lines = [json.loads(line) for line in worker.output.decode().splitlines() if "{" in line]
    passed = [line for line in lines if line.get("logger") == "mainspring.job"]
    of_job = [line for line in passed if line["job"] == show_job(job.claimed.job_id)]
    assert [(line["message"], line["attempt"], line["kind"]) for line in of_job] == [
        ("line", 1, "talk")
    ]
    assert of_job[0]["fields"] == {"number": 0}
    # What is kept is bounded; what is passed on is not, and nothing in it breaks a line.
    first, second = (line for line in passed if line not in of_job)
    assert (first["level"], first["fields"]["number"]) == ("warning", 7)
    assert second["message"] == "lone \\ud800 surrogate"


@pytest.mark.parametrize(
    ("kind", "messages"),
    [
        ("use_logging", ["from the handler", "from a task"]),
        ("use_logging_in_thread", ["from a thread"]),
        ("use_logging_alone", ["from a process", "by the context"]),
    ],
)
async def test_stdlib_logging_is_captured(rig: Rig, kind: str, messages: list[str]) -> None:
    worker = await rig.start()
    job = rig.store.submit(kind)
    await rig.store.finished(job)
    assert [line.message for line in job.lines] == messages
    assert json.loads(job.lines[0].fields) == {"logger": "shop.orders"}
    worker.send(signal.SIGTERM)
    assert await worker.ended() == 0
    # It still goes where the process's logging goes, once.
    assert worker.output.decode().count(messages[0]) == 1


async def test_progress_is_sent_while_it_runs(rig: Rig) -> None:
    await rig.start()
    job = rig.store.submit("move", payload={"name": "moved"})
    await rig.store.until(lambda: job.steps)
    assert (job.steps[-1].done, job.steps[-1].total, job.steps[-1].note) == (5, 5, "step 5")
    rig.open_gate("moved")
    await rig.store.finished(job)


async def test_context_variables_do_not_leak_into_the_next_job(rig: Rig) -> None:
    await rig.start(queues={"default": 1})
    jobs = [rig.store.submit("leak") for _ in range(5)]
    await rig.store.until(lambda: all(job.is_final for job in jobs))
    assert [job.outcomes for job in jobs] == [[Succeeded(b'"clean"')]] * 5
