"""The child's side of isolates: hands attempts to warm processes, kills and replaces them."""

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final

from mainspring.domain.errors import MainspringError
from mainspring.domain.outcome import Cancelled, ErrorInfo, Failed, Lost, Outcome
from mainspring.worker import outcomes, processes
from mainspring.worker.attempt import Attempt, Saver
from mainspring.worker.config import WorkerConfig
from mainspring.worker.control import (
    FROM_ISOLATE,
    FROM_ZYGOTE,
    Alive,
    Broken,
    Channel,
    Ended,
    Execute,
    Exited,
    Fork,
    Forked,
    FromIsolate,
    FromZygote,
    Logged,
    Moved,
    Save,
    Saved,
    Signal,
    Warm,
    line,
)
from mainspring.worker.logs import LogBuffer

_log: Final = logging.getLogger("mainspring.worker")
#: How long to wait for an isolate's last words once it has been reaped.
_LAST_WORDS_SECONDS: Final = 0.5
#: How long an isolate beyond the warm one is kept unused.
_IDLE_SECONDS: Final = 30.0
#: Zygotes that died without a fork, after which waiting attempts fail.
_BARREN_MAX: Final = 3

Spawn = Callable[[Coroutine[Any, Any, None]], object]


class _Isolate:
    """One isolate as its child sees it."""

    def __init__(self, token: int) -> None:
        self.token = token
        self.channel: Channel[FromIsolate] | None = None
        self.attempt: Attempt | None = None
        self.warm = False
        #: Takes no further attempt.
        self.retired = False
        self.jobs = 0
        self.idle_since = 0.0
        self.code: int | None = None
        self.concluded = False


