"""Errors about a text show the text, with a caret under the place that is wrong."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from mainspring.cli.text import printable, width_of
from mainspring.domain.errors import InvalidSchedule

#: The field of an error about one entry of a calendar.
ENTRY: Final = re.compile(r"entries\[(\d+)\]")
#: So much of a long text is shown on each side of the place.
_AROUND: Final = 32


@contextmanager
def pointing_at(text: str, *, others: Mapping[str, str] | None = None) -> Iterator[None]:
    """Show ``text`` below whatever error names a position in it; ``others`` are texts by field."""
    try:
        yield
    except InvalidSchedule as error:
        point(error, (others or {}).get(str(error.details.get("field", "")), text))
        raise


def point(error: InvalidSchedule, text: str) -> None:
    """Add the text to an error that names a position in it."""
    position = error.details.get("position")
    if isinstance(position, int) and "\n" not in error.message and text.strip():
        error.message += "\n" + pointed(text, position)


def pointed(text: str, position: int) -> str:
    """Return the text, cut to what is around the position, and a line with the caret."""
    place = min(position, len(text))
    first = max(0, place - _AROUND)
    before, after = printable(text[first:place]), printable(text[place : place + _AROUND])
    if first:
        before = f"…{before}"
    if place + _AROUND < len(text):
        after += "…"
    return f"{before}{after}\n{' ' * width_of(before)}^"
