"""The object store for payloads and results that are too large for a row."""

from typing import Protocol


class BlobStore(Protocol):
    """Named bytes, written once. A reference is the key, with its length and SHA-256 checked."""

    async def put(self, key: str, body: bytes) -> str:
        """Keep ``body`` durably under ``key`` and return the reference to store in a row.

        Repeating it with the same key and body is harmless.
        """
        ...

    async def get(self, reference: str) -> bytes:
        """Return the bytes, or raise ``NotFound`` / ``BlobDamaged`` when they are not those."""
        ...

    async def delete(self, references: list[str]) -> None:
        """Forget these; what is not there is not an error."""
        ...

    async def list_keys(self, prefix: str, *, after: str, limit: int) -> list[str]:
        """Return the next keys below ``prefix`` (which ends in ``/``), in an order that stays.

        ``after`` continues behind a key of the page before; a shorter page is the last one.
        """
        ...

    async def delete_keys(self, keys: list[str]) -> None:
        """Forget what ``list_keys`` found; what is not there is not an error."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
