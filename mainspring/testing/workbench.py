"""Where a test's jobs are run: one attempt after the other, each to its end, as told.

Like a worker with one slot that is stopped between two attempts. Attempts that are run while
another one runs (a handler that waits for the result of its own submission) are run inside it.
"""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, Final, NamedTuple

from mainspring.app.declare import App
from mainspring.app.handlers import Handler
from mainspring.domain.errors import Conflict, InvalidInput, LimitReached, UnknownKind
from mainspring.domain.ids import show_job
from mainspring.domain.job import Claimed, JobView
from mainspring.domain.names import check_range, suggestion
from mainspring.domain.outcome import Failed, Outcome, Released
from mainspring.domain.states import FINAL, JobState
from mainspring.testing.running import (
    Harm,
    Here,
    KitAttempt,
    OnLoop,
    Place,
    Plan,
    When,
    captured_logging,
    is_on_loop,
    off_loop,
)
from mainspring.testing.targets import Target, is_one, job_id_of, kind_of
from mainspring.testing.world import World, at_once
from mainspring.worker.attempt import Stop
from mainspring.worker.logs import LogBuffer
from mainspring.worker.payloads import load_payload

MODES: Final = ("manual", "inline")
_TIMES_MAX: Final = 1_000
_LIMIT_MAX: Final = 1_000_000
#: Attempts that one drain runs at most: who submits himself for ever is told so.
DRAIN_ATTEMPTS_MAX: Final = 10_000
_UNSET: Final = object()


class Wish(NamedTuple):
    """What shall be run: ``None`` means everything, without a bound."""

    kinds: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None
    limit: int | None = None
    raises: bool = False


