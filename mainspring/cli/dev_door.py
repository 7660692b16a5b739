"""REST beside ``mainspring dev``: opened when everything else is ready, and never in its way."""

import asyncio
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from mainspring.cli.live import LiveLog
from mainspring.cli.output import out
from mainspring.cli.text import printable
from mainspring.domain.errors import ConfigError, MainspringError
from mainspring.runtime.addresses import Address, read_address
from mainspring.runtime.assemble import front_desk, open_blobs, open_ready_store
from mainspring.runtime.setting_table import Settings

if TYPE_CHECKING:
    from mainspring.runtime.server_node import Opened


def dev_address(text: str) -> Address:
    """Read where REST is to be, which is on this machine: nothing is encrypted here."""
    address = read_address("http", text)
    if not address.is_loopback:
        raise ConfigError(
            f"http: {address} can be reached from elsewhere, and dev is for this machine alone",
            hint=f"mainspring server start --http {address} serves others",
        )
    return address


class DevDoor:
    """Serves REST until the node stops; says in one line where, or why not."""

    def __init__(self, live: LiveLog, settings: Settings, address: str) -> None:
        """Listen at ``HOST:PORT``; nothing is open yet."""
        self._live = live
        self._settings = settings
        self._address = address

    async def run(self, stopping: asyncio.Event) -> None:
        """Open when the log has said that all is ready; whatever goes wrong ends only this."""
        await self._live.ready.wait()
        try:
            await self._serve(stopping)
        except Exception as error:  # noqa: BLE001 - jobs go on without a door
            while isinstance(error, ExceptionGroup):
                error = error.exceptions[0]
            if isinstance(error, MainspringError):
                self._complain(error.message.removeprefix("http: "))
            else:
                self._complain(f"{type(error).__name__}: {error}")

    async def _serve(self, stopping: asyncio.Event) -> None:
        address = dev_address(self._address)
        # Not at the top, and not on this loop: to bring in a web server takes longer than a job.
        node = await asyncio.to_thread(import_module, "mainspring.runtime.server_node")
        store = await open_ready_store(self._settings)
        blobs = open_blobs(self._settings)
        desk = front_desk(store, self._settings)
        try:
            doors = node.Doors(http=address)
            await node.Front(store, desk, doors, self._settings, blobs).serve(stopping, self._tell)
        finally:
            if blobs is not None:
                await blobs.close()
            await desk.close()

    def _tell(self, found: "Opened") -> None:
        if found.first_key is None:
            self._live.say(f"REST at {found.http}/api/v1 (keys: mainspring keys create)")
            return
        self._live.say(f"REST at {found.http}/api/v1; its key, shown this once:")
        # A line of its own, from its beginning: it is as wide as many terminals.
        out(found.first_key)
        sys.stdout.flush()

    def _complain(self, why: str) -> None:
        self._live.say(f"no REST: {printable(why)}")
