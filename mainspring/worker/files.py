"""Saves the files of attempts through the child's gateway, from its loop and from its threads."""

import asyncio

from mainspring.app.files import FileRef, read_file
from mainspring.domain.errors import Conflict
from mainspring.domain.job import Claimed
from mainspring.ports.gateway import WorkerGateway


class FileSaver:
    """One a child process: its gateway lives on the loop that runs where this is made."""

    def __init__(self, gateway: WorkerGateway) -> None:
        """Save through ``gateway``."""
        self._gateway = gateway
        self._loop = asyncio.get_running_loop()

    async def asave(self, claimed: Claimed, path: str, name: str) -> FileRef:
        """Read a file beside the loop, and keep it."""
        body = await asyncio.to_thread(read_file, path)
        reference = await self._gateway.save_file(claimed.job_id, claimed.attempt, name, body)
        return FileRef(name, len(body), reference)

    def save(self, claimed: Claimed, path: str, name: str) -> FileRef:
        """Keep a file from a thread of a handler."""
        refuse_loop()
        saving = self.asave(claimed, path, name)
        return asyncio.run_coroutine_threadsafe(saving, self._loop).result()


def refuse_loop() -> None:
    """Raise where waiting would stop the loop that has to do the work."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise Conflict("save_file would stop the loop that runs here", hint="await asave_file()")
