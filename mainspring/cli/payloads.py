"""A payload from words (``name=Ada count:=3``), from text, from a file, or from stdin."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from mainspring.domain.errors import InvalidInput, InvalidPayload, NotJson, PayloadTooLarge
from mainspring.domain.payload import check

_HOW: Final = "write text as name=Ada, other values as JSON: count:=3 tags:='[\"a\"]'"


def payload_of(words: Sequence[str], text: str | None, *, bytes_max: int) -> bytes:
    """Return the payload that was given in one of the ways; an empty object if none was."""
    if words and text is not None:
        raise InvalidInput("the payload was given twice: in words and by --json", hint="use one")
    if text is None:
        return from_members(members(words))
    return _source(text, bytes_max)


def members(words: Sequence[str]) -> dict[str, str | msgspec.Raw]:
    """Read ``key=text`` and ``key:=json``."""
    found: dict[str, str | msgspec.Raw] = {}
    for word in words:
        name, equals, value = word.partition("=")
        is_json = name.endswith(":")
        name = name.removesuffix(":")
        if not equals or not name:
            raise InvalidPayload(f"{word!r} is neither key=text nor key:=json", hint=_HOW)
        if name in found:
            raise InvalidPayload(f"{name!r} was given twice", hint="name each member once")
        found[name] = _json_value(name, value) if is_json else value
    return found


def from_members(found: dict[str, str | msgspec.Raw]) -> bytes:
    """Return an object of these members."""
    try:
        return msgspec.json.encode(found)
    except UnicodeEncodeError as error:
        raise InvalidPayload(
            "the payload is not UTF-8", hint="send such bytes as base64"
        ) from error


def merged(payload: bytes, changes: dict[str, str | msgspec.Raw]) -> bytes:
    """Return a payload with some members replaced or added."""
    kept = msgspec.json.decode(payload, type=dict[str, msgspec.Raw])
    return from_members({**kept, **changes})


def _json_value(name: str, value: str) -> msgspec.Raw:
    try:
        raw = value.encode()
        msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        if isinstance(error, RecursionError):
            check(b'{"%s":%s}' % (name.encode(errors="replace"), value.encode()))
        raise NotJson(
            f"{name}:={value[:40]} is not JSON: {error}",
            hint=f"for text write {name}={value[:40]}",
            details={"pointer": f"$.{name}"},
        ) from None
    return msgspec.Raw(raw)


def _source(text: str, bytes_max: int) -> bytes:
    """Return the bytes of ``--json``: ``-`` is stdin, ``@file`` a file, else the text itself."""
    if text == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise InvalidInput(
                "--json - reads the payload from stdin, which is a terminal",
                hint="pipe it: echo '{}' | mainspring submit … --json -",
            )
        return _bounded(sys.stdin.buffer.read(bytes_max + 1), "stdin", bytes_max)
    if text.startswith("@"):
        return _from_file(text.removeprefix("@"), bytes_max)
    return text.encode(errors="surrogateescape")


def _from_file(name: str, bytes_max: int) -> bytes:
    try:
        with Path(name).open("rb") as file:
            return _bounded(file.read(bytes_max + 1), name, bytes_max)
    except OSError as error:
        raise InvalidInput(
            f"the payload file {name!r} cannot be read: {error.strerror}",
            hint="give it as --json @FILE",
        ) from error


def _bounded(read: bytes, where: str, bytes_max: int) -> bytes:
    if len(read) > bytes_max:
        raise PayloadTooLarge(
            f"the payload in {where} is larger than {bytes_max:,} bytes",
            hint="store the bulk elsewhere and pass a reference",
        )
    return read
