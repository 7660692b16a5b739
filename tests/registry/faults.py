"""The real store behind a connection that breaks where a test wants it to."""

from collections.abc import Sequence
from typing import Any

from mainspring.domain.job import NewJob, Receipt
from mainspring.ports.store import Store


class Faulty:
    """Each submission takes the next fault: an error before the effect, or one after it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.before: list[Exception] = []
        self.after: list[Exception] = []
        self.calls: list[tuple[int, bool]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def submit(self, jobs: Sequence[NewJob], *, repeated: bool = False) -> list[Receipt]:
        self.calls.append((len(jobs), repeated))
        if self.before:
            raise self.before.pop(0)
        receipts = await self._store.submit(jobs, repeated=repeated)
        if self.after:
            raise self.after.pop(0)
        return receipts


def files_below(folder: Any) -> list[str]:
    """Names of everything that lies in a folder of objects."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())
