"""Runs handlers in the process of the test, and lets go wrong what a test wants to go wrong.

What a handler's end means is decided by the code that decides it in a worker. Two places: ``Here``
runs in the thread that asks, without an event loop around (async handlers get one of the kit's
own); ``OnLoop`` runs async handlers on the loop of the test, and sync ones in threads.
"""

import asyncio
import contextvars
import logging
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from enum import Enum, auto
from types import TracebackType
from typing import Any, Final, Literal, Protocol, Self, TypeVar

from mainspring.app.declare import App
from mainspring.app.transaction import Finisher
from mainspring.domain.errors import Conflict, InvalidInput
from mainspring.domain.job import Claimed
from mainspring.domain.outcome import Outcome
from mainspring.ports.clock import monotonic
from mainspring.testing.finishing import KitFinisher
from mainspring.worker import outcomes
from mainspring.worker.attempt import CURRENT, Attempt, Stop
from mainspring.worker.logs import Capture, LogBuffer

#: Where in an attempt something goes wrong: before the handler is called, when it calls
#: ``ctx.progress`` for the n-th time, or after it has returned.
When = Literal["start", "end"] | int

T = TypeVar("T")


class Harm(Enum):
    """What goes wrong."""

    FAIL = auto()
    TIME_OUT = auto()
    #: It shows no sign of life for longer than its heartbeat allows.
    SILENCE = auto()
    CANCEL = auto()
    #: The worker falls silent; its lease has to run out.
    LOSE = auto()
    #: The process dies, and its keeper sees it.
    CRASH = auto()


_STOPS: Final = {Harm.TIME_OUT: Stop.TIMEOUT, Harm.SILENCE: Stop.SILENT}


class Plan:
    """Harm that waits for its attempt."""

    __slots__ = ("error", "harm", "times", "when")

    def __init__(
        self, harm: Harm, when: When, times: int, error: BaseException | type[BaseException] | None
    ) -> None:
        """Do this harm to the next ``times`` attempts."""
        self.harm = harm
        self.when = when
        self.times = times
        self.error = error


class Gone(BaseException):
    """Unwinds a handler whose process is no more. Nobody reports its end."""


class KitAttempt(Attempt):
    """An attempt that keeps what its handler raised, and meets the harm that was planned."""

    __slots__ = ("cancel", "error", "gone", "is_held", "moves", "plan", "settle")

    def __init__(self, claimed: Claimed, app: App, logs: LogBuffer, plan: Plan | None) -> None:
        """Describe an attempt; ``plan`` is what will happen to it."""
        super().__init__(claimed, app, logs, monotonic())
        self.plan = plan
        self.moves = 0
        self.error: BaseException | None = None
        #: Its process has gone: there is no outcome to report.
        self.gone = False
        self.cancel: Callable[[], None] = lambda: None
        self.is_held: Callable[[], bool] = lambda: True
        self.settle: Callable[[Outcome], None] = lambda _outcome: None

    @property
    def ends_at(self) -> datetime:
        """Return when, by the clock of the test, its timeout is over."""
        return self.claimed.started_at + timedelta(milliseconds=self.claimed.timeout_ms)

    def finisher(self) -> Finisher:
        return KitFinisher(self)

    def move(self, done: float, total: float | None, note: str) -> None:
        super().move(done, total, note)
        self.moves += 1
        if self.plan is not None and self.plan.when == self.moves:
            self.suffer(self.plan)

    def suffer(self, plan: Plan) -> None:
        """Let happen what was planned."""
        match plan.harm:
            case Harm.FAIL:
                assert plan.error is not None, "a failure has an error"
                raise plan.error
            case Harm.TIME_OUT | Harm.SILENCE:
                self.halt(_STOPS[plan.harm])
            case Harm.CANCEL:
                self.cancel()
            case Harm.LOSE | Harm.CRASH:
                raise Gone

    def halt(self, why: Stop) -> None:
        """Ask the handler to stop, as a worker does: by its context, and at its next await."""
        if self.stop is None and not self.done:
            self.stop = why
            if self.runner is not None:
                self.runner.get_loop().call_soon_threadsafe(self.runner.cancel)

    def begin(self) -> Outcome | None:
        """Return the outcome if there is one before the handler has begun."""
        plan = self.plan
        if plan is None or plan.when != "start":
            return None
        if plan.harm in _STOPS:
            # It would have run until it was stopped: what it did by then, nobody knows.
            self.stop = _STOPS[plan.harm]
            return outcomes.stopped(self)
        self.suffer(plan)
        return None

    def end(self) -> None:
        """Meet the harm that was planned for the end."""
        if self.plan is not None and self.plan.when == "end":
            self.suffer(self.plan)

    def raised(self, error: BaseException) -> Outcome:
        """Judge what came out of the handler; what is meant for the test is passed on to it."""
        plan = self.plan
        ends_so = plan is not None and plan.when == "end" and plan.harm in (Harm.LOSE, Harm.CRASH)
        if isinstance(error, Gone) or ends_so:
            self.gone = True
        else:
            self.error = error
        if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
            # The frame of this module tells nobody anything.
            error.__traceback__ = error.__traceback__.tb_next
        return outcomes.raised(self, error)


