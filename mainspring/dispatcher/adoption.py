"""Attempts of a worker elsewhere that another server process handed out.

A server may be killed and started again, or a worker's connection may move to another server: its
sessions and attempts live in the store, so any server goes on where the other left off.
"""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

from mainspring.domain.job import AttemptView, Held, JobView

Fence: TypeAlias = tuple[bytes, int]


class AdoptionStore(Protocol):
    """The part of a store that tells what became of attempts."""

    async def held_by(self, worker_id: bytes, child: int | None = None) -> list[Held]:
        """Return the attempts that a worker holds now."""
        ...

    async def get_job(self, job_id: bytes) -> JobView | None:
        """Return a job, live or final."""
        ...

    async def list_attempts(self, job_id: bytes) -> list[AttemptView]:
        """Return every attempt in order."""
        ...


class Adoption:
    """Finds the facts that a judgement needs, for attempts of one worker and of nobody else."""

    def __init__(self, store: AdoptionStore, worker_id: bytes) -> None:
        """Ask this store about this worker."""
        self._store = store
        self._worker_id = worker_id

    async def find(self, fences: Sequence[Fence]) -> tuple[dict[Fence, Held], dict[Fence, Held]]:
        """Return those that are held, and those that were closed: their report is a repetition."""
        held = {
            (job.job_id, job.attempt): job for job in await self._store.held_by(self._worker_id)
        }
        found = {fence: held[fence] for fence in fences if fence in held}
        closed = {}
        for fence in fences:
            if fence not in found and (facts := await self._closed(*fence)) is not None:
                closed[fence] = facts
        return found, closed

    async def _closed(self, job_id: bytes, attempt: int) -> Held | None:
        job = await self._store.get_job(job_id)
        if job is None or not 1 <= attempt <= job.attempt:
            return None
        attempts = await self._store.list_attempts(job_id)
        if not any(
            item.attempt == attempt and item.worker_id == self._worker_id for item in attempts
        ):
            return None
        later = job.attempt - attempt
        return Held(
            job_id=job_id,
            attempt=attempt,
            kind=job.kind,
            tenant=job.tenant,
            queue=job.queue,
            state=job.state,
            # As they were then, unless a later attempt was handed back.
            tries=max(1, job.tries - later),
            crashes=max(1, job.crashes - later),
            max_attempts=job.max_attempts,
            max_crashes=job.max_crashes,
            backoff=job.backoff,
            timeout_ms=job.timeout_ms,
            on_exhausted=job.on_exhausted,
            payload=job.payload,
            payload_ref=job.payload_ref,
            cause="closed",
        )
