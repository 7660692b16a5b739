"""One attempt inside the process that runs it: its flags, its log and its progress."""

import asyncio
import contextvars
from enum import Enum, auto
from typing import Any, Final, Protocol

from mainspring.app.context import Context
from mainspring.app.declare import App
from mainspring.app.files import FileRef
from mainspring.app.fires import fire_of
from mainspring.app.handlers import Handler
from mainspring.app.transaction import Finisher
from mainspring.domain.job import Claimed
from mainspring.domain.outcome import Outcome, Progress
from mainspring.ports.clock import monotonic
from mainspring.worker.logs import LogBuffer


class Stop(Enum):
    """Why an attempt is being stopped."""

    TIMEOUT = auto()
    #: No sign of life for longer than its heartbeat allows.
    SILENT = auto()
    CANCEL = auto()
    #: The worker goes away; the job is handed back.
    RELEASE = auto()
    #: The job is no longer ours: what the handler returns concerns nobody.
    LOST = auto()


class Saver(Protocol):
    """Keeps the files of attempts."""

    def save(self, claimed: Claimed, path: str, name: str) -> FileRef:
        """Keep a file, from a thread."""
        ...

    async def asave(self, claimed: Claimed, path: str, name: str) -> FileRef:
        """Keep a file."""
        ...


class Attempt:
    """What a child keeps of an attempt that it runs. Made by the thousand: slots, no properties."""

    __slots__ = (
        "alone",
        "app",
        "claimed",
        "done",
        "files",
        "finished",
        "handler",
        "line_count",
        "logs",
        "progress",
        "runner",
        "shown_at",
        "started_at",
        "stop",
        "wake_at",
    )

    def __init__(self, claimed: Claimed, app: App, logs: LogBuffer, started_at: float) -> None:
        """Describe an attempt that begins now (monotonic seconds)."""
        self.claimed = claimed
        self.app = app
        self.handler: Handler = app.handlers[claimed.kind]
        self.logs = logs
        #: Keeps its files; none where nobody can.
        self.files: Saver | None = None
        self.started_at = started_at
        #: When its deadline, or while it is being stopped its grace, is over.
        self.wake_at = started_at + claimed.timeout_ms / 1_000
        #: When it last showed a sign of life; kept where the handler has a heartbeat.
        self.shown_at = started_at
        self.stop: Stop | None = None
        #: Its outcome is settled; whatever comes later is dropped.
        self.done = False
        #: How it ended, once ``ctx.transaction`` has committed that.
        self.finished: Outcome | None = None
        #: The coroutine that runs it, while it is on the loop.
        self.runner: asyncio.Task[None] | None = None
        #: Runs in an isolate, by its handler's mode or as a suspect.
        self.alone = False
        self.line_count = 0
        self.progress: Progress | None = None

    def context(self, deps: object) -> Context[Any]:
        """Return what the handler sees of this attempt."""
        claimed = self.claimed
        return Context(
            job_id=claimed.job_id,
            attempt=claimed.attempt,
            kind=claimed.kind,
            queue=claimed.queue,
            tenant=claimed.tenant,
            tries=claimed.tries,
            max_attempts=claimed.max_attempts,
            due_at=claimed.due_at,
            started_at=claimed.started_at,
            created_at=claimed.created_at,
            timeout_seconds=claimed.timeout_ms / 1_000,
            effect_key=claimed.effect_key,
            deps=deps,
            log=self.log,
            progress=self.move,
            cancelled=self.is_stopping,
            heartbeat=self.show,
            files=None if self.files is None else self,
            finisher=self.finisher,
            fire=fire_of(claimed.fire, claimed.started_at),
        )

    def finisher(self) -> Finisher:
        """Return what finishes this attempt in a transaction of its handler's."""
        return self.app.finisher(self)

    def encoded(self, result: object) -> bytes | None:
        """Return a result as JSON text."""
        return None if result is None else self.handler.encode_result(result)

    def is_stopping(self) -> bool:
        """Tell whether the handler should stop."""
        return self.stop is not None or self.done

    def save(self, path: str, name: str) -> FileRef:
        """Keep a file, from a thread."""
        self.show()
        return self._saver().save(self.claimed, path, name)

    async def asave(self, path: str, name: str) -> FileRef:
        """Keep a file."""
        self.show()
        return await self._saver().asave(self.claimed, path, name)

    def _saver(self) -> Saver:
        assert self.files is not None
        return self.files

    def show(self) -> None:
        """Take a sign of life."""
        self.shown_at = monotonic()

    def log(self, level: str, message: str, fields: dict[str, object]) -> None:
        """Keep a line of ``ctx.log`` and pass it on to the process's own logging."""
        self.show()
        self.logs.keep(self, level, message, fields)
        self.logs.pass_on(self, level, message, fields)

    def move(self, done: float, total: float | None, note: str) -> None:
        """Keep the latest progress."""
        self.show()
        claimed = self.claimed
        self.progress = Progress(claimed.job_id, claimed.attempt, done, total, note)


#: The attempt whose handler runs here, in this coroutine or thread and in what it starts.
CURRENT: Final[contextvars.ContextVar[Attempt | None]] = contextvars.ContextVar(
    "mainspring_attempt", default=None
)