class IsolatePool:
    """Runs attempts in processes of their own; keeps one warm while there is use for it."""

    def __init__(
        self,
        *,
        config: WorkerConfig,
        logs: LogBuffer,
        files: Saver,
        spawn: Spawn,
        begun: Callable[[Attempt], None],
        finish: Callable[[Attempt, Outcome], None],
    ) -> None:
        """Start nothing yet. ``begun`` is called when an attempt has got its process."""
        self._command = (sys.executable, "-m", "mainspring.worker.zygote")
        self._config = config
        self._logs = logs
        self._files = files
        self._spawn = spawn
        self._begun = begun
        self._finish = finish
        self._waiting: deque[Attempt] = deque()
        self._isolates: dict[int, _Isolate] = {}
        self._made = 0
        self._zygote: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._talk: Channel[FromZygote] | None = None
        self._barren = 0
        self._closing = False

    def warm_up(self) -> None:
        """Have one isolate ready."""
        if not self._isolates:
            self._request()

    def feed(self, attempt: Attempt) -> None:
        """Take an attempt to run."""
        self._waiting.append(attempt)
        self._assign()

    def stop(self, attempt: Attempt) -> None:
        """Ask the handler to stop."""
        self._signal(attempt, signal.SIGTERM)

    def kill(self, attempt: Attempt) -> None:
        """End the process; its attempt is finished when it is really dead."""
        self._signal(attempt, signal.SIGKILL)

    def kill_all(self) -> None:
        """End every process that runs an attempt."""
        for isolate in list(self._isolates.values()):
            if isolate.attempt is not None:
                self._send_signal(isolate, signal.SIGKILL)

    def sweep(self, now: float) -> None:
        """Let go of isolates that nobody has used for a while, but for one."""
        idle = [isolate for isolate in self._isolates.values() if _is_free(isolate)]
        for isolate in idle[1:]:
            if not isolate.idle_since:
                isolate.idle_since = now
            elif now - isolate.idle_since > _IDLE_SECONDS:
                self._retire(isolate)

    def close(self) -> None:
        """End the zygote, and with it all isolates."""
        self._closing = True
        if self._talk is not None:
            self._talk.close()
        if self._zygote is not None:
            processes.kill_group(self._zygote.pid)
            self._zygote.wait()

    def _signal(self, attempt: Attempt, number: signal.Signals) -> None:
        if attempt in self._waiting:
            self._waiting.remove(attempt)
            self._finish(attempt, outcomes.stopped(attempt))
            return
        for isolate in self._isolates.values():
            if isolate.attempt is attempt:
                # Whatever the handler leaves half done dies with the process.
                isolate.retired = True
                self._send_signal(isolate, number)
                return

    def _send_signal(self, isolate: _Isolate, number: signal.Signals) -> None:
        if self._talk is not None:
            self._talk.send(Signal(isolate.token, number))

    # --- From request to work -------------------------------------------------------------------

    def _assign(self) -> None:
        free = [isolate for isolate in self._isolates.values() if _is_free(isolate)]
        while self._waiting and free:
            attempt = self._waiting.popleft()
            isolate = free.pop()
            isolate.attempt = attempt
            isolate.jobs += 1
            isolate.idle_since = 0.0
            assert isolate.channel is not None
            isolate.channel.send(Execute(attempt.claimed))
            self._begun(attempt)
        coming = sum(1 for isolate in self._isolates.values() if _is_coming(isolate))
        for _ in range(len(self._waiting) - coming):
            self._request()

    def _request(self) -> None:
        """Ask the zygote for one more isolate."""
        if self._zygote is None:
            self._start_zygote()
        ours, theirs = socket.socketpair()
        self._made += 1
        isolate = _Isolate(self._made)
        self._isolates[isolate.token] = isolate
        assert self._control is not None
        try:
            socket.send_fds(self._control, [line(Fork(isolate.token))], [theirs.fileno()])
        except OSError:
            # It has died, or does not read: its end concludes this isolate too.
            _log.warning("the zygote does not answer")
            assert self._zygote is not None
            self._zygote.kill()
        theirs.close()
        self._spawn(self._connect(isolate, ours))

    async def _connect(self, isolate: _Isolate, connection: socket.socket) -> None:
        def on_word(word: FromIsolate) -> None:
            self._hear(isolate, word)

        def on_end() -> None:
            self._conclude(isolate)

        channel: Channel[FromIsolate] = Channel(FROM_ISOLATE, on_word, on_end)
        isolate.channel = channel
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: channel, sock=connection)

    def _hear(self, isolate: _Isolate, word: FromIsolate) -> None:
        attempt = isolate.attempt
        match word:
            case Warm():
                isolate.warm = True
                self._assign()
            case Broken(error=error):
                isolate.retired = True
                self._fail_one(error)
            case Logged() | Moved() | Alive() | Save():
                self._hear_meanwhile(isolate, word)
            case Ended(outcome=outcome):
                isolate.attempt = None
                if isolate.retired or self._is_used_up(isolate) or self._is_suspect(attempt):
                    self._retire(isolate)
                if attempt is not None:
                    self._finish(attempt, _translated(attempt, outcome))
                self._assign()

    def _hear_meanwhile(self, isolate: _Isolate, word: Logged | Moved | Alive | Save) -> None:
        """Take what an attempt tells while it runs; each word is a sign of life."""
        attempt = isolate.attempt
        if isinstance(word, Logged):
            self._logs.add(word.line)
        if attempt is None:
            return
        attempt.show()
        if isinstance(word, Moved):
            attempt.progress = word.progress
        elif isinstance(word, Save):
            self._spawn(self._save(isolate, attempt, word))

    async def _save(self, isolate: _Isolate, attempt: Attempt, word: Save) -> None:
        """Keep a file for an isolate, which has no gateway, and tell it how that went."""
        try:
            kept = await self._files.asave(attempt.claimed, word.path, word.name)
            answer = Saved(word.number, kept)
        except MainspringError as error:
            answer = Saved(word.number, None, error.code, error.message, error.hint)
        if isolate.channel is not None:
            isolate.channel.send(answer)

    def _is_used_up(self, isolate: _Isolate) -> bool:
        limit = self._config.max_jobs_per_child
        return limit is not None and isolate.jobs >= limit

    @staticmethod
    def _is_suspect(attempt: Attempt | None) -> bool:
        return attempt is not None and attempt.claimed.crashes > 1

    def _retire(self, isolate: _Isolate) -> None:
        isolate.retired = True
        self._send_signal(isolate, signal.SIGKILL)

    def _fail_one(self, error: ErrorInfo) -> None:
        if self._waiting:
            self._finish(self._waiting.popleft(), Failed(error))

    # --- How they end ---------------------------------------------------------------------------

    def _conclude(self, isolate: _Isolate) -> None:
        """Finish an isolate whose words and exit code are both known."""
        ended = isolate.channel is None or isolate.channel.ended
        if isolate.concluded or isolate.code is None or not ended:
            return
        isolate.concluded = True
        del self._isolates[isolate.token]
        attempt, isolate.attempt = isolate.attempt, None
        if attempt is not None:
            if attempt.stop is not None:
                outcome = outcomes.stopped(attempt)
            else:
                outcome = Lost(processes.cause_of(isolate.code))
            self._finish(attempt, outcome)
        if not self._closing:
            self._assign()
            if isolate.warm:
                self.warm_up()

    def _start_zygote(self) -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        config = self._config
        arguments = (str(theirs.fileno()), str(os.getpid()), config.log_level, config.app)
        self._zygote = processes.start((*self._command, *arguments), [theirs.fileno()])
        theirs.close()
        self._control = ours
        self._talk = Channel(FROM_ZYGOTE, self._hear_zygote, self._zygote_ended)
        self._spawn(self._connect_zygote(self._talk, ours.dup()))

    @staticmethod
    async def _connect_zygote(talk: Channel[FromZygote], connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: talk, sock=connection)

    def _hear_zygote(self, word: FromZygote) -> None:
        match word:
            case Forked():
                self._barren = 0
            case Exited(token=token, code=code):
                isolate = self._isolates.get(token)
                if isolate is None:
                    return
                isolate.code = code
                isolate.retired = True
                self._conclude(isolate)
                if not isolate.concluded:
                    loop = asyncio.get_running_loop()
                    loop.call_later(_LAST_WORDS_SECONDS, self._close_quietly, isolate)

    @staticmethod
    def _close_quietly(isolate: _Isolate) -> None:
        """Stop listening to processes that an isolate left behind with its socket."""
        if isolate.channel is not None and not isolate.concluded:
            isolate.channel.close()

    def _zygote_ended(self) -> None:
        """Conclude what died with it; begin anew when something waits."""
        zygote, self._zygote, self._talk = self._zygote, None, None
        if self._control is not None:
            self._control.close()
        if self._closing or zygote is None:
            return
        zygote.kill()
        code = zygote.wait()
        _log.warning("the zygote ended: %s", processes.cause_of(code))
        self._barren += 1
        for isolate in list(self._isolates.values()):
            isolate.code = isolate.code if isolate.code is not None else -signal.SIGKILL
            isolate.retired = True
            self._conclude(isolate)
            self._close_quietly(isolate)
        if self._barren >= _BARREN_MAX:
            error = ErrorInfo("IsolateNotStarted", "no process could be started for the handler")
            while self._waiting:
                self._fail_one(error)
            self._barren = 0


def _is_free(isolate: _Isolate) -> bool:
    return isolate.warm and not isolate.retired and isolate.attempt is None


def _is_coming(isolate: _Isolate) -> bool:
    return not isolate.warm and not isolate.retired


def _translated(attempt: Attempt, outcome: Outcome) -> Outcome:
    """Return the outcome with the reason of the stop, which only this side knows."""
    if attempt.stop is not None and isinstance(outcome, Cancelled):
        return outcomes.stopped(attempt)
    return outcome
