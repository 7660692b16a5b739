"""What ``mainspring dev`` does while it runs, beside telling what happens: reloads and keys."""

import asyncio
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from mainspring.cli.asking import actor
from mainspring.cli.dev_door import DevDoor
from mainspring.cli.keys import listening
from mainspring.cli.live import LiveLog
from mainspring.cli.options import Options
from mainspring.cli.reloading import Reloader
from mainspring.cli.text import count_of, printable, styled
from mainspring.domain.errors import MainspringError
from mainspring.domain.job import HandlerInfo
from mainspring.ports.scheduling import Planned
from mainspring.runtime.assemble import open_client_gateway
from mainspring.runtime.declared import Declared
from mainspring.runtime.setting_table import Settings

if TYPE_CHECKING:
    from mainspring.runtime.node import Companion
    from mainspring.runtime.succession import Succession
    from mainspring.worker.config import WorkerConfig

KEYS: Final = {"p": "pause", "q": "quit"}
#: By this reason a pause of ours is known again: also the one that a killed dev has left behind.
PAUSED_BY_KEY: Final = "paused in mainspring dev"

#: What a deployment has done, in words.
_DONE: Final = {
    "create": "is new",
    "edit": "was changed",
    "adopt": "was taken over",
    "remove": "was removed",
}

MakeConfig = Callable[[Sequence[HandlerInfo], Settings], "WorkerConfig"]


class DevDesk:
    """Replaces the worker after a save, pauses and resumes its queues, and quits, by key."""

    def __init__(
        self,
        live: LiveLog,
        options: Options,
        settings: Settings,
        succession: "Succession",
        config: MakeConfig,
        *,
        reference: str,
    ) -> None:
        """Act on these."""
        self._live = live
        self._color = options.colors_data
        self._settings = settings
        self._succession = succession
        self._config = config
        self._reference = reference
        self._queues: set[str] = set()
        self._is_paused = False
        self._asked = asyncio.Event()

    def companion(
        self, handlers: Sequence[HandlerInfo], *, reloads: bool, door: DevDoor | None
    ) -> "Companion":
        """Return what is to run beside the worker."""
        self._queues = {handler.queue for handler in handlers} or {"default"}

        async def run(stopping: asyncio.Event, stopped: asyncio.Event) -> None:
            actions = {"p": self._asked.set, "q": self._quit}
            with listening(actions):
                async with asyncio.TaskGroup() as group:
                    beside = [group.create_task(self._pause_by_key())]
                    if door is not None:
                        beside.append(group.create_task(door.run(stopping)))
                    if reloads:
                        beside.append(group.create_task(self._reloader().run(stopping)))
                    await self._live.run(stopping, stopped)
                    for service in beside:
                        service.cancel()

        return run

    def _reloader(self) -> Reloader:
        return Reloader(
            Path.cwd(),
            self._reference,
            use=self._use,
            say=self._live.say,
            complain=self._complain,
        )

    async def _use(self, found: Declared) -> None:
        plan = await deployed(found, self._settings)
        handlers = found.handlers
        self._queues |= {handler.queue for handler in handlers}
        self._succession.replace(self._config(handlers, self._settings))
        kinds = ", ".join(handler.kind for handler in handlers)
        ready = styled("ready", "green", color=self._color)
        self._live.say(f"{ready}: {count_of(len(handlers), 'handler')} ({kinds})")
        for step in plan:
            if step.is_change:
                self._live.say(f"  {step.what} {printable(step.name)} {_DONE[step.action]}")

    def _complain(self, error: MainspringError) -> None:
        label = styled("error:", "red", color=self._color)
        self._live.say(f"{label} {printable(error.message)}")
        if error.hint:
            self._live.say(f"  {printable(error.hint)}")
        self._live.say("  the old code goes on; mend it and save again")

    def _quit(self) -> None:
        # As Ctrl-C: the node listens to it, and knows what a second one means.
        signal.raise_signal(signal.SIGINT)

    async def _pause_by_key(self) -> None:
        """Pause and resume the app's queues; what was paused by key never outlives this."""
        async with open_client_gateway(self._settings) as gateway:

            async def resume(names: Sequence[str]) -> None:
                for name in names:
                    await gateway.resume_queue(name, actor=actor())

            left = [
                queue.name
                for queue in await gateway.list_queues()
                if queue.paused_reason == PAUSED_BY_KEY
            ]
            await resume(left)
            try:
                while await self._asked.wait():
                    self._asked.clear()
                    names = sorted(self._queues)
                    if self._is_paused:
                        await resume(names)
                        self._is_paused = False
                    else:
                        self._is_paused = True
                        for name in names:
                            await gateway.pause_queue(name, reason=PAUSED_BY_KEY, actor=actor())
                    self._live.say(self._pause_text(names))
            finally:
                if self._is_paused:
                    await resume(sorted(self._queues))

    def _pause_text(self, names: Sequence[str]) -> str:
        shown = ", ".join(names)
        if self._is_paused:
            word = styled("paused", "yellow", color=self._color)
            return f"{word}: nothing more of {shown} is started; (p) goes on"
        return f"{styled('goes on', 'green', color=self._color)}: {shown}"


async def deployed(found: Declared, settings: Settings) -> list[Planned]:
    """Make the store's schedules what the app declares, as ``mainspring deploy --prune`` does."""
    async with open_client_gateway(settings) as gateway:
        wanted = found.application(prune=True)
        return await gateway.schedules.apply(wanted, actor=actor())


def first_command(handlers: Sequence[HandlerInfo]) -> str:
    """Return what to type first: a job that needs no arguments, if there is one."""
    for handler in handlers:
        if handler.kind == "greet" and _needs_nothing(handler):
            return "submit greet name=Ada --wait"
    for handler in handlers:
        if _needs_nothing(handler):
            return f"submit {handler.kind} --wait"
    return "handlers ls"


def _needs_nothing(handler: HandlerInfo) -> bool:
    schema = msgspec.json.decode(handler.schema)
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    found = schema.get("$defs", {}).get(name, schema)
    return not found.get("required")
