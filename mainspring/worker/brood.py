"""The keeper's children: started, listened to, watched by their vital signs, buried, replaced."""

import asyncio
import contextlib
import logging
import math
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, Final

from mainspring.domain.errors import MainspringError, SessionLost
from mainspring.domain.job import HandlerInfo
from mainspring.domain.outcome import UNRESPONSIVE
from mainspring.ports.clock import monotonic
from mainspring.ports.gateway import WorkerGateway
from mainspring.worker import processes
from mainspring.worker.config import CHILD_NUMBER_MAX, GOODBYE_SECONDS, WorkerConfig
from mainspring.worker.control import (
    TO_KEEPER,
    Begin,
    Channel,
    Claiming,
    Drain,
    Goodbye,
    Ready,
    Retiring,
    SessionEnded,
    Start,
    ToKeeper,
    Unusable,
)
from mainspring.worker.vitals import Vitals, new_page
from mainspring.worker.waiting import pause_seconds, wait_for

_log: Final = logging.getLogger("mainspring.worker")
#: No turn of the loop for so long, and a hard deadline has passed: the child is unresponsive.
_SILENT_SECONDS: Final = 2.0
_CRASH_PAUSE_MAX_SECONDS: Final = 30.0

Spawn = Callable[[Coroutine[Any, Any, None]], object]


class _Infant:
    """One child process as its keeper sees it."""

    def __init__(self, number: int, process: subprocess.Popen[bytes], vitals: Vitals) -> None:
        self.number = number
        self.process = process
        self.vitals = vitals
        self.channel: Channel[ToKeeper] | None = None
        self.is_ready = False
        #: The session it was told; none yet while it starts up.
        self.worker_id: bytes | None = None
        self.has_claimed = False
        #: A successor is on its way, or none is wanted.
        self.is_replaced = False
        self.is_done = False
        self.kill_at = math.inf
        #: Why the keeper killed it, if it did.
        self.killed_as: str | None = None

    def send(self, word: Begin | Drain) -> None:
        if self.channel is not None:
            self.channel.send(word)

    def kill(self, why: str) -> None:
        if self.killed_as is None:
            self.killed_as = why
        if self.process.poll() is None:
            processes.kill_group(self.process.pid)


