"""From what a handler did (returned, raised, was stopped) to the outcome that is reported."""

import asyncio
import logging
import os
import site
import sysconfig
import traceback
from pathlib import Path
from typing import Final

from mainspring.app import signals
from mainspring.app.signals import Fail, RetryAfter, Snooze
from mainspring.domain.errors import InvalidInput
from mainspring.domain.ids import show_attempt
from mainspring.domain.limits import ERROR_BYTES_MAX
from mainspring.domain.outcome import (
    Cancelled,
    ErrorInfo,
    Failed,
    Outcome,
    Released,
    Snoozed,
    Succeeded,
    TimedOut,
)
from mainspring.worker.attempt import Attempt, Stop
from mainspring.worker.logs import bounded

_log: Final = logging.getLogger("mainspring.worker")
_MESSAGE_BYTES_MAX: Final = ERROR_BYTES_MAX // 4
_FRAMES_MAX: Final = 50
_NOTHING: Final = Succeeded()
#: What lies between a worker's loop and the handler: this room, and the one of declarations.
_OWN_FOLDERS: Final = tuple(
    f"{Path(__file__).parents[1] / room}{os.sep}" for room in ("worker", "app")
)
_FOREIGN_FOLDERS: Final = tuple(
    {
        *site.getsitepackages(),
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("platstdlib"),
        str(Path(__file__).parent.parent),
    }
)


def returned(attempt: Attempt, value: object) -> Outcome:
    """Judge a handler that returned, asked to stop or not: what it did counts."""
    if attempt.finished is not None:
        if value is not None and not _is_what_was_kept(attempt, value):
            _after_the_end(attempt, "what it returned does not count: set tx.result instead")
        return attempt.finished
    if value is None:
        return _NOTHING
    try:
        return Succeeded(attempt.handler.encode_result(value))
    except InvalidInput as error:
        return refused(error)


def _is_what_was_kept(attempt: Attempt, value: object) -> bool:
    try:
        return attempt.finished == Succeeded(attempt.handler.encode_result(value))
    except InvalidInput:
        return False


def refused(error: InvalidInput) -> Failed:
    """Judge a payload or result that cannot be read: it will not be better next time."""
    return Failed(ErrorInfo(type(error).__name__, _cut(error.message)), permanent=True)


def raised(attempt: Attempt, error: BaseException) -> Outcome:
    """Judge a handler that raised."""
    if attempt.finished is not None:
        _after_the_end(attempt, f"what it raised does not count: {type(error).__qualname__}")
        return attempt.finished
    if attempt.stop is not None and isinstance(error, signals.Cancelled | asyncio.CancelledError):
        return stopped(attempt)
    match error:
        case Fail():
            return Failed(describe(error), permanent=True)
        case RetryAfter(delay_ms=delay_ms):
            return Failed(describe(error), retry_after_ms=delay_ms)
        case Snooze(delay_ms=delay_ms, reason=reason):
            return Snoozed(delay_ms, reason)
        case _:
            permanent = attempt.handler.is_permanent(error)
            return Failed(describe(error), permanent=permanent)


def stopped(attempt: Attempt, *, really: bool = True) -> Outcome:
    """Judge a handler that was stopped, or (not ``really``) would not stop."""
    if attempt.finished is not None:
        return attempt.finished
    match attempt.stop:
        case Stop.TIMEOUT:
            return TimedOut(attempt.claimed.timeout_ms, stopped=really)
        case Stop.SILENT:
            silent_ms = attempt.handler.heartbeat_ms or 0
            return TimedOut(silent_ms, stopped=really, is_silence=True)
        case Stop.RELEASE:
            return Released()
        case _:
            return Cancelled("" if really else "the handler did not stop; its process is replaced")


def _after_the_end(attempt: Attempt, what: str) -> None:
    shown = show_attempt(attempt.claimed.job_id, attempt.claimed.attempt)
    _log.warning("%s was finished by ctx.transaction; %s", shown, what)


def describe(error: BaseException) -> ErrorInfo:
    """Return an exception as it is kept: bounded, without the worker's own frames."""
    frames = traceback.extract_tb(error.__traceback__)
    own = 0
    while own < len(frames) and frames[own].filename.startswith(_OWN_FOLDERS):
        own += 1
    trace = error.__traceback__
    for _ in range(own):
        trace = trace.tb_next if trace is not None else None
    try:
        message = str(error)
        text = "".join(traceback.format_exception(type(error), error, trace, limit=-_FRAMES_MAX))
    except Exception as strange:  # noqa: BLE001 - str and repr of user exceptions may raise
        message = f"(its text cannot be shown: {type(strange).__name__})"
        text = ""
    return ErrorInfo(
        type=type(error).__qualname__,
        message=_cut(message),
        traceback=_tail(text, ERROR_BYTES_MAX - _MESSAGE_BYTES_MAX),
        where=_where(frames[own:]),
    )


def _where(frames: list[traceback.FrameSummary]) -> str:
    """Return the innermost frame of the user's own code; groups equal failures."""
    if not frames:
        return ""
    users = [frame for frame in frames if not frame.filename.startswith(_FOREIGN_FOLDERS)]
    chosen = (users or frames)[-1]
    return f"{Path(chosen.filename).name}:{chosen.lineno}"


def _cut(message: str) -> str:
    return bounded(message, _MESSAGE_BYTES_MAX)


def _tail(text: str, limit_bytes: int) -> str:
    """Return the end of a traceback: the last frames and the message say most."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit_bytes:
        return raw.decode()
    return "… " + raw[4 - limit_bytes :].decode("utf-8", "ignore")