def call(attempt: KitAttempt, deps: object) -> Outcome:
    """Call a sync handler here and now."""
    CURRENT.set(attempt)
    handler = attempt.handler
    try:
        if (early := attempt.begin()) is not None:
            return early
        try:
            arguments = handler.decode(attempt.claimed.payload)
        except InvalidInput as error:
            attempt.error = error
            return outcomes.refused(error)
        value = handler.invoke(lambda: attempt.context(deps), arguments)
        attempt.end()
    except BaseException as error:  # noqa: BLE001 - as in a worker; the kit passes on what is not a failure
        return attempt.raised(error)
    return outcomes.returned(attempt, value)


async def acall(attempt: KitAttempt, deps: object) -> Outcome:
    """Call an async handler on the loop that runs."""
    CURRENT.set(attempt)
    handler = attempt.handler
    attempt.runner = me = asyncio.current_task()
    try:
        if (early := attempt.begin()) is not None:
            return early
        try:
            arguments = handler.decode(attempt.claimed.payload)
        except InvalidInput as error:
            attempt.error = error
            return outcomes.refused(error)
        value = await handler.ainvoke(lambda: attempt.context(deps), arguments)
        attempt.end()
    except BaseException as error:
        if attempt.stop is None and me is not None and me.cancelling():
            # Not the attempt is cancelled, but the test.
            raise
        return attempt.raised(error)
    finally:
        attempt.runner = None
        while attempt.stop is not None and me is not None and me.cancelling():
            me.uncancel()
    return outcomes.returned(attempt, value)


class Place(Protocol):
    """Where handlers are run."""

    async def run(self, attempt: KitAttempt, deps: object) -> Outcome:
        """Run one attempt to its end."""
        ...

    async def deps(self, app: App) -> object:
        """Return what the app's lifespan yields, entered once a place."""
        ...


