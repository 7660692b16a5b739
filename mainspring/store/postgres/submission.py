"""Jobs come in: one multi-row insert for a whole call, keys reserved before it."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from mainspring.domain.job import NewJob, Receipt
from mainspring.domain.limits import SUBMISSION_KEY_HOURS
from mainspring.store.postgres.columns import columns
from mainspring.store.postgres.part import Part
from mainspring.store.postgres.pool import follow, load
from mainspring.store.postgres.uniqueness import Met, hold_keys, keep_submission_keys
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
        if repeated or any(_has_key(job) for job in jobs):
            return await self._pools.submission.transaction(
                lambda connection: follow(connection, insert_steps(jobs, at, repeated=repeated))
            )
        rows = await self._pools.submission.fetch(_SUBMIT, columns(jobs, at), changes=True)
        if len(rows) == len(jobs):
            return [Receipt(job.id) for job in jobs]
        return _receipts(jobs, {row[0] for row in rows}, {}, {})


def insert_steps(
    jobs: Sequence[NewJob], at: datetime | None, *, repeated: bool
) -> Steps[list[Receipt]]:
    """Insert jobs inside a transaction that is open, with their keys."""
    firsts, known = yield from _reserve(jobs, at)
    plain = [job for job in firsts if job.unique_key is None]
    inserted: set[bytes] = set()
    if plain:
        rows = yield Ask(_SUBMIT, columns(plain, at))
        inserted = {row[0] for row in rows}
    met: Met = {}
    if len(plain) < len(firsts):
        unique = [job for job in firsts if job.unique_key is not None]
        held, met = yield from hold_keys(unique, at, repeated=repeated)
        inserted |= held
        yield from keep_submission_keys(unique, met)
    if repeated and inserted:
        gone = yield Ask(_WITHDRAW_FINISHED, {"ids": list(inserted)})
        inserted -= {row[0] for row in gone}
    return _receipts(jobs, inserted, known, met)


def _has_key(job: NewJob) -> bool:
    return job.submission_key is not None or job.unique_key is not None


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


def _receipts(
    jobs: Iterable[NewJob], inserted: set[bytes], known: _Known, met: Met
) -> list[Receipt]:
    receipts: list[Receipt] = []
    fresh = set(inserted)
    for job in jobs:
        job_id = job.id
        if job.submission_key is not None:
            job_id, body_hash = known[job.tenant, job.submission_key]
            if body_hash != job.body_hash:
                receipts.append(Receipt(job_id, created=False, conflict=True))
                continue
        if job_id in met:
            receipts.append(_second(met[job_id], is_same=job_id == job.id))
            continue
        # An id counts as created once: a second job under it is the repetition of the first.
        created = job_id == job.id and job_id in fresh
        fresh.discard(job.id)
        receipts.append(Receipt(job_id, created=created))
    return receipts


def _second(receipt: Receipt, *, is_same: bool) -> Receipt:
    """Return the answer to a job that met another: a repetition of it changed nothing more."""
    if is_same or receipt.duplicate:
        return receipt
    return Receipt(receipt.job_id, created=False)
