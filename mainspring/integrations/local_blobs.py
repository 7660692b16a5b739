"""Objects as files in a folder: the default beside SQLite, and for one machine."""

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

from mainspring.domain.errors import ConnectionFailed, NotFound, StoreNotWritable
from mainspring.domain.references import parse_reference, reference_of, verified

T = TypeVar("T")


class LocalBlobs:
    """A ``BlobStore`` in a folder. Any number of processes may share it."""

    def __init__(self, folder: str) -> None:
        """Use this folder; it is made with the first object."""
        self._folder = Path(folder).absolute()

    async def put(self, key: str, body: bytes) -> str:
        """Write beside, sync, then rename: a reader sees all of it or nothing."""
        await asyncio.to_thread(self._guarded, lambda: self._write(self._path(key), body))
        return reference_of(key, body)

    async def get(self, reference: str) -> bytes:
        """Return the checked bytes."""
        wanted = parse_reference(reference)
        path = self._path(wanted.key)
        try:
            return verified(wanted, await asyncio.to_thread(path.read_bytes))
        except FileNotFoundError:
            raise NotFound(
                f"the object {wanted.key} is not in {self._folder}",
                hint="is this the same --blobs folder as where it was written?",
            ) from None
        except OSError as error:
            raise ConnectionFailed(
                f"the object {wanted.key} in {self._folder} cannot be read: "
                f"{error.strerror or error}",
                hint="check the rights on the folder and the disk",
            ) from error

    async def delete(self, references: list[str]) -> None:
        """Remove files; missing ones are no error."""

        def remove() -> None:
            for reference in references:
                self._path(parse_reference(reference).key).unlink(missing_ok=True)

        await asyncio.to_thread(self._guarded, remove)

    async def list_keys(self, prefix: str, *, after: str, limit: int) -> list[str]:
        """Walk the folders in order of their names."""

        def walk() -> list[str]:
            behind = after.removeprefix(prefix).split("/") if after else []
            found = _walk(self._path(prefix), behind)
            return [prefix + "/".join(parts) for parts in islice(found, limit)]

        return await asyncio.to_thread(self._guarded, walk)

    async def delete_keys(self, keys: list[str]) -> None:
        """Remove files, and the folders that held nothing else."""

        def remove() -> None:
            for key in keys:
                path = self._path(key)
                path.unlink(missing_ok=True)
                with contextlib.suppress(OSError):
                    path.parent.rmdir()

        await asyncio.to_thread(self._guarded, remove)

    async def close(self) -> None:
        """Nothing is held open."""

    def _path(self, key: str) -> Path:
        path = (self._folder / key).resolve()
        # Keys are made here from checked names; this is the second wall against ``..``.
        if not path.is_relative_to(self._folder.resolve()):
            raise NotFound(f"the key {key!r} lies outside of {self._folder}")
        return path

    def _guarded(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except OSError as error:
            raise StoreNotWritable(f"{self._folder}: {error.strerror or error}") from error

    @staticmethod
    def _write(path: Path, body: bytes) -> None:
        # A new folder is durable once the one that holds it is.
        new = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        # The thread is part of the name: a cancelled put goes on while it is repeated.
        beside = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
        try:
            with beside.open("wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except OSError:
            beside.unlink(missing_ok=True)
            raise
        for folder in (path.parent, *(folder.parent for folder in new)):
            _sync_folder(folder)


def _walk(folder: Path, behind: list[str]) -> Iterator[tuple[str, ...]]:
    """Return the parts of each file's path below a folder, behind the given ones, in order."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    first = behind[0] if behind else ""
    for entry in entries:
        # Files that begin with a dot are being written.
        if entry.name < first or entry.name.startswith("."):
            continue
        if entry.is_dir():
            rest = behind[1:] if entry.name == first else []
            for parts in _walk(Path(entry.path), rest):
                yield (entry.name, *parts)
        elif entry.name != first or len(behind) > 1:
            yield (entry.name,)


def _sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
