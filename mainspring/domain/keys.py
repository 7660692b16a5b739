"""API keys: their text, and what is kept of them.

A key is ``ms_live_<id>_<secret>``: an id of 12 characters of Crockford's base 32, by which it is
looked up, and a secret of 256 random bits with a checksum over both, so that a slip in copying is
told from a key that nobody ever had. The text is shown once; kept is the SHA-256 of the secret.
That is enough for random secrets, and costs next to nothing a request.

Invariants
----------
* No message, view or record here holds a secret; ``KeyText`` does not show its own.
* Hashes are compared in constant time, and nowhere but in ``KeyText.fits``.
"""

import hashlib
import hmac
import zlib
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from mainspring.domain.errors import Unauthenticated
from mainspring.domain.ids import from_base_32, to_base_32

MARK: Final = "ms_live_"
ID_CHARACTERS: Final = 12
_SECRET_CHARACTERS: Final = 58
_KEY_CHARACTERS: Final = len(MARK) + ID_CHARACTERS + 1 + _SECRET_CHARACTERS
_ID_BITS: Final = 60
_ID_BYTES: Final = 8
_SECRET_BYTES: Final = 32
_CHECK_BITS: Final = 32
#: So many random bytes make one key.
RANDOM_BYTES: Final = _ID_BYTES + _SECRET_BYTES


class KeyText(msgspec.Struct, frozen=True):
    """A key as somebody holds it."""

    id: str
    secret: bytes

    def __repr__(self) -> str:
        """Show which key it is, and nothing of its secret."""
        return f"KeyText({prefix(self.id)})"

    def shown(self) -> str:
        """Return the whole text: for the one time that it is shown."""
        number = int.from_bytes(self.secret, "big") << _CHECK_BITS | _check(self.id, self.secret)
        return f"{prefix(self.id)}_{to_base_32(number, _SECRET_CHARACTERS)}"

    @property
    def digest(self) -> bytes:
        """Return what is kept of the secret."""
        return hashlib.sha256(self.secret).digest()

    def fits(self, digest: bytes) -> bool:
        """Say whether this is the key of which this was kept; takes the same time either way."""
        return hmac.compare_digest(self.digest, digest)


def make(random: bytes) -> KeyText:
    """Return a new key from ``RANDOM_BYTES`` that nobody can guess."""
    assert len(random) == RANDOM_BYTES, "a key is made of so many random bytes"
    number = int.from_bytes(random[:_ID_BYTES], "big") & ((1 << _ID_BITS) - 1)
    return KeyText(to_base_32(number, ID_CHARACTERS), random[_ID_BYTES:])


def parse(text: str) -> KeyText:
    """Read a key, or raise ``Unauthenticated`` saying what is wrong without repeating it."""
    if not text.startswith(MARK):
        raise Unauthenticated(
            "this is no key of Mainspring", hint=f"give the whole key: it begins with {MARK}"
        )
    if len(text) != _KEY_CHARACTERS:
        raise Unauthenticated(
            f"the key has {len(text)} characters, a key has {_KEY_CHARACTERS}",
            hint="copy the whole key, and nothing beside it",
        )
    key_id, separator, rest = text.removeprefix(MARK).partition("_")
    id_number, number = from_base_32(key_id), from_base_32(rest)
    if separator and id_number is not None and number is not None and len(key_id) == ID_CHARACTERS:
        found = KeyText(
            to_base_32(id_number, ID_CHARACTERS),
            (number >> _CHECK_BITS & ((1 << _SECRET_BYTES * 8) - 1)).to_bytes(_SECRET_BYTES, "big"),
        )
        if number >> _CHECK_BITS + _SECRET_BYTES * 8 == 0 and _check_of(number) == _check(
            found.id, found.secret
        ):
            return found
    raise Unauthenticated(
        "there is a slip in the key: its checksum does not fit", hint="copy the whole key again"
    )


def prefix(key_id: str) -> str:
    """Return what is shown of a key: enough to know it, useless to whoever wants to use it."""
    return f"{MARK}{key_id}"


def id_of(shown: str) -> str | None:
    """Return the id that a shown prefix, a bare id or a whole key names; ``None``: it is none."""
    bare = shown.removeprefix(MARK)
    if shown.startswith(MARK):
        bare = bare.partition("_")[0]
    number = from_base_32(bare) if len(bare) == ID_CHARACTERS else None
    return None if number is None else to_base_32(number, ID_CHARACTERS)


def _check(key_id: str, secret: bytes) -> int:
    # A CRC finds every single slip for sure, and all but one of 4 billion worse ones.
    return zlib.crc32(key_id.encode() + secret)


def _check_of(number: int) -> int:
    return number & ((1 << _CHECK_BITS) - 1)


class KeyState(StrEnum):
    """Whether a key is good, by the store's clock."""

    ACTIVE = "active"
    EXPIRED = "expired"
    ENDED = "ended"


class NewKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key to be kept."""

    id: str
    name: str
    #: ``None``: of the whole installation.
    tenant: str | None
    #: Scopes, roles and rights, as ``rights_of`` takes them.
    scopes: tuple[str, ...]
    secret_hash: bytes
    expires_at: datetime | None = None


class KeyView(msgspec.Struct, frozen=True, kw_only=True):
    """A key as people see it."""

    id: str
    name: str
    tenant: str | None
    scopes: tuple[str, ...]
    state: KeyState
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    ended_at: datetime | None = None
    ended_by: str | None = None
    #: When it was last used, within a minute or so.
    used_at: datetime | None = None
    #: The key that took its place, by id.
    replaced_by: str | None = None

    @property
    def prefix(self) -> str:
        """Return what is shown of the key."""
        return prefix(self.id)


class FoundKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key as whoever checks credentials needs it, in one look."""

    view: KeyView
    secret_hash: bytes
    #: How long it is still good by the store's clock; ``None``: for good.
    left_ms: int | None = None
    #: Why its tenant is suspended; ``None``: it is not.
    suspended_reason: str | None = None
