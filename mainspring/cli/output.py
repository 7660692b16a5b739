"""Shows lists, single things and changes in the format that was asked for."""

import csv
import io
import sys
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec

from mainspring.cli.options import Options, wants_color
from mainspring.cli.picking import check_columns, filtered, picked_columns, picked_record, plain
from mainspring.cli.records import Record
from mainspring.cli.tables import Column, render, terminal_width
from mainspring.cli.text import state_style, styled
from mainspring.cli.yaml import to_yaml

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
    if options.output == "name":
        for row in rows:
            out(name(row))
    elif not options.is_for_people:
        _show_records(options, [picked_record(options, record(row)) for row in rows])
    elif not rows:
        tell(empty)
    else:
        show_table(options, rows, picked_columns(options, columns, rows, record))


def _show_records(options: Options, records: Sequence[Record]) -> None:
    if options.jq is not None:
        for text in filtered(options.jq, records):
            out(text)
        return
    match options.output:
        case "jsonl":
            for record in records:
                out(line(record))
        case "csv":
            out_csv(records)
        case "yaml":
            out(to_yaml(records))
        case _:
            out(pretty(records))


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
    if options.output == "name":
        out(name)
        return
    if options.is_for_people and not options.columns:
        people()
        return
    chosen = picked_record(options, record)
    if options.jq is not None:
        for text in filtered(options.jq, chosen):
            out(text)
        return
    match options.output:
        case "json":
            out(pretty(chosen))
        case "jsonl":
            out(line(chosen))
        case "csv":
            out_csv([chosen])
        case "yaml":
            out(to_yaml(chosen))
        case _:
            width = max(map(len, chosen))
            for member, value in chosen.items():
                out(f"{member:<{width}}  {plain(value)}".rstrip())


def show_stream(options: Options, record: Record) -> None:
    """Show one of many that come one by one: always a record a line."""
    chosen = picked_record(options, record)
    if options.jq is not None:
        for text in filtered(options.jq, chosen):
            out(text)
    elif options.output == "yaml":
        out("---\n" + to_yaml(chosen))
    elif options.output == "csv":
        out_csv([chosen], header=False)
    else:
        out(line(chosen))


class Change(msgspec.Struct, frozen=True):
    """What a command did to one thing: its state now, and whether this command changed it."""

    name: str
    state: str
    changed: bool = True


#: What ``--columns`` may name of a change.
CHANGE_COLUMNS: Final = ("id", "state", "changed")


def check_change_columns(options: Options) -> None:
    """Refuse ``--columns`` that a change does not have, before there is one."""
    check_columns(options, CHANGE_COLUMNS)


def show_changes(
    options: Options, changes: Sequence[Change], *, unchanged: str = "unchanged"
) -> None:
    """Say for each thing what state it has now, and whether this command changed it."""
    if not options.is_for_people or options.columns:
        show_list(
            options,
            changes,
            columns=[
                Column("ID", lambda change: change.name),
                Column("STATE", lambda change: change.state),
                Column("CHANGED", lambda change: "yes" if change.changed else "no"),
            ],
            record=_change_record,
            name=lambda change: change.name,
            empty="",
        )
        return
    for change in changes:
        state = styled(change.state, state_style(change.state), color=options.colors_data)
        out(f"{change.name}  {state}" + ("" if change.changed else f"  ({unchanged})"))


def _change_record(change: Change) -> Record:
    return {"id": change.name, "state": change.state, "changed": change.changed}


def tell_dry_run() -> None:
    """Say that ``--dry-run`` changed nothing."""
    tell("nothing was changed (--dry-run)")


def pretty(value: object) -> str:
    """Return JSON for a file or a screen."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def line(value: object) -> str:
    """Return JSON on one line."""
    return msgspec.json.format(msgspec.json.encode(value), indent=-1).decode()


def out_csv(records: Sequence[Record], *, header: bool = True) -> None:
    """Write records as CSV; members that are not plain become JSON text."""
    if not records:
        return
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if header:
        writer.writerow(records[0])
    for record in records:
        writer.writerow([plain(value) for value in record.values()])
    out(buffer.getvalue().rstrip("\n"))
