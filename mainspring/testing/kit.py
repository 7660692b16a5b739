"""The testing kit: an app's jobs, run for real, in the process of the test, under its clock.

>>> with Kit(app) as mainspring:
...     checkout(cart)
...     mainspring.assert_submitted(charge, order_id=1, delay="10m")
...     mainspring.advance("10m")
...     assert mainspring.drain().succeeded == 1

The pytest plugin gives the same object as the fixture ``mainspring``.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Final, Self

from mainspring.app.declare import App, Call
from mainspring.app.durations import milliseconds
from mainspring.app.handlers import Handler
from mainspring.domain.errors import InvalidInput, NaiveDatetime
from mainspring.domain.job import AttemptView, JobFilter
from mainspring.domain.limits import PAGE_ITEMS_MAX, SUBMIT_JOBS_MAX
from mainspring.domain.names import check_choice, check_range
from mainspring.domain.outcome import LogLine
from mainspring.domain.states import JobState
from mainspring.ports.clock import utc_now
from mainspring.ports.scheduling import Planned
from mainspring.runtime.connect import AsyncClient, Client
from mainspring.runtime.declared import Declared
from mainspring.testing import submissions
from mainspring.testing.door import KitDoor
from mainspring.testing.running import Harm, When
from mainspring.testing.snapshots import Drained, Snapshot
from mainspring.testing.submissions import Expected
from mainspring.testing.targets import Target, job_id_of, kind_of
from mainspring.testing.workbench import DRAIN_ATTEMPTS_MAX, MODES, Workbench
from mainspring.testing.world import Sent, World, at_once

_AHEAD_YEARS_MAX: Final = 50


class Kit:
    """A world of its own for one test: submissions come here, and run when the test says so."""

    def __init__(self, *apps: App, start: datetime | None = None, mode: str = "manual") -> None:
        """Begin at ``start`` (now, if not given) and take over these apps."""
        self._apps = ExitStack()
        self._world = World(_start(start))
        self._bench = Workbench(self._world)
        self._door = KitDoor(self._world.desk, self._bench)
        self._forgotten = 0
        self.mode = mode
        self.install(*apps)

    # --- Life -----------------------------------------------------------------------------------

    def install(self, *apps: App) -> None:
        """Take over apps: what their jobs submit comes here from now on."""
        for app in apps:
            if self._bench.add(app):
                self._apps.enter_context(self._door.installed(app))

    def close(self) -> None:
        """Give the apps back, leave their lifespans, and forget everything."""
        self._apps.close()
        self._bench.close()
        self._world.close()

    def __enter__(self) -> Self:
        """Return the kit."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the kit."""
        self.close()

    @property
    def mode(self) -> str:
        """Return ``manual`` (jobs rest until they are drained) or ``inline`` (they run at once)."""
        return "inline" if self._bench.is_inline else "manual"

    @mode.setter
    def mode(self, mode: str) -> None:
        self._bench.is_inline = check_choice("mode", mode, MODES) == "inline"

    @contextmanager
    def inline(self, *, raise_errors: bool = False) -> Iterator[None]:
        """Run what is due at once, as soon as something is submitted, inside the block.

        An error of a handler becomes a retry or a dead letter, as in production; with
        ``raise_errors`` it is raised by the submission that ran it.
        """
        before = self._bench.is_inline, self._bench.raises
        self._bench.is_inline, self._bench.raises = True, raise_errors
        try:
            yield
        finally:
            self._bench.is_inline, self._bench.raises = before

    @property
    def deps(self) -> object:
        """Return what handlers get as ``ctx.deps`` instead of what the lifespan yields."""
        return self._bench.deps

    @deps.setter
    def deps(self, deps: object) -> None:
        self._bench.deps = deps

    def use_deps(self, app: App, deps: object) -> None:
        """Give the handlers of one app these dependencies; its lifespan is not entered."""
        self._bench.use_deps(app, deps)

    @property
    def dice(self) -> float | None:
        """Return what the dice of jitter show: from 0.0, the shortest back-off, to below 1.0.

        ``None``, as it is unless set: there is no jitter, each back-off is as it was declared.
        """
        return self._world.dice

    @dice.setter
    def dice(self, shows: float | None) -> None:
        if shows is not None and not 0 <= shows < 1:
            raise InvalidInput(f"dice: {shows} is not at least 0 and below 1")
        self._world.dice = shows

    @property
    def client(self) -> Client:
        """Return a client of this world, whose calls block: ``client.jobs``, ``client.queues``."""
        return Client(self._door)

    @property
    def aclient(self) -> AsyncClient:
        """Return a client of this world, whose calls are awaited."""
        return AsyncClient(self._door)

    def deploy(self) -> list[Planned]:
        """Make the schedules and calendars that the installed apps declare, as a deployment does.

        From then on ``advance`` fires them at their instants.
        """
        return [planned for app in self._bench.apps for planned in self._deploy(app)]

    def _deploy(self, app: App) -> list[Planned]:
        wanted = Declared.by(app).application(prune=True)
        at_once(self._bench.declare())
        return at_once(self._world.desk.schedules.apply(wanted, actor="testing"))

    # --- Running --------------------------------------------------------------------------------

    def drain(
        self,
        job: Target | None = None,
        *,
        queue: str | None = None,
        raise_errors: bool = False,
        limit: int = DRAIN_ATTEMPTS_MAX,
    ) -> Drained:
        """Run what is due, and what that makes due, until nothing is; all of it, or one lane.

        With ``raise_errors`` the first error of a handler is raised here, after it has been
        settled as usual.
        """
        wish = self._bench.wish(job, queue, limit, raises=raise_errors)
        return self._collected(
            lambda: self._bench.here(lambda place: self._bench.work(place, wish))
        )

    async def adrain(
        self,
        job: Target | None = None,
        *,
        queue: str | None = None,
        raise_errors: bool = False,
        limit: int = DRAIN_ATTEMPTS_MAX,
    ) -> Drained:
        """Do what ``drain`` does, on the loop of the test: async handlers run on it."""
        wish = self._bench.wish(job, queue, limit, raises=raise_errors)
        begin = len(self._world.store.ended)
        await self._bench.on_loop(lambda place: self._bench.work(place, wish))
        return self._drained(begin)

    @property
    def now(self) -> datetime:
        """Return the instant at which the clock of this world stands."""
        return self._world.clock.now()

    def advance(
        self, duration: str | timedelta, *, drain: bool | None = None, raise_errors: bool = False
    ) -> Drained:
        """Move the clock: delays, back-off, schedules, leases and retention move with it.

        With ``drain`` everything that falls due on the way is run at its own instant; so it is in
        the mode ``inline``, unless ``drain=False``. Otherwise what has fallen due rests.
        """
        return self.advance_to(self._after(duration), drain=drain, raise_errors=raise_errors)

    def advance_to(
        self, instant: datetime, *, drain: bool | None = None, raise_errors: bool = False
    ) -> Drained:
        """Move the clock to an instant that is not before the present one."""
        target = self._target(instant)
        if not self._drains(drain=drain):
            return self._collected(lambda: at_once(self._bench.travel(None, target, None)))
        wish = self._bench.wish(None, None, None, raises=raise_errors)
        return self._collected(
            lambda: self._bench.here(lambda place: self._bench.travel(place, target, wish))
        )

    async def aadvance(
        self, duration: str | timedelta, *, drain: bool | None = None, raise_errors: bool = False
    ) -> Drained:
        """Do what ``advance`` does, on the loop of the test."""
        target = self._after(duration)
        return await self.aadvance_to(target, drain=drain, raise_errors=raise_errors)

    async def aadvance_to(
        self, instant: datetime, *, drain: bool | None = None, raise_errors: bool = False
    ) -> Drained:
        """Do what ``advance_to`` does, on the loop of the test."""
        target = self._target(instant)
        begin = len(self._world.store.ended)
        if self._drains(drain=drain):
            wish = self._bench.wish(None, None, None, raises=raise_errors)
            await self._bench.on_loop(lambda place: self._bench.travel(place, target, wish))
        else:
            await self._bench.travel(None, target, None)
        return self._drained(begin)

    def next_at(self) -> datetime | None:
        """Return when the next waiting job falls due, or a lost lease runs out; now, if one is.

        A fire of a schedule has its job some minutes before it is due; ``client.schedules.next``
        tells what comes after that.
        """
        return at_once(self._bench.next_at())

    def _drains(self, *, drain: bool | None) -> bool:
        return self._bench.is_inline if drain is None else drain

    def _after(self, duration: str | timedelta) -> datetime:
        passed = milliseconds(duration, name="duration")
        try:
            return self.now + timedelta(milliseconds=passed)
        except OverflowError:
            raise InvalidInput(f"duration: {duration!r} is beyond the calendar") from None

    def _target(self, instant: datetime) -> datetime:
        if not isinstance(instant, datetime):
            raise InvalidInput(f"instant: {instant!r} is not a datetime")
        if instant.tzinfo is None:
            raise NaiveDatetime(f"instant: {instant.isoformat()} has no time zone")
        if instant < self.now:
            raise InvalidInput(
                f"instant: {instant.isoformat()} is before {self.now.isoformat()}, "
                "where the clock stands",
                hint="time only moves forward; begin earlier with start=",
            )
        if instant.year > self._world.start.year + _AHEAD_YEARS_MAX:
            raise InvalidInput(
                f"instant: {instant.isoformat()} is more than {_AHEAD_YEARS_MAX} years ahead"
            )
        return instant

    def _collected(self, work: Callable[[], None]) -> Drained:
        begin = len(self._world.store.ended)
        work()
        return self._drained(begin)

    def _drained(self, begin: int) -> Drained:
        return Drained(self._world.store.ended[begin:], self._look)

    # --- Harm -----------------------------------------------------------------------------------

    def fail_next(
        self,
        job: Target,
        error: BaseException | type[BaseException],
        *,
        times: int = 1,
        when: When = "start",
    ) -> None:
        """Let the next attempts of a job fail with this error, instead of calling its handler.

        ``when="end"``: after the handler has returned; ``when=3``: from its third
        ``ctx.progress``.
        """
        if not _is_error(error):
            raise InvalidInput(f"error: {error!r} is no exception")
        self._bench.plan(job, Harm.FAIL, when=when, times=times, error=error)

    def time_out(self, job: Target, *, times: int = 1, when: When = "start") -> None:
        """Let the next attempts of a job overrun their timeout.

        At the start: the handler is not called. From its n-th ``ctx.progress`` on: it is asked to
        stop, by ``ctx.cancelled`` and at its next await, as a worker does.
        """
        self._bench.plan(job, Harm.TIME_OUT, when=when, times=times)

    def fall_silent(self, job: Target, *, times: int = 1, when: When = "start") -> None:
        """Let the next attempts of a job show no sign of life for longer than its heartbeat."""
        self._bench.plan(job, Harm.SILENCE, when=when, times=times)

    def cancel_next(self, job: Target, *, when: When = "start") -> None:
        """Let somebody cancel a job while its next attempt runs."""
        self._bench.plan(job, Harm.CANCEL, when=when, times=1)

    def lose(self, job: Target, *, times: int = 1, when: When = "end") -> None:
        """Let the worker vanish in the next attempts of a job; unreported, its lease runs out.

        At the end: the handler has done its work, and nobody will ever know. Others get the job
        once the clock has moved by more than the lease of 15 seconds.
        """
        self._bench.plan(job, Harm.LOSE, when=when, times=times)

    def crash(self, job: Target, *, times: int = 1, when: When = "end") -> None:
        """Let the process die in the next attempts of a job: others get it at once.

        A job that crashes ``max_crashes`` times is poison, and goes dead.
        """
        self._bench.plan(job, Harm.CRASH, when=when, times=times)

    def cancel(self, job: Target, *, reason: str = "", force: bool = False) -> JobState:
        """Cancel one job, by its handle or id; return the state it has now."""
        job_id = job_id_of(job)
        desk = self._world.desk
        at_once(desk.cancel([job_id], reason=reason, force=force, actor="testing"))
        return self.job(job).state

    # --- Looking --------------------------------------------------------------------------------

    def job(self, job: Target) -> Snapshot:
        """Return one job, by its handle or id."""
        view = at_once(self._world.desk.get_job(job_id_of(job)))
        return Snapshot(view, self._bench.handler(view.kind))

    def jobs(
        self,
        job: Target | None = None,
        *,
        state: str | None = None,
        queue: str | None = None,
    ) -> list[Snapshot]:
        """Return the jobs that exist, waiting, running and final, in the order of submission."""
        states = [] if state is None else [JobState(check_choice("state", state, tuple(JobState)))]
        wanted = JobFilter(
            states=frozenset(states),
            kinds=frozenset() if job is None else frozenset({self._handler(job).kind}),
            queues=frozenset() if queue is None else frozenset({queue}),
        )
        views = at_once(self._world.views(wanted))
        return [Snapshot(view, self._bench.handler(view.kind)) for view in views]

    def submitted(self, job: Target) -> list[Snapshot]:
        """Return what was submitted of a job, as it stands now, in the order of submission."""
        kind = self._handler(job).kind
        return self._look([sent.job_id for sent in self._sent(kind) if sent.created])

    def forget_submitted(self) -> None:
        """Let assertions be about what is submitted from now on. The jobs stay."""
        self._forgotten = len(self._world.store.sent)

    def attempts(self, job: Target) -> list[AttemptView]:
        """Return every attempt of one job, by its handle or id."""
        return at_once(self._world.desk.list_attempts(job_id_of(job)))

    def logs(self, job: Target) -> list[LogLine]:
        """Return what the attempts of one job logged, by its handle or id."""
        found: list[LogLine] = []
        job_id = job_id_of(job)
        while True:
            after = (found[-1].attempt, found[-1].sequence) if found else None
            page = at_once(self._world.desk.list_logs(job_id, after=after, limit=PAGE_ITEMS_MAX))
            found += page
            if len(page) < PAGE_ITEMS_MAX:
                return found

    # --- Asserting ------------------------------------------------------------------------------

    def assert_submitted(
        self, job: Target, /, *args: Any, times: int | None = None, **expected: Any
    ) -> Snapshot:
        """Assert that a job was submitted with these arguments and options; return the first.

        What is not named is not looked at; instead of a job and arguments, a call may be given:
        ``charge.call(1).options(delay="10m")``. Options: ``delay``, ``at``, ``queue``,
        ``priority``, ``key``, ``unique``, ``tenant``, ``effect_key``, ``timeout``,
        ``max_attempts``. ``times`` counts those that match, and is at least 1; for none there is
        ``refute_submitted``.
        """
        __tracebackhide__ = True
        if times is not None and "times" in self._handler(job).codec.signature.parameters:
            expected, times = expected | {"times": times}, None
        if times is not None:
            check_range("times", times, 1, SUBMIT_JOBS_MAX)
        wish, of_kind, matching = self._matching(job, args, expected)
        if not matching:
            everything = self._world.store.sent[self._forgotten :]
            raise AssertionError(submissions.missing_words(wish, of_kind, everything))
        if times is not None and len(matching) != times:
            raise AssertionError(submissions.counted_words(wish, matching, times))
        found = self._look([matching[0].job_id])
        return found[0] if found else Snapshot(matching[0].view(), wish.handler)

    def refute_submitted(self, job: Target, /, *args: Any, **expected: Any) -> None:
        """Assert that no job was submitted with these arguments and options."""
        __tracebackhide__ = True
        wish, _, matching = self._matching(job, args, expected)
        if matching:
            raise AssertionError(submissions.unwanted_words(wish, matching))

    def _matching(
        self, job: Target, args: tuple[Any, ...], expected: dict[str, Any]
    ) -> tuple[Expected, list[Sent], list[Sent]]:
        wish = Expected(self._handler(job), args, expected)
        if isinstance(job, Call):
            wish.take(job.submission)
        of_kind = self._sent(wish.kind)
        return wish, of_kind, [sent for sent in of_kind if not wish.differences(sent)]

    def _handler(self, job: Target) -> Handler:
        return self._bench.known(kind_of(job))

    def _sent(self, kind: str) -> list[Sent]:
        everything = self._world.store.sent[self._forgotten :]
        return [sent for sent in everything if sent.job.kind == kind]

    def _look(self, job_ids: list[bytes]) -> list[Snapshot]:
        views = [at_once(self._world.view(job_id)) for job_id in job_ids]
        # What the retention has dropped is gone.
        found = [view for view in views if view is not None]
        return [Snapshot(view, self._bench.handler(view.kind)) for view in found]

    def __repr__(self) -> str:
        """Tell where it stands."""
        return (
            f"<Kit {self.mode} at {self.now.isoformat()}, {len(self._world.store.sent)} submitted>"
        )


def _is_error(error: object) -> bool:
    if isinstance(error, type):
        return issubclass(error, BaseException)
    return isinstance(error, BaseException)


def _start(given: datetime | None) -> datetime:
    if given is None:
        # Whole seconds: what a test prints and compares stays readable.
        return utc_now().replace(microsecond=0)
    if not isinstance(given, datetime):
        raise InvalidInput(f"start: {given!r} is not a datetime")
    if given.tzinfo is None:
        raise NaiveDatetime(f"start: {given.isoformat()} has no time zone")
    return given.astimezone(UTC)