class Brood:
    """All children of one keeper. A dead child's number is used again only when all others were."""

    def __init__(
        self,
        *,
        config: WorkerConfig,
        settings: str,
        command: Sequence[str],
        gateway: WorkerGateway,
        spawn: Spawn,
    ) -> None:
        """Start nothing yet. ``command`` starts a child process; arguments are appended."""
        self._config = config
        self._settings = settings
        self._command = tuple(command)
        self._gateway = gateway
        self._spawn = spawn
        self._infants: dict[int, _Infant] = {}
        self._last_number = 0
        #: Of those that live, and of the dead of whom not everything has been said.
        self._numbers: set[int] = set()
        self._crashes = 0
        self._worker_id: bytes | None = None
        self._lease_until = math.inf
        self._is_closing = False
        self.declared: asyncio.Future[tuple[HandlerInfo, ...]]
        self.declared = asyncio.get_running_loop().create_future()
        #: A child was told by the other side that the session has ended.
        self.session_ended = asyncio.Event()
        #: No process is left, and all that was to be said about the dead has been said.
        self.empty = asyncio.Event()
        self._mourning = 0
        #: Nobody is to be replaced now: ends pauses.
        self._interrupted = asyncio.Event()

    # --- What the keeper does -------------------------------------------------------------------

    def fill(self) -> None:
        """Start children up to the number wanted."""
        self.empty.clear()
        active = sum(1 for infant in self._infants.values() if not infant.is_replaced)
        for _ in range(self._config.processes - active):
            self._start()

    def begin(self, worker_id: bytes, lease_until: float) -> None:
        """Let the children work in this session."""
        self._worker_id = worker_id
        self.session_ended.clear()
        self._interrupted.clear()
        self.extend(lease_until)
        for infant in self._infants.values():
            self._tell_session(infant)

    def extend(self, lease_until: float) -> None:
        """Let everyone know how long the lease lasts."""
        self._lease_until = lease_until
        for infant in self._infants.values():
            infant.vitals.lease_until = lease_until

    def kill_all(self, why: str) -> None:
        """Kill every child now, and forget the session; nobody is started until ``fill``."""
        self._worker_id = None
        self.kill(why)
        self._look_if_empty()

    def kill(self, why: str) -> None:
        """Kill every child now; what they held is told to be lost."""
        self._interrupted.set()
        for infant in self._infants.values():
            infant.is_replaced = True
            infant.kill(why)

    def drain(self, seconds: float) -> None:
        """Have every child finish and end; start no others."""
        self._is_closing = True
        self._interrupted.set()
        for infant in self._infants.values():
            infant.is_replaced = True
            infant.send(Drain(seconds))
        self._look_if_empty()

    def check(self, now: float) -> None:
        """Kill children that no longer turn past a deadline, or that overstay their goodbye."""
        for infant in self._infants.values():
            vitals = infant.vitals
            silent = now - vitals.ticked_at > _SILENT_SECONDS
            if silent and now > vitals.hard_deadline:
                infant.kill(UNRESPONSIVE)
            elif now > infant.kill_at:
                infant.kill("did not exit")

    # --- One child's life -----------------------------------------------------------------------

    def _start(self) -> None:
        self._last_number = number_after(self._last_number, self._numbers)
        self._numbers.add(self._last_number)
        ours, theirs = socket.socketpair()
        page = new_page()
        vitals = Vitals(page)
        vitals.lease_until = self._lease_until
        arguments = (str(theirs.fileno()), str(page), str(os.getpid()))
        process = processes.start((*self._command, *arguments), [theirs.fileno(), page])
        theirs.close()
        os.close(page)
        infant = _Infant(self._last_number, process, vitals)
        self._infants[infant.number] = infant
        self._spawn(self._attend(infant, ours))

    async def _attend(self, infant: _Infant, connection: socket.socket) -> None:
        """Be with a child from its first word to its burial."""
        ended = _when_ended(infant.process)
        channel: Channel[ToKeeper] = Channel(
            TO_KEEPER, lambda word: self._hear(infant, word), lambda: None
        )
        infant.channel = channel
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: channel, sock=connection)
        channel.send(Start(self._config, self._settings, infant.number))
        if self._is_closing:
            channel.send(Drain(0.0))
        try:
            await ended
        finally:
            infant.process.poll()
        await self._bury(infant)

    def _hear(self, infant: _Infant, word: ToKeeper) -> None:
        match word:
            case Ready(handlers=handlers):
                infant.is_ready = True
                if not self.declared.done():
                    self.declared.set_result(handlers)
                self._tell_session(infant)
            case Unusable():
                self._hear_unusable(infant, word)
            case Claiming():
                infant.has_claimed = True
                self._crashes = 0
            case Retiring(reason=reason):
                _log.info("child %s is replaced: %s", infant.number, reason)
                infant.is_replaced = True
                if self._worker_id is not None and not self._is_closing:
                    self.fill()
            case SessionEnded():
                if infant.worker_id == self._worker_id:
                    self.session_ended.set()
            case Goodbye():
                infant.is_done = True
                infant.kill_at = monotonic() + GOODBYE_SECONDS

    def _hear_unusable(self, infant: _Infant, word: Unusable) -> None:
        if not self.declared.done():
            self.declared.set_exception(WorkerUnusable(word))
            return
        _log.error("child %s cannot start: %s", infant.number, word.message)

    def _tell_session(self, infant: _Infant) -> None:
        if infant.is_ready and infant.worker_id is None and self._worker_id is not None:
            infant.worker_id = self._worker_id
            infant.send(Begin(self._worker_id))

    # --- Its death ------------------------------------------------------------------------------

    async def _bury(self, infant: _Infant) -> None:
        del self._infants[infant.number]
        infant.vitals.close()
        self._mourning += 1
        try:
            await self._settle(infant)
            if not infant.is_replaced and not self._is_closing:
                await self._replace(infant)
        finally:
            self._mourning -= 1
            self._numbers.discard(infant.number)
            self._look_if_empty()

    def _look_if_empty(self) -> None:
        if not self._infants and not self._mourning:
            self.empty.set()

    async def _settle(self, infant: _Infant) -> None:
        """Say what became of the attempts that it held, until said or the session is over."""
        cause = infant.killed_as or processes.cause_of(infant.process.returncode)
        if not infant.is_done or infant.killed_as is not None:
            _log.warning("child %s ended: %s", infant.number, cause)
        worker_id = infant.worker_id
        failures = 0
        while worker_id is not None and worker_id == self._worker_id:
            if monotonic() >= self._lease_until:
                # Frozen in between: the session may have ended, and others judge its attempts.
                return
            try:
                await self._gateway.child_died(worker_id, infant.number, cause)
            except SessionLost:
                self.session_ended.set()
                return
            except MainspringError as error:
                failures += 1
                _log.warning("the end of child %s cannot be told: %s", infant.number, error)
                await wait_for(asyncio.Event(), pause_seconds(failures, longest=2.0))
            else:
                return

    async def _replace(self, infant: _Infant) -> None:
        if not self.declared.done():
            # It never came as far as to say what is wrong.
            cause = processes.cause_of(infant.process.returncode)
            self.declared.set_exception(
                WorkerUnusable(
                    Unusable(f"the child process ended before it was ready: {cause}", "see above")
                )
            )
            return
        if not infant.has_claimed:
            self._crashes += 1
            pause = pause_seconds(self._crashes, longest=_CRASH_PAUSE_MAX_SECONDS)
            await wait_for(self._interrupted, pause)
        if self._worker_id is not None and not self._is_closing:
            self.fill()


def number_after(last: int, in_use: Collection[int]) -> int:
    """Return the number of the next child: after the largest that a store keeps comes 1 again."""
    number = last % CHILD_NUMBER_MAX + 1
    while number in in_use:
        number = number % CHILD_NUMBER_MAX + 1
    return number


class WorkerUnusable(Exception):
    """The app cannot be used, so no child can work."""

    def __init__(self, word: Unusable) -> None:
        """Keep what the child said."""
        self.word = word
        super().__init__(word.message)


def _when_ended(process: subprocess.Popen[bytes]) -> asyncio.Future[None]:
    """Return what is done when the process has ended; it is still to be reaped by ``poll``."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if not ended.done():
            ended.set_result(None)

    if hasattr(os, "pidfd_open"):
        descriptor = os.pidfd_open(process.pid)

        def readable() -> None:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            tell()

        loop.add_reader(descriptor, readable)
        return ended

    def wait() -> None:
        process.wait()
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(tell)

    threading.Thread(target=wait, name=f"mainspring-wait-{process.pid}", daemon=True).start()
    return ended
