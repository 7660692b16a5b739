"""Sets up logging for a process of ours: text on a terminal, JSON lines elsewhere."""

import logging
import sys
from datetime import UTC, datetime
from typing import IO, Final

import msgspec

#: Extra fields that our log calls may carry, in the order in which they are shown.
FIELDS: Final = ("worker", "child", "job", "attempt", "kind", "queue", "tenant", "reason")


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, object] = {
            "at": _instant(record).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update(_fields(record))
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


class PlainLines(logging.Formatter):
    """``12:00:01 info  message  job=…``: calm to read, fields last."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        clock = _instant(record).strftime("%H:%M:%S")
        fields = "".join(f"  {name}={value}" for name, value in _fields(record).items())
        text = f"{clock} {record.levelname.lower():<7} {record.getMessage()}{fields}"
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        return text


def set_up_logging(level: str, stream: IO[str] | None = None) -> None:
    """Send what ``mainspring`` loggers say to ``stream`` (standard error)."""
    target = stream or sys.stderr
    handler = logging.StreamHandler(target)
    handler.setFormatter(PlainLines() if target.isatty() else JsonLines())
    ours = logging.getLogger("mainspring")
    ours.handlers[:] = [handler]
    ours.setLevel(level.upper())
    ours.propagate = False


def _instant(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {name: record.__dict__[name] for name in FIELDS if name in record.__dict__}
