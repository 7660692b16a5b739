"""The keeper: holds the session's lease by beating, and makes sure that nobody works without it.

It acts by its monotonic clock. A beat that was answered makes the lease valid from the instant
*before* it was sent; a margin ends it before the store's. Whatever happened in between (a frozen
process, a slow network), the first look at the clock decides.
"""

import asyncio
import logging
import math
import os
import socket
from collections.abc import Sequence
from typing import Final

from mainspring.domain.errors import MainspringError, SessionLost
from mainspring.domain.job import HandlerInfo, NewSession
from mainspring.ports.clock import monotonic
from mainspring.ports.entropy import new_worker_id
from mainspring.ports.gateway import WorkerGateway
from mainspring.ports.store import Beat
from mainspring.worker.brood import Brood, WorkerUnusable
from mainspring.worker.config import (
    GOODBYE_SECONDS,
    HAND_BACK_SECONDS,
    LEASE_MARGIN_SECONDS,
    LEASE_MARGIN_SHARE,
    WorkerConfig,
)
from mainspring.worker.waiting import pause_seconds, wait_for

_log: Final = logging.getLogger("mainspring.worker")
_LOOK_SECONDS: Final = 0.5
_BEAT_RETRY_MAX_SECONDS: Final = 1.0
_OPEN_PAUSE_MAX_SECONDS: Final = 5.0
_FAREWELL_SECONDS: Final = 5.0

EXIT_DONE: Final = 0
EXIT_KILLED: Final = 1
EXIT_UNUSABLE: Final = 2


