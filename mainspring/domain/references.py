"""References into the object store: the key, with the length and SHA-256 of what was stored.

The hash lies in the store's row, not beside the object, so a damaged or exchanged object is found
out when it is read.
"""

import hashlib
from typing import Final, NamedTuple

from mainspring.domain.errors import BlobDamaged

_SEPARATOR: Final = "#"


class Reference(NamedTuple):
    """Where an object lies, and what it must be."""

    key: str
    length: int
    sha256: str


def reference_of(key: str, body: bytes) -> str:
    """Return the text that is stored in a row for this object."""
    digest = hashlib.sha256(body).hexdigest()
    return f"{key}{_SEPARATOR}{len(body)}{_SEPARATOR}{digest}"


def parse_reference(text: str) -> Reference:
    """Read a stored reference."""
    key, length, digest = text.rsplit(_SEPARATOR, 2)
    return Reference(key, int(length), digest)


def verified(reference: Reference, body: bytes) -> bytes:
    """Return the body if it is what was stored, else raise ``BlobDamaged``."""
    if len(body) != reference.length or hashlib.sha256(body).hexdigest() != reference.sha256:
        raise BlobDamaged(
            f"the object {reference.key} has {len(body)} bytes that are not the "
            f"{reference.length} bytes that were stored"
        )
    return body
