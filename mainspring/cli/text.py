"""Text for people: instants, durations, colours, and nothing that a terminal would obey."""

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

_STYLES: Final = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
#: One colour a meaning: green done, red for good, yellow waits or goes wrong, cyan works.
STATE_STYLES: Final = {
    "succeeded": "green",
    "alive": "green",
    "active": "green",
    "running": "cyan",
    "ready": "blue",
    "scheduled": "blue",
    "draining": "yellow",
    "retrying": "yellow",
    "cancelling": "yellow",
    "blocked": "yellow",
    "paused": "yellow",
    "failed": "yellow",
    "timed_out": "yellow",
    "lost": "magenta",
    "dead": "red",
    "cancelled": "dim",
    "expired": "dim",
    "skipped": "dim",
    "released": "dim",
    "gone": "dim",
    "exhausted": "dim",
    "deleted": "dim",
}
_BARS: Final = "▁▂▃▄▅▆▇█"
_SECOND: Final = 1_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def styled(text: str, style: str, *, color: bool) -> str:
    """Return the text in a style, or plain."""
    if not color or not style or not text:
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def state_style(state: str) -> str:
    """Return the style of a job's, attempt's, worker's or schedule's state."""
    return STATE_STYLES.get(state, "")


def printable(text: str, *, lines: bool = False) -> str:
    """Return text that a terminal only shows: control characters are written out.

    With ``lines`` line breaks stay, and tabs become spaces.
    """
    if text.isprintable():
        return text
    return "".join(_shown(letter, lines=lines) for letter in text)


def _shown(letter: str, *, lines: bool) -> str:
    if letter.isprintable():
        return letter
    if letter == "\n":
        return "\n" if lines else " "
    if letter == "\t":
        return "    " if lines else " "
    return letter.encode("unicode_escape", "backslashreplace").decode("ascii")


def width_of(text: str) -> int:
    """Return how many columns a printable text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(letter) for letter in text)


def _columns(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def cut(text: str, columns: int) -> str:
    """Return the text cut to a width, with an ellipsis where something is missing."""
    if width_of(text) <= columns:
        return text
    kept: list[str] = []
    left = columns - 1
    for letter in text:
        left -= _columns(letter)
        if left < 0:
            break
        kept.append(letter)
    return "".join(kept).rstrip() + "…"


def span(duration: timedelta | float) -> str:
    """Return a duration (milliseconds) as people read it: ``14 ms``, ``1.8 s``, ``2 m 05 s``."""
    ms = duration / timedelta(milliseconds=1) if isinstance(duration, timedelta) else duration
    if ms < 10:
        return f"{ms:.1f}".removesuffix(".0") + " ms"
    if ms < _SECOND:
        return f"{ms:.0f} ms"
    if ms < _MINUTE:
        return f"{ms / _SECOND:.1f}".removesuffix(".0") + " s"
    for size, unit, part, part_unit in (
        (_HOUR, "m", _SECOND, "s"),
        (_DAY, "h", _MINUTE, "m"),
    ):
        if ms < size:
            whole = _MINUTE if unit == "m" else _HOUR
            first, rest = divmod(int(ms), whole)
            return (
                f"{first} {unit} {rest // part:02d} {part_unit}"
                if rest // part
                else (f"{first} {unit}")
            )
    days, rest = divmod(int(ms), _DAY)
    return f"{days} d {rest // _HOUR} h" if rest // _HOUR else f"{days} d"


def rough(duration: timedelta) -> str:
    """Return a duration in one short word: ``4s``, ``12m``, ``3h``, ``5d``."""
    seconds = abs(duration) / timedelta(seconds=1)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"


def relative(instant: datetime, now: datetime) -> str:
    """Return an instant as seen from now: ``4s ago``, ``in 12m``, ``now``."""
    away = instant - now
    if abs(away) < timedelta(seconds=1):
        return "now"
    return f"in {rough(away)}" if away > timedelta(0) else f"{rough(away)} ago"


def absolute(instant: datetime) -> str:
    """Return an instant in full: ``2026-11-18 19:51:02.123 UTC``."""
    utc = instant.astimezone(UTC)
    return f"{utc:%Y-%m-%d %H:%M:%S}.{utc.microsecond // 1_000:03d} UTC"


def sparkline(counts: Sequence[int], *, cells: int = 12) -> str:
    """Return counts as a row of bars, the last one now; neighbours share a cell where needed."""
    size = max(1, -(-len(counts) // cells))
    start = len(counts) % size
    parts = [sum(counts[:start])] if start else []
    parts += [sum(counts[place : place + size]) for place in range(start, len(counts), size)]
    most = max(parts, default=0)
    if not most:
        return _BARS[0] * len(parts)
    last = len(_BARS) - 1
    return "".join(_BARS[0 if not part else max(1, round(part / most * last))] for part in parts)


def count_of(number: int, noun: str) -> str:
    """Return ``1 job`` or ``1,204 jobs``."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}{'es' if noun.endswith('s') else 's'}"