class Keeper:
    """One worker. ``run`` returns its exit code; ``ask_stop`` is what a signal calls."""

    def __init__(
        self,
        *,
        config: WorkerConfig,
        settings: str,
        command: Sequence[str],
        gateway: WorkerGateway,
        version: str,
    ) -> None:
        """Be ready. ``settings`` is what the children open their gateways with."""
        self._config = config
        self._settings = settings
        self._command = command
        self._gateway = gateway
        self._version = version
        self._stops = 0
        self._stopping = asyncio.Event()
        self._lease_until = 0.0
        #: When children that have not ended in a drain are killed.
        self._kill_at = math.inf

    def ask_stop(self) -> None:
        """First: drain. Second: stop the handlers now and hand back. Third: kill."""
        self._stops += 1
        if self._stops == 1:
            self._begin_drain()
        elif self._stops == 2:
            _log.warning("stopping the handlers now")
            self._drain(0.0)
        else:
            self._brood.kill("killed by a third signal")

    async def run(self) -> int:
        """Be a worker until told to stop."""
        async with asyncio.TaskGroup() as group:
            self._brood = Brood(
                config=self._config,
                settings=self._settings,
                command=self._command,
                gateway=self._gateway,
                spawn=group.create_task,
            )
            try:
                return await self._live()
            finally:
                self._brood.kill_all("the worker ends")

    async def _live(self) -> int:
        brood = self._brood
        brood.fill()
        try:
            handlers = await self._first_declaration()
        except WorkerUnusable as unusable:
            word = unusable.word
            if word.traceback:
                _log.error("%s", word.traceback)
            _log.error("%s\n  %s", word.message, word.hint)
            return EXIT_UNUSABLE
        while handlers is not None and not self._stopping.is_set():
            worker_id = await self._open(handlers)
            if worker_id is None:
                break
            brood.begin(worker_id, self._lease_until)
            brood.fill()
            is_lost = await self._hold(worker_id)
            # Whatever the reason: nobody works from here on.
            brood.kill_all("the lease is over" if is_lost else "the worker ends")
            await brood.empty.wait()
            if not is_lost:
                await self._farewell(worker_id)
        return EXIT_KILLED if self._stops > 2 else EXIT_DONE

    async def _first_declaration(self) -> tuple[HandlerInfo, ...] | None:
        """Return what the first child can run, or nothing when told to stop before."""
        while not await wait_for(self._stopping, 0.0):
            done, _ = await asyncio.wait([self._brood.declared], timeout=_LOOK_SECONDS)
            if done:
                return self._brood.declared.result()
        return None

    # --- Session --------------------------------------------------------------------------------

    async def _open(self, handlers: tuple[HandlerInfo, ...]) -> bytes | None:
        """Open a session under a new id, trying until it works; nothing when told to stop."""
        failures = 0
        session = NewSession(
            id=new_worker_id(),
            name=self._config.name,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=self._version,
            queues=self._config.queues,
            kinds=tuple(info.kind for info in handlers),
            lease_ms=self._config.lease_ms,
        )
        while not self._stopping.is_set():
            asked_at = monotonic()
            try:
                beat = await self._gateway.open_session(session, handlers)
            except MainspringError as error:
                failures += 1
                _log.warning("no session can be opened: %s (%s)", error, error.hint)
                pause = pause_seconds(failures, longest=_OPEN_PAUSE_MAX_SECONDS)
                await wait_for(self._stopping, pause)
                continue
            self._lease_until = _valid_until(asked_at, beat)
            if monotonic() < self._lease_until:
                return session.id
        return None

    async def _hold(self, worker_id: bytes) -> bool:
        """Beat and watch until the lease is over (True) or all children have ended (False)."""
        async with asyncio.TaskGroup() as group:
            beating = group.create_task(self._beat(worker_id))
            watching = group.create_task(self._watch())
            ended = group.create_task(_waited(self._brood.session_ended))
            drained = group.create_task(self._until_drained(worker_id))
            everything = {beating, watching, ended, drained}
            await asyncio.wait(everything, return_when=asyncio.FIRST_COMPLETED)
            is_lost = not drained.done()
            if is_lost:
                # Before anything else that takes time.
                self._brood.kill_all("the lease is over")
            for service in everything:
                service.cancel()
        return is_lost

    async def _beat(self, worker_id: bytes) -> None:
        """Extend the lease; return when it is over."""
        failures = 0
        pause = self._config.beat_seconds
        while True:
            await wait_for(asyncio.Event(), min(pause, self._lease_until - monotonic()))
            asked_at = monotonic()
            left = self._lease_until - asked_at
            if left <= 0:
                _log.error("the lease could not be renewed in time")
                return
            try:
                async with asyncio.timeout(min(left, self._config.beat_seconds)):
                    beat = await self._gateway.beat(worker_id)
            except TimeoutError:
                continue
            except SessionLost:
                _log.error("the session has ended on the other side")
                return
            except MainspringError as error:
                failures += 1
                _log.warning("the lease was not renewed: %s", error)
                pause = pause_seconds(failures, longest=_BEAT_RETRY_MAX_SECONDS)
                continue
            failures = 0
            pause = self._config.beat_seconds
            if monotonic() >= self._lease_until:
                # Frozen in between: the store renewed it, but by our clock nobody held it.
                return
            self._lease_until = _valid_until(asked_at, beat)
            self._brood.extend(self._lease_until)
            if beat.drain:
                self._begin_drain()

    async def _watch(self) -> None:
        """Look after the children; return when the lease is over, even while a beat hangs."""
        while (now := monotonic()) < self._lease_until:
            self._brood.check(now)
            await wait_for(asyncio.Event(), min(_LOOK_SECONDS, self._lease_until - now))

    # --- The end --------------------------------------------------------------------------------

    def _begin_drain(self) -> None:
        if not self._stopping.is_set():
            _log.info("draining: up to %s s for what runs", self._config.drain_seconds)
            self._stopping.set()
            self._drain(self._config.drain_seconds)

    def _drain(self, seconds: float) -> None:
        self._kill_at = monotonic() + seconds + 2 * HAND_BACK_SECONDS + GOODBYE_SECONDS + 1.0
        self._brood.drain(seconds)

    async def _until_drained(self, worker_id: bytes) -> None:
        """Return when the children have ended in order, or were killed for not doing so."""
        await self._stopping.wait()
        try:
            await self._gateway.drain_session(worker_id)
        except MainspringError as error:
            _log.warning("the drain could not be announced: %s", error)
        while not await wait_for(self._brood.empty, _LOOK_SECONDS):
            if monotonic() > self._kill_at:
                self._brood.kill("did not end in time")

    async def _farewell(self, worker_id: bytes) -> None:
        """Close the session; if that fails, its lease ends by itself."""
        try:
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self._gateway.close_session(worker_id)
        except (MainspringError, TimeoutError) as error:
            _log.warning("the session could not be closed: %s", error)


def _valid_until(asked_at: float, beat: Beat) -> float:
    lease_seconds = beat.lease_ms / 1_000
    margin = min(LEASE_MARGIN_SECONDS, lease_seconds * LEASE_MARGIN_SHARE)
    return asked_at + lease_seconds - margin


async def _waited(event: asyncio.Event) -> None:
    await event.wait()
