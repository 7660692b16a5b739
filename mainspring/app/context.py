"""What a running handler sees of its attempt, and what it may tell."""

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, SupportsFloat, overload

from mainspring.app.files import FileRef, FileSink
from mainspring.app.fires import Fire
from mainspring.app.signals import Cancelled
from mainspring.app.transaction import Finisher, Transaction
from mainspring.domain.errors import Conflict, InvalidInput
from mainspring.domain.ids import show_job
from mainspring.ports.clock import utc_now

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # A bare ``Context`` is one without dependencies. Were it ``Context[Any]``, type checkers would
    # lose the parameters and the result of every handler that takes one.
    Deps = TypeVar("Deps", default=None)
    C = TypeVar("C")
else:
    from typing import TypeVar

    Deps = TypeVar("Deps")
    C = TypeVar("C")


_FILE_NAME_CHARACTERS_MAX = 255
#: Up to here whole numbers and floating ones are the same.
_EXACT = 2**53
_WRITE_PROGRESS = 'write ctx.progress(7, 10, "rows")'


class LogSink(Protocol):
    """Takes the log lines of one attempt (the worker keeps and bounds them)."""

    def __call__(self, level: str, message: str, fields: dict[str, object]) -> None:
        """Take one line."""
        ...


class ProgressSink(Protocol):
    """Takes the progress of one attempt."""

    def __call__(self, done: float, total: float | None, note: str) -> None:
        """Take the latest state."""
        ...


class HeartbeatSink(Protocol):
    """Takes a sign of life of one attempt."""

    def __call__(self) -> None:
        """Take it."""
        ...


class JobLog:
    """``ctx.log``: structured lines, kept with the attempt and passed on to logging."""

    __slots__ = ("_sink",)

    def __init__(self, sink: LogSink) -> None:
        """Write into ``sink``."""
        self._sink = sink

    def debug(self, message: str, **fields: object) -> None:
        """Keep a line for those who look closely."""
        self._sink("debug", message, fields)

    def info(self, message: str, **fields: object) -> None:
        """Keep a line about normal work."""
        self._sink("info", message, fields)

    def warning(self, message: str, **fields: object) -> None:
        """Keep a line about something odd."""
        self._sink("warning", message, fields)

    def error(self, message: str, **fields: object) -> None:
        """Keep a line about something wrong."""
        self._sink("error", message, fields)


