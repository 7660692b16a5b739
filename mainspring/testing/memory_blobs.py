"""An object store in memory, and the files of attempts in it: never waits, ends with its test."""

from collections.abc import Callable

from mainspring.app.files import FileRef, read_file
from mainspring.domain.errors import NotFound
from mainspring.domain.job import Claimed
from mainspring.domain.references import parse_reference, reference_of, verified


class MemoryBlobs:
    """A ``BlobStore`` of this process."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._kept: dict[str, bytes] = {}

    async def put(self, key: str, body: bytes) -> str:
        """Keep the bytes."""
        self._kept[key] = body
        return reference_of(key, body)

    async def get(self, reference: str) -> bytes:
        """Return the checked bytes."""
        wanted = parse_reference(reference)
        if wanted.key not in self._kept:
            raise NotFound(f"the object {wanted.key} is not in this test's memory")
        return verified(wanted, self._kept[wanted.key])

    async def delete(self, references: list[str]) -> None:
        """Forget these."""
        await self.delete_keys([parse_reference(reference).key for reference in references])

    async def list_keys(self, prefix: str, *, after: str, limit: int) -> list[str]:
        """Return the next keys in order."""
        found = sorted(key for key in self._kept if key.startswith(prefix) and key > after)
        return found[:limit]

    async def delete_keys(self, keys: list[str]) -> None:
        """Forget these."""
        for key in keys:
            self._kept.pop(key, None)

    async def close(self) -> None:
        """Nothing is held open."""


class FileKeeper:
    """Saves the files of attempts by a gateway that never waits."""

    def __init__(self, keep: Callable[[Claimed, str, bytes], str]) -> None:
        """``keep`` takes name and bytes, and returns the reference."""
        self._keep = keep

    def save(self, claimed: Claimed, path: str, name: str) -> FileRef:
        """Keep a file."""
        body = read_file(path)
        return FileRef(name, len(body), self._keep(claimed, name, body))

    async def asave(self, claimed: Claimed, path: str, name: str) -> FileRef:
        """Keep a file."""
        return self.save(claimed, path, name)
