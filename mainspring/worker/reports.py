"""What a child tells its gateway: log lines, then outcomes, in batches, until they are taken."""

import asyncio
import logging
from typing import Final

from mainspring.domain.errors import MainspringError, SessionLost
from mainspring.domain.ids import show_attempt
from mainspring.domain.outcome import LogLine, Outcome, Report
from mainspring.ports.gateway import WorkerGateway
from mainspring.worker.logs import LogBuffer
from mainspring.worker.waiting import pause_seconds, wait_for

FLUSH_REPORTS: Final = 50
FLUSH_SECONDS: Final = 0.1
#: Outcomes that cannot be delivered, beyond which nothing more is claimed.
UNSENT_MAX: Final = 5_000
#: In one call: a store writes them in one transaction.
BATCH_MAX: Final = 1_000
_PAUSE_MAX_SECONDS: Final = 2.0

_log: Final = logging.getLogger("mainspring.worker")


class Reporter:
    """Sends outcomes: at 50, after 100 ms, or at once when nothing else is going on."""

    def __init__(self, gateway: WorkerGateway, logs: LogBuffer) -> None:
        """Send to ``gateway``; lines of an attempt go before its outcome, which closes it."""
        self._gateway = gateway
        self._logs = logs
        self._waiting: list[Report] = []
        self._wanted = asyncio.Event()
        self._urgent = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        # An attempt's lines must be in before its outcome, whoever sends them.
        self._one_sender = asyncio.Lock()

    def add(self, job_id: bytes, attempt: int, outcome: Outcome, *, is_last: bool) -> None:
        """Take an outcome; ``is_last`` when nothing else runs that could join it."""
        waiting = self._waiting
        waiting.append(Report(job_id, attempt, outcome))
        if is_last or len(waiting) >= FLUSH_REPORTS:
            self._urgent.set()
        if len(waiting) == 1:
            self._empty.clear()
            self._wanted.set()

    def is_choked(self) -> bool:
        """Tell whether too much waits to be delivered."""
        return len(self._waiting) > UNSENT_MAX

    async def emptied(self, seconds: float) -> bool:
        """Wait until everything was delivered."""
        self._urgent.set()
        return await wait_for(self._empty, seconds)

    async def run(self) -> None:
        """Deliver until cancelled. Raises ``SessionLost``: then nothing of this counts any more."""
        while True:
            await self._wanted.wait()
            await wait_for(self._urgent, FLUSH_SECONDS)
            self._wanted.clear()
            self._urgent.clear()
            reports, self._waiting = self._waiting, []
            for start in range(0, len(reports), BATCH_MAX):
                await self._deliver(reports[start : start + BATCH_MAX])
            if not self._waiting:
                self._empty.set()

    async def _deliver(self, reports: list[Report]) -> None:
        failures = 0
        while True:
            try:
                await self.send_logs()
                answers = await self._gateway.report(reports)
            except SessionLost:
                raise
            except MainspringError as error:
                # The lease decides how long this may go on; repeating is harmless (law 12).
                failures += 1
                _log.warning("%s outcomes wait, the report failed: %s", len(reports), error)
                pause = pause_seconds(failures, longest=_PAUSE_MAX_SECONDS)
                await wait_for(asyncio.Event(), pause)
                continue
            for report, accepted in zip(reports, answers, strict=True):
                if not accepted:
                    shown = show_attempt(report.job_id, report.attempt)
                    _log.warning("%s no longer held its job; its outcome was dropped", shown)
            return

    async def send_logs(self) -> None:
        """Send the lines that wait; those that cannot be sent wait on."""
        async with self._one_sender:
            lines: list[LogLine] = self._logs.take()
            while lines:
                try:
                    await self._gateway.append_logs(lines[:BATCH_MAX])
                except MainspringError:
                    self._logs.put_back(lines)
                    raise
                lines = lines[BATCH_MAX:]
