"""Jobs come in: ``SubmissionStore``. Callers who wait at the same time share their statements."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from mainspring.domain.job import Backoff, NewJob, Receipt
from mainspring.domain.limits import SUBMISSION_KEY_HOURS
from mainspring.store.sqlite.instants import HOUR_US, due_us, to_us
from mainspring.store.sqlite.packing import as_json, chunks, pack
from mainspring.store.sqlite.part import Part
from mainspring.store.sqlite.records import backoff_text
from mainspring.store.sqlite.uniqueness import find_holders
from mainspring.store.sqlite.unit import Unit, ask, ask_entries, ask_ids
from mainspring.store.statements import Steps

_KEY_LIFE_US: Final = SUBMISSION_KEY_HOURS * HOUR_US
_known_positions: Final = msgspec.json.Decoder(list[int])
_known_keys: Final = msgspec.json.Decoder(list[tuple[int, str, str | None]])


class _Shape(NamedTuple):
    """What jobs of one insert have in common."""

    tenant: str
    queue: str
    kind: str
    priority: int
    max_attempts: int
    max_crashes: int
    timeout_ms: int
    backoff: Backoff | None
    on_exhausted: str | None


class _First(NamedTuple):
    """The first submission under a key."""

    job_id: bytes
    body_hash: str | None


class Submission(Part):
    """Jobs come in."""

    async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
        # Finished ids are always looked up here, so that a repetition needs no other path.
        del repeated
        if not jobs:
            return []
        return await self._engine.write_joined(insert, jobs)


def insert(unit: Unit, calls: list[Sequence[NewJob]]) -> list[list[Receipt]]:
    """Insert the jobs of several calls; they become visible together or not at all."""
    jobs = calls[0] if len(calls) == 1 else [job for given in calls for job in given]
    receipts = unit.follow(insert_steps(jobs, unit.now_us))
    answers: list[list[Receipt]] = []
    begin = 0
    for given in calls:
        answers.append(receipts[begin : begin + len(given)])
        begin += len(given)
    return answers


def insert_steps(jobs: Sequence[NewJob], now_us: int) -> Steps[list[Receipt]]:
    """Insert jobs inside a transaction that is open; receipts in the order given."""
    receipts: list[Receipt] = []
    for part in chunks(jobs):
        receipts += yield from _insert_part(part, now_us)
    return receipts


def _insert_part(jobs: Sequence[NewJob], now_us: int) -> Steps[list[Receipt]]:
    ids = [job.id for job in jobs]
    rows = yield ask_ids("find_known_jobs", ids)
    known_ids = {ids[position] for position in _known_positions.decode(rows[0][0])}
    keys = yield from _find_keys([job for job in jobs if job.submission_key is not None], now_us)
    unique = yield from find_holders(jobs)
    receipts: list[Receipt] = []
    fresh: list[NewJob] = []
    kept: list[tuple[NewJob, bytes]] = []
    for job in jobs:
        first = keys.get((job.tenant, job.submission_key))
        if first is not None:
            conflict = first.body_hash != _hash_text(job)
            receipts.append(Receipt(first.job_id, created=False, conflict=conflict))
            continue
        if job.id in known_ids:
            receipts.append(Receipt(job.id, created=False))
            continue
        receipt = unique.meet(job)
        if receipt is None:
            # From here on it is known: the next one of this call meets it.
            known_ids.add(job.id)
            fresh.append(job)
            receipt = Receipt(job.id)
        receipts.append(receipt)
        if job.submission_key is not None and not receipt.duplicate:
            keys[job.tenant, job.submission_key] = _First(receipt.job_id, _hash_text(job))
            kept.append((job, receipt.job_id))
    yield from _remember_keys(kept, now_us)
    yield from insert_fresh(fresh, now_us)
    yield from unique.write(now_us)
    return receipts


def _hash_text(job: NewJob) -> str | None:
    return None if job.body_hash is None else job.body_hash.hex()


def _find_keys(jobs: Sequence[NewJob], now_us: int) -> Steps[dict[tuple[str, str | None], _First]]:
    if not jobs:
        return {}
    names = [(job.tenant, job.submission_key) for job in jobs]
    rows = yield ask("find_keys", {"entries": as_json(names), "now": now_us})
    return {
        names[position]: _First(bytes.fromhex(job_id), body_hash)
        for position, job_id, body_hash in _known_keys.decode(rows[0][0])
    }


def _remember_keys(kept: Sequence[tuple[NewJob, bytes]], now_us: int) -> Steps[None]:
    """Keep submission keys, each with the job that answers it."""
    if kept:
        yield ask_entries(
            "remember_keys",
            [job_id for _, job_id in kept],
            [(job.tenant, job.submission_key, _hash_text(job)) for job, _ in kept],
            expires_at=now_us + _KEY_LIFE_US,
        )


def insert_fresh(jobs: Sequence[NewJob], now_us: int) -> Steps[None]:
    """Insert jobs whose ids are new: one statement for all that are alike."""
    by_shape: dict[_Shape, list[NewJob]] = {}
    for job in jobs:
        shape = _Shape(
            job.tenant,
            job.queue,
            job.kind,
            int(job.priority),
            job.max_attempts,
            job.max_crashes,
            job.timeout_ms,
            job.backoff,
            job.on_exhausted,
        )
        by_shape.setdefault(shape, []).append(job)
    for shape, alike in by_shape.items():
        yield ask_entries(
            "insert_jobs",
            [job.id for job in alike],
            [
                (job.payload.decode(), job.payload_ref, job.effect_key, job.submission_key)
                for job in alike
            ],
            dues=b"".join(b"%020d" % due_us(job, now_us) for job in alike),
            now=now_us,
            **shape._asdict() | {"backoff": backoff_text(shape.backoff)},
        )
    fired = [job for job in jobs if job.schedule_id is not None]
    if fired:
        yield from _tie(fired)


def _tie(jobs: Sequence[NewJob]) -> Steps[None]:
    """Write down whose fires jobs are; apart, so that other jobs do not pay for it."""
    for part in chunks(jobs):
        yield ask_entries(
            "tie_jobs",
            [job.id for job in part],
            [
                (None if job.nominal_at is None else to_us(job.nominal_at), int(job.alone))
                for job in part
            ],
            schedules=pack(job.schedule_id or b"" for job in part),
        )
