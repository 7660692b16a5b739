"""A child: claims, runs and reports, until its keeper says stop, goes away, or the lease ends.

One loop, and on it: a claimer, a listener for hints, a reporter, the pulse, and the once-a-second
vital sign. Whatever runs is in ``_running``; whatever ends goes through ``finish``, once.
"""

import asyncio
import logging
import math
import os
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, Final

from mainspring.app.declare import App
from mainspring.domain.errors import MainspringError, SessionLost
from mainspring.domain.job import Claimed
from mainspring.domain.outcome import Outcome, Released
from mainspring.ports.clock import monotonic
from mainspring.ports.entropy import roll
from mainspring.ports.gateway import WorkerGateway
from mainspring.ports.store import ClaimAsk
from mainspring.worker import outcomes
from mainspring.worker.attempt import Attempt, Stop
from mainspring.worker.claims import Slots
from mainspring.worker.config import HAND_BACK_SECONDS, HARD_DEADLINE_MARGIN_MS, WorkerConfig
from mainspring.worker.control import Claiming, Goodbye, Retiring, SessionEnded, ToKeeper
from mainspring.worker.deadlines import Deadlines
from mainspring.worker.files import FileSaver
from mainspring.worker.isolates import IsolatePool
from mainspring.worker.logs import LogBuffer
from mainspring.worker.payloads import load_payload
from mainspring.worker.pulses import Pulses
from mainspring.worker.reports import Reporter
from mainspring.worker.runners import RunnerPool
from mainspring.worker.threads import ThreadPool
from mainspring.worker.vitals import Vitals
from mainspring.worker.waiting import pause_seconds, wait_for

_log: Final = logging.getLogger("mainspring.worker")
_TICK_SECONDS: Final = 0.5
#: Freed slots join one claim for so long, while a few of many are free.
_GATHER_SECONDS: Final = 0.005
#: Too many outcomes wait to be delivered.
_CHOKED_SECONDS: Final = 1.0
#: While all slots are taken and more work waits, only messages are looked for, this often.
_FULL_SECONDS: Final = 1.0
#: While some queues are like that, the others are listened to for so long at a time.
_PARTLY_SECONDS: Final = 0.25
_FIRST_POLL_SECONDS: Final = 1.0
_LAST_REPORTS_SECONDS: Final = 5.0
_LATE_START_SECONDS: Final = HARD_DEADLINE_MARGIN_MS / 2_000
_FOREVER_SECONDS: Final = 3_600.0


