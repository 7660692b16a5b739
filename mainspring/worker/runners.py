"""Async handlers: a pool of coroutines on the child's loop, fed by a deque.

No new asyncio object for a job: a runner that has finished one takes the next. Handlers that never
wait are run one after the other without a turn of the loop.
"""

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from mainspring.domain.errors import InvalidInput
from mainspring.domain.outcome import Outcome
from mainspring.worker import outcomes
from mainspring.worker.attempt import CURRENT, Attempt

#: Each woken runner wakes as many others while work waits: 500 are up after nine turns.
_WAKES: Final = 2

Finish = Callable[[Attempt, Outcome], None]
Spawn = Callable[[Coroutine[Any, Any, None], contextvars.Context], asyncio.Task[None]]


class RunnerPool:
    """Runs async handlers; at most ``limit`` at a time, as the slots allow."""

    def __init__(self, *, limit: int, deps: object, spawn: Spawn, finish: Finish) -> None:
        """Start runners by ``spawn`` when they are first needed, up to ``limit``."""
        self._limit = limit
        self._deps = deps
        self._spawn = spawn
        self._finish = finish
        self._waiting: deque[Attempt] = deque()
        self._resting: list[asyncio.Future[None]] = []
        self._runners: set[asyncio.Task[None]] = set()
        # What a handler sets in context variables must not reach the next one.
        self._clean = contextvars.copy_context()
        self._closing = False

    def feed(self, attempts: Sequence[Attempt]) -> None:
        """Take attempts to run."""
        self._waiting.extend(attempts)
        self._wake()

    def stop(self, attempt: Attempt) -> None:
        """Throw ``CancelledError`` into the handler, at its next wait."""
        if attempt.runner is not None:
            attempt.runner.cancel()

    def close(self) -> None:
        """End all runners, whatever they do."""
        self._closing = True
        for runner in self._runners:
            runner.cancel()

    def _wake(self) -> None:
        for _ in range(min(_WAKES, len(self._waiting))):
            if self._resting:
                rest = self._resting.pop()
                if not rest.done():
                    rest.set_result(None)
            elif len(self._runners) < self._limit:
                self._start_runner()
            else:
                return

    def _start_runner(self) -> None:
        runner = self._spawn(self._run(), self._clean.copy())
        self._runners.add(runner)

    async def _run(self) -> None:
        me = asyncio.current_task()
        assert me is not None
        try:
            while True:
                if not self._waiting:
                    rest = asyncio.get_running_loop().create_future()
                    self._resting.append(rest)
                    await rest
                    continue
                if await self._run_waiting(me):
                    return
        finally:
            self._runners.discard(me)
            if self._waiting and not self._closing:
                self._start_runner()

    async def _run_waiting(self, me: asyncio.Task[None]) -> bool:
        """Run what waits; return True when this runner's context is no longer clean."""
        waiting = self._waiting
        attempt = waiting.popleft()
        if waiting:
            self._wake()
        while True:
            if attempt.stop is not None:
                self._finish(attempt, outcomes.stopped(attempt))
            elif not attempt.done:
                CURRENT.set(attempt)
                before = contextvars.copy_context()
                attempt.runner = me
                outcome = await self._outcome(attempt, me)
                attempt.runner = None
                self._finish(attempt, outcome)
                # Contexts that share all their values compare by identity: this is cheap.
                if contextvars.copy_context() != before:
                    return True
            if not waiting:
                return False
            attempt = waiting.popleft()

    async def _outcome(self, attempt: Attempt, me: asyncio.Task[None]) -> Outcome:
        handler = attempt.handler
        try:
            arguments = handler.decode(attempt.claimed.payload)
        except InvalidInput as error:
            return outcomes.refused(error)
        try:
            if handler.middleware:
                value = await handler.ainvoke(lambda: attempt.context(self._deps), arguments)
            elif handler.takes_context:
                value = await handler.function(attempt.context(self._deps), **arguments)
            else:
                value = await handler.function(**arguments)
        except BaseException as error:
            # Everything that user code can raise, sys.exit() included, ends the attempt only.
            if self._closing:
                raise
            return outcomes.raised(attempt, error)
        else:
            return outcomes.returned(attempt, value)
        finally:
            # The cancel was for the attempt, not for its runner.
            while me.cancelling() and not self._closing:
                me.uncancel()
