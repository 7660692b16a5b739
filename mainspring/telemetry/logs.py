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
        line.update(_about(record))
        if fields := _given(record):
            line["fields"] = fields
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return _encoded(line)


class PlainLines(logging.Formatter):
    """``12:00:01 info  message  job=…``: calm to read, fields last."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        clock = _instant(record).strftime("%H:%M:%S")
        shown = _about(record) | _given(record)
        fields = "".join(f"  {name}={value}" for name, value in shown.items())
        text = f"{clock} {record.levelname.lower():<7} {record.getMessage()}{fields}"
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        return text


def set_up_logging(level: str, stream: IO[str] | None = None) -> None:
    """Send what ``mainspring`` loggers say to ``stream`` (standard error)."""
    handler = line_handler(stream)
    ours = logging.getLogger("mainspring")
    ours.handlers[:] = [handler]
    ours.setLevel(level.upper())
    ours.propagate = False


def line_handler(stream: IO[str] | None = None) -> logging.Handler:
    """Return what writes lines to ``stream`` (standard error), in the form that fits it."""
    target = stream or sys.stderr
    handler = logging.StreamHandler(target)
    handler.setFormatter(PlainLines() if target.isatty() else JsonLines())
    return handler


def _instant(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def _about(record: logging.LogRecord) -> dict[str, object]:
    return {name: record.__dict__[name] for name in FIELDS if name in record.__dict__}


def _given(record: logging.LogRecord) -> dict[str, object]:
    """Return the fields that a handler gave with its line: anything may be in them."""
    found = record.__dict__.get("fields")
    return dict(found) if isinstance(found, dict) else {}


def _encoded(line: dict[str, object]) -> str:
    try:
        return msgspec.json.encode(line, enc_hook=repr).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        plain = {name: _storable(str(value)) for name, value in line.items()}
        return msgspec.json.encode(plain).decode()


def _storable(text: str) -> str:
    """Return a text without what no UTF-8 can carry."""
    return text.encode("utf-8", "backslashreplace").decode()
