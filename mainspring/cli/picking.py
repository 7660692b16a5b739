"""``--columns`` and ``--jq``: less than everything, chosen by whoever asks."""

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from mainspring.cli.options import Options
from mainspring.cli.records import Record
from mainspring.cli.tables import Column
from mainspring.domain.errors import ConfigError, InvalidInput, UnknownOption

Row = TypeVar("Row")
_JSON_FORMATS: Final = ("table", "json", "jsonl")


def check_choice(options: Options) -> None:
    """Refuse combinations that mean nothing, and a jq program that cannot be read."""
    if options.columns and options.output == "name":
        raise InvalidInput("-o name prints names only, and --columns was given", hint="use -o csv")
    if options.jq is None:
        return
    if options.output not in _JSON_FORMATS:
        raise InvalidInput(f"--jq gives JSON, and -o {options.output} was given", hint="use one")
    _compiled(options.jq)


def check_columns(options: Options, known: Iterable[str]) -> None:
    """Refuse columns that are none, before anything is changed."""
    names = list(known)
    for word in options.columns:
        if word not in names:
            raise _unknown(word, names)


def picked_record(options: Options, record: Record) -> Record:
    """Return the members that were asked for, in that order."""
    if not options.columns:
        return record
    check_columns(options, record)
    return {name: record[name] for name in options.columns}


def picked_columns(
    options: Options,
    columns: Sequence[Column[Row]],
    rows: Sequence[Row],
    record: Callable[[Row], Record],
) -> Sequence[Column[Row]]:
    """Return the columns that were asked for: those of the table, or members of the record."""
    if not options.columns:
        return columns
    own = {title_of(column): column for column in columns}
    members = list(record(rows[0])) if rows else []
    check_columns(options, dict.fromkeys([*own, *members]))
    return [
        own[name]._replace(wide=False, from_width=0) if name in own else _member(name, record)
        for name in options.columns
    ]


def title_of(column: Column[Any]) -> str:
    """Return the name by which a column is asked for."""
    return column.title.partition(" (")[0].lower().replace(" ", "_")


def _member(name: str, record: Callable[[Row], Record]) -> Column[Row]:
    return Column(name.upper(), lambda row: plain(record(row)[name]))


def plain(value: object) -> str:
    """Return a member on one line: text as it is, everything else as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    text = msgspec.json.encode(value).decode()
    return text.strip('"') if text.startswith('"') else text


def filtered(program: str, value: object) -> list[str]:
    """Return what a jq program makes of a value: text as it is, everything else as JSON."""
    try:
        found = _compiled(program).input_text(msgspec.json.encode(value).decode()).all()
    except ValueError as error:
        raise InvalidInput(f"jq: {error}", hint="look at the data without --jq: -o json") from error
    return [item if isinstance(item, str) else msgspec.json.encode(item).decode() for item in found]


def _compiled(program: str) -> Any:
    try:
        import jq
    except ImportError:
        raise ConfigError(
            "--jq needs the package jq, which is not installed",
            hint="pip install 'mainspring[jq]', or pipe -o json into the program jq",
        ) from None
    try:
        return jq.compile(program)
    except ValueError as error:
        said = str(error).partition("\n")[0]
        raise InvalidInput(f"jq: {said}", hint="try: --jq '.[].id'") from error


def _unknown(word: str, known: Sequence[str]) -> UnknownOption:
    near = difflib.get_close_matches(word, known, 1, 0.6)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    return UnknownOption(f"columns: there is no {word!r}", hint=hint)
