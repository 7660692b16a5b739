"""Errors about a text show the text, with a caret under the place that is wrong."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from mainspring.cli.text import printable, width_of
from mainspring.domain.errors import InvalidSchedule

#: So much of a long text is shown on each side of the place.
_AROUND: Final = 32


@contextmanager
def pointing_at(text: str, *, others: Mapping[str, str] | None = None) -> Iterator[None]:
    """Show ``text`` below whatever error names a position in it; ``others`` are texts by field."""
    try:
        yield
    except InvalidSchedule as error:
        field, position = str(error.details.get("field", "")), error.details.get("position")
        shown = (others or {}).get(field, text)
        if isinstance(position, int) and "\n" not in error.message and shown.strip():
            error.message += "\n" + pointed(shown, position)
        raise


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
