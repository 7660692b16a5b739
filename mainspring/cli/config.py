"""``mainspring config``: the settings that win, and where each of them comes from."""

from typing import Any, Final

import msgspec
from cyclopts import App

from mainspring.cli.options import COMMANDS, Given, Options, without_password
from mainspring.cli.output import out, show_list, show_one
from mainspring.cli.records import Record
from mainspring.cli.tables import Cell, Column
from mainspring.cli.text import printable, styled

app: Final = App(
    name="config", help="Look at settings and where they come from.", group_commands=COMMANDS
)


class Shown(msgspec.Struct, frozen=True):
    """A setting as it is shown: never with a password."""

    key: str
    value: str | int
    source: str
    meaning: str
    is_default: bool


@app.command
def ls(*, options: Given) -> None:
    """List every setting with its value and the place that it comes from."""
    rows = _rows(options)
    show_list(
        options,
        rows,
        columns=[
            Column("SETTING", lambda row: row.key),
            Column("VALUE", lambda row: str(row.value) or "-", shrinks=True),
            Column("SOURCE", lambda row: Cell(row.source, "dim" if row.is_default else "")),
            Column("MEANING", lambda row: row.meaning, wide=True),
        ],
        record=lambda row: {"key": row.key, "value": row.value, "source": row.source},
        name=lambda row: row.key,
        empty="",
    )


@app.command
def explain(key: str, /, *, options: Given) -> None:
    """Show a setting: the value that wins, and every place that says something about it.

    Parameters
    ----------
    key
        The setting: store, log_level, MAINSPRING_STORE.
    """
    from mainspring.runtime.setting_table import BY_KEY
    from mainspring.runtime.settings import known_key

    known = known_key(key)
    layers = options.layers()
    row = BY_KEY[known]
    found = [
        {"source": item.source, "value": _safe(known, item.value)}
        for item in layers.candidates(known)
    ]
    record: Record = {
        "key": known,
        "value": _safe(known, layers.value(known)),
        "source": found[0]["source"],
        "environment": row.environment,
        "meaning": row.meaning,
        "places": found,
    }
    show_one(options, record, name=known, people=lambda: _people(options, record))


def _people(options: Options, record: Record) -> None:
    color = options.colors_data
    value = printable(str(record["value"])) or "-"
    out(f"{styled(record['key'], 'bold', color=color)} = {value}")
    out(styled(f"  {record['meaning']}", "dim", color=color))
    out("")
    places: list[dict[str, Any]] = record["places"]
    width = max(len(place["source"]) for place in places)
    for rank, place in enumerate(places):
        mark = styled("*", "green", color=color) if rank == 0 else " "
        text = f"{place['source']:<{width}}  {printable(str(place['value'])) or '-'}".rstrip()
        out(f"  {mark} {styled(text, '' if rank == 0 else 'dim', color=color)}")
    out("")
    out(f"set it by {record['environment']}, or as {record['key']} in mainspring.toml")


def _rows(options: Options) -> list[Shown]:
    from mainspring.runtime.setting_table import TABLE

    layers = options.layers()
    rows = []
    for row in TABLE:
        first = layers.candidates(row.key)[0]
        is_default = first.source == "default"
        value = layers.value(row.key) or (first.value if is_default else "")
        rows.append(Shown(row.key, _safe(row.key, value), first.source, row.meaning, is_default))
    return rows


def _safe(key: str, value: str | int) -> str | int:
    if not isinstance(value, str):
        return value
    if key == "key" and value:
        # Its beginning is its name, in lists and in the audit; what follows opens doors.
        name, _, secret = value.rpartition("_")
        return f"{name}_..." if name and secret else "..."
    return without_password(value)
