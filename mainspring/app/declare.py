"""``App`` and ``@app.job``: how users declare what can be run, and make calls of it.

>>> app = App("shop")
>>> @app.job(queue="mail", timeout="30s")
... async def send_receipt(order_id: int, *, copy_to: str | None = None) -> str:
...     return "msg-1"
>>> send_receipt.call(order_id=7).payload
b'{"order_id":7}'
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from datetime import timedelta
from typing import Any, Concatenate, Generic, Never, ParamSpec, TypeVar, Unpack, cast, overload

import msgspec

from mainspring.app.context import Context, bare_context
from mainspring.app.handlers import Handler, handler_info, heartbeat_ms, mode_of
from mainspring.app.handles import Handle, naming_duplicates
from mainspring.app.middleware import Middleware
from mainspring.app.options import NOTHING, OPTION_NAMES, Chosen, Options, read_options
from mainspring.app.payloads import encoded
from mainspring.app.schedules import (
    ScheduleOptions,
    When,
    calendar_draft,
    read_schedule_options,
    rules_of,
    schedule_draft,
)
from mainspring.app.transaction import Finisher
from mainspring.domain.errors import Conflict, InvalidInput, UnknownOption
from mainspring.domain.job import HandlerInfo
from mainspring.domain.names import check_flag, suggestion
from mainspring.ports.door import Door
from mainspring.ports.gateway import Accepted, Submission
from mainspring.ports.scheduling import CalendarDraft, ScheduleDraft

P = ParamSpec("P")
R = TypeVar("R")


class Call(Generic[R]):
    """One bound, unsent call of a handler: submit it, schedule it, or put it into a batch."""

    __slots__ = ("_chosen", "job", "payload", "submission")

    def __init__(self, job: "Job[..., R]", payload: bytes, chosen: Chosen = NOTHING) -> None:
        """Keep a validated payload and its options."""
        self.job: Job[..., R] = job
        self.payload: bytes = payload
        self._chosen = chosen
        handler = job.handler
        submission = Submission(
            kind=handler.kind, payload=payload, kind_is_known=True, declared=handler.info
        )
        self.submission: Submission = chosen.applied(submission, handler.codec)

    def options(self, **options: Unpack[Options]) -> "Call[R]":
        """Return the same call with options of this submission.

        >>> greet.call("Ada").options(delay="15m", priority="high")
        """
        return Call(self.job, self.payload, self._chosen.extended(read_options(options)))

    def submit(self) -> Handle[R]:
        """Submit the call; block until it is acknowledged."""
        door = self.job.door
        with self._naming_duplicates(door):
            return self._handle(door, door.submit([self.submission]))

    async def asubmit(self) -> Handle[R]:
        """Submit the call."""
        door = await self.job.adoor()
        with self._naming_duplicates(door):
            return self._handle(door, await door.asubmit([self.submission]))

    def _naming_duplicates(self, door: Door) -> AbstractContextManager[None]:
        return naming_duplicates(door, self.job.handler.codec)

    def _handle(self, door: Door, accepted: list[Accepted]) -> Handle[R]:
        (answer,) = accepted
        codec = self.job.handler.codec
        return Handle(door, answer.job_id, codec=codec, created=answer.created)

    def __repr__(self) -> str:
        """Name the kind and show the payload's beginning."""
        return f"<Call {self.job.kind} {self.payload[:80]!r}>"


