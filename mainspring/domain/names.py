"""Checks of names, ranges and priorities, used wherever such a value comes in."""

import re
from typing import Final

from mainspring.domain.errors import InvalidInput, UnknownOption
from mainspring.domain.job import Priority

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
    if isinstance(value, int) and not isinstance(value, bool) and value in set(Priority):
        return int(value)
    names = ", ".join(level.name.lower() for level in Priority)
    raise UnknownOption(f"priority: there is no {value!r}", hint=f"use one of {names}")