class Here:
    """Runs in the thread that asks; ``run`` and ``deps`` never wait for anything outside."""

    def __init__(self) -> None:
        """Start nothing; the loop comes with the first async handler or lifespan."""
        self._runner: asyncio.Runner | None = None
        self._lifespans: dict[int, _Lifespan] = {}

    async def run(self, attempt: KitAttempt, deps: object) -> Outcome:
        """Run one attempt to its end."""
        if attempt.handler.is_async:
            return self._complete(acall(attempt, deps))
        return contextvars.copy_context().run(call, attempt, deps)

    async def deps(self, app: App) -> object:
        """Return what the app's lifespan yields; it stays entered until ``close``."""
        if app.lifespan is None:
            return None
        known = self._lifespans.get(id(app))
        if known is None:
            lifespan = _Lifespan(app.lifespan())
            # Entered and left by one asyncio task, as cancel scopes inside want it.
            self._complete(lifespan.enter())
            known = self._lifespans[id(app)] = lifespan
        return known.value

    def close(self) -> None:
        """Leave the lifespans, the last entered first, and close the loop."""
        runner, self._runner = self._runner, None
        if runner is None:
            return
        lifespans = list(self._lifespans.values())
        self._lifespans.clear()

        def leave() -> None:
            try:
                for lifespan in reversed(lifespans):
                    runner.get_loop().run_until_complete(lifespan.leave())
            finally:
                # What handlers have left behind on the loop is cancelled.
                runner.close()

        off_loop(leave)

    def _complete(self, work: Coroutine[Any, Any, T]) -> T:
        if self._runner is None:
            # With a factory it does not make its loop the thread's own.
            self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        loop = self._runner.get_loop()
        if loop.is_running():
            work.close()
            raise Conflict(
                "an async handler cannot be run from inside another one here",
                hint="submit it and drain after the first has ended, or await adrain() in the test",
            )
        return loop.run_until_complete(work)


class _Lifespan:
    """A lifespan that one asyncio task of its own enters and leaves."""

    def __init__(self, manager: AbstractAsyncContextManager[Any]) -> None:
        self._manager = manager
        self._leaving = asyncio.Event()
        self._host: asyncio.Task[None] | None = None
        self.value: object = None

    async def enter(self) -> None:
        loop = asyncio.get_running_loop()
        entered: asyncio.Future[None] = loop.create_future()
        self._host = loop.create_task(self._live(entered))
        await asyncio.wait([self._host, entered], return_when=asyncio.FIRST_COMPLETED)
        if self._host.done():
            self._host.result()

    async def leave(self) -> None:
        self._leaving.set()
        if self._host is not None:
            await self._host

    async def _live(self, entered: "asyncio.Future[None]") -> None:
        async with self._manager as value:
            self.value = value
            entered.set_result(None)
            await self._leaving.wait()


class OnLoop:
    """Runs on the loop of the test: ``async with OnLoop() as place``."""

    def __init__(self) -> None:
        """Enter nothing yet."""
        self._stack = AsyncExitStack()
        self._deps: dict[int, object] = {}

    async def __aenter__(self) -> Self:
        """Begin."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the lifespans."""
        await self._stack.aclose()

    async def run(self, attempt: KitAttempt, deps: object) -> Outcome:
        """Run one attempt to its end."""
        if not attempt.handler.is_async:
            return await asyncio.to_thread(call, attempt, deps)
        # A task of its own: what it sets in context variables, and its cancel, stay with it.
        async with asyncio.TaskGroup() as group:
            running = group.create_task(acall(attempt, deps))
        return running.result()

    async def deps(self, app: App) -> object:
        """Return what the app's lifespan yields; it is left with this place."""
        if app.lifespan is None:
            return None
        if id(app) not in self._deps:
            self._deps[id(app)] = await self._stack.enter_async_context(app.lifespan())
        return self._deps[id(app)]


def is_on_loop() -> bool:
    """Tell whether an event loop runs in this thread."""
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        return True
    return False


def off_loop(work: Callable[[], None]) -> None:
    """Run work in this thread, or in another one while this one's loop is held up."""
    if not is_on_loop():
        work()
        return
    with ThreadPoolExecutor(1, "mainspring-testing") as beside:
        beside.submit(work).result()


@contextmanager
def captured_logging() -> Iterator[None]:
    """Keep what handlers log by stdlib logging with their attempts, as a worker does."""
    root = logging.getLogger()
    capture: Final = Capture(logging.INFO)
    root.addHandler(capture)
    try:
        yield
    finally:
        root.removeHandler(capture)