class Job(Generic[P, R]):
    """A decorated handler. Calling it calls the plain function.

    >>> send_receipt(order_id=7)                  # the function, here and now
    >>> send_receipt.submit(order_id=7)           # a job; a worker runs it
    >>> send_receipt.options(delay="5m").submit(order_id=7)
    >>> send_receipt.call(order_id=7)             # unsent: for batches
    """

    def __init__(
        self,
        function: Callable[..., Any],
        handler: Handler,
        app: "App",
        *,
        chosen: Chosen = NOTHING,
        door: Door | None = None,
    ) -> None:
        """Wrap the function; made by ``@app.job``."""
        self.function = function
        self.handler = handler
        self.kind: str = handler.kind
        self.app = app
        self._chosen = chosen
        self._door = door
        self.__doc__ = function.__doc__
        self.__name__: str = getattr(function, "__name__", handler.kind)
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the plain function, here and now."""
        return self.function(*args, **kwargs)

    @property
    def door(self) -> Door:
        """Return where this job's submissions go now."""
        return self._door or self.app.door

    async def adoor(self) -> Door:
        """Return where this job's submissions go now; opening it does not hold up the loop."""
        return self._door or await self.app.adoor()

    def call(self, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        """Bind arguments, validated by the handler's types, without sending anything."""
        payload = self.handler.codec.encode(args, kwargs)
        return Call(cast("Job[..., R]", self), payload, self._chosen)

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Submit a call; block until it is acknowledged.

        It goes where ``app.connect`` or ``app.use`` says; else the store of the settings
        (``MAINSPRING_STORE``) is opened, once, and kept until this process ends.
        """
        return self.call(*args, **kwargs).submit()

    async def asubmit(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Submit a call; goes where ``submit`` goes."""
        return await self.call(*args, **kwargs).asubmit()

    def options(self, **options: Unpack[Options]) -> "Job[P, R]":
        """Return the same job, with options for what is submitted through it."""
        chosen = self._chosen.extended(read_options(options))
        return Job(self.function, self.handler, self.app, chosen=chosen, door=self._door)

    def using(self, connection: object) -> "Job[P, R]":
        """Return the same job, submitting inside the open transaction of your connection."""
        return self._through(self.app.borrowed(connection))

    def after_commit(self, session: object) -> "Job[P, R]":
        """Return the same job, submitting after the session's commit."""
        return self._through(self.app.deferred(session))

    def run(self, *args: Any, ctx: Context[Any] | None = None, **kwargs: Any) -> R:
        """Run the handler here and now as a worker would: checked, inside its middleware.

        >>> export.run(spec, ctx=testing.context(attempt=2))

        Arguments and result go through JSON, as they do on their way to a worker. An async
        handler gets a loop of its own; where one runs already, await ``arun``.
        """
        handler = self.handler
        if handler.is_async:
            _refuse_running_loop()
            found: R = asyncio.run(self.arun(*args, ctx=ctx, **kwargs))
            return found
        arguments = handler.decode(handler.codec.encode(args, kwargs))
        value = handler.invoke(lambda: ctx or self._context(), arguments)
        return self._returned(value)

    async def arun(self, *args: Any, ctx: Context[Any] | None = None, **kwargs: Any) -> R:
        """Run the handler here and now as a worker would, on the loop that runs."""
        handler = self.handler
        arguments = handler.decode(handler.codec.encode(args, kwargs))
        if handler.is_async:
            value = await handler.ainvoke(lambda: ctx or self._context(), arguments)
        else:
            value = handler.invoke(lambda: ctx or self._context(), arguments)
        return self._returned(value)

    def _context(self) -> Context[Any]:
        return bare_context(kind=self.kind, queue=self.handler.info.queue)

    def _returned(self, value: object) -> R:
        codec = self.handler.codec
        found: R = codec.decode_result(codec.encode_result(value))
        return found

    def _through(self, door: Door) -> "Job[P, R]":
        return Job(self.function, self.handler, self.app, chosen=self._chosen, door=door)

    def __repr__(self) -> str:
        """Name the kind."""
        return f"<Job {self.kind}>"


class _Declare:
    """The decorator that ``app.job(...)`` returns: keeps parameters and result for type checkers.

    The context is not part of the submit signature; coroutine results are unwrapped.
    """

    def __init__(self, wrap: Callable[[Callable[..., Any]], Job[..., Any]]) -> None:
        self._wrap = wrap

    @overload
    def __call__(
        self, function: Callable[Concatenate[Context[Any], P], Coroutine[Any, Any, R]], /
    ) -> Job[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Job[P, R]: ...

    @overload
    def __call__(self, function: Callable[Concatenate[Context[Any], P], R], /) -> Job[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> Job[P, R]: ...

    def __call__(self, function: Callable[..., Any], /) -> Job[..., Any]:
        return self._wrap(function)


class HandlerOptions(Options, total=False):
    """What may be said about a handler: the defaults of its submissions, and how it is run."""

    #: The name under which it is submitted; the function's name if not given.
    kind: str | None
    #: Run in a process of its own, which is really killed on timeout or cancel.
    isolated: bool
    #: An attempt that shows no sign of life (progress, log, heartbeat) for so long is stopped.
    heartbeat: str | timedelta | None


_HANDLER_NAMES = tuple(dict.fromkeys((*HandlerOptions.__annotations__, *OPTION_NAMES)))
#: Options that a handler's declaration carries itself; the others are bound to its submissions.
_DECLARED_FIELDS = frozenset(
    {"queue", "priority", "timeout_ms", "max_attempts", "max_crashes", "backoff", "on_exhausted"}
)


class Recurring:
    """What ``app.schedule`` makes of a job when it decorates one."""

    def __init__(self, declare: Callable[["Job[..., Any]"], object]) -> None:
        """Declare with ``declare`` whatever is decorated."""
        self._declare_for = declare

    def __call__(self, job: Job[P, R], /) -> Job[P, R]:
        """Declare the schedule of a job that needs no arguments; return the job."""
        given: object = job
        if not isinstance(given, Job):
            raise InvalidInput(
                "app.schedule decorates a job", hint="write it above @app.job(), not below"
            )
        self._declare_for(cast("Job[..., Any]", job))
        return job


class App:
    """Handlers with their defaults. Opens nothing; any number may live in one process."""

    def __init__(
        self,
        name: str,
        *,
        lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None,
        middleware: Sequence[Middleware] = (),
    ) -> None:
        """Make an empty app.

        ``lifespan`` yields what ``ctx.deps`` holds, once per process. Each of ``middleware`` takes
        the context of an attempt and returns a context manager, which is entered around the
        handler, where the handler runs; the first one is the outermost.
        """
        self.name: str = _name(name)
        self.lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = _lifespan(lifespan)
        self.middleware: tuple[Middleware, ...] = _middleware(middleware)
        self.handlers: dict[str, Handler] = {}
        #: What ``mainspring deploy`` reconciles.
        self.schedules: dict[str, ScheduleDraft] = {}
        self.calendars: dict[str, CalendarDraft] = {}
        self._doors: list[Door] = []

    # --- Declaring ------------------------------------------------------------------------------

    def job(self, *wrong: Never, **options: Unpack[HandlerOptions]) -> _Declare:
        """Declare a handler.

        >>> @app.job(queue="mail", timeout="30s", retry=Retry(max_attempts=3))
        ... async def send(ctx: Context, to: str) -> None: ...

        Every option of a submission is a default here; ``HandlerOptions`` has them all.
        """
        if wrong:
            raise InvalidInput(
                "app.job takes options by name, nothing else", hint="write @app.job(), with ()"
            )
        for name in options:
            if name not in _HANDLER_NAMES:
                raise UnknownOption(
                    f"there is no option {name!r}", hint=suggestion(name, _HANDLER_NAMES)
                )

        def declare(function: Callable[..., Any]) -> Job[..., Any]:
            return self._declare(function, options)

        return _Declare(declare)

    def _declare(self, function: Callable[..., Any], options: HandlerOptions) -> Job[..., Any]:
        kind = options.get("kind")
        name: str = str(getattr(function, "__name__", "")) if kind is None else kind
        after = options.get("on_exhausted")
        mode = mode_of(function, isolated=check_flag("isolated", options.get("isolated", False)))
        retry = options.get("retry")
        info = handler_info(
            kind=name,
            options=options,
            on_exhausted=after.kind if isinstance(after, Job) else after,
            mode=mode,
            doc=(function.__doc__ or "").strip().partition("\n")[0],
        )
        chosen = _defaults(options)
        info = _with_unique(info, chosen)
        if name in self.handlers:
            raise InvalidInput(
                f"the app {self.name!r} already has a handler of the kind {name!r}",
                hint="give one of them another name with kind=",
            )
        retry_on = retry.on if retry else ()
        handler = Handler(
            function,
            info=info,
            retry_on=retry_on,
            heartbeat_ms=heartbeat_ms(options.get("heartbeat"), info.timeout_ms),
            middleware=self.middleware,
        )
        self.handlers[name] = handler
        return Job(function, handler, self, chosen=chosen)

    @overload
    def schedule(
        self, name: str, when: When, work: Call[Any], /, **options: Unpack[ScheduleOptions]
    ) -> ScheduleDraft: ...

    @overload
    def schedule(
        self,
        name: str,
        when: When,
        work: str,
        payload: Mapping[str, Any] | None = None,
        /,
        **options: Unpack[ScheduleOptions],
    ) -> ScheduleDraft: ...

    @overload
    def schedule(
        self, name: str, when: When, /, **options: Unpack[ScheduleOptions]
    ) -> Recurring: ...

    def schedule(
        self,
        name: str,
        when: When,
        work: Call[Any] | str | None = None,
        payload: Mapping[str, Any] | None = None,
        /,
        **options: Unpack[ScheduleOptions],
    ) -> ScheduleDraft | Recurring:
        """Declare a schedule; ``mainspring deploy`` brings it into the store.

        >>> app.schedule("nightly", "0 2 * * *", report.call(kind="daily"), zone="Europe/Berlin")

        Without work it decorates a job that needs no arguments:

        >>> @app.schedule("tidy", "every 15m")
        ... @app.job()
        ... async def tidy() -> None: ...
        """
        if work is None:
            rules_of(when)
            read_schedule_options(options)
            return Recurring(lambda job: self._add_schedule(name, when, job.call(), None, options))
        return self._add_schedule(name, when, work, payload, options)

    def calendar(
        self,
        name: str,
        entries: Sequence[str],
        /,
        *,
        business_days: str = "MON-FRI",
        tenant: str | None = None,
    ) -> CalendarDraft:
        """Declare a calendar: days that schedules leave out, or keep to.

        >>> app.calendar("holidays", ["12-25", "2027-04-05", "2027-12-24T18:00..2027-12-27T06:00"])
        """
        draft = calendar_draft(name, entries, business_days=business_days, tenant=tenant)
        _check_new("calendar", name, self.calendars)
        self.calendars[name] = draft
        return draft

    def _add_schedule(
        self,
        name: str,
        when: When,
        work: Call[Any] | str,
        payload: Mapping[str, Any] | None,
        options: ScheduleOptions,
    ) -> ScheduleDraft:
        draft = schedule_draft(name, when, work_of(work, payload), options)
        _check_new("schedule", name, self.schedules)
        self.schedules[name] = draft
        return draft

    # --- Where submissions go -------------------------------------------------------------------

    @property
    def door(self) -> Door:
        """Return where submissions go now: the door that was opened last and is still open."""
        return self._doors[-1] if self._doors else self.default_door()

    async def adoor(self) -> Door:
        """Return where submissions go now; opening it does not hold up the loop."""
        if self._doors:
            return self._doors[-1]
        return await asyncio.to_thread(self.default_door)

    @contextmanager
    def use(self, door: Door) -> Iterator[None]:
        """Let submissions of this app's jobs go through ``door`` inside the ``with`` block."""
        self._doors.append(door)
        try:
            yield
        finally:
            # Blocks may end in another order than they began: the last of equal ones goes.
            place = max(at for at, known in enumerate(self._doors) if known is door)
            del self._doors[place]

    def default_door(self) -> Door:
        """Return where submissions go while nothing is open. A bare declaration has no such."""
        raise Conflict(
            f"the app {self.name!r} is not connected",
            hint="submit inside: async with app.connect(), or with app.connect_sync()",
        )

    def borrowed(self, connection: object) -> Door:
        """Return a door into the open transaction of a caller's connection."""
        raise _unwired(connection)

    def deferred(self, session: object) -> Door:
        """Return a door that submits after a session's commit."""
        raise _unwired(session)

    def finisher(self, attempt: Any) -> Finisher:
        """Return what finishes an attempt in its handler's own transaction."""
        raise _unwired(attempt)

    def __repr__(self) -> str:
        """Name the app and count its handlers."""
        return f"<App {self.name} with {len(self.handlers)} handlers>"


def work_of(work: object, payload: Any = None) -> Submission:
    """Return what the fires of a schedule submit: a call, or a kind by its name with a payload."""
    if isinstance(work, Call):
        if payload is not None:
            raise InvalidInput(
                "payload: the call has its arguments already", hint=f"write {work.job.kind}.call"
            )
        submission: Submission = work.submission
        return submission
    if not isinstance(work, str):
        hint = "write job.call(...), or the name of a kind with a payload"
        if isinstance(work, Job):
            hint = f"write {work.kind}.call(...)"
        raise InvalidInput(f"{work!r} is no call", hint=hint)
    return Submission(kind=work, payload=encoded({} if payload is None else payload))


def _check_new(what: str, name: str, known: Collection[str]) -> None:
    if name in known:
        raise InvalidInput(
            f"the {what} {name!r} is declared twice", hint="give one of them another name"
        )


def _name(name: object) -> str:
    if isinstance(name, str) and name and name.isprintable():
        return name
    raise InvalidInput(f"{name!r} is no name of an app", hint='write App("shop")')


def _lifespan(given: Any) -> Any:
    if given is None or callable(given):
        return given
    raise InvalidInput(
        f"lifespan: a {type(given).__name__} cannot be called",
        hint="give the function itself, without (): it is entered once in each process",
    )


def _middleware(given: Any) -> tuple[Middleware, ...]:
    hint = "give a list of functions or objects that take a context: middleware=[traced]"
    try:
        found = tuple(given)
    except TypeError:
        raise InvalidInput(f"middleware: {given!r} is no list", hint=hint) from None
    for one in found:
        if not callable(one):
            raise InvalidInput(f"middleware: {one!r} cannot be called", hint=hint)
    return found


def _defaults(options: HandlerOptions) -> Chosen:
    """Return what a declaration binds to every submission that goes through its job."""
    plain: dict[str, Any] = {name: options.get(name) for name in OPTION_NAMES if name != "retry"}
    chosen = read_options(plain)
    fields = {name: item for name, item in chosen.fields.items() if name not in _DECLARED_FIELDS}
    return Chosen(fields, chosen.unique)


def _with_unique(info: HandlerInfo, chosen: Chosen) -> HandlerInfo:
    """Return the declaration with what also holds for those who submit by the kind's name."""
    names = ("unique_while", "on_duplicate", "delay_ms")
    fields = {name: chosen.fields[name] for name in names if chosen.fields.get(name) is not None}
    return msgspec.structs.replace(info, unique=chosen.unique, **fields)


def _refuse_running_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise Conflict("run() would stop the loop that runs here", hint="await arun()")


def _unwired(connection: object) -> InvalidInput:
    found = f"{type(connection).__module__}.{type(connection).__qualname__}"
    return InvalidInput(
        f"a {found} is no connection whose transaction can be used",
        hint="give a connection or session of psycopg, asyncpg, sqlite3, SQLAlchemy or Django",
    )


class Failure(msgspec.Struct, frozen=True):
    """What an ``on_exhausted`` handler receives as its parameter ``failure``."""

    job_id: str
    kind: str
    reason: str
    error_type: str
    error_message: str
    attempts: int
    payload: dict[str, Any] | None = None
