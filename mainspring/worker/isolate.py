"""An isolate: a process that runs one attempt at a time and can be killed at any moment.

It talks over one socket: an attempt comes in; log lines, progress and the outcome go out. SIGTERM
asks the handler to stop (``Cancelled`` or ``CancelledError`` is raised inside it); SIGKILL does
not ask.
"""

import asyncio
import contextlib
import contextvars
import os
import signal
import socket
import threading
from concurrent.futures import Future
from contextlib import AsyncExitStack
from queue import SimpleQueue
from typing import Any, Final

from mainspring.app import signals
from mainspring.app.declare import App
from mainspring.app.files import FileRef
from mainspring.domain.errors import BY_CODE, InvalidInput, MainspringError
from mainspring.domain.job import Claimed
from mainspring.domain.outcome import LogLine, Outcome
from mainspring.ports.clock import monotonic
from mainspring.worker import outcomes
from mainspring.worker.attempt import CURRENT, Attempt, Stop
from mainspring.worker.control import (
    TO_ISOLATE,
    Alive,
    Broken,
    Ended,
    Execute,
    FromIsolate,
    LineBuffer,
    Logged,
    Moved,
    Save,
    Saved,
    ToIsolate,
    Warm,
    line,
)
from mainspring.worker.files import refuse_loop
from mainspring.worker.logs import LogBuffer, capture_logging
from mainspring.worker.threads import call

_RECEIVED_BYTES: Final = 262_144
_PROGRESS_SECONDS: Final = 0.1


class _SocketLog(LogBuffer):
    """Sends each line at once: it must be out when the process is killed."""

    def __init__(self, send: "Sender") -> None:
        super().__init__()
        self._send = send

    def keep(self, attempt: Attempt, level: str, message: str, fields: dict[str, object]) -> None:
        super().keep(attempt, level, message, fields)
        lines: list[LogLine] = self.take()
        for kept in lines:
            self._send(Logged(kept))


class Sender:
    """Writes words, from whatever thread."""

    def __init__(self, connection: socket.socket) -> None:
        """Write to ``connection``."""
        self._connection = connection
        self._guard = threading.Lock()
        self._in_main = False
        self._stop_wanted = False

    def __call__(self, word: FromIsolate) -> None:
        """Send one word; end this process if nobody listens any more."""
        is_main = threading.current_thread() is threading.main_thread()
        if is_main:
            self._in_main = True
        with self._guard:
            try:
                self._connection.sendall(line(word))
            except OSError:
                os._exit(1)
        if is_main:
            self._in_main = False
            if self._stop_wanted:
                self._stop_wanted = False
                raise signals.Cancelled

    def defers_stop(self) -> bool:
        """Tell whether the main thread is writing: a line cut in half would end the talk.

        Then the writer itself raises ``Cancelled``, as soon as the line is out.
        """
        self._stop_wanted = self._in_main
        return self._in_main


class _FilesOverThere:
    """Has files kept by the child process, which has the gateway and sees the same disk."""

    def __init__(self, send: Sender) -> None:
        self._send = send
        self._guard = threading.Lock()
        self._asked: dict[int, Future[FileRef]] = {}
        self._made = 0

    def save(self, claimed: Claimed, path: str, name: str) -> FileRef:
        refuse_loop()
        return self._ask(path, name).result()

    async def asave(self, claimed: Claimed, path: str, name: str) -> FileRef:
        return await asyncio.wrap_future(self._ask(path, name))

    def hear(self, word: Saved) -> None:
        with self._guard:
            asked = self._asked.pop(word.number, None)
        if asked is None or not asked.set_running_or_notify_cancel():
            return
        if word.file is not None:
            asked.set_result(word.file)
        else:
            kind = BY_CODE.get(word.code, MainspringError)
            asked.set_exception(kind(word.message, hint=word.hint))

    def _ask(self, path: str, name: str) -> "Future[FileRef]":
        asked: Future[FileRef] = Future()
        with self._guard:
            self._made += 1
            number = self._made
            self._asked[number] = asked
        self._send(Save(number, path, name))
        return asked


