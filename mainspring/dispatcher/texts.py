"""Text that came from a handler, made such that every store can keep it.

PostgreSQL keeps no NUL and UTF-8 no lone surrogate. One such character must not stop the reports
and log lines of all other jobs that travel in the same batch.
"""

import math
from typing import Final

import msgspec

from mainspring.domain.limits import LOG_LINE_BYTES_MAX
from mainspring.domain.outcome import LogLine, Progress

_CUT: Final = b"\n... cut ...\n"
_LEVEL_BYTES_MAX: Final = 32
NOTE_BYTES_MAX: Final = 1_024


def cut(text: str, bytes_max: int) -> str:
    """Keep both ends of what is too long; replace what UTF-8 cannot carry."""
    if len(text) <= bytes_max and text.isascii():
        return text
    raw = text.encode("utf-8", "replace")
    if len(raw) > bytes_max:
        half = (bytes_max - len(_CUT)) // 2
        raw = raw[:half] + _CUT + raw[-half:]
    return raw.decode("utf-8", "ignore")


def storable(text: str, bytes_max: int) -> str:
    """Return ``cut`` without NUL: for what is stored as text rather than as JSON."""
    return cut(text.replace("\0", "\ufffd") if "\0" in text else text, bytes_max)


def storable_line(line: LogLine) -> LogLine:
    """Return a log line that every store can keep."""
    level = storable(line.level, _LEVEL_BYTES_MAX)
    message = storable(line.message, LOG_LINE_BYTES_MAX)
    # Fields are JSON: cut they would be none, so they are kept whole or not at all.
    fields = storable(line.fields, max(len(line.fields) * 4, 1))
    if len(fields.encode()) > LOG_LINE_BYTES_MAX:
        fields = ""
    if (level, message, fields) == (line.level, line.message, line.fields):
        return line
    return msgspec.structs.replace(line, level=level, message=message, fields=fields)


def storable_progress(told: Progress) -> Progress:
    """Return progress that every store can keep; what is not finite is not known."""
    note = storable(told.note, NOTE_BYTES_MAX)
    done = told.done if math.isfinite(told.done) else 0.0
    total = told.total if told.total is None or math.isfinite(told.total) else None
    if (note, done, total) == (told.note, told.done, told.total):
        return told
    return msgspec.structs.replace(told, note=note, done=done, total=total)
