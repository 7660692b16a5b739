"""``database.scheduler.v1``: the messages as they were first written, and what they mean here."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from mainspring.domain.ids import show_job
from mainspring.domain.job import HandlerInfo
from mainspring.domain.states import AttemptState, JobState
from mainspring.ports.store import Store
from mainspring.store.sqlite import open_sqlite
from mainspring.testing.builders import KIND, new_job, new_session
from mainspring.testing.clock import SettableClock
from mainspring.testing.conformance.steps import state_of, view
from mainspring.wire.protobuf.dispatcher_pb2 import (
    ClaimTriggersRequest,
    ClaimTriggersResponse,
    UpdateAttemptRequest,
    UpdateAttemptResponse,
)
from tests.gateways.calling import SCHEDULER, Line, Refusal
from tests.gateways.loopback import serving

_CLAIM = SCHEDULER + "ClaimTriggers"
_UPDATE = SCHEDULER + "UpdateAttemptStatus"
_TEXT = descriptor_pb2.FieldDescriptorProto.TYPE_STRING
_INT32 = descriptor_pb2.FieldDescriptorProto.TYPE_INT32
_INT64 = descriptor_pb2.FieldDescriptorProto.TYPE_INT64
#: Field by field what the first version had: name, number and type.
_FIRST: dict[str, list[tuple[str, int, int]]] = {
    "ClaimTriggersRequest": [
        ("worker_id", 1, _TEXT),
        ("max_tasks", 2, _INT32),
        ("lease_duration_seconds", 3, _INT64),
    ],
    "TaskPayload": [
        ("trigger_id", 1, _TEXT),
        ("job_id", 2, _TEXT),
        ("tenant_id", 3, _TEXT),
        ("job_type", 4, _TEXT),
        ("payload_json", 5, _TEXT),
        ("scheduled_time_epoch", 6, _INT64),
    ],
    "UpdateAttemptRequest": [
        ("attempt_id", 1, _TEXT),
        ("trigger_id", 2, _TEXT),
        ("status", 3, _TEXT),
        ("error_message", 4, _TEXT),
    ],
    "UpdateAttemptResponse": [("success", 1, descriptor_pb2.FieldDescriptorProto.TYPE_BOOL)],
}


@pytest.fixture
async def store(tmp_path: Path, clock: SettableClock) -> AsyncIterator[Store]:
    opened = await open_sqlite(tmp_path / "seed.db", clock=clock)
    await opened.migrate(phase="all")
    await opened.open_session(new_session())
    await opened.declare_handlers([HandlerInfo(kind=KIND)])
    yield opened
    await opened.close()


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
async def line(store: Store) -> AsyncIterator[Line]:
    async with serving(store, None) as door:
        made = Line(f"127.0.0.1:{door.port}")
        yield made
        await made.close()


async def claim(line: Line, **given: Any) -> ClaimTriggersResponse:
    words: dict[str, Any] = {"worker_id": "w-1", "max_tasks": 10, **given}
    wanted = ClaimTriggersRequest(**words)
    return await line.ask(_CLAIM, wanted, ClaimTriggersResponse)


async def update(line: Line, attempt_id: str, status: str, **given: Any) -> UpdateAttemptResponse:
    told = UpdateAttemptRequest(attempt_id=attempt_id, status=status, **given)
    return await line.ask(_UPDATE, told, UpdateAttemptResponse)


async def refused(line: Line, path: str, question: Any) -> Refusal:
    found = await line.refused(path, question)
    assert found is not None
    return found


@pytest.mark.parametrize("name", _FIRST)
def test_the_first_fields_keep_name_number_and_type(name: str) -> None:
    pool = descriptor_pool.Default()
    fields = pool.FindMessageTypeByName(f"database.scheduler.v1.{name}").fields_by_name
    for field, number, kind in _FIRST[name]:
        assert (fields[field].number, fields[field].type) == (number, kind)


async def test_a_program_that_knows_only_the_first_fields_works(line: Line, store: Store) -> None:
    """Its messages are built from the first version's words alone."""
    file = descriptor_pb2.FileDescriptorProto(
        name="first.proto", package="database.scheduler.first", syntax="proto3"
    )
    for name, fields in _FIRST.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            message.field.add(name=field, number=number, type=kind, label=1)
    answer = file.message_type.add(name="ClaimTriggersResponse")
    answer.field.add(
        name="tasks",
        number=1,
        type=descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE,
        type_name=".database.scheduler.first.TaskPayload",
        label=descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED,
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    old = {
        name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"database.scheduler.first.{name}")
        )
        for name in (*_FIRST, "ClaimTriggersResponse")
    }
    job = new_job(payload=b'{"n":1}', tenant="acme")
    await store.submit([job])
    wanted: Any = old["ClaimTriggersRequest"](
        worker_id="w-1", max_tasks=5, lease_duration_seconds=60
    )
    got: Any = await line.ask(_CLAIM, wanted, old["ClaimTriggersResponse"])
    [task] = got.tasks
    assert (task.trigger_id, task.job_id) == (show_job(job.id), show_job(job.id))
    assert (task.tenant_id, task.job_type, task.payload_json) == ("acme", KIND, '{"n":1}')
    due = (await view(store, job.id)).due_at
    assert task.scheduled_time_epoch == int(due.timestamp())


