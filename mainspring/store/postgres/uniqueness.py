"""Unique keys: at most one job holds one, and who comes second meets it.

The index decides, so a race has one winner whatever the callers do. Who loses it looks for the
winner; the winner may have ended by then, so both are tried in turn.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias

from mainspring.domain.errors import LimitReached
from mainspring.domain.job import NewJob, Receipt
from mainspring.store.postgres.columns import columns, every_column
from mainspring.store.postgres.pool import load
from mainspring.store.statements import Ask, Steps

_SUBMIT: Final = load("submit")
_FIND_HOLDERS: Final = load("find_holders")
_REPLACE_WAITING: Final = load("replace_waiting")
_POINT_KEYS: Final = load("point_keys")
_RELEASE_KEYS: Final = load("release_keys")

#: Each round is lost only to a holder that came and went meanwhile.
_ROUNDS: Final = 20

#: What became of jobs that were not inserted, by their own ids.
Met: TypeAlias = dict[bytes, Receipt]


class _Encounter(NamedTuple):
    """A job whose key is held, or that is in already under its own id."""

    job: NewJob
    is_known: bool
    holder_id: bytes | None
    waits: bool


def hold_keys(
    jobs: Sequence[NewJob], at: datetime | None, *, repeated: bool
) -> Steps[tuple[set[bytes], Met]]:
    """Insert jobs whose keys are free; return their ids, and what the others met."""
    # One order for all callers, so that two of them cannot wait for each other.
    left = sorted(jobs, key=_unique_key)
    inserted: set[bytes] = set()
    met: Met = {}
    for _ in range(_ROUNDS):
        rows = yield Ask(_SUBMIT, columns(left, at))
        inserted |= {row[0] for row in rows}
        left = [job for job in left if job.id not in inserted]
        if left:
            met |= yield from _meet(left, at, repeated=repeated)
            left = [job for job in left if job.id not in met]
        if not left:
            return inserted, met
    raise LimitReached(
        f"the unique key {left[0].unique_key!r} changed hands {_ROUNDS} times meanwhile",
        hint="submit again",
    )


def _meet(jobs: Sequence[NewJob], at: datetime | None, *, repeated: bool) -> Steps[Met]:
    """Answer those whose key is held; one whose holder has just ended is not in the answer."""
    values: dict[str, object] = {
        "ids": [job.id for job in jobs],
        "tenants": [job.tenant for job in jobs],
        "unique_keys": [job.unique_key for job in jobs],
        "unique_whiles": [job.unique_while for job in jobs],
        "repeated": repeated,
    }
    rows = yield Ask(_FIND_HOLDERS, values)
    found = [
        _Encounter(jobs[position - 1], is_known, holder_id, bool(waits))
        for position, is_known, holder_id, waits in sorted(rows, key=_position)
    ]
    met: Met = {}
    replacing: list[tuple[bytes, NewJob]] = []
    for each in found:
        if each.is_known:
            met[each.job.id] = Receipt(each.job.id, created=False)
        elif each.holder_id is None:
            continue
        elif each.job.on_duplicate == "replace" and each.waits:
            replacing.append((each.holder_id, each.job))
        else:
            refused = each.job.on_duplicate == "reject"
            met[each.job.id] = Receipt(each.holder_id, created=False, duplicate=refused)
    if replacing:
        met |= yield from _replace(replacing, at)
    return met


def _replace(replacing: Sequence[tuple[bytes, NewJob]], at: datetime | None) -> Steps[Met]:
    """Let waiting jobs take over what was submitted: of several submissions the last one."""
    last = dict(replacing)
    values = every_column(list(last.values())) | {"at": at, "holder_ids": list(last)}
    rows = yield Ask(_REPLACE_WAITING, values)
    named: dict[bytes, str | None] = {row[0]: row[1] for row in rows}
    met: Met = {}
    for holder_id, job in replacing:
        if holder_id in named:
            met[job.id] = Receipt(
                holder_id, created=False, replaced=True, unused_ref=named[holder_id]
            )
            named[holder_id] = job.payload_ref
    return met


def keep_submission_keys(jobs: Iterable[NewJob], met: Mapping[bytes, Receipt]) -> Steps[None]:
    """Let submission keys name what their jobs met, and forget those of refused ones."""
    keyed = [job for job in jobs if job.submission_key is not None and job.id in met]
    refused = [job for job in keyed if met[job.id].duplicate]
    moved = [job for job in keyed if not met[job.id].duplicate]
    if refused:
        yield Ask(_RELEASE_KEYS, _submission_keys(refused))
    if moved:
        holders = [met[job.id].job_id for job in moved]
        yield Ask(_POINT_KEYS, _submission_keys(moved) | {"holder_ids": holders})


def _submission_keys(jobs: Sequence[NewJob]) -> dict[str, object]:
    return {
        "tenants": [job.tenant for job in jobs],
        "keys": [job.submission_key for job in jobs],
    }


def _unique_key(job: NewJob) -> tuple[str, str, str]:
    return job.tenant, job.unique_key or "", job.unique_while


def _position(row: Sequence[int]) -> int:
    return row[0]
