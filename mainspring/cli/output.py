"""Shows lists and single things in the format that was asked for."""

import csv
import io
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from mainspring.cli.options import Options, wants_color
from mainspring.cli.records import Record
from mainspring.cli.tables import Column, render, terminal_width

Row = TypeVar("Row")


def out(text: str) -> None:
    """Write a line of data."""
    print(text, file=sys.stdout)


def tell(text: str) -> None:
    """Write a line for people, beside the data."""
    if sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)


def show_list(
    options: Options,
    rows: Sequence[Row],
    *,
    columns: Sequence[Column[Row]],
    record: Callable[[Row], Record],
    name: Callable[[Row], str],
    empty: str,
) -> None:
    """Show rows; where there are none, people are told so in words."""
    match options.output:
        case "json":
            out(pretty([record(row) for row in rows]))
        case "jsonl":
            for row in rows:
                out(line(record(row)))
        case "csv":
            out_csv([record(row) for row in rows])
        case "name":
            for row in rows:
                out(name(row))
        case "table" | "wide":
            if not rows:
                tell(empty)
                return
            show_table(options, rows, columns)


def show_table(options: Options, rows: Sequence[Row], columns: Sequence[Column[Row]]) -> None:
    """Show rows to people."""
    lines = render(
        rows,
        columns,
        width=terminal_width(),
        color=wants_color(options.color),
        wide=options.is_wide,
    )
    for text in lines:
        out(text)


def show_one(options: Options, record: Record, *, name: str, people: Callable[[], None]) -> None:
    """Show one thing: as a record for machines, or as ``people`` prints it."""
    match options.output:
        case "json":
            out(pretty(record))
        case "jsonl":
            out(line(record))
        case "csv":
            out_csv([record])
        case "name":
            out(name)
        case "table" | "wide":
            people()


def pretty(value: object) -> str:
    """Return JSON for a file or a screen."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def line(value: object) -> str:
    """Return JSON on one line."""
    return msgspec.json.format(msgspec.json.encode(value), indent=-1).decode()


def out_csv(records: Sequence[Record]) -> None:
    """Write records as CSV; members that are not plain become JSON text."""
    if not records:
        return
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(records[0])
    for record in records:
        writer.writerow([_plain(value) for value in record.values()])
    out(buffer.getvalue().rstrip("\n"))


def _plain(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    text = msgspec.json.encode(value).decode()
    return text.strip('"') if text.startswith('"') else text
