"""Progress out, news in: which attempts are to be cancelled, and which are ours no more."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from mainspring.domain.errors import MainspringError, SessionLost
from mainspring.ports.clock import monotonic
from mainspring.ports.gateway import WorkerGateway
from mainspring.worker.attempt import Attempt, Stop
from mainspring.worker.waiting import wait_for

_log: Final = logging.getLogger("mainspring.worker")
#: How often progress and log lines go out while there are any.
_SHORT_SECONDS: Final = 1.0
#: How often attempts that run for long are asked after, with nothing to tell.
_LONG_SECONDS: Final = 5.0
#: At least so long between two pulses, however many hints come.
_GAP_SECONDS: Final = 0.1


class Pulses:
    """Exchanges news about running attempts with the gateway."""

    def __init__(
        self,
        gateway: WorkerGateway,
        stop: Callable[[Attempt, Stop], None],
        send_logs: Callable[[], Awaitable[None]],
    ) -> None:
        """Stop attempts by ``stop``; send the lines of running ones by ``send_logs``."""
        self._gateway = gateway
        self._stop = stop
        self._send_logs = send_logs
        self._soon = asyncio.Event()
        self._asked_at = 0.0

    def beat_soon(self) -> None:
        """Ask now: there may be a message about a running attempt."""
        self._soon.set()

    async def run(self, worker_id: bytes, running: Mapping[tuple[bytes, int], Attempt]) -> None:
        """Exchange until cancelled. Raises ``SessionLost``."""
        while True:
            is_asked = await wait_for(self._soon, _SHORT_SECONDS)
            self._soon.clear()
            try:
                await self._send_logs()
                await self.step(worker_id, list(running.values()), ask_all=is_asked)
            except SessionLost:
                raise
            except MainspringError as error:
                _log.warning("no news of running jobs can be had: %s", error)
            await wait_for(asyncio.Event(), _GAP_SECONDS)

    async def step(self, worker_id: bytes, running: list[Attempt], *, ask_all: bool) -> None:
        """Tell the latest progress; ask after those that moved, run long, or all of them."""
        moved = [attempt for attempt in running if attempt.progress is not None]
        held = self._to_ask_after(running, moved, ask_all=ask_all)
        if not held:
            return
        progress = []
        for attempt in moved:
            latest, attempt.progress = attempt.progress, None
            if latest is not None:
                progress.append((attempt, latest))
        names = [(attempt.claimed.job_id, attempt.claimed.attempt) for attempt in held]
        try:
            pulse = await self._gateway.pulse(worker_id, names, [told for _, told in progress])
        except MainspringError:
            for attempt, latest in progress:
                attempt.progress = attempt.progress or latest
            raise
        by_id = {attempt.claimed.job_id: attempt for attempt in held}
        for job_id in pulse.cancelling:
            self._stop(by_id[job_id], Stop.CANCEL)
        for job_id in pulse.lost:
            self._stop(by_id[job_id], Stop.LOST)

    def _to_ask_after(
        self, running: list[Attempt], moved: list[Attempt], *, ask_all: bool
    ) -> list[Attempt]:
        now = monotonic()
        is_time = now - self._asked_at >= _LONG_SECONDS
        if not ask_all and not is_time:
            return moved
        self._asked_at = now
        if ask_all:
            return running
        return [a for a in running if a.progress or now - a.started_at >= _LONG_SECONDS]