async def test_what_is_claimed_names_its_attempt(line: Line, store: Store) -> None:
    job = new_job(effect_key="key-1", timeout_ms=9_000)
    await store.submit([job])
    answer = await claim(line)
    [task] = answer.tasks
    assert (task.attempt_id, task.attempt) == (f"{show_job(job.id)}:1", 1)
    assert (task.effect_key, task.queue) == ("key-1", "default")
    deadline_at = (await view(store, job.id)).deadline_at
    assert deadline_at is not None
    assert task.deadline.ToJsonString() == deadline_at.isoformat().replace("+00:00", "Z")
    assert answer.lease_duration_seconds == 30


@pytest.mark.parametrize(
    ("asked", "granted"), [(0, 30), (1, 5), (5, 5), (600, 600), (10**12, 3_600), (-5, 5)]
)
async def test_a_lease_is_bounded(line: Line, store: Store, asked: int, granted: int) -> None:
    assert (await claim(line, lease_duration_seconds=asked)).lease_duration_seconds == granted


async def test_nobody_has_the_job_within_the_lease_and_somebody_after_it(
    line: Line, store: Store, clock: SettableClock
) -> None:
    await store.submit([new_job()])
    [first] = (await claim(line, lease_duration_seconds=10)).tasks
    clock.advance(9)
    assert not (await claim(line, worker_id="w-2")).tasks
    clock.advance(2)
    [again] = (await claim(line, worker_id="w-3")).tasks
    assert (again.trigger_id, first.attempt, again.attempt) == (first.trigger_id, 1, 2)
    assert not (await update(line, first.attempt_id, "SUCCEEDED")).success
    assert (await update(line, again.attempt_id, "SUCCEEDED")).success


@pytest.mark.parametrize(
    ("status", "state", "closed"),
    [
        ("SUCCEEDED", JobState.SUCCEEDED, AttemptState.SUCCEEDED),
        ("completed", JobState.SUCCEEDED, AttemptState.SUCCEEDED),
        ("Success", JobState.SUCCEEDED, AttemptState.SUCCEEDED),
        ("done", JobState.SUCCEEDED, AttemptState.SUCCEEDED),
        ("FAILED", JobState.RETRYING, AttemptState.FAILED),
        ("DEAD", JobState.DEAD, AttemptState.FAILED),
        ("TIMED_OUT", JobState.RETRYING, AttemptState.TIMED_OUT),
        ("CANCELLED", JobState.CANCELLED, AttemptState.CANCELLED),
        ("canceled", JobState.CANCELLED, AttemptState.CANCELLED),
        ("RELEASED", JobState.READY, AttemptState.RELEASED),
        ("PENDING", JobState.READY, AttemptState.RELEASED),
    ],
)
async def test_every_word_means_what_it_says(
    line: Line, store: Store, status: str, state: JobState, closed: AttemptState
) -> None:
    job = new_job()
    await store.submit([job])
    [task] = (await claim(line)).tasks
    assert (await update(line, task.attempt_id, status, error_message="boom")).success
    assert await state_of(store, job.id) is state
    [attempt] = await store.list_attempts(job.id)
    assert attempt.state is closed
    if status in {"FAILED", "DEAD"}:
        assert b"boom" in (attempt.error or b"")
    # The answer may have been lost: the repetition says so again, and changes nothing.
    assert (await update(line, task.attempt_id, status, error_message="boom")).success
    assert len(await store.list_attempts(job.id)) == 1


async def test_a_stale_report_changes_nothing(line: Line, store: Store) -> None:
    job = new_job()
    await store.submit([job])
    [task] = (await claim(line)).tasks
    await store.cancel([job.id], reason="", force=True, actor="test")
    assert not (await update(line, task.attempt_id, "SUCCEEDED")).success
    assert await state_of(store, job.id) is JobState.CANCELLED
    unknown = f"{show_job(new_job().id)}:1"
    assert not (await update(line, unknown, "SUCCEEDED")).success


