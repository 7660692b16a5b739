"""Files that handlers saved, after their jobs have gone: found by the names of the objects.

No row names them all: an attempt may save a file and fail, or its worker may die. But each lies
under the id of its job, so what is kept is decided by whether that job is still kept.
"""

from typing import Final

from mainspring.domain.errors import InvalidId
from mainspring.domain.ids import parse_job
from mainspring.domain.references import FILES, job_of_file
from mainspring.ports.blobs import BlobStore
from mainspring.ports.store import QueryStore

_KEYS_A_STEP: Final = 500


class FileSweeper:
    """Walks through all saved files, a few at a time, and deletes those whose job has gone."""

    def __init__(
        self, store: QueryStore, blobs: BlobStore, *, keys_a_step: int = _KEYS_A_STEP
    ) -> None:
        """Begin at the first file."""
        self._keys_a_step = keys_a_step
        self._store = store
        self._blobs = blobs
        self._after = ""

    async def step(self) -> tuple[int, bool]:
        """Look at some files; return how many were deleted, and whether the walk goes on."""
        keys = await self._blobs.list_keys(FILES, after=self._after, limit=self._keys_a_step)
        jobs = {key: _job_of(key) for key in keys}
        wanted = {job for job in jobs.values() if job is not None}
        # A job that is not there now was purged or outlived its retention: ids never come back.
        kept = await self._store.get_states(wanted) if wanted else {}
        gone = [key for key, job in jobs.items() if job is not None and job not in kept]
        if gone:
            await self._blobs.delete_keys(gone)
        goes_on = len(keys) >= self._keys_a_step
        self._after = keys[-1] if goes_on else ""
        return len(gone), goes_on


def _job_of(key: str) -> bytes | None:
    """Return the job that a file belongs to; what is named otherwise is not ours to delete."""
    try:
        return parse_job(job_of_file(key))
    except (InvalidId, ValueError):
        return None
