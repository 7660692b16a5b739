"""The checker: proves from two independent records that nothing was lost and nothing lied.

The records are the store (jobs, attempts, worker sessions) and the handlers' own side-effect log,
a plain file that they append to and that no part of the product touches. A fault injector adds
what it did to whom. The checker is pure; it knows no SQL and no worker.

What it proves, by finding no ``Finding``:

* every acknowledged submission is there exactly once and has reached a final state; one with an
  unknown outcome is there at most once; nothing is there that was not submitted;
* the attempts of a job are numbered 1, 2, 3 … without gap or double, and the last of them is the
  one that decided;
* no attempt was begun twice, and none was begun that the store does not know;
* a job that succeeded was decided by an attempt that really ended, and carries that attempt's
  result: a stale one never got through;
* every rerun is explained by how the attempt before it was closed, and every attempt closed as
  ``lost`` belongs to a process that was killed, frozen or cut off.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from mainspring.domain.ids import show_job
from mainspring.domain.job import AttemptView, JobView
from mainspring.domain.states import FINAL, AttemptState, JobState

#: How an attempt may be closed so that another one may follow.
_EXPLAINS_A_RERUN: Final = frozenset(
    {AttemptState.FAILED, AttemptState.TIMED_OUT, AttemptState.LOST, AttemptState.RELEASED}
)


class Effect(msgspec.Struct, frozen=True):
    """One line of the handlers' side-effect log."""

    event: str
    job: str
    attempt: int
    pid: int
    worker: str = ""


class Recorded(msgspec.Struct, frozen=True):
    """What the store says of one job."""

    job: JobView
    attempts: Sequence[AttemptView]


class History(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a run left behind."""

    acknowledged: Collection[bytes]
    unknown: Collection[bytes]
    recorded: Mapping[bytes, Recorded]
    effects: Sequence[Effect]
    #: Worker sessions whose process (or a child of it) was killed, frozen or cut off.
    disturbed: Collection[bytes]
    #: True when every job's result is ``{"attempt": n}``, as the chaos handlers return it.
    results_name_attempts: bool = True


class Finding(msgspec.Struct, frozen=True):
    """One law that was broken, by which job."""

    law: str
    job: str
    detail: str


def check(history: History) -> list[Finding]:
    """Return every broken law; an empty list is the proof."""
    findings = list(_submissions(history))
    by_job: defaultdict[str, list[Effect]] = defaultdict(list)
    for effect in history.effects:
        by_job[effect.job].append(effect)
    for job_id, recorded in history.recorded.items():
        effects = by_job.pop(show_job(job_id), [])
        findings += _numbering(recorded)
        findings += _beginnings(recorded, effects)
        findings += _decision(recorded, effects, history)
        findings += _reruns(recorded, history)
    findings += [
        Finding("phantom", shown, "a handler ran for a job that the store does not know")
        for shown in by_job
    ]
    return findings


def _submissions(history: History) -> Iterable[Finding]:
    submitted = set(history.acknowledged) | set(history.unknown)
    for job_id in history.acknowledged:
        if job_id not in history.recorded:
            yield Finding("lost", show_job(job_id), "acknowledged, but not in the store")
    for job_id, recorded in history.recorded.items():
        if job_id not in submitted:
            yield Finding("phantom", show_job(job_id), "in the store, but never submitted")
        if recorded.job.state not in FINAL:
            yield Finding("stuck", show_job(job_id), f"is {recorded.job.state.value} at the end")


def _numbering(recorded: Recorded) -> Iterable[Finding]:
    shown = show_job(recorded.job.id)
    numbers = [attempt.attempt for attempt in recorded.attempts]
    if numbers != list(range(1, recorded.job.attempt + 1)):
        yield Finding(
            "numbering", shown, f"attempts {numbers}, the job is at {recorded.job.attempt}"
        )
    for attempt in recorded.attempts:
        if attempt.state is AttemptState.RUNNING and recorded.job.state in FINAL:
            yield Finding("open", f"{shown}:{attempt.attempt}", "still open in a final job")


def _beginnings(recorded: Recorded, effects: Sequence[Effect]) -> Iterable[Finding]:
    shown = show_job(recorded.job.id)
    known = {attempt.attempt for attempt in recorded.attempts}
    begun = Counter(effect.attempt for effect in effects if effect.event == "begin")
    for number, count in begun.items():
        if count > 1:
            yield Finding("begun_twice", f"{shown}:{number}", f"begun {count} times")
        if number not in known:
            yield Finding("unrecorded", f"{shown}:{number}", "begun, but not in the store")


def _decision(recorded: Recorded, effects: Sequence[Effect], history: History) -> Iterable[Finding]:
    job = recorded.job
    shown = show_job(job.id)
    if job.state is not JobState.SUCCEEDED:
        return
    last = recorded.attempts[-1] if recorded.attempts else None
    if last is None or last.state is not AttemptState.SUCCEEDED:
        yield Finding("undecided", shown, "succeeded without an attempt that did")
        return
    ended = {effect.attempt for effect in effects if effect.event == "end"}
    if last.attempt not in ended:
        yield Finding("stale_finish", shown, f"attempt {last.attempt} decided but never ended")
    if not history.results_name_attempts:
        return
    result = msgspec.json.decode(job.result or b"null")
    if not isinstance(result, dict) or result.get("attempt") != last.attempt:
        yield Finding("stale_finish", shown, f"attempt {last.attempt} decided, result {result}")


def _reruns(recorded: Recorded, history: History) -> Iterable[Finding]:
    shown = show_job(recorded.job.id)
    for attempt in recorded.attempts[:-1]:
        name = f"{shown}:{attempt.attempt}"
        if attempt.state not in _EXPLAINS_A_RERUN and not recorded.job.replays:
            yield Finding("unexplained", name, f"closed as {attempt.state.value}, yet run again")
    for attempt in recorded.attempts:
        if attempt.state is AttemptState.LOST and attempt.worker_id not in history.disturbed:
            name = f"{shown}:{attempt.attempt}"
            yield Finding("falsely_lost", name, "its worker was never killed, frozen or cut off")
