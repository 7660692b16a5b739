"""Checks of names, ranges and priorities, used wherever such a value comes in."""

import difflib
import re
from collections.abc import Collection
from typing import Final

from mainspring.domain.errors import InvalidInput, UnknownOption
from mainspring.domain.job import Priority

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


def check_range(option: str, value: object, least: int, most: int) -> int:
    """Return a whole number within its bounds, or raise naming them."""
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    raise InvalidInput(f"{option}: {value!r} is not a whole number from {least} to {most}")


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
