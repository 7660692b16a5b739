"""Calm tables: no lines, two spaces between columns, cut at the edge of the terminal.

Where nobody looks (a pipe, a file) nothing is cut and nothing is left out.
"""

import shutil
import sys
from collections.abc import Callable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from mainspring.cli.text import cut, printable, styled, width_of

Row = TypeVar("Row")
_GAP: Final = "  "
_NOT_A_TERMINAL: Final = 10_000
_LEAST_COLUMNS: Final = 8


class Cell(NamedTuple):
    """A text and its style."""

    text: str
    style: str = ""


class Column(NamedTuple, Generic[Row]):
    """One column: its title, and what it shows of a row."""

    title: str
    show: Callable[[Row], str | Cell]
    right: bool = False
    #: Shown with ``-o wide`` only.
    wide: bool = False
    #: Left out on terminals narrower than this.
    from_width: int = 0
    #: May be cut when the table is too wide; the last such column first,
    shrinks: bool = False
    #: but never to less than this, nor than its title.
    least: int = _LEAST_COLUMNS


def terminal_width() -> int:
    """Return the columns of the terminal behind stdout, or a great many when there is none."""
    if not sys.stdout.isatty():
        return _NOT_A_TERMINAL
    return shutil.get_terminal_size((80, 24)).columns


def render(
    rows: Sequence[Row],
    columns: Sequence[Column[Row]],
    *,
    width: int,
    color: bool,
    wide: bool = False,
) -> list[str]:
    """Return the lines of a table, its header first."""
    shown = [
        column for column in columns if wide or (not column.wide and width >= column.from_width)
    ]
    cells = [[_cell(column.show(row)) for column in shown] for row in rows]
    widths = [
        max([width_of(column.title), *(width_of(line[place].text) for line in cells)])
        for place, column in enumerate(shown)
    ]
    if not wide:
        _fit(widths, shown, width)
    header = [Cell(column.title, "dim") for column in shown]
    return [_line(line, shown, widths, color=color) for line in [header, *cells]]


def _cell(value: str | Cell) -> Cell:
    cell = value if isinstance(value, Cell) else Cell(value)
    return Cell(printable(cell.text), cell.style)


def _fit(widths: list[int], columns: Sequence[Column[Row]], width: int) -> None:
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    for place in reversed(range(len(columns))):
        if excess > 0 and columns[place].shrinks:
            least = max(columns[place].least, width_of(columns[place].title))
            taken = max(0, min(excess, widths[place] - least))
            widths[place] -= taken
            excess -= taken


def _line(
    cells: Sequence[Cell], columns: Sequence[Column[Row]], widths: Sequence[int], *, color: bool
) -> str:
    parts: list[str] = []
    for cell, column, columns_wide in zip(cells, columns, widths, strict=True):
        text = cut(cell.text, columns_wide)
        padding = " " * (columns_wide - width_of(text))
        text = styled(text, cell.style, color=color)
        parts.append(padding + text if column.right else text + padding)
    return _GAP.join(parts).rstrip()
