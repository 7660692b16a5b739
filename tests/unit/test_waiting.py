"""Each cause for which a job does not run, found from its facts."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from mainspring.domain.job import JobView, QueueView, WorkerView
from mainspring.domain.states import FINAL, JobState
from mainspring.policies.waiting import Situation, why

NOW = datetime(2027, 1, 1, 12, tzinfo=UTC)
JOB = JobView(
    id=b"\1" * 16,
    kind="charge",
    tenant="default",
    queue="mail",
    priority=2,
    state=JobState.READY,
    due_at=NOW - timedelta(minutes=1),
    created_at=NOW - timedelta(minutes=1),
    attempt=0,
    tries=0,
    crashes=0,
    max_attempts=3,
    max_crashes=3,
    timeout_ms=1_000,
    payload=b"{}",
)
WORKER = WorkerView(
    id=b"\2" * 16,
    name="w-1",
    host="here",
    pid=1,
    version="1",
    queues={"mail": 2},
    kinds=("charge",),
    state="alive",
    started_at=NOW,
    beat_at=NOW,
    lease_until=NOW + timedelta(seconds=10),
    running=0,
)
QUEUE = QueueView("mail", None, None, 1, 0, 0, 0, NOW)
LATER = {"due_at": NOW + timedelta(minutes=75)}


def situation(
    *,
    job: dict[str, object] | None = None,
    queue: dict[str, object] | None = None,
    worker: dict[str, object] | None = None,
    workers: int = 1,
    ahead: int = 0,
) -> Situation:
    replace = msgspec.structs.replace
    return Situation(
        job=replace(JOB, **(job or {})),
        now=NOW,
        queue=replace(QUEUE, **(queue or {})),
        workers=[replace(WORKER, **(worker or {}))] * workers,
        ahead=ahead,
    )


CAUSES = [
    (situation(job={"state": JobState.SCHEDULED, **LATER}), ["due_later"], "in 1h 15m, at 2027"),
    (
        situation(job={"state": JobState.RETRYING, "tries": 2, **LATER}),
        ["retry_later"],
        "try 2 of 3 failed",
    ),
    (
        situation(queue={"paused_at": NOW, "paused_reason": "move"}),
        ["queue_paused"],
        "mail is paused (move)",
    ),
    (situation(workers=0), ["no_worker"], "no worker is up"),
    (situation(worker={"state": "draining"}), ["no_worker"], "are draining"),
    (situation(worker={"lease_until": NOW}), ["no_worker"], "no worker is up"),
    (situation(worker={"queues": {"other": 2}}), ["no_worker_for_queue"], "queue mail (1 up)"),
    (situation(worker={"kinds": ("else",)}), ["no_worker_for_kind"], "the kind charge"),
    (situation(queue={"running": 2}, ahead=12), ["slots_busy"], "all 2 of the queue mail are busy"),
    (situation(queue={"running": 2}), ["slots_busy"], "and is next"),
    (situation(ahead=1), ["behind"], "behind 1 job of"),
    (situation(), ["next"], "about to take it"),
    (
        situation(job={"state": JobState.RUNNING, "worker_id": WORKER.id, "started_at": NOW}),
        ["running"],
        "on the worker w-1",
    ),
    (
        situation(job={"state": JobState.RUNNING, "worker_id": b"\3" * 16}),
        ["worker_lost"],
        "is lost",
    ),
    (
        situation(
            job={"state": JobState.RUNNING, "worker_id": WORKER.id}, worker={"lease_until": NOW}
        ),
        ["worker_lost"],
        "on the worker w-1, which is lost",
    ),
    (
        situation(job={"state": JobState.CANCELLING, "worker_id": WORKER.id}),
        ["cancelling"],
        "is being stopped",
    ),
    (
        situation(job={"state": JobState.BLOCKED, "blocked_reason": "waits for parents"}),
        ["blocked"],
        "waits for parents",
    ),
    (
        situation(job={"state": JobState.DEAD, "reason": "attempts_exhausted"}),
        ["dead"],
        "attempts_exhausted",
    ),
    (situation(job={"state": JobState.SUCCEEDED}), ["succeeded"], "has ended: succeeded"),
    # What comes after the decisive cause.
    (
        situation(job={"state": JobState.SCHEDULED, **LATER}, queue={"paused_at": NOW}, workers=0),
        ["due_later", "queue_paused", "no_worker"],
        "",
    ),
    (
        situation(job={"state": JobState.SCHEDULED, **LATER}, ahead=3, queue={"running": 9}),
        ["due_later"],
        "",
    ),
]


@pytest.mark.parametrize(
    ("facts", "codes", "said"),
    CAUSES,
    ids=[f"{row[1][0]}-{number}" for number, row in enumerate(CAUSES)],
)
def test_the_cause_is_found(facts: Situation, codes: list[str], said: str) -> None:
    found = why(facts)
    assert [cause.code for cause in found] == codes
    assert said in found[0].sentence


@pytest.mark.parametrize("state", list(JobState))
def test_every_state_has_an_answer(state: JobState) -> None:
    found = why(situation(job={"state": state}))
    assert found
    assert found[0].sentence
    if state in FINAL:
        assert found[0].code == state.value


def test_counting_that_stopped_says_so() -> None:
    facts = msgspec.structs.replace(situation(ahead=5_000), ahead_is_least=True)
    assert "at least 5,000 jobs" in why(facts)[0].sentence
