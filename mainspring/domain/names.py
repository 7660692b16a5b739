"""Checks of names, ranges and priorities, used wherever such a value comes in."""

import difflib
import math
import re
from collections.abc import Collection
from typing import Final

from mainspring.domain.errors import InvalidInput, UnknownOption
from mainspring.domain.job import Priority
from mainspring.domain.limits import KEY_CHARACTERS_MAX, NOTE_CHARACTERS_MAX

_LEVELS: Final = frozenset(map(int, Priority))
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*")


def check_name(option: str, value: object, characters_max: int) -> str:
    """Return a kind's, queue's or tenant's name, or raise saying what names may hold."""
    if isinstance(value, str) and len(value) <= characters_max and _NAME.fullmatch(value):
        return value
    raise InvalidInput(
        f"{option}: {value!r} is not a name",
        hint=f"use letters, digits and . _ : / - , at most {characters_max} characters",
    )


def check_key(option: str, value: object) -> str:
    """Return a key or another short text of the caller's, or raise saying what it may hold."""
    if isinstance(value, str) and 0 < len(value) <= KEY_CHARACTERS_MAX and value.isprintable():
        return value
    shown = value[:40] if isinstance(value, str) else value
    raise InvalidInput(
        f"{option}: {shown!r} is not a key",
        hint=f"use 1 to {KEY_CHARACTERS_MAX} printable characters",
    )


def check_note(option: str, value: object) -> str:
    """Return a note or a reason, or raise: every store can keep it, and it has an end."""
    if isinstance(value, str) and len(value) <= NOTE_CHARACTERS_MAX and "\0" not in value:
        try:
            value.encode()
        except UnicodeEncodeError:
            pass
        else:
            return value
    shown = value[:40] if isinstance(value, str) else value
    raise InvalidInput(
        f"{option}: {shown!r} is no text of at most {NOTE_CHARACTERS_MAX} characters",
        hint="say it shorter, and without NUL",
    )


def check_flag(option: str, value: object) -> bool:
    """Return what is true or false, and nothing that merely looks so."""
    if isinstance(value, bool):
        return value
    raise InvalidInput(f"{option}: {value!r} is neither True nor False")


def check_range(option: str, value: object, least: int, most: int) -> int:
    """Return a whole number within its bounds, or raise naming them."""
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    raise InvalidInput(f"{option}: {value!r} is not a whole number from {least} to {most}")


def check_rate(option: str, value: float | None) -> float | None:
    """Return how many a second there may be, or raise: more than none, and finite."""
    if value is None or 0 < value < math.inf:
        return value
    raise InvalidInput(f"{option}: {value!r} is not more than zero jobs a second")


def priority_of(value: object) -> int:
    """Return a priority given by name or number: critical 0, high 1, normal 2, low 3."""
    if isinstance(value, str) and value.upper() in Priority.__members__:
        return int(Priority[value.upper()])
    if isinstance(value, int) and not isinstance(value, bool) and value in _LEVELS:
        return int(value)
    names = [level.name.lower() for level in Priority]
    word = value if isinstance(value, str) else ""
    raise UnknownOption(f"priority: there is no {value!r}", hint=suggestion(word, names))


def check_choice(option: str, value: object, choices: Collection[str]) -> str:
    """Return one of the words that an option may be, or raise naming them."""
    if isinstance(value, str) and value in choices:
        return value
    raise UnknownOption(f"{option}: there is no {value!r}", hint=suggestion(str(value), choices))


def suggestion(name: str, known: Collection[str]) -> str:
    """Return the hint for a name that does not exist: the nearest ones, else all of them."""
    near = difflib.get_close_matches(name, known, 2)
    if near:
        return f"did you mean {' or '.join(near)}?"
    if not known:
        return "leave it out: there are none"
    return f"use one of {', '.join(known)}"