class Context(Generic[Deps]):
    """One attempt, from the inside. The first parameter of a handler, if it wants it.

    >>> @app.job()
    ... def export(ctx: Context, pages: int) -> None:
    ...     for page in range(pages):
    ...         ctx.raise_if_cancelled()
    ...         ctx.progress(page + 1, pages, "writing")
    """

    __slots__ = (
        "_cancelled",
        "_deps",
        "_effect_key",
        "_files",
        "_finisher",
        "_heartbeat",
        "_job_id",
        "_progress",
        "attempt",
        "created_at",
        "due_at",
        "fire",
        "kind",
        "log",
        "max_attempts",
        "queue",
        "started_at",
        "tenant",
        "timeout_seconds",
        "tries",
    )

    def __init__(  # noqa: PLR0913 - options, all by name
        self,
        *,
        job_id: bytes,
        attempt: int,
        kind: str,
        queue: str = "default",
        tenant: str = "default",
        tries: int = 1,
        max_attempts: int = 5,
        due_at: datetime,
        started_at: datetime,
        created_at: datetime,
        timeout_seconds: float = 300.0,
        effect_key: str | None = None,
        deps: Deps | None = None,
        log: LogSink,
        progress: ProgressSink,
        cancelled: threading.Event | Callable[[], bool],
        heartbeat: HeartbeatSink | None = None,
        files: FileSink | None = None,
        finisher: Callable[[], Finisher] | None = None,
        fire: Fire | None = None,
    ) -> None:
        """Describe one attempt; made by the worker, or by tests."""
        # Shown when asked for: most handlers never do, and it is the dearest part of a context.
        self._job_id = job_id
        self._effect_key = effect_key
        #: The fence: grows with every claim. Pass it on to stores that can refuse older ones.
        self.attempt: int = attempt
        self.kind: str = kind
        self.queue: str = queue
        self.tenant: str = tenant
        #: Which execution this is, of at most ``max_attempts``.
        self.tries: int = tries
        self.max_attempts: int = max_attempts
        self.due_at: datetime = due_at
        self.started_at: datetime = started_at
        self.created_at: datetime = created_at
        self.timeout_seconds: float = timeout_seconds
        #: The fire that this job is; ``None`` for a job that no schedule made.
        self.fire: Fire | None = fire
        self.log: JobLog = JobLog(log)
        self._deps = deps
        self._progress = progress
        self._cancelled = cancelled
        self._heartbeat = heartbeat
        self._files = files
        self._finisher = finisher

    @property
    def job_id(self) -> str:
        """Return the job's id as people see it: ``job_…``."""
        return show_job(self._job_id)

    @property
    def idempotency_key(self) -> str:
        """Return a key that is the same in every attempt of the job, for the services you call."""
        return self._effect_key or self.job_id

    @property
    def deps(self) -> Deps:
        """Return what the app's lifespan yielded."""
        if self._deps is None:
            raise RuntimeError(
                "there are no dependencies: the app has no lifespan, or this context no deps"
            )
        return self._deps

    @property
    def cancelled(self) -> bool:
        """Tell whether this attempt should stop: cancelled, timed out, lease lost, or shut down."""
        flag = self._cancelled
        return flag.is_set() if isinstance(flag, threading.Event) else flag()

    def raise_if_cancelled(self) -> None:
        """Stop here, by ``Cancelled``, if this attempt should stop. Call it in long loops."""
        if self.cancelled:
            raise Cancelled

    def progress(
        self, done: SupportsFloat, total: SupportsFloat | None = None, note: str = ""
    ) -> None:
        """Tell how far this is; shown on the command line and the page. Cheap to call often."""
        if not isinstance(note, str):
            raise InvalidInput(f"note: {note!r} is no text", hint=_WRITE_PROGRESS)
        whole = None if total is None else _number("total", total)
        self._progress(_number("done", done), whole, note)

    def save_file(self, path: str | PathLike[str], *, name: str | None = None) -> FileRef:
        """Keep a file with the job; return the reference that the handler may return.

        Blocks until it is durable: in an async handler, await ``asave_file``.
        """
        return self._sink().save(*_path_and_name(path, name))

    async def asave_file(self, path: str | PathLike[str], *, name: str | None = None) -> FileRef:
        """Keep a file with the job; return the reference that the handler may return."""
        return await self._sink().asave(*_path_and_name(path, name))

    def _sink(self) -> FileSink:
        if self._files is None:
            raise Conflict(
                "this context keeps no files",
                hint="in a test, give the handler mainspring.testing.context()",
            )
        return self._files

    def heartbeat(self) -> None:
        """Show a sign of life, for a handler with ``heartbeat=``. Progress and log do as well."""
        if self._heartbeat is not None:
            self._heartbeat()

    @overload
    def transaction(
        self, connection: None = None, *, result: object = None
    ) -> Transaction[Any]: ...

    @overload
    def transaction(self, connection: C, *, result: object = None) -> Transaction[C]: ...

    def transaction(self, connection: Any = None, *, result: object = None) -> Transaction[Any]:
        """Return a transaction whose commit also ends this attempt, with ``result``.

        >>> with ctx.transaction(connection) as tx:
        ...     connection.execute("INSERT INTO payments ...")
        ...     tx.result = "paid"

        What is written on the connection and the end of the job become visible together, or not at
        all. The connection must lead to the store's own database: psycopg, asyncpg, sqlite3,
        SQLAlchemy or Django; with none given, ``tx.connection`` is one.
        """
        if self._finisher is None:
            raise Conflict(
                "this attempt has no store, so it cannot be finished in a transaction",
                hint="run it by a worker, or test the handler without ctx.transaction",
            )
        return Transaction(self._finisher(), connection, result)

    def __repr__(self) -> str:
        """Name the attempt."""
        return f"<Context {self.kind} {self.job_id}:{self.attempt}>"


def _path_and_name(path: str | PathLike[str], name: str | None) -> tuple[str, str]:
    """Return the absolute path and the name under which the file is kept."""
    place = Path(fspath(path)).absolute()
    shown = place.name if name is None else name
    if not shown or len(shown) > _FILE_NAME_CHARACTERS_MAX or not shown.isprintable():
        raise InvalidInput(
            f"name: {shown[:40]!r} is no name of a file",
            hint=f"use 1 to {_FILE_NAME_CHARACTERS_MAX} printable characters",
        )
    return str(place), shown


def _number(name: str, given: Any) -> float:
    """Return a number that every store can keep; a handler's mistake fails its own attempt."""
    if type(given) is float or (type(given) is int and -_EXACT <= given <= _EXACT):
        return given
    if not isinstance(given, str | bytes):
        with suppress(TypeError, ValueError, OverflowError):
            return float(given)
    kind = type(given).__name__
    raise InvalidInput(f"{name}: this {kind} is no number that can be kept", hint=_WRITE_PROGRESS)


def _drop_line(level: str, message: str, fields: dict[str, object]) -> None:
    """Keep nothing."""


def _drop_progress(done: float, total: float | None, note: str) -> None:
    """Keep nothing."""


def bare_context(*, kind: str, queue: str = "default") -> Context[Any]:
    """Return the context of no attempt in particular: what it is told goes nowhere."""
    now = utc_now()
    return Context(
        job_id=bytes(16),
        attempt=1,
        kind=kind,
        queue=queue,
        due_at=now,
        started_at=now,
        created_at=now,
        log=_drop_line,
        progress=_drop_progress,
        cancelled=lambda: False,
    )