class Workbench:
    """The handlers of the installed apps, what they depend on, and what will go wrong."""

    def __init__(self, world: World) -> None:
        """Work in this world."""
        self._world = world
        self.apps: list[App] = []
        self._own_deps: dict[int, object] = {}
        self._deps: object = _UNSET
        self._plans: list[tuple[str | bytes, Plan]] = []
        self._running: list[KitAttempt] = []
        self._here = Here()
        #: The loop's place, while a test awaits.
        self._on_loop: OnLoop | None = None
        self.is_inline = False
        self.raises = False

    def close(self) -> None:
        """Leave the lifespans that were entered."""
        self._here.close()

    # --- Apps -----------------------------------------------------------------------------------

    def add(self, app: object) -> bool:
        """Take an app; False: it is here already."""
        if not isinstance(app, App):
            raise InvalidInput(f"{app!r} is no App", hint="give the object that App(...) made")
        if any(known is app for known in self.apps):
            return False
        for known in self.apps:
            shared = sorted(known.handlers.keys() & app.handlers.keys())
            if shared:
                raise InvalidInput(
                    f"the apps {known.name!r} and {app.name!r} both have a handler of the kind "
                    f"{shared[0]!r}",
                    hint="give each its own test, or one of the handlers another kind=",
                )
        self.apps.append(app)
        at_once(self.declare())
        return True

    async def declare(self) -> None:
        """Let the worker be one that has the handlers of all apps."""
        await self._world.declare(
            tuple(handler.info for app in self.apps for handler in app.handlers.values())
        )

    def handler(self, kind: str) -> Handler | None:
        """Return the handler of a kind, if an installed app has one."""
        for app in self.apps:
            if kind in app.handlers:
                return app.handlers[kind]
        return None

    def known(self, kind: str) -> Handler:
        """Return the handler of a kind, or raise naming the nearest."""
        found = self.handler(kind)
        if found is not None:
            return found
        known = [name for app in self.apps for name in app.handlers]
        if not self.apps:
            hint = "name your app: the ini option mainspring_apps, or mainspring.install(app)"
        elif not known:
            hint = "the installed apps have no handlers; are their modules imported?"
        else:
            hint = suggestion(kind, known)
        raise UnknownKind(f"no installed app has a handler of the kind {kind!r}", hint=hint)

    @property
    def deps(self) -> object:
        """Return what the test gave as dependencies of all apps."""
        return None if self._deps is _UNSET else self._deps

    @deps.setter
    def deps(self, deps: object) -> None:
        self._deps = deps

    def use_deps(self, app: App, deps: object) -> None:
        """Keep dependencies for one app."""
        self.add(app)
        self._own_deps[id(app)] = deps

    def _app_of(self, kind: str) -> App:
        return next(app for app in self.apps if kind in app.handlers)

    async def _deps_of(self, place: Place, app: App) -> object:
        if id(app) in self._own_deps:
            return self._own_deps[id(app)]
        return await place.deps(app) if self._deps is _UNSET else self._deps

    # --- What will go wrong ---------------------------------------------------------------------

    def plan(
        self,
        job: Target,
        harm: Harm,
        *,
        when: When,
        times: int,
        error: BaseException | type[BaseException] | None = None,
    ) -> None:
        """Keep harm for the next attempts of a job, or of all jobs of a kind."""
        whole = isinstance(when, int) and not isinstance(when, bool)
        if when not in ("start", "end") and not (whole and int(when) > 0):
            raise InvalidInput(
                f'when: {when!r} is not "start", "end" or a whole number from 1',
                hint="a number n means: when the handler calls ctx.progress for the n-th time",
            )
        check_range("times", times, 1, _TIMES_MAX)
        if when == "end" and harm in (Harm.TIME_OUT, Harm.SILENCE, Harm.CANCEL):
            raise InvalidInput('when: "end" is too late for this', hint='use "start" or a number')
        meant: str | bytes = job_id_of(job) if is_one(job) else self.known(kind_of(job)).kind
        self._plans.append((meant, Plan(harm, when, times, error)))

    def _take_plan(self, claimed: Claimed) -> Plan | None:
        for place, (meant, plan) in enumerate(self._plans):
            if meant in (claimed.job_id, claimed.kind):
                plan.times -= 1
                if plan.times == 0:
                    del self._plans[place]
                return plan
        return None

    def on_cancel(self, job_id: bytes) -> None:
        """Tell an attempt that runs that its job is being cancelled."""
        for attempt in self._running:
            if attempt.claimed.job_id == job_id:
                attempt.halt(Stop.CANCEL)

    # --- Running --------------------------------------------------------------------------------

    def wish(
        self, job: Target | None, queue: str | None, limit: int | None, *, raises: bool
    ) -> Wish:
        """Return what shall be run, checked."""
        if limit is not None:
            check_range("limit", limit, 1, _LIMIT_MAX)
        kinds = None if job is None else (self.known(kind_of(job)).kind,)
        if queue is not None and queue not in self._world.queues():
            raise InvalidInput(
                f"queue: no job and no handler is in {queue!r}",
                hint=suggestion(queue, sorted(self._world.queues())),
            )
        return Wish(kinds, None if queue is None else (queue,), limit, raises)

    def here(self, work: Callable[[Place], Coroutine[Any, Any, None]]) -> None:
        """Run work in this thread; refuse where that would stop the loop of the test."""
        if is_on_loop():
            raise Conflict(
                "this would run jobs inside a running event loop, and stop it",
                hint="in an async test: await mainspring.adrain(), or mainspring.aadvance(...)",
            )
        at_once(work(self._here))

    async def on_loop(self, work: Callable[[Place], Coroutine[Any, Any, None]]) -> None:
        """Run work on the loop that runs now."""
        if self._on_loop is not None:
            await work(self._on_loop)
            return
        async with OnLoop() as place:
            self._on_loop = place
            try:
                await work(place)
            finally:
                self._on_loop = None

    async def work(self, place: Place, wish: Wish) -> None:
        """Run what is due until nothing is."""
        await self.declare()
        await self._world.fire()
        done = 0
        with captured_logging():
            while wish.limit is None or done < wish.limit:
                if not await self._work_once(place, wish):
                    return
                done += 1
        if await self._world.next_due() == self._world.clock.now():
            raise LimitReached(
                f"{done:,} attempts were run and more is due",
                hint="a job that submits itself again without delay never ends; else raise limit=",
            )

    async def _work_once(self, place: Place, wish: Wish) -> bool:
        claimed = await self._world.claim(wish.kinds, wish.queues)
        if claimed is None:
            return False
        error = await self._attempt(place, claimed)
        # A fire may have waited for its end.
        await self._world.fire()
        if wish.raises and error is not None:
            raise error
        return True

    async def _attempt(self, place: Place, claimed: Claimed) -> BaseException | None:
        """Run one attempt and settle it; return the error that made it fail."""
        app = self._app_of(claimed.kind)
        logs = LogBuffer()
        outcome: Outcome = Released("interrupted")
        try:
            deps = await self._deps_of(place, app)
            attempt = KitAttempt(claimed, app, logs, self._take_plan(claimed))
            attempt.files = self._world.files
            attempt.cancel = lambda: self._cancel(claimed)
            attempt.is_held = lambda: at_once(self._world.holds(claimed))
            attempt.settle = lambda ended: self._settle(claimed, ended)
            self._running.append(attempt)
            try:
                failed = await load_payload(self._world.gateway, attempt)
                outcome = failed or await place.run(attempt, deps)
            finally:
                self._running.remove(attempt)
                attempt.done = True
                await self._world.tell(attempt.progress, logs.take())
            if _is_for_the_test(attempt.error):
                outcome = Released("interrupted")
        except BaseException:
            await self._world.report(claimed, Released("interrupted"))
            raise
        if attempt.gone:
            assert attempt.plan is not None, "only what was planned makes a process go"
            await self._world.go(claimed, is_silent=attempt.plan.harm is Harm.LOSE)
            return None
        await self._world.report(claimed, outcome)
        if _is_for_the_test(attempt.error) and attempt.error is not None:
            raise attempt.error
        return attempt.error if isinstance(outcome, Failed) else None

    def _settle(self, claimed: Claimed, outcome: Outcome) -> None:
        at_once(self._world.report(claimed, outcome))

    def _cancel(self, claimed: Claimed) -> None:
        at_once(self._world.desk.cancel([claimed.job_id], actor="testing"))

    # --- Time -----------------------------------------------------------------------------------

    async def travel(self, place: Place | None, target: datetime, wish: Wish | None) -> None:
        """Move the clock to the target, by way of every instant at which something happens."""
        world = self._world
        if self._running and place is not None:
            raise Conflict(
                "a handler cannot move the clock and run others",
                hint="advance(..., drain=False) lets time pass while it runs",
            )
        while True:
            if place is not None and wish is not None:
                await self.work(place, wish)
            steps = [world.next_lapse(), await world.next_look()]
            if place is not None:
                steps.append(await world.next_due())
            ahead = [step for step in steps if step is not None and step > world.clock.now()]
            if not ahead or min(ahead) > target:
                break
            await world.move(min(ahead))
        await world.move(target)
        if self._running:
            # Time passes while they run; what is past its deadline is taken from them.
            await world.recover()
        for attempt in list(self._running):
            if target >= attempt.ends_at:
                attempt.halt(Stop.TIMEOUT)
        if place is not None and wish is not None:
            await self.work(place, wish)

    async def next_at(self) -> datetime | None:
        """Return when something happens next; now, if something is due."""
        await self.declare()
        steps = [self._world.next_lapse(), await self._world.next_due()]
        return min((step for step in steps if step is not None), default=None)

    # --- At once --------------------------------------------------------------------------------

    def after_submit(self) -> None:
        """Run what is due, if jobs are run at once and none is under way."""
        if self.is_inline and not self._running:
            off_loop(lambda: at_once(self.work(self._here, self._inline())))

    async def after_asubmit(self) -> None:
        """Do what ``after_submit`` does, on the loop."""
        if self.is_inline and not self._running:
            await self.on_loop(lambda place: self.work(place, self._inline()))

    def _inline(self) -> Wish:
        return Wish(limit=DRAIN_ATTEMPTS_MAX, raises=self.raises)

    def progress(self, job: JobView) -> None:
        """Run what is due until the job has moved on, for somebody who waits for its end."""
        off_loop(lambda: at_once(self._move_on(self._here, job)))

    async def aprogress(self, job: JobView) -> None:
        """Do what ``progress`` does, on the loop."""
        await self.on_loop(lambda place: self._move_on(place, job))

    async def _move_on(self, place: Place, job: JobView) -> None:
        if job.state in FINAL:
            return
        if self.is_inline or self._running:
            await self.declare()
            while await self._work_once(place, Wish(raises=self.raises)):
                if await self._world.store.get_job(job.id) != job:
                    return
        name = f"{job.kind} {show_job(job.id)}"
        if job.state is JobState.READY:
            hint = "call mainspring.drain() before you ask for its result"
        elif job.state in (JobState.SCHEDULED, JobState.RETRYING):
            hint = f"call mainspring.advance(...), then drain(); it is due at {job.due_at}"
        else:
            hint = "move the clock until its lease has run out: mainspring.advance(...)"
        raise Conflict(f"{name} is {job.state.value}, and nothing runs it by itself", hint=hint)


def _is_for_the_test(error: BaseException | None) -> bool:
    """Tell Ctrl-C and the outcomes of pytest (fail, skip, exit) from what a handler raises."""
    return error is not None and not isinstance(
        error, Exception | SystemExit | GeneratorExit | asyncio.CancelledError
    )
