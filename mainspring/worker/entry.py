"""The life of a child process: first line in, app imported, session told, work, goodbye.

The process that calls this (``runtime.child_process``, or a test's) brings the loop and the
gateway; everything else is here.
"""

import asyncio
import faulthandler
import logging
import os
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Final

from mainspring.app.declare import App
from mainspring.app.loading import load_app
from mainspring.domain.errors import InvalidInput, MainspringError
from mainspring.ports.gateway import WorkerGateway
from mainspring.worker import processes
from mainspring.worker.child import Child
from mainspring.worker.control import (
    TO_CHILD,
    Begin,
    Channel,
    Drain,
    LineBuffer,
    Ready,
    Start,
    ToChild,
    Unusable,
    line,
)
from mainspring.worker.logs import capture_logging
from mainspring.worker.vitals import Vitals

OpenGateway = Callable[[str], AbstractAsyncContextManager[WorkerGateway]]

_log: Final = logging.getLogger("mainspring.worker")
_RECEIVED_BYTES: Final = 65_536
EXIT_UNUSABLE: Final = 2


class ChildProcess:
    """What a child process is, before, while and after it works. Three inherited arguments."""

    def __init__(self, arguments: list[str]) -> None:
        """Take the descriptors of the control socket and the vital signs, and the keeper's pid."""
        descriptor, page, keeper = (int(argument) for argument in arguments)
        processes.die_with_parent(keeper)
        processes.obey_only_the_parent()
        self._control = socket.socket(fileno=descriptor)
        self._vitals = Vitals(page)
        self._start: Start
        self._app: App
        self._rest: list[ToChild] = []

    def prepare(self) -> bool:
        """Read the first line and import the app, before any loop runs; False: it is unusable."""
        words: LineBuffer[ToChild] = LineBuffer(TO_CHILD)
        received: list[ToChild] = []
        while not received:
            chunk = self._control.recv(_RECEIVED_BYTES)
            if not chunk:
                os._exit(1)
            received = words.feed(chunk)
        first, *self._rest = received
        assert isinstance(first, Start)
        self._start = first
        try:
            own = load_app(first.config.app) if first.config.app else None
            self._app = first.config.kinds.added_to(own)
        except InvalidInput as error:
            cause = error.__cause__
            trace = "".join(traceback.format_exception(cause)) if cause is not None else ""
            self._control.sendall(line(Unusable(error.message, error.hint or "", trace)))
            return False
        capture_logging(first.config.log_level)
        faulthandler.enable()
        handlers = tuple(handler.info for handler in self._app.handlers.values())
        self._control.sendall(line(Ready(handlers)))
        return True

    async def work(self, open_gateway: OpenGateway) -> int:
        """Wait for the session, work in it, and return the exit code."""
        ears = _Ears()
        for word in self._rest:
            ears.hear(word)
        channel: Channel[ToChild] = Channel(TO_CHILD, ears.hear, _keeper_has_gone)
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: channel, sock=self._control)
        worker_id = await ears.begun
        if worker_id is None:
            return 0
        async with AsyncExitStack() as stack:
            try:
                gateway = await stack.enter_async_context(open_gateway(self._start.settings))
            except MainspringError as error:
                _log.error("the store cannot be used: %s (%s)", error, error.hint)
                return 1
            deps = None
            if self._app.lifespan is not None:
                deps = await stack.enter_async_context(self._app.lifespan())
                # The app may have configured logging only now.
                capture_logging(self._start.config.log_level)
            child = Child(
                config=self._start.config,
                app=self._app,
                gateway=gateway,
                say=channel.send,
                vitals=self._vitals,
                number=self._start.child,
            )
            ears.attend(child)
            await child.run(worker_id, deps)
        return 0


class _Ears:
    """Keeps what the keeper says until there is a child to hear it."""

    def __init__(self) -> None:
        self.begun: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self._child: Child | None = None
        self._drain: Drain | None = None

    def hear(self, word: ToChild) -> None:
        match word:
            case Begin(worker_id=worker_id):
                if not self.begun.done():
                    self.begun.set_result(worker_id)
            case Drain():
                self._drain = word
                if not self.begun.done():
                    self.begun.set_result(None)
                if self._child is not None:
                    self._child.drain(word.seconds)
            case Start():
                raise AssertionError("a child is started once")

    def attend(self, child: Child) -> None:
        self._child = child
        if self._drain is not None:
            child.drain(self._drain.seconds)


def _keeper_has_gone() -> None:
    """End at once: without a keeper there is no lease. Isolates follow by their own means."""
    os._exit(1)


def run_child(arguments: list[str], run_loop: Callable[["ChildProcess"], int]) -> None:
    """Be a child process and exit. ``run_loop`` runs ``work`` on a loop of its choice."""
    child = ChildProcess(arguments)
    if not child.prepare():
        sys.exit(EXIT_UNUSABLE)
    sys.exit(run_loop(child))
