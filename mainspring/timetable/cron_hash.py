"""``H`` in a cron expression: a number chosen by a hash of a name, the same for ever.

``H``, ``H/15``, ``H(0-29)`` and ``H(0-29)/10``, one a field. Resolved once, when a schedule is
stored; what is stored has no ``H`` in it.
"""

import re
from hashlib import blake2b
from typing import Final

from mainspring.domain.limits import CRON_CHARACTERS_MAX
from mainspring.timetable.cron import FIELDS
from mainspring.timetable.cron_fields import DAY, WEEKDAY, Field
from mainspring.timetable.refusals import Refusal, check_text

_HASHED: Final = re.compile(r"H(?:\((\d{1,4})-(\d{1,4})\))?(?:/(\d{1,4}))?", re.IGNORECASE)
# Days that every month has, and each weekday once.
_HIGH: Final = {DAY.name: 28, WEEKDAY.name: 6}


def resolve_hashes(text: str, name: str) -> str:
    """Return an expression with a number for every ``H``; ``name`` is the schedule's, with tenant.

    >>> resolve_hashes("H 3 * * *", "default/report")
    '0 3 * * *'
    """
    check_text("cron", text, CRON_CHARACTERS_MAX)
    words = text.split()
    fields = FIELDS.get(len(words))
    if fields is None or "h" not in text.lower():
        return text
    found, position = [], 0
    for field, word in zip(fields, words, strict=True):
        position = text.index(word, position)
        try:
            found.append(_resolved(field, word, name))
        except Refusal as refusal:
            raise refusal.moved(position).error(field.name) from None
        position += len(word)
    return " ".join(found)


def _resolved(field: Field, word: str, name: str) -> str:
    match = _HASHED.fullmatch(word)
    if match is None:
        return word
    low, high = field.low, _HIGH.get(field.name, field.high)
    if match[1]:
        low, high = int(match[1]), int(match[2])
    if not field.low <= low <= high <= field.high:
        raise Refusal(0, word, f"{word} is out of range", f"use {field.low} to {field.high}")
    step = int(match[3] or 0)
    if match[3] and not 1 <= step <= high - low + 1:
        raise Refusal(0, word, f"{word} has no step within its range", "give a shorter step")
    digest = blake2b(f"{name}/{field.name}".encode(), digest_size=8).digest()
    dice = int.from_bytes(digest)
    if not step:
        return str(low + dice % (high - low + 1))
    first = low + dice % step
    return f"{first}-{high}/{step}"


def has_hashes(text: str) -> bool:
    """Say whether an expression has an ``H`` to resolve."""
    return any(_HASHED.fullmatch(word) for word in text.split())
