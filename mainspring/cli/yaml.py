"""Writes YAML: block style for our own records, JSON (which is YAML) for users' payloads.

Numbers in payloads keep every digit, so they are never read here; and YAML needs no package.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

#: Words that every reader of YAML takes for text.
_PLAIN: Final = re.compile(r"[A-Za-z_/][A-Za-z0-9_./+-]*(?: [A-Za-z0-9_./+-]+)*")
_NOT_TEXT: Final = frozenset(
    {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"}
)
#: What YAML does not allow as it is, although JSON does.
_UNPRINTABLE: Final = re.compile(r"[\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff\u2028\u2029\x85]")


def to_yaml(value: object) -> str:
    """Return a document."""
    return "\n".join(_lines(_plain(value)))


def _plain(value: object) -> object:
    """Return dates and the like as JSON would; embedded JSON stays as it is."""
    if isinstance(value, msgspec.Raw):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return msgspec.to_builtins(value)


def _lines(value: object) -> list[str]:
    if isinstance(value, Mapping) and value:
        return [line for name, item in value.items() for line in _member(str(name), item)]
    if _is_list(value) and value:
        return [line for item in _items(value) for line in _item(item)]
    return [_scalar(value)]


def _member(name: str, value: object) -> list[str]:
    shown = _text(name)
    if _is_block(value):
        pad = "  " if isinstance(value, Mapping) else ""
        return [f"{shown}:", *(pad + line for line in _lines(value))]
    return [f"{shown}: {_scalar(value)}"]


def _item(value: object) -> list[str]:
    first, *rest = _lines(value)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def _is_block(value: object) -> bool:
    return (isinstance(value, Mapping) or _is_list(value)) and bool(value)


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _items(value: object) -> Sequence[object]:
    assert isinstance(value, list | tuple)
    return value


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, msgspec.Raw):
        # One line with a space behind each colon and comma, as YAML's flow style wants it.
        return _escaped(msgspec.json.format(value, indent=0).decode())
    return msgspec.json.encode(value).decode()


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT:
        return text
    return _escaped(msgspec.json.encode(text).decode())


def _escaped(text: str) -> str:
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