async def test_running_asks_whether_the_attempt_is_still_wanted(line: Line, store: Store) -> None:
    job = new_job()
    await store.submit([job])
    [task] = (await claim(line)).tasks
    held = await update(line, task.attempt_id, "RUNNING")
    assert (held.success, held.cancelling) == (True, False)
    await store.cancel([job.id], reason="", force=False, actor="test")
    asked = await update(line, task.attempt_id, "running")
    assert (asked.success, asked.cancelling) == (True, True)
    assert (await update(line, task.attempt_id, "CANCELLED")).success
    assert not (await update(line, task.attempt_id, "RUNNING")).success


async def test_a_result_and_a_wait_go_along(line: Line, store: Store, clock: SettableClock) -> None:
    first, second = new_job(), new_job()
    await store.submit([first, second])
    tasks = {task.trigger_id: task for task in (await claim(line)).tasks}
    done = tasks[show_job(first.id)].attempt_id
    assert (await update(line, done, "SUCCEEDED", result_json='{"n":1}')).success
    assert (await view(store, first.id)).result == b'{"n":1}'
    later = tasks[show_job(second.id)].attempt_id
    assert (await update(line, later, "FAILED", retry_after_ms=90_000)).success
    assert (await view(store, second.id)).due_at == clock.now() + timedelta(seconds=90)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"status": "SUCCEEDED"}, "attempt_id: it is missing"),
        ({"trigger_id": "x", "status": "SUCCEEDED"}, "attempt_id: it is missing"),
        ({"attempt_id": "job_1:1", "status": "SUCCEEDED"}, "26"),
        ({"attempt_id": "", "status": ""}, "attempt_id"),
    ],
)
async def test_without_an_attempt_the_call_fails_clearly(
    line: Line, given: dict[str, str], words: str
) -> None:
    found = await refused(line, _UPDATE, UpdateAttemptRequest(**given))  # type: ignore[arg-type]  # texts
    assert found.status is grpc.StatusCode.INVALID_ARGUMENT
    assert words in found.details


async def test_other_words_and_other_jobs_are_refused(line: Line, store: Store) -> None:
    await store.submit([new_job()])
    [task] = (await claim(line)).tasks
    for given in (
        {"status": "MAYBE"},
        {"status": "SUCCEEDED", "trigger_id": show_job(new_job().id)},
        {"status": "SUCCEEDED", "result_json": "{"},
    ):
        question = UpdateAttemptRequest(attempt_id=task.attempt_id, **given)  # type: ignore[arg-type]  # texts
        found = await refused(line, _UPDATE, question)
        assert found.status is grpc.StatusCode.INVALID_ARGUMENT
    assert (await update(line, task.attempt_id, "SUCCEEDED", trigger_id=task.trigger_id)).success


async def test_kinds_that_nobody_declared_become_known_by_their_worker(
    line: Line, store: Store
) -> None:
    assert not (await claim(line, kinds=["seed.work"], queues=["default"])).tasks
    assert "seed.work" in [handler.kind for handler in await store.list_handlers()]
    rich = HandlerInfo(kind="rich", timeout_ms=5)
    await store.declare_handlers([rich])
    await claim(line, kinds=["rich"])
    assert rich in await store.list_handlers()


async def test_queues_and_kinds_narrow_what_comes(line: Line, store: Store) -> None:
    mail, other = new_job(queue="mail"), new_job(queue="mail", kind="other")
    await store.submit([mail, other, new_job()])
    tasks = (await claim(line, kinds=[KIND], queues=["mail"])).tasks
    assert [task.trigger_id for task in tasks] == [show_job(mail.id)]
    everything = (await claim(line)).tasks
    assert len(everything) == 1, "without words: every queue, every kind that was declared"


async def test_polling_makes_no_rows_and_finished_sessions_end(line: Line, store: Store) -> None:
    for _ in range(5):
        assert not (await claim(line)).tasks
    assert len(await store.list_workers()) == 2
    await store.submit([new_job()])
    [task] = (await claim(line)).tasks
    assert (await update(line, task.attempt_id, "SUCCEEDED")).success
    states = sorted(worker.state for worker in await store.list_workers())
    assert states == ["alive", "gone"]


async def test_no_more_than_asked_for(line: Line, store: Store) -> None:
    await store.submit([new_job() for _ in range(5)])
    assert len((await claim(line, max_tasks=3)).tasks) == 3
    assert len((await claim(line, max_tasks=0)).tasks) == 1
    found = await refused(line, _CLAIM, ClaimTriggersRequest(max_tasks=-1))
    assert found.status is grpc.StatusCode.INVALID_ARGUMENT
