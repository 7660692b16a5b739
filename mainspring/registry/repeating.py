"""Requests that may be sent again under a key: what they made is named after the key.

The id of what a key names ends with a hash of the key and a hash of what was asked for; it begins,
like all ids, with the instant at which it was made. So a repetition finds what the first one made,
and one that asks for something else is told apart, without a table of keys.
"""

import hashlib
from datetime import datetime, timedelta
from typing import Final

import msgspec

from mainspring.domain.errors import SubmissionKeyReused
from mainspring.domain.ids import ID_BYTES
from mainspring.domain.names import check_key
from mainspring.ports.scheduling import ScheduleDraft

#: How long the key of a schedule, a backfill, an operation or an endpoint is good for at least,
DAY: Final = timedelta(days=1)
#: and that of a fire by hand.
HOUR: Final = timedelta(hours=1)
_TIME_BYTES: Final = 6
#: From here on an id says what was asked for; before it are 42 bits of the key's hash.
_BODY_AT: Final = 12
_VERSION: Final = 0x70
_VARIANT: Final = 0x80


def id_of(now: datetime, scope: str, key: str, body: bytes) -> bytes:
    """Return the id of what a key is to name; ``scope`` is what keys are told apart within."""
    check_key("key", key)
    raw = bytearray(_time(now))
    raw += hashlib.sha256(f"{scope}\0{key}".encode()).digest()[: _BODY_AT - _TIME_BYTES]
    raw += hashlib.sha256(body).digest()[: ID_BYTES - _BODY_AT]
    raw[6] = raw[6] & 0x0F | _VERSION
    raw[8] = raw[8] & 0x3F | _VARIANT
    return bytes(raw)


def first_id(instant: datetime) -> bytes:
    """Return an id that no id made later comes before."""
    return _time(instant).ljust(ID_BYTES, b"\0")


def is_same(known: bytes, named: bytes, key: str) -> bool:
    """Say whether an id is what a key named; raise where it named something else under that key."""
    if known[_TIME_BYTES:_BODY_AT] != named[_TIME_BYTES:_BODY_AT]:
        return False
    if known[_BODY_AT:] != named[_BODY_AT:]:
        raise SubmissionKeyReused(f"the key {key[:80]!r} was used before with another body")
    return True


def body_of(draft: ScheduleDraft) -> bytes:
    """Return what a draft asks for, whoever knows the handler."""
    work = msgspec.structs.replace(draft.work, declared=None, kind_is_known=False)
    # As JSON, because a draft is named before its numbers are checked, and those may have any size.
    return msgspec.json.encode(msgspec.structs.replace(draft, work=work))


def _time(instant: datetime) -> bytes:
    return round(instant.timestamp() * 1_000).to_bytes(_TIME_BYTES, "big")
