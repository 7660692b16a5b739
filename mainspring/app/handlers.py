"""A handler: the user's function with its name, its defaults and its codec."""

import inspect
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, Literal

import msgspec

from mainspring.app.codec import Codec
from mainspring.app.durations import milliseconds
from mainspring.app.options import Options
from mainspring.domain.errors import InvalidInput
from mainspring.domain.job import (
    DEFAULT_MAX_ATTEMPTS,
    DEFAULT_MAX_CRASHES,
    DEFAULT_QUEUE,
    DEFAULT_TIMEOUT_MS,
    Backoff,
    HandlerInfo,
    Priority,
)
from mainspring.domain.limits import (
    DELAY_SECONDS_MAX,
    KIND_CHARACTERS_MAX,
    MAX_ATTEMPTS_MAX,
    MAX_CRASHES_MAX,
    QUEUE_CHARACTERS_MAX,
    TIMEOUT_SECONDS_MAX,
)
from mainspring.domain.names import check_name, check_range, priority_of

Mode = Literal["async", "thread", "process"]
DEFAULT_TIMEOUT: Final = timedelta(milliseconds=DEFAULT_TIMEOUT_MS)


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """How failures of a handler are retried.

    >>> Retry(max_attempts=6, initial="2s", cap="5m")
    Retry(max_attempts=6, initial='2s', factor=2.0, cap='5m', jitter=0.3, max_crashes=3, on=())
    """

    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    initial: str | timedelta = "1s"
    factor: float = 2.0
    cap: str | timedelta = "300s"
    jitter: float = 0.3
    #: How many times the job may take its process down before it is poison.
    max_crashes: int = DEFAULT_MAX_CRASHES
    #: Only these exceptions are retried; an empty tuple means every one.
    on: tuple[type[BaseException], ...] = ()

    def backoff(self) -> Backoff:
        """Return the back-off in the form that is stored."""
        if not 1 <= self.factor <= 100:
            raise InvalidInput(f"factor: {self.factor} is not between 1 and 100")
        if not 0 <= self.jitter <= 1:
            raise InvalidInput(f"jitter: {self.jitter} is not between 0 and 1")
        most = DELAY_SECONDS_MAX * 1_000
        initial_ms = milliseconds(self.initial, name="initial")
        cap_ms = milliseconds(self.cap, name="cap")
        return Backoff(
            initial_ms=check_range("initial (ms)", initial_ms, 0, most),
            factor=self.factor,
            cap_ms=check_range("cap (ms)", cap_ms, 0, most),
            jitter=self.jitter,
        )


class Handler:
    """One kind of work: found by ``kind``, run by a worker in its ``mode``."""

    __slots__ = ("codec", "function", "info", "kind", "mode", "retry_on", "takes_context")

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        kind: str,
        info: HandlerInfo,
        retry_on: tuple[type[BaseException], ...],
        mode: Mode,
    ) -> None:
        """Keep the declaration; ``info`` is what submissions and other processes need of it."""
        self.function = function
        self.kind = kind
        self.codec = Codec(kind, function)
        self.takes_context = self.codec.takes_context
        self.mode: Mode = mode
        self.retry_on = retry_on
        self.info = msgspec.structs.replace(info, schema=self.codec.schema())

    def decode(self, payload: bytes) -> dict[str, Any]:
        """Return keyword arguments from a payload, or raise ``InvalidPayload``."""
        return self.codec.decode(payload)

    def encode_result(self, value: object) -> bytes | None:
        """Return the result as JSON text, or raise ``InvalidPayload``."""
        return self.codec.encode_result(value)

    def is_permanent(self, error: BaseException) -> bool:
        """Tell whether the declaration forbids to retry after this exception."""
        return bool(self.retry_on) and not isinstance(error, self.retry_on)


def mode_of(function: Callable[..., Any], *, isolated: bool) -> Mode:
    """Return how a function is run: on the loop, in a thread, or in a process of its own."""
    if isolated:
        return "process"
    return "async" if inspect.iscoroutinefunction(function) else "thread"


def handler_info(
    *,
    kind: str,
    options: Options,
    on_exhausted: str | None = None,
    mode: Mode = "async",
    doc: str = "",
) -> HandlerInfo:
    """Return the validated defaults of a handler, or raise naming the option that is wrong."""
    retry = options.get("retry")
    if retry is not None and not isinstance(retry, Retry):
        raise InvalidInput(f"retry: {retry!r} is no Retry", hint="write Retry(max_attempts=3)")
    chosen = retry or Retry()
    most = options.get("max_attempts")
    timeout_ms = milliseconds(_or(options.get("timeout"), DEFAULT_TIMEOUT), name="timeout")
    return HandlerInfo(
        kind=check_name("kind", kind, KIND_CHARACTERS_MAX),
        queue=check_name("queue", _or(options.get("queue"), DEFAULT_QUEUE), QUEUE_CHARACTERS_MAX),
        priority=priority_of(_or(options.get("priority"), Priority.NORMAL)),
        max_attempts=check_range(
            "max_attempts", _or(most, chosen.max_attempts), 1, MAX_ATTEMPTS_MAX
        ),
        max_crashes=check_range("max_crashes", chosen.max_crashes, 1, MAX_CRASHES_MAX),
        backoff=None if retry is None else retry.backoff(),
        timeout_ms=check_range("timeout (ms)", timeout_ms, 1, TIMEOUT_SECONDS_MAX * 1_000),
        on_exhausted=None
        if on_exhausted is None
        else check_name("on_exhausted", on_exhausted, KIND_CHARACTERS_MAX),
        mode=mode,
        doc=doc,
    )


def _or(given: Any, default: Any) -> Any:
    return default if given is None else given
