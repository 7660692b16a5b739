"""Jobs come in: one multi-row insert for a whole call, keys reserved before it."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from mainspring.domain.job import NewJob, Receipt
from mainspring.domain.limits import SUBMISSION_KEY_HOURS
from mainspring.store.postgres.part import Part
from mainspring.store.postgres.pool import follow, load
from mainspring.store.postgres.rows import folded, json_text, unless_empty
from mainspring.store.statements import Ask, Steps

_SUBMIT: Final = load("submit")
_RESERVE_KEYS: Final = load("reserve_keys")
_FIND_KEYS: Final = load("find_keys")
_WITHDRAW_FINISHED: Final = load("withdraw_finished")

_Key = tuple[str, str]
_Known = dict[_Key, tuple[bytes, bytes | None]]


class Submission(Part):
    """Implements ``SubmissionStore``."""

    async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
        if not jobs:
            return []
        at = self._at()
        if repeated or any(job.submission_key is not None for job in jobs):
            return await self._pools.submission.transaction(
                lambda connection: follow(connection, insert_steps(jobs, at, repeated=repeated))
            )
        rows = await self._pools.submission.fetch(_SUBMIT, _columns(jobs, at), changes=True)
        if len(rows) == len(jobs):
            return [Receipt(job.id) for job in jobs]
        return _receipts(jobs, {row[0] for row in rows}, {})


def insert_steps(
    jobs: Sequence[NewJob], at: datetime | None, *, repeated: bool
) -> Steps[list[Receipt]]:
    """Insert jobs inside a transaction that is open, with their keys."""
    firsts, known = yield from _reserve(jobs, at)
    inserted: set[bytes] = set()
    if firsts:
        rows = yield Ask(_SUBMIT, _columns(firsts, at))
        inserted = {row[0] for row in rows}
    if repeated and inserted:
        gone = yield Ask(_WITHDRAW_FINISHED, {"ids": list(inserted)})
        inserted -= {row[0] for row in gone}
    return _receipts(jobs, inserted, known)


def _reserve(jobs: Sequence[NewJob], at: datetime | None) -> Steps[tuple[list[NewJob], _Known]]:
    """Return the jobs to insert, and what each key of the call stands for."""
    first_of: dict[_Key, NewJob] = {}
    for job in jobs:
        if job.submission_key is not None:
            first_of.setdefault((job.tenant, job.submission_key), job)
    if not first_of:
        return list(jobs), {}
    values = {
        "at": at,
        "keep_hours": SUBMISSION_KEY_HOURS,
        "job_ids": [job.id for job in first_of.values()],
        "tenants": [tenant for tenant, _ in first_of],
        "keys": [key for _, key in first_of],
        "body_hashes": [job.body_hash for job in first_of.values()],
    }
    rows = yield Ask(_RESERVE_KEYS, values)
    won = {row[0] for row in rows}
    known: _Known = {key: (job.id, job.body_hash) for key, job in first_of.items() if job.id in won}
    taken = [key for key in first_of if key not in known]
    if taken:
        # The rows are locked by the reservation, so they are there and stay as they are.
        sought = {"tenants": [key[0] for key in taken], "keys": [key[1] for key in taken]}
        rows = yield Ask(_FIND_KEYS, sought)
        for tenant, key, job_id, body_hash in rows:
            known[tenant, key] = (job_id, body_hash)
    firsts = [
        job
        for job in jobs
        if job.submission_key is None
        or (job.id in won and first_of[job.tenant, job.submission_key] is job)
    ]
    return firsts, known


def _receipts(jobs: Iterable[NewJob], inserted: set[bytes], known: _Known) -> list[Receipt]:
    receipts: list[Receipt] = []
    fresh = set(inserted)
    for job in jobs:
        job_id = job.id
        if job.submission_key is not None:
            job_id, body_hash = known[job.tenant, job.submission_key]
            if body_hash != job.body_hash:
                receipts.append(Receipt(job_id, created=False, conflict=True))
                continue
        # An id counts as created once: a second job under it is the repetition of the first.
        created = job_id == job.id and job_id in fresh
        fresh.discard(job.id)
        receipts.append(Receipt(job_id, created=created))
    return receipts


def _columns(jobs: Sequence[NewJob], at: datetime | None) -> dict[str, object]:
    """Turn jobs into arrays, sending what they agree on only once."""
    column = dict(
        zip(
            NewJob.__struct_fields__,
            zip(*map(msgspec.structs.astuple, jobs), strict=True),
            strict=True,
        )
    )
    backoffs, backoff = folded(column["backoff"])
    values: dict[str, object] = {
        "at": at,
        "ids": column["id"],
        "payloads": column["payload"],
        "payload_refs": unless_empty(column["payload_ref"]),
        "due_ats": unless_empty(column["due_at"]),
        "backoffs": [None if each is None else json_text(each) for each in backoffs],
        "backoff": None if backoff is None else json_text(backoff),
        "effect_keys": unless_empty(column["effect_key"]),
        "submission_keys": unless_empty(column["submission_key"]),
    }
    for name, many, one in _FOLDED:
        values[many], values[one] = folded(column[name])
    return values


#: Fields that the jobs of one call mostly share: field, its array, its single value.
_FOLDED: Final = (
    ("kind", "kinds", "kind"),
    ("tenant", "tenants", "tenant"),
    ("queue", "queues", "queue"),
    ("priority", "priorities", "priority"),
    ("delay_ms", "delays_ms", "delay_ms"),
    ("max_attempts", "max_attempts_each", "max_attempts"),
    ("max_crashes", "max_crashes_each", "max_crashes"),
    ("timeout_ms", "timeouts_ms", "timeout_ms"),
    ("on_exhausted", "on_exhausted_each", "on_exhausted"),
)
