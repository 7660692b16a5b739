"""Attempts of a worker elsewhere that another server process handed out.

A server may be killed and started again, or a worker's connection may move to another server: its
sessions and attempts live in the store, so any server goes on where the other left off.
"""

from collections.abc import Collection, Sequence
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


class SessionOwners(Protocol):
    """The part of a store that tells whose sessions and jobs these are."""

    async def is_session_of(self, worker_id: bytes, tenant: str) -> bool:
        """Say whether there is such a session of that tenant."""
        ...

    async def tenants_of(self, job_ids: Collection[bytes]) -> dict[bytes, str]:
        """Return whose those jobs are that exist."""
        ...


class Adoption:
    """Finds the facts that a judgement needs, for attempts of one worker and of nobody else."""

    def __init__(self, store: AdoptionStore, worker_id: bytes) -> None:
        """Ask this store about this worker."""
        self._store = store
        self._worker_id = worker_id

    def bound(self, walled: SessionOwners, tenant: str) -> "Adoption":
        """Return one that finds nothing of jobs and sessions of other tenants."""
        return _BoundAdoption(self._store, self._worker_id, walled, tenant)

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


class _BoundAdoption(Adoption):
    def __init__(
        self, store: AdoptionStore, worker_id: bytes, owners: SessionOwners, tenant: str
    ) -> None:
        super().__init__(store, worker_id)
        self._owners = owners
        self._tenant = tenant

    async def find(self, fences: Sequence[Fence]) -> tuple[dict[Fence, Held], dict[Fence, Held]]:
        if not await self._owners.is_session_of(self._worker_id, self._tenant):
            return {}, {}
        own = await self._owners.tenants_of({job_id for job_id, _ in fences})
        return await super().find([fence for fence in fences if fence[0] in own])
