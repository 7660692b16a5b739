"""Requests that may be sent again under a key: what they made is named after the key.

The id of what a key names is made of the day, a hash of the key, and a hash of what was asked for.
So a repetition finds what the first one made, and one that asks for something else is told apart,
without a table of keys. A key is good for a day at least, and for two at most.
"""

import hashlib
from datetime import datetime, timedelta
from typing import Final

import msgspec

from mainspring.domain.errors import SubmissionKeyReused
from mainspring.domain.ids import ID_BYTES
from mainspring.domain.names import check_key
from mainspring.ports.scheduling import ScheduleDraft

_DAY: Final = timedelta(days=1)
#: Of an id, the part that says what was asked for; before it are 42 bits of the key's hash.
_BODY_BYTES: Final = 4
_LEAD_BYTES: Final = ID_BYTES - _BODY_BYTES
_VERSION: Final = 0x70
_VARIANT: Final = 0x80


def ids_of(now: datetime, scope: str, key: str, body: bytes) -> list[bytes]:
    """Return the id that a key names today, and the one of yesterday.

    ``scope`` is what keys are told apart within: a tenant, a schedule.
    """
    check_key("key", key)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return [_id(day, f"{scope}\0{key}", body) for day in (today, today - _DAY)]


def lead(named: bytes) -> bytes:
    """Return the part of an id that is of the day and the key alone."""
    return named[:_LEAD_BYTES]


def before(named: bytes) -> bytes:
    """Return an id before which no id of the same key is, and behind which all of them are."""
    number = int.from_bytes(lead(named).ljust(ID_BYTES, b"\0"), "big")
    return (number - 1).to_bytes(ID_BYTES, "big")


def body_of(draft: ScheduleDraft) -> bytes:
    """Return what a draft asks for, whoever knows the handler."""
    work = msgspec.structs.replace(draft.work, declared=None, kind_is_known=False)
    return msgspec.msgpack.encode(msgspec.structs.replace(draft, work=work))


def reused(key: str) -> SubmissionKeyReused:
    """Return what a key that named something else is answered with."""
    return SubmissionKeyReused(f"the key {key[:80]!r} was used before with another body")


def _id(day: datetime, key: str, body: bytes) -> bytes:
    raw = bytearray(round(day.timestamp() * 1_000).to_bytes(6, "big"))
    raw += hashlib.sha256(key.encode()).digest()[: _LEAD_BYTES - 6]
    raw += hashlib.sha256(body).digest()[:_BODY_BYTES]
    raw[6] = raw[6] & 0x0F | _VERSION
    raw[8] = raw[8] & 0x3F | _VARIANT
    return bytes(raw)