class Child:
    """One child process's work. ``run`` returns when it is time to exit."""

    def __init__(
        self,
        *,
        config: WorkerConfig,
        app: App,
        gateway: WorkerGateway,
        say: Callable[[ToKeeper], None],
        vitals: Vitals,
        number: int,
    ) -> None:
        """Be ready; ``run`` does the work."""
        self._config = config
        self._app = app
        self._gateway = gateway
        self._say = say
        self._vitals = vitals
        self._number = number
        self._slots = Slots(config, tuple(app.handlers))
        self._logs = LogBuffer()
        self._files = FileSaver(gateway)
        self._reporter = Reporter(gateway, self._logs)
        self._pulses = Pulses(gateway, self.stop, self._reporter.send_logs)
        self._deadlines = Deadlines(vitals, config.grace_seconds, self._on_due, monotonic)
        self._running: dict[tuple[bytes, int], Attempt] = {}
        #: Those that must show signs of life.
        self._beating: list[Attempt] = []
        self._nothing_runs = asyncio.Event()
        self._nothing_runs.set()
        #: Set once: no more claims.
        self._leaving = asyncio.Event()
        #: Until when what runs may go on after that; only ever sooner.
        self._patience_until = math.inf
        #: Nothing runs any more, or the patience has changed.
        self._stirred = asyncio.Event()
        self._taken = 0
        self._polled = _FIRST_POLL_SECONDS

    async def run(self, worker_id: bytes, deps: object) -> None:
        """Work in this session until told to leave; then finish, hand back, and return."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            total = self._slots.total
            self._runners = RunnerPool(
                limit=total, deps=deps, spawn=self._spawn, finish=self.finish
            )
            self._threads = ThreadPool(limit=total, deps=deps, finish=self.finish)
            self._isolates = IsolatePool(
                config=self._config,
                logs=self._logs,
                files=self._files,
                spawn=group.create_task,
                begun=self._begun_alone,
                finish=self.finish,
            )
            if any(handler.mode == "process" for handler in self._app.handlers.values()):
                self._isolates.warm_up()
            self._claimer = group.create_task(self._until_lost(self._claim(worker_id)))
            services = [
                group.create_task(self._until_lost(service))
                for service in (
                    self._tick(),
                    self._listen(worker_id),
                    self._pulses.run(worker_id, self._running),
                    self._reporter.run(),
                )
            ]
            try:
                await self._leaving.wait()
                await self._finish_up()
            finally:
                # Also when a service failed: then this process ends, and its keeper tells why.
                for service in services:
                    service.cancel()
                self._runners.close()
                self._threads.close()
                self._isolates.close()
                self._deadlines.close()

    # --- Told from outside ----------------------------------------------------------------------

    def drain(self, seconds: float) -> None:
        """Claim no more; end when all is done, or after this long. May be repeated, shorter."""
        self._patience_until = min(self._patience_until, monotonic() + seconds)
        self._leave()

    def _leave(self) -> None:
        self._leaving.set()
        self._stirred.set()
        self._slots.changed.set()

    def _retire(self, reason: str, patience_seconds: float = math.inf) -> None:
        self._patience_until = min(self._patience_until, monotonic() + patience_seconds)
        if not self._leaving.is_set():
            self._say(Retiring(reason))
        self._leave()

    def _spawn(self, work: Coroutine[Any, Any, None], context: Context) -> asyncio.Task[None]:
        return self._group.create_task(work, context=context)

    async def _until_lost(self, service: Coroutine[Any, Any, None]) -> None:
        try:
            await service
        except SessionLost:
            # The keeper kills this process, and all others of the session.
            self._say(SessionEnded())

    # --- Attempts -------------------------------------------------------------------------------

    def _begin(self, claimed: list[Claimed]) -> None:
        now = monotonic()
        on_loop: list[Attempt] = []
        for job in claimed:
            if job.fire_is_unread:
                # It would not know what it is for.
                self._hand_back(job)
                continue
            attempt = Attempt(job, self._app, self._logs, now)
            attempt.files = self._files
            self._running[job.job_id, job.attempt] = attempt
            # Its last attempt vanished with its process: run it where it can only harm itself.
            attempt.alone = job.crashes > 1 or attempt.handler.mode == "process"
            if attempt.alone:
                attempt.wake_at += _LATE_START_SECONDS
            self._deadlines.watch(attempt)
            if attempt.handler.heartbeat_ms is not None:
                self._beating.append(attempt)
            if job.payload_ref is not None:
                self._group.create_task(self._load(attempt))
            elif attempt.alone or attempt.handler.mode == "thread":
                self._feed(attempt)
            else:
                on_loop.append(attempt)
        if self._running:
            self._nothing_runs.clear()
        if on_loop:
            self._runners.feed(on_loop)

    def _hand_back(self, job: Claimed) -> None:
        self._reporter.add(job.job_id, job.attempt, Released(), is_last=not self._running)
        self._slots.give_back(job.queue)

    def _feed(self, attempt: Attempt) -> None:
        attempt.show()
        if attempt.alone:
            # Its process may have to be started first: it cannot show anything before.
            attempt.shown_at = math.inf
            self._isolates.feed(attempt)
        elif attempt.handler.mode == "thread":
            self._threads.feed(attempt)
        else:
            self._runners.feed([attempt])

    def _begun_alone(self, attempt: Attempt) -> None:
        """Give the handler all of its timeout, though its process had to be started first.

        Within reason: the store's own deadline counts from the claim.
        """
        attempt.show()
        if attempt.stop is None:
            ends_at = monotonic() + attempt.claimed.timeout_ms / 1_000
            self._deadlines.move(attempt, min(ends_at, attempt.wake_at))

    async def _load(self, attempt: Attempt) -> None:
        failed = await load_payload(self._gateway, attempt)
        if attempt.done:
            return
        if failed is not None:
            self.finish(attempt, failed)
        elif attempt.stop is not None:
            self.finish(attempt, outcomes.stopped(attempt))
        else:
            self._feed(attempt)

    def finish(self, attempt: Attempt, outcome: Outcome) -> None:
        """Settle an attempt: free its slot and report it. The first outcome counts."""
        if attempt.done:
            return
        attempt.done = True
        claimed = attempt.claimed
        del self._running[claimed.job_id, claimed.attempt]
        self._deadlines.forget(attempt)
        is_last = not self._running
        if is_last:
            self._nothing_runs.set()
            self._stirred.set()
        if attempt.stop is not Stop.LOST:
            self._reporter.add(claimed.job_id, claimed.attempt, outcome, is_last=is_last)
        self._slots.give_back(claimed.queue)

    def stop(self, attempt: Attempt, why: Stop) -> None:
        """Ask an attempt to stop; after the grace it is made to."""
        if attempt.done or attempt.stop is not None:
            return
        attempt.stop = why
        self._deadlines.move(attempt, monotonic() + self._config.grace_seconds)
        if attempt.alone:
            self._isolates.stop(attempt)
        elif attempt.handler.mode == "async":
            self._runners.stop(attempt)

    def _on_due(self, attempt: Attempt) -> None:
        if attempt.stop is None:
            self.stop(attempt, Stop.TIMEOUT)
        elif attempt.alone:
            self._isolates.kill(attempt)
        else:
            # Neither a thread nor a handler that swallows its cancel can be stopped: the report
            # goes out now, and the process is replaced once the others are done.
            self.finish(attempt, outcomes.stopped(attempt, really=False))
            self._retire(
                f"a handler of {attempt.claimed.kind} did not stop", self._config.drain_seconds
            )

    # --- Services -------------------------------------------------------------------------------

    async def _claim(self, worker_id: bytes) -> None:
        slots = self._slots
        failures = 0
        while not self._leaving.is_set():
            await slots.changed.wait()
            slots.changed.clear()
            if not slots.wanted() or self._leaving.is_set():
                continue
            if not slots.is_worth_it():
                await wait_for(self._leaving, _GATHER_SECONDS)
            pause = _CHOKED_SECONDS
            if not self._reporter.is_choked():
                ask = slots.ask(worker_id, self._number)
                try:
                    self._take(ask, await self._gateway.claim(ask))
                    failures = 0
                    continue
                except SessionLost:
                    raise
                except MainspringError as error:
                    _log.warning("nothing can be claimed: %s", error)
                    failures += 1
                    pause = pause_seconds(failures, longest=self._config.poll_seconds)
                    slots.ask_again(ask)
            await wait_for(self._leaving, pause)
            slots.changed.set()

    def _take(self, ask: ClaimAsk, claimed: list[Claimed]) -> None:
        if self._leaving.is_set():
            # Asked for before it was time to go.
            for job in claimed:
                self._reporter.add(job.job_id, job.attempt, Released(), is_last=True)
            return
        slots = self._slots
        slots.take(ask, claimed)
        if claimed:
            self._count(len(claimed))
            self._begin(claimed)
        if slots.wanted():
            slots.changed.set()

    def _count(self, claimed: int) -> None:
        if not self._taken:
            self._say(Claiming())
        self._taken += claimed
        # Found by polling or by a hint: there is work, so look often again.
        self._polled = _FIRST_POLL_SECONDS
        limit = self._config.max_jobs_per_child
        if limit is not None and self._taken >= limit:
            self._retire(f"{self._taken} jobs were taken")

    async def _listen(self, worker_id: bytes) -> None:
        """Wait for hints; the timeout is the net for those that never come (law 6)."""
        slots = self._slots
        failures = 0
        slots.look_again()
        while True:
            quiet = slots.quiet()
            if not quiet:
                # Freed slots are claimed for without any hint.
                if not await wait_for(slots.sated, _FULL_SECONDS) and self._running:
                    self._pulses.beat_soon()
                continue
            is_partly = len(quiet) < len(self._config.queues)
            try:
                seconds = _PARTLY_SECONDS if is_partly else self._next_poll_seconds()
                is_hint = await self._gateway.wait_for_work(worker_id, quiet, seconds)
            except SessionLost:
                raise
            except MainspringError as error:
                failures += 1
                _log.warning("no hints can be had: %s", error)
                longest = self._config.poll_seconds
                await wait_for(self._leaving, pause_seconds(failures, longest=longest))
                continue
            failures = 0
            if is_hint and self._running:
                self._pulses.beat_soon()
            if is_hint or not is_partly:
                slots.look_again()

    def _next_poll_seconds(self) -> float:
        """Return how long to trust in hints: doubled each time, bounded, spread."""
        longest = self._config.poll_seconds
        seconds = min(longest, self._polled)
        self._polled = min(longest, self._polled * 2)
        return seconds * (0.75 + roll() / 2)

    async def _tick(self) -> None:
        """Show that the loop turns; end at once when the lease is over, whoever noticed or not."""
        while True:
            now = monotonic()
            self._vitals.ticked_at = now
            if now >= self._vitals.lease_until:
                _log.error("the lease is over: this process ends now")
                os._exit(1)
            self._isolates.sweep(now)
            self._stop_silent(now)
            await wait_for(asyncio.Event(), _TICK_SECONDS)

    def _stop_silent(self, now: float) -> None:
        """Stop attempts that have shown no sign of life for longer than they may."""
        self._beating = [attempt for attempt in self._beating if not attempt.done]
        for attempt in self._beating:
            if now - attempt.shown_at > (attempt.handler.heartbeat_ms or 0) / 1_000:
                self.stop(attempt, Stop.SILENT)

    # --- The end --------------------------------------------------------------------------------

    async def _finish_up(self) -> None:
        """Let what runs finish; then stop it and hand it back."""
        await self._await_the_rest()
        for attempt in list(self._running.values()):
            self.stop(attempt, Stop.RELEASE)
        if not await wait_for(self._nothing_runs, HAND_BACK_SECONDS):
            self._isolates.kill_all()
            await wait_for(self._nothing_runs, HAND_BACK_SECONDS)
        # What still runs cannot be stopped but by ending this process, which follows at once.
        stuck = list(self._running.values())
        for attempt in stuck:
            self.finish(attempt, Released())
        await self._reporter.emptied(_LAST_REPORTS_SECONDS)
        self._say(Goodbye())
        if stuck:
            os._exit(0)

    async def _await_the_rest(self) -> None:
        # A claim that is under way may still bring jobs; unseen ones would count as crashes.
        await asyncio.wait([self._claimer], timeout=_LAST_REPORTS_SECONDS)
        while not self._nothing_runs.is_set() and monotonic() < self._patience_until:
            self._stirred.clear()
            left = min(self._patience_until - monotonic(), _FOREVER_SECONDS)
            await wait_for(self._stirred, left)
