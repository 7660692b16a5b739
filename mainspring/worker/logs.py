"""Log lines of attempts: bounded, kept for the store, and passed on to the process's logging."""

import logging
import sys
import threading
from typing import TYPE_CHECKING, Any, Final

import msgspec

from mainspring.domain.ids import show_job
from mainspring.domain.limits import LOG_LINE_BYTES_MAX, LOG_LINES_MAX
from mainspring.domain.outcome import LogLine
from mainspring.ports.clock import utc_now
from mainspring.telemetry.logs import line_handler

if TYPE_CHECKING:
    from mainspring.worker.attempt import Attempt

JOB_LOGGER: Final = "mainspring.job"
#: Lines that wait for an unreachable gateway; more are dropped.
BUFFERED_LINES_MAX: Final = 20_000
_OWN_LOGGERS: Final = ("mainspring.job", "mainspring.worker")
_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


class LogBuffer:
    """Collects lines from the loop and from threads until they are sent.

    Per attempt at most ``LOG_LINES_MAX`` lines, the last of which says that more were dropped.
    """

    def __init__(self, limit: int = BUFFERED_LINES_MAX) -> None:
        """Hold at most ``limit`` unsent lines."""
        self._limit = limit
        self._lines: list[LogLine] = []
        # Threads of handlers write; numbering and storing must be one step.
        self._guard = threading.Lock()

    def __len__(self) -> int:
        return len(self._lines)

    def keep(self, attempt: "Attempt", level: str, message: str, fields: dict[str, object]) -> None:
        """Keep one line of a running attempt, cut to its limit."""
        if attempt.done or attempt.line_count >= LOG_LINES_MAX:
            return
        text = bounded(str(message), LOG_LINE_BYTES_MAX)
        shown = _fields_text(fields)
        with self._guard:
            attempt.line_count += 1
            sequence = attempt.line_count
            if sequence > LOG_LINES_MAX or len(self._lines) >= self._limit:
                return
            if sequence == LOG_LINES_MAX:
                level, shown = "warning", ""
                text = f"the limit of {LOG_LINES_MAX} lines is reached; later lines are dropped"
            claimed = attempt.claimed
            self._lines.append(
                LogLine(claimed.job_id, claimed.attempt, sequence, utc_now(), level, text, shown)
            )

    def add(self, line: LogLine) -> None:
        """Keep a line that an isolate has numbered and bounded already."""
        with self._guard:
            if len(self._lines) < self._limit:
                self._lines.append(line)

    def take(self) -> list[LogLine]:
        """Return all unsent lines; they are the caller's now."""
        with self._guard:
            lines, self._lines = self._lines, []
        return lines

    def put_back(self, lines: list[LogLine]) -> None:
        """Take lines back that could not be sent."""
        with self._guard:
            self._lines = (lines + self._lines)[: self._limit]

    def pass_on(
        self, attempt: "Attempt", level: str, message: str, fields: dict[str, object]
    ) -> None:
        """Hand a line to structlog where the app has configured it, else to stdlib logging."""
        claimed = attempt.claimed
        about = {"job": show_job(claimed.job_id), "attempt": claimed.attempt, "kind": claimed.kind}
        structlog: Any = sys.modules.get("structlog")
        if structlog is not None and structlog.is_configured():
            chosen = getattr(structlog.get_logger(JOB_LOGGER), level)
            chosen(message, **(fields | about))
            return
        logger = logging.getLogger(JOB_LOGGER)
        number = _LEVELS.get(level, logging.INFO)
        if logger.isEnabledFor(number):
            logger.log(number, "%s", message, extra=about | {"fields": fields})


class Capture(logging.Handler):
    """Keeps what a handler's code logs by stdlib logging with the attempt that runs it."""

    def emit(self, record: logging.LogRecord) -> None:
        from mainspring.worker.attempt import CURRENT

        attempt = CURRENT.get()
        if attempt is None or record.name.startswith(_OWN_LOGGERS):
            return
        fields: dict[str, object] = {"logger": record.name}
        try:
            message = record.getMessage()
            if record.exc_info:
                message += "\n" + logging.Formatter().formatException(record.exc_info)
        except (TypeError, ValueError):
            # Arguments that do not fit the format: stdlib logging complains on its own.
            message = str(record.msg)
        attempt.logs.keep(attempt, record.levelname.lower(), message, fields)


def capture_logging(level: str) -> None:
    """Begin to capture; give a process whose app configured no logging that of our own lines."""
    root = logging.getLogger()
    wanted = _LEVELS.get(level, logging.INFO)
    if not root.handlers:
        # What is shown follows the setting; what is kept with the attempt begins at INFO.
        shown = line_handler()
        shown.setLevel(wanted)
        root.addHandler(shown)
        root.setLevel(min(wanted, logging.INFO))
    if not any(isinstance(known, Capture) for known in root.handlers):
        root.addHandler(Capture(min(wanted, logging.INFO)))


def bounded(text: str, limit_bytes: int) -> str:
    """Cut a text to its limit; what no UTF-8 can carry (lone surrogates) is replaced."""
    # A character has at most four bytes: most texts need no second look.
    if len(text) * 4 <= limit_bytes and text.isascii():
        return text
    raw = text.encode("utf-8", "replace")
    if len(raw) > limit_bytes:
        raw = raw[: limit_bytes - 4] + " …".encode()
    return raw.decode("utf-8", "ignore")


def _fields_text(fields: dict[str, object]) -> str:
    if not fields:
        return ""
    try:
        text = msgspec.json.encode(fields, enc_hook=repr).decode()
    except (TypeError, ValueError, RecursionError, UnicodeError):
        text = msgspec.json.encode({name: _shown(value) for name, value in fields.items()}).decode()
    if len(text) <= LOG_LINE_BYTES_MAX:
        return text
    # Short fields say most: only the long ones are cut.
    share = LOG_LINE_BYTES_MAX // (4 * len(fields))
    cut = {name: _cut(value, share) for name, value in fields.items()}
    shorter = msgspec.json.encode(cut).decode()
    if len(shorter) > LOG_LINE_BYTES_MAX:
        return msgspec.json.encode({"dropped_characters": len(text)}).decode()
    return shorter


def _cut(value: object, limit_bytes: int) -> object:
    """Return a short number or text as it is, everything else as text cut to a limit."""
    if value is None or isinstance(value, bool | float):
        return value
    text = value if isinstance(value, str) else repr(value)
    if isinstance(value, int) and len(text) <= limit_bytes:
        return value
    return bounded(text, max(limit_bytes, 8))


def _shown(value: object) -> str:
    return bounded(repr(value), LOG_LINE_BYTES_MAX)
