"""Why a text cannot be read: where, what stands there, and what to write instead."""

import re
from typing import Final

from mainspring.domain.errors import InvalidSchedule

_TOKEN_CHARACTERS_MAX: Final = 24
_PRINTABLE: Final = re.compile(r"[ -~]")


class Refusal(Exception):
    """A part of a text is wrong, at an offset within it. Never seen outside this room."""

    def __init__(self, offset: int, token: str, reason: str, hint: str) -> None:
        """Keep what ``refused`` puts into words."""
        super().__init__(reason)
        self.offset = offset
        self.token = token
        self.reason = reason
        self.hint = hint

    def moved(self, offset: int) -> "Refusal":
        """Return the same refusal within a longer text that the part stands in."""
        return Refusal(self.offset + offset, self.token, self.reason, self.hint)

    def error(self, field: str) -> InvalidSchedule:
        """Return the error that people see."""
        shown = shortened(self.token)
        place = f" (position {self.offset})"
        return InvalidSchedule(
            f"{field}: {self.reason}{place}",
            hint=self.hint,
            details={"field": field, "position": self.offset, "token": shown},
        )


def shortened(token: str) -> str:
    """Return a token for a message: never long, never with characters that do not print."""
    cut = token[:_TOKEN_CHARACTERS_MAX]
    plain = "".join(c if _PRINTABLE.fullmatch(c) else f"U+{ord(c):04X}" for c in cut)
    return plain + ("…" if len(token) > _TOKEN_CHARACTERS_MAX else "")


def check_text(field: str, text: object, characters_max: int, *, lines: bool = False) -> str:
    """Return a text that is short, printable ASCII; anything else is refused before it is read."""
    if not isinstance(text, str):
        raise InvalidSchedule(f"{field}: {type(text).__name__} is no text", hint="give a text")
    if len(text) > characters_max:
        raise InvalidSchedule(
            f"{field}: {len(text)} characters are too many (position {characters_max})",
            hint=f"use at most {characters_max} characters, or several shorter rules",
            details={"field": field, "position": characters_max},
        )
    allowed = "\t\n\r" if lines else "\t"
    for position, character in enumerate(text):
        if not " " <= character <= "~" and character not in allowed:
            raise Refusal(
                position,
                character,
                f"{shortened(character)} is not allowed",
                "use plain ASCII characters; separate fields by blanks",
            ).error(field)
    return text
