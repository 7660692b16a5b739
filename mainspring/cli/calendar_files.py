"""Entries of a calendar: from words, from a file of lines, or from JSON."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from mainspring.domain.errors import InvalidInput, LimitReached

_BYTES_MAX: Final = 1_048_576
_LINES: Final = "write an entry a line; # begins a comment"


class Given(msgspec.Struct, frozen=True):
    """What was given of a calendar. Members that are none of its own are left alone."""

    entries: tuple[str, ...] = ()
    business_days: str | None = None


def read_entries(words: Sequence[str], file: str | None) -> Given:
    """Return the entries from words and file together."""
    found = Given() if file is None else _read(_text(file), "stdin" if file == "-" else file)
    entries = (*words, *found.entries)
    if not entries:
        raise InvalidInput(
            "which days?", hint="give entries such as 12-25 2027-04-05 SAT,SUN, or --file FILE"
        )
    return Given(entries, found.business_days)


def _text(file: str) -> str:
    try:
        if file == "-":
            if sys.stdin is None or sys.stdin.isatty():
                raise InvalidInput("--file - reads stdin, which is a terminal", hint=_LINES)
            read = sys.stdin.buffer.read(_BYTES_MAX + 1)
        else:
            with Path(file).open("rb") as opened:
                read = opened.read(_BYTES_MAX + 1)
    except OSError as error:
        raise InvalidInput(
            f"file: {file!r} cannot be read: {error.strerror}", hint="name a file that can"
        ) from error
    if len(read) > _BYTES_MAX:
        raise LimitReached(f"file: {file!r} is larger than {_BYTES_MAX:,} bytes", hint=_LINES)
    try:
        return read.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"file: {file!r} is not UTF-8", hint=_LINES) from error


def _read(text: str, where: str) -> Given:
    if not text.lstrip().startswith(("{", "[")):
        lines = (line.partition(" #")[0].strip() for line in text.splitlines())
        return Given(tuple(line for line in lines if line and line[0] != "#"))
    try:
        if text.lstrip().startswith("["):
            return Given(msgspec.json.decode(text, type=tuple[str, ...]))
        return msgspec.json.decode(text, type=Given)
    except msgspec.DecodeError as error:
        said = str(error)
        raise InvalidInput(
            f"file: {where} is no calendar: {said[:1].lower()}{said[1:]}",
            hint='write {"entries": ["12-25"], "business_days": "MON-FRI"}',
        ) from error
