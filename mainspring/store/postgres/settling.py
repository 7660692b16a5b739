"""Attempts end. Successes, nearly all of them, are one statement without BEGIN and COMMIT."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final, TypeAlias

from mainspring.domain.job import NewJob, Settled, Settlement
from mainspring.domain.states import FINAL, AttemptState, JobState
from mainspring.store.postgres.pool import Connection, Pool, bind, follow, load
from mainspring.store.postgres.rows import as_text, keepable, unless_empty
from mainspring.store.postgres.submission import insert_steps
from mainspring.store.statements import Ask, Statement, Steps

_SUCCEEDED: Final = load("settle_succeeded")
_AGAIN: Final = load("settle_again")
_FINAL: Final = load("settle_final")
_FIND_SETTLED: Final = load("find_settled")

_Right: TypeAlias = tuple[bytes, int]
_Applied: TypeAlias = dict[_Right, JobState]


async def settle(
    pool: Pool, settlements: Sequence[Settlement], at: datetime | None
) -> list[Settled]:
    """Carry out verdicts, then find out which of those that changed nothing were repetitions."""
    if not settlements:
        return []
    # Everybody takes rows in the order of their ids, so that two calls never wait in a circle.
    first_of: dict[_Right, Settlement] = {}
    for each in settlements:
        first_of.setdefault(_right(each), each)
    ordered = [first_of[right] for right in sorted(first_of)]
    if all(_plain_success(each) and not each.notices for each in ordered):
        rows = await pool.fetch(_SUCCEEDED, _success_columns(ordered, at), changes=True)
        if len(rows) == len(settlements):
            return [
                Settled(each.job_id, each.attempt, True, state=JobState.SUCCEEDED)
                for each in settlements
            ]
        applied = {(row[0], row[1]): JobState.SUCCEEDED for row in rows}
    else:
        applied = await pool.transaction(lambda connection: _settle_mixed(connection, ordered, at))
    return await _answers(pool, settlements, applied)


def succeed_steps(settlement: Settlement, at: datetime | None) -> Steps[Settled]:
    """Carry out one plain success inside a transaction that is open."""
    assert _plain_success(settlement)
    rows = yield Ask(_SUCCEEDED, _success_columns([settlement], at))
    if rows:
        if settlement.notices:
            yield from insert_steps(settlement.notices, at, repeated=False)
        return Settled(
            settlement.job_id, settlement.attempt, accepted=True, state=JobState.SUCCEEDED
        )
    rows = yield Ask(_FIND_SETTLED, _rights([settlement]))
    return Settled(settlement.job_id, settlement.attempt, accepted=False, repeated=bool(rows))


async def _settle_mixed(
    connection: Connection, ordered: Sequence[Settlement], at: datetime | None
) -> _Applied:
    applied: _Applied = {}
    successes = [each for each in ordered if _plain_success(each)]
    if successes:
        values = _success_columns(successes, at)
        for row in await connection.fetch(_SUCCEEDED.text, *bind(_SUCCEEDED, values)):
            applied[row[0], row[1]] = JobState.SUCCEEDED
    others = [each for each in ordered if not _plain_success(each)]
    again = [each for each in others if each.becomes not in FINAL]
    applied |= await _apply(connection, _AGAIN, again, at)
    final = [each for each in others if each.becomes in FINAL or _right(each) not in applied]
    applied |= await _apply(connection, _FINAL, final, at)
    following = [job for each in ordered for job in _following(each, applied.get(_right(each)))]
    if following:
        await follow(connection, insert_steps(following, at, repeated=False))
    return applied


def _following(settlement: Settlement, state: JobState | None) -> Iterator[NewJob]:
    """Return what is to be inserted with a settlement that led to this state."""
    if state is JobState.DEAD and settlement.follow_up is not None:
        yield settlement.follow_up
    is_turned = state is JobState.CANCELLED and settlement.becomes is not state
    if state is not None and not is_turned:
        yield from settlement.notices


async def _apply(
    connection: Connection,
    statement: Statement,
    settlements: Sequence[Settlement],
    at: datetime | None,
) -> _Applied:
    if not settlements:
        return {}
    values: dict[str, object] = {
        "at": at,
        **_rights(settlements),
        "reasons": [None if s.reason is None else keepable(s.reason) for s in settlements],
        "delays_ms": [s.delay_ms for s in settlements],
        "errors": [as_text(s.error) for s in settlements],
        "error_groups": [s.error_group for s in settlements],
        "results": [as_text(s.result) for s in settlements],
        "result_refs": [s.result_ref for s in settlements],
        "refund_tries": [int(s.refund_try) for s in settlements],
        "refund_crashes": [int(s.refund_crash) for s in settlements],
    }
    rows = await connection.fetch(statement.text, *bind(statement, values))
    return {(row[0], row[1]): JobState(row[2]) for row in rows}


async def _answers(
    pool: Pool, settlements: Sequence[Settlement], applied: _Applied
) -> list[Settled]:
    """Answer in the order given. Of equal rights only the first was applied now."""
    answers: list[Settled] = []
    unsettled: list[int] = []
    fresh = dict(applied)
    for position, each in enumerate(settlements):
        state = fresh.pop(_right(each), None)
        if state is None:
            unsettled.append(position)
        answers.append(Settled(each.job_id, each.attempt, state is not None, state=state))
    if unsettled:
        rights = _rights([settlements[position] for position in unsettled])
        for row in await pool.fetch(_FIND_SETTLED, rights, changes=False):
            position = unsettled[row["position"] - 1]
            each = settlements[position]
            answers[position] = Settled(each.job_id, each.attempt, False, repeated=True)
    return answers


def _plain_success(settlement: Settlement) -> bool:
    return (
        settlement.becomes is JobState.SUCCEEDED
        and settlement.attempt_state is AttemptState.SUCCEEDED
        and settlement.refund_crash
        and not settlement.refund_try
        and settlement.reason is None
        and settlement.error is None
    )


def _success_columns(settlements: Sequence[Settlement], at: datetime | None) -> dict[str, object]:
    return {
        "at": at,
        "ids": [each.job_id for each in settlements],
        "attempts": [each.attempt for each in settlements],
        "results": unless_empty([as_text(each.result) for each in settlements]),
        "result_refs": unless_empty([each.result_ref for each in settlements]),
    }


def _right(settlement: Settlement) -> _Right:
    return settlement.job_id, settlement.attempt


def _rights(settlements: Sequence[Settlement]) -> dict[str, object]:
    return {
        "ids": [each.job_id for each in settlements],
        "attempts": [each.attempt for each in settlements],
        "attempt_states": [each.attempt_state.value for each in settlements],
        "becomes": [each.becomes.value for each in settlements],
    }
