"""A handler: the user's function with its name, its defaults and its codec."""

import inspect
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, Literal, cast

import msgspec

from mainspring.app.codec import Codec
from mainspring.app.context import Context
from mainspring.app.durations import check_duration, milliseconds, words
from mainspring.app.middleware import Middleware, await_inside, call_inside
from mainspring.app.options import Options
from mainspring.app.retries import Retry, check_retry
from mainspring.domain.errors import InvalidInput
from mainspring.domain.job import (
    DEFAULT_QUEUE,
    DEFAULT_TIMEOUT_MS,
    HandlerInfo,
    Priority,
)
from mainspring.domain.limits import (
    KIND_CHARACTERS_MAX,
    MAX_ATTEMPTS_MAX,
    MAX_CRASHES_MAX,
    QUEUE_CHARACTERS_MAX,
    TIMEOUT_SECONDS_MAX,
)
from mainspring.domain.names import check_name, check_range, priority_of

Mode = Literal["async", "thread", "process"]
#: Silence is looked for twice a second.
HEARTBEAT_MS_MIN: Final = 1_000
DEFAULT_TIMEOUT: Final = timedelta(milliseconds=DEFAULT_TIMEOUT_MS)


class Handler:
    """One kind of work: found by ``kind``, run by a worker in its ``mode``."""

    __slots__ = (
        "codec",
        "function",
        "heartbeat_ms",
        "info",
        "kind",
        "middleware",
        "mode",
        "retry_on",
        "takes_context",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        info: HandlerInfo,
        retry_on: tuple[type[BaseException], ...],
        heartbeat_ms: int | None,
        middleware: tuple[Middleware, ...],
    ) -> None:
        """Keep the declaration; ``info`` is what submissions and other processes need of it."""
        self.function: Callable[..., Any] = function
        self.kind: str = info.kind
        self.codec: Codec = Codec(info.kind, function)
        self.takes_context: bool = self.codec.takes_context
        self.mode: Mode = cast("Mode", info.mode)
        self.retry_on: tuple[type[BaseException], ...] = retry_on
        #: An attempt that shows no sign of life for so long is stopped.
        self.heartbeat_ms: int | None = heartbeat_ms
        self.middleware: tuple[Middleware, ...] = middleware
        self.info: HandlerInfo = msgspec.structs.replace(info, schema=self.codec.schema())

    @property
    def is_async(self) -> bool:
        """Tell whether the function must be awaited, in whatever process."""
        return inspect.iscoroutinefunction(self.function)

    def decode(self, payload: bytes) -> dict[str, Any]:
        """Return keyword arguments from a payload, or raise ``InvalidPayload``."""
        return self.codec.decode(payload)

    def encode_result(self, value: object) -> bytes | None:
        """Return the result as JSON text, or raise ``InvalidPayload``."""
        return self.codec.encode_result(value)

    def invoke(self, context: Callable[[], Context[Any]], arguments: dict[str, Any]) -> Any:
        """Call a sync handler inside the app's middleware; the context is made if needed."""
        if not self.middleware:
            if self.takes_context:
                return self.function(context(), **arguments)
            return self.function(**arguments)
        made = context()
        given = (made,) if self.takes_context else ()
        return call_inside(self.middleware, made, lambda: self.function(*given, **arguments))

    async def ainvoke(self, context: Callable[[], Context[Any]], arguments: dict[str, Any]) -> Any:
        """Await an async handler inside the app's middleware."""
        if not self.middleware and not self.takes_context:
            return await self.function(**arguments)
        made = context()
        given = (made,) if self.takes_context else ()
        return await await_inside(self.middleware, made, lambda: self.function(*given, **arguments))

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
    kind = check_name("kind", kind, KIND_CHARACTERS_MAX)
    retry = options.get("retry")
    chosen = Retry() if retry is None else check_retry(retry)
    most = options.get("max_attempts")
    timeout_ms = milliseconds(_or(options.get("timeout"), DEFAULT_TIMEOUT), name="timeout")
    return HandlerInfo(
        kind=kind,
        queue=check_name("queue", _or(options.get("queue"), DEFAULT_QUEUE), QUEUE_CHARACTERS_MAX),
        priority=priority_of(_or(options.get("priority"), Priority.NORMAL)),
        max_attempts=check_range(
            "max_attempts", _or(most, chosen.max_attempts), 1, MAX_ATTEMPTS_MAX
        ),
        max_crashes=check_range("max_crashes", chosen.max_crashes, 1, MAX_CRASHES_MAX),
        backoff=None if retry is None else chosen.wait,
        timeout_ms=check_duration("timeout", timeout_ms, 1, TIMEOUT_SECONDS_MAX * 1_000),
        on_exhausted=None
        if on_exhausted is None
        else check_name("on_exhausted", on_exhausted, KIND_CHARACTERS_MAX),
        mode=mode,
        doc=doc,
    )


def heartbeat_ms(given: str | timedelta | None, timeout_ms: int) -> int | None:
    """Return how long an attempt may be silent, in milliseconds."""
    if given is None:
        return None
    found = milliseconds(given, name="heartbeat")
    if found > timeout_ms:
        raise InvalidInput(
            f"heartbeat: {words(found)} is longer than the timeout of {words(timeout_ms)}",
            hint="make it shorter, or leave it out",
        )
    return check_duration("heartbeat", found, HEARTBEAT_MS_MIN, TIMEOUT_SECONDS_MAX * 1_000)


def _or(given: Any, default: Any) -> Any:
    return default if given is None else given
