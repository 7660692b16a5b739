"""Jobs come in: ``SubmissionStore``. Callers who wait at the same time share their statements."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from mainspring.domain.job import Backoff, NewJob, Receipt
from mainspring.domain.limits import SUBMISSION_KEY_HOURS
from mainspring.store.sqlite.instants import HOUR_US, to_us
from mainspring.store.sqlite.packing import as_json, chunks, pack, positions
from mainspring.store.sqlite.part import Part
from mainspring.store.sqlite.records import backoff_text
from mainspring.store.sqlite.unit import Unit

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
    receipts: list[Receipt] = []
    for part in chunks(jobs):
        receipts += _insert_part(unit, part)
    answers: list[list[Receipt]] = []
    begin = 0
    for given in calls:
        answers.append(receipts[begin : begin + len(given)])
        begin += len(given)
    return answers


def _insert_part(unit: Unit, jobs: Sequence[NewJob]) -> list[Receipt]:
    ids = [job.id for job in jobs]
    known_ids = {
        ids[position]
        for position in unit.decoded(
            "find_known_jobs",
            _known_positions,
            {"ids": pack(ids), "positions": positions(len(ids))},
        )
    }
    keys = _find_keys(unit, [job for job in jobs if job.submission_key is not None])
    receipts: list[Receipt] = []
    fresh: list[NewJob] = []
    for job in jobs:
        first = keys.get((job.tenant, job.submission_key))
        if first is not None:
            conflict = first.body_hash != _hash_text(job)
            receipts.append(Receipt(first.job_id, created=False, conflict=conflict))
        elif job.id in known_ids:
            receipts.append(Receipt(job.id, created=False))
        else:
            # From here on it is known: the next one of this call meets it.
            known_ids.add(job.id)
            if job.submission_key is not None:
                keys[job.tenant, job.submission_key] = _First(job.id, _hash_text(job))
            fresh.append(job)
            receipts.append(Receipt(job.id))
    _remember_keys(unit, [job for job in fresh if job.submission_key is not None])
    insert_fresh(unit, fresh)
    return receipts


def _hash_text(job: NewJob) -> str | None:
    return None if job.body_hash is None else job.body_hash.hex()


def _find_keys(unit: Unit, jobs: Sequence[NewJob]) -> dict[tuple[str, str | None], _First]:
    if not jobs:
        return {}
    names = [(job.tenant, job.submission_key) for job in jobs]
    found = unit.decoded("find_keys", _known_keys, {"entries": as_json(names), "now": unit.now_us})
    return {
        names[position]: _First(bytes.fromhex(job_id), body_hash)
        for position, job_id, body_hash in found
    }


def _remember_keys(unit: Unit, jobs: Sequence[NewJob]) -> None:
    if jobs:
        unit.change_entries(
            "remember_keys",
            [job.id for job in jobs],
            [(job.tenant, job.submission_key, _hash_text(job)) for job in jobs],
            expires_at=unit.now_us + _KEY_LIFE_US,
        )


def insert_fresh(unit: Unit, jobs: Sequence[NewJob]) -> None:
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
        unit.change_entries(
            "insert_jobs",
            [job.id for job in alike],
            [
                (job.payload.decode(), job.payload_ref, job.effect_key, job.submission_key)
                for job in alike
            ],
            dues=b"".join(b"%020d" % _due_us(job, unit.now_us) for job in alike),
            now=unit.now_us,
            **shape._asdict() | {"backoff": backoff_text(shape.backoff)},
        )


def _due_us(job: NewJob, now_us: int) -> int:
    if job.due_at is not None:
        return to_us(job.due_at)
    return now_us + (job.delay_ms or 0) * 1_000
