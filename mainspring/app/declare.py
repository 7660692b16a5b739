"""``App`` and ``@app.job``: how users declare what can be run, and make calls of it.

>>> app = App("shop")
>>> @app.job(queue="mail", timeout="30s")
... async def send_receipt(order_id: int, *, copy_to: str | None = None) -> str:
...     return "msg-1"
>>> send_receipt.call(order_id=7).payload
b'{"order_id":7}'
"""

from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

import msgspec

from mainspring.app.context import Context
from mainspring.app.durations import milliseconds
from mainspring.app.handlers import Handler, Retry, handler_info, mode_of
from mainspring.domain.errors import InvalidInput, NaiveDatetime
from mainspring.ports.gateway import Submission

P = ParamSpec("P")
R = TypeVar("R")


class Call(Generic[R]):
    """One bound, unsent call of a handler: submit it, schedule it, or put it into a batch."""

    __slots__ = ("job", "payload", "submission")

    def __init__(self, job: "Job[..., R]", submission: Submission) -> None:
        """Keep the validated submission."""
        self.job = job
        self.submission = submission
        self.payload = submission.payload

    def options(  # noqa: PLR0913 - options, all by name
        self,
        *,
        delay: str | timedelta | None = None,
        at: datetime | None = None,
        key: str | None = None,
        queue: str | None = None,
        priority: str | int | None = None,
        timeout: str | timedelta | None = None,
        max_attempts: int | None = None,
        effect_key: str | None = None,
    ) -> "Call[R]":
        """Return the same call with options of this submission."""
        if delay is not None and at is not None:
            raise InvalidInput("delay and at: both were given", hint="give one of them")
        if at is not None and at.tzinfo is None:
            raise NaiveDatetime(f"at: {at.isoformat()} has no time zone")
        given: dict[str, Any] = {
            "delay_ms": None if delay is None else milliseconds(delay, name="delay"),
            "due_at": None if at is None else at.isoformat(),
            "key": key,
            "queue": queue,
            "priority": priority,
            "timeout_ms": None if timeout is None else milliseconds(timeout, name="timeout"),
            "max_attempts": max_attempts,
            "effect_key": effect_key,
        }
        chosen = {name: value for name, value in given.items() if value is not None}
        return Call(self.job, msgspec.structs.replace(self.submission, **chosen))


class Job(Generic[P, R]):
    """A decorated handler. Calling it calls the plain function."""

    def __init__(self, function: Callable[..., Any], handler: Handler) -> None:
        """Wrap the function; made by ``@app.job``."""
        self.function = function
        self.handler = handler
        self.kind = handler.kind
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", handler.kind)
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the plain function, here and now."""
        return self.function(*args, **kwargs)

    def call(self, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        """Bind arguments, validated by the handler's types, without sending anything."""
        payload = self.handler.codec.encode(args, kwargs)
        wanted = Submission(
            kind=self.kind, payload=payload, kind_is_known=True, declared=self.handler.info
        )
        return Call(cast("Job[..., R]", self), wanted)

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


class App:
    """Handlers with their defaults. Opens nothing; any number may live in one process."""

    def __init__(
        self,
        name: str,
        *,
        lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None,
    ) -> None:
        """Make an empty app. ``lifespan`` yields what ``ctx.deps`` holds, once per process."""
        self.name = name
        self.lifespan = lifespan
        self.handlers: dict[str, Handler] = {}

    def job(  # noqa: PLR0913 - options, all by name
        self,
        *,
        kind: str | None = None,
        queue: str = "default",
        priority: str | int = "normal",
        retry: Retry | None = None,
        timeout: str | timedelta = "5m",
        isolated: bool = False,
        on_exhausted: "str | Job[..., Any] | None" = None,
    ) -> _Declare:
        """Declare a handler.

        ``isolated`` runs it in a process of its own, which is really killed on timeout or cancel.
        ``on_exhausted`` names the job that is submitted, in the same transaction, when one of
        these goes dead; it receives a ``Failure``.
        """

        def declare(function: Callable[..., Any]) -> Job[..., Any]:
            name: str = kind or str(getattr(function, "__name__", ""))
            after = on_exhausted.kind if isinstance(on_exhausted, Job) else on_exhausted
            mode = mode_of(function, isolated=isolated)
            info = handler_info(
                kind=name,
                queue=queue,
                priority=priority,
                retry=retry,
                timeout=timeout,
                on_exhausted=after,
                mode=mode,
                doc=(function.__doc__ or "").strip().partition("\n")[0],
            )
            if name in self.handlers:
                raise InvalidInput(
                    f"the app {self.name!r} already has a handler of the kind {name!r}",
                    hint="give one of them another name with kind=",
                )
            retry_on = retry.on if retry else ()
            handler = Handler(function, kind=name, info=info, retry_on=retry_on, mode=mode)
            self.handlers[name] = handler
            return Job(function, handler)

        return _Declare(declare)

    def __repr__(self) -> str:
        """Name the app and count its handlers."""
        return f"<App {self.name} with {len(self.handlers)} handlers>"


class Failure(msgspec.Struct, frozen=True):
    """What an ``on_exhausted`` handler receives as its parameter ``failure``."""

    job_id: str
    kind: str
    reason: str
    error_type: str
    error_message: str
    attempts: int
    payload: dict[str, Any] | None = None
