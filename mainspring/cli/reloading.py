"""Saves of a project's Python files, noticed by looking: what ``mainspring dev`` reloads on."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path
from typing import Final

from mainspring.domain.errors import MainspringError
from mainspring.runtime.declared import Declared, declarations
from mainspring.runtime.loop import wait_unless

_LOOK_SECONDS: Final = 0.25
#: An editor writes a file in several steps: they are over once nothing changed for so long.
_SETTLE_SECONDS: Final = 0.1
_FILES_MAX: Final = 5_000
_SKIPPED: Final = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})

Stamp = tuple[int, int, int]
Say = Callable[[str], None]


class Saves:
    """The Python files below a folder, and which of them have changed since the last look."""

    def __init__(self, folder: Path) -> None:
        """Remember how they are now."""
        self._folder = folder
        self._known = self._look()

    def changed(self) -> list[str]:
        """Return what was saved, made or removed since the last look, relative to the folder."""
        found = self._look()
        names = {
            name for name in found.keys() | self._known.keys()
            if found.get(name) != self._known.get(name)
        }  # fmt: skip
        self._known = found
        return sorted(names)

    def forget_compiled(self, names: Sequence[str]) -> None:
        """Drop what was compiled of these: Python tells a save from the last one by its second."""
        for name in names:
            with suppress(OSError, NotImplementedError):
                Path(cache_from_source(str(self._folder / name))).unlink(missing_ok=True)

    def _look(self) -> dict[str, Stamp]:
        found: dict[str, Stamp] = {}
        for place, folders, names in os.walk(self._folder):
            folders[:] = [name for name in folders if name not in _SKIPPED and name[0] != "."]
            for name in names:
                if not name.endswith(".py"):
                    continue
                path = Path(place, name)
                try:
                    state = path.stat()
                except OSError:
                    continue
                found[str(path.relative_to(self._folder))] = (
                    state.st_mtime_ns,
                    state.st_size,
                    state.st_ino,
                )
                if len(found) >= _FILES_MAX:
                    return found
        return found


class Reloader:
    """Looks for saves; hands on what the app declares then, or says why that cannot be used."""

    def __init__(
        self,
        folder: Path,
        reference: str,
        *,
        use: Callable[[Declared], Awaitable[None]],
        say: Say,
        complain: Callable[[MainspringError], None],
    ) -> None:
        """Begin with the files as they are now."""
        self._saves = Saves(folder)
        self._reference = reference
        self._use = use
        self._say = say
        self._complain = complain

    async def run(self, stopping: asyncio.Event) -> None:
        """Look until the node is stopping."""
        while not await wait_unless(stopping, _LOOK_SECONDS):
            names = await asyncio.to_thread(self._saves.changed)
            while more := await self._settled(stopping, names):
                names = sorted({*names, *more})
            if names and not stopping.is_set():
                await self._reload(names)

    async def _settled(self, stopping: asyncio.Event, names: Sequence[str]) -> list[str]:
        if not names or await wait_unless(stopping, _SETTLE_SECONDS):
            return []
        return await asyncio.to_thread(self._saves.changed)

    async def _reload(self, names: Sequence[str]) -> None:
        self._saves.forget_compiled(names)
        first = names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")
        try:
            found = await asyncio.to_thread(declarations, self._reference)
            self._say(f"{first} saved: reloading")
            await self._use(found)
        except MainspringError as error:
            self._complain(error)
