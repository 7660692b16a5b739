"""Which failures are one failure: the group of an error, as a short text.

Two errors belong together when a person would fix both at once: same kind of job, same type, same
file, same message but for what differs each time. Numbers, ids and quoted parts of the message do
not count; nor does the line, because a group shall outlive an edit above it.
"""

import hashlib
import re
from typing import Final

import msgspec

from mainspring.domain.outcome import ErrorInfo

_MESSAGE_CHARACTERS_MAX: Final = 1_000
_GROUP_BYTES: Final = 6
#: What differs from one time to the next, the most particular first. No part can match in two
#: ways, so that a hostile message costs no more than its length.
_VARIABLE: Final = re.compile(
    r"""
      (?<!\w)'[^'\n]*'(?!\w) | "[^"\n]*" | `[^`\n]*`
    | \b(?:job|sch|dag|run|wrk)_[0-9A-Za-z]{26}\b
    | \b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b
    | \b0[xX][0-9a-fA-F]+\b
    | \b(?=[a-fA-F]*[0-9])[0-9a-fA-F]{8,}\b
    | [0-9]+(?:[.,:][0-9]+)*
    """,
    re.VERBOSE,
)


def group_of(kind: str, error: ErrorInfo) -> str:
    """Return the name of the group that an error of a job of this kind belongs to.

    >>> slow, slower = (ErrorInfo("Timeout", f"no answer in {n} ms") for n in (50, 900))
    >>> group_of("pay", slow) == group_of("pay", slower)
    True
    """
    file, _, _ = error.where.rpartition(":")
    same = (kind, error.type, file or error.where, normalised(error.message))
    return hashlib.sha256(msgspec.json.encode(same)).hexdigest()[: _GROUP_BYTES * 2]


def normalised(message: str) -> str:
    """Return the beginning of a message without what differs from one time to the next."""
    same = _VARIABLE.sub("#", message[:_MESSAGE_CHARACTERS_MAX])
    return " ".join(same.encode("utf-8", "replace").decode().split())
