"""Attempts end: ``DispatchStore.settle``. Callers who wait at the same time share statements."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from mainspring.domain.job import NewJob, Settled, Settlement
from mainspring.domain.states import FINAL, AttemptState, JobState
from mainspring.policies.verdict import CANCELLED
from mainspring.store.sqlite.dispatch import attempt_values, find_held
from mainspring.store.sqlite.packing import chunks, text
from mainspring.store.sqlite.part import Part
from mainspring.store.sqlite.submission import insert_steps
from mainspring.store.sqlite.unit import Unit, ask, ask_entries, ask_ids
from mainspring.store.statements import Steps

_closed: Final = msgspec.json.Decoder(list[tuple[int, JobState | None, AttemptState]])


class _Shape(NamedTuple):
    """What settlements of one statement have in common."""

    state: JobState
    attempt_state: AttemptState
    reason: str | None
    refund_try: bool
    refund_crash: bool


class Settling(Part):
    """Attempts end."""

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        if not settlements:
            return []
        return await self._engine.write_joined(_settle, settlements)


def _settle(unit: Unit, calls: list[Sequence[Settlement]]) -> list[list[Settled]]:
    given = calls[0] if len(calls) == 1 else [one for call in calls for one in call]
    settled = unit.follow(settle_steps(given, unit.now_us))
    answers: list[list[Settled]] = []
    begin = 0
    for call in calls:
        answers.append(settled[begin : begin + len(call)])
        begin += len(call)
    return answers


def settle_steps(given: Sequence[Settlement], now_us: int) -> Steps[list[Settled]]:
    """Carry out verdicts inside a transaction that is open; answers in the order given."""
    settled: list[Settled] = []
    for part in chunks(given):
        settled += yield from _settle_part(part, now_us)
    return settled


def _settle_part(given: Sequence[Settlement], now_us: int) -> Steps[list[Settled]]:
    held = yield from find_held([(one.job_id, one.attempt) for one in given])
    by_shape: dict[_Shape, list[Settlement]] = {}
    states: dict[int, JobState] = {}
    taken: set[bytes] = set()
    fired: set[bytes] = set()
    for position, one in enumerate(given):
        before = held.get(position)
        if before is None or one.job_id in taken:
            continue
        # The first verdict on an attempt counts; a second one finds it closed.
        taken.add(one.job_id)
        if before.is_fired:
            fired.add(one.job_id)
        shape = _shape(one, before.state)
        states[position] = shape.state
        by_shape.setdefault(shape, []).append(one)
    for shape, alike in by_shape.items():
        if shape.state in FINAL:
            yield from _close_fires(shape, alike, fired, now_us)
            yield from _finish(shape, alike, now_us)
        else:
            yield from _free(shape, alike, now_us)
        following = [job for one in alike for job in _following(one, shape.state)]
        if following:
            yield from insert_steps(following, now_us)
    repeated = yield from _repeated(given, states)
    return [
        Settled(
            one.job_id,
            one.attempt,
            accepted=position in states,
            repeated=position in repeated,
            state=states.get(position),
        )
        for position, one in enumerate(given)
    ]


def _shape(one: Settlement, before: JobState) -> _Shape:
    """Return what the settlement does: a cancel wins over everything but an end."""
    turned = before is JobState.CANCELLING and one.becomes not in FINAL
    return _Shape(
        JobState.CANCELLED if turned else one.becomes,
        one.attempt_state,
        CANCELLED if turned else one.reason,
        one.refund_try,
        one.refund_crash,
    )


def _values(shape: _Shape, now_us: int) -> dict[str, object]:
    return {**shape._asdict(), "now": now_us}


def _finish(shape: _Shape, alike: Sequence[Settlement], now_us: int) -> Steps[None]:
    ids = [one.job_id for one in alike]
    entries = [
        (text(one.error), one.error_group, text(one.result), one.result_ref) for one in alike
    ]
    values = _values(shape, now_us)
    yield ask_entries("finish_jobs", ids, entries, **values, keep_error=False)
    yield ask_ids("delete_jobs", ids)


def _following(one: Settlement, state: JobState) -> Iterator[NewJob]:
    """Return what is to be inserted with a settlement that led to this state."""
    if state is JobState.DEAD and one.follow_up is not None:
        yield one.follow_up
    if state is not JobState.CANCELLED or one.becomes is state:
        yield from one.notices


def _close_fires(
    shape: _Shape, alike: Sequence[Settlement], fired: set[bytes], now_us: int
) -> Steps[None]:
    """Tell the ledger how jobs of fires ended; others do not pay for it."""
    ids = [one.job_id for one in alike if one.job_id in fired] if fired else []
    if ids:
        yield ask_ids("close_fires", ids, state=shape.state, now=now_us)


def _free(shape: _Shape, alike: Sequence[Settlement], now_us: int) -> Steps[None]:
    ids = [one.job_id for one in alike]
    entries = [(text(one.error), one.delay_ms, one.error_group) for one in alike]
    values = _values(shape, now_us)
    closing = {name: values[name] for name in ("attempt_state", "reason", "now")}
    yield ask_entries("close_attempts", ids, entries, **closing)
    del values["attempt_state"]
    yield ask_entries("free_jobs", ids, entries, **values)


def _repeated(given: Sequence[Settlement], states: Mapping[int, JobState]) -> Steps[frozenset[int]]:
    """Return the positions of those that had been carried out before, in the same way."""
    missed = [position for position in range(len(given)) if position not in states]
    if not missed:
        return frozenset()
    asked = [given[position] for position in missed]
    attempts = attempt_values([(one.job_id, one.attempt) for one in asked])
    rows = yield ask("find_closed", attempts)
    return frozenset(
        missed[number]
        for number, state, attempt_state in _closed.decode(rows[0][0])
        if _is_same(asked[number], state, attempt_state)
    )


def _is_same(one: Settlement, state: JobState | None, attempt_state: AttemptState) -> bool:
    if one.attempt_state is not attempt_state:
        return False
    if state is None or state is one.becomes:
        return True
    return state is JobState.CANCELLED and one.becomes not in FINAL
