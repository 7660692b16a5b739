"""What a child tells its gateway: log lines, then outcomes, in batches, until they are taken."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from mainspring.domain.errors import MainspringError, SessionLost
from mainspring.domain.ids import show_attempt
from mainspring.domain.outcome import LogLine, Outcome, Report, Succeeded
from mainspring.ports.gateway import WorkerGateway
from mainspring.worker.logs import LogBuffer
from mainspring.worker.waiting import pause_seconds, wait_for

FLUSH_REPORTS: Final = 50
FLUSH_SECONDS: Final = 0.1
#: Outcomes that cannot be delivered, beyond which nothing more is claimed.
UNSENT_MAX: Final = 5_000
#: In one call: a store writes them in one transaction.
BATCH_MAX: Final = 1_000
#: A result of this size is sent apart from the others: it may go to an object store, which may be
#: slow or away, and nobody else shall wait for that.
LARGE_BYTES: Final = 4_096
#: Large results that cannot be delivered, beyond which nothing more is claimed: they fill memory.
LARGE_UNSENT_MAX: Final = 100
_PAUSE_MAX_SECONDS: Final = 2.0

_log: Final = logging.getLogger("mainspring.worker")


class Reporter:
    """Sends outcomes: at 50, after 100 ms, or at once when nothing else is going on."""

    def __init__(self, gateway: WorkerGateway, logs: LogBuffer) -> None:
        """Send to ``gateway``; lines of an attempt go before its outcome, which closes it."""
        self._gateway = gateway
        self._logs = logs
        self._small = _Lane(self._report)
        self._large = _Lane(self._report)
        # An attempt's lines must be in before its outcome, whoever sends them.
        self._one_sender = asyncio.Lock()

    def add(self, job_id: bytes, attempt: int, outcome: Outcome, *, is_last: bool) -> None:
        """Take an outcome; ``is_last`` when nothing else runs that could join it."""
        lane = self._large if _is_large(outcome) else self._small
        lane.add(Report(job_id, attempt, outcome))
        if is_last:
            self._hurry()

    def is_choked(self) -> bool:
        """Tell whether too much waits to be delivered."""
        return self._small.unsent > UNSENT_MAX or self._large.unsent > LARGE_UNSENT_MAX

    async def emptied(self, seconds: float) -> bool:
        """Wait until everything was delivered."""
        self._hurry()
        try:
            async with asyncio.timeout(seconds):
                await self._small.empty.wait()
                await self._large.empty.wait()
        except TimeoutError:
            return False
        return True

    async def run(self) -> None:
        """Deliver until cancelled. Raises ``SessionLost``: then nothing of this counts any more."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._small.run())
                group.create_task(self._large.run())
        except ExceptionGroup as errors:
            if errors.subgroup(SessionLost) is None:
                raise
            raise SessionLost from errors

    def _hurry(self) -> None:
        self._small.urgent.set()
        self._large.urgent.set()

    async def _report(self, reports: list[Report]) -> list[bool]:
        await self.send_logs()
        return await self._gateway.report(reports)

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


class _Lane:
    """Outcomes that travel together."""

    def __init__(self, report: Callable[[list[Report]], Awaitable[list[bool]]]) -> None:
        self._report = report
        self._waiting: list[Report] = []
        self._under_way = 0
        self._wanted = asyncio.Event()
        self.urgent = asyncio.Event()
        self.empty = asyncio.Event()
        self.empty.set()

    @property
    def unsent(self) -> int:
        """Return how many are not delivered."""
        return len(self._waiting) + self._under_way

    def add(self, report: Report) -> None:
        """Take one more."""
        waiting = self._waiting
        waiting.append(report)
        if len(waiting) >= FLUSH_REPORTS:
            self.urgent.set()
        if len(waiting) == 1:
            self.empty.clear()
            self._wanted.set()

    async def run(self) -> None:
        """Deliver until cancelled, or until the session is lost."""
        while True:
            await self._wanted.wait()
            await wait_for(self.urgent, FLUSH_SECONDS)
            self._wanted.clear()
            self.urgent.clear()
            reports, self._waiting = self._waiting, []
            self._under_way = len(reports)
            for start in range(0, len(reports), BATCH_MAX):
                await self._deliver(reports[start : start + BATCH_MAX])
            self._under_way = 0
            if not self._waiting:
                self.empty.set()

    async def _deliver(self, reports: list[Report]) -> None:
        failures = 0
        while True:
            try:
                answers = await self._report(reports)
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


def _is_large(outcome: Outcome) -> bool:
    result = outcome.result if isinstance(outcome, Succeeded) else None
    return result is not None and len(result) > LARGE_BYTES