class _IsolatedAttempt(Attempt):
    """An attempt that tells its progress as it comes, but not more often than anyone can see."""

    __slots__ = ("_alive_at", "_send", "_sent_at")

    def __init__(self, word: Execute, app: App, logs: LogBuffer, send: Sender) -> None:
        super().__init__(word.claimed, app, logs, monotonic())
        self._send = send
        self._sent_at = 0.0
        self._alive_at = 0.0

    def show(self) -> None:
        super().show()
        if self.handler.heartbeat_ms is not None and (
            self.shown_at - self._alive_at >= _PROGRESS_SECONDS
        ):
            self._alive_at = self.shown_at
            self._send(Alive())

    def move(self, done: float, total: float | None, note: str) -> None:
        super().move(done, total, note)
        if monotonic() - self._sent_at >= _PROGRESS_SECONDS:
            self.send_progress()

    def send_progress(self) -> None:
        """Send what was not sent yet."""
        latest, self.progress = self.progress, None
        if latest is not None:
            self._sent_at = monotonic()
            self._send(Moved(latest))


class Isolate:
    """The life of an isolate, on its main thread."""

    def __init__(self, connection: socket.socket, app: App) -> None:
        """Serve ``connection``."""
        self._connection = connection
        self._app = app
        self._send = Sender(connection)
        self._logs = _SocketLog(self._send)
        self._files = _FilesOverThere(self._send)
        self._asked: SimpleQueue[Execute] = SimpleQueue()
        self._attempt: Attempt | None = None
        self._running: asyncio.Task[Any] | None = None
        self._in_handler = False

    def run(self) -> int:
        """Enter the lifespan, then run attempts until this process is ended from outside."""
        signal.signal(signal.SIGTERM, self._on_terminate)
        threading.Thread(target=self._listen, name="mainspring-lifeline", daemon=True).start()
        with asyncio.Runner() as runner:
            stack = AsyncExitStack()
            try:
                deps = runner.run(_enter(stack, self._app))
            except BaseException as error:  # noqa: BLE001 - user code: told, then this process ends
                self._send(Broken(outcomes.describe(error)))
                return 1
            self._send(Warm())
            while True:
                word = self._asked.get()
                attempt = _IsolatedAttempt(word, self._app, self._logs, self._send)
                attempt.files = self._files
                outcome = contextvars.copy_context().run(self._perform, attempt, runner, deps)
                attempt.send_progress()
                self._send(Ended(outcome))

    def _perform(self, attempt: Attempt, runner: asyncio.Runner, deps: object) -> Outcome:
        CURRENT.set(attempt)
        self._attempt = attempt
        try:
            if attempt.handler.is_async:
                return self._perform_async(attempt, runner, deps)
            try:
                self._in_handler = True
                return call(attempt, deps)
            finally:
                self._in_handler = False
        except signals.Cancelled as error:
            # The signal came in the moment around the handler.
            return outcomes.raised(attempt, error)
        finally:
            attempt.done = True
            self._attempt = None

    def _perform_async(self, attempt: Attempt, runner: asyncio.Runner, deps: object) -> Outcome:
        handler = attempt.handler
        try:
            arguments = handler.decode(attempt.claimed.payload)
        except InvalidInput as error:
            return outcomes.refused(error)

        async def run() -> object:
            self._running = asyncio.current_task()
            if attempt.stop is not None:
                raise signals.Cancelled
            return await handler.ainvoke(lambda: attempt.context(deps), arguments)

        try:
            value = runner.run(run(), context=contextvars.copy_context())
        except BaseException as error:  # noqa: BLE001 - whatever user code raises ends the attempt
            return outcomes.raised(attempt, error)
        finally:
            self._running = None
        return outcomes.returned(attempt, value)

    def _on_terminate(self, _number: int, _frame: object) -> None:
        """Stop the handler: at once where Python runs, else by the flag until SIGKILL comes."""
        attempt = self._attempt
        if attempt is None or attempt.stop is not None:
            return
        # Which kind of stop it was is known to the child that asked for it.
        attempt.stop = Stop.CANCEL
        if self._running is not None:
            self._running.get_loop().call_soon_threadsafe(self._running.cancel)
        elif self._in_handler and not self._send.defers_stop():
            raise signals.Cancelled

    def _listen(self) -> None:
        words: LineBuffer[ToIsolate] = LineBuffer(TO_ISOLATE)
        with contextlib.suppress(ConnectionError):
            while received := self._connection.recv(_RECEIVED_BYTES):
                for word in words.feed(received):
                    if isinstance(word, Saved):
                        self._files.hear(word)
                    else:
                        self._asked.put(word)
        # The child has gone: nobody waits for what runs here.
        os._exit(0)


async def _enter(stack: AsyncExitStack, app: App) -> object:
    if app.lifespan is None:
        return None
    return await stack.enter_async_context(app.lifespan())


def run_isolate(connection: socket.socket, app: App, log_level: str) -> int:
    """Be an isolate; return the exit code."""
    capture_logging(log_level)
    return Isolate(connection, app).run()
